package report

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"

	"github.com/recibo-ci/recibo/pkg/receipt"
	"github.com/recibo-ci/recibo/pkg/review"
)

// everywhere returns a receipt and a review with text in every place that others can write to.
func everywhere(t testing.TB, text string) (*receipt.Receipt, *review.Review) {
	t.Helper()
	r := live(t)
	word := receipt.Text(text)
	r.Status = receipt.Failed
	r.CodexVersion, r.Effort, r.GitDescribe, r.Model, r.ModelServed = word, word, word, word, word
	r.PromptPath, r.Instructions.SchemaPath, r.Instructions.ToolsPath, r.ToolsSHA = word, word, word, sha(t, "bc")
	r.GitSHA, r.HeadSHA, r.MergeBase = word, word, word
	r.AgentsMD.Files = []receipt.AgentsFile{{Path: text, Loaded: true}}
	r.Jail = receipt.Jail{Level: receipt.JailPartial, Missing: []string{text}}
	r.Prompt.SavedPath, r.Review.Path, r.Wire.Path = word, word, word
	r.Review.Problems, r.Run.Warnings = []string{text}, []string{text}
	r.Run.Codex.Source, r.Run.Repository, r.Run.SkipReason = word, word, word
	r.Run.Files = []receipt.File{{Path: text}}
	r.Run.Error = &receipt.Error{Message: text, Hint: word}
	r.Wire.Tools, r.Wire.Endpoint = []string{text}, word
	finding := review.Finding{
		Severity: text, Category: text, Title: text, Body: text, Path: text, StartLine: 1, EndLine: 2, Side: "RIGHT",
		Suggestion: &text, Location: review.Location{State: review.LocationOK, Reason: text},
	}
	return r, &review.Review{OK: new(false), Summary: text, Findings: []review.Finding{finding, finding}}
}

// outline is the structure of a report: its headings, lists and tables, which are ours alone.
func outline(j judge, markdown []byte) []string {
	var lines []string
	for _, n := range j.nodes(markdown) {
		switch n := n.(type) {
		case *ast.Heading:
			lines = append(lines, fmt.Sprintf("heading %d", n.Level))
		case *ast.List:
			lines = append(lines, fmt.Sprintf("list of %d", n.ChildCount()))
		case *extast.Table:
			lines = append(lines, fmt.Sprintf("table of %d", n.ChildCount()))
		case *extast.TableRow:
			lines = append(lines, fmt.Sprintf("row of %d", n.ChildCount()))
		}
	}
	return lines
}

func summaryKinds() []ast.NodeKind {
	return append(blockKinds(), ast.KindHeading, ast.KindList, ast.KindListItem, ast.KindTextBlock, ast.KindEmphasis, ast.KindLink,
		extast.KindTable, extast.KindTableHeader, extast.KindTableRow, extast.KindTableCell)
}

var ourLink = regexp.MustCompile(`\]\(<https://github\.com/[^<>\s]*>\)`)

func checkReports(t *testing.T, j judge, text string) {
	t.Helper()
	o := Options{UsageFile: "usage.json"}
	r, v := everywhere(t, text)
	markdown := Summary(r, v, o)
	if bare(clean(text)) != "" {
		calmReceipt, calmReview := everywhere(t, "calm")
		want := outline(j, Summary(calmReceipt, calmReview, o))
		if o.check(r) == nil {
			want = want[:len(want)-1] // The script, and its heading, are not for paths of many lines.
		}
		got := outline(j, markdown)
		if len(want) < 20 {
			t.Fatalf("%d lines of outline, want at least 20", len(want))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: outline (-calm +got):\n%s\n%s", text, diff, markdown)
		}
	}
	for _, complaint := range j.complaints(string(markdown), []string{"github.com"}, summaryKinds()...) {
		if !strings.HasPrefix(complaint, "a quote of something else") { // our own warnings
			t.Errorf("%q in the summary: %s", text, complaint)
		}
	}
	for _, n := range j.nodes(markdown) {
		if link, ok := n.(*ast.Link); ok && !ourLink.Match(fmt.Appendf(nil, "](<%s>)", link.Destination)) {
			t.Errorf("%q: link to %q", text, link.Destination)
		}
	}
	for _, complaint := range unseen(string(Text(r, v, o))) {
		t.Errorf("%q in the text: %s", text, complaint)
	}
}

func TestReports_disarm_every_attack(t *testing.T) {
	t.Parallel()
	j := newJudge()
	for name, text := range attacks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkReports(t, j, text)
		})
	}
}

func FuzzReports(f *testing.F) {
	for _, text := range attacks() {
		f.Add(text)
	}
	j := newJudge()
	f.Fuzz(func(t *testing.T, text string) { checkReports(t, j, text) })
}

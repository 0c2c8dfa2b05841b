package effect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/pkg/diff"
	"github.com/recibo-ci/recibo/pkg/digest"
)

const (
	head = "0e5d9c0fe81c9c8b8003a92fbbf03bfe2e409539"
	// change has the lines 10 to 14 at head and 10 to 13 at base, and nothing else.
	change = "diff --git a/store.go b/store.go\nindex 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644\n" +
		"--- a/store.go\n+++ b/store.go\n@@ -10,4 +10,5 @@\n a\n b\n+c\n d\n e\n"
)

func index(t *testing.T) *diff.Index {
	t.Helper()
	files, err := diff.Parse(strings.NewReader(change))
	if err != nil {
		t.Fatal(err)
	}
	return diff.NewIndex(files)
}

func at(path string, start, end int) Finding {
	name := fmt.Sprintf("%s:%d-%d", path, start, end)
	return Finding{Fingerprint: digest.Of([]byte(name)), Range: diff.Range{Path: path, Side: diff.Right, Start: start, End: end}, Inline: "comment " + name, Item: "item " + name}
}

func input(findings ...Finding) Input {
	return Input{Name: "recibo", Repository: "octo/service", Pull: 7, Head: head, Lead: "## Lead", Tail: "Tail.", Run: "Run 1.", Findings: findings}
}

func mustPlan(t *testing.T, in Input) *Plan {
	t.Helper()
	p, err := New(in, index(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPlanPutsFindingsWhereTheyFit(t *testing.T) {
	t.Parallel()
	p := mustPlan(t, input(at("store.go", 11, 12), at("store.go", 13, 20), at("store.go", 30, 31), at("other.go", 1, 1), Finding{Inline: "x", Item: "no place"}))
	want := []Comment{
		{0, diff.Range{Path: "store.go", Side: diff.Right, Start: 11, End: 12}, "comment store.go:11-12\n\n" + FindingMarker{Name: "recibo", Fingerprint: p.in.Findings[0].Fingerprint}.String()},
		{1, diff.Range{Path: "store.go", Side: diff.Right, Start: 13, End: 14}, "comment store.go:13-20\n\n" + FindingMarker{Name: "recibo", Fingerprint: p.in.Findings[1].Fingerprint}.String()},
	}
	if d := cmp.Diff(want, p.Comments()); d != "" {
		t.Errorf("Comments() (-want +got):\n%s", d)
	}
	body, counts := p.Body(Outcome{Inline: []int{0, 1}, Note: "Note.", Marker: Marker{Run: 42, Attempt: 2}})
	text := "## Lead\n\nNote.\n\nitem store.go:30-31\n\nitem other.go:1-1\n\nno place\n\nTail.\n\nRun 1.\n\n" +
		"<!-- recibo told 1 " + p.in.Findings[0].Fingerprint.String()[:16] + " " + p.in.Findings[1].Fingerprint.String()[:16] + " -->\n\n" +
		"<!-- recibo review 1 name=recibo run=42 attempt=2 head=" + head + " digest=" + p.Digest().String() + " inline=2 base=0 state=whole -->"
	if d := cmp.Diff(text, body); d != "" || counts != (Counts{Inline: 2, Body: 3}) {
		t.Errorf("Body() counts %+v (-want +got):\n%s", counts, d)
	}
}

func TestPlanLimitsComments(t *testing.T) {
	t.Parallel()
	many := func(n int) (out []Finding) {
		for i := range n {
			f := at("store.go", 12, 12)
			f.Fingerprint = digest.Of([]byte{byte(i)})
			out = append(out, f)
		}
		return out
	}
	for name, tt := range map[string]struct {
		in   Input
		want int
	}{
		"default": {input(many(70)...), 40},
		"most":    {Input{Limit: 60, Findings: many(70)}, 60},
		"one":     {Input{Limit: 1, Findings: many(3)}, 1},
		"summary": {Input{Summary: true, Findings: many(3)}, 0},
		"long":    {Input{Findings: []Finding{{Range: at("store.go", 12, 12).Range, Inline: strings.Repeat("x", MaxBody), Item: "y"}}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.in.Name, tt.in.Head = "recibo", head
			if got := len(mustPlan(t, tt.in).Comments()); got != tt.want {
				t.Errorf("%d comments, want %d", got, tt.want)
			}
		})
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*Input){
		"name":    func(in *Input) { in.Name = "a b" },
		"head":    func(in *Input) { in.Head = "main" },
		"limit":   func(in *Input) { in.Limit = 61 },
		"minus":   func(in *Input) { in.Limit = -1 },
		"frame":   func(in *Input) { in.Lead = strings.Repeat("x", maxFrame) },
		"twins":   func(in *Input) { in.Findings = append(in.Findings, in.Findings[0]) },
		"no_text": func(in *Input) { in.Findings[0].Item = " " },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := input(at("store.go", 11, 12))
			change(&in)
			if p, err := New(in, index(t)); err == nil || p != nil {
				t.Errorf("New() = %v, %v; want an error", p, err)
			}
		})
	}
}

// Whatever the sizes, the body fits and every finding is somewhere.
func TestBodyCountsAll(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1, 3000, 9000, 2 * MaxBody} {
		for _, n := range []int{0, 1, 7, 70} {
			for _, frame := range []int{0, 100, maxFrame - 20} {
				in := input()
				in.Lead, in.Tail, in.Run = strings.Repeat("L", frame), "Tail.", "Run."
				for i := range n {
					f := at("store.go", 10+i%9, 10+i%9)
					f.Fingerprint = digest.Of([]byte{byte(i), byte(i >> 8)})
					f.Item = strings.Repeat("é", size/2+1) + fmt.Sprintf("<%d>", i)
					in.Findings = append(in.Findings, f)
				}
				p := mustPlan(t, in)
				var inline, standing []int
				for k, c := range p.Comments() {
					if k%3 == 0 {
						standing = append(standing, c.Finding)
					} else {
						inline = append(inline, c.Finding)
					}
				}
				body, c := p.Body(Outcome{Inline: inline, Standing: standing, Gone: 1000, Note: "Note."})
				there := 0
				for i := range n {
					there += strings.Count(body, fmt.Sprintf("<%d>", i))
				}
				if len(body) > MaxBody || c.Sum() != n || c.Body != there || c.Inline != len(inline) || c.Standing != len(standing) {
					t.Errorf("%d findings of %d bytes, frame %d: %+v, %d items in %d bytes", n, size, frame, c, there, len(body))
				}
				if told := fmt.Sprintf("%d more finding", c.Artifact); strings.Contains(body, told) != (c.Artifact > 0) {
					t.Errorf("%d findings of %d bytes: the body does not tell that %d are in the artifact", n, size, c.Artifact)
				}
				if m, ok := ParseMarker(body); !ok || m.Digest != p.Digest() {
					t.Errorf("%d findings of %d bytes: marker %+v, %v", n, size, m, ok)
				}
			}
		}
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	in := input(at("store.go", 12, 12), at("other.go", 1, 1))
	got := string(mustPlan(t, in).Canonical())
	mark := FindingMarker{Name: "recibo", Fingerprint: in.Findings[0].Fingerprint}.String()
	want := "recibo effects 1\nname recibo\nrepository octo/service\npull 7\nhead " + head + "\nmode inline\nlead 7\n## Lead\ntail 5\nTail.\n" +
		"comment " + in.Findings[0].Fingerprint.String() + fmt.Sprintf(" RIGHT 12 12 8 %d 19\nstore.go\ncomment store.go:12-12\n\n", 24+len(mark)) + mark + "\nitem store.go:12-12\n" +
		"body " + in.Findings[1].Fingerprint.String() + " 17\nitem other.go:1-1\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Canonical() (-want +got):\n%s", d)
	}
}

func TestDigestNamesEveryEffect(t *testing.T) {
	t.Parallel()
	seen := map[digest.SHA256]string{}
	for name, change := range map[string]func(*Input){
		"none":        func(*Input) {},
		"name":        func(in *Input) { in.Name = "other" },
		"repository":  func(in *Input) { in.Repository = "octo/other" },
		"pull":        func(in *Input) { in.Pull = 8 },
		"head":        func(in *Input) { in.Head = strings.Repeat("a", 40) },
		"lead":        func(in *Input) { in.Lead = "" },
		"tail":        func(in *Input) { in.Tail = "" },
		"summary":     func(in *Input) { in.Summary = true },
		"inline":      func(in *Input) { in.Findings[0].Inline += "." },
		"item":        func(in *Input) { in.Findings[0].Item += "." },
		"other_item":  func(in *Input) { in.Findings[1].Item += "." },
		"line":        func(in *Input) { in.Findings[0].Range.Start-- },
		"fingerprint": func(in *Input) { in.Findings[0].Fingerprint[0]++ },
		"order":       func(in *Input) { slices.Reverse(in.Findings) },
		"fewer":       func(in *Input) { in.Findings = in.Findings[:1] },
	} {
		in := input(at("store.go", 12, 12), at("other.go", 1, 1))
		change(&in)
		sum := mustPlan(t, in).Digest()
		if other, ok := seen[sum]; ok {
			t.Errorf("%s and %s have the same digest", name, other)
		}
		seen[sum] = name
	}
	in := input(at("store.go", 12, 12), at("other.go", 1, 1))
	in.Run = "Run 2."
	if name := seen[mustPlan(t, in).Digest()]; name != "none" {
		t.Error("the run notes change the digest")
	}
}

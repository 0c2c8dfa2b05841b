package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/pkg/receipt"
	"github.com/recibo-ci/recibo/pkg/review"
)

var rendition = regexp.MustCompile("\x1b\\[[0-9;]*m")

func TestText_colours_change_nothing_else(t *testing.T) {
	t.Parallel()
	o := Options{UsageFile: "usage.json", Next: []string{"recibo verify"}}
	plain := string(Text(live(t), three(), o))
	o.Colour = true
	coloured := string(Text(live(t), three(), o))
	if diff := cmp.Diff(plain, rendition.ReplaceAllString(coloured, "")); diff != "" {
		t.Errorf("text without colours (-plain +coloured):\n%s", diff)
	}
	if n := len(rendition.FindAllString(coloured, -1)); n < 20 || n%2 != 0 {
		t.Errorf("%d renditions, want an even number of at least 20", n)
	}
	for line := range strings.Lines(coloured) {
		if all := rendition.FindAllString(line, -1); len(all) > 0 && all[len(all)-1] != "\x1b[0m" {
			t.Errorf("line %q ends in colour", line)
		}
	}
}

func TestText_keeps_to_its_width(t *testing.T) {
	t.Parallel()
	v := three()
	v.Summary = strings.Repeat("many words ", 50) + strings.Repeat("検査 ", 60)
	v.Findings[1].Title = strings.Repeat("検査 ", 60)
	for _, width := range []int{0, 40, 60, 100, 200} {
		r := live(t)
		// Digests, paths and commands are words that cannot be broken.
		r.PromptSHA, r.AgentsChainSHA, r.CodexSHA, r.ContextSHA = receipt.Digest{}, receipt.Digest{}, receipt.Digest{}, receipt.Digest{}
		r.SchemaSHA, r.WireToolsSHA, r.GitSHA, r.HeadSHA, r.MergeBase, r.GitDescribe = receipt.Digest{}, receipt.Digest{}, "", "", "", ""
		r.Run.Files, r.Review.Path = nil, ""
		limit := width
		if width == 0 {
			limit = 80
		}
		full := 0
		for line := range strings.Lines(string(Text(r, v, Options{UsageFile: "usage.json", Width: width}))) {
			got := columns(strings.TrimSuffix(line, "\n"))
			if got > limit {
				t.Errorf("width %d: line of %d columns: %q", width, got, line)
			}
			if got > limit*3/4 {
				full++
			}
		}
		if full < 5 {
			t.Errorf("width %d: %d lines are nearly full, want at least 5", width, full)
		}
	}
}

func TestText_leaves_nothing_hidden(t *testing.T) {
	t.Parallel()
	r := live(t)
	r.Run.Warnings = []string{"a\x1b]0;title\x07b\rc"}
	v := &review.Review{Findings: []review.Finding{{Title: "x\x1b[2J", Body: "```\n\x1b[31m\u202E\n```"}}}
	got := string(Text(r, v, Options{Next: []string{"less a\x1bb\nc"}}))
	for _, want := range []string{"  $ less a⟨U+001B⟩b c\n", "- a⟨U+001B⟩]0;title⟨U+0007⟩b c\n", "1. unrated  x⟨U+001B⟩[2J\n", "       ⟨U+001B⟩[31m⟨U+202E⟩\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		width      int
		want       []string
	}{
		{"empty", "", 10, []string{""}},
		{"fits", "ten chars.", 10, []string{"ten chars."}},
		{"breaks", "one two three four", 9, []string{"one two", "three", "four"}},
		{"long_word", "a verylongwordindeed b", 8, []string{"a", "verylongwordindeed", "b"}},
		{"lines", "a\n\nb", 10, []string{"a", "", "b"}},
		{"indent", "    one two three", 12, []string{"    one two", "    three"}},
		{"item", "- one two three", 9, []string{"- one two", "  three"}},
		{"numbered", "12. one two three", 11, []string{"12. one two", "    three"}},
		{"deep_indent", "            one two", 10, []string{"one two"}},
		{"tab", "\tone two", 9, []string{"    one", "    two"}},
		{"wide", "検査 検査 a", 9, []string{"検査 検査", "a"}},
		{"marks", "e\u0301e\u0301 e\u0301", 4, []string{"e\u0301e\u0301 e\u0301"}},
		{"spaces_kept_inside", "a  b", 10, []string{"a  b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, wrap(c.text, c.width)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestGrouped(t *testing.T) {
	t.Parallel()
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 123456: "123,456", 1234567: "1,234,567", -1000: "-1,000", -100: "-100"} {
		if got := grouped(n); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

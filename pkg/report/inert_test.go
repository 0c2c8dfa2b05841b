package report

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
)

func hosts() []string { return []string{"github.com", "docs.example:8443"} }

func TestInert_disarms_every_attack(t *testing.T) {
	t.Parallel()
	j := newJudge()
	for name, text := range attacks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkInert(t, j, text)
		})
	}
}

// checkInert judges text made inert, alone and in the places where it is put.
func checkInert(t *testing.T, j judge, text string) {
	t.Helper()
	block := Inert(text, Policy{Hosts: hosts()})
	for _, complaint := range j.complaints(block, hosts(), blockKinds()...) {
		t.Errorf("%q as blocks: %s in %q", text, complaint, block)
	}
	line := Inert(text, Policy{Hosts: hosts(), Line: true})
	if strings.Contains(line, "\n") {
		t.Errorf("%q as a line: got %q", text, line)
	}
	for _, complaint := range j.complaints(line, hosts(), lineKinds()...) {
		t.Errorf("%q as a line: %s in %q", text, complaint, line)
	}
	kinds := append(lineKinds(), ast.KindHeading)
	for _, complaint := range j.complaints("### 1. high: "+line+"\n\nend", hosts(), kinds...) {
		t.Errorf("%q in a heading: %s in %q", text, complaint, line)
	}
	checkCells(t, j, text, line)
	checkReadable(t, j, text, line)
}

// checkCells puts line into a table and counts its cells.
func checkCells(t *testing.T, j judge, text, line string) {
	t.Helper()
	kinds := append(lineKinds(), extast.KindTable, extast.KindTableHeader, extast.KindTableRow, extast.KindTableCell)
	table := "| a | b |\n|---|---|\n| " + line + " | end |\n| x | y |\n"
	for _, complaint := range j.complaints(table, hosts(), kinds...) {
		t.Errorf("%q in a cell: %s in %q", text, complaint, line)
	}
	var got []string
	for d := range j.html([]byte(table)).Descendants() {
		if d.Data == "td" {
			got = append(got, readable(d))
		}
	}
	want := []string{bare(clean(text)), "end", "x", "y"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q in a cell: cells (-want +got):\n%s", text, diff)
	}
}

// checkReadable looks whether a reader still sees all of text.
func checkReadable(t *testing.T, j judge, text, line string) {
	t.Helper()
	want := bare(clean(text))
	if got := readable(j.html([]byte(line))); got != want {
		t.Errorf("%q as a line: a reader sees %q, want %q", text, got, want)
	}
	if strings.Contains(text, "```") || strings.Contains(text, "~~~") {
		return // The word behind a fence is not for readers.
	}
	if got := readable(j.html([]byte(Inert(text, Policy{Hosts: hosts()})))); got != want {
		t.Errorf("%q as blocks: a reader sees %q, want %q", text, got, want)
	}
}

func TestInert_reads_well(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, block, line string }{
		{"empty", "", "", ""},
		{"blank", " \n\t\n ", "", ""},
		{"words", "It is fine.", "It is fine.", "It is fine."},
		{"two_lines", "a\nb", "a\\\nb", "a b"},
		{"paragraphs", "a\n\n\n\nb\n", "a\n\nb", "a b"},
		{"code_span", "call `f(a, *b)` first", "call `f(a, *b)` first", "call `f(a, *b)` first"},
		{"code_span_with_backtick", "`` a`b ``", "``a`b``", "``a`b``"},
		{"code_span_of_one_backtick", "`` ` ``", "`` ` ``", "`` ` ``"},
		{"code_span_with_pipe", "`a|b`", "`a|b`", "a&#124;b"},
		{"lone_backtick", "it`s", "it&#96;s", "it&#96;s"},
		{"fence", "Do:\n```go\nif a < b {\n\tx()\n}\n```\nso.", "Do:\n\n```go\nif a < b {\n\tx()\n}\n```\n\nso.", "Do: `go if a < b { x() } ` so."},
		{"fence_in_item", "- x\n  ```\n  a\n    b\n  ```", "\\- x\n\n```\na\n  b\n```", "\\- x `a b`"},
		{"fence_on_one_line", "```x``` y\nz", "`x` y\\\nz", "`x` y z"},
		{"hidden_at_the_end", "a\u202E", "a⟨U+202E⟩", "a⟨U+202E⟩"},
		{"fence_tilde", "~~~\n```\n~~~", "````\n```\n````", "\\~\\~\\~ &#96;&#96;&#96; \\~\\~\\~"},
		{"fence_with_words", "```go title=x\na\n```", "```go\na\n```", "`go title=x a `"},
		{"fence_that_draws", "```mermaid\na\n```", "```\na\n```", "`mermaid a `"},
		{"fence_with_command", "```\n/deploy\n```", "> ```\n> /deploy\n> ```", "`/deploy`"},
		{"fence_empty", "```\n```", "```\n```", "&#32;"},
		{"list", "- a\n- b", "\\- a\\\n\\- b", "\\- a - b"},
		{"numbers", "1. a\n2) b", "1\\. a\\\n2\\) b", "1\\. a 2) b"},
		{"comparison", "a < b && c > d", "a &#60; b &#38;&#38; c &#62; d", "a &#60; b &#38;&#38; c &#62; d"},
		{"names", "snake_case *and* more", "snake\\_case \\*and\\* more", "snake\\_case \\*and\\* more"},
		{"mention", "ask @octocat, or @o/team.", "ask `@octocat`, or `@o/team`.", "ask `@octocat`, or `@o/team`."},
		{"mail", "a@b.example!", "`a@b.example`!", "`a@b.example`!"},
		{"issue", "fixes #12, o/r#3, GH-4", "fixes `#12`, o/r`#3`, `GH-4`", "fixes `#12`, o/r`#3`, `GH-4`"},
		{"colour", "#fff and # 1", "\\#fff and \\# 1", "\\#fff and \\# 1"},
		{"money", "costs $5 or $ 6", "costs `$5` or &#36; 6", "costs `$5` or &#36; 6"},
		{"variable", "$HOME/bin", "`$HOME/bin`", "`$HOME/bin`"},
		{"paths", "a/b.go and /etc/passwd", "a/b.go and &#47;etc/passwd", "a/b.go and &#47;etc/passwd"},
		{"good_link", "see https://github.com/o/r/blob/main/a.go#L1-L2.", "see <https://github.com/o/r/blob/main/a.go#L1-L2>.", "see <https://github.com/o/r/blob/main/a.go#L1-L2>."},
		{"good_link_with_port", "(https://docs.example:8443/)", "(<https://docs.example:8443/>)", "(<https://docs.example:8443/>)"},
		{"link_behind_a_number", "1.https://github.com/o, ://x", "1\\.<https://github.com/o>, ://x", "1\\.<https://github.com/o>, ://x"},
		{"named_link", "[the docs](https://docs.example:8443/a)", "\\[the docs\\](<https://docs.example:8443/a>)", "\\[the docs\\](<https://docs.example:8443/a>)"},
		{"bad_link", "see https://evil.example/a, now", "see `https://evil.example/a`, now", "see `https://evil.example/a`, now"},
		{"bad_named_link", "[x](https://evil.example/a)", "\\[x\\](`https://evil.example/a`)", "\\[x\\](`https://evil.example/a`)"},
		{"reference", "https://github.com/o/r/issues/3", "`https://github.com/o/r/issues/3`", "`https://github.com/o/r/issues/3`"},
		{"reference_escaped", "https://github.com/o/r/%69ssues/3", "`https://github.com/o/r/%69ssues/3`", "`https://github.com/o/r/%69ssues/3`"},
		{"touching", "`a`#1@b", "`a#1@b`", "`a#1@b`"},
		{"bidi", "a\u202Eb", "a⟨U+202E⟩b", "a⟨U+202E⟩b"},
		{"tags", "a\U000E0041\U000E0042\U000E0043b", "a⟨U+E0041 and 2 more⟩b", "a⟨U+E0041 and 2 more⟩b"},
		{"escape", "\x1b[1mbold", "⟨U+001B⟩\\[1mbold", "⟨U+001B⟩\\[1mbold"},
		{"emoji", "⚠\uFE0F 👩\u200D🔬", "⚠ 👩🔬", "⚠ 👩🔬"},
		{"not_utf8", "a\xffb", "a\uFFFDb", "a\uFFFDb"},
		{"line_ends", "a\r\nb\rc\u2028d", "a\\\nb\\\nc\\\nd", "a b c d"},
		{"other_scripts", "検査 проверка\u00A0é", "検査 проверка\u00A0é", "検査 проверка é"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := Inert(c.text, Policy{Hosts: hosts()}); got != c.block {
				t.Errorf("%q as blocks:\n got %q\nwant %q", c.text, got, c.block)
			}
			if got := Inert(c.text, Policy{Hosts: hosts(), Line: true}); got != c.line {
				t.Errorf("%q as a line:\n got %q\nwant %q", c.text, got, c.line)
			}
			checkInert(t, newJudge(), c.text)
		})
	}
}

// TestInert_disarms_any_mix throws together what Markdown is made of, which a fuzzer of bytes
// takes long to find.
func TestInert_disarms_any_mix(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"`", "``", "```", "~~~", "\n", "\n\n", " ", "    ", "\t", "> ", "- ", "+ ", "1. ", "# ", "***", "===", "---", ":-", "|",
		"@octocat", "a@b.example", "#1", "GH-1", "/deploy", "https://evil.example/", "https://github.com/o", "www.evil.example",
		"<", ">", "<b>", "<!--", "-->", "[", "](", "]: ", ")", "!", "\\", "&#64;", "&", "*", "_", "~~", "$", "\u202E", "\u200D", "a", "é", ".",
	}
	j := newJudge()
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var text strings.Builder
		for range 1 + random.IntN(12) {
			text.WriteString(pieces[random.IntN(len(pieces))])
		}
		checkInert(t, j, text.String())
	}
}

func TestInert_links_nowhere_without_hosts(t *testing.T) {
	t.Parallel()
	if got, want := Inert("https://github.com/o/r", Policy{}), "`https://github.com/o/r`"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestInert_keeps_code_as_it_is reads the code of a fence back from the renderer.
func TestInert_keeps_code_as_it_is(t *testing.T) {
	t.Parallel()
	code := "func f(a *T) {\n\tx := `#1 @octocat`\n\n    // <b>&amp;</b> | $x$ \\\n\t```\n}\n"
	got := Inert("````go\n"+code+"````", Policy{})
	var b bytes.Buffer
	for d := range newJudge().html([]byte(got)).Descendants() {
		if d.Data == "code" {
			b.WriteString(d.FirstChild.Data)
		}
	}
	if diff := cmp.Diff(code, b.String()); diff != "" {
		t.Errorf("code (-want +got):\n%s", diff)
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		limit      int
		want       string
		left       int
	}{
		{"short", "abc", 3, "abc", 0},
		{"long", "abcd", 3, "abc", 1},
		{"inside_a_character", "aé", 2, "a", 2},
		{"behind_a_character", "éa", 2, "é", 1},
		{"nothing_fits", "é", 1, "", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, left := clip(c.text, c.limit)
			if got != c.want || left != c.left {
				t.Errorf("got %q and %d left, want %q and %d", got, left, c.want, c.left)
			}
		})
	}
}

// growthMax bounds how many times longer inert text is: every byte may become a named character.
const growthMax = 12

func FuzzInert(f *testing.F) {
	for _, text := range attacks() {
		f.Add(text)
	}
	j := newJudge()
	f.Fuzz(func(t *testing.T, text string) {
		checkInert(t, j, text)
		if got := len(Inert(text, Policy{})); got > growthMax*len(text) {
			t.Errorf("%d bytes became %d", len(text), got)
		}
	})
}

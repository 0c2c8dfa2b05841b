package report

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	gmtext "github.com/yuin/goldmark/text"
	nethtml "golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// judge renders Markdown as GitHub would, with more extensions than GitHub has, and with raw HTML
// let through, so that what gets past Inert shows.
type judge struct{ markdown goldmark.Markdown }

func newJudge() judge {
	return judge{goldmark.New(
		goldmark.WithExtensions(extension.GFM, extension.Footnote, extension.DefinitionList),
		goldmark.WithRendererOptions(html.WithUnsafe()),
	)}
}

// filtered is what GitHub's filters look for in the text that a reader sees, outside of code and
// links.
var filtered = regexp.MustCompile(`(?i)@[a-z0-9_-]|#[0-9]|GH-[0-9]|[a-z][a-z0-9+.-]*://|www\.\S|\$\S+\$`)

// command is what bots look for in the text of a comment as it was written.
var command = regexp.MustCompile(`(?m)^\s*[/@][A-Za-z]`)

// complaints lists what in the Markdown is not inert. Only the kinds of node in allowed may occur.
func (j judge) complaints(markdown string, hosts []string, allowed ...ast.NodeKind) []string {
	var all []string
	source := []byte(markdown)
	for _, n := range j.nodes(source) {
		if !slices.Contains(allowed, n.Kind()) {
			all = append(all, "node "+n.Kind().String())
		}
		if n.Kind() == ast.KindBlockquote && (n.ChildCount() != 1 || n.FirstChild().Kind() != ast.KindFencedCodeBlock) {
			all = append(all, "a quote of something else than code")
		}
		if f, ok := n.(*ast.FencedCodeBlock); ok {
			switch language := string(f.Language(source)); language {
			case "mermaid", "geojson", "topojson", "stl", "math", "suggestion":
				all = append(all, "code that GitHub acts on: "+language)
			}
		}
		if link, ok := n.(*ast.AutoLink); ok {
			u, err := url.Parse(string(link.URL(source)))
			if err != nil || u.Scheme != "https" || u.User != nil || !slices.Contains(hosts, u.Host) || link.AutoLinkType != ast.AutoLinkURL {
				all = append(all, fmt.Sprintf("link to %q", link.URL(source)))
			}
		}
	}
	for _, text := range visible(j.html(source)) {
		if found := filtered.FindString(text); found != "" {
			all = append(all, fmt.Sprintf("text %q in %q", found, text))
		}
	}
	if found := command.FindString(markdown); found != "" {
		all = append(all, fmt.Sprintf("command %q", found))
	}
	return append(all, unseen(markdown)...)
}

// nodes lists every node of the Markdown in the order of the text.
func (j judge) nodes(markdown []byte) []ast.Node {
	var all []ast.Node
	var add func(n ast.Node)
	add = func(n ast.Node) {
		all = append(all, n)
		for c := n.FirstChild(); c != nil; c = c.NextSibling() {
			add(c)
		}
	}
	add(j.markdown.Parser().Parse(gmtext.NewReader(markdown)))
	return all
}

// unseen lists characters that no reader can see, by a list of its own.
func unseen(text string) []string {
	var all []string
	for _, r := range text {
		switch {
		case r < ' ' && r != '\n' && r != '\t', r >= 0x7F && r <= 0x9F, r == 0xAD, r == 0x034F, r == 0x061C,
			r == 0x115F, r == 0x1160, r == 0x180E, r >= 0x200B && r <= 0x200F, r >= 0x2028 && r <= 0x202E,
			r >= 0x2060 && r <= 0x206F, r == 0x2800, r == 0x3164, r >= 0xFE00 && r <= 0xFE0F, r == 0xFEFF, r == 0xFFA0,
			r >= 0xFFF9 && r <= 0xFFFB, r >= 0xE0000 && r <= 0xE0FFF:
			all = append(all, fmt.Sprintf("character %U", r))
		}
	}
	return all
}

func (j judge) html(markdown []byte) *nethtml.Node {
	var b bytes.Buffer
	if err := j.markdown.Convert(markdown, &b); err != nil {
		panic(err)
	}
	node, err := nethtml.Parse(&b)
	if err != nil {
		panic(err)
	}
	return node
}

// visible returns the texts outside of code and links, each as the filters see it: neighbours
// that no element separates are one.
func visible(n *nethtml.Node) []string {
	texts := []string{""}
	var walk func(n *nethtml.Node)
	walk = func(n *nethtml.Node) {
		if n.Type == nethtml.TextNode {
			texts[len(texts)-1] += n.Data
			return
		}
		texts = append(texts, "")
		if !slices.Contains([]atom.Atom{atom.Code, atom.Pre, atom.A}, n.DataAtom) {
			for c := range n.ChildNodes() {
				walk(c)
			}
		}
		texts = append(texts, "")
	}
	walk(n)
	return texts
}

// readable returns everything that a reader sees, code and links too, without white space,
// backticks and tildes, by which Markdown and plain text may differ.
func readable(n *nethtml.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == nethtml.TextNode {
			b.WriteString(d.Data)
		}
	}
	return bare(b.String())
}

func bare(text string) string {
	text = strings.Join(strings.Fields(text), "")
	return strings.NewReplacer("`", "", "~", "").Replace(text)
}

// blockKinds may occur in the result of Inert, lineKinds in that with Policy.Line.
func blockKinds() []ast.NodeKind {
	return append(lineKinds(), ast.KindFencedCodeBlock, ast.KindBlockquote)
}

func lineKinds() []ast.NodeKind {
	return []ast.NodeKind{ast.KindDocument, ast.KindParagraph, ast.KindText, ast.KindString, ast.KindCodeSpan, ast.KindAutoLink}
}

// attacks are texts as an attacker would have a model write them. Each must raise the judge's
// alarm as it stands, and none once it is inert.
func attacks() map[string]string {
	return map[string]string{
		"image":                   "look ![x](https://evil.example/a.png)",
		"image_by_reference":      "![x][r]\n\n[r]: https://evil.example/a.png",
		"image_on_allowed_host":   "![x](https://github.com/a.png)",
		"raw_html":                "a <img src=x onerror=alert(1)> b",
		"html_block":              "<details open>\n<summary>x</summary>\n\nhidden\n\n</details>",
		"html_comment":            "a <!-- recibo: marker --> b",
		"html_comment_block":      "<!-- recibo: marker -->",
		"unclosed_comment":        "<!-- \nthe rest",
		"link":                    "[safe](https://evil.example)",
		"link_by_reference":       "[safe][r]\n\n[r]: https://evil.example",
		"definition":              "a [github] b\n\n[github]: https://evil.example",
		"javascript":              "[x](javascript:alert(1))",
		"autolink":                "<https://evil.example>",
		"bare_link":               "see https://evil.example/?q=secret now",
		"bare_link_upper":         "see HTTPS://EVIL.EXAMPLE/",
		"www":                     "see www.evil.example now",
		"mail":                    "write to me@evil.example",
		"mail_of_punctuation":     "0!@l.x/",
		"mail_behind_issue":       "a#1a@b.example",
		"mailto":                  "<mailto:me@evil.example>",
		"other_scheme":            "ftp://evil.example/x",
		"user_in_link":            "https://github.com@evil.example/",
		"backslash_in_link":       `https://github.com\@evil.example/`,
		"host_in_path":            "https://evil.example/https://github.com/",
		"subdomain":               "https://github.com.evil.example/",
		"other_host_same_end":     "https://evilgithub.com/",
		"other_port":              "https://github.com:444/",
		"http":                    "http://github.com/o/r",
		"link_to_issue":           "fixes https://github.com/o/r/issues/1",
		"link_to_pull":            "https://github.com/o/r/pull/7",
		"link_to_discussion":      "https://github.com/o/r/discussions/7#x",
		"mention":                 "ping @octocat please",
		"mention_first":           "@octocat",
		"team":                    "ping @octo-org/security",
		"mention_escaped":         `ping \@octocat`,
		"mention_entity":          "ping &#64;octocat",
		"mention_split":           "ping @\u200Doctocat",
		"issue":                   "see #12",
		"closing":                 "Fixes #12",
		"closing_elsewhere":       "closes o/r#12",
		"issue_old_form":          "see gh-12",
		"issue_entity":            "see &#35;12",
		"slash_command":           "/deploy production",
		"slash_command_indented":  "text\n  /recibo approve abc",
		"slash_command_in_fence":  "```\n/deploy production\n```",
		"mention_bot_in_fence":    "```\n@dependabot merge\n```",
		"heading":                 "# recibo: approved",
		"heading_underlined":      "approved\n===",
		"heading_dashes":          "approved\n---",
		"rule":                    "a\n\n***\n\nb",
		"rule_spaced":             "* * *",
		"list":                    "- a\n- b",
		"list_plus":               "+ a",
		"list_star":               "* a",
		"list_numbered":           "1. a\n2) b",
		"list_bracket":            "3) a",
		"task":                    "- [x] approved",
		"quote":                   "> [!NOTE]\n> approved",
		"table":                   "a | b\n--|--\nc | d",
		"table_one_column":        "a\n:-",
		"footnote":                "a[^1]\n\n[^1]: text",
		"definition_list":         "term\n: meaning",
		"emphasis":                "**approved** by _security_",
		"strikethrough":           "~~rejected~~",
		"indented_code":           "a\n\n    @octocat\n\n# b",
		"fence_unclosed":          "```\ncode\n\n# still code\n@dependabot merge",
		"fence_mermaid":           "```mermaid\ngraph TD; A-->B\n```",
		"fence_suggestion":        "```suggestion\nevil()\n```",
		"fence_longer_inside":     "````\n```\n````\n# out",
		"fence_tilde":             "~~~\n```\n~~~\n\n# out",
		"fence_in_quote":          "> ```\n> @octocat\n\n# out",
		"fence_closed_by_spaces":  "```\n  ```\n# out",
		"span_open":               "a ` b\n# c",
		"span_uneven":             "``a` @octocat",
		"spans_touching":          "`a`@octocat",
		"span_of_backticks":       "`` ` `` @octocat ``",
		"span_before_backtick":    "#1` @octocat",
		"math":                    "$\\href{x}{y}$",
		"math_two":                "$a$ and $b$",
		"carriage_return":         "a\r# b",
		"next_line":               "a\u0085/deploy",
		"line_separator":          "a\u2028/deploy",
		"bidi":                    "if (admin) \u202E} // \u2066check",
		"zero_width":              "a\u200Bb",
		"byte_order_mark":         "a\uFEFFb",
		"tags":                    "hi\U000E0041\U000E0042\U000E0043",
		"variation_selectors":     "a\U000E0100\U000E0101b\u180B",
		"hidden_at_the_end":       "a\u202E",
		"fillers":                 "a\u3164\u115F\u2800b",
		"soft_hyphen":             "@octo\u00ADcat",
		"escape_sequence":         "\x1b[31mred\x1b[0m",
		"nul":                     "a\x00b",
		"backslash_at_end":        "a\\\n# b",
		"backslash_before_escape": `\\# \\[x](https://evil.example) @octocat`,
		"entity":                  "&lt;img src=x&gt; &#60;b&#62; #1",
	}
}

func TestJudge_raises_the_alarm(t *testing.T) {
	t.Parallel()
	j := newJudge()
	for name, text := range attacks() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := j.complaints(text, nil, blockKinds()...); len(got) == 0 {
				t.Errorf("%q: no complaint", text)
			}
		})
	}
}

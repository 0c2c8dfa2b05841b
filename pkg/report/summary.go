package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/recibo-ci/recibo/pkg/receipt"
	"github.com/recibo-ci/recibo/pkg/review"
)

// summaryMax bounds a summary, in bytes. GitHub shows none that is over 1 MiB.
const summaryMax = 1000 << 10

// Summary returns the report as GitHub Flavored Markdown, for GITHUB_STEP_SUMMARY: the verdict
// first. v is nil when there is no review. It stays under 1 MiB; findings for which there is no
// room are counted.
func Summary(r *receipt.Receipt, v *review.Review, o Options) []byte {
	s := summary{r: r, v: v, o: o, policy: o.policy(r)}
	top := s.render(s.top)
	bottom := s.render(s.problems, s.facts, s.tokens, s.warnings, s.check)
	all := append(append(top, s.findings(summaryMax-len(top)-len(bottom))...), bottom...)
	return append(bytes.TrimRight(all, "\n"), '\n')
}

type summary struct {
	r      *receipt.Receipt
	v      *review.Review
	o      Options
	policy Policy
	b      bytes.Buffer
}

// render returns what parts write.
func (s *summary) render(parts ...func()) []byte {
	s.b.Reset()
	for _, part := range parts {
		part()
	}
	return bytes.Clone(s.b.Bytes())
}

func (s *summary) printf(format string, args ...any) { fmt.Fprintf(&s.b, format, args...) }

// line makes foreign text fit into a heading, a list or a table.
func (s *summary) line(text string) string {
	text, left := clip(text, titleMax)
	if left > 0 {
		text += "…"
	}
	return Inert(text, Policy{Hosts: s.policy.Hosts, Line: true})
}

// blocks makes foreign text fit between blank lines.
func (s *summary) blocks(text string) string {
	text, left := clip(text, textMax)
	out := Inert(text, s.policy)
	if left > 0 {
		out += fmt.Sprintf("\n\n… %s more, see the review.", plural(left, "byte"))
	}
	return out
}

// code makes a code span of text that is one word to a reader, such as a path.
func (s *summary) code(text string) string {
	text, _ = clip(text, 4*titleMax)
	w := writer{policy: Policy{Line: true}}
	w.span(strings.Join(strings.Fields(clean(text)), " "))
	w.flush()
	return string(w.out)
}

// top is the verdict, what must not be missed, and the numbers.
func (s *summary) top() {
	s.printf("## %s\n\n", headline(s.r))
	if banner := replayed(s.r); banner != "" {
		s.printf("> [!CAUTION]\n> **%s**\n\n", banner)
	}
	if s.r.Run.SkipReason != "" {
		s.printf("%s\n\n", s.blocks(string(s.r.Run.SkipReason)))
	}
	if e := s.r.Run.Error; e != nil {
		s.printf("**Error:** %s\n\n", s.line(e.Message))
		if e.Hint != "" {
			s.printf("**Hint:** %s\n\n", s.line(string(e.Hint)))
		}
	}
	if s.r.Status != receipt.Completed {
		s.list("", s.r.Review.Problems)
	}
	if d := doubt(s.r, s.v); d != "" {
		s.printf("> [!WARNING]\n> %s\n\n", d)
	}
	if s.v == nil {
		return
	}
	if text := s.blocks(s.v.Summary); text != "" {
		s.printf("%s\n\n", text)
	}
	if o := opinion(s.v); o != "" {
		s.printf("%s\n\n", o)
	}
	s.severities()
}

func (s *summary) severities() {
	if len(s.v.Findings) == 0 {
		return
	}
	s.printf("| severity | findings |\n|---|---:|\n")
	for _, n := range severities(s.r.Review.BySeverity) {
		if n.count > 0 {
			s.printf("| %s | %s |\n", n.name, grouped(int64(n.count)))
		}
	}
	s.printf("\n")
	if u := unlocated(s.v); u != "" {
		s.printf("%s\n\n", u)
	}
}

// findings returns the findings that fit into room bytes, and how many do not.
func (s *summary) findings(room int) []byte {
	if s.v == nil {
		return nil
	}
	const note = 200 // bytes that the last sentence may take
	var all []byte
	for i, f := range s.v.Findings {
		one := s.render(func() { s.finding(i+1, f) })
		if len(all)+len(one)+note > room {
			rest := plural(len(s.v.Findings)-i, "more finding")
			return fmt.Appendf(all, "**%s** for which there is no room here, see %s.\n\n", rest, s.code(string(s.r.Review.Path)))
		}
		all = append(all, one...)
	}
	return all
}

func (s *summary) finding(n int, f review.Finding) {
	s.printf("### %d. %s", n, s.line(severityOf(f)))
	if f.Title != "" {
		s.printf(": %s", s.line(f.Title))
	}
	s.printf("\n\n")
	if about := s.about(f); about != "" {
		s.printf("%s\n\n", about)
	}
	if f.Body != "" {
		s.printf("%s\n\n", s.blocks(f.Body))
	}
	if f.Suggestion == nil {
		return
	}
	if *f.Suggestion == "" {
		s.printf("Suggested: delete these lines.\n\n")
		return
	}
	text, left := clip(*f.Suggestion, textMax)
	lines := strings.Split(strings.TrimRight(clean(text), "\n"), "\n")
	s.printf("Suggested instead:\n\n%s\n\n", fence{}.print(lines))
	if left > 0 {
		s.printf("… %s more, see the review.\n\n", plural(left, "byte"))
	}
}

// about is the line below a finding's heading.
func (s *summary) about(f review.Finding) string {
	var parts []string
	if at := place(f); at != "" {
		at = s.code(at)
		if link := permalink(s.r, f); link != "" {
			at = fmt.Sprintf("[%s](<%s>)", at, link)
		}
		parts = append(parts, at)
	}
	if f.Category != "" {
		parts = append(parts, s.line(f.Category))
	}
	if f.Confidence != nil {
		parts = append(parts, fmt.Sprintf("confidence %.2f", *f.Confidence))
	}
	if f.Location.Reason != "" {
		parts = append(parts, "no such place: "+s.line(f.Location.Reason))
	}
	return strings.Join(parts, " · ")
}

func (s *summary) facts() {
	s.printf("### What went in\n\n| | | SHA-256 |\n|---|---|---|\n")
	for _, f := range facts(s.r) {
		sha := ""
		if f.sha != "" {
			sha = "`" + f.sha + "`"
		}
		s.printf("| %s | %s | %s |\n", f.label, s.line(f.words), sha)
	}
	s.printf("\n")
}

func (s *summary) tokens() {
	if s.r.Tokens.Requests+s.r.Tokens.Unreported == 0 {
		return
	}
	s.printf("### Tokens\n\n| kind | tokens |\n|---|---:|\n")
	for _, f := range tokens(s.r.Tokens) {
		s.printf("| %s | %s |\n", f.label, f.words)
	}
	s.printf("\n%s\n\n", tokenNote(s.r.Tokens))
}

// listMax bounds a list of problems or warnings.
const listMax = 50

func (s *summary) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	s.printf("%s", title)
	for _, line := range lines[:min(len(lines), listMax)] {
		s.printf("- %s\n", s.line(line))
	}
	if more := len(lines) - listMax; more > 0 {
		s.printf("- … %s more\n", grouped(int64(more)))
	}
	s.printf("\n")
}

// problems lists what is wrong with a review that can be trusted all the same.
func (s *summary) problems() {
	if s.r.Status == receipt.Completed {
		s.list("### Problems\n\n", s.r.Review.Problems)
	}
}

func (s *summary) warnings() { s.list("### Warnings\n\n", s.r.Run.Warnings) }

func (s *summary) check() {
	script := s.o.check(s.r)
	if script == nil {
		return
	}
	s.printf("### Check it yourself\n\n%s\n", fence{language: "sh"}.print(script))
}

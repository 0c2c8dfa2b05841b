package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/recibo-ci/recibo/pkg/receipt"
	"github.com/recibo-ci/recibo/pkg/review"
)

const (
	widthDefault = 80
	widthMin     = 40
)

// Text returns the report as a person reads it in a terminal: the review first, then what went
// in, where the files are, what to type next. v is nil when there is no review. Only
// Options.Colour puts control characters into it.
func Text(r *receipt.Receipt, v *review.Review, o Options) []byte {
	if o.Width == 0 {
		o.Width = widthDefault
	}
	t := text{r: r, v: v, o: o, width: max(o.Width, widthMin)}
	t.top()
	t.findings()
	t.problems()
	t.facts()
	t.tokens()
	t.warnings()
	t.files()
	t.commands("Check it yourself", "", o.check(r))
	t.commands("Next", "$ ", o.Next)
	return t.b.Bytes()
}

type text struct {
	r     *receipt.Receipt
	v     *review.Review
	o     Options
	width int
	b     bytes.Buffer
}

// style is a rendition of ECMA-48, section 8.3.117.
type style string

const (
	bold   style = "1"
	faint  style = "2"
	red    style = "1;31"
	yellow style = "1;33"
	green  style = "1;32"
)

func (t *text) paint(s style, words string) string {
	if !t.o.Colour || s == "" || words == "" {
		return words
	}
	return "\x1b[" + string(s) + "m" + words + "\x1b[0m"
}

// say writes words, which may be foreign, wrapped and indented. Style goes to each line.
func (t *text) say(s style, indent, words string) {
	for _, line := range wrap(clean(words), t.width-len(indent)) {
		t.b.WriteString(strings.TrimRight(indent+t.paint(s, line), " ") + "\n")
	}
}

func (t *text) gap() { t.b.WriteByte('\n') }

func (t *text) title(words string) {
	t.gap()
	t.say(bold, "", words)
}

func (t *text) top() {
	verdict := map[receipt.Text]style{receipt.VerdictOK: green, receipt.VerdictFindings: yellow}[t.r.Review.Verdict]
	if verdict == "" {
		verdict = red
	}
	t.say(verdict, "", headline(t.r))
	if banner := replayed(t.r); banner != "" {
		t.gap()
		for _, line := range wrap(banner, t.width-len("!! ")) {
			t.b.WriteString(t.paint(red, "!! "+line) + "\n")
		}
	}
	if reason := string(t.r.Run.SkipReason); reason != "" {
		t.gap()
		t.say("", "", reason)
	}
	if e := t.r.Run.Error; e != nil {
		t.gap()
		t.say(red, "", "error: "+e.Message)
		if e.Hint != "" {
			t.say("", "", "hint: "+string(e.Hint))
		}
	}
	if t.r.Status != receipt.Completed && len(t.r.Review.Problems) > 0 {
		t.gap()
		t.list(t.r.Review.Problems)
	}
	if d := doubt(t.r, t.v); d != "" {
		t.gap()
		t.say(yellow, "", d)
	}
	t.opinion()
}

func (t *text) opinion() {
	if t.v == nil {
		return
	}
	if strings.TrimSpace(t.v.Summary) != "" {
		t.gap()
		t.body("", t.v.Summary)
	}
	if o := opinion(t.v); o != "" {
		t.gap()
		t.say("", "", o)
	}
	if u := unlocated(t.v); u != "" {
		t.gap()
		t.say("", "", u)
	}
}

// facts aligns words and digests behind the labels: a digest has a line of its own, as 64 digits
// leave no room for anything else.
func (t *text) facts() {
	t.title("What went in")
	all := facts(t.r)
	for _, f := range all {
		words := oneLine(f.words, 2*titleMax)
		if words != "" && f.sha != "" {
			words += "\n"
		}
		t.row(f.label, words+f.sha, all)
	}
}

// row writes a label, and words beside it that are aligned with those of the other rows.
func (t *text) row(label, words string, others []fact) {
	column := 0
	for _, f := range others {
		column = max(column, columns(f.label))
	}
	indent := strings.Repeat(" ", column+len("    "))
	label = "  " + label + strings.Repeat(" ", max(column-columns(label), 0)) + "  "
	for _, line := range wrap(words, t.width-len(indent)) {
		t.b.WriteString(strings.TrimRight(label+line, " ") + "\n")
		label = indent
	}
}

func (t *text) tokens() {
	if t.r.Tokens.Requests+t.r.Tokens.Unreported == 0 {
		return
	}
	t.title("Tokens")
	all := tokens(t.r.Tokens)
	longest := 0
	for _, f := range all {
		longest = max(longest, len(f.words))
	}
	for _, f := range all {
		t.row(f.label, fmt.Sprintf("%*s", longest, f.words), all)
	}
	t.say(faint, "  ", tokenNote(t.r.Tokens))
}

// problems lists what is wrong with a review that can be trusted all the same.
func (t *text) problems() {
	if t.r.Status != receipt.Completed || len(t.r.Review.Problems) == 0 {
		return
	}
	t.title("Problems")
	t.list(t.r.Review.Problems)
}

func (t *text) warnings() {
	if len(t.r.Run.Warnings) == 0 {
		return
	}
	t.title("Warnings")
	t.list(t.r.Run.Warnings)
}

func (t *text) list(lines []string) {
	for _, line := range lines[:min(len(lines), listMax)] {
		t.say("", "", "- "+oneLine(line, 4*titleMax))
	}
	if more := len(lines) - listMax; more > 0 {
		t.say("", "", fmt.Sprintf("- … %s more", grouped(int64(more))))
	}
}

func (t *text) files() {
	t.title("Files")
	all := t.o.files(t.r)
	for i := range all {
		all[i].label = oneLine(all[i].label, titleMax)
	}
	for _, f := range all {
		t.row(f.label, f.words, all)
	}
}

// commands writes what is to be typed, never wrapped, so that it can be copied.
func (t *text) commands(title, prompt string, lines []string) {
	if len(lines) == 0 {
		return
	}
	t.title(title)
	for _, line := range lines {
		t.b.WriteString("  " + t.paint(faint, prompt) + strings.ReplaceAll(clean(line), "\n", " ") + "\n")
	}
}

// oneLine makes one line of foreign text, of at most limit bytes and what clean makes of them.
func oneLine(words string, limit int) string {
	words, left := clip(words, limit)
	if left > 0 {
		words += "…"
	}
	return strings.Join(strings.Fields(clean(words)), " ")
}

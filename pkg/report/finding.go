package report

import (
	"fmt"
	"strings"

	"github.com/recibo-ci/recibo/pkg/review"
)

func (t *text) findings() {
	if t.v == nil {
		return
	}
	for i, f := range t.v.Findings {
		number := fmt.Sprintf("%d. ", i+1)
		indent := strings.Repeat(" ", len(number))
		t.gap()
		t.heading(number, indent, f)
		t.about(indent, f)
		if strings.TrimSpace(f.Body) != "" {
			t.gap()
			t.body(indent, f.Body)
		}
		t.suggestion(indent, f.Suggestion)
	}
}

// heading writes number and severity, then the title beside or, from its second line on, below.
func (t *text) heading(number, indent string, f review.Finding) {
	level := oneLine(severityOf(f), titleMax)
	colours := map[string]style{"critical": red, "high": red, "medium": yellow}
	colour, ok := colours[level]
	if !ok {
		colour = bold
	}
	words := oneLine(f.Title, titleMax)
	start := number + level + "  "
	lines := wrap(words, t.width-columns(start))
	t.b.WriteString(strings.TrimRight(number+t.paint(colour, level)+"  "+t.paint(bold, lines[0]), " ") + "\n")
	for _, line := range lines[1:] {
		t.b.WriteString(strings.Repeat(" ", columns(start)) + t.paint(bold, line) + "\n")
	}
}

func (t *text) about(indent string, f review.Finding) {
	if at := place(f); at != "" {
		t.say(faint, indent, oneLine(at, 4*titleMax))
	}
	var parts []string
	if f.Category != "" {
		parts = append(parts, oneLine(f.Category, titleMax))
	}
	if f.Confidence != nil {
		parts = append(parts, fmt.Sprintf("confidence %.2f", *f.Confidence))
	}
	if f.Location.Reason != "" {
		parts = append(parts, "no such place: "+oneLine(f.Location.Reason, titleMax))
	}
	if len(parts) > 0 {
		t.say(faint, indent, strings.Join(parts, ", "))
	}
}

// body writes prose and code of a model: prose is wrapped, code is not.
func (t *text) body(indent, words string) {
	words, left := clip(words, textMax)
	lines := strings.Split(strings.Trim(clean(words), "\n"), "\n")
	for len(lines) > 0 {
		line := lines[0]
		if f, ok := parseFence(line); ok {
			var code []string
			code, lines = f.cut(lines[1:])
			for _, c := range code {
				t.code(indent, f.dedent(c))
			}
			continue
		}
		lines = lines[1:]
		t.say("", indent, line)
	}
	if left > 0 {
		t.say(faint, indent, fmt.Sprintf("… %s more, see the review.", plural(left, "byte")))
	}
}

// code writes a line of code, which is never wrapped.
func (t *text) code(indent, line string) {
	t.b.WriteString(strings.TrimRight(indent+"    "+strings.ReplaceAll(line, "\t", "    "), " ") + "\n")
}

func (t *text) suggestion(indent string, suggestion *string) {
	if suggestion == nil {
		return
	}
	t.gap()
	if *suggestion == "" {
		t.say(faint, indent, "suggested: delete these lines")
		return
	}
	t.say(faint, indent, "suggested instead:")
	words, left := clip(*suggestion, textMax)
	for line := range strings.SplitSeq(strings.TrimRight(clean(words), "\n"), "\n") {
		t.code(indent, line)
	}
	if left > 0 {
		t.say(faint, indent, fmt.Sprintf("… %s more, see the review.", plural(left, "byte")))
	}
}

package review

import (
	"encoding/json"
	"strconv"
)

// understand reads a review in the first shape that all of it has. A schema of one's own may lead
// to a variant, so a shape asks only for what makes it what it is: more members are ignored, and
// members that say where and how may be absent.
func understand(value any) *Review {
	root, ok := value.(map[string]any)
	if !ok {
		return &Review{Shape: ShapeUnknown}
	}
	list, ok := root["findings"].([]any)
	if !ok {
		return unknown(root)
	}
	for _, shape := range []func(root map[string]any, list []any) (*Review, bool){asCodex, asBuiltIn, asStrings} {
		if r, ok := shape(root, list); ok {
			return r
		}
	}
	return unknown(root)
}

// unknown keeps what can be read of a review in no known shape: its own verdict must not be lost.
func unknown(root map[string]any) *Review {
	r := &Review{Shape: ShapeUnknown}
	if ok, is := root["ok"].(bool); is {
		r.OK = &ok
	}
	if text, is := root["summary"].(string); is {
		r.Summary = text
	}
	return r
}

func asCodex(root map[string]any, list []any) (*Review, bool) {
	in := members{of: root}
	verdict := in.text("overall_correctness")
	r := &Review{Shape: ShapeCodex, Summary: in.optionalText("overall_explanation")}
	if correct := verdict == "patch is correct"; correct || verdict == "patch is incorrect" {
		r.OK = &correct
	}
	for _, v := range list {
		f := in.object(v)
		at := f.inside("code_location")
		lines := at.inside("line_range")
		r.Findings = append(r.Findings, Finding{
			Severity:   severityOf(f.optionalNumber("priority", -1)),
			Title:      f.text("title"),
			Body:       f.text("body"),
			Path:       at.text("absolute_file_path"),
			StartLine:  lines.number("start"),
			EndLine:    lines.number("end"),
			Side:       "RIGHT",
			Confidence: f.confidence("confidence_score"),
		})
		in.wrong = in.wrong || f.wrong || at.wrong || lines.wrong
	}
	return r, !in.wrong
}

func asBuiltIn(root map[string]any, list []any) (*Review, bool) {
	in := members{of: root}
	_, summarized := root["summary"]
	r := &Review{Shape: ShapeBuiltIn, OK: in.optionalFlag("ok"), Summary: in.optionalText("summary")}
	for _, v := range list {
		f := in.object(v)
		start := f.optionalNumber("start_line", 0)
		r.Findings = append(r.Findings, Finding{
			Severity:   f.severity(),
			Category:   f.optionalText("category"),
			Title:      f.text("title"),
			Body:       f.text("body"),
			Path:       f.optionalText("path"),
			StartLine:  start,
			EndLine:    f.optionalNumber("end_line", start),
			Side:       f.side(),
			Suggestion: f.suggestion(),
			Confidence: f.confidence("confidence"),
		})
		in.wrong = in.wrong || f.wrong
	}
	return r, !in.wrong && (len(list) > 0 || summarized)
}

func asStrings(root map[string]any, list []any) (*Review, bool) {
	in := members{of: root}
	r := &Review{Shape: ShapeStrings, OK: in.optionalFlag("ok"), Summary: in.optionalText("summary")}
	for _, v := range list {
		body, ok := v.(string)
		in.wrong = in.wrong || !ok
		r.Findings = append(r.Findings, Finding{Body: body, Side: "RIGHT"})
	}
	return r, !in.wrong && (len(list) > 0 || r.OK != nil)
}

// members reads an object and remembers whether anything in it was not as it should be.
type members struct {
	of    map[string]any
	wrong bool
}

func (m *members) object(v any) *members {
	of, ok := v.(map[string]any)
	return &members{of: of, wrong: !ok}
}

func (m *members) inside(name string) *members { return m.object(m.of[name]) }

// has reports whether there is a member called name that is not null.
func (m *members) has(name string) bool { return m.of[name] != nil }

func (m *members) text(name string) string {
	s, ok := m.of[name].(string)
	m.wrong = m.wrong || !ok
	return s
}

func (m *members) optionalText(name string) string {
	if !m.has(name) {
		return ""
	}
	return m.text(name)
}

func (m *members) optionalFlag(name string) *bool {
	if !m.has(name) {
		return nil
	}
	b, ok := m.of[name].(bool)
	m.wrong = m.wrong || !ok
	return &b
}

func (m *members) number(name string) int {
	text, ok := m.of[name].(json.Number)
	n, whole := wholeNumber(string(text))
	m.wrong = m.wrong || !ok || !whole
	return n
}

func (m *members) optionalNumber(name string, otherwise int) int {
	if !m.has(name) {
		return otherwise
	}
	return m.number(name)
}

func (m *members) severity() string {
	s := m.text("severity")
	if _, err := ParseSeverity(s); err != nil {
		m.wrong = true
	}
	return s
}

func (m *members) side() string {
	if !m.has("side") {
		return "RIGHT"
	}
	return m.text("side")
}

func (m *members) suggestion() *string {
	if !m.has("suggestion") {
		return nil
	}
	s := m.text("suggestion")
	return &s
}

func (m *members) confidence(name string) *float64 {
	if !m.has(name) {
		return nil
	}
	text, ok := m.of[name].(json.Number)
	m.wrong = m.wrong || !ok
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || f < 0 || f > 1 {
		return nil
	}
	if f == 0 {
		f = 0 // not -0
	}
	return &f
}

package codex

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/wire"
)

// Part is one text that a request holds, or, with an empty Text, an item that is known by its
// type alone (its content is compared elsewhere).
type Part struct {
	Role string `json:"role"`
	Type string `json:"type"`
	Text string `json:"text"`
}

// parts lists what a first request holds, in order.
func parts(r *wire.Request) []Part {
	var out []Part
	for _, item := range r.Items {
		if item.Type != "message" {
			out = append(out, Part{Role: item.Role, Type: item.Type})
			continue
		}
		for _, text := range item.Parts {
			out = append(out, Part{Role: item.Role, Type: "text", Text: text})
		}
	}
	return out
}

// Expectation is what the first request of a run must hold: what Codex brings by itself, as a
// control request showed, and what recibo adds.
type Expectation struct {
	Control *Control
	Context []byte
	// Instructions is the composed AGENTS.md chain, "" for none.
	Instructions string
	Prompt       []byte
	Schema       []byte
	// Dir is the agent's working directory as Codex names it.
	Dir string
}

// MismatchError says how the first request differs from what was expected.
type MismatchError struct {
	// Lines is a diff: "- " expected and missing, "+ " seen and not accounted for. Texts are cut.
	Lines []string
}

func (e *MismatchError) Error() string {
	return "the first model request is not what recibo expects:\n" + strings.Join(e.Lines, "\n")
}

// Match compares a first request with the expectation: instructions, tools, schema, parameters,
// and every item in order.
func (e Expectation) Match(r *wire.Request) error {
	var lines []string
	differ := func(what string, want, got fmt.Stringer) {
		if want.String() != got.String() {
			lines = append(lines, fmt.Sprintf("- %s %s", what, want), fmt.Sprintf("+ %s %s", what, got))
		}
	}
	differ("base instructions", e.Control.InstructionsSHA, r.InstructionsSHA())
	differ("tools", e.Control.ToolsSHA, r.ToolsSHA())
	params, err := parameters(r)
	if err != nil {
		return err
	}
	if params != e.Control.Parameters {
		lines = append(lines, "- parameters "+e.Control.Parameters, "+ parameters "+params)
	}
	if !sameJSON(e.Schema, requestSchema(r)) {
		lines = append(lines, "- output schema "+cut(string(e.Schema)), "+ output schema "+cut(string(requestSchema(r))))
	}
	lines = append(lines, diffParts(e.parts(), normal(parts(r), e.Dir))...)
	if len(lines) > 0 {
		return &MismatchError{Lines: lines}
	}
	return nil
}

// parts is what the items must be: the control's, with our texts in the places of the control's.
func (e Expectation) parts() []Part {
	var out []Part
	for _, p := range normal(e.Control.Parts, e.Control.Dir) {
		switch {
		case p.Role == "developer" && p.Text == controlContext:
			p.Text = string(e.Context)
		case p.Role == "user" && p.Text == controlPrompt:
			p.Text = string(e.Prompt)
		case p.Role == "user" && strings.HasPrefix(p.Text, "<environment_context>") && e.Instructions != "":
			out = append(out, Part{Role: "user", Type: "text", Text: e.agents()})
		}
		out = append(out, p)
	}
	return out
}

// items names the parts of a request that matched. An item of tools is named by the digest of the
// tools in it (see wire.Request.ToolsSHA), since its own bytes hold an id of the session.
func (e Expectation) items(r *wire.Request) []Item {
	var out []Item
	for _, item := range r.Items {
		if item.Type != "message" {
			out = append(out, Item{Role: item.Role, What: item.Type, SHA: r.ToolsSHA(), Bytes: int64(len(item.Raw))})
			continue
		}
		for _, text := range item.Parts {
			p := Part{Role: item.Role, Type: "text", Text: text}
			out = append(out, Item{Role: p.Role, What: e.what(p), SHA: digest.Of([]byte(text)), Bytes: int64(len(text))})
		}
	}
	return out
}

func (e Expectation) what(p Part) string {
	switch {
	case p.Text == string(e.Prompt) && p.Role == "user":
		return "prompt"
	case p.Text == string(e.Context) && p.Role == "developer":
		return "context"
	case strings.HasPrefix(p.Text, "# AGENTS.md instructions for "):
		return "agents_md"
	}
	// Codex marks its own texts by a first tag, such as <environment_context>.
	if tag, _, ok := strings.Cut(strings.TrimPrefix(p.Text, "<"), ">"); ok && strings.HasPrefix(p.Text, "<") && len(tag) < 40 {
		return strings.ReplaceAll(tag, " ", "_")
	}
	return "base_instructions"
}

func (e Expectation) agents() string {
	return "# AGENTS.md instructions for " + placeDir + "\n\n<INSTRUCTIONS>\n" + e.Instructions + "\n</INSTRUCTIONS>"
}

// placeDir stands for the working directory in a normal form.
const placeDir = "DIR"

// normal replaces what differs between two runs of the same thing: the working directory and the
// date, in the two texts that Codex itself writes them into and nowhere else.
func normal(in []Part, dir string) []Part {
	date := regexp.MustCompile(`<current_date>[0-9-]+</current_date>`)
	out := make([]Part, len(in))
	for i, p := range in {
		if p.Role == "user" && strings.HasPrefix(p.Text, "<environment_context>") {
			p.Text = strings.ReplaceAll(p.Text, ">"+dir+"<", ">"+placeDir+"<")
			p.Text = date.ReplaceAllString(p.Text, "<current_date>DATE</current_date>")
		}
		if rest, ok := strings.CutPrefix(p.Text, "# AGENTS.md instructions for "+dir+"\n"); ok && p.Role == "user" {
			p.Text = "# AGENTS.md instructions for " + placeDir + "\n" + rest
		}
		out[i] = p
	}
	return out
}

// diffParts lists what is missing and what is not accounted for, in order. Requests hold about
// ten parts, so the plain longest-common-subsequence table is fine.
func diffParts(want, got []Part) []string {
	common := make([][]int, len(want)+1)
	for i := range common {
		common[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if want[i] == got[j] {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	var lines []string
	i, j := 0, 0
	for i < len(want) || j < len(got) {
		switch {
		case i < len(want) && j < len(got) && want[i] == got[j]:
			i, j = i+1, j+1
		case j == len(got) || i < len(want) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, "- "+want[i].String())
			i++
		default:
			lines = append(lines, "+ "+got[j].String())
			j++
		}
	}
	return lines
}

func (p Part) String() string {
	if p.Type != "text" {
		return p.Role + " item " + p.Type
	}
	return fmt.Sprintf("%s text of %d bytes (%.12s) %s", p.Role, len(p.Text), digest.Of([]byte(p.Text)), cut(p.Text))
}

// cut quotes the start of s for a log.
func cut(s string) string {
	const most = 160
	if len(s) > most {
		return fmt.Sprintf("%q…", strings.ToValidUTF8(s[:most], ""))
	}
	return fmt.Sprintf("%q", s)
}

// parameters returns the request's other settings as JSON with sorted keys: everything but the
// items, the tools, the instructions, the schema, and what names one session.
func parameters(r *wire.Request) (string, error) {
	var m map[string]any
	dec := json.NewDecoder(bytes.NewReader(r.Body))
	dec.UseNumber()
	if err := dec.Decode(&m); err != nil {
		return "", fmt.Errorf("read model request: %w", err)
	}
	for _, key := range []string{"input", "tools", "instructions", "prompt_cache_key", "client_metadata"} {
		delete(m, key)
	}
	if text, ok := m["text"].(map[string]any); ok {
		if format, ok := text["format"].(map[string]any); ok {
			delete(format, "schema")
		}
	}
	out, err := json.Marshal(m)
	return string(out), err
}

func requestSchema(r *wire.Request) json.RawMessage {
	var body struct {
		Text struct {
			Format struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"format"`
		} `json:"text"`
	}
	if err := json.Unmarshal(r.Body, &body); err != nil {
		return nil
	}
	return body.Text.Format.Schema
}

// sameJSON compares two JSON texts by value, with numbers as they are written.
func sameJSON(a, b []byte) bool {
	decode := func(data []byte) (string, bool) {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		var v any
		if dec.Decode(&v) != nil {
			return "", false
		}
		out, err := json.Marshal(v)
		return string(out), err == nil
	}
	x, ok := decode(a)
	y, also := decode(b)
	return ok && also && x == y
}

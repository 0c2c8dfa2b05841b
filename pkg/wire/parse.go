package wire

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
)

// ParseRequest reads the body of a model request. Fields it does not know are allowed; anything
// that two readers could take differently is not: other JSON than one object, a key twice or in
// another case than the one documented, invalid UTF-8, a known field of another type, nesting
// over 128 and more than 1,048,576 values.
func ParseRequest(body []byte) (*Request, error) {
	d, err := scan(body)
	if err != nil {
		return nil, fmt.Errorf("read model request: %w", err)
	}
	p := parser{document: d, req: &Request{Body: body, doc: d}}
	if err := p.request(); err != nil {
		return nil, fmt.Errorf("read model request: %w", err)
	}
	return p.req, nil
}

type parser struct {
	*document
	req *Request
}

func (p *parser) request() error {
	if p.cells[0].kind != '{' {
		return errors.New("not a JSON object")
	}
	if err := p.spelling(0, "model", "instructions", "input", "tools", "text", "store", "stream",
		"background", "previous_response_id", "conversation", "prompt", "reasoning"); err != nil {
		return err
	}
	if err := p.fields(); err != nil {
		return err
	}
	if err := p.tools(0, nil); err != nil {
		return err
	}
	if err := p.input(); err != nil {
		return err
	}
	p.metadata()
	return nil
}

// spelling refuses a key of the object at i that differs from a known one only by case: readers
// exist that take it for the known one.
func (p *parser) spelling(i int, known ...string) error {
	for k := range p.keys(i) {
		key := p.text(k)
		for _, name := range known {
			if key != name && strings.EqualFold(key, name) {
				return fmt.Errorf("key %.64q instead of %q", key, name)
			}
		}
	}
	return nil
}

func (p *parser) fields() error {
	r := p.req
	var store bool
	r.Store = &store
	if p.get(0, "store") < 0 {
		r.Store = nil
	}
	if v := p.get(0, "conversation"); v >= 0 {
		r.Conversation = p.raw(v)
	}
	if p.get(0, "prompt") >= 0 {
		p.point("prompt")
	}
	if v := p.get(p.get(0, "text"), "format"); v >= 0 {
		r.Schema = p.raw(v)
	}
	r.Effort = p.str(p.get(0, "reasoning"), "effort")
	return cmp.Or(
		p.stringField("model", &r.Model),
		p.stringField("instructions", &r.Instructions),
		p.stringField("previous_response_id", &r.PreviousResponseID),
		p.boolField("store", &store),
		p.boolField("stream", &r.Stream),
		p.boolField("background", &r.Background),
	)
}

func (p *parser) stringField(name string, to *string) error {
	v := p.get(0, name)
	if v < 0 {
		return nil
	}
	if !p.isString(v) {
		return fmt.Errorf("%q is not a string", name)
	}
	*to = p.text(v)
	return nil
}

func (p *parser) boolField(name string, to *bool) error {
	v := p.get(0, name)
	if v < 0 {
		return nil
	}
	kind := p.cells[v].kind
	if kind != 't' && kind != 'f' {
		return fmt.Errorf("%q is neither true nor false", name)
	}
	*to = kind == 't'
	return nil
}

func (p *parser) input() error {
	v := p.get(0, "input")
	if v < 0 {
		return nil
	}
	// The interface takes a bare string for one user message.
	if p.isString(v) {
		p.req.Items = []Item{{Type: "message", Role: "user", Parts: []string{p.text(v)}, Raw: p.raw(v)}}
		return nil
	}
	if p.cells[v].kind != '[' {
		return errors.New(`"input" is neither a list nor a string`)
	}
	for e := range p.elements(v) {
		if p.cells[e].kind != '{' {
			return fmt.Errorf("item %d of the input is not an object", len(p.req.Items))
		}
		if err := p.item(e); err != nil {
			return fmt.Errorf("item %d of the input: %w", len(p.req.Items), err)
		}
	}
	return nil
}

func (p *parser) item(i int) error {
	if err := p.spelling(i, "type", "role", "content", "output", "tools", "name", "call_id"); err != nil {
		return err
	}
	item := Item{Raw: p.raw(i), Type: p.str(i, "type"), Role: p.str(i, "role"), ID: p.str(i, "id"),
		CallID: p.str(i, "call_id"), Name: p.str(i, "name"), Namespace: p.str(i, "namespace")}
	// A message may leave its type away.
	if item.Type == "" && item.Role != "" {
		item.Type = "message"
	}
	for _, field := range []string{"content", "output"} {
		v := p.get(i, field)
		if v < 0 {
			continue
		}
		if err := p.parts(&item, v); err != nil {
			return err
		}
	}
	p.req.Items = append(p.req.Items, item)
	p.req.items = append(p.req.items, i)
	p.outside(i, item.Type)
	return p.tools(i, nil)
}

func (p *parser) parts(item *Item, v int) error {
	switch {
	case p.isString(v):
		item.Parts = append(item.Parts, p.text(v))
		return nil
	case p.cells[v].kind != '[':
		// An object here belongs to a kind of item that holds no text.
		item.Other = append(item.Other, "object")
		return nil
	}
	for e := range p.elements(v) {
		text := p.get(e, "text")
		kind := p.str(e, "type")
		if kind != "input_text" && kind != "output_text" || text < 0 || !p.isString(text) {
			item.Other = append(item.Other, kind)
			continue
		}
		if err := p.spelling(e, "type", "text"); err != nil {
			return err
		}
		item.Parts = append(item.Parts, p.text(text))
	}
	return nil
}

// metadata reads what Codex says of itself. Nothing rests on it, so nothing here is an error.
func (p *parser) metadata() {
	turn := p.str(p.get(0, "client_metadata"), "x-codex-turn-metadata")
	if d, err := scan([]byte(turn)); err == nil {
		p.req.Kind = d.str(0, "request_kind")
		p.req.Sandbox = d.str(0, "sandbox_mode")
	}
	for _, item := range p.req.Items {
		if item.Role != "user" {
			continue
		}
		for _, part := range item.Parts {
			if cwd, ok := cwdOf(part); ok {
				p.req.CWD = cwd
			}
		}
	}
}

func cwdOf(part string) (string, bool) {
	if !strings.HasPrefix(part, "<environment_context>") {
		return "", false
	}
	_, rest, ok := strings.Cut(part, "<cwd>")
	if !ok {
		return "", false
	}
	cwd, _, ok := strings.Cut(rest, "</cwd>")
	return cwd, ok
}

package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/recibo-ci/recibo/pkg/digest"
)

// members checks that the object at i has each of the keys required and no key but those and the
// optional ones: in a file that people write by hand, a slip must not pass as an absence.
func (d *document) members(i int, required []string, optional ...string) error {
	if d.cells[i].kind != '{' {
		return errors.New("want an object")
	}
	var found []string
	for k := range d.keys(i) {
		key := d.text(k)
		if !slices.Contains(required, key) && !slices.Contains(optional, key) {
			return fmt.Errorf("unknown key %.64q", key)
		}
		found = append(found, key)
	}
	for _, key := range required {
		if !slices.Contains(found, key) {
			return fmt.Errorf("no %q", key)
		}
	}
	return nil
}

// value returns the index of the value at key, which members has found.
func (d *document) value(object int, key string) int {
	for k := range d.keys(object) {
		if string(d.bytes(k)) == key {
			return k + 1
		}
	}
	return -1
}

func (d *document) needString(object int, key string, to *string) error {
	v := d.value(object, key)
	if !d.isString(v) {
		return fmt.Errorf("%q is not a string", key)
	}
	*to = d.text(v)
	return nil
}

func (d *document) needInt(object int, key string, to *int) error {
	n, err := strconv.Atoi(string(d.raw(d.value(object, key))))
	if err != nil || n < 0 {
		return fmt.Errorf("%q is not a count", key)
	}
	*to = n
	return nil
}

func parseHeader(line []byte) (Header, error) {
	var h Header
	d, err := scan(line)
	if err != nil {
		return h, err
	}
	if d.cells[0].kind != '{' || d.get(0, "session") < 0 {
		return h, errors.New("no header")
	}
	if err := d.needInt(0, "session", &h.Version); err != nil {
		return h, err
	}
	if h.Version != sessionVersion {
		return h, fmt.Errorf("version %d, this recibo reads %d", h.Version, sessionVersion)
	}
	if err := d.members(0, []string{"session", "origin", "codex_version", "model", "prompt_sha"}); err != nil {
		return h, err
	}
	var prompt string
	err = cmp.Or(
		d.needString(0, "origin", &h.Origin),
		d.needString(0, "codex_version", &h.CodexVersion),
		d.needString(0, "model", &h.Model),
		d.needString(0, "prompt_sha", &prompt),
	)
	if err != nil {
		return h, err
	}
	if h.Origin != Recorded && h.Origin != Scripted {
		return h, fmt.Errorf("origin %.64q is neither %q nor %q", h.Origin, Recorded, Scripted)
	}
	if h.PromptSHA, err = digest.Parse(prompt); err != nil {
		return h, fmt.Errorf("prompt_sha: %w", err)
	}
	if h.PromptSHA.IsZero() {
		return h, errors.New("prompt_sha is empty")
	}
	return h, nil
}

func parseExchange(line []byte) (Exchange, error) {
	var e Exchange
	// A line holds a request and every event of its answer, each of them within the usual limits.
	d, err := scanWithin(line, limits{depth: maxDepth + 8, values: 16 * maxValues})
	if err != nil {
		return e, err
	}
	if err := d.members(0, []string{"n", "request", "response"}); err != nil {
		return e, err
	}
	if err := d.needInt(0, "n", &e.N); err != nil {
		return e, err
	}
	if e.Request, err = d.sent(d.value(0, "request")); err != nil {
		return e, fmt.Errorf("request: %w", err)
	}
	if e.Response, err = d.reply(d.value(0, "response")); err != nil {
		return e, fmt.Errorf("response: %w", err)
	}
	return e, nil
}

func (d *document) sent(i int) (*Sent, error) {
	if d.cells[i].kind == 'n' {
		return nil, nil
	}
	if err := d.members(i, []string{"method", "path", "body"}); err != nil {
		return nil, err
	}
	var s Sent
	if err := d.needString(i, "method", &s.Method); err != nil {
		return nil, err
	}
	if err := d.needString(i, "path", &s.Path); err != nil {
		return nil, err
	}
	s.Body = d.raw(d.value(i, "body"))
	return &s, nil
}

func (d *document) reply(i int) (Reply, error) {
	var r Reply
	if err := d.members(i, []string{"status", "content_type"}, "events", "body", "cut"); err != nil {
		return r, err
	}
	if err := d.needInt(i, "status", &r.Status); err != nil {
		return r, err
	}
	if r.Status < 200 || r.Status > 599 {
		return r, fmt.Errorf("status %d", r.Status)
	}
	if err := d.needString(i, "content_type", &r.ContentType); err != nil {
		return r, err
	}
	if strings.ContainsAny(r.ContentType, "\r\n\x00") {
		return r, errors.New("content_type has a line break")
	}
	if cut := d.value(i, "cut"); cut >= 0 {
		if kind := d.cells[cut].kind; kind != 't' && kind != 'f' {
			return r, errors.New(`"cut" is neither true nor false`)
		}
		r.Cut = d.cells[cut].kind == 't'
	}
	events, body := d.value(i, "events"), d.value(i, "body")
	if (events < 0) == (body < 0) {
		return r, errors.New(`want either "events" or "body"`)
	}
	if body >= 0 {
		return r, d.needString(i, "body", &r.Body)
	}
	var err error
	r.Events, err = d.events(events)
	return r, err
}

func (d *document) events(i int) ([]json.RawMessage, error) {
	if d.cells[i].kind != '[' {
		return nil, errors.New(`"events" is not a list`)
	}
	out := []json.RawMessage{}
	for e := range d.elements(i) {
		raw := d.raw(e)
		if _, err := eventType(raw); err != nil {
			return nil, fmt.Errorf("event %d: %w", len(out)+1, err)
		}
		out = append(out, raw)
	}
	return out, nil
}

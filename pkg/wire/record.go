package wire

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/recibo-ci/recibo/pkg/digest"
)

// Kinds of a request.
const (
	Turn       = "turn"
	Compaction = "compaction"
	// OtherKind is a request that Codex calls neither, or does not name.
	OtherKind = "other"
)

const (
	// maxListed bounds the lists of a record; a request may hold a million items.
	maxListed = 256
	maxWord   = 200
	maxError  = 1000
)

// Record is one line of wire.jsonl: what one model request was and what became of it. It holds
// digests and numbers, no text of the request or of the answer except names and a bounded error.
// Times are milliseconds.
type Record struct {
	// N counts the model requests from 1.
	N int `json:"n"`
	// Path is what Codex asked for, without what is secret in it.
	Path         string `json:"path"`
	Kind         string `json:"kind"`
	SinceStartMS int64  `json:"since_start_ms"`
	Request      Asked  `json:"request"`
	// Changed is what Diff found beside the last request that was sent.
	Changed []string `json:"changed"`
	// PromptIntact says that the prompt's item was there byte for byte. False when refused before
	// that was looked at.
	PromptIntact bool `json:"prompt_intact"`
	// Refused is why nothing was sent, "" when it was.
	Refused string `json:"refused"`
	// Failure is why no answer came, or why it was cut, "" otherwise.
	Failure string `json:"failure"`
	// Attempts counts how often it was sent upstream.
	Attempts int `json:"attempts"`
	// Response is nil when nothing was sent or nothing came.
	Response *Answer `json:"response"`
}

// Asked is what a record says of the request.
type Asked struct {
	SHA             digest.SHA256 `json:"sha"`
	Bytes           int           `json:"bytes"`
	Model           string        `json:"model"`
	Effort          string        `json:"effort"`
	Items           int           `json:"items"`
	InstructionsSHA digest.SHA256 `json:"instructions_sha"`
	ToolsSHA        digest.SHA256 `json:"tools_sha"`
	// Tools are the names offered, with their namespaces: "functions.exec".
	Tools     []string      `json:"tools"`
	Developer []Text        `json:"developer"`
	User      []Text        `json:"user"`
	SchemaSHA digest.SHA256 `json:"schema_sha"`
	// LeftOut counts entries beyond the first 256 of each list.
	LeftOut int `json:"left_out"`
}

// Answer is what a record says of the response.
type Answer struct {
	Status int `json:"status"`
	// HeadersMS, FirstEventMS and DoneMS count from the arrival of the request; FirstEventMS is 0
	// when no event came.
	HeadersMS    int64 `json:"headers_ms"`
	FirstEventMS int64 `json:"first_event_ms"`
	DoneMS       int64 `json:"done_ms"`
	Bytes        int64 `json:"bytes"`
	// SHA is the digest of the body as it was passed on.
	SHA digest.SHA256 `json:"sha"`
	Summary
	// Cut says that the answer did not reach its end: upstream broke off, or Codex went away.
	Cut bool `json:"cut"`
}

// NewAsked describes r.
func NewAsked(r *Request) Asked {
	a := Asked{
		SHA: r.SHA(), Bytes: len(r.Body), Model: Bounded(r.Model, maxWord), Effort: Bounded(r.Effort, maxWord),
		Items: len(r.Items), InstructionsSHA: r.InstructionsSHA(), ToolsSHA: r.ToolsSHA(), SchemaSHA: r.SchemaSHA(),
	}
	a.Tools = make([]string, 0, len(r.Tools))
	for _, t := range r.Tools {
		a.Tools = append(a.Tools, Bounded(strings.Join(append(t.Namespace[:len(t.Namespace):len(t.Namespace)], t.Name), "."), maxWord))
	}
	a.Tools = listed(a.Tools, &a.LeftOut)
	a.Developer = listed(r.Texts("developer"), &a.LeftOut)
	a.User = listed(r.Texts("user"), &a.LeftOut)
	return a
}

// listed returns the first entries of list, never nil, and adds how many it left out.
func listed[T any](list []T, leftOut *int) []T {
	if list == nil {
		return []T{}
	}
	if len(list) > maxListed {
		*leftOut += len(list) - maxListed
		return list[:maxListed:maxListed]
	}
	return list
}

// KindOf returns the kind of r: what Codex itself calls it, or compaction by its path.
func KindOf(path string, r *Request) string {
	if strings.HasSuffix(path, "/compact") {
		return Compaction
	}
	if r.Kind == Turn || r.Kind == Compaction {
		return r.Kind
	}
	return OtherKind
}

// AppendLine appends the record as one line of JSON with its newline.
func (r Record) AppendLine(dst []byte) ([]byte, error) {
	r.Changed = nonNil(r.Changed)
	r.Request.Tools = nonNil(r.Request.Tools)
	r.Request.Developer = nonNil(r.Request.Developer)
	r.Request.User = nonNil(r.Request.User)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return dst, err
	}
	return append(dst, b.Bytes()...), nil
}

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Bounded returns at most limit bytes of s on one line, as valid UTF-8: control characters become
// spaces, and what is cut ends in an ellipsis.
func Bounded(s string, limit int) string {
	cut := len(s) > limit
	if cut {
		for n := 1; n < utf8.UTFMax && limit > 0 && !utf8.RuneStart(s[limit]); n++ {
			limit--
		}
		s = s[:limit]
	}
	s = strings.Map(func(r rune) rune {
		if r < 0x20 || r >= 0x7f && r <= 0x9f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if cut {
		s += "…"
	}
	return s
}

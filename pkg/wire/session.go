package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
)

const (
	sessionVersion = 1
	// maxLine bounds one line of a session: a request and a response of the gateway's largest size.
	maxLine = 192 << 20
)

// Origins of a session.
const (
	Recorded = "recorded"
	Scripted = "scripted"
)

// Header is the first line of a session: {"session":1,"origin":…,"codex_version":…,"model":…,
// "prompt_sha":…}.
type Header struct {
	Version      int           `json:"session"`
	Origin       string        `json:"origin"`
	CodexVersion string        `json:"codex_version"`
	Model        string        `json:"model"`
	PromptSHA    digest.SHA256 `json:"prompt_sha"`
}

// Exchange is each other line of a session: one model request and what was answered.
type Exchange struct {
	// N counts from 1.
	N int
	// Request is nil in a session that nobody recorded.
	Request  *Sent
	Response Reply
}

// Sent is a recorded request.
type Sent struct {
	Method, Path string
	// Body is a JSON object, as it was sent.
	Body json.RawMessage
}

// Reply is an answer: either Events of a stream or, when that is nil, a Body.
type Reply struct {
	Status      int
	ContentType string
	// Events are the JSON objects of the `data:` lines, in order, each with a string member
	// `type`; their bytes are kept.
	Events []json.RawMessage
	Body   string
	// Cut says that the answer broke off behind what is here.
	Cut bool
}

// AppendHeader appends the first line of a session.
func AppendHeader(dst []byte, h Header) ([]byte, error) {
	h.Version = sessionVersion
	line, err := json.Marshal(h)
	if err != nil {
		return dst, err
	}
	return append(append(dst, line...), '\n'), nil
}

// AppendExchange appends a line of a session. The bytes of JSON values are kept, except that line
// breaks between tokens become spaces.
func AppendExchange(dst []byte, e Exchange) ([]byte, error) {
	dst = fmt.Appendf(dst, `{"n":%d,"request":`, e.N)
	dst, err := appendSent(dst, e.Request)
	if err != nil {
		return nil, fmt.Errorf("write exchange %d: request: %w", e.N, err)
	}
	dst = append(dst, `,"response":`...)
	dst, err = appendReply(dst, e.Response)
	if err != nil {
		return nil, fmt.Errorf("write exchange %d: response: %w", e.N, err)
	}
	return append(dst, "}\n"...), nil
}

func appendSent(dst []byte, s *Sent) ([]byte, error) {
	if s == nil {
		return append(dst, "null"...), nil
	}
	if _, err := scan(s.Body); err != nil {
		return nil, err
	}
	dst = appendString(append(dst, `{"method":`...), validText(s.Method))
	dst = appendString(append(dst, `,"path":`...), validText(s.Path))
	dst = appendOneLine(append(dst, `,"body":`...), s.Body)
	return append(dst, '}'), nil
}

func appendReply(dst []byte, r Reply) ([]byte, error) {
	dst = fmt.Appendf(dst, `{"status":%d,"content_type":`, r.Status)
	dst = appendString(dst, validText(r.ContentType))
	if r.Cut {
		dst = append(dst, `,"cut":true`...)
	}
	if r.Events == nil {
		dst = append(dst, `,"body":`...)
		dst = appendString(dst, validText(r.Body))
		return append(dst, '}'), nil
	}
	dst = append(dst, `,"events":[`...)
	for i, event := range r.Events {
		if i > 0 {
			dst = append(dst, ',')
		}
		if _, err := eventType(event); err != nil {
			return nil, fmt.Errorf("event %d: %w", i+1, err)
		}
		dst = appendOneLine(dst, event)
	}
	return append(dst, "]}"...), nil
}

// validText returns s as valid UTF-8, which every string of a session is.
func validText(s string) []byte { return bytes.ToValidUTF8([]byte(s), []byte("\uFFFD")) }

// appendOneLine appends a JSON text without its line breaks, which can only stand between tokens.
func appendOneLine(dst, src []byte) []byte {
	from := len(dst)
	dst = append(dst, src...)
	for i, c := range dst[from:] {
		if c == '\n' || c == '\r' {
			dst[from+i] = ' '
		}
	}
	return dst
}

// AppendEvent appends an event of a session as a stream carries it: `event: TYPE`, `data: JSON`,
// an empty line.
func AppendEvent(dst []byte, event json.RawMessage) ([]byte, error) {
	kind, err := eventType(event)
	if err != nil {
		return dst, err
	}
	dst = append(append(dst, "event: "...), kind...)
	dst = appendOneLine(append(dst, "\ndata: "...), event)
	return append(dst, "\n\n"...), nil
}

func eventType(event []byte) (string, error) {
	d, err := scan(event)
	if err != nil {
		return "", err
	}
	kind := d.str(0, "type")
	// A line break in the type would forge a line of the stream.
	if kind == "" || strings.ContainsAny(kind, "\r\n\x00") {
		return "", errors.New("not an object with a type")
	}
	return kind, nil
}

// NewReply makes the reply of an answer whose whole body is at hand. A stream all of whose events
// are JSON objects with a type gives Events, anything else Body.
func NewReply(status int, contentType string, body []byte, cut bool) Reply {
	r := Reply{Status: status, ContentType: contentType, Cut: cut}
	if !IsStream(contentType) {
		r.Body = string(body)
		return r
	}
	events, ok := []json.RawMessage{}, true
	split := splitter{limit: max(len(body), peekWindow+1), emit: func(e event) {
		_, err := eventType(e.data)
		ok = ok && err == nil
		events = append(events, slices.Clone(e.data))
	}}
	split.Write(body)
	if !ok {
		r.Body = string(body)
		return r
	}
	r.Events = events
	return r
}

// IsStream reports whether a content type is that of server-sent events.
func IsStream(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "text/event-stream")
}

// Session reads a session.
type Session struct {
	Header Header
	in     *bufio.Reader
	line   int
	n      int
}

// ReadSession reads the first line. Every error of a session is a fault.Request that names the
// line.
func ReadSession(r io.Reader) (*Session, error) {
	s := &Session{in: bufio.NewReaderSize(r, 64<<10)}
	line, err := s.next()
	if errors.Is(err, io.EOF) {
		return nil, s.fault(errors.New("no header, the file is empty"))
	}
	if err != nil {
		return nil, err
	}
	if s.Header, err = parseHeader(line); err != nil {
		return nil, s.fault(err)
	}
	return s, nil
}

// Next returns the next exchange, io.EOF behind the last.
func (s *Session) Next() (Exchange, error) {
	line, err := s.next()
	if err != nil {
		return Exchange{}, err
	}
	e, err := parseExchange(line)
	if err == nil && e.N != s.n+1 {
		err = fmt.Errorf("exchange %d where %d is due", e.N, s.n+1)
	}
	if err != nil {
		return Exchange{}, s.fault(err)
	}
	s.n = e.N
	return e, nil
}

func (s *Session) fault(err error) error {
	return fault.New(fault.Request, "use a session that recibo wrote, or correct the line by hand",
		"read session: line %d: %w", s.line, err)
}

// next returns the next line without its newline, io.EOF behind the last.
func (s *Session) next() ([]byte, error) {
	var line []byte
	s.line++
	for {
		part, err := s.in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return nil, s.fault(fmt.Errorf("over %d bytes", maxLine))
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, s.fault(errors.New("the last line has no end, the file is cut"))
		case err != nil:
			return nil, s.fault(err)
		}
		return line[:len(line)-1], nil
	}
}

package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/recibo-ci/recibo/pkg/wire"
)

// Replay reads a whole session and returns what answers from it: request after request in order,
// whatever is asked, and past the end a 400, which Codex ends on. The header tells for which
// prompt it was made. Errors are fault.Request and name the line.
func Replay(session io.Reader) (http.RoundTripper, wire.Header, error) {
	s, err := wire.ReadSession(session)
	if err != nil {
		return nil, wire.Header{}, err
	}
	r := &replay{}
	for {
		x, err := s.Next()
		if errors.Is(err, io.EOF) {
			return r, s.Header, nil
		}
		if err != nil {
			return nil, wire.Header{}, err
		}
		a, err := newAnswer(x.Response)
		if err != nil {
			return nil, wire.Header{}, fmt.Errorf("replay exchange %d: %w", x.N, err)
		}
		r.answers = append(r.answers, a)
	}
}

type replay struct {
	answers []answer

	mu sync.Mutex
	n  int
}

type answer struct {
	status      int
	contentType string
	body        []byte
	cut         bool
}

// newAnswer prints a reply. What it holds of the session's line is copied, so that the recorded
// request beside it is let go.
func newAnswer(r wire.Reply) (answer, error) {
	a := answer{status: r.Status, contentType: r.ContentType, body: []byte(r.Body), cut: r.Cut}
	for _, event := range r.Events {
		var err error
		if a.body, err = wire.AppendEvent(a.body, event); err != nil {
			return answer{}, err
		}
	}
	return a, nil
}

// RoundTrip gives the next answer.
func (r *replay) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		_, err := io.Copy(io.Discard, req.Body)
		req.Body.Close()
		if err != nil {
			return nil, err
		}
	}
	a := r.next()
	var body io.Reader = bytes.NewReader(a.body)
	if a.cut {
		body = io.MultiReader(body, broken{})
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        http.Header{"Content-Type": {a.contentType}},
		Body:          io.NopCloser(body),
		ContentLength: -1,
		Request:       req,
	}, nil
}

func (r *replay) next() answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	if r.n > len(r.answers) {
		return answer{status: http.StatusBadRequest, contentType: "application/json",
			body: errorBody(http.StatusBadRequest, "session_ended", fmt.Sprintf("the recorded session has no answer for request %d", r.n))}
	}
	return r.answers[r.n-1]
}

// broken is the end of an answer that had none.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

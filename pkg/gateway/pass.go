package gateway

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"hash"
	"io"
	"net/http"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/wire"
)

const (
	// chunk is read at a time: what upstream has sent leaves at once, however little it is.
	chunk = 64 << 10
	// maxMetered bounds what is held of an answer that is no stream, to read its usage.
	maxMetered = 8 << 20
)

// meter looks at an answer as it passes.
type meter struct {
	stream bool
	events wire.Stream
	body   []byte
	hash   hash.Hash
	bytes  int64
	keep   *kept
}

func (m *meter) write(p []byte) {
	m.bytes += int64(len(p))
	m.hash.Write(p)
	if m.keep != nil {
		m.keep.Write(p)
	}
	if m.stream {
		m.events.Write(p)
		return
	}
	if room := maxMetered - len(m.body); room > 0 {
		m.body = append(m.body, p[:min(room, len(p))]...)
	}
}

func (m *meter) summary() wire.Summary {
	if m.stream {
		return m.events.Summary()
	}
	return wire.ReadBody(m.body)
}

// pass hands the answer to Codex as it comes, and looks at each piece once it has left.
func (g *Gateway) pass(ctx context.Context, w http.ResponseWriter, res *http.Response, x *exchange) {
	contentType := res.Header.Get("Content-Type")
	m := &meter{stream: wire.IsStream(contentType), hash: sha256.New(), keep: x.reply}
	if x.reply != nil {
		x.reply.status, x.reply.contentType = res.StatusCode, contentType
	}
	answer := &wire.Answer{Status: res.StatusCode, HeadersMS: g.since(x)}
	x.rec.Response = answer
	inbound(w.Header(), res.Header)
	w.WriteHeader(res.StatusCode)
	readErr, writeErr := g.copy(w, res.Body, m, func() {
		if answer.FirstEventMS == 0 && m.events.Events() > 0 {
			answer.FirstEventMS = max(1, g.since(x))
		}
	})
	if m.bytes == res.ContentLength {
		// A client that has it all may be gone before upstream's end is read.
		readErr = nil
	}
	answer.DoneMS = g.since(x)
	answer.Bytes = m.bytes
	answer.SHA = digest.SHA256(m.hash.Sum(nil))
	answer.Summary = m.summary()
	g.end(ctx, x, m, errors.Join(readErr, writeErr), writeErr != nil)
	if readErr != nil && answer.Cut {
		// A clean end would pass for a whole answer.
		panic(http.ErrAbortHandler)
	}
}

// copy passes the body on, a flush for each read, and calls each behind every piece.
func (g *Gateway) copy(w http.ResponseWriter, body io.Reader, m *meter, each func()) (readErr, writeErr error) {
	control := http.NewResponseController(w)
	// Codex waits for the headers with a limit of its own. Sent before any of the body, they also
	// get no content type that the server guessed.
	if err := control.Flush(); err != nil {
		return nil, err
	}
	piece := g.pieces.Get().(*[chunk]byte)
	defer g.pieces.Put(piece)
	buf := piece[:]
	for {
		n, err := body.Read(buf)
		if n > 0 {
			_, writeErr = w.Write(buf[:n])
			if writeErr == nil {
				writeErr = control.Flush()
			}
			m.write(buf[:n])
			each()
		}
		if writeErr != nil {
			return nil, writeErr
		}
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return err, nil
		}
	}
}

// end judges how the answer ended and settles its tokens.
func (g *Gateway) end(ctx context.Context, x *exchange, m *meter, err error, gone bool) {
	answer := x.rec.Response
	// Codex hangs up as soon as it has the last event, before the connection's own end.
	if answer.Finished && m.stream {
		err = nil
	}
	switch {
	case err != nil && (gone || ctx.Err() != nil):
		answer.Cut = true
		x.rec.Failure = stoppedHere
	case err != nil:
		answer.Cut = true
		x.rec.Failure = wire.Bounded("the answer broke off: "+err.Error(), maxMessage)
		g.failed(upstreamFault("run it again", "model endpoint: the answer broke off: %w", err))
	case answer.Status >= 400:
		answer.Failed = true
		g.failed(upstreamFault(statusHint(answer.Status), "model endpoint: status %d: %s", answer.Status, told(answer, m)))
	case m.stream && !answer.Finished:
		answer.Cut = true
		x.rec.Failure = "the stream ended without a last event"
		g.failed(upstreamFault("run it again", "model endpoint: the stream ended without a last event"))
	case answer.Failed:
		g.failed(upstreamFault(askProvider, "model endpoint: the response failed: %s", told(answer, m)))
	}
	if x.reply != nil {
		// A stream that ends cleanly without a last event replays as that.
		x.reply.cut = answer.Cut && err != nil
	}
	if answer.Usage != nil {
		g.settle(*answer.Usage)
	}
}

// told is what upstream said of its failure.
func told(a *wire.Answer, m *meter) string {
	if a.Error != "" && a.ErrorCode != "" {
		return a.ErrorCode + ": " + a.Error
	}
	if a.Error != "" {
		return a.Error
	}
	if text := wire.Bounded(string(bytes.TrimSpace(m.body[:min(len(m.body), maxMessage)])), maxMessage); text != "" {
		return text
	}
	return "no reason given"
}

// askProvider is the hint where only the endpoint's own words help.
const askProvider = "what the endpoint says is all that is known; wire.jsonl names the request"

func statusHint(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return "check openai-api-key, and that it may use this model"
	case http.StatusNotFound:
		return "check responses-api-endpoint and model"
	case http.StatusTooManyRequests:
		return "the key's rate limit or quota is used up: wait, or raise it"
	}
	if status >= 500 {
		return "the provider has a fault: run it again later"
	}
	return askProvider
}

// since returns the milliseconds since x arrived.
func (g *Gateway) since(x *exchange) int64 { return g.cfg.Now().Sub(x.arrived).Milliseconds() }

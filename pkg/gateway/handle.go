package gateway

import (
	"bytes"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/wire"
)

const (
	responsesPath = "/v1/responses"
	compactPath   = "/v1/responses/compact"
	maxBody       = 64 << 20
	// maxMessage bounds what Codex is told of an error; it may show it to the model.
	maxMessage = 500
)

// exchange is one model request on its way.
type exchange struct {
	arrived time.Time
	rec     wire.Record
	req     *wire.Request // nil when it could not be read
	reply   *kept         // nil when nothing was sent, or no session is kept
}

func (g *Gateway) serve(w http.ResponseWriter, r *http.Request) {
	if !g.enter() {
		writeError(w, http.StatusServiceUnavailable, "gateway_closed", "the gateway is closing")
		return
	}
	defer g.handlers.Done()
	path, status := g.route(r)
	if status != http.StatusOK {
		g.stray()
		writeError(w, status, "not_a_model_request", "only POST to the responses endpoint is served here")
		return
	}
	arrived := g.cfg.Now()
	req, status, err := receive(w, r)
	x, refused := g.admit(path, arrived, req, err)
	if x == nil {
		writeError(w, http.StatusBadRequest, "recibo_refused", refused.Error())
		return
	}
	described := x.describe()
	// Also when the answer is cut by a panic, which is how a handler drops a connection.
	defer func() {
		<-described
		g.ledger.done(x)
	}()
	if refused != nil {
		writeError(w, status, "recibo_refused", refused.Error())
		return
	}
	g.forward(r.Context(), w, r.Header, x)
}

// describe fills in the record's digests beside the exchange, which need not wait for them. Nothing
// else touches that part of the record until the channel is closed.
func (x *exchange) describe() <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if x.req != nil {
			x.rec.Request = wire.NewAsked(x.req)
		}
	}()
	return done
}

// route returns the path asked for without its secret part, and a status other than 200 for what
// is no model request.
func (g *Gateway) route(r *http.Request) (path string, status int) {
	// A page in a browser can name this port, but not this host with it.
	if r.Host != g.addr {
		return "", http.StatusForbidden
	}
	token, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) != 1 {
		return "", http.StatusNotFound
	}
	switch path := "/" + rest; {
	case path != responsesPath && path != compactPath:
		return "", http.StatusNotFound
	case r.Method != http.MethodPost:
		return "", http.StatusMethodNotAllowed
	default:
		return path, http.StatusOK
	}
}

// errLeft means that the client went away before its request was whole.
var errLeft = errors.New("the request ended before its body did")

// receive reads the request. The status is for Codex in case it is refused, whatever the reason.
func receive(w http.ResponseWriter, r *http.Request) (*wire.Request, int, error) {
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return nil, http.StatusUnsupportedMediaType, fmt.Errorf("its content encoding is %.64q", encoding)
	}
	control := http.NewResponseController(w)
	// Only the socket knows these; a writer that has no deadlines has no slow client either.
	_ = control.SetReadDeadline(time.Now().Add(bodyTime))
	defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), 1<<20)) + bytes.MinRead)
	_, err := body.ReadFrom(http.MaxBytesReader(w, r.Body, maxBody))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, http.StatusRequestEntityTooLarge, fmt.Errorf("its body is over %d bytes", maxBody)
	}
	if err != nil {
		return nil, http.StatusBadRequest, errLeft
	}
	req, err := wire.ParseRequest(body.Bytes())
	return req, http.StatusBadRequest, err
}

// admit gives the request its number and decides whether it is sent; problem is what reading it
// found. Without an exchange the request is one too many and leaves no record.
func (g *Gateway) admit(path string, arrived time.Time, req *wire.Request, problem error) (*exchange, error) {
	x := &exchange{arrived: arrived, req: req}
	x.rec = wire.Record{Path: path, Kind: wire.OtherKind, SinceStartMS: arrived.Sub(g.start).Milliseconds()}
	if req != nil {
		x.rec.Kind = wire.KindOf(path, req)
	}
	g.admitting.Lock()
	defer g.admitting.Unlock()
	n, ok := g.number()
	if !ok {
		return nil, g.refuse(fault.New(fault.Budget, "look at the end of wire.jsonl for what repeats",
			"over %d model requests in one run", maxRequests))
	}
	x.rec.N = n
	if err := g.judge(x, problem); err != nil {
		x.rec.Refused = wire.Bounded(err.Error(), maxMessage)
		return x, err
	}
	return x, nil
}

// judge decides whether x is sent. The caller holds g.admitting.
func (g *Gateway) judge(x *exchange, problem error) error {
	// A client that was killed while it sent has done nothing wrong.
	if errors.Is(problem, errLeft) {
		return problem
	}
	if g.refused != nil {
		return g.refused
	}
	if problem == nil {
		problem = rules(x.rec.Path, x.req, g.prev)
	}
	if problem != nil {
		return g.refuse(refusal(x.rec.N, problem))
	}
	intact, err := g.cfg.Inspect(x.rec.N, x.req)
	if err != nil {
		return g.refuse(refusal(x.rec.N, err))
	}
	x.rec.PromptIntact = intact
	if g.prev != nil {
		x.rec.Changed = wire.Diff(g.prev, x.req)
	}
	g.prev = x.req
	return nil
}

// refuse keeps the first refusal, which every later request gets too. The caller holds g.admitting.
func (g *Gateway) refuse(err error) error {
	if g.refused == nil {
		g.refused = err
		g.failed(err)
	}
	return g.refused
}

// forward sends the request and passes the answer on.
func (g *Gateway) forward(ctx context.Context, w http.ResponseWriter, header http.Header, x *exchange) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// The host is not one that exists: the bottom of the stack knows the endpoint.
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://upstream.invalid"+x.rec.Path, bytes.NewReader(x.req.Body))
	if err != nil {
		g.unanswered(ctx, w, x, err)
		return
	}
	out.Header = outbound(header)
	if g.cfg.Session != nil {
		x.reply = &kept{}
	}
	x.rec.Attempts = 1
	res, err := g.cfg.Upstream.RoundTrip(out)
	if err != nil {
		g.unanswered(ctx, w, x, err)
		return
	}
	defer res.Body.Close()
	if err := unfit(res); err != nil {
		g.unanswered(ctx, w, x, err)
		return
	}
	g.pass(ctx, w, res, x)
}

// unfit says why an answer cannot be passed on. Codex would follow a redirect, and bytes in an
// encoding that nobody asked for could not be metered.
func unfit(res *http.Response) error {
	if res.StatusCode < 200 || res.StatusCode > 599 || res.StatusCode/100 == 3 {
		return upstreamFault("give the full URL that answers, in responses-api-endpoint",
			"model endpoint: answered with status %d", res.StatusCode)
	}
	if encoding := res.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return upstreamFault("use an endpoint that honours Accept-Encoding: identity",
			"model endpoint: answered in content encoding %.64q", encoding)
	}
	return nil
}

// stoppedHere is the failure of a request that upstream had no part in.
const stoppedHere = "stopped from this side: Codex went away, or the run ended"

// unanswered tells Codex that no answer came.
func (g *Gateway) unanswered(ctx context.Context, w http.ResponseWriter, x *exchange, err error) {
	if ctx.Err() != nil {
		x.rec.Failure = stoppedHere
		x.reply = nil
		writeError(w, http.StatusServiceUnavailable, "stopped", stoppedHere)
		return
	}
	if fault.KindOf(err) == 0 {
		err = upstreamFault("run it again", "model endpoint: %w", err)
	}
	g.failed(err)
	x.rec.Failure = wire.Bounded(err.Error(), maxMessage)
	body := writeError(w, http.StatusBadGateway, "upstream_failed", err.Error())
	if x.reply != nil {
		x.reply.status, x.reply.contentType, x.reply.body = http.StatusBadGateway, "application/json", body
	}
}

// writeError answers with an error and returns the body.
func writeError(w http.ResponseWriter, status int, code, message string) []byte {
	body := errorBody(status, code, message)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The client may be gone; nobody else wants to know.
	_, _ = w.Write(body)
	return body
}

// errorBody has the form that the interface has for errors.
func errorBody(status int, code, message string) []byte {
	kind := "invalid_request_error"
	if status >= 500 {
		kind = "server_error"
	}
	body, err := json.Marshal(map[string]any{"error": map[string]string{
		"message": wire.Bounded(message, maxMessage), "type": kind, "code": code,
	}})
	if err != nil {
		return []byte("{}")
	}
	return body
}

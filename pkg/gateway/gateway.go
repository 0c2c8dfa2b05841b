// Package gateway is the only model endpoint that Codex gets: it passes each request on unchanged,
// adds the key, and leaves a record of what passed.
//
// It does not retry, change a byte of a request or of an answer, or start Codex. Only this package
// holds the API key.
package gateway

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/wire"
)

const (
	// maxRequests bounds one run. A review takes tens; a loop that nothing else stops ends here.
	maxRequests = 4096
	// goodbye is how long Close lets the last bytes of finished answers leave.
	goodbye = 250 * time.Millisecond
	// headerTime and bodyTime bound how long a client may take to send its request.
	headerTime = 10 * time.Second
	bodyTime   = 2 * time.Minute
)

// Config says where requests go and who looks at them.
type Config struct {
	// Upstream answers the requests: what Live or Replay returns, or decorators around it. A
	// request's URL has the path Codex asked for, /v1/responses or /v1/responses/compact, and no
	// host that exists. Its body can be had again from GetBody. CloseIdleConnections is called
	// at Close where Upstream has it.
	Upstream http.RoundTripper
	// Inspect looks at request n before it leaves and says whether the prompt is in it unchanged.
	// It is called for one request at a time, in the order of n. On an error nothing is sent,
	// Codex gets an answer it ends on, and every later request is refused with the same error.
	Inspect func(n int, r *wire.Request) (promptIntact bool, err error)
	// Record gets the record of each model request, also of a refused one, in the order of n,
	// never two at once.
	Record func(wire.Record)
	// Session gets the bodies of what was sent and answered, one Write a line; nil keeps none.
	Session io.Writer
	// SessionHeader is the first line of Session. An empty Model is filled in from request 1.
	SessionHeader wire.Header
	// Now is the clock of the records.
	Now func() time.Time
	// Rand is where the secret part of the address comes from; nil is crypto/rand.
	Rand io.Reader
}

// Gateway listens on the loopback address until it is closed.
type Gateway struct {
	cfg    Config
	start  time.Time
	addr   string
	token  string
	server *http.Server
	cancel context.CancelFunc
	served chan error
	ledger ledger
	pieces sync.Pool // *[chunk]byte

	// admitting keeps the requests in one order while they are looked at. It is not mu, so that
	// Inspect may ask the gateway.
	admitting sync.Mutex
	prev      *wire.Request
	refused   error

	mu       sync.Mutex
	handlers sync.WaitGroup
	closed   bool
	n        int
	strays   int
	err      error
	usage    wire.Usage
}

// Start listens on a free port of 127.0.0.1. When ctx ends, requests under way are cut; Close is
// needed all the same.
func Start(ctx context.Context, cfg Config) (*Gateway, error) {
	if cfg.Upstream == nil || cfg.Inspect == nil || cfg.Record == nil || cfg.Now == nil {
		return nil, errors.New("start the gateway: upstream, inspection, record and clock are needed")
	}
	if cfg.Rand == nil {
		cfg.Rand = rand.Reader
	}
	secret := make([]byte, 24)
	if _, err := io.ReadFull(cfg.Rand, secret); err != nil {
		return nil, fmt.Errorf("make the gateway's address: %w", err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the gateway: %w", err)
	}
	g := &Gateway{cfg: cfg, start: cfg.Now(), addr: listener.Addr().String(),
		token: base64.RawURLEncoding.EncodeToString(secret), served: make(chan error, 1)}
	g.ledger = ledger{record: cfg.Record, session: newRecorder(cfg)}
	g.pieces.New = func() any { return new([chunk]byte) }
	ctx, g.cancel = context.WithCancel(ctx)
	g.server = &http.Server{
		Handler:           http.HandlerFunc(g.serve),
		ReadHeaderTimeout: headerTime,
		// Codex sends a little over 1 KiB of headers.
		MaxHeaderBytes: 64 << 10,
		BaseContext:    func(net.Listener) context.Context { return ctx },
		// What the server would log can quote what a client sent.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { g.served <- g.server.Serve(listener) }()
	return g, nil
}

// BaseURL is what Codex gets as base_url. One element of its path cannot be guessed, so that other
// programs of the machine cannot spend the key.
func (g *Gateway) BaseURL() string { return "http://" + g.addr + "/" + g.token + "/v1" }

// Usage is the sum of what the answers told so far. Codex may have read an answer to its end a
// moment before it is counted: this and the other totals are final behind Close.
func (g *Gateway) Usage() wire.Usage {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.usage
}

// Requests counts the model requests so far, refused ones too.
func (g *Gateway) Requests() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n
}

// Strays counts what came and is no model request: another method, path, host or token.
func (g *Gateway) Strays() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.strays
}

// Err returns the first refusal or upstream failure, which has a fault.Kind, or nil. A failure that
// Codex got over by asking again stays here: it explains a run that ended badly, and does not
// make one bad.
func (g *Gateway) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// Close takes no more requests, waits for those under way and cuts them when ctx ends. Behind it
// every record is written and nothing of the gateway runs. It returns what went wrong with the
// session's file.
func (g *Gateway) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	done := make(chan struct{})
	go func() {
		g.handlers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		g.cancel()
		g.server.Close()
		<-done
	}
	return errors.Join(g.stop(), g.ledger.close())
}

// stop ends the server once no handler runs.
func (g *Gateway) stop() error {
	defer g.cancel()
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	// Connections that never asked for anything count as busy for 5 s: they are cut.
	g.server.Shutdown(ctx)
	g.server.Close()
	if c, ok := g.cfg.Upstream.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
	err, ok := <-g.served
	if ok {
		close(g.served)
	}
	if err == nil || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the gateway: %w", err)
}

// enter lets a handler in unless the gateway is closing.
func (g *Gateway) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.handlers.Add(1)
	return true
}

// failed keeps the first failure.
func (g *Gateway) failed(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
	}
}

func (g *Gateway) stray() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.strays++
}

// number counts a request, false when it is one too many.
func (g *Gateway) number() (n int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n == maxRequests {
		g.strays++
		return 0, false
	}
	g.n++
	return g.n, true
}

// settle adds what an answer told.
func (g *Gateway) settle(u wire.Usage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.usage = g.usage.Plus(u)
}

// upstreamFault is the error of a model endpoint that gave no good answer.
func upstreamFault(hint, format string, args ...any) error {
	return fault.New(fault.Review, hint, format, args...)
}

package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/wire"
)

// secret stands for the API key; nothing the tests look at may hold it.
const secret = "sk-test-0123456789abcdefghijklmnop"

const (
	ask   = `{"model":"m","store":false,"stream":true,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Review é\r\n"}]}]}`
	reply = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r1\",\"model\":\"m-1\"}}\n\n" +
		"event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"message\"}}\n\n" + completed
	completed = "event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r1\",\"model\":\"m-1\",\"usage\":{\"input_tokens\":100,\"input_tokens_details\":{\"cached_tokens\":40},\"output_tokens\":20,\"output_tokens_details\":{\"reasoning_tokens\":5},\"total_tokens\":120}}}\n\n"
)

// running is a gateway under test with everything that left it.
type running struct {
	*Gateway
	t       *testing.T
	session bytes.Buffer

	mu      sync.Mutex
	records []wire.Record
	clock   time.Time
}

// start runs a gateway in front of upstream; edit may change its configuration.
func start(t *testing.T, upstream http.RoundTripper, edit ...func(*Config)) *running {
	t.Helper()
	r := &running{t: t, clock: time.UnixMilli(1_000_000)}
	cfg := Config{
		Upstream: upstream,
		Inspect:  func(int, *wire.Request) (bool, error) { return true, nil },
		Record: func(rec wire.Record) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.records = append(r.records, rec)
		},
		Session:       &r.session,
		SessionHeader: wire.Header{Origin: wire.Recorded, CodexVersion: "0.171.0", PromptSHA: digest.Of([]byte("p"))},
		// A clock that only goes on when it is read gives the same times in every run.
		Now: func() time.Time {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.clock = r.clock.Add(time.Millisecond)
			return r.clock
		},
	}
	for _, e := range edit {
		e(&cfg)
	}
	g, err := Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	r.Gateway = g
	t.Cleanup(func() { g.Close(context.Background()) })
	return r
}

// close ends the gateway and returns the records.
func (r *running) close() []wire.Record {
	r.t.Helper()
	if err := r.Close(context.Background()); err != nil {
		r.t.Errorf("Close: %v", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.records
}

// only returns the single record of a run.
func (r *running) only() wire.Record {
	r.t.Helper()
	records := r.close()
	if len(records) != 1 {
		r.t.Fatalf("got %d records, want 1: %+v", len(records), records)
	}
	return records[0]
}

// post sends body and returns status and answer; err is that of reading the answer.
func (r *running) post(path, body string, edit ...func(*http.Request)) (status int, answer string, err error) {
	r.t.Helper()
	req, err := http.NewRequest(http.MethodPost, r.BaseURL()+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for _, e := range edit {
		e(req)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	return res.StatusCode, string(b), err
}

// upstream is a strict fake: it answers request after request with the next handler, and fails
// the test on one too many or too few.
func upstream(t *testing.T, handlers ...http.HandlerFunc) http.RoundTripper {
	t.Helper()
	return dialled(t, serve(t, httptest.NewServer, handlers...).URL+"/v1/responses?api-version=1", secret, Dialing{})
}

func serve(t *testing.T, listen func(http.Handler) *httptest.Server, handlers ...http.HandlerFunc) *httptest.Server {
	t.Helper()
	var mu sync.Mutex
	n := 0
	next := func() http.HandlerFunc {
		mu.Lock()
		defer mu.Unlock()
		n++
		if n > len(handlers) {
			return nil
		}
		return handlers[n-1]
	}
	server := listen(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := next()
		if h == nil {
			t.Errorf("upstream got an unexpected request: %s %s", r.Method, r.URL.Path)
			w.WriteHeader(http.StatusTeapot)
			return
		}
		// A server only notices that a client went away once the request was read.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("upstream: read request: %v", err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		h(w, r)
	}))
	t.Cleanup(func() {
		server.Close()
		mu.Lock()
		defer mu.Unlock()
		if n < len(handlers) {
			t.Errorf("upstream got %d requests, want %d", n, len(handlers))
		}
	})
	return server
}

// until waits for what nothing signals; the test's own deadline ends a wait for what never comes.
func until(cond func() bool) {
	for !cond() {
		time.Sleep(time.Millisecond)
	}
}

// says answers with a whole body.
func says(status int, contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

// streams answers with a stream, whose length nobody knows before its end.
func streams(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		http.NewResponseController(w).Flush()
		io.WriteString(w, body)
	}
}

// never fails the test when anything is sent upstream.
type never struct{ t *testing.T }

func (n never) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("sent upstream: %s", r.URL)
	return nil, io.ErrUnexpectedEOF
}

// dialled dials url as a run does.
func dialled(t *testing.T, url, key string, d Dialing) http.RoundTripper {
	t.Helper()
	e, err := ParseEndpoint(url)
	if err != nil {
		t.Fatal(err)
	}
	rt, err := Live(e, key, d)
	if err != nil {
		t.Fatal(err)
	}
	return rt
}

package gateway

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/recibo-ci/recibo/pkg/fault"
)

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// hangup sends part of an answer and breaks the connection.
func hangup(contentType, part string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, part)
		http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

func TestUpstreamFailures(t *testing.T) {
	t.Parallel()
	half := reply[:strings.Index(reply, "event: response.completed")]
	failed := `data: {"type":"response.failed","response":{"error":{"code":"invalid_prompt","message":"no"}}}` + "\n\n"
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		status  int
		cut     bool // as the client sees it
		answer  string
		failure string
		err     string
	}{
		{"bad_request", says(400, "application/json", `{"error":{"message":"bad schema","code":"invalid_json_schema"}}`), 400, false, `{"error":{"message":"bad schema","code":"invalid_json_schema"}}`, "", "status 400: invalid_json_schema: bad schema"},
		{"key_refused", says(401, "application/json", `{"error":{"message":"who"}}`), 401, false, `{"error":{"message":"who"}}`, "", "status 401: who"},
		{"overload", says(503, "text/html", "<h1>later</h1>"), 503, false, "<h1>later</h1>", "", "status 503: <h1>later</h1>"},
		{"no_body", says(429, "", ""), 429, false, "", "", "status 429: no reason given"},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://evil.example/", http.StatusTemporaryRedirect)
		}, 502, false, "*status 307", "status 307", "status 307"},
		{"encoded", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			streams(reply)(w, r)
		}, 502, false, "*content encoding", "content encoding", "content encoding \"gzip\""},
		{"hangs_up_at_once", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 502, false, "*model endpoint", "cannot be reached", "cannot be reached"},
		{"cut_in_the_stream", hangup("text/event-stream", half), 200, true, half, "broke off", "the answer broke off"},
		{"cut_in_a_body", hangup("application/json", `{"id":`), 200, true, `{"id":`, "broke off", "the answer broke off"},
		{"no_last_event", streams(half), 200, false, half, "without a last event", "without a last event"},
		{"failed", streams(failed), 200, false, failed, "", "the response failed: invalid_prompt: no"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, upstream(t, tt.handler))
			status, answer, err := r.post("/responses", ask)
			if status != tt.status || (err != nil) != tt.cut {
				t.Errorf("client got %d, %v; want %d, cut %v", status, err, tt.status, tt.cut)
			}
			if want, loose := strings.CutPrefix(tt.answer, "*"); answer != tt.answer && !(loose && strings.Contains(answer, want) && strings.Contains(answer, `"error"`)) {
				t.Errorf("client got %q, want %q", answer, tt.answer)
			}
			rec := r.only()
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), tt.err) || fault.KindOf(err) != fault.Review {
				t.Errorf("Err: got %v, want %q", err, tt.err)
			}
			if !strings.Contains(rec.Failure, tt.failure) || (rec.Failure == "") != (tt.failure == "") || rec.Refused != "" || rec.Attempts != 1 {
				t.Errorf("record: %+v, want failure %q", rec, tt.failure)
			}
			if answered := rec.Response != nil; answered != (tt.status != 502) {
				t.Fatalf("response in the record: %+v", rec.Response)
			}
			if rec.Response != nil && (rec.Response.Usage != nil || rec.Response.Cut != (tt.failure != "") || rec.Response.Status != tt.status) {
				t.Errorf("response in the record: %+v", rec.Response)
			}
		})
	}
}

// What upstream does not say, nobody says for it.
func TestNoContentType(t *testing.T) {
	t.Parallel()
	r := start(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Content-Type"] = nil
		w.Header().Set("Connection", "X-Private")
		w.Header().Set("X-Private", "x")
		io.WriteString(w, "<html>")
	}))
	res, err := http.Post(r.BaseURL()+"/responses", "application/json", strings.NewReader(ask))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, ok := res.Header["Content-Type"]; ok || res.Header.Get("X-Private") != "" {
		t.Errorf("client got %v", res.Header)
	}
}

// A failure is told, and does not end the run: Codex may ask again.
func TestGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	r := start(t, upstream(t, says(500, "text/plain", "x"), streams(reply)))
	r.post("/responses", ask)
	if status, answer, err := r.post("/responses", ask); status != 200 || answer != reply || err != nil {
		t.Errorf("got %d, %q, %v", status, answer, err)
	}
	if r.close(); r.Err() == nil || r.Usage().Total != 120 {
		t.Errorf("err %v, usage %+v", r.Err(), r.Usage())
	}
}

func TestClientGoesAway(t *testing.T) {
	t.Parallel()
	gone := make(chan error, 1)
	r := start(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"type\":\"one\"}\n\n")
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
		gone <- r.Context().Err()
	}))
	ctx, cancel := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.BaseURL()+"/responses", strings.NewReader(ask))
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	io.ReadFull(res.Body, make([]byte, 10))
	cancel()
	res.Body.Close()
	if err := <-gone; err == nil {
		t.Error("upstream was not cancelled")
	}
	rec := r.only()
	if rec.Failure != stoppedHere || !rec.Response.Cut || rec.Response.Usage != nil || r.Err() != nil {
		t.Errorf("record %+v %+v, err %v", rec, rec.Response, r.Err())
	}
}

// Codex hangs up when it has the last event; the answer was whole.
func TestClientLeavesBehindTheLastEvent(t *testing.T) {
	t.Parallel()
	r := start(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, reply)
		http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	res, err := http.Post(r.BaseURL()+"/responses", "application/json", strings.NewReader(ask))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(res.Body, make([]byte, len(reply))); err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	rec := r.only()
	if rec.Failure != "" || rec.Response.Cut || rec.Response.Usage == nil || r.Err() != nil {
		t.Errorf("record %+v %+v, err %v", rec, rec.Response, r.Err())
	}
	if !strings.Contains(r.session.String(), `"response.completed"`) || strings.Contains(r.session.String(), `"cut"`) {
		t.Errorf("session: %s", r.session.String())
	}
}

func TestSilentUpstream(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, first, err string
		status           int
	}{
		{"before_the_headers", "", "did not answer in time", 502},
		{"in_the_stream", "data: {\"type\":\"one\"}\n\n", "was silent for 10ms", 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				if tt.first != "" {
					io.WriteString(w, tt.first)
					http.NewResponseController(w).Flush()
				}
				<-r.Context().Done()
			})
			r := start(t, dialled(t, server.URL+"/v1/responses", secret, Dialing{Idle: 10 * time.Millisecond}))
			status, answer, err := r.post("/responses", ask)
			if status != tt.status || (tt.first != "") != (err != nil) || !strings.HasPrefix(answer, tt.first) {
				t.Errorf("got %d, %q, %v", status, answer, err)
			}
			r.close()
			if err := r.Err(); err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("Err: got %v, want %q", err, tt.err)
			}
		})
	}
}

// Close waits for what runs, and cuts it when its context ends.
func TestClose(t *testing.T) {
	t.Parallel()
	started, finish := make(chan bool), make(chan bool)
	r := start(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		started <- true
		<-finish
		streams(reply)(w, r)
	}, func(w http.ResponseWriter, r *http.Request) {
		started <- true
		<-r.Context().Done()
	}))
	answers := make(chan int, 1)
	go func() {
		status, _, _ := r.post("/responses", ask)
		answers <- status
	}()
	<-started
	go func() { finish <- true }()
	if got := <-answers; got != 200 {
		t.Errorf("a request under way: got %d", got)
	}
	go func() {
		status, _, _ := r.post("/responses", ask)
		answers <- status
	}()
	<-started
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
	r.mu.Lock()
	records := r.records
	r.mu.Unlock()
	<-answers
	if len(records) != 2 || records[1].Failure != stoppedHere || records[1].Response != nil {
		t.Errorf("records: %+v", records)
	}
	if _, _, err := r.post("/responses", ask); err == nil {
		t.Error("a closed gateway answers")
	}
	if got := strings.Count(r.session.String(), "\n"); got != 2 {
		t.Errorf("session has %d lines, want 2", got)
	}
}

type closer struct {
	http.RoundTripper
	closed int
}

func (c *closer) CloseIdleConnections() { c.closed++ }

func TestCloseEndsIdleConnections(t *testing.T) {
	t.Parallel()
	c := &closer{RoundTripper: upstream(t, streams(reply))}
	r := start(t, c)
	r.post("/responses", ask)
	if r.close(); c.closed != 1 {
		t.Errorf("closed %d times, want 1", c.closed)
	}
}

// Not parallel: it counts the goroutines of the process.
func TestNothingIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		t.Run("run", func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			r := start(t, upstream(t, streams(reply), hangup("text/event-stream", "data: {}\n\n"), func(w http.ResponseWriter, r *http.Request) {
				cancel()
				<-r.Context().Done()
			}))
			r.post("/responses", ask)
			r.post("/responses", ask)
			idle := dial(t, r.addr)
			idle.Write([]byte("POST /"))
			r.post("/responses", ask, func(q *http.Request) { *q = *q.WithContext(ctx) })
			r.close()
		})
	}
	// What ends is not gone at once; what leaks never goes.
	until(func() bool { return runtime.NumGoroutine() <= before })
}

// The run's own end stops what is under way.
func TestContextEnds(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	rt := upstream(t, func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	})
	base := start(t, never{t})
	g, err := Start(ctx, Config{Upstream: rt, Inspect: base.cfg.Inspect, Record: base.cfg.Record, Now: base.cfg.Now})
	if err != nil {
		t.Fatal(err)
	}
	r := &running{t: t, Gateway: g}
	status, _, err := r.post("/responses", ask)
	if status != 503 && !errors.Is(err, io.EOF) {
		t.Errorf("got %d, %v", status, err)
	}
	if err := g.Close(context.Background()); err != nil || g.Err() != nil {
		t.Errorf("Close: %v, Err: %v", err, g.Err())
	}
}

package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/wire"
)

func TestPassesBytesBothWays(t *testing.T) {
	t.Parallel()
	odd := " {\"model\":\"m\", \"store\" :false,\n\"input\":\"\\u00e9<é>\" }\n"
	answer := "\xEF\xBB\xBF: hello\r\n\r\n" + strings.ReplaceAll(reply, "\n", "\r\n") + "trailing \x00\xff bytes"
	var seen http.Header
	r := start(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != odd {
			t.Errorf("upstream got body %q, %v; want %q", body, err, odd)
		}
		if got, want := r.URL.String(), "/v1/responses?api-version=1"; got != want || r.ContentLength != int64(len(odd)) {
			t.Errorf("upstream got %s with %d bytes, want %s", got, r.ContentLength, want)
		}
		seen = r.Header.Clone()
		seen.Set("Host", r.Host)
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("X-Request-Id", "q1")
		w.Header().Set("X-Codex-Turn-State", "s")
		says(201, "text/event-stream; charset=utf-8", answer)(w, r)
	}))
	var got *http.Response
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	req, _ := http.NewRequest(http.MethodPost, r.BaseURL()+"/responses?drop=me", strings.NewReader(odd))
	for name, value := range map[string]string{
		"Authorization": "Bearer codex", "Api-Key": "x", "Cookie": "c=d", "Forwarded": "for=1", "X-Forwarded-For": "1.2.3.4",
		"Proxy-Authorization": "Basic x", "Openai-Organization": "org", "Openai-Project": "p", "X-Real-Ip": "1",
		"Accept": "text/event-stream", "Content-Type": "application/json", "User-Agent": "codex_exec/0.171.0", "Session-Id": "s1",
		"X-Codex-Window-Id": "w:0", "X-Openai-Internal-Codex-Responses-Lite": "true", "Accept-Encoding": "zstd,gzip", "Originator": "codex_exec",
	} {
		req.Header.Set(name, value)
	}
	got, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil || string(body) != answer {
		t.Errorf("client got %q, %v; want %q", body, err, answer)
	}
	if got.StatusCode != 201 || got.Header.Get("Content-Type") != "text/event-stream; charset=utf-8" || got.Header.Get("X-Request-Id") != "q1" ||
		got.Header.Get("X-Codex-Turn-State") != "s" || got.Header.Get("Set-Cookie") != "" {
		t.Errorf("client got status %d and %v", got.StatusCode, got.Header)
	}
	want := http.Header{"Accept": {"text/event-stream"}, "Content-Type": {"application/json"}, "User-Agent": {"codex_exec/0.171.0"}, "Session-Id": {"s1"},
		"X-Codex-Window-Id": {"w:0"}, "X-Openai-Internal-Codex-Responses-Lite": {"true"}, "Accept-Encoding": {"identity"}, "Originator": {"codex_exec"},
		"Authorization": {"Bearer " + secret}, "Content-Length": {fmt.Sprint(len(odd))}, "Host": {seen.Get("Host")}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("headers upstream got (-want +got):\n%s", diff)
	}
	if strings.HasPrefix(seen.Get("Host"), strings.TrimPrefix(r.addr, "http://")) {
		t.Errorf("upstream got the gateway's host %q", seen.Get("Host"))
	}
	rec := r.only()
	if rec.Request.SHA != digest.Of([]byte(odd)) || rec.Response.SHA != digest.Of([]byte(answer)) || rec.Response.Bytes != int64(len(answer)) {
		t.Errorf("record names other bytes: %+v", rec)
	}
}

func TestRecord(t *testing.T) {
	t.Parallel()
	longer := strings.Replace(ask, `}]}]}`, `}]},{"type":"custom_tool_call","call_id":"c"}],"top_p":1}`, 1)
	r := start(t, upstream(t, streams(reply), streams(reply), streams(reply)), func(c *Config) {
		c.Inspect = func(n int, r *wire.Request) (bool, error) { return n == 1, nil }
	})
	for _, body := range []string{ask, longer, longer} {
		if status, answer, err := r.post("/responses", body); status != 200 || answer != reply || err != nil {
			t.Fatalf("got %d, %q, %v", status, answer, err)
		}
	}
	records := r.close()
	if got, want := r.Usage(), (wire.Usage{Input: 300, Cached: 120, Output: 60, Reasoning: 15, Total: 360}); got != want {
		t.Errorf("usage: got %+v, want %+v", got, want)
	}
	if r.Requests() != 3 || r.Strays() != 0 || r.Err() != nil {
		t.Errorf("requests %d, strays %d, err %v", r.Requests(), r.Strays(), r.Err())
	}
	usage := &wire.Usage{Input: 100, Cached: 40, Output: 20, Reasoning: 5, Total: 120}
	first := wire.Record{N: 1, Path: "/v1/responses", Kind: "other", SinceStartMS: 1, PromptIntact: true, Attempts: 1,
		Request: wire.NewAsked(mustParse(t, ask)),
		Response: &wire.Answer{Status: 200, HeadersMS: 1, FirstEventMS: 2, DoneMS: 3, Bytes: int64(len(reply)), SHA: digest.Of([]byte(reply)),
			Summary: wire.Summary{Events: 3, Model: "m-1", ResponseID: "r1", Usage: usage, Items: map[string]int{"message": 1}, Finished: true}}}
	if diff := cmp.Diff(first, records[0]); diff != "" {
		t.Errorf("record 1 (-want +got):\n%s", diff)
	}
	second := records[1]
	if second.N != 2 || second.PromptIntact || !cmp.Equal(second.Changed, []string{"top_p"}) || second.Request.Items != 2 {
		t.Errorf("record 2: %+v", second)
	}
	if third := records[2]; third.N != 3 || third.Changed != nil {
		t.Errorf("record 3, the same request again: %+v", third)
	}
}

func mustParse(t *testing.T, body string) *wire.Request {
	t.Helper()
	r, err := wire.ParseRequest([]byte(body))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Each step waits for the other side to have seen the one before: nothing may be held back.
func TestStreamsWithoutHolding(t *testing.T) {
	t.Parallel()
	headers, first, second := make(chan bool), make(chan bool), make(chan bool)
	r := start(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w).Flush
		flush()
		<-headers
		io.WriteString(w, "data: {\"type\":\"one\"}\n\n")
		flush()
		<-first
		io.WriteString(w, "data: {\"ty")
		flush()
		<-second
		io.WriteString(w, "pe\":\"two\"}\n\n"+completed)
	}))
	res, err := http.Post(r.BaseURL()+"/responses", "application/json", strings.NewReader(ask))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	headers <- true
	in := bufio.NewReader(res.Body)
	if line, err := in.ReadString('\n'); line != "data: {\"type\":\"one\"}\n" {
		t.Fatalf("got %q, %v", line, err)
	}
	first <- true
	in.ReadString('\n')
	half := make([]byte, len("data: {\"ty"))
	if _, err := io.ReadFull(in, half); err != nil || string(half) != "data: {\"ty" {
		t.Fatalf("got %q, %v", half, err)
	}
	second <- true
	rest, err := io.ReadAll(in)
	if err != nil || string(rest) != "pe\":\"two\"}\n\n"+completed {
		t.Errorf("got %q, %v", rest, err)
	}
	if rec := r.only(); rec.Response.Events != 3 || rec.Response.Cut {
		t.Errorf("record: %+v", rec.Response)
	}
}

func TestStrays(t *testing.T) {
	t.Parallel()
	r := start(t, never{t})
	host := "http://" + r.addr
	for _, tt := range []struct {
		name, method, url, host string
		status                  int
	}{
		{"get", "GET", r.BaseURL() + "/responses", "", 405},
		{"put", "PUT", r.BaseURL() + "/responses", "", 405},
		{"models", "GET", r.BaseURL() + "/models", "", 404},
		{"files", "POST", r.BaseURL() + "/files", "", 404},
		{"below", "POST", r.BaseURL() + "/responses/r1/cancel", "", 404},
		{"slash", "POST", r.BaseURL() + "/responses/", "", 404},
		{"dots", "POST", r.BaseURL() + "/x/../files", "", 404},
		{"no_token", "POST", host + "/v1/responses", "", 404},
		{"other_token", "POST", host + "/" + strings.Repeat("A", 32) + "/v1/responses", "", 404},
		{"empty_token", "POST", host + "//v1/responses", "", 404},
		{"other_host", "POST", r.BaseURL() + "/responses", "evil.example", 403},
		{"other_port", "POST", r.BaseURL() + "/responses", "127.0.0.1:1", 403},
	} {
		req, err := http.NewRequest(tt.method, tt.url, strings.NewReader(ask))
		if err != nil {
			t.Fatal(err)
		}
		req.Host = tt.host
		res, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		res.Body.Close()
		if res.StatusCode != tt.status {
			t.Errorf("%s: got status %d, want %d", tt.name, res.StatusCode, tt.status)
		}
	}
	if r.Strays() != 12 || r.Requests() != 0 || r.Err() != nil {
		t.Errorf("strays %d, requests %d, err %v; want 12, 0, nil", r.Strays(), r.Requests(), r.Err())
	}
	if records := r.close(); len(records) != 0 {
		t.Errorf("strays left records: %+v", records)
	}
}

func TestTokenIsSecret(t *testing.T) {
	t.Parallel()
	a, b := start(t, never{t}), start(t, never{t})
	if len(a.token) < 32 || a.token == b.token {
		t.Errorf("tokens %q and %q", a.token, b.token)
	}
	cfg := a.cfg
	cfg.Rand = strings.NewReader("short")
	if _, err := Start(context.Background(), cfg); err == nil {
		t.Error("too little randomness: got no error")
	}
	cfg = a.cfg
	cfg.Inspect = nil
	if _, err := Start(context.Background(), cfg); err == nil {
		t.Error("nobody inspects: got no error")
	}
}

// Requests may come together; numbers, inspection and records stay in one order.
func TestOrder(t *testing.T) {
	t.Parallel()
	const n = 40
	inspected, inside := 0, 0
	release := make(chan bool)
	handler := func(w http.ResponseWriter, r *http.Request) {
		<-release
		streams(reply)(w, r)
	}
	handlers := make([]http.HandlerFunc, n)
	for i := range handlers {
		handlers[i] = handler
	}
	var records []int
	r := start(t, upstream(t, handlers...), func(c *Config) {
		// Both callbacks use plain variables: the race detector sees two calls at once.
		c.Inspect = func(n int, r *wire.Request) (bool, error) {
			inspected++
			if n != inspected {
				t.Errorf("Inspect got %d, want %d", n, inspected)
			}
			return true, nil
		}
		c.Record = func(rec wire.Record) {
			inside++
			records = append(records, rec.N)
			if inside != 1 {
				t.Error("two records at once")
			}
			inside--
		}
	})
	var clients sync.WaitGroup
	for range n {
		clients.Go(func() {
			if status, _, err := r.post("/responses", ask); status != 200 || err != nil {
				t.Errorf("got %d, %v", status, err)
			}
		})
	}
	for range n {
		release <- true
	}
	clients.Wait()
	r.close()
	if len(records) != n || r.Usage().Total != n*120 {
		t.Errorf("%d records, usage %+v", len(records), r.Usage())
	}
	for i, got := range records {
		if got != i+1 {
			t.Fatalf("records in order %v", records)
		}
	}
}

func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	r := start(t, never{t})
	r.mu.Lock()
	r.n = maxRequests
	r.mu.Unlock()
	status, answer, _ := r.post("/responses", ask)
	if status != 400 || !strings.Contains(answer, "over 4096 model requests") || fault.KindOf(r.Err()) != fault.Budget {
		t.Errorf("got %d, %s, %v", status, answer, r.Err())
	}
	if r.Strays() != 1 || len(r.records) != 0 {
		t.Errorf("strays %d, records %+v", r.Strays(), r.records)
	}
}

var errTest = errors.New("user item changed")

func TestInspectRefuses(t *testing.T) {
	t.Parallel()
	var r *running
	r = start(t, upstream(t, streams(reply)), func(c *Config) {
		c.Inspect = func(n int, _ *wire.Request) (bool, error) {
			// Whoever inspects may ask the gateway.
			if r.Requests() != n || r.Usage().Total != int64(120*(n-1)) {
				t.Errorf("request %d: %d requests, usage %+v", n, r.Requests(), r.Usage())
			}
			if n == 2 {
				return true, fault.New(fault.Gate, "h", "wrapped: %w", errTest)
			}
			return true, nil
		}
	})
	want := []int{200, 400, 400}
	for i, status := range want {
		got, answer, err := r.post("/responses", ask)
		if got != status || err != nil || status == 400 && !strings.Contains(answer, "wrapped: user item changed") {
			t.Errorf("request %d: got %d, %s, %v; want %d", i+1, got, answer, err, status)
		}
	}
	if !errors.Is(r.Err(), errTest) || fault.KindOf(r.Err()) != fault.Gate {
		t.Errorf("Err: %v", r.Err())
	}
	records := r.close()
	if len(records) != 3 || records[0].Refused != "" || records[1].Refused == "" || records[1].Refused != records[2].Refused || records[1].Attempts != 0 ||
		records[1].PromptIntact || records[1].Response != nil || records[1].Request.SHA != digest.Of([]byte(ask)) {
		t.Errorf("records: %+v", records)
	}
}

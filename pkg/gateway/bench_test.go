package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/recibo-ci/recibo/pkg/wire"
)

// BenchmarkPass times one exchange straight to upstream and through the gateway: a request of the
// size of Codex's first one with a short answer, and an answer of 100 MB.
func BenchmarkPass(b *testing.B) {
	delta := "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"msg_1\",\"output_index\":0,\"delta\":\" word\",\"obfuscation\":\"abcdefghij\"}\n\n"
	large := []byte(strings.Repeat(delta, 32<<10/len(delta)))
	text := strings.Repeat(`Look at \"this\" line.\nThen at the next one, and say what you see. `, 12)
	item := `{"type":"message","role":"developer","content":[{"type":"input_text","text":"` + text + `"}]},`
	tool := `{"type":"function","name":"t","description":"` + text + `","parameters":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}}}},`
	body := `{"model":"m","store":false,"tools":[` + strings.TrimSuffix(strings.Repeat(tool, 25), ",") + `],"input":[` + strings.TrimSuffix(strings.Repeat(item, 40), ",") + `]}`
	for _, tt := range []struct {
		name   string
		chunks int
	}{{"request", 0}, {"stream", 100 << 20 / len(large)}} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Type", "text/event-stream")
			for range tt.chunks {
				w.Write(large)
				http.NewResponseController(w).Flush()
			}
			io.WriteString(w, completed)
		}))
		b.Run(tt.name+"/direct", func(b *testing.B) {
			transfer(b, server.URL+"/v1/responses", body)
		})
		b.Run(tt.name+"/gateway", func(b *testing.B) {
			e, err := ParseEndpoint(server.URL + "/v1/responses")
			if err != nil {
				b.Fatal(err)
			}
			rt, err := Live(e, secret, Dialing{})
			if err != nil {
				b.Fatal(err)
			}
			g, err := Start(context.Background(), Config{Upstream: rt, Now: time.Now, Record: func(wire.Record) {},
				Inspect: func(int, *wire.Request) (bool, error) { return true, nil }})
			if err != nil {
				b.Fatal(err)
			}
			// The bound on requests of one run is not what is measured.
			transfer(b, g.BaseURL()+"/responses", body, func() {
				g.mu.Lock()
				defer g.mu.Unlock()
				if g.n == maxRequests-1 {
					g.n, g.ledger.last = 0, 0
				}
			})
			g.Close(context.Background())
		})
		server.Close()
	}
}

func transfer(b *testing.B, url, body string, each ...func()) {
	b.ReportAllocs()
	transport := &http.Transport{DisableCompression: true, ReadBufferSize: chunk}
	defer transport.CloseIdleConnections()
	buf := make([]byte, chunk)
	var n int64
	for b.Loop() {
		for _, e := range each {
			e()
		}
		req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader([]byte(body)))
		if err != nil {
			b.Fatal(err)
		}
		res, err := transport.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		n, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, res.Body, buf)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			b.Fatal(res.Status, err)
		}
	}
	b.SetBytes(n)
}

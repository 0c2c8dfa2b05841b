package gateway

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/wire"
)

// Whatever upstream does with the key, nothing that leaves the gateway holds it.
func TestKeyStaysInside(t *testing.T) {
	t.Parallel()
	echoed := fmt.Sprintf(`{"error":{"message":"bad key %s","code":%q}}`, secret, secret)
	split := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, part := range []string{"data: {\"type\":\"one\"}\n\ndata: " + secret[:20], secret[20:] + "\n\n" + completed} {
			io.WriteString(w, part)
			http.NewResponseController(w).Flush()
		}
	}
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
	}{
		{"error_body", says(401, "application/json", echoed)},
		{"body", says(200, "application/json", echoed)},
		{"stream", streams("data: {\"type\":\"error\",\"message\":\"" + secret + "\"}\n\n")},
		{"stream_in_two_pieces", split},
		{"header", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Echo", r.Header.Get("Authorization"))
			streams(reply)(w, r)
		}},
		{"content_type", func(w http.ResponseWriter, r *http.Request) {
			says(200, r.Header.Get("Authorization"), "x")(w, r)
		}},
		{"redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://x.example/"+secret, http.StatusFound)
		}},
		{"no_http", func(w http.ResponseWriter, r *http.Request) {
			conn, buf, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(buf, "HTTP/1.1 %s OK\r\n\r\n", secret)
			buf.Flush()
		}},
		{"no_header", func(w http.ResponseWriter, r *http.Request) {
			conn, buf, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(buf, "HTTP/1.1 200 OK\r\n%s\r\n\r\n", secret)
			buf.Flush()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := false
			r := start(t, upstream(t, func(w http.ResponseWriter, r *http.Request) {
				asked = r.Header.Get("Authorization") == "Bearer "+secret
				tt.handler(w, r)
			}))
			var headers bytes.Buffer
			req, _ := http.NewRequest(http.MethodPost, r.BaseURL()+"/responses", strings.NewReader(ask))
			res, err := http.DefaultTransport.RoundTrip(req)
			var body []byte
			if err == nil {
				res.Header.Write(&headers)
				body, _ = io.ReadAll(res.Body)
				res.Body.Close()
			}
			lines, lineErr := r.only().AppendLine(nil)
			if !asked || lineErr != nil {
				t.Fatalf("upstream got the key: %v, record: %v", asked, lineErr)
			}
			for name, text := range map[string]string{"body": string(body), "headers": headers.String(), "record": string(lines), "session": r.session.String(),
				"Err": fmt.Sprint(r.Err()), "client's error": fmt.Sprint(err), "formatted": fmt.Sprintf("%v %+v %#v", r.cfg.Upstream, r.cfg.Upstream, r.cfg.Upstream)} {
				if strings.Contains(text, secret) {
					t.Errorf("%s holds the key: %s", name, text)
				}
			}
		})
	}
}

// The key is found wherever it lies across the reads.
func TestKeyAcrossReads(t *testing.T) {
	t.Parallel()
	before, text := "0123456789", "0123456789"+secret+"tail"
	for cut := range len(text) {
		for _, size := range []int{1, 2, 5, len(secret) - 1, len(secret), 1000} {
			_, cancel := context.WithCancelCause(context.Background())
			in := io.MultiReader(strings.NewReader(text[:cut]), strings.NewReader(text[cut:]))
			b := &watched{ReadCloser: io.NopCloser(in), live: &live{key: secret, idle: time.Hour}, cancel: cancel, timer: time.NewTimer(time.Hour)}
			got, err := io.ReadAll(struct{ io.Reader }{pieces{b, size}})
			b.Close()
			if !errors.Is(err, errEchoed) || strings.Contains(string(got), secret) || len(got) >= len(before)+len(secret) {
				t.Fatalf("cut at %d, reads of %d: got %q, %v", cut, size, got, err)
			}
		}
	}
}

type pieces struct {
	io.Reader
	size int
}

func (p pieces) Read(b []byte) (int, error) { return p.Reader.Read(b[:min(len(b), p.size)]) }

func TestLiveRefusesKeys(t *testing.T) {
	t.Parallel()
	e, err := ParseEndpoint("")
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{secret + "\n", secret + " " + secret, "\x00" + secret, secret + "é", "\t" + secret} {
		rt, err := Live(e, key, Dialing{})
		if err == nil || rt != nil || fault.KindOf(err) != fault.Request || fault.HintOf(err) == "" || strings.Contains(err.Error(), secret) {
			t.Errorf("key %q: got %v, %v", key, rt, err)
		}
	}
	if _, err := Live(Endpoint{Session: "x"}, secret, Dialing{}); err == nil {
		t.Error("a replay as live endpoint: got no error")
	}
}

func TestAuthorize(t *testing.T) {
	t.Parallel()
	jwt := "eyJhbGciOi.eyJhdWQi.c2ln"
	for _, tt := range []struct{ name, endpoint, key, bearer, apiKey string }{
		{"openai", "", secret, "Bearer " + secret, ""},
		{"other", "https://models.example/v1/responses", secret, "Bearer " + secret, ""},
		{"no_key", "http://127.0.0.1:1/v1/responses", "", "", ""},
		{"azure", "https://x.openai.azure.com/openai/v1/responses", secret, "", secret},
		{"azure_government", "https://x.openai.azure.us/openai/v1/responses", secret, "", secret},
		{"azure_services", "https://X.Cognitiveservices.Azure.com/openai/responses?api-version=1", secret, "", secret},
		{"azure_token", "https://x.openai.azure.com/openai/v1/responses", jwt, "Bearer " + jwt, ""},
		{"azure_in_name_only", "https://openai.azure.com.evil.example/openai/v1/responses", secret, "Bearer " + secret, ""},
		{"azure_alike", "https://xopenai.azure.com/openai/v1/responses", secret, "Bearer " + secret, ""},
	} {
		e, err := ParseEndpoint(tt.endpoint)
		if err != nil {
			t.Fatal(err)
		}
		h := http.Header{"Authorization": {"Bearer codex"}, "Api-Key": {"codex"}}
		(&live{endpoint: e, key: tt.key}).authorize(h)
		if h.Get("Authorization") != tt.bearer || h.Get("Api-Key") != tt.apiKey {
			t.Errorf("%s: got %v", tt.name, h)
		}
	}
}

func TestTLSAndHTTP2(t *testing.T) {
	t.Parallel()
	secure := func(h http.Handler) *httptest.Server {
		server := httptest.NewUnstartedServer(h)
		server.EnableHTTP2 = true
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.StartTLS()
		return server
	}
	server := serve(t, secure, func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("upstream got %s, want HTTP/2", r.Proto)
		}
		streams(reply)(w, r)
	})
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	r := start(t, dialled(t, server.URL+"/v1/responses", secret, Dialing{Roots: roots}))
	if status, answer, err := r.post("/responses", ask); status != 200 || answer != reply || err != nil {
		t.Errorf("got %d, %q, %v", status, answer, err)
	}
	r = start(t, dialled(t, server.URL+"/v1/responses", secret, Dialing{}))
	status, answer, _ := r.post("/responses", ask)
	if status != 502 || !strings.Contains(answer, "certificate is not trusted") || !strings.Contains(fault.HintOf(r.Err()), "ca-file") {
		t.Errorf("unknown authority: got %d, %s, hint %q", status, answer, fault.HintOf(r.Err()))
	}
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	listener.Close()
	proxy := func(*url.URL) (*url.URL, error) { return url.Parse("http://user:hunter22@" + closed) }
	for _, tt := range []struct {
		name, url, want string
		d               Dialing
	}{
		{"refused", "http://" + closed + "/v1/responses?key=hunter22", "cannot be reached", Dialing{}},
		{"proxy", "https://models.example/v1/responses", "the proxy cannot be reached", Dialing{Proxy: proxy}},
	} {
		r := start(t, dialled(t, tt.url, secret, tt.d))
		status, answer, _ := r.post("/responses", ask)
		if status != 502 || !strings.Contains(answer, tt.want) || !strings.Contains(r.Err().Error(), tt.want) || fault.HintOf(r.Err()) == "" {
			t.Errorf("%s: got %d, %s; %v", tt.name, status, answer, r.Err())
		}
		if strings.Contains(answer+r.Err().Error(), "hunter22") {
			t.Errorf("%s: the error holds a secret: %v", tt.name, r.Err())
		}
	}
}

// The environment's proxy carries what goes out, and never what stays on this machine.
func TestProxy(t *testing.T) {
	t.Parallel()
	server := serve(t, httptest.NewTLSServer, streams(reply))
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	proxy := serve(t, httptest.NewServer, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodConnect || r.Host != "example.com:443" || r.Header.Get("Authorization") != "" {
			t.Errorf("proxy got %s %s with %v", r.Method, r.Host, r.Header)
		}
		tunnel(t, w, server.Listener.Addr().String())
	})
	env := map[string]string{"https_proxy": proxy.URL, "HTTP_PROXY": proxy.URL, "NO_PROXY": "direct.example"}
	pick := EnvironmentProxy(func(name string) string { return env[name] })
	// httptest's certificate is made for example.com.
	r := start(t, dialled(t, "https://example.com/v1/responses", secret, Dialing{Roots: roots, Proxy: pick}))
	if status, answer, err := r.post("/responses", ask); status != 200 || answer != reply || err != nil {
		t.Errorf("through the proxy: got %d, %q, %v", status, answer, err)
	}
	near := serve(t, httptest.NewServer, streams(reply))
	always := func(*url.URL) (*url.URL, error) { return url.Parse(proxy.URL) }
	r = start(t, dialled(t, near.URL+"/v1/responses", secret, Dialing{Proxy: always}))
	if status, _, err := r.post("/responses", ask); status != 200 || err != nil {
		t.Errorf("loopback: got %d, %v", status, err)
	}
	if p, err := pick(&url.URL{Scheme: "https", Host: "direct.example"}); p != nil || err != nil {
		t.Errorf("NO_PROXY: got %v, %v", p, err)
	}
}

func tunnel(t *testing.T, w http.ResponseWriter, to string) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	back, err := net.Dial("tcp", to)
	if err != nil {
		t.Error(err)
		return
	}
	io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		io.Copy(back, conn)
		back.Close()
	}()
	go func() {
		io.Copy(conn, back)
		conn.Close()
	}()
}

// What Upstream returns must not depend on the gateway: a decorator may send the same request again.
func TestRequestCanBeSentAgain(t *testing.T) {
	t.Parallel()
	r := start(t, twice{upstream(t, says(503, "", ""), streams(reply))})
	if status, answer, err := r.post("/responses", ask); status != 200 || answer != reply || err != nil {
		t.Errorf("got %d, %q, %v", status, answer, err)
	}
}

type twice struct{ http.RoundTripper }

func (r twice) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := r.RoundTripper.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	res.Body.Close()
	again := req.Clone(context.WithoutCancel(req.Context()))
	if again.Body, err = req.GetBody(); err != nil {
		return nil, err
	}
	return r.RoundTripper.RoundTrip(again)
}

func FuzzParseEndpoint(f *testing.F) {
	for _, s := range []string{"", "https://api.openai.com/v1/responses?api-key=SECRETVALUE", "http://[::1]:8080/x", "replay:a b", "https://u:p@h/x", "https://h:99999/x", "HTTPS://H/%2f%zz"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		e, err := ParseEndpoint(raw)
		if err != nil {
			if fault.KindOf(err) != fault.Request || fault.HintOf(err) == "" || strings.ContainsAny(err.Error(), "\r\n") {
				t.Fatalf("error %q", err)
			}
			return
		}
		if e.IsReplay() {
			return
		}
		u := e.at("/v1/responses")
		again, err := url.Parse(u.String())
		if err != nil || again.Host != e.Host() || again.User != nil || (again.Scheme == "http" && !isLoopback(again.Hostname())) {
			t.Fatalf("%q becomes %v, %v", raw, again, err)
		}
		if u.RawQuery != "" && len(u.RawQuery) > 8 && !strings.Contains(u.Path+u.Host, u.RawQuery) && strings.Contains(e.String(), u.RawQuery) {
			t.Fatalf("String shows the query: %s", e)
		}
		_ = wire.Bounded(e.String(), 10)
	})
}

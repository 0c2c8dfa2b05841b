package artifact

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/recibo-ci/recibo/internal/artifacttest"
)

const scope = "Actions.Results:ce7f54c7-61c7-4aae-887f-30da475f5f1a:ca395085-040a-526b-2ce8-bdc85f692774"

func TestOpenWithoutService(t *testing.T) {
	t.Parallel()
	good := artifacttest.Token(scope)
	parts := strings.Split(good, ".")
	for _, tt := range []struct{ name, url, token, why string }{
		{"no_url", "", good, "ACTIONS_RESULTS_URL is not set"},
		{"url_without_host", "results", good, "not an http address"},
		{"url_of_another_scheme", "ftp://results.example/", good, "not an http address"},
		{"url_with_a_user", "https://u:p@results.example/", good, "not an http address"},
		{"url_unreadable", "https://results.example/%zz", good, "not an http address"},
		{"no_token", "https://results.example/", "", "ACTIONS_RUNTIME_TOKEN is not set"},
		{"not_a_token", "https://results.example/", "secret-token", "not a JSON web token"},
		{"line_break", "https://results.example/", good + "\r\nX: y", "not a JSON web token"},
		{"huge", "https://results.example/", good + strings.Repeat("a", tokenMax), "not a JSON web token"},
		{"not_base64", "https://results.example/", parts[0] + ".!." + parts[2], "not base64"},
		{"not_json", "https://results.example/", parts[0] + ".e30x." + parts[2], "cannot be read"},
		{"no_scope", "https://results.example/", artifacttest.Token(""), "no scope"},
		{"other_scope", "https://results.example/", artifacttest.Token("Actions.Example " + scope[1:]), "no scope"},
		{"scope_without_job", "https://results.example/", artifacttest.Token("Actions.Results:42"), "no scope"},
		{"scope_with_empty_job", "https://results.example/", artifacttest.Token("Actions.Results:42:"), "no scope"},
		{"scope_with_more", "https://results.example/", artifacttest.Token(scope + ":x"), "no scope"},
		{"scope_with_odd_id", "https://results.example/", artifacttest.Token("Actions.Results:42:../7"), "no scope"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := Open(Config{ResultsURL: tt.url, Token: tt.token})
			if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), tt.why) || s != nil {
				t.Errorf("got %v, %v, want ErrUnavailable with %q", s, err, tt.why)
			}
			if err != nil && tt.token != "" && strings.Contains(err.Error(), tt.token) {
				t.Errorf("the error shows the token: %v", err)
			}
		})
	}
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, url, scope, origin, run, job string }{
		{"github", "https://results-receiver.actions.example/", "Actions.ExampleScope " + scope, "https://results-receiver.actions.example",
			"ce7f54c7-61c7-4aae-887f-30da475f5f1a", "ca395085-040a-526b-2ce8-bdc85f692774"},
		{"act", "http://192.0.2.7:34567/", "Actions.Results:42:42", "http://192.0.2.7:34567", "42", "42"},
		{"with_a_path", "https://server.example:8443/_services/results/?a=b", scope, "https://server.example:8443",
			"ce7f54c7-61c7-4aae-887f-30da475f5f1a", "ca395085-040a-526b-2ce8-bdc85f692774"},
		{"first_scope", "https://a.example", "Actions.Results:1:2 Actions.Results:3:4", "https://a.example", "1", "2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := Open(Config{ResultsURL: tt.url, Token: artifacttest.Token(tt.scope)})
			if err != nil {
				t.Fatal(err)
			}
			if got := s.origin.String(); got != tt.origin {
				t.Errorf("origin: got %q, want %q", got, tt.origin)
			}
			if want := (backend{tt.run, tt.job}); s.backend != want {
				t.Errorf("ids: got %v, want %v", s.backend, want)
			}
		})
	}
}

func TestPaddedTokenIsRead(t *testing.T) {
	t.Parallel()
	parts := strings.Split(artifacttest.Token(scope), ".")
	if _, err := parseToken(parts[0] + "." + parts[1] + "==." + parts[2]); err != nil {
		t.Error(err)
	}
}

func TestServiceShowsNoToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, artifacttest.Options{})
	w.holdsNoSecret(t, w.Service, *w.Service, struct{ inner Service }{*w.Service})
}

func TestSleepEndsWithContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if err := sleep(ctx, time.Hour); err != cause {
		t.Errorf("got %v, want %v", err, cause)
	}
	if err := sleep(t.Context(), time.Nanosecond); err != nil {
		t.Error(err)
	}
}

func TestURL(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"https://github.com":        "https://github.com/o/r/actions/runs/42/artifacts/9007199254740993",
		"https://ghes.example:444/": "https://ghes.example:444/o/r/actions/runs/42/artifacts/9007199254740993",
	} {
		if got := URL(server, "o/r", 42, 9007199254740993); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestRedirectionIsNotFollowed(t *testing.T) {
	t.Parallel()
	asked := 0
	w := newWorld(t, artifacttest.Options{}, func(c *Config) {
		c.Transport = transport(func(r *http.Request) (*http.Response, error) {
			asked++
			return &http.Response{StatusCode: 307, Header: http.Header{"Location": {"https://elsewhere.example/"}}, Body: http.NoBody, Request: r}, nil
		})
	})
	_, err := w.Upload(t.Context(), oneFile("a"))
	if statusOf(err) != 307 || asked != 1 {
		t.Errorf("got %v after %d requests, want 307 after one", err, asked)
	}
}

func TestProxy(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 2)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.RequestURI
		http.NotFound(w, r)
	}))
	defer proxy.Close()
	w := newWorld(t, artifacttest.Options{}, func(c *Config) {
		c.Transport, c.ResultsURL = nil, "http://results.example/"
		c.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse(proxy.URL) }
	})
	if _, err := w.Upload(t.Context(), oneFile("a")); !errors.Is(err, ErrUnavailable) {
		t.Errorf("got %v, want the proxy's 404", err)
	}
	if got, want := <-asked, "http://results.example"+servicePath+"CreateArtifact"; got != want {
		t.Errorf("the proxy was asked for %q, want %q", got, want)
	}
}

func TestUnreadableProxy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, artifacttest.Options{}, func(c *Config) {
		c.Transport = nil
		c.Proxy = func(*url.URL) (*url.URL, error) { return nil, errors.New("http://user:s3cret@proxy") }
	})
	_, err := w.Upload(t.Context(), oneFile("a"))
	if err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), errProxy.Error()) {
		t.Errorf("got %v, want %v", err, errProxy)
	}
}

func TestOwnTransport(t *testing.T) {
	t.Parallel()
	w := newWorld(t, artifacttest.Options{}, func(c *Config) { c.Transport = nil })
	if got, err := w.Upload(t.Context(), oneFile("a")); err != nil || got.Name != "a" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(artifacttest.Token(scope))
	f.Add(artifacttest.Token("Actions.Results:42:42 x"))
	f.Add("a.e30.b")
	f.Add("a.bnVsbA.b")
	f.Fuzz(func(t *testing.T, token string) {
		got, err := parseToken(token)
		if err != nil && !errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v, want ErrUnavailable", err)
		}
		if err == nil && (!isID(got.run) || !isID(got.job)) {
			t.Errorf("odd ids %q", got)
		}
	})
}

package artifact

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/internal/artifacttest"
)

// Whatever the libraries below or the other side say, with address and header in it, does not get
// out.
func TestNoErrorShowsASecret(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"CreateArtifact", "comp=block&", "comp=blocklist", "FinalizeArtifact"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, artifacttest.Options{}, func(c *Config) {
				below := c.Transport
				c.Transport = transport(func(r *http.Request) (*http.Response, error) {
					if strings.Contains(r.URL.String(), part) {
						return nil, fmt.Errorf("proxy: %s %v %v", r.URL, r.Header, r.URL.Query())
					}
					return below.RoundTrip(r)
				})
			})
			_, err := w.Upload(t.Context(), oneFile("a"))
			if err == nil || !strings.Contains(err.Error(), "proxy: ") {
				t.Fatalf("got %v, want the proxy's words", err)
			}
			w.holdsNoSecret(t, err)
		})
	}
}

func TestNoSecretInWhatTheServiceSays(t *testing.T) {
	t.Parallel()
	w := newWorld(t, artifacttest.Options{})
	w.Break(artifacttest.Fault{Call: "CreateArtifact", Kind: artifacttest.Refuse, Status: 400,
		Message: "bad " + w.Token + " for https://blob.example/x?a=b&sig=abc%2Fdef&se=1\n::error::x " + strings.Repeat("long ", 200)})
	_, err := w.Upload(t.Context(), oneFile("a"))
	w.holdsNoSecret(t, err)
	text := err.Error()
	if !strings.Contains(text, "bad *** for https://blob.example/x?a=b&sig=***&se=1") || strings.Contains(text, "abc") {
		t.Errorf("got %s", text)
	}
	if strings.Contains(text, "\n") || len(text) > 500 {
		t.Errorf("got %d bytes, want one line of bounded length: %s", len(text), text)
	}
}

func TestSignaturesOf(t *testing.T) {
	t.Parallel()
	for query, want := range map[string][]string{
		"":                            nil,
		"se=1&sp=rw":                  nil,
		"sig=":                        nil,
		"se=1&sig=ab%2Fcd%3D&sp=rw":   {"ab%2Fcd%3D", "ab/cd="},
		"SIG=abcd":                    {"abcd"},
		"sig=ab%zz":                   {"ab%zz"},
		"sig=one1&x=y&sig=two2":       {"one1", "two2"},
		"sig=a=b&expires=2030&name=a": {"a=b"},
	} {
		if diff := cmp.Diff(want, signaturesOf(&url.URL{RawQuery: query})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", query, diff)
		}
	}
}

// The chain of an error is cut where it would hold the address.
func TestBrokenKeepsNoAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t, artifacttest.Options{})
	to, err := url.Parse("https://blob.example/x?sig=s3cret")
	must(t, err)
	got := w.broken(&url.Error{Op: "Put", URL: to.String(), Err: errors.New("reset")}, request{to: to})
	if e, ok := errors.AsType[*url.Error](got); ok || got.Error() != "reset" {
		t.Errorf("got %v (%v)", got, e)
	}
}

func FuzzScrub(f *testing.F) {
	f.Add("put https://blob.example/x?sig=ab%2Fcd&se=1: reset", "ab%2Fcd")
	f.Add("SIG=abcd", "abcd")
	f.Fuzz(func(t *testing.T, text, sig string) {
		if len(sig) < 8 || strings.ContainsAny(sig, "&*=sigSIG") {
			return
		}
		s := &Service{token: func() string { return "" }}
		to := &url.URL{RawQuery: "se=1&sig=" + sig}
		if got := s.scrub(text+sig, to); strings.Contains(got, sig) {
			t.Errorf("%q is left in %q", sig, got)
		}
	})
}

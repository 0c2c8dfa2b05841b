package artifact

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recibo-ci/recibo/internal/artifacttest"
)

// world is a service as a test sees it: time stands still, waits are written down.
type world struct {
	*artifacttest.Server
	*Service
	mu     sync.Mutex
	waits  []time.Duration
	masked []string
}

func newWorld(t artifacttest.T, o artifacttest.Options, change ...func(*Config)) *world {
	t.Helper()
	w := &world{Server: artifacttest.Start(t, o)}
	c := Config{
		ResultsURL: w.ResultsURL, Token: w.Token,
		Transport: &http.Transport{},
		Now:       func() time.Time { return time.Date(2026, 2, 27, 12, 0, 0, 0, time.UTC) },
		Jitter:    func() float64 { return 0 },
		Sleep: func(_ context.Context, d time.Duration) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.waits = append(w.waits, d)
			return nil
		},
		Mask: func(s string) { w.masked = append(w.masked, s) },
	}
	for _, f := range change {
		f(&c)
	}
	service, err := Open(c)
	if err != nil {
		t.Errorf("open: %v", err)
	}
	w.Service = service
	return w
}

// holdsNoSecret fails the test when a text shows the token or a signature.
func (w *world) holdsNoSecret(t *testing.T, texts ...any) {
	t.Helper()
	secrets := w.Secrets()
	if len(secrets) == 0 {
		t.Fatal("there are no secrets to look for")
	}
	for _, v := range texts {
		for _, text := range []string{fmt.Sprintf("%v", v), fmt.Sprintf("%+v", v), fmt.Sprintf("%#v", v)} {
			for _, secret := range secrets {
				if strings.Contains(text, secret) {
					t.Errorf("%T shows a secret: %s", v, text)
				}
			}
		}
		err, ok := v.(error)
		for ; ok && err != nil; err = errors.Unwrap(err) {
			for _, secret := range secrets {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the chain of an error holds a secret: %v", err)
				}
			}
		}
	}
}

// transport lets a test stand between the client and the servers.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// only answers every request with one JSON body, and counts.
func only(n *int, status int, body string) func(*Config) {
	return func(c *Config) {
		c.Transport = transport(func(r *http.Request) (*http.Response, error) {
			*n++
			return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
		})
	}
}

// oneFile is an upload of one small file that needs no disk.
func oneFile(name string) Upload {
	return Upload{Name: name, Files: []File{{Name: "usage.json", Data: []byte("{}\n")}}}
}

// write puts a file below dir.
func write(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// entries reads a zip with the standard library alone: name, a colon, content.
func entries(t *testing.T, data []byte) []string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range r.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f.Name+":"+string(text))
	}
	return out
}

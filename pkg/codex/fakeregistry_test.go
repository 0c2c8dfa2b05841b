package codex

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeRegistry answers the requests it was told of, each once and in order for its path, and
// fails the test for any other, and for those that never came.
type fakeRegistry struct {
	*httptest.Server
	t       *testing.T
	mu      sync.Mutex
	answers map[string][]http.HandlerFunc
}

func newFakeRegistry(t *testing.T) *fakeRegistry { return startFakeRegistry(t, httptest.NewServer) }

func newTLSRegistry(t *testing.T) *fakeRegistry { return startFakeRegistry(t, httptest.NewTLSServer) }

func startFakeRegistry(t *testing.T, start func(http.Handler) *httptest.Server) *fakeRegistry {
	t.Helper()
	r := &fakeRegistry{t: t, answers: map[string][]http.HandlerFunc{}}
	r.Server = start(r)
	t.Cleanup(func() {
		r.Close()
		for path, left := range r.answers {
			if len(left) > 0 {
				t.Errorf("%d requests for %s never came", len(left), path)
			}
		}
	})
	return r
}

// on adds answers for a path as it stands in the request line.
func (r *fakeRegistry) on(path string, answers ...http.HandlerFunc) *fakeRegistry {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers[path] = append(r.answers[path], answers...)
	return r
}

func (r *fakeRegistry) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	path := req.URL.EscapedPath()
	r.mu.Lock()
	left := r.answers[path]
	if len(left) > 0 {
		r.answers[path] = left[1:]
	}
	r.mu.Unlock()
	if len(left) == 0 || req.Method != http.MethodGet || req.URL.RawQuery != "" {
		r.t.Errorf("the registry is asked for %s %s", req.Method, req.URL)
		http.NotFound(w, req)
		return
	}
	left[0](w, req)
}

func answerStatus(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
}

func answerBytes(kind string, data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		_, _ = w.Write(data)
	}
}

// answerCut announces all of data and sends half.
func answerCut(data []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		_, _ = w.Write(data[:len(data)/2])
	}
}

// answerStuck sends half of data, calls sent, and then nothing until the client goes away.
func answerStuck(data []byte, sent func()) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		_, _ = w.Write(data[:len(data)/2])
		_ = http.NewResponseController(w).Flush()
		sent()
		<-req.Context().Done()
	}
}

func answerRedirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusFound)
	}
}

// thisPlatform is the platform of the machine that runs the tests.
func thisPlatform() string { return platformOf(runtime.GOOS, runtime.GOARCH) }

// fakePackage is a package of a release in the registry.
type fakePackage struct {
	release release
	tarball []byte
	sum     tarballSum
}

// newFakePackage makes a package of the fake Codex for this machine.
func newFakePackage(t testing.TB, version string) fakePackage {
	t.Helper()
	top := "package/vendor/" + tripleOf(thisPlatform()) + "/"
	script := "#!/bin/sh\necho codex-cli " + version + "\n"
	return packFake(t, version, []fakeEntry{
		{name: top + "codex-resources/bwrap", data: "not needed", mode: 0o755},
		{name: top + "bin/codex", data: script + strings.Repeat("# filler\n", 50_000), mode: 0o755},
		{name: top + "bin/codex-code-mode-host", data: "host of " + version, mode: 0o755},
		{name: top + "codex-path/rg", data: "rg of " + version, mode: 0o755},
		{name: top + "codex-package.json", data: `{"pathDir":"codex-path"}`, mode: 0o644},
		{name: "package/package.json", data: `{}`, mode: 0o644},
	})
}

func packFake(t testing.TB, version string, entries []fakeEntry) fakePackage {
	t.Helper()
	p := fakePackage{release: release{version: version, platform: thisPlatform()}}
	p.tarball = gzipped(t, tarred(t, entries))
	p.sum = sha512.Sum512(p.tarball)
	return p
}

// docPath and tarballPath are where a registry has the package.
func (p fakePackage) docPath() string     { return "/@openai%2fcodex/" + p.release.id() }
func (p fakePackage) tarballPath() string { return "/@openai/codex/-/codex-" + p.release.id() + ".tgz" }

// doc is the answer about the package, with its tarball at base.
func (p fakePackage) doc(base string) http.HandlerFunc {
	return answerBytes("application/json", p.document(base+p.tarballPath(), p.sum.String()))
}

func (p fakePackage) document(tarball, integrity string) []byte {
	data, err := json.Marshal(map[string]any{
		"name": packageName, "version": p.release.id(),
		"dist": map[string]string{"tarball": tarball, "integrity": integrity},
	})
	if err != nil {
		panic(err)
	}
	return data
}

func (p fakePackage) file() http.HandlerFunc {
	return answerBytes("application/octet-stream", p.tarball)
}

// locked is a lock file that names the package.
func (p fakePackage) locked() *packageLock {
	return &packageLock{version: p.release.version, integrity: map[string]tarballSum{p.release.platform: p.sum}}
}

type fakeEntry struct {
	name, data string
	mode       int64
	kind       byte
	link       string
	// size is announced instead of the data's when it is not 0.
	size int64
}

func tarred(t testing.TB, entries []fakeEntry) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.data)), Typeflag: e.kind, Linkname: e.link}
		if e.kind == 0 {
			h.Typeflag = tar.TypeReg
		}
		if e.size != 0 {
			h.Size = e.size
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.data)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err == nil {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes()
}

func gzipped(t testing.TB, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// finding is a Finder that touches nothing of this machine, and what it said.
type finding struct {
	Finder
	mu     sync.Mutex
	warned []string
	pauses []time.Duration
}

// newFinding uses the registry at address with a cache of its own; env adds to the environment.
func newFinding(t *testing.T, address string, env map[string]string) *finding {
	t.Helper()
	f := &finding{}
	home := t.TempDir()
	f.Finder = Finder{
		CacheDir: filepath.Join(home, "cache", "codex"),
		Getenv: func(name string) string {
			if v, ok := env[name]; ok {
				return v
			}
			return map[string]string{"NPM_CONFIG_REGISTRY": address, "HOME": home}[name]
		},
		Warn: func(s string) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.warned = append(f.warned, s)
		},
		pause: func(ctx context.Context, d time.Duration) error {
			f.mu.Lock()
			f.pauses = append(f.pauses, d)
			f.mu.Unlock()
			// Long enough that waiting for another process does not spin.
			time.Sleep(time.Millisecond)
			return ctx.Err()
		},
	}
	return f
}

// told says whether a warning contains part.
func (f *finding) told(part string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.warned, func(s string) bool { return strings.Contains(s, part) })
}

// remains lists what is in the cache, without lock files.
func (f *finding) remains(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(f.CacheDir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".lock-") {
			names = append(names, e.Name())
		}
	}
	return names
}

package codex

import (
	"bytes"
	"context"
	"crypto/sha512"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// checkWhole asserts all that holds of programs that were found: they are there, as they were
// packed, and what was recorded of them is what they hash to.
func checkWhole(t *testing.T, f *finding, p *Programs, source Source, integrity string) {
	t.Helper()
	dir := filepath.Join(f.CacheDir, p.Version+"-"+thisPlatform())
	want := &Programs{
		Version: p.Version, Dir: dir, Codex: filepath.Join(dir, "bin", "codex"),
		CodeModeHost: filepath.Join(dir, "bin", "codex-code-mode-host"), RG: filepath.Join(dir, "codex-path", "rg"),
		PathDir: filepath.Join(dir, "codex-path"), Source: source, Integrity: integrity, recorded: p.recorded,
	}
	if diff := cmp.Diff(want, p, cmp.AllowUnexported(Programs{})); diff != "" {
		t.Errorf("programs (-want +got):\n%s", diff)
	}
	d, err := p.Digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Verify(d); err != nil || len(d.Programs) != 3 {
		t.Errorf("Verify of %d programs: %v", len(d.Programs), err)
	}
	if got := f.remains(t); !cmp.Equal(got, []string{filepath.Base(dir)}) {
		t.Errorf("the cache holds %q, want %q alone", got, filepath.Base(dir))
	}
	if got, err := os.ReadDir(dir); err != nil || len(got) != 4 {
		t.Errorf("the entry holds %v (%v), want bin, codex-path, codex-package.json and its record", got, err)
	}
	for path, mode := range map[string]os.FileMode{p.Dir: 0o755, p.Codex: 0o755, p.CodeModeHost: 0o755, p.RG: 0o755, p.PathDir: 0o755, filepath.Join(dir, recordName): 0o644} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v (%v), want mode %v", path, info.Mode(), err, mode)
		}
	}
}

// checkFault asserts the kind of an error, that it has a hint, and words of its message.
func checkFault(t *testing.T, err error, kind fault.Kind, words ...string) {
	t.Helper()
	if fault.KindOf(err) != kind || fault.HintOf(err) == "" {
		t.Fatalf("error %v: kind %d, hint %q; want kind %d and a hint", err, fault.KindOf(err), fault.HintOf(err), kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error()+" "+fault.HintOf(err), w) {
			t.Errorf("error %q, hint %q: want %q in it", err, fault.HintOf(err), w)
		}
	}
}

func TestInstallThenCache(t *testing.T) {
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	// Metadata that speaks against the lock file changes nothing.
	reg := newFakeRegistry(t)
	lying := answerBytes("application/json", p.document(reg.URL+p.tarballPath(), tarballSum{1}.String()))
	reg.on(p.docPath(), lying).on(p.tarballPath(), p.file())
	f := newFinding(t, reg.URL, nil)
	f.lock = p.locked()
	var steps [][2]int64
	f.Progress = func(done, total int64) { steps = append(steps, [2]int64{done, total}) }
	for _, source := range []Source{FromInstall, FromCache} {
		got, err := f.Find(t.Context(), Want{})
		if err != nil {
			t.Fatal(err)
		}
		checkWhole(t, f, got, source, "lock")
	}
	if n := len(steps); n == 0 || steps[n-1] != [2]int64{int64(len(p.tarball)), int64(len(p.tarball))} {
		t.Errorf("progress %v, want it to end with all %d bytes", steps, len(p.tarball))
	}
	if len(f.warned) > 0 {
		t.Errorf("warned: %q", f.warned)
	}
}

func TestInstallVersionOutsideLock(t *testing.T) {
	t.Parallel()
	p := newFakePackage(t, "1.2.4-alpha.1")
	reg := newFakeRegistry(t)
	reg.on(p.docPath(), p.doc(reg.URL)).on(p.tarballPath(), p.file())
	f := newFinding(t, reg.URL, nil)
	for _, source := range []Source{FromInstall, FromCache} {
		got, err := f.Find(t.Context(), Want{Version: "1.2.4-alpha.1"})
		if err != nil {
			t.Fatal(err)
		}
		checkWhole(t, f, got, source, "registry")
	}
}

// Releases from before the code-mode host had another layout.
func TestInstallOldLayout(t *testing.T) {
	t.Parallel()
	top := "package/vendor/" + tripleOf(thisPlatform()) + "/"
	p := packFake(t, "0.99.0", []fakeEntry{
		{name: top + "codex/codex", data: "#!/bin/sh\necho codex-cli 0.99.0\n", mode: 0o755},
		{name: top + "path/rg", data: "rg", mode: 0o755},
	})
	reg := newFakeRegistry(t)
	reg.on(p.docPath(), p.doc(reg.URL)).on(p.tarballPath(), p.file())
	f := newFinding(t, reg.URL, nil)
	got, err := f.Find(t.Context(), Want{Version: "0.99.0"})
	if err != nil {
		t.Fatal(err)
	}
	if got.CodeModeHost != "" || got.Codex != filepath.Join(got.Dir, "codex", "codex") || got.PathDir != filepath.Join(got.Dir, "path") {
		t.Errorf("programs %+v", got)
	}
	if !f.told("comes without codex-code-mode-host") {
		t.Errorf("warned %q, want the missing host told", f.warned)
	}
}

// installFault is what a registry may do, and what comes of it; kind 0 is success.
type installFault struct {
	version string
	set     func(*fakeRegistry)
	kind    fault.Kind
	words   []string
}

// transportFaults are those of answers that do not come, or not from where they should.
func transportFaults(p fakePackage) map[string]installFault {
	doc, file := p.docPath(), p.tarballPath()
	return map[string]installFault{
		"5xx_twice": {set: func(r *fakeRegistry) {
			r.on(doc, answerStatus(503), answerStatus(500), p.doc(r.URL)).on(file, answerStatus(502), answerStatus(429), p.file())
		}},
		"5xx_for_good": {set: func(r *fakeRegistry) {
			r.on(doc, answerStatus(500), answerStatus(500), answerStatus(500))
		}, kind: fault.Review, words: []string{"500", "HTTPS_PROXY"}},
		"cut_once": {set: func(r *fakeRegistry) {
			r.on(doc, p.doc(r.URL)).on(file, answerCut(p.tarball), p.file())
		}},
		"cut_for_good": {set: func(r *fakeRegistry) {
			r.on(doc, p.doc(r.URL)).on(file, answerCut(p.tarball), answerCut(p.tarball), answerCut(p.tarball))
		}, kind: fault.Review, words: []string{"unexpected EOF"}},
		"cut_without_a_length": {set: func(r *fakeRegistry) {
			r.on(doc, p.doc(r.URL)).on(file, answerBytes("", p.tarball[:len(p.tarball)/2]))
		}, kind: fault.Request, words: []string{"integrity", p.sum.String()}},
		"html": {set: func(r *fakeRegistry) {
			r.on(doc, p.doc(r.URL)).on(file, answerBytes("text/html", []byte("<html>sign in</html>")))
		}, kind: fault.Request, words: []string{"not what", "text/html", "login"}},
		"html_for_json": {set: func(r *fakeRegistry) {
			r.on(doc, answerBytes("text/html", []byte("<html>sign in</html>")))
		}, kind: fault.Request, words: []string{"not what", "text/html", "login"}},
		"unauthorized": {set: func(r *fakeRegistry) { r.on(doc, answerStatus(401)) },
			kind: fault.Request, words: []string{"401", ":_authToken"}},
		"forbidden_file": {set: func(r *fakeRegistry) { r.on(doc, p.doc(r.URL)).on(file, answerStatus(403)) },
			kind: fault.Request, words: []string{"403", ":_authToken"}},
		"packument_only": {set: func(r *fakeRegistry) {
			all := `{"versions":{"` + p.release.id() + `":` + string(p.document(r.URL+file, p.sum.String())) + `}}`
			r.on(doc, answerStatus(405)).on("/@openai%2fcodex", answerBytes("application/json", []byte(all))).on(file, p.file())
		}},
		"unknown_version": {version: "9.9.9", set: func(r *fakeRegistry) {
			r.on("/@openai%2fcodex/9.9.9-"+thisPlatform(), answerStatus(404)).on("/@openai%2fcodex", answerBytes("application/json", []byte(`{"versions":{"1.2.3":{}}}`)))
		}, kind: fault.Request, words: []string{"no such version", Pinned()}},
		"unknown_package": {set: func(r *fakeRegistry) {
			r.on(doc, answerStatus(404)).on("/@openai%2fcodex", answerStatus(404))
		}, kind: fault.Request, words: []string{"404", "codex-bin"}},
	}
}

// contentFaults are those of packages that come and are not what they should be.
func contentFaults(t *testing.T, p fakePackage) map[string]installFault {
	other := newFakePackage(t, "1.2.3")
	other.tarball = gzipped(t, bytes.Repeat([]byte("x"), 1000))
	lying := packFake(t, "1.2.3", []fakeEntry{{name: "package/vendor/" + tripleOf(thisPlatform()) + "/bin/codex", data: "#!/bin/sh\necho codex-cli 6.6.6\n", mode: 0o755}})
	empty := packFake(t, "1.2.3", []fakeEntry{{name: "package/package.json", data: "{}"}})
	broken := packFake(t, "1.2.3", nil)
	broken.tarball = p.tarball[:len(p.tarball)-9]
	broken.sum = sha512.Sum512(broken.tarball)
	doc, file := p.docPath(), p.tarballPath()
	return map[string]installFault{
		"other_bytes": {set: func(r *fakeRegistry) {
			r.on(doc, p.doc(r.URL)).on(file, other.file())
		}, kind: fault.Request, words: []string{"integrity", p.sum.String(), "lock file"}},
		"other_bytes_and_metadata": {set: func(r *fakeRegistry) {
			r.on(doc, lying.doc(r.URL)).on(file, lying.file())
		}, kind: fault.Request, words: []string{"integrity", p.sum.String(), "lock file"}},
		"other_bytes_outside_lock": {version: "1.2.4", set: func(r *fakeRegistry) {
			q := newFakePackage(t, "1.2.4")
			r.on(q.docPath(), q.doc(r.URL)).on(q.tarballPath(), p.file())
		}, kind: fault.Request, words: []string{"its own metadata"}},
		"answers_for_another": {set: func(r *fakeRegistry) {
			q := newFakePackage(t, "1.2.2")
			r.on(doc, q.doc(r.URL))
		}, kind: fault.Review, words: []string{"1.2.2"}},
		"weak_integrity": {version: "1.2.4", set: func(r *fakeRegistry) {
			q := newFakePackage(t, "1.2.4")
			r.on(q.docPath(), answerBytes("application/json", q.document(r.URL+"/x.tgz", "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=")))
		}, kind: fault.Review, words: []string{"SHA-512"}},
		"wrong_program": {version: "1.2.4", set: func(r *fakeRegistry) {
			q := newFakePackage(t, "1.2.4")
			q.tarball, q.sum = lying.tarball, lying.sum
			r.on(q.docPath(), q.doc(r.URL)).on(q.tarballPath(), q.file())
		}, kind: fault.Request, words: []string{"6.6.6", "do not trust"}},
		"no_program": {version: "1.2.4", set: func(r *fakeRegistry) {
			q := newFakePackage(t, "1.2.4")
			q.tarball, q.sum = empty.tarball, empty.sum
			r.on(q.docPath(), q.doc(r.URL)).on(q.tarballPath(), q.file())
		}, kind: fault.Request, words: []string{"no program"}},
		"right_sum_but_broken": {version: "1.2.4", set: func(r *fakeRegistry) {
			q := newFakePackage(t, "1.2.4")
			q.tarball, q.sum = broken.tarball, broken.sum
			r.on(q.docPath(), q.doc(r.URL)).on(q.tarballPath(), q.file())
		}, kind: fault.Review, words: []string{"unpack"}},
	}
}

func TestInstallFaults(t *testing.T) {
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	cases := transportFaults(p)
	maps.Copy(cases, contentFaults(t, p))
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reg := newFakeRegistry(t)
			c.set(reg)
			f := newFinding(t, reg.URL, nil)
			f.lock = p.locked()
			got, err := f.Find(t.Context(), Want{Version: c.version})
			if c.kind == 0 {
				if err != nil {
					t.Fatal(err)
				}
				checkWhole(t, f, got, FromInstall, "lock")
				return
			}
			checkFault(t, err, c.kind, c.words...)
			if got != nil || len(f.remains(t)) != 0 {
				t.Errorf("got %+v, and the cache holds %q; want nothing", got, f.remains(t))
			}
		})
	}
}

// roundTrip is a http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// slowBody hands out data a piece at a time, after a pause each.
type slowBody struct {
	req   *http.Request
	data  *bytes.Reader
	piece int
	pause time.Duration
}

func (b *slowBody) Read(p []byte) (int, error) {
	select {
	case <-b.req.Context().Done():
		return 0, b.req.Context().Err()
	case <-time.After(b.pause):
	}
	return b.data.Read(p[:min(len(p), b.piece)])
}

func (b *slowBody) Close() error { return nil }

// Slow is not silent: what counts is the longest pause. The clock is a false one.
func TestDownloadSlowAndSilent(t *testing.T) {
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	cases := map[string]struct {
		pause time.Duration
		want  error
	}{
		"slow":   {pause: longestStall - time.Second},
		"silent": {pause: longestStall + time.Second, want: errStalled},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				f := Finder{HTTP: &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
					body := &slowBody{req: req, data: bytes.NewReader(p.tarball), piece: 100 + len(p.tarball)/4, pause: c.pause}
					return &http.Response{StatusCode: http.StatusOK, Body: body, ContentLength: int64(len(p.tarball))}, nil
				})}}
				base := &url.URL{Scheme: "https", Host: "npm.example", Path: "/"}
				start := time.Now()
				files, err := f.client(registry{base: base}).fetchOnce(t.Context(), base, p.sum, unpackTo{dir: dir, triple: tripleOf(thisPlatform())})
				took := time.Since(start)
				if !errors.Is(err, c.want) || (c.want == nil) != (len(files) == 4) {
					t.Errorf("%d files, %v; want error %v", len(files), err, c.want)
				}
				if _, passing := errors.AsType[*passingError](err); passing != (c.want != nil) {
					t.Errorf("%v: another try may mend it: %v", err, passing)
				}
				if c.want == nil && took < 4*c.pause || c.want != nil && took != longestStall {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}

func TestInstallCancelled(t *testing.T) {
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	reg := newFakeRegistry(t)
	ctx, cancel := context.WithCancel(t.Context())
	reg.on(p.docPath(), p.doc(reg.URL)).on(p.tarballPath(), answerStuck(p.tarball, cancel))
	f := newFinding(t, reg.URL, nil)
	f.lock = p.locked()
	if got, err := f.Find(ctx, Want{}); !errors.Is(err, context.Canceled) || got != nil {
		t.Errorf("got %+v, %v; want nothing and context.Canceled", got, err)
	}
	if left := f.remains(t); len(left) != 0 {
		t.Errorf("the cache holds %q, want nothing", left)
	}
}

func TestRetryHeedsRetryAfter(t *testing.T) {
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	reg := newFakeRegistry(t)
	later := func(seconds string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", seconds)
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}
	reg.on(p.docPath(), later("7"), later("100000"), p.doc(reg.URL)).on(p.tarballPath(), p.file())
	f := newFinding(t, reg.URL, nil)
	f.lock = p.locked()
	if _, err := f.Find(t.Context(), Want{}); err != nil {
		t.Fatal(err)
	}
	if len(f.pauses) != 2 || f.pauses[0].Seconds() != 7 || f.pauses[1] != longestPause {
		t.Errorf("waited %v, want 7s and then no more than %v", f.pauses, longestPause)
	}
}

// One downloads, the others wait and take what it made: the fake registry has one answer only.
func TestInstallManyAtOnce(t *testing.T) {
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	reg := newFakeRegistry(t)
	reg.on(p.docPath(), p.doc(reg.URL)).on(p.tarballPath(), p.file())
	f := newFinding(t, reg.URL, nil)
	f.lock = p.locked()
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		from = map[Source]int{}
	)
	for range 8 {
		wg.Go(func() {
			got, err := f.Find(t.Context(), Want{})
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			from[got.Source]++
		})
	}
	wg.Wait()
	if want := map[Source]int{FromInstall: 1, FromCache: 7}; !cmp.Equal(from, want) {
		t.Errorf("found %v, want %v", from, want)
	}
	got, err := f.Find(t.Context(), Want{})
	if err != nil {
		t.Fatal(err)
	}
	checkWhole(t, f, got, FromCache, "lock")
}

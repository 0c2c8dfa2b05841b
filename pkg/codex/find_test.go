package codex

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/recibo-ci/recibo/pkg/fault"
)

func TestFindRefuses(t *testing.T) {
	t.Parallel()
	p := newFakePackage(t, "1.2.3")
	cases := map[string]struct {
		platform, version, words string
		lock                     *packageLock
	}{
		"version":             {version: "latest", words: "exact version"},
		"platform":            {platform: "plan9-x64", words: "plan9-x64"},
		"windows":             {platform: "win32-x64", words: "win32-x64"},
		"platform_not_locked": {platform: thisPlatform(), lock: &packageLock{version: "1.2.3"}, words: "no integrity"},
	}
	for name, c := range cases {
		f := newFinding(t, "", nil)
		f.lock, f.Platform = p.locked(), c.platform
		if c.lock != nil {
			f.lock = c.lock
		}
		got, err := f.Find(t.Context(), Want{Version: c.version})
		if got != nil {
			t.Errorf("%s: found %+v", name, got)
		}
		checkFault(t, err, fault.Request, c.words)
	}
}

func TestPlatforms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ goos, goarch, want, triple string }{
		{"linux", "amd64", "linux-x64", "x86_64-unknown-linux-musl"},
		{"linux", "arm64", "linux-arm64", "aarch64-unknown-linux-musl"},
		{"darwin", "amd64", "darwin-x64", "x86_64-apple-darwin"},
		{"darwin", "arm64", "darwin-arm64", "aarch64-apple-darwin"},
		{"linux", "riscv64", "", ""},
		{"freebsd", "amd64", "freebsd-x64", ""},
	} {
		got := platformOf(c.goos, c.goarch)
		if got != c.want || tripleOf(got) != c.triple {
			t.Errorf("%s/%s: %q, %q; want %q, %q", c.goos, c.goarch, got, tripleOf(got), c.want, c.triple)
		}
	}
}

func TestWithin(t *testing.T) {
	t.Parallel()
	top, other := t.TempDir(), t.TempDir()
	if err := os.Symlink(top, filepath.Join(other, "link")); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{
		top: true, filepath.Join(top, "a", "b"): true, filepath.Join(other, "link", "a"): true, filepath.Join(top, "..", filepath.Base(top), "a"): true,
		other: false, top + "-more": false, filepath.Dir(top): false, filepath.Join(top, ".."): false, "/": false,
	} {
		if got := within(path, top); got != want {
			t.Errorf("within(%q, %q) = %v, want %v", path, top, got, want)
		}
	}
	if within(top, "") {
		t.Error("something lies within no workspace")
	}
}

// The real thing: the pinned release, from the registry this machine's npm client is set to, kept
// in the user's cache, so that only the first run downloads.
func TestFindPinned(t *testing.T) {
	t.Parallel()
	f := Finder{CacheDir: realCache(t), Getenv: os.Getenv, Warn: func(s string) { t.Log(s) }}
	p, err := f.Find(t.Context(), Want{Workspace: t.TempDir()})
	if err != nil {
		t.Fatalf("%v (hint: %s)", err, fault.HintOf(err))
	}
	if p.Version != Pinned() || p.Integrity != "lock" || p.CodeModeHost == "" || p.RG == "" {
		t.Errorf("found %+v, want all of %s, by the lock file", p, Pinned())
	}
	if got, err := askVersion(t.Context(), p.Codex); err != nil || got != Pinned() {
		t.Errorf("it says it is version %q (%v), want %q", got, err, Pinned())
	}
	d, err := p.Digest(t.Context())
	if err != nil || len(d.Programs) != 3 || d.SHA.IsZero() {
		t.Fatalf("Digest: %+v, %v", d, err)
	}
	if err := p.Verify(d); err != nil {
		t.Errorf("Verify: %v", err)
	}
	for _, path := range []string{p.Codex, p.CodeModeHost, p.RG} {
		if !isNative(path) {
			t.Errorf("%s is not a native program", path)
		}
	}
}

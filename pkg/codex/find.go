package codex

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// Finder finds Codex's native programs, and installs them where they are not found. The zero
// value of each field but CacheDir and Getenv is usable. It may be used by many at once, also in
// separate processes.
type Finder struct {
	// ImageDir holds entries that came with a container image: what a Finder that had it for its
	// CacheDir left there. It is never written.
	ImageDir string
	// CacheDir holds one entry a release and platform. It is made when missing.
	CacheDir string
	// RegistryFile holds a registry's URL, for machines on which neither the environment nor an
	// npm client names one.
	RegistryFile string
	// Getenv answers for the environment.
	Getenv func(string) string
	// Platform is what npm calls the machine, such as linux-x64; "" is the one this runs on.
	Platform string
	// HTTP is the client whose Transport reaches the registry; nil makes one that heeds the proxy
	// and certificate variables of the environment.
	HTTP *http.Client
	// Progress is told how many bytes of a package have arrived and how many there are (-1 when
	// that is not known): at the start, every mebibyte, at the end, never from two goroutines at
	// once. A download that starts again starts again from 0.
	Progress func(done, total int64)
	// Warn is told what a person should know although the programs were found.
	Warn func(string)

	// lock replaces the lock file, and pause the waiting, in tests.
	lock  *packageLock
	pause func(context.Context, time.Duration) error
}

// Want is what to find.
type Want struct {
	// Version is an exact version; "" is the pinned one.
	Version string
	// Bin is the path of an installed Codex. When set, that one is used or an error tells why not.
	Bin string
	// Workspace is the directory that a pull request can fill: nothing that runs, and nothing
	// that decides what runs, is taken from below it. "" means that there is none.
	Workspace string
}

// release is one version for one platform.
type release struct {
	version, platform string
	// pinned is the lock file's sum; zero for a version that is not in it.
	pinned tarballSum
}

// id is the release's version in the registry and its name on disk.
func (r release) id() string { return r.version + "-" + r.platform }

// locked says whether the lock file vouches for r, and nothing else may.
func (r release) locked() bool { return r.pinned != tarballSum{} }

// Find returns the programs of the wanted version: those of Want.Bin; else from the image, from
// the cache, or newly installed into the cache. What a person got wrong is of kind
// fault.Request, what the network or the disk did of kind fault.Review.
func (f Finder) Find(ctx context.Context, w Want) (*Programs, error) {
	r, err := f.wanted(w.Version)
	if err != nil {
		return nil, err
	}
	for _, dir := range []*string{&f.CacheDir, &f.ImageDir} {
		if *dir == "" {
			continue
		}
		if *dir, err = filepath.Abs(*dir); err != nil {
			return nil, err
		}
	}
	p, err := f.find(ctx, w, r)
	if err != nil {
		return nil, err
	}
	if p.CodeModeHost == "" {
		f.warn("Codex " + p.Version + " comes without " + nameHost + ": a model that works in code mode can run no command")
	}
	if p.RG == "" {
		f.warn("Codex " + p.Version + " comes without rg: searches will be slower, or fail")
	}
	return p, nil
}

func (f Finder) find(ctx context.Context, w Want, r release) (*Programs, error) {
	if w.Bin != "" {
		return f.findBin(ctx, w, r)
	}
	if f.ImageDir != "" {
		if p := f.openOrWarn(f.ImageDir, r); p != nil {
			p.Source = FromImage
			return p, nil
		}
	}
	if f.CacheDir == "" {
		return nil, fault.New(fault.Request, "set HOME or XDG_CACHE_HOME, or name an installed Codex with codex-bin",
			"find Codex %s: there is no cache directory", r.version)
	}
	if within(f.CacheDir, w.Workspace) {
		return nil, fault.New(fault.Request, "set XDG_CACHE_HOME to a directory outside the workspace",
			"keep Codex in %q: a pull request can put programs there", f.CacheDir)
	}
	if p := f.openOrWarn(f.CacheDir, r); p != nil {
		p.Source = FromCache
		return p, nil
	}
	return f.install(ctx, w, r)
}

// openOrWarn returns the entry of r in dir, or nil. A damaged one is told.
func (f Finder) openOrWarn(dir string, r release) *Programs {
	p, err := openEntry(filepath.Join(dir, r.id()), r)
	if err == nil {
		return p
	}
	if !errors.Is(err, fs.ErrNotExist) {
		f.warn("Codex in " + filepath.Join(dir, r.id()) + " is not used: " + err.Error())
	}
	return nil
}

func (f Finder) wanted(version string) (release, error) {
	lock := f.lock
	if lock == nil {
		l := embeddedLock()
		lock = &l
	}
	if version == "" {
		version = lock.version
	}
	if _, err := ParseVersion(version); err != nil {
		return release{}, err
	}
	platform := f.Platform
	if platform == "" {
		platform = platformOf(runtime.GOOS, runtime.GOARCH)
	}
	if tripleOf(platform) == "" {
		return release{}, fault.New(fault.Request, "run on Linux or macOS, x64 or arm64",
			"find Codex for %s/%s %s: it has no package for that", runtime.GOOS, runtime.GOARCH, platform)
	}
	r := release{version: version, platform: platform}
	if version == lock.version {
		r.pinned = lock.integrity[platform]
		if !r.locked() {
			return release{}, fault.New(fault.Request, "use another codex-version",
				"find Codex %s: the lock file has no integrity for %s", version, platform)
		}
	}
	return r, nil
}

func (f Finder) warn(s string) {
	if f.Warn != nil {
		f.Warn(s)
	}
}

func (f Finder) wait(ctx context.Context, d time.Duration) error {
	if f.pause != nil {
		return f.pause(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// platformOf is npm's name for a machine, or "".
func platformOf(goos, goarch string) string {
	arch := map[string]string{"amd64": "x64", "arm64": "arm64"}[goarch]
	if arch == "" {
		return ""
	}
	return goos + "-" + arch
}

// tripleOf is the directory in the package of a platform under which its programs lie, or "".
func tripleOf(platform string) string {
	return map[string]string{
		"linux-x64":    "x86_64-unknown-linux-musl",
		"linux-arm64":  "aarch64-unknown-linux-musl",
		"darwin-x64":   "x86_64-apple-darwin",
		"darwin-arm64": "aarch64-apple-darwin",
	}[platform]
}

// within says whether path, or what it will be made below, lies in dir: by its name, or with
// symbolic links followed, for a pull request can bring links too. It compares directories, not
// their names: mounts and letter case cannot hide one.
func within(path, dir string) bool {
	if dir == "" {
		return false
	}
	top, err := os.Stat(dir)
	if err != nil {
		return false
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return true
	}
	return below(abs, top) || below(realPath(abs), top)
}

func below(path string, top fs.FileInfo) bool {
	for {
		if info, err := os.Stat(path); err == nil && os.SameFile(info, top) {
			return true
		}
		parent := filepath.Dir(path)
		if parent == path {
			return false
		}
		path = parent
	}
}

// realPath is the absolute path with the symbolic links of the part that exists followed.
func realPath(path string) string {
	for head, tail := path, ""; ; head, tail = filepath.Dir(head), filepath.Join(filepath.Base(head), tail) {
		if real, err := filepath.EvalSymlinks(head); err == nil {
			return filepath.Join(real, tail)
		}
		if head == filepath.Dir(head) {
			return path
		}
	}
}

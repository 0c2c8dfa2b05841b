// Package npmtest installs npm packages that tests read: example payloads, schemas.
//
// It runs none of their scripts, never skips a test, and is not for programs.
package npmtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Install installs what the package.json and package-lock.json in dir name and returns the
// directory that holds node_modules. It lies in the user's cache directory, under a digest of both
// files, so that it is installed once for all tests and runs; nobody may write to it. Tests of
// several packages may call it at once. Without npm, without a registry, or when a package is not
// what the lock file says, the test fails.
func Install(t testing.TB, dir string) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatalf("find a cache directory for npm packages: %v", err)
	}
	installed, err := install(t, filepath.Join(cache, "recibo-test"), dir)
	if err != nil {
		t.Fatalf("install the npm packages of %q: %v", dir, err)
	}
	return installed
}

// manifests are the files that say what is installed.
type manifests struct{ pkg, lock []byte }

func install(t testing.TB, cache, dir string) (string, error) {
	var m manifests
	var err error
	if m.pkg, err = os.ReadFile(filepath.Join(dir, "package.json")); err != nil {
		return "", err
	}
	if m.lock, err = os.ReadFile(filepath.Join(dir, "package-lock.json")); err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d\n%s%s", len(m.pkg), m.pkg, m.lock)
	target := filepath.Join(cache, fmt.Sprintf("npm-%.8x", h.Sum(nil)))
	unlock, err := lockFile(target + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(target); err == nil {
		return target, nil
	}
	return target, m.install(t, target)
}

// install fills a directory beside target and then renames it, so that target is whole or not there.
func (m manifests) install(t testing.TB, target string) (err error) {
	tmp, err := os.MkdirTemp(filepath.Dir(target), filepath.Base(target)+".tmp-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	if err := os.WriteFile(filepath.Join(tmp, "package.json"), m.pkg, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, "package-lock.json"), m.lock, 0o644); err != nil {
		return err
	}
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund",
		"--include=dev", "--include=optional", "--loglevel=error")
	npm.Dir = tmp
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return os.Rename(tmp, target)
}

// lockFile waits for the lock on a file that it makes. The kernel gives it up when the process ends.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %q: %w", path, err), f.Close())
		}
	}
}

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestWriteReplacesWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "a", "b", "file")
	for _, want := range []string{"first", "second, and longer", ""} {
		if err := Write(path, []byte(want), 0o640); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != want {
			t.Errorf("read %q, %v; want %q", got, err, want)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v; want 0640", info.Mode(), err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left beside it: %v, %v", left, err)
	}
}

// A file that cannot be put in place leaves the old one and nothing else.
func TestWriteThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(path, "child"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("x"), 0o644); err == nil {
		t.Error("a directory was replaced")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v; want the directory alone", left, err)
	}
}

// What root writes belongs to whoever owns the place it is written to.
func TestWriteAdoptsTheOwner(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := os.Geteuid()
	if want == 0 {
		want = 1001
		if err := os.Chown(dir, want, want); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, "new", "file")
	if err := Write(path, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Dir(path)} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if got := int(info.Sys().(*syscall.Stat_t).Uid); got != want {
			t.Errorf("%s belongs to %d, want %d", p, got, want)
		}
	}
}

// Each case is something an agent could leave where its result is expected.
func TestReadRefusesTraps(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	traps := map[string]func(dir, path string) error{
		"symlink": func(_, path string) error { return os.Symlink(secret, path) },
		"symlink_inside": func(dir, path string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "x"), nil, 0o600), os.Symlink("x", path))
		},
		"hard_link": func(dir, path string) error {
			return errors.Join(os.WriteFile(filepath.Join(dir, "x"), nil, 0o600), os.Link(filepath.Join(dir, "x"), path))
		},
		"pipe":      func(_, path string) error { return syscall.Mkfifo(path, 0o600) },
		"directory": func(_, path string) error { return os.Mkdir(path, 0o700) },
		"too_large": func(_, path string) error { return os.WriteFile(path, make([]byte, 101), 0o600) },
		"missing":   func(string, string) error { return nil },
	}
	for name, set := range traps {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := set(dir, filepath.Join(dir, "result")); err != nil {
				t.Fatal(err)
			}
			if got, err := Read(dir, "result", 100); err == nil {
				t.Errorf("Read() = %q", got)
			}
		})
	}
	if got, err := Read(filepath.Dir(secret), "../"+filepath.Base(filepath.Dir(secret))+"/secret", 100); err == nil {
		t.Errorf("a name that leaves the root was read: %q", got)
	}
}

func TestReadTakesAnOrdinaryFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	want := strings.Repeat("x", 100)
	if err := os.WriteFile(filepath.Join(dir, "result"), []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(dir, "result", 100); err != nil || string(got) != want {
		t.Errorf("Read() = %d bytes, %v; want 100", len(got), err)
	}
}

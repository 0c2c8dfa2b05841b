package git

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// checkout is a repository that tests make and change with the plain git program.
type checkout struct {
	t   *testing.T
	dir string
	env []string
}

func newCheckout(t *testing.T, initArgs ...string) checkout {
	t.Helper()
	c := checkout{t: t, dir: realTemp(t)}
	c.env = append(plainEnv(t), "GIT_CONFIG_NOSYSTEM=1")
	c.git(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	return c
}

func plainEnv(t *testing.T) []string {
	t.Helper()
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LC_ALL=C",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_AUTHOR_DATE=1700000000 +0000",
		"GIT_COMMITTER_NAME=C", "GIT_COMMITTER_EMAIL=c@example.com", "GIT_COMMITTER_DATE=1700000100 +0000",
		"GIT_ALLOW_PROTOCOL=file",
		// Tests need no repository to survive a crash.
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.fsync", "GIT_CONFIG_VALUE_0=none",
		// Nor one that goes on working in the background.
		"GIT_CONFIG_KEY_1=maintenance.auto", "GIT_CONFIG_VALUE_1=false",
	}
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// try runs the plain git as a person would: no guards, no private directory.
func (c checkout) try(args ...string) (string, error) {
	c.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = c.dir, c.env
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		c.t.Logf("git %q: %v: %s", args, err, exit.Stderr)
	}
	return strings.TrimSuffix(string(out), "\n"), err
}

func (c checkout) git(args ...string) string {
	c.t.Helper()
	out, err := c.try(args...)
	if err != nil {
		c.t.Fatalf("git %q: %v", args, err)
	}
	return out
}

func (c checkout) path(name string) string { return filepath.Join(c.dir, filepath.FromSlash(name)) }

func (c checkout) write(name, content string) {
	c.t.Helper()
	if err := os.MkdirAll(filepath.Dir(c.path(name)), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(c.path(name), []byte(content), 0o644); err != nil {
		c.t.Fatal(err)
	}
}

// script writes an executable through another process: a file that this one has open for writing
// while some other test forks cannot be started (ETXTBSY).
func script(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `cat >"$0" && chmod 755 "$0"`, path)
	cmd.Stdin = strings.NewReader("#!/bin/sh\n" + text + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("write %q: %v: %s", path, err, out)
	}
}

func (c checkout) link(target, name string) {
	c.t.Helper()
	if err := os.MkdirAll(filepath.Dir(c.path(name)), 0o755); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Symlink(target, c.path(name)); err != nil {
		c.t.Fatal(err)
	}
}

// commit adds everything and returns the new commit's id.
func (c checkout) commit(message string) string {
	c.t.Helper()
	c.git("add", "-A")
	c.git("commit", "-q", "--allow-empty", "-m", message)
	return c.git("rev-parse", "HEAD")
}

// blob and tree make objects that no checkout could be made to add.
func (c checkout) blob(content string) string {
	c.t.Helper()
	return c.feed(content, "hash-object", "-w", "--stdin")
}

func (c checkout) feed(stdin string, args ...string) string {
	c.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.dir, c.env, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		c.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// commitTree commits entries "MODE TYPE ID\tPATH" of one folder as they are.
func (c checkout) commitTree(entries ...string) string {
	c.t.Helper()
	tree := c.feed(strings.Join(entries, "\x00")+"\x00", "mktree", "-z", "--missing")
	return c.git("commit-tree", "-m", "made", tree)
}

// copied is the same checkout in a place of its own, for a test to spoil.
func (c checkout) copied(t *testing.T) checkout {
	t.Helper()
	c.t = t
	dir := filepath.Join(realTemp(t), "copy")
	if err := os.CopyFS(dir, os.DirFS(c.dir)); err != nil {
		t.Fatal(err)
	}
	return c.at(dir)
}

func (c checkout) at(dir string) checkout { c.dir = dir; return c }

func (c checkout) open() *Repository {
	c.t.Helper()
	return openAt(c.t, c.dir)
}

func openAt(t *testing.T, dir string) *Repository {
	t.Helper()
	r, err := Open(t.Context(), dir, Options{Scratch: t.TempDir()})
	if err != nil {
		t.Fatalf("Open(%q): %v", dir, err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return r
}

func hintOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Hint()
	}
	return ""
}

// snapshot is every path below dir with its mode, size, time and content: what a promise not to
// write there is held against.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	seen := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		seen[path] = info.Mode().String() + info.ModTime().String()
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			seen[path] += string(data)
		}
		return nil
	})
	if err != nil || len(seen) < 2 {
		t.Fatalf("snapshot %q: %d entries, %v", dir, len(seen), err)
	}
	return seen
}

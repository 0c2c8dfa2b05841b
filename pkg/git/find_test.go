package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpen_finds(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("sub/dir/f", "x")
	head := c.commit("one")
	c.git("worktree", "add", "-q", "--detach", c.dir+"-wt", "HEAD")
	bare := c.dir + "-bare"
	c.git("clone", "-q", "--bare", ".", bare)
	separate := c.dir + "-sep"
	c.git("clone", "-q", "--separate-git-dir", separate+".git", ".", separate)
	link := filepath.Join(realTemp(t), "link")
	if err := os.Symlink(c.path("sub"), link); err != nil {
		t.Fatal(err)
	}
	embedded := c.path("evil")
	c.git("clone", "-q", "--bare", ".", embedded)
	c.write("broken/.git/HEAD", "ref: refs/heads/x\n")
	for _, test := range []struct{ name, dir, top string }{
		{"top", c.dir, c.dir},
		{"folder", c.path("sub/dir"), c.dir},
		{"link_into_it", link, c.dir},
		{"linked_worktree", c.dir + "-wt", c.dir + "-wt"},
		{"bare", bare, ""},
		{"git_file", separate, separate},
		{"bare_repository_in_the_tree", embedded, c.dir},
		{"folder_with_broken_git", c.path("broken"), c.dir},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := openAt(t, test.dir)
			if r.Top() != test.top {
				t.Errorf("Top() = %q, want %q", r.Top(), test.top)
			}
			if got, err := r.Head(t.Context()); got != head || err != nil {
				t.Errorf("Head() = %q, %v, want %q", got, err, head)
			}
		})
	}
}

func TestOpen_refuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		make func(c checkout)
		want string
	}{
		{"nothing", func(c checkout) { os.RemoveAll(c.path(".git")) }, "no .git"},
		{"git_file_to_nowhere", func(c checkout) { c.gitFile("gitdir: nowhere\n") }, "no git directory"},
		{"git_file_of_noise", func(c checkout) { c.gitFile("hello\n") }, "no git file"},
		{"head_of_noise", func(c checkout) { c.write(".git/HEAD", "hello") }, "HEAD"},
		{"unknown_version", func(c checkout) { c.git("config", "core.repositoryFormatVersion", "7") }, "7"},
		{"unknown_extension", func(c checkout) {
			c.git("config", "core.repositoryFormatVersion", "1")
			c.git("config", "extensions.novel", "true")
		}, "novel"},
		{"missing_folder", func(c checkout) { os.RemoveAll(c.dir) }, "no such file"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCheckout(t)
			scratch := t.TempDir()
			test.make(c)
			r, err := Open(t.Context(), c.dir, Options{Scratch: scratch})
			if r != nil || !errors.Is(err, ErrNotRepository) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Open = %v, %v, want ErrNotRepository with %q", r, err, test.want)
			}
			if !strings.Contains(hintOf(err), "actions/checkout") {
				t.Errorf("hint = %q, want actions/checkout", hintOf(err))
			}
			if left, _ := os.ReadDir(scratch); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func (c checkout) gitFile(text string) {
	c.t.Helper()
	if err := os.RemoveAll(c.path(".git")); err != nil {
		c.t.Fatal(err)
	}
	c.write(".git", text)
}

func TestOpen_without_git_program(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	_, err := Open(t.Context(), c.dir, Options{Git: "no-such-program"})
	if err == nil || hintOf(err) != "install git" {
		t.Errorf("Open = %v, hint %q", err, hintOf(err))
	}
}

func TestOpen_reftable(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("f", "x")
	if _, err := c.try("init", "-q", "--ref-format=reftable", c.dir+"-rt"); err != nil {
		// This git cannot read such a repository; then neither can we, and say so.
		c.git("config", "core.repositoryFormatVersion", "1")
		c.git("config", "extensions.refStorage", "reftable")
		r, err := Open(t.Context(), c.dir, Options{Scratch: t.TempDir()})
		if r != nil || err == nil || !strings.Contains(err.Error(), "refstorage") {
			t.Errorf("Open = %v, %v, want an error naming refstorage", r, err)
		}
		return
	}
	rt := c.at(c.dir + "-rt")
	rt.write("f", "x")
	head := rt.commit("one")
	rt.git("tag", "v1")
	rt.git("worktree", "add", "-q", "--detach", rt.dir+"-wt", "HEAD")
	for _, dir := range []string{rt.dir, rt.dir + "-wt"} {
		r := openAt(t, dir)
		if got, err := r.Head(t.Context()); got != head || err != nil {
			t.Errorf("%s: Head() = %q, %v, want %q", dir, got, err, head)
		}
		if got, err := r.Describe(t.Context()); got != "v1" || err != nil {
			t.Errorf("%s: Describe() = %q, %v, want v1", dir, got, err)
		}
	}
}

func FuzzParseGitFile(f *testing.F) {
	f.Add([]byte("gitdir: ../x\n"))
	f.Add([]byte("ref: refs/heads/main\n"))
	f.Add([]byte("0123456789012345678901234567890123456789\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if target, err := parseGitFile(text); err == nil && (target == "" || strings.Contains(target, "\n")) {
			t.Errorf("parseGitFile(%q) = %q", text, target)
		}
		if head, err := parseHead(text); err == nil && !isID(head) && !strings.HasPrefix(head, "ref: refs/") {
			t.Errorf("parseHead(%q) = %q", text, head)
		}
	})
}

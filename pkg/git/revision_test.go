package git

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"
)

func TestCommit_resolves(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("f", "1")
	first := c.commit("one")
	c.git("tag", "-a", "-m", "annotated", "v1")
	c.write("f", "2")
	second := c.commit("two")
	c.git("branch", "topic/x")
	r := c.open()
	for rev, want := range map[string]string{
		"HEAD": second, "main": second, "refs/heads/topic/x": second, "v1": first, "refs/tags/v1": first,
		"HEAD~1": first, "HEAD^": first, first: first, second[:12]: second,
	} {
		if got, err := r.Commit(t.Context(), rev); got != want || err != nil {
			t.Errorf("Commit(%q) = %q, %v, want %q", rev, got, err, want)
		}
	}
	want := c.git("rev-parse", first+"^{tree}")
	if got, err := r.Tree(t.Context(), "v1"); got != want || err != nil {
		t.Errorf("Tree(v1) = %q, %v, want %q", got, err, want)
	}
	if r.ObjectFormat() != "sha1" || r.Shallow() {
		t.Errorf("ObjectFormat, Shallow = %q, %v, want sha1, false", r.ObjectFormat(), r.Shallow())
	}
}

func TestCommit_refuses(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("f", "1")
	c.commit("one")
	r := c.open()
	blob, tree := c.git("rev-parse", "HEAD:f"), c.git("rev-parse", "HEAD^{tree}")
	for rev, want := range map[string]error{
		"": ErrRevision, "-h": ErrRevision, "--output=/tmp/x": ErrRevision, "HEAD..main": ErrRevision,
		"HEAD:f": ErrRevision, ":/one": ErrRevision, "HEAD^{/one}": ErrRevision, "HEAD@{0}": ErrRevision,
		"HEAD\nHEAD": ErrRevision, "a b": ErrRevision, "^HEAD": ErrRevision, "x\x00": ErrRevision,
		strings.Repeat("a", 2000): ErrRevision, tree: ErrRevision,
		blob: ErrMissing, "nope": ErrMissing, strings.Repeat("1", 40): ErrMissing, "HEAD~7": ErrMissing,
	} {
		got, err := r.Commit(t.Context(), rev)
		if got != "" || !errors.Is(err, want) || hintOf(err) == "" {
			t.Errorf("Commit(%q) = %q, %v, hint %q, want %v", rev, got, err, hintOf(err), want)
		}
		if errors.Is(want, ErrMissing) && !strings.Contains(hintOf(err), "fetch-depth: 0") {
			t.Errorf("Commit(%q) hints %q, want fetch-depth: 0", rev, hintOf(err))
		}
	}
}

func TestHead_unborn(t *testing.T) {
	t.Parallel()
	r := newCheckout(t).open()
	if got, err := r.Head(t.Context()); got != "" || !errors.Is(err, ErrUnborn) || hintOf(err) == "" {
		t.Errorf("Head() = %q, %v, want ErrUnborn with a hint", got, err)
	}
	if got, err := r.Describe(t.Context()); got != "" || !errors.Is(err, ErrUnborn) {
		t.Errorf("Describe() = %q, %v, want ErrUnborn", got, err)
	}
}

func TestHead_of_missing_commit(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write(".git/HEAD", strings.Repeat("1", 40)+"\n")
	if got, err := c.open().Head(t.Context()); got != "" || !errors.Is(err, ErrMissing) {
		t.Errorf("Head() = %q, %v, want ErrMissing", got, err)
	}
}

// branched has main and topic, parted after the commit "fork", two commits each.
func branched(t *testing.T) (c checkout, fork string) {
	c = newCheckout(t)
	c.write("f", "0")
	fork = c.commit("fork")
	c.git("checkout", "-q", "-b", "topic")
	for _, name := range []string{"t1", "t2"} {
		c.write(name, name)
		c.commit(name)
	}
	c.git("checkout", "-q", "main")
	for _, name := range []string{"m1", "m2"} {
		c.write(name, name)
		c.commit(name)
	}
	return c, fork
}

func TestMergeBase(t *testing.T) {
	t.Parallel()
	c, fork := branched(t)
	if got, err := c.open().MergeBase(t.Context(), "main", "topic"); got != fork || err != nil {
		t.Errorf("MergeBase = %q, %v, want %q", got, err, fork)
	}
}

func TestMergeBase_none(t *testing.T) {
	t.Parallel()
	c, _ := branched(t)
	shallow := c.at(c.dir + "-shallow")
	c.git("clone", "-q", "--depth=1", "--no-single-branch", "file://"+c.dir, shallow.dir)
	c.git("checkout", "-q", "--orphan", "other")
	c.commit("unrelated")
	for _, test := range []struct {
		name, a, b, text, hint string
		repo                   checkout
	}{
		{"shallow", "origin/main", "origin/topic", "shallow", "fetch-depth: 0", shallow},
		{"unrelated", "main", "other", "unrelated", "rebase", c},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			r := openAt(t, test.repo.dir)
			got, err := r.MergeBase(t.Context(), test.a, test.b)
			if got != "" || !errors.Is(err, ErrNoMergeBase) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("MergeBase = %q, %v, want ErrNoMergeBase, %s", got, err, test.text)
			}
			if !strings.Contains(hintOf(err), test.hint) {
				t.Errorf("hint = %q, want %q", hintOf(err), test.hint)
			}
			if want := test.name == "shallow"; r.Shallow() != want {
				t.Errorf("Shallow() = %v, want %v", r.Shallow(), want)
			}
		})
	}
}

func TestLastCommit(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("prompt *.md", "1")
	c.write("other", "1")
	first := c.commit("one")
	c.write("other", "2")
	c.commit("two")
	r := c.open()
	id, when, err := r.LastCommit(t.Context(), "HEAD", "prompt *.md")
	if id != first || !when.Equal(time.Unix(1700000100, 0)) || err != nil {
		t.Errorf("LastCommit = %q, %v, %v, want %q at 1700000100", id, when, err, first)
	}
	for _, path := range []string{"", "nope", "*", "../f", "/f", ":(glob)**", "a\x00"} {
		id, when, err := r.LastCommit(t.Context(), "HEAD", path)
		if id != "" || !when.IsZero() || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("LastCommit(%q) = %q, %v, %v, want fs.ErrNotExist", path, id, when, err)
		}
	}
}

func TestReplaced_commit_is_not_believed(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("f", "true")
	want := c.commit("one")
	c.write("f", "false")
	other := c.commit("two")
	c.git("replace", want, other)
	if got := c.git("cat-file", "blob", want+":f"); got != "false" {
		t.Fatalf("plain git reads %q, want the replacement: the test shows nothing", got)
	}
	b, err := c.open().Blob(t.Context(), want, "f")
	if string(b.Data) != "true" || err != nil {
		t.Errorf("Blob = %q, %v, want %q", b.Data, err, "true")
	}
}

func TestOwnership_is_not_asked(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("f", "1")
	head := c.commit("one")
	if os.Geteuid() == 0 {
		if err := os.Chown(c.path(".git"), 1001, 1001); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(c.dir, 1001, 1001); err != nil {
			t.Fatal(err)
		}
	}
	// git's own switch for its tests: whatever the user, the repository counts as another's.
	const stranger = "GIT_TEST_ASSUME_DIFFERENT_OWNER=1"
	c.env = append(c.env, stranger)
	if out, err := c.try("rev-parse", "HEAD"); err == nil {
		t.Fatalf("plain git answers %q, want dubious ownership: the test shows nothing", out)
	}
	r := c.open()
	r.program.env = append(r.program.env, stranger)
	if got, err := r.Head(t.Context()); got != head || err != nil {
		t.Errorf("Head() = %q, %v, want %q", got, err, head)
	}
	if got, err := r.Describe(t.Context()); got != head[:7] || err != nil {
		t.Errorf("Describe() = %q, %v, want %q", got, err, head[:7])
	}
	if _, err := r.LayOut(t.Context(), LayOut{Rev: head, Dir: c.dir + "-laid"}); err != nil {
		t.Errorf("LayOut: %v", err)
	}
}

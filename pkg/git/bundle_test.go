package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnbundle(t *testing.T) {
	t.Parallel()
	c, fork := branched(t)
	c.git("tag", "-a", "-m", "x", "v1", fork)
	topic := c.git("rev-parse", "topic")
	file := filepath.Join(t.TempDir(), "it.bundle")
	c.git("bundle", "create", "-q", file, "--all", "HEAD")
	for _, test := range []struct{ name, branch, head string }{
		{"detached", "", "HEAD"},
		{"branch", "work", "work"},
		{"branch_of_the_bundle", "topic", "topic"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			at := c
			at.t = t
			laid, err := Unbundle(t.Context(), Bundle{File: file, Dir: filepath.Join(realTemp(t), "out"), Commit: topic, Branch: test.branch})
			if err != nil {
				t.Fatal(err)
			}
			at = at.at(laid.Dir)
			sameBytes(laid, at)
			for command, want := range map[string]string{
				"rev-parse HEAD": topic, "rev-parse --abbrev-ref HEAD": test.head, "merge-base main HEAD": fork,
				"describe --tags --always --dirty": "v1-2-g" + topic[:7], "fsck --strict --no-progress": "",
			} {
				if got := at.git(strings.Fields(command)...); got != want {
					t.Errorf("git %s = %q, want %q", command, got, want)
				}
			}
			if exact, why, err := at.open().IsTree(t.Context(), topic, nil); exact || !strings.Contains(why, "core.") || err != nil {
				t.Errorf("IsTree = %v, %q, %v", exact, why, err)
			}
		})
	}
}

func TestUnbundle_refuses(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("f", "1")
	head := c.commit("one")
	file := filepath.Join(t.TempDir(), "it.bundle")
	c.git("bundle", "create", "-q", file, "main")
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	cut, noise := filepath.Join(t.TempDir(), "cut"), filepath.Join(t.TempDir(), "noise")
	if errors.Join(os.WriteFile(cut, whole[:len(whole)-10], 0o600), os.WriteFile(noise, []byte("PK\x03\x04"), 0o600)) != nil {
		t.Fatal("cannot write bundles")
	}
	dir := filepath.Join(t.TempDir(), "out")
	for name, b := range map[string]Bundle{
		"cut":            {File: cut, Dir: dir, Commit: head},
		"noise":          {File: noise, Dir: dir, Commit: head},
		"no_file":        {File: file + "x", Dir: dir, Commit: head},
		"missing_commit": {File: file, Dir: dir, Commit: strings.Repeat("1", 40)},
		"option":         {File: file, Dir: dir, Commit: "--all"},
		"branch":         {File: file, Dir: dir, Commit: head, Branch: "../x"},
		"existing":       {File: file, Dir: t.TempDir(), Commit: head},
	} {
		if laid, err := Unbundle(t.Context(), b); err == nil || laid.Dir != "" {
			t.Errorf("%s: Unbundle = %+v, %v, want an error", name, laid, err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: something is left: %v", name, err)
		}
	}
}

func TestUnbundle_SHA256(t *testing.T) {
	t.Parallel()
	c := newCheckout(t, "--object-format=sha256")
	c.write("f", "1")
	head := c.commit("one")
	file := filepath.Join(t.TempDir(), "it.bundle")
	c.git("bundle", "create", "-q", file, "main")
	laid, err := Unbundle(t.Context(), Bundle{File: file, Dir: filepath.Join(realTemp(t), "out"), Commit: head})
	if laid.Commit != head || err != nil {
		t.Errorf("Unbundle = %+v, %v, want %s", laid, err, head)
	}
}

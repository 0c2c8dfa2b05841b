package git

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ask puts every question that this package answers to the checkout.
func (c checkout) ask(rev string) {
	c.t.Helper()
	ctx, r := c.t.Context(), c.open()
	if got, err := r.Head(ctx); got != rev || err != nil {
		c.t.Errorf("Head() = %q, %v, want %q", got, err, rev)
	}
	for name, question := range map[string]func() error{
		"Describe":   func() error { _, err := r.Describe(ctx); return err },
		"HasTags":    func() error { _, err := r.HasTags(ctx); return err },
		"MergeBase":  func() error { _, err := r.MergeBase(ctx, rev, "HEAD"); return err },
		"Blob":       func() error { _, err := r.Blob(ctx, rev, "a.dat"); return err },
		"Files":      func() error { _, err := r.Files(ctx, rev); return err },
		"LastCommit": func() error { _, _, err := r.LastCommit(ctx, rev, "a.dat"); return err },
		"Diff":       func() error { _, err := patch(ctx, r, rev+"~1", rev); return err },
		"Numstat":    func() error { _, err := r.Numstat(ctx, rev+"~1", rev); return err },
		"IsTree":     func() error { _, _, err := r.IsTree(ctx, rev, nil); return err },
		"LayOut": func() error {
			laid, err := r.LayOut(ctx, LayOut{Rev: rev, Dir: filepath.Join(c.t.TempDir(), "laid")})
			if err != nil {
				return err
			}
			_, err = openAt(c.t, laid.Dir).Describe(ctx)
			return err
		},
		"PrivateGitDir": func() error {
			_, err := r.PrivateGitDir(ctx, LayOut{Rev: rev, Dir: filepath.Join(c.t.TempDir(), "git")})
			return err
		},
	} {
		if err := question(); err != nil {
			c.t.Errorf("%s: %v", name, err)
		}
	}
}

func patch(ctx context.Context, r *Repository, between ...string) (string, error) {
	stream, err := r.Diff(ctx, between[0], between[1])
	if err != nil {
		return "", err
	}
	out, err := io.ReadAll(stream)
	return string(out), errors.Join(err, stream.Close())
}

// TestHostile_configuration sets a trap, springs it with plain git, and asks everything through
// this package: the trap must stay unsprung.
func TestHostile_configuration(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		set  func(c checkout, trap string)
		// spring is what a person would type.
		spring []string
	}{
		{"fsmonitor", func(c checkout, trap string) { c.git("config", "core.fsmonitor", trap) }, []string{"status"}},
		{"hook", func(c checkout, trap string) {
			script(c.t, c.path(".git/hooks/post-checkout"), trap)
		}, []string{"checkout", "-q", "HEAD", "."}},
		{"hooks_path", func(c checkout, trap string) {
			script(c.t, c.path("hooks/post-index-change"), trap)
			c.git("config", "core.hooksPath", "hooks")
		}, []string{"reset", "-q"}},
		{"filter_clean", func(c checkout, trap string) { c.git("config", "filter.x.clean", trap+"; cat"); c.age("a.dat") }, []string{"status"}},
		{"filter_process", func(c checkout, trap string) { c.git("config", "filter.x.process", trap); c.age("a.dat") }, []string{"status"}},
		{"filter_smudge", func(c checkout, trap string) {
			c.git("config", "filter.x.smudge", trap+"; cat")
			os.Remove(c.path("a.dat"))
		},
			[]string{"checkout", "-q", "HEAD", "a.dat"}},
		{"textconv", func(c checkout, trap string) { c.git("config", "diff.x.textconv", trap+"; cat") }, []string{"diff", "HEAD~1", "HEAD"}},
		{"diff_driver", func(c checkout, trap string) { c.git("config", "diff.x.command", trap) }, []string{"diff", "HEAD~1", "HEAD"}},
		{"external_diff", func(c checkout, trap string) { c.git("config", "diff.external", trap) }, []string{"diff", "HEAD~1", "HEAD"}},
		{"signature_program", func(c checkout, trap string) {
			c.git("config", "log.showSignature", "true")
			c.git("config", "gpg.program", trap)
			raw := strings.Replace(c.git("cat-file", "commit", "HEAD"), "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n -----END PGP SIGNATURE-----\n\n", 1)
			c.git("reset", "-q", "--soft", c.feed(raw, "hash-object", "-t", "commit", "-w", "--stdin"))
		}, []string{"log", "-1"}},
		{"included_file", func(c checkout, trap string) {
			c.write(".git/more", "[core]\n\tfsmonitor = "+trap+"\n")
			c.git("config", "include.path", "more")
		}, []string{"status"}},
		{"included_when_here", func(c checkout, trap string) {
			c.write(".git/more", "[core]\n\tfsmonitor = "+trap+"\n")
			c.git("config", "includeIf.gitdir:"+c.dir+"/.path", "more")
		}, []string{"status"}},
		{"fsmonitor_and_worktree", func(c checkout, trap string) {
			c.git("config", "core.fsmonitor", trap)
			c.git("config", "core.worktree", c.dir)
		}, []string{"status"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCheckout(t)
			c.write("a.dat", "one\n")
			c.commit("one")
			c.write("a.dat", "two\n")
			c.write(".gitattributes", "*.dat filter=x diff=x\n")
			c.commit("two")
			trap := c.trap()
			test.set(c, trap.command)
			c.try(test.spring...)
			if !trap.sprung() {
				t.Fatal("plain git does not spring the trap: the test shows nothing")
			}
			trap.reset()
			test.set(c, trap.command)
			trap.reset()
			c.ask(c.git("rev-parse", "HEAD"))
			if trap.sprung() {
				t.Error("a question to the repository ran its program")
			}
		})
	}
}

func TestHostile_submodule(t *testing.T) {
	t.Parallel()
	c, sub := withSubmodule(t)
	trap := c.trap()
	// Settings given to the outer git reach the inner one; a filter has no name to override.
	sub.git("config", "filter.x.clean", trap.command+"; cat")
	c.write(".git/modules/lib/info/attributes", "* filter=x\n")
	sub.age("f")
	c.git("describe", "--always", "--dirty")
	if !trap.sprung() {
		t.Fatal("plain git does not spring the trap: the test shows nothing")
	}
	trap.reset()
	sub.write("f", "1") // other times again
	if got, err := c.open().Describe(t.Context()); strings.HasSuffix(got, "dirty") || err != nil {
		t.Errorf("Describe() = %q, %v, want clean", got, err)
	}
	if trap.sprung() {
		t.Error("describe ran the submodule's program")
	}
}

// trap is a program that leaves a mark. It stands for any code an attacker would run.
type trap struct {
	t             *testing.T
	command, mark string
}

func (c checkout) trap() trap {
	c.t.Helper()
	dir := c.t.TempDir()
	tr := trap{t: c.t, command: filepath.Join(dir, "trap.sh"), mark: filepath.Join(dir, "mark")}
	script(c.t, tr.command, "touch "+tr.mark)
	return tr
}

func (tr trap) sprung() bool {
	_, err := os.Stat(tr.mark)
	return err == nil
}

func (tr trap) reset() {
	if err := os.Remove(tr.mark); err != nil && !errors.Is(err, fs.ErrNotExist) {
		tr.t.Fatal(err)
	}
}

// TestUnreadable_included_file is what actions/checkout 6 leaves for whoever is not its user.
func TestUnreadable_included_file(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("f", "1")
	head := c.commit("one")
	// A folder in place of the file is unreadable for root too.
	if err := os.Mkdir(c.path(".git/credentials"), 0o755); err != nil {
		t.Fatal(err)
	}
	c.git("config", "include.path", "credentials")
	if out, err := c.try("rev-parse", "HEAD"); err == nil {
		t.Fatalf("plain git answers %q: the test shows nothing", out)
	}
	r := c.open()
	if got, err := r.Describe(t.Context()); got != head[:7] || err != nil {
		t.Errorf("Describe() = %q, %v, want %q", got, err, head[:7])
	}
	if exact, why, err := r.IsTree(t.Context(), head, nil); exact || !strings.Contains(why, "include.path") || err != nil {
		t.Errorf("IsTree = %v, %q, %v, want no because of include.path", exact, why, err)
	}
}

// TestCore_worktree_elsewhere: configuration must not choose which files are looked at.
func TestCore_worktree_elsewhere(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("f", "1")
	id := c.commit("one")[:7]
	c.git("config", "core.worktree", t.TempDir())
	if got := c.git("describe", "--always", "--dirty"); got != id+"-dirty" {
		t.Fatalf("plain git says %q: the test shows nothing", got)
	}
	if got, err := c.open().Describe(t.Context()); got != id || err != nil {
		t.Errorf("Describe() = %q, %v, want %q", got, err, id)
	}
}

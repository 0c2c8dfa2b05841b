package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// cloned is what actions/checkout leaves with persist-credentials: false.
func cloned(t *testing.T) checkout {
	c := newCheckout(t)
	c.write("f", "one\n")
	c.write("dir/run", "#!/bin/sh\n")
	os.Chmod(c.path("dir/run"), 0o755)
	c.write(".gitignore", "*.log\n")
	c.link("dir/run", "link")
	c.git("add", "-A")
	c.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",lib")
	c.git("commit", "-q", "-m", "one")
	os.Mkdir(c.path("lib"), 0o755)
	c.git("config", "gc.auto", "0")
	c.git("config", "remote.origin.url", "https://github.com/o/r")
	c.git("config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*")
	return c
}

func TestIsTree(t *testing.T) {
	t.Parallel()
	config := func(key, value string) func(checkout) {
		return func(c checkout) { c.git("config", key, value) }
	}
	base := cloned(t)
	for _, test := range []struct {
		name string
		make func(c checkout)
		// why is part of the reason; "" when the tree is exact.
		why string
	}{
		{"exact", func(checkout) {}, ""},
		{"touched", func(c checkout) { c.age("f") }, ""},
		{"own_files", func(c checkout) { c.write(".recibo/review.json", "x"); c.write("usage.json", "x") }, ""},
		{"empty_folder", func(c checkout) { os.MkdirAll(c.path("empty/er"), 0o755) }, ""},
		{"changed", func(c checkout) { c.write("f", "two\n") }, `"f" has other bytes`},
		{"changed_behind_the_index", func(c checkout) {
			info, _ := os.Stat(c.path("f"))
			c.git("config", "core.trustctime", "false")
			c.age("f")
			c.git("add", "f")
			stamp, _ := os.Stat(c.path("f"))
			c.write("f", "two\n")
			os.Chtimes(c.path("f"), time.Time{}, stamp.ModTime())
			if got := c.git("status", "--porcelain"); got != "" || info.Size() != stamp.Size() {
				c.t.Errorf("plain git notices (%q): the test shows nothing", got)
			}
		}, `"f" has other bytes`},
		{"removed", func(c checkout) { os.Remove(c.path("f")) }, "not there"},
		{"untracked", func(c checkout) { c.write("new", "x") }, `"new" is not tracked`},
		{"untracked_in_folder", func(c checkout) { c.write("dir/new", "x") }, `"dir/new" is not tracked`},
		{"ignored_by_git", func(c checkout) { c.write("debug.log", "x") }, `"debug.log" is not tracked`},
		{"beside_own_files", func(c checkout) { c.write(".recibo2", "x") }, `".recibo2" is not tracked`},
		{"mode", func(c checkout) { os.Chmod(c.path("f"), 0o755) }, "mode 100755"},
		{"mode_lost", func(c checkout) { os.Chmod(c.path("dir/run"), 0o644) }, "mode 100644"},
		{"link_retargeted", func(c checkout) { os.Remove(c.path("link")); c.link("f", "link") }, `"link" has other bytes`},
		{"file_for_link", func(c checkout) { os.Remove(c.path("link")); c.write("link", "dir/run") }, "mode 100644, not 120000"},
		{"folder_for_file", func(c checkout) { os.Remove(c.path("f")); c.write("f/g", "x") }, `"f" has mode`},
		{"nested_repository", func(c checkout) { c.git("init", "-q", c.path("nested")) }, `"nested/.git/`},
		{"pipe", func(c checkout) { os.Remove(c.path("f")); pipe(c, "f") }, `"f" has mode`},
		{"submodule_checked_out", func(c checkout) { c.write("lib/f", "x") }, "checked out"},
		{"skip_worktree", func(c checkout) { c.git("update-index", "--skip-worktree", "f") }, `marked "S"`},
		{"assume_unchanged", func(c checkout) { c.git("update-index", "--assume-unchanged", "f") }, `marked "h"`},
		{"split_index", func(c checkout) { c.git("update-index", "--split-index") }, `"sharedindex.`},
		{"line_ends", func(c checkout) { c.write("f", "one\r\n") }, `"f" has other bytes`},
		{"extra_header", config("http.https://github.com/.extraheader", "AUTHORIZATION: basic x"), "extraheader"},
		{"helper", config("credential.helper", "store"), "credential.helper"},
		{"include", config("include.path", "/tmp/x"), "include.path"},
		{"include_if", config("includeIf.gitdir:/github/.path", "/tmp/x"), "includeif"},
		{"rewritten_address", config("url.https://x:tok@github.com/.insteadOf", "https://github.com/"), "insteadof"},
		{"token_in_address", config("remote.origin.url", "https://x-access-token:tok@github.com/o/r"), "remote.origin.url"},
		{"token_in_push_address", config("remote.origin.pushurl", "https://tok@github.com/o/r"), "remote.origin.pushurl"},
		{"token_in_branch", config("branch.main.remote", "https://tok@github.com/o/r"), "branch.main.remote"},
		{"ssh_account", config("remote.origin.url", "ssh://git@github.com/o/r"), ""},
		{"scp_address", config("remote.origin.url", "git@github.com:o/r"), ""},
		{"ssh_command", config("core.sshCommand", "ssh -i key"), "core.sshcommand"},
		{"file_in_git", func(c checkout) { c.write(".git/credentials", "x") }, `"credentials"`},
		{"submodule_repository", func(c checkout) { c.write(".git/modules/lib/config", "x") }, `"modules"`},
		{"no_index", func(c checkout) { os.Remove(c.path(".git/index")) }, "index"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := base.copied(t)
			test.make(c)
			exact, why, err := c.open().IsTree(t.Context(), "HEAD", []string{".recibo/", "usage.json"})
			if err != nil || exact != (test.why == "") || !strings.Contains(why, test.why) || exact && why != "" {
				t.Errorf("IsTree = %v, %q, %v, want %q", exact, why, err, test.why)
			}
		})
	}
}

func pipe(c checkout, name string) {
	c.t.Helper()
	if out, err := exec.Command("mkfifo", c.path(name)).CombinedOutput(); err != nil {
		c.t.Fatalf("mkfifo: %v: %s", err, out)
	}
}

func TestIsTree_other_commit(t *testing.T) {
	t.Parallel()
	c := cloned(t)
	c.write("f", "two\n")
	c.commit("two")
	r := c.open()
	for rev, want := range map[string]bool{"HEAD": true, "HEAD~1": false} {
		if exact, why, err := r.IsTree(t.Context(), rev, nil); exact != want || err != nil {
			t.Errorf("IsTree(%s) = %v, %q, %v, want %v", rev, exact, why, err, want)
		}
	}
}

func TestIsTree_filtered_files(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	withFilter(c, "x", "tr A-Z a-z", "tr a-z A-Z")
	c.write("a.dat", "ABC")
	c.commit("one")
	for _, key := range []string{"clean", "smudge", "required"} {
		c.git("config", "--unset", "filter.x."+key)
	}
	if exact, why, err := c.open().IsTree(t.Context(), "HEAD", nil); exact || !strings.Contains(why, "a.dat") || err != nil {
		t.Errorf("IsTree = %v, %q, %v, want no because of a.dat", exact, why, err)
	}
}

func TestPrivateGitDir(t *testing.T) {
	t.Parallel()
	c := cloned(t)
	head := c.git("rev-parse", "HEAD")
	c.git("config", "http.extraheader", "secret")
	before := snapshot(t, c.dir)
	dir := filepath.Join(realTemp(t), "git")
	laid, err := c.open().PrivateGitDir(t.Context(), LayOut{Rev: head, Dir: dir, Refs: map[string]string{"refs/heads/base": head}})
	if err != nil {
		t.Fatal(err)
	}
	want := Laid{
		Commit: head, Tree: c.git("rev-parse", "HEAD^{tree}"), Dir: c.dir, GitDir: dir, Files: 5,
		Objects: []string{c.path(".git/objects")}, Submodules: []string{"lib"},
	}
	if diff := cmp.Diff(want, laid); diff != "" {
		t.Errorf("Laid (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, snapshot(t, c.dir)); diff != "" {
		t.Errorf("PrivateGitDir wrote into the checkout:\n%s", diff)
	}
	at := c
	at.env = append(at.env, "GIT_DIR="+dir)
	// Before anything refreshes it, the index knows the files already.
	if got := at.git("diff-files", "--name-only"); got != "" {
		t.Errorf("diff-files = %q, want nothing", got)
	}
	for command, want := range map[string]string{
		"status --porcelain": "", "rev-parse HEAD base": head + "\n" + head, "rev-parse --show-toplevel": c.dir,
		"config --get http.extraheader": "", "log --format=%s": "one",
	} {
		got, err := at.try(strings.Fields(command)...)
		if got != want || err != nil && want != "" {
			t.Errorf("git %s = %q, %v, want %q", command, got, err, want)
		}
	}
	if _, err := c.open().PrivateGitDir(t.Context(), LayOut{Rev: head, Dir: dir}); err == nil || !isDir(dir) {
		t.Errorf("PrivateGitDir over an existing one = %v, want an error and the directory kept", err)
	}
}

func TestPrivateGitDir_after_conflict_and_split(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("f", "1\n")
	c.commit("one")
	conflict(c)
	c.git("update-index", "--split-index")
	dir := filepath.Join(realTemp(t), "git")
	if _, err := c.open().PrivateGitDir(t.Context(), LayOut{Rev: "HEAD", Dir: dir}); err != nil {
		t.Fatal(err)
	}
	c.env = append(c.env, "GIT_DIR="+dir)
	if got := c.git("status", "--porcelain"); got != " M f" {
		t.Errorf("status = %q, want the file that holds the conflict as changed", got)
	}
}

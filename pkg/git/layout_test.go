package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// layOut lays rev out beside c and gives both what came of it and a plain view of it.
func (c checkout) layOut(rev string) (Laid, checkout) {
	c.t.Helper()
	laid, err := c.open().LayOut(c.t.Context(), LayOut{Rev: rev, Dir: filepath.Join(realTemp(c.t), "laid")})
	if err != nil {
		c.t.Fatalf("LayOut(%q): %v", rev, err)
	}
	return laid, c.at(laid.Dir)
}

// sameBytes holds every file on disk against its blob, and finds files that have none.
func sameBytes(laid Laid, c checkout) {
	c.t.Helper()
	files, err := openAt(c.t, laid.Dir).Files(c.t.Context(), "HEAD")
	if err != nil || len(files) == 0 || len(files) != laid.Files {
		c.t.Fatalf("Files = %d, %v, want %d, more than none", len(files), err, laid.Files)
	}
	left := map[string]bool{}
	for _, link := range laid.Refused {
		left[link.Path] = true
	}
	for _, e := range files {
		info, err := os.Lstat(c.path(e.Path))
		if left[e.Path] {
			if !errors.Is(err, fs.ErrNotExist) {
				c.t.Errorf("%q: refused, but on disk: %v", e.Path, err)
			}
			continue
		}
		if err != nil {
			c.t.Errorf("%q: %v", e.Path, err)
			continue
		}
		if e.Mode == Submodule {
			continue
		}
		if got := modeOf(info.Mode()); got != e.Mode {
			c.t.Errorf("%q: mode %v, want %v", e.Path, got, e.Mode)
		}
		if e.Mode == Symlink {
			continue
		}
		if got := c.git("hash-object", "--no-filters", "--", c.path(e.Path)); got != e.ID {
			c.t.Errorf("%q: blob %s on disk, want %s", e.Path, got, e.ID)
		}
	}
	if got := c.git("status", "--porcelain", "--ignored"); got != "" {
		c.t.Errorf("status = %q, want clean", got)
	}
}

func TestLayOut_odd_names_and_kinds(t *testing.T) {
	t.Parallel()
	c := oddCheckout(t)
	c.write("run", "#!/bin/sh\n")
	os.Chmod(c.path("run"), 0o755)
	c.link("run", "dir/../link")
	c.write("Case", "upper")
	c.write("case", "lower")
	c.git("add", "-A")
	c.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",lib/sub")
	c.git("commit", "-q", "-m", "kinds")
	before := snapshot(t, c.dir)
	laid, at := c.layOut("HEAD")
	sameBytes(laid, at)
	if diff := cmp.Diff([]string{"lib/sub"}, laid.Submodules); diff != "" {
		t.Errorf("submodules (-want +got):\n%s", diff)
	}
	if inside, err := os.ReadDir(at.path("lib/sub")); err != nil || len(inside) != 0 {
		t.Errorf("submodule holds %v, %v, want an empty directory", inside, err)
	}
	if diff := cmp.Diff(before, snapshot(t, c.dir)); diff != "" {
		t.Errorf("LayOut wrote into the checkout:\n%s", diff)
	}
}

// TestLayOut_converts_nothing: attributes and filters ask for other bytes, and plain git obeys.
func TestLayOut_converts_nothing(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("crlf.txt", "a\nb\n")
	c.write("id.txt", "$Id$\n")
	c.write("utf16.txt", "ä\n")
	c.write("x.dat", "pointer\n")
	c.write("mixed.txt", "a\r\nb\n")
	c.commit("bytes")
	c.write(".gitattributes", "crlf.txt eol=crlf\nid.txt ident\nutf16.txt working-tree-encoding=UTF-16\n*.dat filter=x\nmixed.txt text\n")
	c.git("add", ".gitattributes")
	c.git("commit", "-q", "-m", "attributes")
	c.git("config", "filter.x.smudge", "tr a-z A-Z")
	c.git("worktree", "add", "-q", c.dir+"-plain")
	for _, name := range []string{"crlf.txt", "id.txt", "utf16.txt", "x.dat"} {
		plain, err := os.ReadFile(filepath.Join(c.dir+"-plain", name))
		if blob := c.git("cat-file", "blob", "HEAD:"+name) + "\n"; err != nil || string(plain) == blob {
			t.Errorf("plain git writes %q as it is, %v: the test shows nothing", name, err)
		}
	}
	laid, at := c.layOut("HEAD")
	sameBytes(laid, at)
}

func TestLayOut_history_works(t *testing.T) {
	t.Parallel()
	c, fork := branched(t)
	laid, err := c.open().LayOut(t.Context(), LayOut{
		Rev: "topic", Dir: c.dir + "-laid",
		Refs: map[string]string{"refs/heads/base": "main", "refs/recibo/merge-base": fork},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := c.at(laid.Dir)
	for command, want := range map[string]string{
		"rev-parse HEAD":                             c.git("rev-parse", "topic"),
		"rev-parse base":                             c.git("rev-parse", "main"),
		"rev-parse refs/recibo/merge-base":           fork,
		"merge-base base HEAD":                       fork,
		"log --format=%s":                            "t2\nt1\nfork",
		"log --format=%s base..":                     "t2\nt1",
		"diff --stat --summary base...HEAD -- t1":    c.git("diff", "--stat", "--summary", "main...topic", "--", "t1"),
		"blame -s -l t1":                             c.git("blame", "-s", "-l", "topic", "--", "t1"),
		"grep -c t1":                                 "t1:1",
		"show HEAD:t2":                               "t2",
		"status --porcelain":                         "",
		"for-each-ref --format=%(refname)":           "refs/heads/base\nrefs/recibo/merge-base",
		"rev-parse --abbrev-ref HEAD":                "HEAD",
		"config --get-regexp ^(remote|http|include)": "",
	} {
		got, err := at.try(strings.Fields(command)...)
		if got != want || err != nil && want != "" {
			t.Errorf("git %s = %q, %v, want %q", command, got, err, want)
		}
	}
	if diff := cmp.Diff([]string{c.path(".git/objects")}, laid.Objects); diff != "" {
		t.Errorf("Objects (-want +got):\n%s", diff)
	}
	if laid.Commit != c.git("rev-parse", "topic") || laid.Tree != c.git("rev-parse", "topic^{tree}") || laid.GitDir != at.path(".git") {
		t.Errorf("Laid = %+v", laid)
	}
}

// TestLayOut_sources lays out of every kind of clone.
func TestLayOut_sources(t *testing.T) {
	t.Parallel()
	c, _ := branched(t)
	shallow, worktree, shared := c.at(c.dir+"-shallow"), c.at(c.dir+"-wt"), c.at(c.dir+"-shared")
	bare := c.at(c.dir + "-bare")
	c.git("clone", "-q", "--depth=2", "--branch=topic", "file://"+c.dir, shallow.dir)
	c.git("worktree", "add", "-q", worktree.dir, "topic")
	c.git("clone", "-q", "--shared", c.dir, c.dir+"-first \"odd\"")
	c.git("-C", c.dir+"-first \"odd\"", "branch", "topic", "origin/topic")
	c.git("clone", "-q", "--shared", "--branch=topic", c.dir+"-first \"odd\"", shared.dir)
	c.git("clone", "-q", "--bare", c.dir, bare.dir)
	odd := c.at(c.dir + "-new\nline \"\\")
	c.git("clone", "-q", "--branch=topic", c.dir, odd.dir)
	for _, test := range []struct {
		name, log string
		from      checkout
		objects   int
	}{
		{"shallow", "t2\nt1", shallow, 1},
		{"linked_worktree", "t2\nt1\nfork", worktree, 1},
		{"borrowed_objects", "t2\nt1\nfork", shared, 3},
		{"bare", "t2\nt1\nfork", bare, 1},
		{"odd_path", "t2\nt1\nfork", odd, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.from.t = t
			rev := map[string]string{"bare": "topic"}[test.name]
			if rev == "" {
				rev = "HEAD"
			}
			before := snapshot(t, test.from.dir)
			laid, at := test.from.layOut(rev)
			sameBytes(laid, at)
			if got := at.git("log", "--format=%s"); got != test.log {
				t.Errorf("log = %q, want %q", got, test.log)
			}
			if len(laid.Objects) != test.objects {
				t.Errorf("Objects = %q, want %d", laid.Objects, test.objects)
			}
			if diff := cmp.Diff(before, snapshot(t, test.from.dir)); diff != "" {
				t.Errorf("LayOut wrote into the source:\n%s", diff)
			}
		})
	}
}

func TestLayOut_links(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("dir/sub/f", "x")
	good := map[string]string{
		"ok": "dir/sub/f", "dir/up": "../dir/sub", "dir/sub/top": "../..", "dangling": "nowhere", "dots": "./dir/./sub",
		"via_up": "dir/up/f", "back": "dir/sub/top/ok", "odd": ".gitignore/..x",
	}
	bad := map[string]string{
		"absolute": "/etc/passwd", "climb": "../x", "dir/climb": "../../x", "deep": "dir/../../x", "config": ".git/config",
		"dir/config": "../.git", "upper": ".GIT/config", "short": "git~1/config", "ignorable": ".g\u200cit/config",
		"chain": "dir/sub/top/..", "chain2": "chain", "through": "nowhere/../../x", "dir/abs": "../absolute", "loop": "loop",
		"round": "round2", "round2": "round", "case": "DIR/SUB/TOP/..", "via_climb": "climb/x", "submodule": "lib/.git/config",
	}
	for name, target := range good {
		c.link(target, name)
	}
	for name, target := range bad {
		c.link(target, name)
	}
	c.commit("links")
	laid, at := c.layOut("HEAD")
	var refused []string
	for _, link := range laid.Refused {
		refused = append(refused, link.Path)
		if link.Target != bad[link.Path] || link.Why == "" {
			t.Errorf("refused %+v, want target %q and why", link, bad[link.Path])
		}
	}
	want := []string{}
	for name := range bad {
		want = append(want, name)
	}
	slices.Sort(want)
	slices.Sort(refused)
	if diff := cmp.Diff(want, refused); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
	for name, target := range good {
		if got, err := os.Readlink(at.path(name)); got != target || err != nil {
			t.Errorf("%q leads to %q, %v, want %q", name, got, err, target)
		}
	}
	sameBytes(laid, at)
	if exact, why, err := c.open().IsTree(t.Context(), "HEAD", nil); exact || !strings.Contains(why, "link") || err != nil {
		t.Errorf("IsTree = %v, %q, %v, want no because of a link", exact, why, err)
	}
}

// TestLayOut_link_without_target has targets that no system call would take.
func TestLayOut_link_without_target(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	var entries []string
	for i, target := range []string{"", "a\x00b", strings.Repeat("x", 5000), strings.Repeat("x/", 1<<20)} {
		entries = append(entries, fmt.Sprintf("120000 blob %s\tlink%d", c.blob(target), i))
	}
	laid, at := c.layOut(c.commitTree(append(entries, "100644 blob "+c.blob("x")+"\tf")...))
	if len(laid.Refused) != len(entries) {
		t.Errorf("refused %d links, want %d", len(laid.Refused), len(entries))
	}
	sameBytes(laid, at)
}

func TestLayOut_refuses_paths(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	blob := c.blob("evil")
	inner := c.feed("100644 blob "+blob+"\tconfig\x00", "mktree", "-z")
	for name, entry := range map[string]string{
		"git":          "040000 tree " + inner + "\t.git",
		"upper":        "040000 tree " + inner + "\t.GIT",
		"short_name":   "040000 tree " + inner + "\tgit~1",
		"ignorable":    "040000 tree " + inner + "\t.g\u200cit",
		"dot_dot":      "040000 tree " + inner + "\t..",
		"dot":          "040000 tree " + inner + "\t.",
		"file":         "100644 blob " + blob + "\t.git",
		"modules_link": "120000 blob " + blob + "\t.gitmodules",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := c
			at.t = t
			rev := at.commitTree(entry)
			dir := filepath.Join(realTemp(t), "laid")
			laid, err := at.open().LayOut(t.Context(), LayOut{Rev: rev, Dir: dir})
			if laid.Dir != "" || !errors.Is(err, ErrPath) || hintOf(err) == "" {
				t.Errorf("LayOut = %+v, %v, want ErrPath with a hint", laid, err)
			}
			if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("something is left at %q: %v", dir, err)
			}
		})
	}
}

func TestLayOut_refuses_requests(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("f", "x")
	head := c.commit("one")
	r := c.open()
	free := filepath.Join(t.TempDir(), "laid")
	for name, test := range map[string]struct {
		want LayOut
		is   error
	}{
		"existing":       {LayOut{Rev: head, Dir: t.TempDir()}, fs.ErrExist},
		"no_parent":      {LayOut{Rev: head, Dir: filepath.Join(free, "x", "y")}, fs.ErrNotExist},
		"missing_commit": {LayOut{Rev: strings.Repeat("1", 40), Dir: free}, ErrMissing},
		"option":         {LayOut{Rev: "--all", Dir: free}, ErrRevision},
		"ref_outside":    {LayOut{Rev: head, Dir: free, Refs: map[string]string{"HEAD": head}}, ErrRevision},
		"ref_climbing":   {LayOut{Rev: head, Dir: free, Refs: map[string]string{"refs/../x": head}}, ErrRevision},
		"ref_two_lines":  {LayOut{Rev: head, Dir: free, Refs: map[string]string{"refs/heads/x\ny": head}}, ErrRevision},
		"ref_to_nothing": {LayOut{Rev: head, Dir: free, Refs: map[string]string{"refs/heads/x": "nope"}}, ErrMissing},
	} {
		laid, err := r.LayOut(t.Context(), test.want)
		if laid.Dir != "" || !errors.Is(err, test.is) {
			t.Errorf("%s: LayOut = %+v, %v, want %v", name, laid, err, test.is)
		}
		if _, err := os.Lstat(free); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: something is left: %v", name, err)
		}
	}
}

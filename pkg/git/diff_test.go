package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// changed is a checkout of two commits whose diff has a rename, a copy, a far change in one file,
// moved blocks, a submodule, names to quote and a text that attributes can call binary.
func changed(t *testing.T) checkout {
	c := newCheckout(t)
	body := numbered(1, 60)
	c.write("old name.txt", body)
	c.write("near.txt", body)
	c.write("source.txt", numbered(100, 160))
	c.write("a.dat", "text\n")
	c.write("indent.c", "/**\n * one\n */\nfoo();\n\n/**\n * two\n */\nbar();\n")
	c.write("words.txt", "x\n")
	c.gitlink("1")
	c.git("commit", "-q", "-m", "base")
	c.git("mv", "old name.txt", "new\tname ü.txt")
	c.write("new\tname ü.txt", strings.Replace(body, "line 30\n", "line thirty\n", 1))
	c.write("near.txt", strings.NewReplacer("line 10\n", "line ten\n", "line 17\n", "line 17\nmore\n").Replace(body))
	c.write("source.txt", numbered(100, 160)+"end\n")
	c.write("copy.txt", numbered(100, 160))
	c.write("a.dat", "text\nmore\n")
	c.write("indent.c", "/**\n * one\n */\nfoo();\n\n/**\n * new\n */\nbaz();\n\n/**\n * two\n */\nbar();\n")
	c.write("bin", "a\x00b")
	c.write("dir/z", "1\n")
	c.write("words.txt", "x \n")
	c.gitlink("2")
	c.git("commit", "-q", "-m", "head")
	return c
}

// gitlink stages everything and a submodule entry at an id of that digit.
func (c checkout) gitlink(digit string) {
	c.t.Helper()
	c.git("add", "-A")
	c.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat(digit, 40)+",sub")
}

func numbered(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "line %d\n", i)
	}
	return b.String()
}

// plainDiff is what a person without any configuration sees, ids in full.
func (c checkout) plainDiff() string {
	c.t.Helper()
	return c.git("diff", "--full-index", "HEAD~1", "HEAD") + "\n"
}

func TestDiff_equals_git(t *testing.T) {
	t.Parallel()
	c := changed(t)
	want := c.plainDiff()
	for _, part := range []string{
		"rename from old name.txt\nrename to \"new\\tname \\303\\274.txt\"", "Binary files /dev/null and b/bin differ",
		"-Subproject commit 1111111111111111111111111111111111111111\n+Subproject commit 2222222222222222222222222222222222222222",
	} {
		if !strings.Contains(want, part) {
			t.Fatalf("plain diff lacks %q:\n%s", part, want)
		}
	}
	got, err := patch(t.Context(), c.open(), "HEAD~1", "HEAD")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("Diff: %v (-want +got):\n%s", err, diff)
	}
}

// TestDiff_configuration changes the plain diff in every way a configuration can.
func TestDiff_configuration(t *testing.T) {
	t.Parallel()
	set := func(key, value string) func(checkout) {
		return func(c checkout) { c.git("config", key, value) }
	}
	base := changed(t)
	want := base.plainDiff()
	for name, change := range map[string]func(c checkout){
		"no_renames":       set("diff.renames", "false"),
		"copies":           set("diff.renames", "copies"),
		"no_prefix":        set("diff.noprefix", "true"),
		"mnemonic_prefix":  set("diff.mnemonicPrefix", "true"),
		"context":          set("diff.context", "1"),
		"inter_hunk":       set("diff.interHunkContext", "10"),
		"algorithm":        set("diff.algorithm", "patience"),
		"indent_heuristic": set("diff.indentHeuristic", "false"),
		"color":            set("color.ui", "always"),
		"quote_path":       set("core.quotePath", "false"),
		"submodule_log":    set("diff.submodule", "log"),
		"ignore_submodule": set("diff.ignoreSubmodules", "all"),
		"order_file": func(c checkout) {
			c.write(".git/order", "words.txt\n")
			c.git("config", "diff.orderFile", c.path(".git/order"))
		},
		"relative":        func(c checkout) { c.git("config", "diff.relative", "true") },
		"external":        set("diff.external", "echo"),
		"word_regex":      set("diff.wordRegex", "."),
		"rename_limit":    set("diff.renameLimit", "1"),
		"whitespace":      set("core.whitespace", "trailing-space"),
		"info_attributes": func(c checkout) { c.write(".git/info/attributes", "*.dat -diff\n") },
		"tree_attributes": func(c checkout) { c.write(".gitattributes", "*.dat -diff\n") },
		"attributes_file": func(c checkout) {
			c.write(".git/attr", "*.dat binary\n")
			c.git("config", "core.attributesFile", c.path(".git/attr"))
		},
		"textconv": func(c checkout) {
			c.write(".git/info/attributes", "*.dat diff=x\n")
			c.git("config", "diff.x.textconv", "sed s/text/TEXT/")
		},
		"driver_is_binary": func(c checkout) {
			c.write(".git/info/attributes", "*.dat diff=x\n")
			c.git("config", "diff.x.binary", "true")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := base.copied(t)
			change(c)
			// These need more than a key to show; they are here for the second half alone.
			quiet := map[string]bool{"word_regex": true, "mnemonic_prefix": true, "relative": true, "whitespace": true, "algorithm": true, "rename_limit": true}
			if got, _ := c.try("diff", "--full-index", "HEAD~1", "HEAD"); got+"\n" == want && !quiet[name] {
				t.Fatal("plain git shows the same diff: the test shows nothing")
			}
			got, err := patch(t.Context(), c.open(), "HEAD~1", "HEAD")
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("Diff: %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// TestDiff_committed_attributes: what a pull request says about its files hides nothing.
func TestDiff_committed_attributes(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("a.dat", "text\n")
	c.commit("base")
	c.write("a.dat", "text\nevil\n")
	c.write(".gitattributes", "* -diff\n*.dat binary\n")
	c.commit("head")
	if plain := c.plainDiff(); strings.Contains(plain, "+evil") {
		t.Fatalf("plain git shows the line: the test shows nothing\n%s", plain)
	}
	r := c.open()
	got, err := patch(t.Context(), r, "HEAD~1", "HEAD")
	if !strings.Contains(got, "\n text\n+evil\n") || err != nil {
		t.Errorf("Diff hides the line, %v:\n%s", err, got)
	}
	laid, err := r.LayOut(t.Context(), LayOut{Rev: "HEAD", Dir: c.dir + "-laid"})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.at(laid.Dir).git("show", "HEAD"); !strings.Contains(got, "+evil") {
		t.Errorf("git show in the tree laid out hides the line:\n%s", got)
	}
}

// TestDiff_many_renames has more of them than git's default limit lets it look for.
func TestDiff_many_renames(t *testing.T) {
	t.Parallel()
	const files = 1100
	c := newCheckout(t)
	var history strings.Builder
	for commit, format := range []string{"old/%04d", "new/renamed%04d"} {
		fmt.Fprintf(&history, "commit refs/heads/main\ncommitter C <c@example.com> 1700000000 +0000\ndata 0\ndeleteall\n")
		for i := range files {
			body := numbered(i*1000, i*1000+9) + strings.Repeat("more\n", commit)
			fmt.Fprintf(&history, "M 100644 inline "+format+"\ndata %d\n%s\n", i, len(body), body)
		}
	}
	c.feed(history.String(), "fast-import", "--quiet")
	r := c.open()
	changes, err := r.Numstat(t.Context(), "HEAD~1", "HEAD")
	if err != nil || len(changes) != files {
		t.Fatalf("Numstat = %d changes, %v, want %d", len(changes), err, files)
	}
	for i, got := range changes {
		want := Change{Path: fmt.Sprintf("new/renamed%04d", i), OldPath: fmt.Sprintf("old/%04d", i), Added: 1}
		if got != want {
			t.Fatalf("change %d = %+v, want %+v", i, got, want)
		}
	}
	if plain := strings.Count(c.git("diff", "--summary", "HEAD~1", "HEAD"), " rename "); plain == files {
		t.Errorf("plain git finds all %d renames: the test shows nothing", plain)
	}
	got, err := patch(t.Context(), r, "HEAD~1", "HEAD")
	if n := strings.Count(got, "\nrename from "); n != files || err != nil {
		t.Errorf("Diff has %d renames, %v, want %d", n, err, files)
	}
}

func TestNumstat(t *testing.T) {
	t.Parallel()
	got, err := changed(t).open().Numstat(t.Context(), "HEAD~1", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{
		{Path: "a.dat", OldPath: "a.dat", Added: 1},
		{Path: "bin", OldPath: "bin", Binary: true},
		{Path: "copy.txt", OldPath: "copy.txt", Added: 61},
		{Path: "dir/z", OldPath: "dir/z", Added: 1},
		{Path: "indent.c", OldPath: "indent.c", Added: 5},
		{Path: "near.txt", OldPath: "near.txt", Added: 2, Removed: 1},
		{Path: "new\tname ü.txt", OldPath: "old name.txt", Added: 1, Removed: 1},
		{Path: "source.txt", OldPath: "source.txt", Added: 1},
		{Path: "sub", OldPath: "sub", Added: 1, Removed: 1},
		{Path: "words.txt", OldPath: "words.txt", Added: 1, Removed: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Numstat (-want +got):\n%s", diff)
	}
}

func TestDiff_missing_blob_is_an_error(t *testing.T) {
	t.Parallel()
	c, clone := partial(t)
	c.write("f", "more")
	c.commit("two")
	clone.git("fetch", "-q", "--filter=blob:none")
	got, err := patch(t.Context(), clone.open(), "origin/main~1", "origin/main")
	if !errors.Is(err, ErrMissing) || hintOf(err) == "" {
		t.Errorf("Diff = %q, %v, want ErrMissing", got, err)
	}
}

func TestDiff_closed_early(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.commit("base")
	c.write("large", strings.Repeat("some line\n", 1<<20))
	c.commit("head")
	stream, err := c.open().Diff(t.Context(), "HEAD~1", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(stream, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	if err := stream.Close(); err != nil {
		t.Errorf("Close = %v, want nil", err)
	}
	if n, err := io.Copy(io.Discard, stream); err == nil {
		t.Errorf("read %d bytes after Close without an error", n)
	}
}

func TestDiff_cancelled(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.commit("base")
	c.write("large", strings.Repeat("some line\n", 1<<20))
	c.commit("head")
	r := c.open()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	stream, err := r.Diff(ctx, "HEAD~1", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	cancel(why)
	if _, err := io.Copy(io.Discard, stream); !errors.Is(err, why) {
		t.Errorf("read = %v, want the cause", err)
	}
	ctx, stop := context.WithTimeout(t.Context(), -time.Second)
	defer stop()
	if _, err := r.Head(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Head after the deadline = %v, want DeadlineExceeded", err)
	}
}

func FuzzParseNumstat(f *testing.F) {
	f.Add("1\t2\ta b\x00-\t-\tbin\x001\t1\t\x00old\x00new\x00")
	f.Add("1\t2\t\x00old\x00")
	f.Fuzz(func(t *testing.T, text string) {
		changes, err := parseNumstat(text)
		for _, c := range changes {
			if err == nil && (c.Path == "" || c.OldPath == "" || c.Added < 0 || c.Removed < 0) {
				t.Errorf("parseNumstat(%q) has %+v", text, c)
			}
		}
	})
}

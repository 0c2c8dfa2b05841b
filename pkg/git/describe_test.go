package git

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// age sets the times of a file back, so that git does not take it for written beside the index.
func (c checkout) age(names ...string) {
	c.t.Helper()
	for _, name := range names {
		at := time.Now().Add(-time.Hour)
		if err := os.Chtimes(c.path(name), at, at); err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestDescribe_equals_git compares with what a person's git prints in the same checkout.
func TestDescribe_equals_git(t *testing.T) {
	t.Parallel()
	base := newCheckout(t)
	base.write("f", "1\n")
	base.commit("one")
	for _, test := range []struct {
		name  string
		dirty bool
		make  func(c checkout)
	}{
		{"untouched", false, func(c checkout) {}},
		{"annotated_tag_some_commits_ago", false, func(c checkout) {
			c.git("tag", "-a", "-m", "x", "v1.2")
			c.write("g", "2")
			c.commit("two")
		}},
		{"light_tag", false, func(c checkout) { c.git("tag", "light") }},
		{"packed_refs", false, func(c checkout) { c.git("tag", "v9"); c.git("pack-refs", "--all") }},
		{"changed", true, func(c checkout) { c.write("f", "other") }},
		{"same_size_same_second", true, func(c checkout) { c.write("f", "2\n") }},
		{"staged", true, func(c checkout) { c.write("f", "other"); c.git("add", "f") }},
		{"staged_and_taken_back_on_disk", true, func(c checkout) { c.write("f", "other"); c.git("add", "f"); c.write("f", "1\n") }},
		{"removed", true, func(c checkout) { os.Remove(c.path("f")) }},
		{"untracked", false, func(c checkout) { c.write("new", "x") }},
		{"touched", false, func(c checkout) { c.age("f") }},
		{"intent_to_add", true, func(c checkout) { c.write("new", "x"); c.git("add", "-N", "new") }},
		{"executable", true, func(c checkout) { os.Chmod(c.path("f"), 0o755) }},
		{"executable_but_mode_ignored", false, func(c checkout) { c.git("config", "core.fileMode", "false"); os.Chmod(c.path("f"), 0o755) }},
		{"abbreviation", false, func(c checkout) { c.git("config", "core.abbrev", "13") }},
		{"conflict", true, func(c checkout) { conflict(c) }},
		{"line_ends_converted", false, func(c checkout) {
			c.write(".gitattributes", "*.txt text eol=crlf\n")
			c.write("a.txt", "one\r\ntwo\r\n")
			c.commit("crlf")
			c.age("a.txt")
		}},
		{"autocrlf", false, func(c checkout) {
			c.git("config", "core.autocrlf", "true")
			c.write("f", "1\r\n")
			c.git("add", "f")
			c.age("f")
		}},
		{"attributes_of_the_clone", false, func(c checkout) {
			c.write(".git/info/attributes", "f text eol=crlf\n")
			c.write("f", "1\r\n")
			c.git("add", "f")
			c.age("f")
		}},
		{"sparse", false, func(c checkout) {
			c.write("dir/g", "x")
			c.write("other/h", "x")
			c.commit("two")
			c.git("sparse-checkout", "set", "dir")
		}},
		{"sparse_index", false, func(c checkout) {
			c.write("dir/g", "x")
			c.write("other/h", "x")
			c.commit("two")
			c.git("sparse-checkout", "set", "--cone", "--sparse-index", "dir")
		}},
		{"split_index", true, func(c checkout) { c.git("update-index", "--split-index"); c.write("f", "other") }},
		{"assumed_unchanged", false, func(c checkout) { c.git("update-index", "--assume-unchanged", "f"); c.write("f", "other") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := base.copied(t)
			c.git("status") // the index knows the copy
			test.make(c)
			sameDescription(c, test.dirty)
		})
	}
}

func sameDescription(c checkout, dirty bool) {
	c.t.Helper()
	before := snapshot(c.t, c.dir)
	got, err := c.open().Describe(c.t.Context())
	if diff := cmp.Diff(before, snapshot(c.t, c.dir)); diff != "" {
		c.t.Errorf("Describe wrote into the checkout:\n%s", diff)
	}
	if want := c.git("describe", "--tags", "--always", "--dirty"); got != want || err != nil {
		c.t.Errorf("Describe() = %q, %v, want %q", got, err, want)
	}
	if strings.HasSuffix(got, "-dirty") != dirty {
		c.t.Errorf("Describe() = %q, want dirty: %v", got, dirty)
	}
}

func conflict(c checkout) {
	c.git("checkout", "-q", "-b", "topic")
	c.write("f", "topic")
	c.commit("topic")
	c.git("checkout", "-q", "main")
	c.write("f", "main")
	c.commit("main")
	if _, err := c.try("merge", "-q", "topic"); err == nil {
		c.t.Fatal("merge went through, want a conflict")
	}
}

// withFilter configures a filter whose files differ from their blobs, and counts its runs.
func withFilter(c checkout, name, clean, smudge string) (runs string) {
	runs = filepath.Join(c.t.TempDir(), "runs")
	c.git("config", "filter."+name+".clean", "echo x >>"+runs+"; "+clean)
	c.git("config", "filter."+name+".smudge", smudge)
	c.git("config", "filter."+name+".required", "true")
	c.write(".gitattributes", "*.dat filter="+name+"\n")
	return runs
}

func TestDescribe_filtered(t *testing.T) {
	t.Parallel()
	content := "large content\n"
	pointer := fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%x\nsize %d\n", sha256.Sum256([]byte(content)), len(content))
	lfs := fmt.Sprintf(`printf '%s'`, strings.ReplaceAll(pointer, "\n", `\n`))
	for _, test := range []struct {
		name, filter, clean string
		change              func(c checkout)
		dirty               bool
	}{
		{"crypt_just_written", "crypt", "tr a-z n-za-m", func(checkout) {}, false},
		{"crypt_changed", "crypt", "tr a-z n-za-m", func(c checkout) { c.write("a.dat", "something else entirely") }, true},
		{"lfs_just_written", "lfs", lfs, func(checkout) {}, false},
		{"lfs_touched", "lfs", lfs, func(c checkout) { c.age("a.dat") }, false},
		{"other_file_changed", "lfs", lfs, func(c checkout) { c.write("f", "changed") }, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCheckout(t)
			runs := withFilter(c, test.filter, test.clean, "cat")
			c.write("a.dat", content)
			c.write("f", "1")
			c.commit("one")
			test.change(c)
			os.Remove(runs)
			sameDescription(c, test.dirty)
		})
	}
}

func TestDescribe_LFS_changed(t *testing.T) {
	t.Parallel()
	content := "large content\n"
	c := newCheckout(t)
	c.write(".gitattributes", "*.dat filter=lfs\n")
	c.write("a.dat", fmt.Sprintf("version https://git-lfs.github.com/spec/v1\noid sha256:%x\nsize %d\n", sha256.Sum256([]byte(content)), len(content)))
	id := c.commit("pointer")[:7]
	for disk, want := range map[string]string{content: id, "LARGE content\n": id + "-dirty", "short": id + "-dirty"} {
		c.write("a.dat", disk)
		if got, err := c.open().Describe(t.Context()); got != want || err != nil {
			t.Errorf("with %q on disk: Describe() = %q, %v, want %q", disk, got, err, want)
		}
	}
}

func withSubmodule(t *testing.T) (c, sub checkout) {
	lib := newCheckout(t)
	lib.write("f", "1")
	lib.commit("lib")
	c = newCheckout(t)
	c.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib.dir, "lib")
	c.commit("one")
	return c, c.at(c.path("lib"))
}

func TestDescribe_submodule(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		dirty bool
		make  func(sub checkout)
	}{
		{"clean", false, func(checkout) {}},
		{"changed_inside", true, func(sub checkout) { sub.write("f", "2") }},
		{"untracked_inside", false, func(sub checkout) { sub.write("new", "2") }},
		{"other_commit", true, func(sub checkout) { sub.write("f", "2"); sub.commit("two") }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c, sub := withSubmodule(t)
			test.make(sub)
			sameDescription(c, test.dirty)
		})
	}
}

func TestHasTags(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("f", "1")
	c.commit("one")
	r := c.open()
	if got, err := r.HasTags(t.Context()); got || err != nil {
		t.Errorf("HasTags() = %v, %v, want false", got, err)
	}
	c.git("tag", "v1")
	if got, err := r.HasTags(t.Context()); !got || err != nil {
		t.Errorf("HasTags() = %v, %v, want true", got, err)
	}
}

func FuzzParseStatus(f *testing.F) {
	id := strings.Repeat("a", 40)
	f.Add("1 .M N... 100644 100644 100644 " + id + " " + id + " a b\nc\x00u UU N... 1 2 3 4 h1 h2 h3 f\x00")
	f.Add("version https://git-lfs.github.com/spec/v1\noid sha256:" + id + "\nsize -1\n")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := parseStatus(text)
		for _, e := range entries {
			if err == nil && e.contentOnly && (e.path == "" || !isID(e.id)) {
				t.Errorf("parseStatus(%q) has %+v", text, e)
			}
		}
		if p, ok := parseLFSPointer([]byte(text)); ok && (len(p.sha256) != 64 || p.size < 0) {
			t.Errorf("parseLFSPointer(%q) = %+v", text, p)
		}
	})
}

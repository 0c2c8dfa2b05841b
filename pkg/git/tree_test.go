package git

import (
	"errors"
	"io/fs"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// oddNames are file names that a quoting, splitting or option parsing mistake gets wrong.
func oddNames() []string {
	return []string{
		"new\nline", "tab\there", `quo"te`, `back\slash`, "\xff\xfe", "-rf", "--output=x", "two  spaces", " lead",
		"trail ", "ü", "*", ":(glob)x", "a b/c\nd/-e", "#", "%s", "HEAD", "\x01",
	}
}

func oddCheckout(t *testing.T) checkout {
	c := newCheckout(t)
	for _, name := range oddNames() {
		c.write(name, "content of "+name)
	}
	c.commit("odd")
	return c
}

func TestBlobs_odd_names(t *testing.T) {
	t.Parallel()
	r := oddCheckout(t).open()
	blobs, err := r.Blobs(t.Context(), "HEAD", append(oddNames(), "nope", "a b", "../x", "")...)
	if err != nil || len(blobs) != len(oddNames()) {
		t.Fatalf("Blobs = %d blobs, %v, want %d", len(blobs), err, len(oddNames()))
	}
	for _, name := range oddNames() {
		if got, want := string(blobs[name].Data), "content of "+name; got != want || blobs[name].Mode != Regular {
			t.Errorf("Blobs[%q] = %q, %v, want %q", name, got, blobs[name].Mode, want)
		}
		id, _, err := r.LastCommit(t.Context(), "HEAD", name)
		if !isID(id) || err != nil {
			t.Errorf("LastCommit(%q) = %q, %v", name, id, err)
		}
	}
}

func TestFiles_equals_the_walk_of_git(t *testing.T) {
	t.Parallel()
	c := oddCheckout(t)
	c.link("../f", "dir/link")
	c.write("run", "#!/bin/sh\n")
	c.git("add", "-A")
	c.git("update-index", "--chmod=+x", "run")
	c.git("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub")
	c.git("commit", "-q", "-m", "kinds")
	got, err := c.open().Files(t.Context(), "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[Mode]int{}
	var names []string
	for _, e := range got {
		kinds[e.Mode]++
		names = append(names, e.Path)
		want := "-1"
		if e.Mode != Submodule {
			want = c.git("cat-file", "-s", e.ID)
		}
		if size := strconv.FormatInt(e.Size, 10); size != want {
			t.Errorf("%q: size %s, want %s", e.Path, size, want)
		}
	}
	if diff := cmp.Diff(map[Mode]int{Regular: len(oddNames()), Symlink: 1, Executable: 1, Submodule: 1}, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(strings.Split(c.git("ls-files", "-z"), "\x00"), append(names, "")); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestBlob_kinds(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("dir/f", "crlf\r\n\x00end")
	c.link("dir/f", "link")
	c.commit("one")
	r := c.open()
	b, err := r.Blob(t.Context(), "HEAD", "link")
	if string(b.Data) != "dir/f" || b.Mode != Symlink || err != nil {
		t.Errorf("Blob(link) = %q, %v, %v, want the target", b.Data, b.Mode, err)
	}
	b, err = r.Blob(t.Context(), "HEAD", "dir/f")
	if string(b.Data) != "crlf\r\n\x00end" || b.Mode != Regular || err != nil || b.ID != c.git("rev-parse", "HEAD:dir/f") {
		t.Errorf("Blob(dir/f) = %+v, %v", b, err)
	}
	for _, path := range []string{"dir", "nope", "dir/", "./dir/f", "dir/../dir/f", "/dir/f", "", "link/f", "dir/f/g", "a\x00b"} {
		b, err := r.Blob(t.Context(), "HEAD", path)
		if b.ID != "" || !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Blob(%q) = %+v, %v, want fs.ErrNotExist", path, b, err)
		}
	}
}

func TestBlob_too_large(t *testing.T) {
	t.Parallel()
	c := newCheckout(t)
	c.write("f", strings.Repeat("x", 100))
	c.commit("one")
	r := c.open()
	r.options.BlobLimit = 99
	if b, err := r.Blob(t.Context(), "HEAD", "f"); b.ID != "" || !errors.Is(err, ErrTooLarge) {
		t.Errorf("Blob = %+v, %v, want ErrTooLarge", b, err)
	}
	r.options.BlobLimit = 100
	if b, err := r.Blob(t.Context(), "HEAD", "f"); len(b.Data) != 100 || err != nil {
		t.Errorf("Blob = %+v, %v, want 100 bytes", b, err)
	}
}

// partial is a clone without blobs, made by a filter; the origin stays reachable.
func partial(t *testing.T) (c, clone checkout) {
	c = newCheckout(t)
	c.write("f", "content")
	c.commit("one")
	c.git("config", "uploadpack.allowFilter", "true")
	c.git("config", "uploadpack.allowAnySHA1InWant", "true")
	clone = c.at(c.dir + "-partial")
	c.git("clone", "-q", "--no-checkout", "--filter=blob:none", "file://"+c.dir, clone.dir)
	return c, clone
}

func TestBlob_is_never_fetched(t *testing.T) {
	t.Parallel()
	_, clone := partial(t)
	r := clone.open()
	before := snapshot(t, clone.dir)
	_, err := r.Blob(t.Context(), "HEAD", "f")
	if !errors.Is(err, ErrMissing) || !strings.Contains(hintOf(err), "filter") {
		t.Errorf("Blob = %v, hint %q, want ErrMissing", err, hintOf(err))
	}
	laid, err := r.LayOut(t.Context(), LayOut{Rev: "HEAD", Dir: clone.dir + "-laid"})
	if laid.Dir != "" || !errors.Is(err, ErrMissing) {
		t.Errorf("LayOut = %+v, %v, want ErrMissing", laid, err)
	}
	if diff := cmp.Diff(before, snapshot(t, clone.dir)); diff != "" {
		t.Errorf("clone changed:\n%s", diff)
	}
	if got, err := exec.Command("git", "-C", clone.dir, "cat-file", "blob", "HEAD:f").Output(); string(got) != "content" {
		t.Errorf("plain git does not fetch either (%q, %v): the test shows nothing", got, err)
	}
}

func TestSHA256(t *testing.T) {
	t.Parallel()
	c := newCheckout(t, "--object-format=sha256")
	c.write("f", "1")
	head := c.commit("one")
	r := c.open()
	if got, err := r.Head(t.Context()); got != head || len(got) != 64 || err != nil {
		t.Errorf("Head() = %q, %v, want %q", got, err, head)
	}
	laid, err := r.LayOut(t.Context(), LayOut{Rev: head, Dir: c.dir + "-laid"})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.at(laid.Dir).git("status", "--porcelain"); got != "" {
		t.Errorf("status = %q, want clean", got)
	}
	if exact, why, err := r.IsTree(t.Context(), head, nil); !exact || err != nil {
		t.Errorf("IsTree = %v, %q, %v, want true", exact, why, err)
	}
}

func FuzzParseTree(f *testing.F) {
	id := strings.Repeat("a", 40)
	f.Add([]byte("100644 blob " + id + "\tf\x00"))
	f.Add([]byte("160000 commit " + id + "       -\tsub\nx\x00100755 blob " + id + "  12\tg\x00"))
	f.Add([]byte("\x00"))
	f.Fuzz(func(t *testing.T, out []byte) {
		entries, err := parseTree(out)
		for _, e := range entries {
			if e.Path == "" || !isID(e.ID) || e.Size < -1 || strings.Contains(e.Path, "\x00") {
				t.Errorf("parseTree(%q) has %+v", out, e)
			}
		}
		if err == nil && len(entries) != strings.Count(string(out), "\x00") {
			t.Errorf("parseTree(%q) = %d entries", out, len(entries))
		}
	})
}

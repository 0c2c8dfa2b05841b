package codex

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/recibo-ci/recibo/pkg/digest"
)

const testTriple = "x86_64-unknown-linux-musl"

// inVendor is a file of the package's platform directory.
func inVendor(name, data string) fakeEntry {
	return fakeEntry{name: "package/vendor/" + testTriple + "/" + name, data: data, mode: 0o755}
}

// unpacked lists the regular files below dir, and everything else with its type.
func unpacked(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() {
			files[rel] = d.Type().String()
			return nil
		}
		data, err := os.ReadFile(path)
		files[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestUnpack(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	archive := gzipped(t, tarred(t, []fakeEntry{
		{name: "package/", kind: tar.TypeDir, mode: 0o755},
		inVendor("codex-resources/bwrap", "no"),
		inVendor("bin/codex", "one"),
		{name: "package/vendor/aarch64-apple-darwin/bin/codex", data: "of another platform", mode: 0o755},
		inVendor("bin/codex.sig", "no"),
		inVendor("bin/codex-code-mode-host", "two"),
		{name: "package/link", kind: tar.TypeSymlink, link: "/etc/passwd"},
		// npm drops the first directory, whatever its name.
		{name: "else/vendor/" + testTriple + "/codex-path/rg", data: "three", mode: 0o600},
		inVendor("codex-package.json", "{}"),
	}))
	// One byte at a time: no stage may lean on whole reads.
	got, err := unpackTarball(iotest.OneByteReader(bytes.NewReader(archive)), unpackTo{dir: dir, triple: testTriple})
	if err != nil {
		t.Fatal(err)
	}
	want := []entryFile{
		{Path: "bin/codex", Bytes: 3, SHA256: digest.Of([]byte("one"))},
		{Path: "bin/codex-code-mode-host", Bytes: 3, SHA256: digest.Of([]byte("two"))},
		{Path: "codex-path/rg", Bytes: 5, SHA256: digest.Of([]byte("three"))},
		{Path: "codex-package.json", Bytes: 2, SHA256: digest.Of([]byte("{}"))},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	onDisk := map[string]string{"bin/codex": "one", "bin/codex-code-mode-host": "two", "codex-path/rg": "three", "codex-package.json": "{}"}
	if diff := cmp.Diff(onDisk, unpacked(t, dir)); diff != "" {
		t.Errorf("on disk (-want +got):\n%s", diff)
	}
	for name, mode := range map[string]fs.FileMode{"bin/codex": 0o755, "codex-path/rg": 0o755, "codex-package.json": 0o644} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v (%v), want %v", name, info.Mode(), err, mode)
		}
	}
}

func TestUnpackHostile(t *testing.T) {
	t.Parallel()
	codex := inVendor("bin/codex", "good")
	target := "package/vendor/" + testTriple + "/bin/codex"
	many := make([]fakeEntry, packageEntries+1)
	for i := range many {
		many[i] = fakeEntry{name: fmt.Sprintf("package/%d", i)}
	}
	cases := map[string]struct {
		entries []fakeEntry
		raw     []byte // the tarball itself, instead of entries
		words   string
	}{
		"dot_dot":         {entries: []fakeEntry{{name: "package/../../outside", data: "x"}}, words: "named"},
		"dot_dot_in_name": {entries: []fakeEntry{inVendor("bin/../../../../../../outside", "x")}, words: "named"},
		"absolute":        {entries: []fakeEntry{{name: "/outside", data: "x"}}, words: "named"},
		"backslash":       {entries: []fakeEntry{{name: `package\..\outside`, data: "x"}}, words: "named"},
		"empty_name":      {entries: []fakeEntry{{name: "", data: "x"}}, words: "named"},
		"program_is_a_symlink": {entries: []fakeEntry{{name: target, kind: tar.TypeSymlink, link: "/bin/sh"}},
			words: "something else than a file"},
		"program_is_a_hard_link": {entries: []fakeEntry{{name: target, kind: tar.TypeLink, link: "/bin/sh"}},
			words: "something else than a file"},
		"program_is_a_directory": {entries: []fakeEntry{{name: target + "/", kind: tar.TypeDir}},
			words: "something else than a file"},
		"program_is_a_pipe":  {entries: []fakeEntry{{name: target, kind: tar.TypeFifo}}, words: "something else than a file"},
		"link_then_file":     {entries: []fakeEntry{{name: target, kind: tar.TypeSymlink, link: "../../outside"}, codex}, words: "something else than a file"},
		"twice":              {entries: []fakeEntry{codex, codex}, words: "twice"},
		"both_layouts":       {entries: []fakeEntry{codex, inVendor("codex/codex", "other")}, words: "twice"},
		"under_two_tops":     {entries: []fakeEntry{codex, {name: "p/vendor/" + testTriple + "/bin/codex", data: "x"}}, words: "twice"},
		"too_many":           {entries: many, words: "entries"},
		"announces_too_much": {entries: []fakeEntry{{name: target, data: "x", size: 1 << 62}}, words: "unexpected EOF"},
		"too_large":          {entries: []fakeEntry{codex, {name: "package/bomb", data: strings.Repeat("\x00", 1<<20)}}, words: "too large"},
		"too_large_program":  {entries: []fakeEntry{inVendor("bin/codex", strings.Repeat("\x00", 1<<20))}, words: "too large"},
		"empty":              {raw: []byte{}, words: "EOF"},
		"no_gzip":            {raw: []byte("<html><body>sign in</body></html>"), words: "gzip"},
		"no_tar":             {raw: gzipped(t, bytes.Repeat([]byte("x"), 2000)), words: "tar"},
		"cut_gzip":           {raw: gzipped(t, tarred(t, []fakeEntry{codex}))[:40], words: "EOF"},
		"wrong_checksum":     {raw: flipped(gzipped(t, tarred(t, []fakeEntry{codex})), 5), words: "checksum"},
		"second_stream":      {raw: append(gzipped(t, tarred(t, []fakeEntry{codex})), "trailing bytes"...), words: "gzip"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outer := t.TempDir()
			dir := filepath.Join(outer, "a", "b")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			raw := c.raw
			if c.entries != nil {
				raw = gzipped(t, tarred(t, c.entries))
			}
			got, err := unpackTarball(bytes.NewReader(raw), unpackTo{dir: dir, triple: testTriple, max: 900_000})
			if name == "too_many" {
				got, err = unpackTarball(bytes.NewReader(raw), unpackTo{dir: dir, triple: testTriple})
			}
			if err == nil || got != nil || !strings.Contains(err.Error(), c.words) {
				t.Errorf("unpacked %v, error %v; want one with %q", got, err, c.words)
			}
			for path := range unpacked(t, outer) {
				if path != "a/b/bin/codex" {
					t.Errorf("made %q", path)
				}
			}
		})
	}
}

// flipped is data with one bit changed, n bytes from its end.
func flipped(data []byte, n int) []byte {
	data[len(data)-n] ^= 1
	return data
}

func FuzzUnpack(f *testing.F) {
	codex := inVendor("bin/codex", "good")
	f.Add(tarred(f, []fakeEntry{codex, inVendor("codex-path/rg", "rg")}))
	f.Add(tarred(f, []fakeEntry{{name: "package/../x", data: "x"}, codex}))
	f.Add(tarred(f, []fakeEntry{{name: codex.name, kind: tar.TypeSymlink, link: "/etc/passwd"}, codex}))
	f.Add([]byte("GNU.sparse"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		got, err := unpackTarball(bytes.NewReader(gzipped(t, data)), unpackTo{dir: dir, triple: testTriple, max: 1 << 20})
		files := unpacked(t, dir)
		for path, content := range files {
			if _, kept := keptFile(filepath.ToSlash(path)); !kept {
				t.Errorf("made %q (%.40q)", path, content)
			}
		}
		if err == nil && len(got) != len(files) {
			t.Errorf("tells %d files, made %d", len(got), len(files))
		}
	})
}

func TestReadAheadHandsOnErrors(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("0123456789", aheadChunk/4)
	for _, want := range []error{io.ErrUnexpectedEOF, errStalled, io.EOF} {
		a := readAhead(io.MultiReader(strings.NewReader(long), iotest.ErrReader(want)))
		var got bytes.Buffer
		_, err := got.ReadFrom(struct{ io.Reader }{a})
		if want == io.EOF {
			want = nil
		}
		if !errors.Is(err, want) || got.String() != long {
			t.Errorf("read %d bytes, %v; want %d and %v", got.Len(), err, len(long), want)
		}
		if _, err := a.Read(make([]byte, 1)); err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("the next Read: %v, want the same again", err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	// Closed early, with a reader that never ends.
	a := readAhead(endless{})
	if _, err := io.ReadFull(a, make([]byte, 10)); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

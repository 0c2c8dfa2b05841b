package digest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

// The digests are those of FIPS 180-4's examples.
const (
	abc   = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
	empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
)

func TestKnownDigests(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"abc": abc, "": empty} {
		if got := Of([]byte(in)).String(); got != want {
			t.Errorf("Of(%q) = %s, want %s", in, got, want)
		}
		d, n, err := Reader(iotest.OneByteReader(strings.NewReader(in)))
		if err != nil || n != int64(len(in)) || d.String() != want {
			t.Errorf("Reader(%q) = %s, %d, %v; want %s", in, d, n, err, want)
		}
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(in), 0o600); err != nil {
			t.Fatal(err)
		}
		d, n, err = File(path)
		if err != nil || n != int64(len(in)) || d.String() != want {
			t.Errorf("File(%q) = %s, %d, %v; want %s", in, d, n, err, want)
		}
	}
}

func TestReaderTellsWhatWentWrong(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	if _, _, err := Reader(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("Reader() = %v, want %v", err, broken)
	}
	if _, _, err := File(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("File() = %v, want not exist", err)
	}
}

func TestParseTakesOneFormOnly(t *testing.T) {
	t.Parallel()
	d, err := Parse(abc)
	if err != nil || d != Of([]byte("abc")) {
		t.Errorf("Parse(%q) = %s, %v", abc, d, err)
	}
	if d, err := Parse(""); err != nil || !d.IsZero() || d.String() != "" {
		t.Errorf("Parse of nothing = %s, %v; want zero", d, err)
	}
	for _, in := range []string{strings.ToUpper(abc), abc[1:], abc + "0", "sha256:" + abc, abc[:63] + "g", " " + abc} {
		if d, err := Parse(in); err == nil || !d.IsZero() {
			t.Errorf("Parse(%q) = %s, %v; want an error", in, d, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(abc)
	f.Add("")
	f.Add("zz")
	f.Fuzz(func(t *testing.T, in string) {
		d, err := Parse(in)
		if err == nil && d.String() != in {
			t.Errorf("Parse(%q) prints as %q", in, d.String())
		}
	})
}

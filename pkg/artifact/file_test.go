package artifact

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/recibo-ci/recibo/internal/artifacttest"
)

// must ends the test on an error of preparing it.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestOnlyRegularFilesOfTheirOwnAreRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		path string
		make func(t *testing.T, root, outside string)
		want error
	}{
		"link_to_outside": {"a", func(t *testing.T, root, outside string) {
			must(t, os.Symlink(filepath.Join(outside, "secret"), filepath.Join(root, "a")))
		}, errNotRegular},
		"link_inside": {"a", func(t *testing.T, root, _ string) {
			write(t, root, "b", "b")
			must(t, os.Symlink("b", filepath.Join(root, "a")))
		}, errNotRegular},
		"dangling_link": {"a", func(t *testing.T, root, _ string) { must(t, os.Symlink("none", filepath.Join(root, "a"))) }, errNotRegular},
		"hard_link": {"a", func(t *testing.T, root, outside string) {
			must(t, os.Link(filepath.Join(outside, "secret"), filepath.Join(root, "a")))
		}, errNotRegular},
		"pipe":      {"a", func(t *testing.T, root, _ string) { must(t, syscall.Mkfifo(filepath.Join(root, "a"), 0o600)) }, errNotRegular},
		"directory": {"a", func(t *testing.T, root, _ string) { must(t, os.Mkdir(filepath.Join(root, "a"), 0o700)) }, errNotRegular},
		"missing":   {"a", func(*testing.T, string, string) {}, fs.ErrNotExist},
		"directory_is_a_link": {"d/secret", func(t *testing.T, root, outside string) {
			must(t, os.Symlink(outside, filepath.Join(root, "d")))
		}, errLink},
		"directory_is_a_link_inside": {"d/a", func(t *testing.T, root, _ string) {
			write(t, root, "e/a", "a")
			must(t, os.Symlink("e", filepath.Join(root, "d")))
		}, errLink},
		"directory_is_a_file": {"d/a", func(t *testing.T, root, _ string) { write(t, root, "d", "") }, nil},
		"above":               {"../secret", func(*testing.T, string, string) {}, nil},
		"absolute":            {"/etc/passwd", func(*testing.T, string, string) {}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both := t.TempDir()
			root := filepath.Join(both, "root")
			must(t, os.Mkdir(root, 0o700))
			write(t, both, "secret", "s3cret")
			tt.make(t, root, both)
			w := newWorld(t, artifacttest.Options{})
			_, err := w.Upload(t.Context(), Upload{Name: "a", Root: root, Files: []File{{Name: "a", Path: tt.path}}})
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if calls := w.Calls(); len(calls) != 0 {
				t.Errorf("the service was asked %v", calls)
			}
		})
	}
}

func TestOpenRegular(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	write(t, root, "a/b/c", "content")
	file, info, err := openRegular(root, filepath.Join("a", "b", "c"))
	must(t, err)
	defer file.Close()
	data, err := io.ReadAll(file)
	if string(data) != "content" || info.Size() != 7 || err != nil {
		t.Errorf("got %q of %d bytes, %v", data, info.Size(), err)
	}
	if _, _, err := openRegular(filepath.Join(root, "none"), "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no root: got %v", err)
	}
}

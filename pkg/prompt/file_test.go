package prompt

import (
	"os"
	"path/filepath"
	"testing"
)

// What is put in place of the file after its path was resolved is not followed out of the
// repository.
func TestReadRegularAfterASwap(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	root := filepath.Join(top, "repo")
	if err := os.MkdirAll(filepath.Join(top, "outside"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(top, "outside", "a.md"), []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, target := range map[string]string{
		"file.md":  "../outside/a.md",
		"folder":   "../outside",
		"absolute": filepath.Join(top, "outside"),
	} {
		if err := os.Symlink(target, filepath.Join(root, path)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"file.md", "folder/a.md", "absolute/a.md", "../outside/a.md"} {
		if b, err := readRegular(root, path); err == nil {
			t.Errorf("readRegular(%q): got %q, want an error", path, b)
		}
	}
}

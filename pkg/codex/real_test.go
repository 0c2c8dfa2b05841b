package codex

import (
	"os"
	"path/filepath"
	"testing"
)

// realPrograms are the pinned Codex CLI's, installed once a machine from the registry that the
// npm client is set to.
func realPrograms(t *testing.T) *Programs {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Finder{CacheDir: filepath.Join(cache, "recibo", "codex"), Getenv: os.Getenv}.Find(t.Context(), Want{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

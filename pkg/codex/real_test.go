package codex

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// realCache is where recibo itself keeps Codex: installed once a machine for all tests.
func realCache(t *testing.T) string {
	t.Helper()
	if os.Geteuid() == 0 && runtime.GOOS == "linux" {
		return "/var/cache/recibo/codex"
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(cache, "recibo", "codex")
}

// realPrograms are the pinned Codex CLI's, from the registry that the npm client is set to.
func realPrograms(t *testing.T) *Programs {
	t.Helper()
	p, err := Finder{CacheDir: realCache(t), Getenv: os.Getenv}.Find(t.Context(), Want{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

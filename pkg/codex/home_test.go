package codex

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// What a killed run left is removed; what may still be in use, or is not ours, stays.
func TestSweep(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	old, err := NewHome(base)
	if err != nil {
		t.Fatal(err)
	}
	// As an agent could leave it.
	if err := os.Chmod(old.Home, 0); err != nil {
		t.Fatal(err)
	}
	young, err := NewHome(base)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(base, "other")
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, dir := range []string{old.Root, other} {
		if err := os.Chtimes(dir, now, now.Add(-2*staleTime)); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(base, now); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{old.Root: false, young.Root: true, other: true} {
		if _, err := os.Stat(dir); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", dir, err == nil, want)
		}
	}
	if err := Sweep(filepath.Join(base, "none"), now); err != nil {
		t.Errorf("no directory: %v", err)
	}
}

package npmtest

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
)

const (
	examples = "../../pkg/actions/testdata/npm"
	witness  = "node_modules/@octokit/webhooks-examples/package.json"
)

func TestInstall(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	var group sync.WaitGroup
	var dirs [3]string
	var errs [3]error
	for i := range dirs {
		group.Go(func() { dirs[i], errs[i] = install(t, cache, examples) })
	}
	group.Wait()
	for i, dir := range dirs {
		if errs[i] != nil || dir != dirs[0] {
			t.Fatalf("install %d: got %q, %v, want %q and no error", i, dir, errs[i], dirs[0])
		}
	}
	if _, err := os.Stat(filepath.Join(dirs[0], witness)); err != nil {
		t.Errorf("installed: got %v, want the package there", err)
	}
	entries, err := os.ReadDir(cache)
	if err != nil || len(entries) != 2 {
		t.Errorf("cache: got %v, %v, want the directory and its lock only", entries, err)
	}
}

func TestInstallFails(t *testing.T) {
	t.Parallel()
	lock, err := os.ReadFile(filepath.Join(examples, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	pkg := []byte(`{"name": "other", "dependencies": {"@octokit/webhooks-examples": "7.0.0"}}`)
	for name, write := range map[string]func(dir string) error{
		"no_manifest": func(string) error { return nil },
		"no_lock": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "package.json"), pkg, 0o644)
		},
		"lock_of_another": func(dir string) error {
			if err := os.WriteFile(filepath.Join(dir, "package-lock.json"), lock, 0o644); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "package.json"), pkg, 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cache, dir := t.TempDir(), t.TempDir()
			if err := write(dir); err != nil {
				t.Fatal(err)
			}
			got, err := install(t, cache, dir)
			if err == nil {
				t.Errorf("install: got %q and no error, want an error", got)
			}
			left, err := filepath.Glob(filepath.Join(cache, "npm-*", "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: got %v, %v, want nothing", left, err)
			}
		})
	}
}

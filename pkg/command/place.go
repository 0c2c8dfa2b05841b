package command

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// place is where a run reads and keeps things. Nothing of it is a person's own configuration.
type place struct {
	// root is the top of the repository.
	root string
	// cache keeps Codex and what was learned of it; state holds the private directories of runs.
	cache, state string
}

// findPlace looks for the repository without starting a process: inputs are checked before any.
func findPlace(w World) (place, error) {
	start := w.Dir
	if ws := w.getenv("GITHUB_WORKSPACE"); ws != "" && w.getenv("GITHUB_ACTIONS") == "true" {
		start = ws
	}
	root, err := findRoot(start)
	if err != nil {
		return place{}, err
	}
	p := place{root: root}
	p.cache, p.state = keepDirs(w, os.Geteuid())
	if p.cache == "" {
		return place{}, fault.New(fault.Request, "set HOME or XDG_CACHE_HOME", "find a directory for Codex: no home directory is known")
	}
	return p, nil
}

func findRoot(start string) (string, error) {
	start, err := filepath.Abs(start)
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return filepath.EvalSymlinks(dir)
		}
		if dir == filepath.Dir(dir) {
			return "", fault.New(fault.Request, "run it in a checkout; in a workflow, put actions/checkout before it", "find the repository: %q lies in none", start)
		}
	}
}

// keepDirs chooses where caches and run directories lie. Root uses the system's own directories,
// because the agent's user must be able to walk to them, and a home directory is closed to it.
// Others follow the XDG Base Directory Specification, or Apple's place for caches.
func keepDirs(w World, euid int) (cache, state string) {
	if euid == 0 && runtime.GOOS == "linux" {
		return "/var/cache/recibo", "/var/lib/recibo"
	}
	if dir := w.getenv("XDG_CACHE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "recibo"), filepath.Join(dir, "recibo", "run")
	}
	home := w.getenv("HOME")
	if home == "" {
		return "", ""
	}
	dir := filepath.Join(home, ".cache", "recibo")
	if runtime.GOOS == "darwin" {
		dir = filepath.Join(home, "Library", "Caches", "recibo")
	}
	return dir, filepath.Join(dir, "run")
}

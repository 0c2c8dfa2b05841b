package codex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Home is the private world of one Codex run. CodexHome must not lie below a temporary
// directory: Codex then makes no helper aliases and every command fails. TMPDIR is Temp, so that
// "temporary" means that and nothing else.
type Home struct {
	Root, Home, CodexHome, Temp, Out string
}

// staleTime is how old a run directory must be to be taken for one that a killed run left behind.
// No review may last so long.
const staleTime = 48 * time.Hour

// Sweep removes run directories below base that killed runs left behind.
func Sweep(base string, now time.Time) error {
	entries, err := os.ReadDir(base)
	if err != nil {
		return ignoreMissing(err)
	}
	var errs []error
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !e.IsDir() || !strings.HasPrefix(e.Name(), runPrefix) || now.Sub(info.ModTime()) < staleTime {
			continue
		}
		errs = append(errs, Home{Root: filepath.Join(base, e.Name())}.Remove())
	}
	return errors.Join(errs...)
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

const runPrefix = "run-"

// NewHome makes an empty Home below base, which is made when missing.
func NewHome(base string) (Home, error) {
	if err := os.MkdirAll(base, 0o755); err != nil {
		return Home{}, fmt.Errorf("make run directory: %w", err)
	}
	root, err := os.MkdirTemp(base, runPrefix)
	if err != nil {
		return Home{}, fmt.Errorf("make run directory: %w", err)
	}
	// The agent's own user must be able to walk through.
	if err := os.Chmod(root, 0o711); err != nil {
		return Home{}, err
	}
	h := Home{Root: root, Home: filepath.Join(root, "home"), CodexHome: filepath.Join(root, "codex"), Temp: filepath.Join(root, "tmp"), Out: filepath.Join(root, "out")}
	for _, dir := range []string{h.Home, h.CodexHome, h.Temp, h.Out} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return Home{}, err
		}
	}
	return h, nil
}

// Dirs are the directories that the run may write.
func (h Home) Dirs() []string { return []string{h.Home, h.CodexHome, h.Temp, h.Out} }

// Remove deletes everything. Directories that the agent made unreadable for itself are opened
// again first.
func (h Home) Remove() error {
	if err := os.RemoveAll(h.Root); err == nil {
		return nil
	}
	walk := filepath.WalkDir(h.Root, func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return errors.Join(os.Chmod(p, 0o700))
		}
		return nil
	})
	return errors.Join(walk, os.RemoveAll(h.Root))
}

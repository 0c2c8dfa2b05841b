package codex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Home is the private world of one Codex run. CodexHome must not lie below a temporary
// directory: Codex then makes no helper aliases and every command fails. TMPDIR is Temp, so that
// "temporary" means that and nothing else.
type Home struct {
	Root, Home, CodexHome, Temp, Out string
}

// NewHome makes an empty Home below base, which is made when missing.
func NewHome(base string) (Home, error) {
	if err := os.MkdirAll(base, 0o755); err != nil {
		return Home{}, fmt.Errorf("make run directory: %w", err)
	}
	root, err := os.MkdirTemp(base, "run-")
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

package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Own copies into laid's repository every object that its refs and HEAD reach, and cuts the tie to
// the repository it borrowed from: for an agent whose user may not read that one. It costs what
// the history weighs, so it is for where sharing is impossible. laid's Objects are then none.
func (r *Repository) Own(ctx context.Context, laid *Laid) error {
	at := call{gitDir: laid.GitDir}
	// -a without -l packs borrowed objects too (git-repack(1)).
	if _, err := r.program.output(ctx, at.with("repack", "-a", "-d", "-q", "--no-write-bitmap-index")); err != nil {
		return fmt.Errorf("copy objects for %s: %w", laid.Commit, err)
	}
	err := os.Remove(filepath.Join(laid.GitDir, "objects", "info", "alternates"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	laid.Objects = nil
	return nil
}

package codex

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Place puts the programs into the new directory dir, in the layout of their package, by hard
// links where the file system allows and as copies elsewhere: for a user who may not reach them
// where they are.
func (p *Programs) Place(dir string) (*Programs, error) {
	placed := *p
	placed.Dir = dir
	for _, f := range []struct {
		from, below string
		into        *string
	}{
		{p.Codex, "bin/" + nameCodex, &placed.Codex},
		{p.CodeModeHost, "bin/" + nameHost, &placed.CodeModeHost},
		{p.RG, "codex-path/" + nameRG, &placed.RG},
	} {
		if f.from == "" {
			continue
		}
		*f.into = filepath.Join(dir, filepath.FromSlash(f.below))
		if err := linkOrCopy(f.from, *f.into, 0o755); err != nil {
			return nil, fmt.Errorf("place Codex's programs: %w", err)
		}
	}
	if p.RG != "" {
		placed.PathDir = filepath.Dir(placed.RG)
	}
	// By this file Codex finds what lies beside it; a codex-bin may come without one.
	err := linkOrCopy(filepath.Join(p.Dir, packageFile), filepath.Join(dir, packageFile), 0o644)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("place Codex's programs: %w", err)
	}
	return &placed, nil
}

func linkOrCopy(from, to string, perm fs.FileMode) (err error) {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.Mode().Perm()&perm == perm && os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

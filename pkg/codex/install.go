package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/recibo-ci/recibo/pkg/disk"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// install puts r into the cache and returns its programs. When another process does the same at
// the same time, this one waits and takes what the other has made.
func (f Finder) install(ctx context.Context, w Want, r release) (p *Programs, err error) {
	if err := disk.MkdirAll(f.CacheDir, 0o755); err != nil {
		return nil, diskFault(f.CacheDir, err)
	}
	unlock, alone, err := f.lockEntry(ctx, f.CacheDir, r)
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, diskFault(f.CacheDir, err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	dest := filepath.Join(f.CacheDir, r.id())
	if p, err := openEntry(dest, r); err == nil {
		p.Source = FromCache
		return p, nil
	}
	if alone {
		if err := sweep(f.CacheDir, r); err != nil {
			return nil, diskFault(f.CacheDir, err)
		}
	}
	if err := f.fill(ctx, w, r, dest); err != nil {
		return nil, err
	}
	p, err = openEntry(dest, r)
	if err != nil {
		return nil, diskFault(f.CacheDir, err)
	}
	p.Source = FromInstall
	return p, nil
}

// fill downloads r and renames it to dest once it is whole, known to be the right one, and seen
// to start. Nothing else is left behind.
func (f Finder) fill(ctx context.Context, w Want, r release, dest string) (err error) {
	reg, err := f.registry(ctx, w, r)
	if err != nil {
		return err
	}
	c := f.client(reg)
	defer c.http.CloseIdleConnections()
	d, err := c.dist(ctx, r)
	if err != nil {
		return err
	}
	var part string
	remove := func() error {
		if part == "" {
			return nil
		}
		return os.RemoveAll(part)
	}
	defer func() { err = errors.Join(err, remove()) }()
	_, files, err := c.fetch(ctx, r, d, func() (string, error) {
		if err := remove(); err != nil {
			return "", err
		}
		part, err = os.MkdirTemp(f.CacheDir, partPrefix+r.id()+partMark)
		return part, err
	})
	if err != nil {
		return err
	}
	if err := f.tryOut(ctx, r, part, files); err != nil {
		return err
	}
	rec := entryRecord{Format: recordFormat, Version: r.version, Platform: r.platform, Integrity: d.sum.String(), Files: files}
	if err := finishEntry(part, rec); err != nil {
		return diskFault(f.CacheDir, err)
	}
	if err := publish(part, dest, r); err != nil {
		return diskFault(f.CacheDir, err)
	}
	return nil
}

// tryOut starts the unpacked Codex once, if this machine can, and compares its version: a
// registry that vouches for a wrong package, or a disk that runs no programs, is known now and
// not in the middle of a review.
func (f Finder) tryOut(ctx context.Context, r release, part string, files []entryFile) error {
	path := ""
	for _, file := range files {
		if name, _ := keptFile(file.Path); name == nameCodex {
			path = filepath.Join(part, filepath.FromSlash(file.Path))
		}
	}
	if path == "" {
		return fault.New(fault.Request, "use another codex-version",
			"install Codex %s: its package has no program for %s", r.version, tripleOf(r.platform))
	}
	if r.platform != platformOf(runtime.GOOS, runtime.GOARCH) {
		return nil
	}
	got, err := askVersion(ctx, path)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fault.New(fault.Review, "programs in "+f.CacheDir+" must be able to run; XDG_CACHE_HOME moves it",
			"install Codex %s: %w", r.version, err)
	}
	if got != r.version {
		return fault.New(fault.Request, "use another registry, and do not trust this one",
			"install Codex %s: the package contains version %.80q", r.version, got)
	}
	return nil
}

// finishEntry writes the record, gives everything the owner and the modes that an entry has, and
// sees it onto the disk.
func finishEntry(part string, rec entryRecord) error {
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	if err := disk.Write(filepath.Join(part, recordName), append(data, '\n'), 0o644); err != nil {
		return err
	}
	parent := filepath.Dir(part)
	return filepath.WalkDir(part, func(path string, d fs.DirEntry, err error) error {
		if err == nil {
			err = disk.Adopt(path, parent)
		}
		if err != nil || !d.IsDir() {
			return err
		}
		// Whatever the umask says: the agent is another user.
		if err := os.Chmod(path, 0o755); err != nil {
			return fmt.Errorf("open %q to its readers: %w", path, err)
		}
		return syncDir(path)
	})
}

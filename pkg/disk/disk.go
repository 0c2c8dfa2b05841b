// Package disk writes files whole or not at all, and reads files that somebody hostile may have
// made.
//
// It does not know what the files mean.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Write puts data at path so that a reader sees the old file or the new one, never a part: a
// temporary file in the same directory, synced, then renamed. Missing directories are made.
// What it makes gets the owner of the nearest directory that was there before: a container's
// root must not leave files that later steps cannot remove.
func Write(path string, data []byte, perm fs.FileMode) (err error) {
	dir := filepath.Dir(path)
	if err := MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, ignoreMissing(os.Remove(tmp.Name())))
		}
	}()
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Close())
	if err != nil {
		return fmt.Errorf("write %q: %w", path, err)
	}
	if err := os.Chmod(tmp.Name(), perm); err != nil {
		return err
	}
	if err := Adopt(tmp.Name(), dir); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// MkdirAll is os.MkdirAll, except that the directories it makes get the owner of the directory
// they are made in.
func MkdirAll(dir string, perm fs.FileMode) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	parent := filepath.Dir(dir)
	if parent != dir {
		if err := MkdirAll(parent, perm); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, perm); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	return Adopt(dir, parent)
}

// ErrTooLarge is returned by Read for a file over its limit.
var ErrTooLarge = errors.New("file is over its limit")

// Read returns the regular file name below root, which must not be reached through a symbolic
// link, a device or a pipe, and must not be over limit bytes. Use it for anything an agent may
// have written.
func Read(root, name string, limit int64) ([]byte, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	info, err := r.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %q: not a regular file (%s)", name, info.Mode().Type())
	}
	f, err := r.OpenFile(name, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readRegular(f, name, limit)
}

func readRegular(f *os.File, name string, limit int64) ([]byte, error) {
	// Asked again of what was opened: the file may have been changed since Lstat.
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || linkCount(info) > 1 {
		return nil, fmt.Errorf("read %q: not a regular file of its own", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %q: %w of %d bytes", name, ErrTooLarge, limit)
	}
	return data, nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

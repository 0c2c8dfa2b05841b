package artifact

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// noFollow refuses a link put in place after it was looked at; a pipe must not block.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// File is one file of an artifact.
type File struct {
	// Name is where it lies in the artifact: relative, with slashes, without "..".
	Name string
	// Path is the file to read, relative to Upload.Root. When empty, Data is the content.
	Path string
	Data []byte
}

// open returns the content of f and its size, as far as it is known before reading.
func (f File) open(root string) (io.ReadCloser, int64, error) {
	if f.Path == "" {
		return io.NopCloser(bytes.NewReader(f.Data)), int64(len(f.Data)), nil
	}
	file, info, err := openRegular(root, f.Path)
	if err != nil {
		return nil, 0, err
	}
	return file, info.Size(), nil
}

// openRegular opens the regular file at path below root. No component of path may be a symbolic
// link, and the file may have one name only: what an agent could have put there must not make
// another file leave.
func openRegular(root, path string) (*os.File, fs.FileInfo, error) {
	if !filepath.IsLocal(path) {
		return nil, nil, fmt.Errorf("read %q: not a path below the directory of the files", path)
	}
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, nil, err
	}
	defer func() { dir.Close() }()
	parts := strings.Split(filepath.Clean(path), string(filepath.Separator))
	for _, part := range parts[:len(parts)-1] {
		next, err := descend(dir, part)
		if err != nil {
			return nil, nil, fmt.Errorf("read %q: %w", path, err)
		}
		dir.Close()
		dir = next
	}
	file, info, err := openIn(dir, parts[len(parts)-1])
	if err != nil {
		return nil, nil, fmt.Errorf("read %q: %w", path, err)
	}
	return file, info, nil
}

var (
	errLink       = errors.New("it is reached through a symbolic link")
	errNotRegular = errors.New("it is not a regular file of its own")
	errSwapped    = errors.New("it was replaced while it was opened")
)

func descend(dir *os.Root, name string) (*os.Root, error) {
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if seen.Mode().Type() == fs.ModeSymlink {
		return nil, errLink
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err != nil || !os.SameFile(seen, opened) {
		return nil, errors.Join(errSwapped, err, next.Close())
	}
	return next, nil
}

func openIn(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, nil, errNotRegular
	}
	file, err := dir.OpenFile(name, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !os.SameFile(seen, info):
		err = errSwapped
	case !info.Mode().IsRegular() || links(info) > 1:
		err = errNotRegular
	default:
		return file, info, nil
	}
	return nil, nil, errors.Join(err, file.Close())
}

// links is how many names the file has.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

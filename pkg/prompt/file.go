package prompt

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// maxFileBytes bounds what is read of a file. It is far above what MaxCharacters can take, so
// that the count of characters in the refusal is exact for anything that was meant as a prompt.
const maxFileBytes = 16 << 20

// readInside returns the bytes of the file that s names, and its real path relative to the top of
// the repository.
func readInside(s Source) (string, []byte, error) {
	root, err := filepath.EvalSymlinks(s.Root)
	if err != nil || !filepath.IsAbs(root) {
		return "", nil, fault.New(fault.Request, "run inside a checkout of the repository",
			"top of the repository %q: not an absolute directory that exists", s.Root)
	}
	path, err := resolve(s, root)
	if err != nil {
		return "", nil, err
	}
	b, err := readRegular(root, path)
	if err != nil {
		return "", nil, unreadable(s, err)
	}
	return path, b, nil
}

// resolve follows every symbolic link of the file's path and returns where that leads, relative to
// root, which has none.
func resolve(s Source, root string) (string, error) {
	name := s.File
	if !filepath.IsAbs(name) {
		dir := s.Dir
		if dir == "" {
			dir = root
		}
		// Not filepath.Join: it would drop "link/.." where the link leads elsewhere.
		name = dir + string(filepath.Separator) + name
	}
	// Asked of the system first: it tells a loop of links from a missing file.
	if _, err := os.Stat(name); err != nil {
		if errors.Is(err, fs.ErrNotExist) && !within(s.Root, name) && !within(root, name) {
			return "", outside()
		}
		return "", unreadable(s, err)
	}
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", unreadable(s, err)
	}
	if !within(root, target) {
		return "", outside()
	}
	path, err := filepath.Rel(root, target)
	if err != nil {
		return "", err
	}
	return path, refuseGit(path)
}

// within reports whether name, taken as text, lies at or below root.
func within(root, name string) bool {
	path, err := filepath.Rel(root, name)
	return err == nil && filepath.IsLocal(path)
}

// refuseGit keeps git's own files, which hold credentials on CI and which no commit contains, from
// being sent to a model. Compared without case, as some file systems do.
func refuseGit(path string) error {
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if strings.EqualFold(part, ".git") {
			return fault.New(fault.Request, "name a file that the repository contains",
				"lies inside .git, which is not part of the repository's content")
		}
	}
	return nil
}

func outside() error {
	return fault.New(fault.Request, "name a file inside the repository, or copy the prompt into it",
		"lies outside the repository")
}

// readRegular reads path below root. The directory handle holds even when a link is put in place
// of a part of path after it was resolved.
func readRegular(root, path string) (_ []byte, err error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	// Asked before opening as well, because opening a device can have effects.
	info, err := r.Lstat(path)
	if err != nil {
		return nil, err
	}
	if err := regular(info); err != nil {
		return nil, err
	}
	f, err := r.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err = f.Stat()
	if err != nil {
		return nil, err
	}
	if err := regular(info); err != nil {
		return nil, err
	}
	return readBounded(f, info.Size())
}

func readBounded(f io.Reader, size int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxFileBytes {
		return nil, fault.New(fault.Request, tooLongHint,
			"%d bytes long, and a prompt has at most %d characters", max(size, int64(len(b))), MaxCharacters)
	}
	return b, nil
}

func regular(info fs.FileInfo) error {
	kind := "special file"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		kind = "directory"
	case mode&fs.ModeNamedPipe != 0:
		kind = "pipe"
	case mode&fs.ModeDevice != 0:
		kind = "device"
	case mode&fs.ModeSocket != 0:
		kind = "socket"
	}
	return fault.New(fault.Request, "name a regular file", "is a %s, not a file", kind)
}

// unreadable gives err, from opening or reading, the hint that fits it.
func unreadable(s Source, err error) error {
	if fault.KindOf(err) != 0 {
		return err
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return fault.New(fault.Request, missingHint(s), "does not exist")
	case errors.Is(err, syscall.ENAMETOOLONG):
		return fault.New(fault.Request, "give the text itself as prompt", "the name is too long for a file")
	case errors.Is(err, syscall.ELOOP):
		return fault.New(fault.Request, "replace the symbolic link by the file", "is a symbolic link that leads nowhere")
	}
	return fault.New(fault.Request, "make the file readable for the user that runs this", "%w", err)
}

func missingHint(s Source) string {
	if strings.TrimSpace(s.File) != s.File {
		return "the name has white space around it; remove that"
	}
	return "commit the file, or correct the path: it starts from the top of the repository"
}

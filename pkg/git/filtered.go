package git

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// differ judges files whose bytes are not their blob's. Without a filter attribute they are
// changed. With one a person's git would run the filter and find most of them unchanged; here
// the times and sizes in the index decide, and the pointer for Git LFS.
func (s status) differ(ctx context.Context, changed []statusEntry) (bool, error) {
	filtered, err := s.filtered(ctx, changed)
	if err != nil {
		return false, err
	}
	for _, e := range changed {
		if !filtered[e.path] {
			return true, nil
		}
	}
	touched, err := s.touched(ctx)
	if err != nil {
		return false, err
	}
	var doubtful []Entry
	for _, e := range changed {
		if touched[e.path] {
			doubtful = append(doubtful, Entry{Mode: Regular, ID: e.id, Path: e.path})
		}
	}
	return s.anyNotLFS(ctx, doubtful)
}

// filtered are the paths that some filter is named for, configured or not.
func (s status) filtered(ctx context.Context, changed []statusEntry) (map[string]bool, error) {
	var ask strings.Builder
	for _, e := range changed {
		ask.WriteString(e.path + "\x00")
	}
	c := s.call("check-attr", "--stdin", "-z", "filter")
	c.stdin = strings.NewReader(ask.String())
	out, err := s.r.program.output(ctx, c)
	if err != nil {
		return nil, err
	}
	field := strings.Split(string(out), "\x00")
	filtered := map[string]bool{}
	for i := 0; i+2 < len(field); i += 3 {
		switch field[i+2] {
		case "unspecified", "unset", "set":
		default:
			filtered[field[i]] = true
		}
	}
	return filtered, nil
}

// touched are the paths whose size or times are not those in the index. A file that was written
// in the same second as the index counts as touched for git, which then filters it again; a copy
// of the index with a later time takes that doubt away, and is only used for filtered files.
func (s status) touched(ctx context.Context) (map[string]bool, error) {
	data, err := readSmall(s.index, outputLimit)
	if err != nil {
		return nil, err
	}
	later := filepath.Join(s.gitDir, "later-index")
	if err := os.WriteFile(later, data, 0o600); err != nil {
		return nil, err
	}
	info, err := os.Stat(s.index)
	if err != nil {
		return nil, err
	}
	at := info.ModTime().Add(2 * time.Second)
	if err := os.Chtimes(later, at, at); err != nil {
		return nil, err
	}
	c := s.call("diff-files", "--name-only", "-z", "--ignore-submodules=all")
	c.index = later
	out, err := s.r.program.output(ctx, c)
	if err != nil {
		return nil, err
	}
	touched := map[string]bool{}
	for path := range strings.SplitSeq(string(out), "\x00") {
		touched[path] = true
	}
	return touched, nil
}

// anyNotLFS reports whether some file on disk is not what its blob, a Git LFS pointer, promises.
func (s status) anyNotLFS(ctx context.Context, files []Entry) (bool, error) {
	if len(files) == 0 {
		return false, nil
	}
	top, err := os.OpenRoot(s.r.place.top)
	if err != nil {
		return false, err
	}
	defer top.Close()
	errDiffers := errors.New("differs")
	err = s.r.program.each(ctx, s.r.private, files, func(e Entry, size int64, content io.Reader) error {
		if size > pointerLimit {
			return errDiffers
		}
		text, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		want, ok := parseLFSPointer(text)
		if !ok {
			return errDiffers
		}
		got, err := hashLFS(top, e.Path, want.size)
		if err != nil {
			return err
		}
		if got != want {
			return errDiffers
		}
		return nil
	})
	if errors.Is(err, errDiffers) {
		return true, nil
	}
	return false, err
}

// lfsPointer is what a Git LFS pointer promises (git-lfs specification, version 1).
type lfsPointer struct {
	sha256 string
	size   int64
}

func parseLFSPointer(text []byte) (lfsPointer, bool) {
	var p lfsPointer
	lines := strings.Split(string(text), "\n")
	if lines[0] != "version https://git-lfs.github.com/spec/v1" {
		return p, false
	}
	for _, line := range lines[1:] {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "oid":
			p.sha256, _ = strings.CutPrefix(value, "sha256:")
		case "size":
			size, err := strconv.ParseInt(value, 10, 64)
			if err != nil || size < 0 {
				return lfsPointer{}, false
			}
			p.size = size
		}
	}
	return p, len(p.sha256) == 2*sha256.Size && isID(p.sha256)
}

// hashLFS hashes the file only when its size is the one expected.
func hashLFS(top *os.Root, path string, size int64) (lfsPointer, error) {
	info, err := top.Lstat(path)
	if err != nil {
		return lfsPointer{}, err
	}
	if !info.Mode().IsRegular() || info.Size() != size {
		return lfsPointer{}, nil
	}
	f, err := top.Open(path)
	if err != nil {
		return lfsPointer{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return lfsPointer{}, fmt.Errorf("hash %q: %w", path, err)
	}
	return lfsPointer{sha256: hex.EncodeToString(h.Sum(nil)), size: n}, nil
}

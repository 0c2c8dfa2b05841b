package git

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// comparison is a directory and the tree it should be.
type comparison struct {
	top    string
	files  []Entry
	ignore []string
	format string
}

// compare says how the directory differs from the tree, or "". Folders are read once, files hashed
// by as many workers as there are processors.
func compare(ctx context.Context, c comparison) (string, error) {
	w := walk{comparison: c, entries: make(map[string]Entry, len(c.files)), folders: map[string]bool{"": true}}
	for _, e := range c.files {
		w.entries[e.Path] = e
		for dir := path.Dir(e.Path); dir != "." && !w.folders[dir]; dir = path.Dir(dir) {
			w.folders[dir] = true
		}
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	queue := make(chan Entry, 256)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			c := checker{top: w.top, h: newHash(w.format), buf: make([]byte, 64<<10)}
			for e := range queue {
				if err := c.check(e); err != nil {
					stop(err)
				}
			}
		})
	}
	w.queue = queue
	err := w.folder(ctx, "")
	close(queue)
	workers.Wait()
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil && w.seen != len(c.files) {
		err = difference("a tracked file is not there")
	}
	if d, ok := err.(difference); ok {
		return string(d), nil
	}
	return "", err
}

// difference ends a comparison with an answer.
type difference string

func (d difference) Error() string { return string(d) }

func differs(name, how string) error { return difference(fmt.Sprintf("%q %s", name, how)) }

type walk struct {
	comparison
	entries map[string]Entry
	folders map[string]bool
	queue   chan<- Entry
	seen    int
}

// folder reads the folder at name, "" for the top, and all below it.
func (w *walk) folder(ctx context.Context, name string) error {
	found, err := os.ReadDir(filepath.Join(w.top, name))
	if err != nil {
		return err
	}
	for _, f := range found {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at := f.Name()
		if name != "" {
			at = name + "/" + at
		}
		if at == ".git" {
			continue
		}
		if err := w.visit(ctx, at, f); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) visit(ctx context.Context, at string, f fs.DirEntry) error {
	e, tracked := w.entries[at]
	switch {
	case tracked && e.Mode == Submodule:
		return w.submodule(at, f)
	case tracked:
		w.seen++
		select {
		case w.queue <- e:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	case f.IsDir() && (w.folders[at] || !w.ignored(at)):
		return w.folder(ctx, at)
	case w.ignored(at):
		return nil
	}
	return differs(at, "is not tracked")
}

func (w *walk) ignored(at string) bool {
	for _, prefix := range w.ignore {
		prefix = strings.TrimSuffix(prefix, "/")
		if at == prefix || strings.HasPrefix(at, prefix+"/") {
			return true
		}
	}
	return false
}

func (w *walk) submodule(at string, f fs.DirEntry) error {
	w.seen++
	if !f.IsDir() {
		return differs(at, "is not the empty directory of a submodule")
	}
	inside, err := os.ReadDir(filepath.Join(w.top, at))
	if err != nil {
		return err
	}
	if len(inside) > 0 {
		return differs(at, "is a submodule that is checked out")
	}
	return nil
}

// checker is one worker, with what it uses again for every file.
type checker struct {
	top string
	h   hash.Hash
	buf []byte
}

// check compares kind, mode and bytes of one file with its entry.
func (c checker) check(e Entry) error {
	name := filepath.Join(c.top, e.Path)
	info, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if got := modeOf(info.Mode()); got != e.Mode {
		return differs(e.Path, fmt.Sprintf("has mode %s, not %s", got, e.Mode))
	}
	id, err := c.hash(name, info)
	if err != nil {
		return err
	}
	if id != e.ID {
		return differs(e.Path, "has other bytes")
	}
	return nil
}

func modeOf(m fs.FileMode) Mode {
	switch {
	case m&fs.ModeSymlink != 0:
		return Symlink
	case !m.IsRegular():
		return 0
	case m&0o100 != 0:
		return Executable
	}
	return Regular
}

// hash is the object id: the digest of "blob SIZE", a NUL and the content.
func (c checker) hash(name string, info fs.FileInfo) (string, error) {
	c.h.Reset()
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(c.h, "blob %d\x00%s", len(target), target)
		return hex.EncodeToString(c.h.Sum(nil)), nil
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	fmt.Fprintf(c.h, "blob %d\x00", info.Size())
	// Only a plain Reader is read through the buffer; a file would bring one of its own.
	if _, err := io.CopyBuffer(c.h, struct{ io.Reader }{f}, c.buf); err != nil {
		return "", err
	}
	return hex.EncodeToString(c.h.Sum(nil)), nil
}

func newHash(format string) hash.Hash {
	if format == "sha256" {
		return sha256.New()
	}
	return sha1.New()
}

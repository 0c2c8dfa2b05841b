package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Describe is what `git describe --tags --always --dirty` prints in the checkout. Configured
// filters are not run to find that out: a file that one of them converts counts as changed when
// its size or times, in whole seconds, are not those of the index, except that a Git LFS file is
// compared with the digest in its pointer.
func (r *Repository) Describe(ctx context.Context) (string, error) {
	if _, err := r.Head(ctx); err != nil {
		return "", err
	}
	status, err := r.openStatus()
	if err != nil {
		return "", err
	}
	defer status.close()
	out, err := r.program.output(ctx, call{gitDir: status.gitDir, args: []string{"describe", "--tags", "--always"}})
	if err != nil {
		return "", err
	}
	name := strings.TrimSpace(string(out))
	dirty, err := status.dirty(ctx)
	if err != nil {
		return "", err
	}
	if dirty {
		name += "-dirty"
	}
	return name, nil
}

// HasTags reports whether there is any tag; without one, Describe is an abbreviated commit id.
func (r *Repository) HasTags(ctx context.Context) (bool, error) {
	out, err := r.output(ctx, "for-each-ref", "--count=1", "--format=%(refname)", "refs/tags")
	return len(out) > 0, err
}

// status looks at the checkout's files through its own index and the settings and attributes
// that say how files relate to blobs. The git directory is ours: it knows no filter to run.
type status struct {
	r      *Repository
	gitDir string
	index  string
}

// openStatus must be paired with close.
func (r *Repository) openStatus() (status, error) {
	parent, err := os.MkdirTemp(r.scratch, "status-")
	if err != nil {
		return status{}, err
	}
	s := status{r: r, gitDir: filepath.Join(parent, "git"), index: filepath.Join(r.place.gitDir, "index")}
	d := r.dir(s.gitDir)
	d.neutral = false
	d.bare = r.place.top == ""
	d.settings = r.config.worktree()
	err = d.make()
	if err == nil {
		err = s.borrow()
	}
	if err != nil {
		return status{}, errors.Join(err, s.close())
	}
	return s, nil
}

func (s status) close() error { return os.RemoveAll(filepath.Dir(s.gitDir)) }

// borrow copies what git looks for beside the index: attributes, the sparse patterns, and shared
// indexes, whose times git would touch.
func (s status) borrow() error {
	place := s.r.place
	files := map[string]string{
		filepath.Join(place.common, "info", "attributes"):      filepath.Join(s.gitDir, "info", "attributes"),
		filepath.Join(place.gitDir, "info", "sparse-checkout"): filepath.Join(s.gitDir, "info", "sparse-checkout"),
	}
	shared, err := sharedIndexes(place.gitDir)
	if err != nil {
		return err
	}
	for _, path := range shared {
		files[path] = filepath.Join(s.gitDir, filepath.Base(path))
	}
	for from, to := range files {
		limit := int64(attributesLimit)
		if strings.HasPrefix(filepath.Base(from), "sharedindex.") {
			limit = outputLimit
		}
		text, err := readSmall(from, limit)
		if err != nil {
			return err
		}
		if text == nil {
			continue
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// sharedIndexes are the files that a split index keeps most of its entries in.
func sharedIndexes(gitDir string) ([]string, error) {
	entries, err := os.ReadDir(gitDir)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "sharedindex.") {
			paths = append(paths, filepath.Join(gitDir, e.Name()))
		}
	}
	return paths, nil
}

func (s status) call(args ...string) call {
	return call{gitDir: s.gitDir, workTree: s.r.place.top, index: s.index, args: args}
}

// dirty reports whether a tracked file differs from HEAD, in the index or on disk.
func (s status) dirty(ctx context.Context) (bool, error) {
	if s.r.place.top == "" {
		return false, nil
	}
	// A changed submodule is looked at below: git would start another git in it, with that
	// repository's own configuration.
	out, err := s.r.program.output(ctx, s.call("status", "--porcelain=v2", "-z", "-uno", "--no-renames",
		"--no-ahead-behind", "--ignore-submodules=dirty"))
	if err != nil {
		return false, err
	}
	changed, err := parseStatus(string(out))
	if err != nil {
		return false, err
	}
	for _, e := range changed {
		if !e.contentOnly {
			return true, nil
		}
	}
	if len(changed) > 0 {
		if differ, err := s.differ(ctx, changed); err != nil || differ {
			return differ, err
		}
	}
	return s.dirtySubmodule(ctx)
}

// statusEntry is a tracked path that is not as HEAD has it.
type statusEntry struct {
	path string
	id   string // the blob in the index
	// contentOnly says that index and HEAD agree, and that the file on disk has the right mode.
	contentOnly bool
}

// parseStatus reads the ordinary and unmerged entries of `git status --porcelain=v2 -z`:
// "1 XY SUB MODE_HEAD MODE_INDEX MODE_DISK ID_HEAD ID_INDEX PATH" (git-status(1)).
func parseStatus(text string) ([]statusEntry, error) {
	var entries []statusEntry
	for item := range strings.SplitSeq(strings.TrimSuffix(text, "\x00"), "\x00") {
		if item == "" {
			continue
		}
		if strings.HasPrefix(item, "u ") {
			entries = append(entries, statusEntry{})
			continue
		}
		field := strings.SplitN(item, " ", 9)
		if len(field) != 9 || field[0] != "1" || !isID(field[7]) || field[8] == "" {
			return nil, fmt.Errorf("read status: unexpected entry %q", item)
		}
		entries = append(entries, statusEntry{
			path: field[8], id: field[7],
			contentOnly: field[1] == ".M" && field[2] == "N..." && field[4] == field[5],
		})
	}
	return entries, nil
}

// dirtySubmodule looks into the submodules that are checked out. Each is opened as a repository
// of its own, so nothing of its configuration runs either.
func (s status) dirtySubmodule(ctx context.Context) (bool, error) {
	top := s.r.place.top
	if _, err := os.Lstat(filepath.Join(top, ".gitmodules")); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	out, err := s.r.program.output(ctx, s.call("ls-files", "--stage", "-z"))
	if err != nil {
		return false, err
	}
	for item := range strings.SplitSeq(string(out), "\x00") {
		meta, path, _ := strings.Cut(item, "\t")
		dir := filepath.Join(top, path)
		if !strings.HasPrefix(meta, Submodule.String()) {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, ".git")); err != nil {
			continue
		}
		if dirty, err := dirtyAt(ctx, dir, s.r.options); err != nil || dirty {
			return dirty, err
		}
	}
	return false, nil
}

func dirtyAt(ctx context.Context, dir string, o Options) (bool, error) {
	sub, err := Open(ctx, dir, o)
	if err != nil {
		return false, err
	}
	defer sub.Close()
	s, err := sub.openStatus()
	if err != nil {
		return false, err
	}
	defer s.close()
	return s.dirty(ctx)
}

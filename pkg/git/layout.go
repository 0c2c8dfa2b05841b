package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// LayOut says which tree to lay out where.
type LayOut struct {
	// Rev is the commit; HEAD will be detached at it.
	Rev string
	// Dir is the directory to make; its parent must exist.
	Dir string
	// Refs are names below refs/ and the commits they get, as any revision.
	Refs map[string]string
}

// Laid is a tree on disk with a git directory of our own.
type Laid struct {
	Commit, Tree string
	// Dir is the tree and GitDir its git directory, absolute.
	Dir, GitDir string
	// Objects are the directories of other repositories that git has to read there.
	Objects []string
	// Files counts what the tree has: files, links (also refused ones) and submodules.
	Files int
	// Refused are symbolic links that are not on disk, since they lead out of the tree or into
	// .git. The index says so, and status there is clean.
	Refused []Refused
	// Submodules are empty directories on disk.
	Submodules []string
}

// LayOut writes the files of a commit, byte for byte as its blobs have them, into a new directory
// with a repository of its own in .git: history, status and blame work there as in a clone, but
// its configuration is ours. Objects are borrowed from the checkout, which is not written to. A
// tree with a path such as ".git" is ErrPath, an object that the clone lacks ErrMissing. When it
// fails, nothing is left.
func (r *Repository) LayOut(ctx context.Context, want LayOut) (Laid, error) {
	laid, d, err := r.prepare(ctx, want)
	if err != nil {
		return Laid{}, err
	}
	if err := os.Mkdir(laid.Dir, 0o755); err != nil {
		return Laid{}, err
	}
	laid.GitDir = filepath.Join(laid.Dir, ".git")
	d.path = laid.GitDir
	err = d.make()
	if err == nil {
		err = r.program.fill(ctx, &laid)
	}
	if err != nil {
		return Laid{}, errors.Join(fmt.Errorf("lay out %s: %w", laid.Commit, err), os.RemoveAll(laid.Dir))
	}
	return laid, nil
}

// PrivateGitDir makes the same repository for the checkout's own files, as a git directory at
// want.Dir outside of it: for a tree that IsTree says is exact. It needs GIT_DIR alone to be used;
// its index starts from the checkout's, so that status does not read every file again.
func (r *Repository) PrivateGitDir(ctx context.Context, want LayOut) (Laid, error) {
	if r.place.top == "" {
		return Laid{}, notRepository(r.place.gitDir, "it is bare, there are no files")
	}
	laid, d, err := r.prepare(ctx, want)
	if err != nil {
		return Laid{}, err
	}
	laid.Dir, laid.GitDir = r.place.top, laid.Dir
	d.path, d.workTree = laid.GitDir, laid.Dir
	err = d.make()
	if errors.Is(err, fs.ErrExist) {
		return Laid{}, err
	}
	if err == nil {
		err = r.adoptIndex(ctx, &laid)
	}
	if err != nil {
		return Laid{}, errors.Join(fmt.Errorf("make git directory for %s: %w", laid.Commit, err), os.RemoveAll(laid.GitDir))
	}
	return laid, nil
}

// prepare resolves what is wanted; laid.Dir is want.Dir, absolute.
func (r *Repository) prepare(ctx context.Context, want LayOut) (Laid, gitDir, error) {
	names := slices.Sorted(maps.Keys(want.Refs))
	revs := []string{want.Rev}
	for _, name := range names {
		if !plainRef(name) {
			return Laid{}, gitDir{}, badRevision(name, "it is no plain name below refs/")
		}
		revs = append(revs, want.Refs[name])
	}
	found, err := r.resolve(ctx, revs...)
	if err != nil {
		return Laid{}, gitDir{}, err
	}
	d := r.dir("")
	d.refsOf, d.refs, d.head = "", map[string]string{}, found[0].commit
	for i, name := range names {
		d.refs[name] = found[i+1].commit
	}
	laid := Laid{Commit: found[0].commit, Tree: found[0].tree}
	if laid.Objects, err = objectDirs(d.objects); err != nil {
		return Laid{}, gitDir{}, err
	}
	laid.Dir, err = newPath(want.Dir)
	return laid, d, err
}

// newPath resolves all but the last element, which is still to be made.
func newPath(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(abs))
	if err != nil {
		return "", err
	}
	return filepath.Join(parent, filepath.Base(abs)), nil
}

// plainRef allows less than git-check-ref-format(1): the names are ours to choose.
func plainRef(name string) bool {
	parts := strings.Split(name, "/")
	if len(parts) < 3 || parts[0] != "refs" {
		return false
	}
	for _, part := range parts {
		letters := strings.Trim(part, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
		if part == "" || letters != "" || part[0] == '.' || strings.Contains(part, "..") ||
			strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return true
}

// fill writes index and files of laid, whose git directory is made.
func (p program) fill(ctx context.Context, laid *Laid) error {
	at := call{gitDir: laid.GitDir, workTree: laid.Dir}
	indexed := make(chan error, 1)
	go func() { // the index does not need to know about links
		_, err := p.output(ctx, at.with("read-tree", laid.Tree))
		indexed <- err
	}()
	err := p.inspect(ctx, laid)
	if err := errors.Join(<-indexed, err); err != nil {
		return err
	}
	if err := p.hide(ctx, at, laid.Refused); err != nil {
		return err
	}
	if _, err := p.output(ctx, at.with("checkout-index", "--all", "--index", "--quiet")); err != nil {
		return err
	}
	// git before 2.36 writes hidden entries all the same.
	for _, link := range laid.Refused {
		err := os.Remove(filepath.Join(laid.Dir, filepath.FromSlash(link.Path)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// inspect counts the entries of the tree and finds links to refuse and submodules.
func (p program) inspect(ctx context.Context, laid *Laid) error {
	out, err := p.output(ctx, call{gitDir: laid.GitDir, args: []string{"ls-tree", "-r", "-z", "--full-tree", laid.Tree}})
	if err != nil {
		return err
	}
	files, err := parseTree(out)
	if err != nil {
		return err
	}
	laid.Files = len(files)
	for _, e := range files {
		if e.Mode == Submodule {
			laid.Submodules = append(laid.Submodules, e.Path)
		}
	}
	laid.Refused, err = p.readLinks(ctx, laid.GitDir, files)
	return err
}

// hide marks entries as not on disk on purpose.
func (p program) hide(ctx context.Context, at call, refused []Refused) error {
	if len(refused) == 0 {
		return nil
	}
	var paths strings.Builder
	for _, link := range refused {
		paths.WriteString(link.Path + "\x00")
	}
	at = at.with("update-index", "--skip-worktree", "-z", "--stdin")
	at.stdin = strings.NewReader(paths.String())
	_, err := p.output(ctx, at)
	return err
}

// adoptIndex makes an index of laid.Tree that keeps what the checkout's index knows of the files.
func (r *Repository) adoptIndex(ctx context.Context, laid *Laid) error {
	names, err := sharedIndexes(r.place.gitDir)
	if err != nil {
		return err
	}
	for _, from := range append(names, filepath.Join(r.place.gitDir, "index")) {
		data, err := readSmall(from, outputLimit)
		if err != nil {
			return err
		}
		if data == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(laid.GitDir, filepath.Base(from)), data, 0o644); err != nil {
			return err
		}
	}
	at := call{gitDir: laid.GitDir, workTree: laid.Dir}
	if _, err := r.program.output(ctx, at.with("read-tree", "--reset", laid.Tree)); err != nil {
		return err
	}
	for _, name := range names {
		if err := os.Remove(filepath.Join(laid.GitDir, filepath.Base(name))); err != nil {
			return err
		}
	}
	return r.program.inspect(ctx, laid)
}

func (c call) with(args ...string) call {
	c.args = args
	return c
}

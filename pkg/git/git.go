// Package git asks the git program about a checkout that may be hostile, and lays trees out of it.
//
// It does not trust the repository: no process ever runs with the checkout's own configuration.
// Open makes a private git directory that shares objects and refs with the checkout and has a
// configuration written here, so a hook, filter, monitor, include or credential named in the
// checkout's configuration is never read as such. It does not fetch, commit or push, and writes
// nothing into the checkout.
package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Options says how git is run.
type Options struct {
	// Git is the program, a name looked up in PATH or a path; "git" when empty.
	Git string
	// Scratch is the directory in which the private git directory is made; the system's
	// temporary directory when empty.
	Scratch string
	// BlobLimit is the size in bytes over which a blob is not read; 32 MiB when 0.
	BlobLimit int64
}

const defaultBlobLimit = 32 << 20

// Repository is one checkout as Open found it. HEAD and the shallow boundary are those of that
// moment. It is safe for concurrent use until Close.
type Repository struct {
	place    place
	program  program
	options  Options
	config   config
	head     string
	shallow  []byte
	scratch  string
	private  string
	packed   map[string]string
	external bool // refs are read by git into packed, the format is not ours to link
}

// Open finds the repository that dir lies in, as git does: the nearest directory upwards with a
// .git, or dir itself when it is bare. It is ErrNotRepository when there is none. Close it.
func Open(ctx context.Context, dir string, o Options) (*Repository, error) {
	found, err := find(dir)
	if err != nil {
		return nil, err
	}
	prog, err := newProgram(o.Git)
	if err != nil {
		return nil, err
	}
	if o.BlobLimit == 0 {
		o.BlobLimit = defaultBlobLimit
	}
	scratch, err := os.MkdirTemp(o.Scratch, "recibo-git-")
	if err != nil {
		return nil, err
	}
	r := &Repository{place: found, program: prog, options: o, scratch: scratch}
	if err := r.read(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// read learns the checkout's format and makes the private git directory.
func (r *Repository) read(ctx context.Context) (err error) {
	// The name may be a link, in a temporary directory too; git wants it resolved.
	if r.scratch, err = filepath.EvalSymlinks(r.scratch); err != nil {
		return err
	}
	if r.config, err = r.readConfig(ctx, filepath.Join(r.place.common, "config")); err != nil {
		return err
	}
	if r.config.get("extensions.worktreeconfig") == "true" {
		own, err := r.readConfig(ctx, filepath.Join(r.place.gitDir, "config.worktree"))
		if err != nil {
			return err
		}
		r.config = append(r.config, own...)
	}
	if err := r.config.supported(); err != nil {
		return notRepository(r.place.gitDir, err.Error())
	}
	if r.head, err = readHead(r.place.gitDir); err != nil {
		return err
	}
	if r.shallow, err = readSmall(filepath.Join(r.place.common, "shallow"), shallowLimit); err != nil {
		return err
	}
	if r.external = r.config.refFormat() != "files"; r.external {
		if err := r.readRefs(ctx); err != nil {
			return err
		}
	}
	r.private = filepath.Join(r.scratch, "objects")
	d := r.dir(r.private)
	d.bare = true
	return d.make()
}

// dir is a private git directory with this repository's objects, refs and HEAD.
func (r *Repository) dir(path string) gitDir {
	d := gitDir{
		path:    path,
		format:  r.config.objectFormat(),
		objects: filepath.Join(r.place.common, "objects"),
		shallow: r.shallow,
		head:    r.head,
		refs:    r.packed,
		neutral: true,
	}
	if !r.external {
		d.refsOf = r.place.common
	}
	return d
}

// readRefs asks git for the refs of a repository that keeps them in a format of its own. It is
// the one question asked of the checkout's own git directory: listing refs starts nothing.
func (r *Repository) readRefs(ctx context.Context) error {
	out, err := r.program.output(ctx, call{
		gitDir: r.place.gitDir,
		args:   []string{"for-each-ref", "--format=%(objectname) %(refname)"},
	})
	if err != nil {
		return err
	}
	if r.packed, err = parseRefs(out); err != nil {
		return err
	}
	if name, ok := strings.CutPrefix(r.head, "ref: "); ok && name != "refs/heads/.invalid" {
		return nil
	}
	out, err = r.program.output(ctx, call{
		gitDir: r.place.gitDir,
		args:   []string{"rev-parse", "--symbolic-full-name", "--verify", "HEAD"},
	})
	if err != nil {
		return unborn(r.place.gitDir)
	}
	if name := strings.TrimSpace(string(out)); strings.HasPrefix(name, "refs/") {
		r.head = "ref: " + name
		return nil
	}
	out, err = r.program.output(ctx, call{gitDir: r.place.gitDir, args: []string{"rev-parse", "--verify", "HEAD"}})
	r.head = strings.TrimSpace(string(out))
	return err
}

func parseRefs(out []byte) (map[string]string, error) {
	refs := map[string]string{}
	for line := range strings.Lines(string(out)) {
		id, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if !ok || !isID(id) || !strings.HasPrefix(name, "refs/") {
			return nil, fmt.Errorf("read refs: unexpected line %q", line)
		}
		refs[name] = id
	}
	return refs, nil
}

// Close removes the private git directory.
func (r *Repository) Close() error { return os.RemoveAll(r.scratch) }

// Top is the absolute path of the checkout, links resolved, or "" for a bare repository.
func (r *Repository) Top() string { return r.place.top }

// ObjectFormat is "sha1" or "sha256".
func (r *Repository) ObjectFormat() string { return r.config.objectFormat() }

// Shallow reports whether history was cut when the repository was cloned.
func (r *Repository) Shallow() bool { return len(r.shallow) > 0 }

// objectsCall is a question that only objects and refs answer, never the files of the checkout.
func (r *Repository) objectsCall(args ...string) call { return call{gitDir: r.private, args: args} }

func (r *Repository) output(ctx context.Context, args ...string) ([]byte, error) {
	return r.program.output(ctx, r.objectsCall(args...))
}

package git

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"
)

// Head is the full id of the commit that HEAD named when the repository was opened, what
// `git rev-parse HEAD` prints; ErrUnborn when its branch has none.
func (r *Repository) Head(ctx context.Context) (string, error) {
	found, err := r.resolve(ctx, "HEAD")
	if err == nil {
		return found[0].commit, nil
	}
	name, ok := strings.CutPrefix(r.head, "ref: ")
	if ok {
		if _, absent := r.output(ctx, "show-ref", "--verify", "--quiet", "--", name); exitCode(absent) == 1 {
			return "", unborn(r.place.gitDir)
		}
	}
	return "", err
}

// Commit is the full id of the commit that rev names. It takes ids, refs and their ancestors
// (HEAD~2), tags included; options, ranges, searches and reflogs are ErrRevision, what the clone
// does not have is ErrMissing.
func (r *Repository) Commit(ctx context.Context, rev string) (string, error) {
	found, err := r.resolve(ctx, rev)
	if err != nil {
		return "", err
	}
	return found[0].commit, nil
}

// Tree is the full id of the tree of the commit that rev names.
func (r *Repository) Tree(ctx context.Context, rev string) (string, error) {
	found, err := r.resolve(ctx, rev)
	if err != nil {
		return "", err
	}
	return found[0].tree, nil
}

// resolved is a revision with the commit and the tree it names.
type resolved struct{ rev, commit, tree string }

// resolve asks for all revs at once. They go through standard input, where nothing is an option.
func (r *Repository) resolve(ctx context.Context, revs ...string) ([]resolved, error) {
	var ask strings.Builder
	for _, rev := range revs {
		if why := refused(rev); why != "" {
			return nil, badRevision(rev, why)
		}
		fmt.Fprintf(&ask, "%s^{commit}\n%s^{tree}\n", rev, rev)
	}
	c := r.objectsCall("cat-file", "--batch-check=%(objectname) %(objecttype)")
	c.stdin = strings.NewReader(ask.String())
	out, err := r.program.output(ctx, c)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != 2*len(revs) {
		return nil, fmt.Errorf("resolve %d revisions: %d answers", len(revs), len(lines))
	}
	found := make([]resolved, len(revs))
	for i, rev := range revs {
		commit, isCommit := strings.CutSuffix(lines[2*i], " commit")
		tree, isTree := strings.CutSuffix(lines[2*i+1], " tree")
		switch {
		case strings.HasSuffix(lines[2*i], " ambiguous"):
			return nil, badRevision(rev, "it is ambiguous")
		case !isCommit && isTree:
			return nil, badRevision(rev, "it is a tree, not a commit")
		case !isCommit || !isTree:
			return nil, missing(rev, r.place.gitDir)
		}
		found[i] = resolved{rev: rev, commit: commit, tree: tree}
	}
	return found, nil
}

// refused says why rev is not asked for, or "". gitrevisions(7) has forms that search messages,
// read the reflog, or name ranges: nobody means them by an input.
func refused(rev string) string {
	switch {
	case rev == "":
		return "it is empty"
	case len(rev) > 1024:
		return "it is too long"
	case rev[0] == '-':
		return "it looks like an option"
	case strings.ContainsFunc(rev, isControl), strings.ContainsAny(rev, " :?*[\\"):
		return "it has a character that no ref has"
	case strings.Contains(rev, "..") || strings.Contains(rev, "@{") || strings.Contains(rev, "^{") || rev[0] == '^':
		return "it is a range, a search or a reflog entry"
	}
	return ""
}

// MergeBase is the best common ancestor of a and b, the first that git names when there are
// several. Without one the error is ErrNoMergeBase: in a shallow clone history ends too early to
// tell, otherwise the histories are unrelated.
func (r *Repository) MergeBase(ctx context.Context, a, b string) (string, error) {
	found, err := r.resolve(ctx, a, b)
	if err != nil {
		return "", err
	}
	out, err := r.output(ctx, "merge-base", found[0].commit, found[1].commit)
	if exitCode(err) == 1 && len(out) == 0 {
		return "", r.noMergeBase(a, b)
	}
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(out)), nil
}

func (r *Repository) noMergeBase(a, b string) error {
	if r.Shallow() {
		return &Error{
			kind: ErrNoMergeBase, hint: hintDepth,
			text: fmt.Sprintf("find merge base of %q and %q: the clone is shallow and holds none", a, b),
		}
	}
	return &Error{
		kind: ErrNoMergeBase, hint: "rebase the branch onto its base",
		text: fmt.Sprintf("find merge base of %q and %q: their histories are unrelated", a, b),
	}
}

// LastCommit is the newest commit up to rev that changed path, and when it was committed. In a
// shallow clone it is the oldest commit there when the true one was cut off. A path that no
// commit touched is fs.ErrNotExist.
func (r *Repository) LastCommit(ctx context.Context, rev, path string) (string, time.Time, error) {
	if !validPath(path) {
		return "", time.Time{}, notExist(rev, path)
	}
	found, err := r.resolve(ctx, rev)
	if err != nil {
		return "", time.Time{}, err
	}
	out, err := r.output(ctx, "log", "-1", "--no-show-signature", "--format=%H %ct", found[0].commit, "--", path)
	if err != nil {
		return "", time.Time{}, err
	}
	out = bytes.TrimSpace(out)
	if len(out) == 0 {
		return "", time.Time{}, notExist(rev, path)
	}
	var id string
	var seconds int64
	if _, err := fmt.Sscanf(string(out), "%s %d", &id, &seconds); err != nil || !isID(id) {
		return "", time.Time{}, fmt.Errorf("find last commit of %q: unexpected answer %q", path, out)
	}
	return id, time.Unix(seconds, 0).UTC(), nil
}

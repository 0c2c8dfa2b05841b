package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// IsTree reports whether an agent may be given the checkout's own files as the tree of rev: every
// file has exactly its blob's bytes, mode and kind, there is no other file, tracked, ignored or
// not, except below the paths in ignore, no submodule is checked out, no link leads out of the
// tree, and .git holds no credentials and nothing unknown. Otherwise why says what is in the way.
//
// It reads every file and believes no index: times can be set, entries be marked as unchanged,
// filters change bytes, and each of these has git say that all is clean.
func (r *Repository) IsTree(ctx context.Context, rev string, ignore []string) (exact bool, why string, err error) {
	if r.place.top == "" {
		return false, "the repository is bare", nil
	}
	if why, err := r.exposes(); err != nil || why != "" {
		return false, why, err
	}
	if why, err := r.marked(ctx); err != nil || why != "" {
		return false, why, err
	}
	found, err := r.resolve(ctx, rev)
	if err != nil {
		return false, "", err
	}
	out, err := r.output(ctx, "ls-tree", "-r", "-z", "--full-tree", found[0].tree)
	if err != nil {
		return false, "", err
	}
	files, err := parseTree(out)
	if err != nil {
		return false, "", err
	}
	refused, err := r.program.readLinks(ctx, r.private, files)
	if err != nil {
		return false, "", err
	}
	if len(refused) > 0 {
		return false, fmt.Sprintf("link %q %s", refused[0].Path, refused[0].Why), nil
	}
	why, err = compare(ctx, comparison{top: r.place.top, files: files, ignore: ignore, format: r.config.objectFormat()})
	return err == nil && why == "", why, err
}

// exposes says what in .git an agent should not see. Names are those that git and actions/checkout
// leave there; settings of a single worktree, submodules' repositories and anything else are not
// among them.
func (r *Repository) exposes() (string, error) {
	if key, ok := r.config.harmless(); !ok {
		return fmt.Sprintf("its configuration has %q", key), nil
	}
	known := []string{
		"HEAD", "ORIG_HEAD", "FETCH_HEAD", "COMMIT_EDITMSG", "branches", "commondir", "config", "description",
		"gitdir", "hooks", "index", "info", "logs", "objects", "packed-refs", "refs", "reftable", "shallow", "worktrees",
	}
	for _, dir := range []string{r.place.gitDir, r.place.common} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return "", err
		}
		for _, e := range entries {
			if !slices.Contains(known, e.Name()) {
				return fmt.Sprintf("its git directory has %q", e.Name()), nil
			}
		}
	}
	return "", nil
}

// marked says which entry of the index git was told not to look at. PrivateGitDir starts from
// this index, and the mark would go on hiding what the agent does to the file.
func (r *Repository) marked(ctx context.Context) (string, error) {
	index := filepath.Join(r.place.gitDir, "index")
	if _, err := os.Stat(index); err != nil {
		return "it has no index", nil
	}
	out, err := r.program.output(ctx, call{
		gitDir: r.private, workTree: r.place.top, index: index,
		args: []string{"ls-files", "-v", "-z"},
	})
	if err != nil {
		return "", err
	}
	for item := range strings.SplitSeq(string(out), "\x00") {
		tag, path, _ := strings.Cut(item, " ")
		if tag != "" && tag != "H" {
			return fmt.Sprintf("%q is marked %q in the index", path, tag), nil
		}
	}
	return "", nil
}

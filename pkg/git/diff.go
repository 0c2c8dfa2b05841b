package git

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// diffOptions fix everything about a patch that configuration can change.
//
// The renames are git's own, 50 % alike; -l0 lifts the limit over which git stops looking for
// them and only warns. Whether a file is binary is for git's look at its bytes to say: the
// attributes in the tree are the author's, and "-diff" there must not hide a change from review.
// GitHub does obey that attribute and shows such a file as binary.
func diffOptions() []string {
	return []string{
		"diff-tree", "-r", "-M50%", "-l0", "--no-ext-diff", "--no-textconv", "--no-color",
		"--no-relative", "--ignore-submodules=none", "--submodule=short", "--full-index",
	}
}

func patchOptions() []string {
	return append(diffOptions(), "-p", "-U3", "--inter-hunk-context=0", "--diff-algorithm=myers",
		"--indent-heuristic", "--src-prefix=a/", "--dst-prefix=b/")
}

// Diff streams the patch from base to head as git-diff(1) prints it: three lines of context,
// renames, full ids, prefixes a/ and b/, names quoted when they hold anything but plain ASCII,
// submodules as one line each. Give it the merge base and it is what GitHub shows for a pull
// request. Reading to the end tells whether git succeeded; closing earlier ends git.
func (r *Repository) Diff(ctx context.Context, base, head string) (io.ReadCloser, error) {
	return r.diff(ctx, patchOptions(), [2]string{base, head})
}

func (r *Repository) diff(ctx context.Context, options []string, between [2]string) (*process, error) {
	found, err := r.resolve(ctx, between[0], between[1])
	if err != nil {
		return nil, err
	}
	return r.program.start(ctx, r.objectsCall(append(options, found[0].tree, found[1].tree)...))
}

// Change is how many lines of one file a patch adds and removes.
type Change struct {
	Path string
	// OldPath is what the file was called before; Path when it was not renamed.
	OldPath        string
	Added, Removed int
	Binary         bool
}

// Numstat counts the lines of each file that Diff shows, with the same renames.
func (r *Repository) Numstat(ctx context.Context, base, head string) ([]Change, error) {
	run, err := r.diff(ctx, append(diffOptions(), "--numstat", "-z"), [2]string{base, head})
	if err != nil {
		return nil, err
	}
	defer run.Close()
	out, err := io.ReadAll(io.LimitReader(run, outputLimit))
	if err != nil {
		return nil, err
	}
	return parseNumstat(string(out))
}

// parseNumstat reads "ADDED\tREMOVED\tPATH\0", or for a rename "ADDED\tREMOVED\t\0OLD\0NEW\0";
// a binary file has "-" for both numbers.
func parseNumstat(text string) ([]Change, error) {
	var changes []Change
	for text != "" {
		item, rest, ok := strings.Cut(text, "\x00")
		field := strings.SplitN(item, "\t", 3)
		if !ok || len(field) != 3 {
			return nil, fmt.Errorf("read numstat: unexpected entry %q", item)
		}
		c := Change{Path: field[2], OldPath: field[2], Binary: field[0] == "-" && field[1] == "-"}
		if c.Path == "" {
			var found [2]bool
			c.OldPath, rest, found[0] = strings.Cut(rest, "\x00")
			c.Path, rest, found[1] = strings.Cut(rest, "\x00")
			if found != [2]bool{true, true} || c.OldPath == "" || c.Path == "" {
				return nil, fmt.Errorf("read numstat: rename without names")
			}
		}
		if !c.Binary {
			added, err1 := strconv.ParseUint(field[0], 10, 31)
			removed, err2 := strconv.ParseUint(field[1], 10, 31)
			if err1 != nil || err2 != nil {
				return nil, fmt.Errorf("read numstat: counts in %q", item)
			}
			c.Added, c.Removed = int(added), int(removed)
		}
		changes, text = append(changes, c), rest
	}
	return changes, nil
}

package command

import (
	"bytes"
	"context"
	"iter"
	"maps"

	"github.com/recibo-ci/recibo/pkg/git"
	"github.com/recibo-ci/recibo/pkg/review"
)

// sideLeft is the side of the merge base; every other one is the head's.
const sideLeft = "LEFT"

// trees know the files of the reviewed commits and how many lines they have.
type trees struct {
	repo       *git.Repository
	head, base string
	// files and lines are keyed by commit, then by path.
	files map[string]map[string]bool
	lines map[string]map[string]int
}

func (t *trees) rev(side string) string {
	if side == sideLeft {
		return t.base
	}
	return t.head
}

// list reads the trees that the findings speak of.
func (t *trees) list(ctx context.Context, findings []review.Finding) error {
	t.files, t.lines = map[string]map[string]bool{}, map[string]map[string]int{}
	for _, f := range findings {
		rev := t.rev(f.Side)
		if f.Path == "" || t.files[rev] != nil {
			continue
		}
		entries, err := t.repo.Files(ctx, rev)
		if err != nil {
			return err
		}
		t.files[rev] = make(map[string]bool, len(entries))
		for _, e := range entries {
			t.files[rev][e.Path] = true
		}
	}
	return nil
}

func (t *trees) has(path, side string) bool { return t.files[t.rev(side)][path] }

func (t *trees) paths(side string) iter.Seq[string] { return maps.Keys(t.files[t.rev(side)]) }

// count reads every file that a finding names, each once.
func (t *trees) count(ctx context.Context, findings []review.Finding) error {
	wanted := map[string][]string{}
	for _, f := range findings {
		rev := t.rev(f.Side)
		if t.lines[rev] == nil {
			t.lines[rev] = map[string]int{}
		}
		if _, seen := t.lines[rev][f.Path]; seen || !t.files[rev][f.Path] {
			continue
		}
		t.lines[rev][f.Path] = 0
		wanted[rev] = append(wanted[rev], f.Path)
	}
	for rev, paths := range wanted {
		blobs, err := t.repo.Blobs(ctx, rev, paths...)
		if err != nil {
			return err
		}
		for path, blob := range blobs {
			t.lines[rev][path] = countLines(blob.Data)
		}
	}
	return nil
}

// Lines returns how many lines path has at head, or at the merge base for side LEFT. A last line
// without its newline counts.
func (t *trees) Lines(path, side string) (int, bool) {
	n, ok := t.lines[t.rev(side)][path]
	return n, ok
}

func countLines(b []byte) int {
	n := bytes.Count(b, []byte("\n"))
	if len(b) > 0 && b[len(b)-1] != '\n' {
		n++
	}
	return n
}

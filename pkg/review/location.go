package review

import (
	"fmt"
	"path"
	"strings"
)

// The states of a Location. Anything but LocationOK means that the finding can be told, but not
// shown at a line.
const (
	LocationUnchecked = ""
	LocationOK        = "ok"
	LocationNone      = "none"      // the finding names no file
	LocationNoFile    = "no_file"   // the tree has no such file on that side
	LocationBadRange  = "bad_range" // not 1 ≤ start ≤ end
	LocationPastEnd   = "past_end"  // the file ends before
	LocationBadSide   = "bad_side"  // neither RIGHT nor LEFT
	LocationOutside   = "outside_repository"
)

// Location says whether a finding's path and lines exist.
type Location struct {
	State string
	// Reason is State in words, with the numbers; "" for LocationOK and LocationUnchecked.
	Reason string
}

// Tree knows the reviewed files.
type Tree interface {
	// Lines returns how many lines the file at path has on side, RIGHT for the reviewed head and
	// LEFT for the merge base; ok is false when there is no such file. A last line without a
	// newline counts, as does each line that ends in one: "a" and "a\n" have one line, "" none.
	Lines(path, side string) (n int, ok bool)
}

// Locate sets the Location of every finding. It changes nothing else and drops none.
func (r *Review) Locate(tree Tree) {
	for i := range r.Findings {
		f := &r.Findings[i]
		f.Location.State, f.Location.Reason = f.locate(tree)
	}
}

func (f *Finding) locate(tree Tree) (state, reason string) {
	name := shorten(f.Path, 160)
	switch {
	case f.Path == "":
		return LocationNone, "the finding names no file"
	case f.Side != "RIGHT" && f.Side != "LEFT":
		return LocationBadSide, fmt.Sprintf("side is %q, not RIGHT or LEFT", shorten(f.Side, 40))
	case isOutside(f.Path):
		return LocationOutside, name + " is not a path inside the repository"
	}
	last, ok := tree.Lines(f.Path, f.Side)
	switch {
	case !ok && f.Side == "LEFT":
		return LocationNoFile, name + " does not exist at the merge base"
	case !ok:
		return LocationNoFile, name + " does not exist at the reviewed head"
	case f.StartLine < 1 || f.EndLine < f.StartLine:
		return LocationBadRange, fmt.Sprintf("lines %d to %d are no range of lines", f.StartLine, f.EndLine)
	case f.EndLine > last:
		return LocationPastEnd, fmt.Sprintf("line %d is past line %d, the last of %s", f.EndLine, last, name)
	}
	return LocationOK, ""
}

// isOutside reports whether p, taken as text, cannot be below the top of a repository.
func isOutside(p string) bool {
	clean := path.Clean(p)
	drive := len(p) > 2 && p[1] == ':' && (p[2] == '\\' || p[2] == '/')
	return path.IsAbs(p) || clean == ".." || strings.HasPrefix(clean, "../") || drive
}

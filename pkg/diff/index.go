package diff

import "fmt"

// Index finds the files of a diff by their paths.
type Index struct {
	files []File
	// byNew and byOld hold places in files. A copy is not in byOld: its source stays a file of
	// its own.
	byNew, byOld map[string]int
}

// NewIndex returns the index of files, as Parse returned them.
func NewIndex(files []File) *Index {
	x := &Index{files: files, byNew: make(map[string]int), byOld: make(map[string]int)}
	for i, f := range files {
		if f.New != "" {
			x.byNew[f.New] = i
		}
		if f.Old != "" && f.Status != Copied {
			x.byOld[f.Old] = i
		}
	}
	return x
}

// File returns the file that has path on side. Where there is none, the path of the other side
// counts if it cannot mean another file: a deleted file is found on the Right too, so that it can
// be told from one that never was, and a file on the Left also by its head path, which is how
// GitHub names it there.
func (x *Index) File(side Side, path string) (File, bool) {
	if side == Left {
		if i, ok := x.byOld[path]; ok {
			return x.files[i], true
		}
	}
	if i, ok := x.byNew[path]; ok {
		return x.files[i], true
	}
	if i, ok := x.byOld[path]; ok && x.files[i].New == "" {
		return x.files[i], true
	}
	return File{}, false
}

// Range is a range of lines of one file, from 1, both ends included. Lines of Right are those of
// the file at head, lines of Left those at base.
type Range struct {
	Path       string
	Side       Side
	Start, End int
}

// String returns "line 3" or "lines 3-5".
func (r Range) String() string {
	if r.Start == r.End {
		return fmt.Sprintf("line %d", r.Start)
	}
	return fmt.Sprintf("lines %d-%d", r.Start, r.End)
}

// Fit says how much of a range can be commented on.
type Fit uint8

// The fits.
const (
	// Inside means the whole range.
	Inside Fit = iota + 1
	// Clipped means a part, which Placement names.
	Clipped
	// Outside means nothing, although the file is in the diff.
	Outside
	// NoFile means that the file is not in the diff.
	NoFile
)

// String returns the fit as words.
func (f Fit) String() string {
	switch f {
	case Inside:
		return "inside"
	case Clipped:
		return "clipped"
	case Outside:
		return "outside"
	case NoFile:
		return "no file"
	}
	return "unknown"
}

// Placement is where a comment about a range can stand.
type Placement struct {
	Fit Fit
	// Range is what to give to GitHub when Fit is Inside or Clipped: its Path is the head path for
	// both sides, or the base path of a deleted file. Else it is the range that was asked for.
	Range Range
	// Reason tells a person why, without a period.
	Reason string
}

// Place says where a comment about r can stand.
//
// GitHub takes a comment of several lines only when all of them are lines of one hunk ("start
// line must be part of the same hunk as the line"), so a range that leaves a hunk is cut to one.
// That is the hunk with the most changed lines of the range, since a finding is about the change;
// among equals the one with the most lines, then the first. A range is never moved to a line
// outside of it.
func (x *Index) Place(r Range) Placement {
	outside := func(fit Fit, format string, args ...any) Placement {
		return Placement{Fit: fit, Range: r, Reason: fmt.Sprintf(format, args...)}
	}
	if r.Side != Left && r.Side != Right {
		return outside(Outside, "side %q is neither %s nor %s", r.Side, Left, Right)
	}
	if r.Start < 1 || r.End < r.Start {
		return outside(Outside, "%v: not a range of lines", r)
	}
	f, ok := x.File(r.Side, r.Path)
	if !ok {
		return outside(NoFile, "%q is not changed in the diff", r.Path)
	}
	best, found := f.clip(r)
	if !found {
		return outside(Outside, "%s", f.why(r))
	}
	p := Placement{Fit: Inside, Range: best, Reason: "all of it is in one hunk"}
	if best.Start != r.Start || best.End != r.End {
		p.Fit = Clipped
		p.Reason = fmt.Sprintf("%v reach beyond one hunk of the diff: kept %v, where most of the changes are", r, best)
	}
	return p
}

// clip returns the part of r that Place promises.
func (f File) clip(r Range) (best Range, found bool) {
	var bestChanged, bestLines int
	for h := range f.commentable(r.Side) {
		first, last := h.lines(r.Side)
		if first > r.End {
			break
		}
		part := Range{Path: f.Path(), Side: r.Side, Start: max(first, r.Start), End: min(last, r.End)}
		lines := part.End - part.Start + 1
		if lines < 1 {
			continue
		}
		changed := h.changed(part)
		if !found || changed > bestChanged || changed == bestChanged && lines > bestLines {
			best, bestChanged, bestLines, found = part, changed, lines, true
		}
	}
	return best, found
}

// changed counts the lines of r that are not context.
func (h Hunk) changed(r Range) (n int) {
	first, _ := h.lines(r.Side)
	for run := range h.Runs() {
		if !run.Kind.on(r.Side) {
			continue
		}
		if run.Kind != ContextLine {
			n += max(0, min(first+run.Lines-1, r.End)-max(first, r.Start)+1)
		}
		first += run.Lines
	}
	return n
}

// why says why no line of r can be commented on.
func (f File) why(r Range) string {
	switch {
	case f.name(r.Side) == "" && r.Side == Right:
		return "the file is deleted: its lines are on the side " + string(Left)
	case f.name(r.Side) == "":
		return "the file is new: its lines are on the side " + string(Right)
	case f.mode(r.Side).kind() == SubmoduleMode:
		return "it is a submodule, which has no lines"
	case f.hunks != "":
		return fmt.Sprintf("%v: not in the diff", r)
	case f.Binary:
		return "the file is binary for git"
	case f.Status == Renamed || f.Status == Copied:
		return fmt.Sprintf("the file is %s without a change", f.Status)
	case f.Status == Modified:
		return "only the file's mode is changed"
	}
	return "the file is empty"
}

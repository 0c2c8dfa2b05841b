// Package diff reads the output of git diff and answers where a line can be commented.
//
// It runs no process, keeps no text of the files, and knows nothing of GitHub's API beyond the
// rule of which lines can be commented. What it reads is a diff of two trees made with
//
//	--no-color --no-ext-diff --no-textconv --no-relative --full-index --submodule=short
//	--src-prefix=a/ --dst-prefix=b/ --unified=3 --inter-hunk-context=0
//
// and rename or copy detection as wanted. Options that hide lines (-w, --ignore-blank-lines, -I)
// make line numbers that only git can explain, and are refused where they show.
package diff

import (
	"encoding/hex"
	"fmt"
	"iter"
)

// Status says what became of a file, as the letters of git diff --raw do.
type Status uint8

// The statuses. A change of mode alone is Modified; TypeChanged is one kind of entry turned into
// another (file, symbolic link, submodule), which git prints as a deletion and a creation.
const (
	Modified Status = iota + 1
	Added
	Deleted
	Renamed
	Copied
	TypeChanged
)

// String returns the status as a lower-case word.
func (s Status) String() string {
	switch s {
	case Modified:
		return "modified"
	case Added:
		return "added"
	case Deleted:
		return "deleted"
	case Renamed:
		return "renamed"
	case Copied:
		return "copied"
	case TypeChanged:
		return "type changed"
	}
	return "unknown"
}

// MarshalText is String.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Mode is the mode of a tree entry as git prints it in octal. The zero value means that the diff
// does not tell: the side is absent, or the file was renamed or copied without a change.
type Mode uint32

// The modes of things that are not plain files.
const (
	SymlinkMode   Mode = 0o120000
	SubmoduleMode Mode = 0o160000
)

// String returns six octal digits, or "" for the zero value.
func (m Mode) String() string {
	if m == 0 {
		return ""
	}
	return fmt.Sprintf("%06o", uint32(m))
}

// kind keeps the bits that say file, link or submodule.
func (m Mode) kind() Mode { return m & 0o170000 }

// Side is the side of a diff in GitHub's words: Right is the head, Left the base.
type Side string

// The sides.
const (
	Right Side = "RIGHT"
	Left  Side = "LEFT"
)

// File is what a diff says of one path. It is a value that nobody changes after Parse.
type File struct {
	// Old and New are the bytes of the path at base and at head. Old is "" for an added file, New
	// for a deleted one.
	Old, New         string
	Status           Status
	OldMode, NewMode Mode
	// Similarity is the percentage git gives for a renamed or copied file, else 0.
	Similarity int
	// Binary means that git shows no lines for a side that has content.
	Binary bool
	// ids holds the raw object names, old then new; half of it each.
	ids string
	// hunks is packed as pack.go says: an array of hunks would outweigh the diff itself.
	hunks string
}

// OldID returns the object name at base in hex: "" where the diff prints none, zeros where the
// side is absent.
func (f File) OldID() string { return hex.EncodeToString([]byte(f.ids[:len(f.ids)/2])) }

// NewID is OldID for the head.
func (f File) NewID() string { return hex.EncodeToString([]byte(f.ids[len(f.ids)/2:])) }

// Submodule reports whether a side of f is a submodule.
func (f File) Submodule() bool {
	return f.OldMode.kind() == SubmoduleMode || f.NewMode.kind() == SubmoduleMode
}

// Symlink reports whether a side of f is a symbolic link.
func (f File) Symlink() bool {
	return f.OldMode.kind() == SymlinkMode || f.NewMode.kind() == SymlinkMode
}

// Path returns the name GitHub's API knows f by, for comments on either side: New, or Old when
// the file is deleted.
func (f File) Path() string {
	if f.New == "" {
		return f.Old
	}
	return f.New
}

// name returns the path of f on side, or "" where f is absent.
func (f File) name(side Side) string {
	if side == Left {
		return f.Old
	}
	return f.New
}

func (f File) mode(side Side) Mode {
	if side == Left {
		return f.OldMode
	}
	return f.NewMode
}

// Hunk is one "@@" section. Starts and counts are those of its header, except in a file of
// status TypeChanged, whose two sections are numbered as one.
type Hunk struct {
	OldStart, OldLines, NewStart, NewLines int
	// NoNewlineOld and NoNewlineNew mean that the side's last line lies in this hunk and has no
	// line end.
	NoNewlineOld, NoNewlineNew bool
	runs                       string
}

// lines returns the first and the last line of h on side. Context and changed lines of a side
// lie together, so that is all of them; last is first-1 when there is none.
func (h Hunk) lines(side Side) (first, last int) {
	start, n := h.NewStart, h.NewLines
	if side == Left {
		start, n = h.OldStart, h.OldLines
	}
	if n == 0 {
		return start + 1, start
	}
	return start, start + n - 1
}

// Kind says which sides a line is on.
type Kind uint8

// The kinds. A context line is on both sides.
const (
	ContextLine Kind = iota
	RemovedLine
	AddedLine
)

// on reports whether lines of kind k are lines of side.
func (k Kind) on(side Side) bool {
	return k == ContextLine || (k == RemovedLine) == (side == Left)
}

// Run is a number of lines of one kind that follow each other.
type Run struct {
	Kind  Kind
	Lines int
}

// Commentable yields the first and the last line of every range on side that a comment can
// stand on, in order: for Right the added and context lines of a hunk, for Left the removed and
// context lines. Ranges never join two hunks, even where these touch. A submodule has no lines.
func (f File) Commentable(side Side) iter.Seq2[int, int] {
	return func(yield func(first, last int) bool) {
		for h := range f.commentable(side) {
			if !yield(h.lines(side)) {
				return
			}
		}
	}
}

func (f File) commentable(side Side) iter.Seq[Hunk] {
	return func(yield func(Hunk) bool) {
		if f.name(side) == "" || f.mode(side).kind() == SubmoduleMode {
			return
		}
		for h := range f.Hunks() {
			if first, last := h.lines(side); first <= last && !yield(h) {
				return
			}
		}
	}
}

// Numstat counts added and removed lines, as git diff --numstat does.
func (f File) Numstat() (added, removed int) {
	for h := range f.Hunks() {
		for r := range h.Runs() {
			switch r.Kind {
			case AddedLine:
				added += r.Lines
			case RemovedLine:
				removed += r.Lines
			}
		}
	}
	return added, removed
}

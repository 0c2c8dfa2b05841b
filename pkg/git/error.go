package git

import (
	"errors"
	"fmt"
	"strings"
)

// What errors.Is can tell about an error of this package. A path that a tree does not have is
// fs.ErrNotExist.
var (
	// ErrNotRepository means that there is no repository that git could read.
	ErrNotRepository = errors.New("not a git repository")
	// ErrUnborn means that HEAD names a branch without a commit.
	ErrUnborn = errors.New("no commit yet")
	// ErrRevision means that a revision has a form that is refused before git is asked.
	ErrRevision = errors.New("not a revision that is accepted")
	// ErrMissing means that a revision or an object is not in the clone.
	ErrMissing = errors.New("not in this clone")
	// ErrNoMergeBase means that two commits have no common ancestor in the clone.
	ErrNoMergeBase = errors.New("no merge base")
	// ErrTooLarge means that an answer is over its limit.
	ErrTooLarge = errors.New("over its limit")
	// ErrPath means that a tree has a path that git itself never checks out, such as ".git".
	ErrPath = errors.New("path that git refuses")
)

const (
	hintCheckout = "run actions/checkout in an earlier step of the same job"
	hintDepth    = "set `fetch-depth: 0` on actions/checkout, so that the whole history is there"
	hintObject   = "set `fetch-depth: 0` and no `filter` on actions/checkout, so that every object is there"
)

// Error is a question to git that got no answer, with what to do about it.
type Error struct {
	kind error
	text string
	hint string
}

func (e *Error) Error() string { return e.text }

// Unwrap returns one of this package's Err values, a context's error, or nil.
func (e *Error) Unwrap() error { return e.kind }

// Hint is the next thing to do, one line, or "".
func (e *Error) Hint() string { return e.hint }

func notRepository(dir, why string) error {
	return &Error{kind: ErrNotRepository, hint: hintCheckout, text: fmt.Sprintf("open repository %q: %s", dir, printable(why))}
}

func unborn(dir string) error {
	return &Error{
		kind: ErrUnborn, hint: hintCheckout,
		text: fmt.Sprintf("resolve HEAD of %q: its branch has no commit yet", dir),
	}
}

func missing(what, where string) error {
	return &Error{kind: ErrMissing, hint: hintDepth, text: fmt.Sprintf("find %q in %q: not in this clone", what, where)}
}

func missingBlob(e Entry) error {
	return &Error{kind: ErrMissing, hint: hintObject, text: fmt.Sprintf("read %q: blob %s is not in this clone", e.Path, e.ID)}
}

func badRevision(rev, why string) error {
	return &Error{kind: ErrRevision, hint: "name a commit id, a branch or a tag", text: fmt.Sprintf("resolve revision %q: %s", rev, why)}
}

// printable makes one line of what git printed: it quotes names from the repository, which can
// hold anything that a terminal or a runner's log acts on.
func printable(s string) string {
	s = strings.ReplaceAll(strings.TrimSpace(s), "\n", "; ")
	return strings.Map(func(c rune) rune {
		if isControl(c) || c >= 0x80 && c < 0xa0 {
			return '?'
		}
		return c
	}, strings.ToValidUTF8(s, "?"))
}

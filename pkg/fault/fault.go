// Package fault carries an error together with whose it is and what to do next.
//
// It prints nothing and knows no exit code: the command floor turns a Kind into one.
package fault

import (
	"errors"
	"fmt"
)

// Kind says whose the error is.
type Kind int

// The kinds, from the most to the least expected of a person to act on.
const (
	// Request means that what was asked for is wrong: inputs, configuration, permissions.
	Request Kind = iota + 1
	// Gate means that everything worked and the answer is no.
	Gate
	// Review means that no trustworthy review came out.
	Review
	// Budget means that a limit or the breaker stopped the run.
	Budget
	// Remote means that GitHub or the artifact service failed in a way that a rerun may mend.
	Remote
)

// Error is an error of a known kind with a hint.
type Error struct {
	Kind Kind
	Err  error
	// Hint is the next thing to do, one line, no "hint:" in front.
	Hint string
}

// New returns an error of kind k. The message follows the house rule: what was being done, to
// what, lower case, no period.
func New(k Kind, hint, format string, args ...any) *Error {
	return &Error{Kind: k, Err: fmt.Errorf(format, args...), Hint: hint}
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the error without its kind.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of err, or 0 when nothing in its chain has one.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return 0
}

// HintOf returns the first hint in err's chain, or "". Packages on the ground floor offer one by
// a method Hint() string instead of importing this package.
func HintOf(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Hint != "" {
		return e.Hint
	}
	if h, ok := errors.AsType[hinter](err); ok {
		return h.Hint()
	}
	return ""
}

type hinter interface {
	error
	Hint() string
}

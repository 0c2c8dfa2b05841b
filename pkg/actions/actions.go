// Package actions is the ground that a step on a GitHub Actions runner stands on: inputs, outputs,
// log, summary, the event and the facts of the run.
//
// It makes no request, reads no repository and no token, starts no process, and decides nothing
// about what it read.
package actions

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// ErrUnset says that the runner named no file to write to: nothing was done. That is the rule on a
// developer's machine.
var ErrUnset = errors.New("not set")

// VariableError says which environment variable holds something that the runner never writes.
type VariableError struct {
	Name, Problem string
}

func (e *VariableError) Error() string {
	return fmt.Sprintf("read environment variable %s: %s", e.Name, e.Problem)
}

// Hint is the next thing to do.
func (e *VariableError) Hint() string {
	return "leave " + e.Name + " as the runner sets it, or unset it outside of GitHub Actions"
}

// quoteMax keeps somebody else's text in an error to one readable line.
const quoteMax = 64

func quote(s string) string {
	if len(s) <= quoteMax {
		return strconv.QuoteToASCII(s)
	}
	cut := quoteMax
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return strconv.QuoteToASCII(s[:cut]) + "…"
}

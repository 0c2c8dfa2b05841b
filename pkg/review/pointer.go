package review

import (
	"strconv"
	"strings"
	"unicode"
)

// Problem is one thing that is wrong with a document, and where.
type Problem struct {
	// Path is a JSON Pointer (RFC 6901); "" is the whole document.
	Path string
	// What is wrong, in words, one line.
	What string
}

func (p Problem) String() string { return shown(p.Path) + ": " + p.What }

// pointer returns the JSON Pointer that goes by steps.
func pointer(steps []string) string {
	var b strings.Builder
	for _, step := range steps {
		b.WriteByte('/')
		b.WriteString(strings.ReplaceAll(strings.ReplaceAll(step, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// shown names a path for a person. Names in it may be a model's: nothing in them may start a line
// or a terminal sequence, or bury the message.
func shown(path string) string {
	if path == "" {
		return "the top"
	}
	return shorten(path, 160)
}

// shorten makes foreign text safe to stand in a one-line message: at most limit characters of it,
// each one printable.
func shorten(text string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n++; n > limit {
			b.WriteString("…")
			break
		}
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		quoted := strconv.QuoteRuneToASCII(r)
		b.WriteString(quoted[1 : len(quoted)-1])
	}
	return b.String()
}

package actions

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// SummaryLimit is how many bytes the summary of a step may hold; the runner shows nothing of
	// a longer one.
	SummaryLimit = 1 << 20
	// summaryReserve is kept free for the line that says that something was cut, and for newlines
	// between parts.
	summaryReserve = 512
)

// AppendSummary appends Markdown to the file at path, which is what GITHUB_STEP_SUMMARY names.
// What would pass SummaryLimit is left out from the end, and the number of bytes that were left out
// is returned; a line that says so stands in front of the part, where no code fence or folded
// section that the cut left open can hide it. Invalid UTF-8 is replaced by U+FFFD. An empty path is
// ErrUnset, and then, as after any error, everything was left out.
func AppendSummary(path, markdown string) (leftOut int, err error) {
	if path == "" {
		return len(markdown), fmt.Errorf("write summary: GITHUB_STEP_SUMMARY %w", ErrUnset)
	}
	err = appendFile(path, func(size int64) []byte {
		var text string
		text, leftOut = fitSummary(strings.ToValidUTF8(markdown, "\uFFFD"), SummaryLimit-size)
		return []byte(text)
	})
	if err != nil {
		return len(markdown), fmt.Errorf("write summary: %w", err)
	}
	return leftOut, nil
}

// fitSummary returns what may be appended to a file that has room for so many bytes more.
func fitSummary(markdown string, room int64) (text string, leftOut int) {
	if markdown == "" {
		return "", 0
	}
	free := max(room-summaryReserve, 0)
	kept := cutLines(markdown, free)
	leftOut = len(markdown) - len(kept)
	if leftOut == 0 {
		return endLine(kept), 0
	}
	notice := fmt.Sprintf("\n> **Cut:** the last %d of %d bytes of this summary are left out: a step's summary holds %d.\n\n",
		leftOut, len(markdown), SummaryLimit)
	// The reserve holds the line a few times. A file with less room left than that says so already.
	if int64(len(notice))+1 > room {
		return "", len(markdown)
	}
	return notice + endLine(kept), leftOut
}

// cutLines returns at most n bytes of s: whole lines, or whole characters where that would give up
// more than half of them.
func cutLines(s string, n int64) string {
	if int64(len(s)) <= n {
		return s
	}
	if i := int64(strings.LastIndexByte(s[:n], '\n')); i > n/2 {
		return s[:i+1]
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func endLine(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

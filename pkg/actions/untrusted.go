package actions

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

const (
	// untrustedMark stands before each line, so that none passes for our own, starts a command, or
	// is taken for a compiler's error by a problem matcher that an earlier step registered.
	untrustedMark = "| "
	// lineMax is how many bytes of one line are kept.
	lineMax = 4096
)

// Limit bounds what is printed of a stream: how many lines, and how many bytes, as printed. Zero
// prints nothing.
type Limit struct {
	Lines, Bytes int
}

// Untrusted is an io.WriteCloser for text that somebody else made: each line is marked, defused and
// printed as soon as it is complete. It holds no more than one line, and is for one goroutine.
type Untrusted struct {
	log  *Log
	room Limit
	full bool

	line  []byte
	over  int // bytes of the line beyond lineMax
	left  Limit
	begun bool // something of the line was seen, be it only its newline
}

// Untrusted returns a writer for text from Codex or the repository. Close it to print the last line
// and how much was left out.
func (l *Log) Untrusted(limit Limit) *Untrusted {
	return &Untrusted{log: l, room: limit}
}

// Write takes all of p and returns no error: what an agent prints must not be able to stop a run.
func (u *Untrusted) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		part, rest, complete := bytes.Cut(p, []byte("\n"))
		keep := min(len(part), lineMax-len(u.line))
		u.line = append(u.line, part[:keep]...)
		u.over += len(part) - keep
		u.begun = true
		if complete {
			u.flush()
		}
		p = rest
	}
	return written, nil
}

// Close prints a last line that had no newline, and what was left out. It returns no error.
func (u *Untrusted) Close() error {
	if u.begun {
		u.flush()
	}
	if u.left != (Limit{}) {
		u.log.Printf("… left out here: %d lines, %d bytes", u.left.Lines, u.left.Bytes)
	}
	return nil
}

// LeftOut returns how many lines were not printed, and how many bytes, those of lines that were cut
// among them.
func (u *Untrusted) LeftOut() Limit { return u.left }

// flush prints the line or counts it. After the first line that does not fit none is printed: what
// is shown has no holes.
func (u *Untrusted) flush() {
	line, over := bytes.TrimSuffix(u.line, []byte("\r")), u.over
	u.line, u.over, u.begun = u.line[:0], 0, false
	if over > 0 {
		whole := trimPartialRune(line)
		over += len(line) - len(whole)
		line = whole
	}
	text := untrustedMark + Defuse(string(line))
	if over > 0 {
		text += fmt.Sprintf("… (%d more bytes)", over)
	}
	if u.full || u.room.Lines < 1 || u.room.Bytes < len(text)+1 {
		u.full = true
		u.left.Lines++
		u.left.Bytes += len(line) + over
		return
	}
	u.room.Lines--
	u.room.Bytes -= len(text) + 1
	u.left.Bytes += over
	u.log.mu.Lock()
	defer u.log.mu.Unlock()
	u.log.write(text + "\n")
}

// trimPartialRune drops the beginning of a character that a cut left at the end of b.
func trimPartialRune(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		c := b[len(b)-n]
		if utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return b[:len(b)-n]
			}
			return b
		}
	}
	return b
}

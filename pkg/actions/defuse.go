package actions

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Defuse returns text that can be printed on a runner or a terminal whoever wrote it: no line of it
// is a workflow command in either form, "::name::" at a line's start or "##[name]" anywhere in a
// line, and nothing in it moves a cursor, breaks a line or hides.
//
// A backslash breaks up what would start a command (":\:name::", "##\[name]"). A newline stays, a
// carriage return before it goes, tabs stay. CSI sequences (colours) and variation selectors 15 and 16 are removed.
// Control characters become their control picture (U+2400 and up) or "<U+0085>"; a lone carriage
// return, other line breaks, bidirectional, zero-width, tag and other characters that show nothing
// become "<U+2028>" and so on; invalid UTF-8 becomes U+FFFD.
func Defuse(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 16)
	for i := 0; ; i++ {
		line, rest, more := strings.Cut(text, "\n")
		if i > 0 {
			b.WriteByte('\n')
		}
		if more {
			line = strings.TrimSuffix(line, "\r")
		}
		defuseLine(&b, line)
		if !more {
			return b.String()
		}
		text = rest
	}
}

// commandScan finds where a workflow command would start. The runner compares by culture, so it
// skips over characters that its ICU ignores, and which these are changes with its version. All of
// Unicode above ASCII is therefore looked through: a harmless line may get a backslash too many, a
// harmful one never goes without.
type commandScan struct {
	begun  bool // something other than white space was seen
	colons int  // at the line's start
	hashes int
}

// starts reports whether a command would start with c, given what was seen before it in the line.
func (s *commandScan) starts(c rune) bool {
	if c >= utf8.RuneSelf {
		return false
	}
	armed := s.hashes >= 2 && c == '['
	if c == '#' {
		s.hashes++
	} else {
		s.hashes = 0
	}
	if s.begun {
		return armed
	}
	switch {
	case c == ':':
		s.colons++
		s.begun = s.colons == 2
		return s.begun
	case c == ' ' || c == '\t':
		s.begun = s.colons > 0
	default:
		s.begun = true
	}
	return armed
}

func defuseLine(b *strings.Builder, line string) {
	var scan commandScan
	put := func(r rune) {
		if scan.starts(r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	for len(line) > 0 {
		if n := csi(line); n > 0 {
			line = line[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(line)
		line = line[n:]
		if isPlain(r) {
			put(r)
			continue
		}
		for _, shown := range substitute(r) {
			put(shown)
		}
	}
}

// csi returns the length of the ANSI control sequence that s starts with (ECMA-48, 5.4), or 0. Other
// escape sequences can hold text, and stay visible.
func csi(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return 0
		}
	}
	return 0
}

const (
	controlPictures = 0x2400 // U+2400 SYMBOL FOR NULL, then in the order of the characters
	deletePicture   = 0x2421
	textStyle       = 0xFE0E // variation selector 15
	emojiStyle      = 0xFE0F // variation selector 16
)

// isPlain reports whether r is printed as it is.
func isPlain(r rune) bool {
	if r < utf8.RuneSelf {
		return r == '\t' || r >= ' ' && r != 0x7f
	}
	return !unicode.IsControl(r) && !unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// substitute returns what is printed for an r that is not plain.
func substitute(r rune) string {
	switch {
	case r < ' ':
		return string(controlPictures + r)
	case r == 0x7f:
		return string(rune(deletePicture))
	case r == textStyle || r == emojiStyle:
		return ""
	}
	return fmt.Sprintf("<U+%04X>", r)
}

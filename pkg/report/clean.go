package report

import (
	"fmt"
	"strings"
	"unicode"
)

// fate is what becomes of a character of foreign text.
type fate int

const (
	keep fate = iota
	// drop leaves a character out that only changes how its neighbours look.
	drop
	// tell replaces a character that a reader cannot see by its name.
	tell
)

// clean makes text show what it holds: valid UTF-8 with U+FFFD for each byte that is not, lines that end in \n alone, and no character
// that is invisible or turns the direction of others. Those are named in their place, a run of
// them once, so that a finding about them still makes sense and nothing can hide in them.
func clean(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	var first rune
	hidden := 0
	for _, r := range text {
		if isLineEnd(r) {
			r = '\n'
		}
		switch fateOf(r) {
		case drop:
			continue
		case tell:
			if hidden == 0 {
				first = r
			}
			hidden++
			continue
		}
		writeHidden(&b, first, hidden)
		hidden = 0
		b.WriteRune(r)
	}
	writeHidden(&b, first, hidden)
	return b.String()
}

func writeHidden(b *strings.Builder, first rune, n int) {
	switch n {
	case 0:
	case 1:
		fmt.Fprintf(b, "⟨U+%04X⟩", first)
	default:
		fmt.Fprintf(b, "⟨U+%04X and %d more⟩", first, n-1)
	}
}

// isLineEnd reports what some reader takes for the end of a line (Unicode Standard, section 5.8).
// The runner takes a lone carriage return for one.
func isLineEnd(r rune) bool {
	switch r {
	case '\r', '\v', '\f', '\u0085', '\u2028', '\u2029':
		return true
	}
	return false
}

func fateOf(r rune) fate {
	switch {
	case r == '\n', r == '\t':
		return keep
	case r == '\u00AD', r == '\u200C', r == '\u200D', r >= '\uFE00' && r <= '\uFE0F':
		// Soft hyphen, joiners and the usual variation selectors stand in honest text and emoji.
		return drop
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point):
		// Controls, bidirectional and zero-width characters, tags, fillers.
		return tell
	case r == '\u2800', unicode.Is(unicode.Noncharacter_Code_Point, r):
		// The blank Braille pattern looks like a space and is none.
		return tell
	}
	return keep
}

// clip cuts text to at most limit bytes at the border of a character, and says how many bytes it
// left out.
func clip(text string, limit int) (kept string, left int) {
	if len(text) <= limit {
		return text, 0
	}
	end := limit
	for end > 0 && text[end]&0xC0 == 0x80 {
		end--
	}
	return text[:end], len(text) - end
}

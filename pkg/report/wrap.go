package report

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// wrap breaks each line of text at spaces so that none takes more than width columns, unless a
// word alone does: words are addresses, paths and digests, which must stay whole. A line that
// goes on is indented as the line was, and as far as behind the mark of an item. There is at
// least one line.
func wrap(text string, width int) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		out = append(out, wrapLine(strings.TrimRight(strings.ReplaceAll(line, "\t", "    "), " "), width)...)
	}
	return out
}

func wrapLine(line string, width int) []string {
	if columns(line) <= width {
		return []string{line}
	}
	body := strings.TrimLeft(line, " ")
	indent := line[:len(line)-len(body)]
	hanging := indent + strings.Repeat(" ", len(itemMark(body)))
	if len(hanging) > width/2 {
		indent, hanging = "", ""
	}
	var out []string
	current := indent
	taken := 0
	for word := range strings.SplitSeq(body, " ") {
		if taken > 0 && columns(current)+1+columns(word) > width {
			out = append(out, strings.TrimRight(current, " "))
			current, taken = hanging, 0
		}
		if taken > 0 {
			current += " "
		}
		current += word
		taken++
	}
	return append(out, strings.TrimRight(current, " "))
}

// itemMark returns the mark at the start of an item of a list, with its space, or "".
func itemMark(line string) string {
	mark, _, ok := strings.Cut(line, " ")
	if !ok {
		return ""
	}
	switch mark {
	case "-", "*", "+":
		return mark + " "
	}
	digits := strings.TrimRight(mark, ".)")
	if len(mark) == len(digits)+1 && digits != "" && strings.Trim(digits, "0123456789") == "" {
		return mark + " "
	}
	return ""
}

// columns returns how many columns of a terminal text takes, by the East Asian Width of Unicode
// Standard Annex 11 in its coarse ranges.
func columns(text string) int {
	if len(text) == utf8.RuneCountInString(text) {
		return len(text)
	}
	n := 0
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Me):
		case isWide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

func isWide(r rune) bool {
	return r >= 0x1100 && r <= 0x115F || // Hangul
		r >= 0x2E80 && r <= 0xA4CF && r != 0x303F || // CJK, Kana, Yi
		r >= 0xAC00 && r <= 0xD7A3 ||
		r >= 0xF900 && r <= 0xFAFF ||
		r >= 0xFE30 && r <= 0xFE6F ||
		r >= 0xFF00 && r <= 0xFF60 || r >= 0xFFE0 && r <= 0xFFE6 || // full width
		r >= 0x1F300 && r <= 0x1F64F || r >= 0x1F680 && r <= 0x1F6FF || r >= 0x1F900 && r <= 0x1F9FF || // emoji
		r >= 0x20000 && r <= 0x3FFFD
}

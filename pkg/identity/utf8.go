package identity

import "unicode/utf8"

// validPrefix returns how many bytes at the start of b are whole UTF-8 characters.
func validPrefix(b []byte) int {
	n := 0
	for n < len(b) {
		r, size := utf8.DecodeRune(b[n:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		n += size
	}
	return n
}

// badLength returns how many bytes at the start of b, which does not start with a character,
// make up one maximal subpart: the longest start of some character, at least one byte. The
// ranges are those of the Unicode Standard's table 3-7.
func badLength(b []byte) int {
	low, high, want := byte(0x80), byte(0xBF), 0
	switch lead := b[0]; {
	case lead >= 0xC2 && lead <= 0xDF:
		want = 1
	case lead >= 0xE0 && lead <= 0xEF:
		want = 2
		if lead == 0xE0 {
			low = 0xA0
		}
		if lead == 0xED {
			high = 0x9F
		}
	case lead >= 0xF0 && lead <= 0xF4:
		want = 3
		if lead == 0xF0 {
			low = 0x90
		}
		if lead == 0xF4 {
			high = 0x8F
		}
	}
	n := 1
	for n <= want && n < len(b) && b[n] >= low && b[n] <= high {
		low, high = 0x80, 0xBF
		n++
	}
	return n
}

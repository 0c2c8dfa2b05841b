package prompt

import (
	"bytes"
	"unicode/utf8"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// MaxCharacters is the longest prompt in Unicode code points. Codex 0.171.0 gives a longer one
// back cut in the middle when it compacts the conversation, and still exits 0.
const MaxCharacters = 80_000

const (
	encodingHint = "save the prompt as UTF-8 without a byte-order mark"
	tooLongHint  = "shorten the prompt; what the agent can read in the repository need not stand in it"
)

// Check refuses text that would not reach the model byte for byte: white space alone, a
// byte-order mark, UTF-16 and UTF-32 with or without one, what is not UTF-8, and more than
// MaxCharacters. A NUL by itself is passed on as it is, so it is allowed. The error is a
// fault.Request with a hint.
func Check(b []byte) error {
	if len(bytes.TrimSpace(b)) == 0 {
		return fault.New(fault.Request, "write what the review is to look for", "the prompt is empty or white space alone")
	}
	if name := encoding(b); name != "" {
		return fault.New(fault.Request, encodingHint, "the prompt is %s, which Codex would re-encode", name)
	}
	if bytes.HasPrefix(b, []byte("\xEF\xBB\xBF")) {
		return fault.New(fault.Request, encodingHint, "the prompt starts with a byte-order mark, which Codex would strip")
	}
	if at := firstInvalid(b); at >= 0 {
		return fault.New(fault.Request, encodingHint, "the prompt is not UTF-8: the first bad byte is 0x%02X at offset %d", b[at], at)
	}
	if n := utf8.RuneCount(b); n > MaxCharacters {
		return fault.New(fault.Request, tooLongHint, "the prompt has %d characters, and at most %d stay whole", n, MaxCharacters)
	}
	return nil
}

// firstInvalid returns the offset of the first byte that is not part of a UTF-8 character, or -1.
func firstInvalid(b []byte) int {
	for at := 0; at < len(b); {
		r, size := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// encoding names the encoding of b where that is UTF-16 or UTF-32, else "". The longer marks come
// first: the UTF-32 little-endian one starts with that of UTF-16.
func encoding(b []byte) string {
	for _, mark := range []struct{ bytes, name string }{
		{"\xFF\xFE\x00\x00", "UTF-32 (little-endian)"},
		{"\x00\x00\xFE\xFF", "UTF-32 (big-endian)"},
		{"\xFF\xFE", "UTF-16 (little-endian)"},
		{"\xFE\xFF", "UTF-16 (big-endian)"},
	} {
		if bytes.HasPrefix(b, []byte(mark.bytes)) {
			return mark.name
		}
	}
	switch {
	case isUTF32(b, 3, 2):
		return "UTF-32 (little-endian, no byte-order mark)"
	case isUTF32(b, 0, 1):
		return "UTF-32 (big-endian, no byte-order mark)"
	case isUTF16(b, 1):
		return "UTF-16 (little-endian, no byte-order mark)"
	case isUTF16(b, 0):
		return "UTF-16 (big-endian, no byte-order mark)"
	}
	return ""
}

// isUTF32 reports whether every group of four bytes is a code point: the byte at top is zero and
// the one at plane at most 0x10. Two groups at least, and not NULs alone, which UTF-8 has too.
func isUTF32(b []byte, top, plane int) bool {
	if len(b) < 8 || len(b)%4 != 0 {
		return false
	}
	some := false
	for i := 0; i < len(b); i += 4 {
		if b[i+top] != 0 || b[i+plane] > 0x10 {
			return false
		}
		some = some || b[i]|b[i+1]|b[i+2]|b[i+3] != 0
	}
	return some
}

// isUTF16 reports whether the bytes at even offsets (high is 0) or odd ones (high is 1) look like
// the upper halves of UTF-16: three quarters of them below 0x20, where the upper halves of Latin,
// Greek, Cyrillic, Hebrew and Arabic text lie, at least one of them NUL, and no NUL among the
// lower halves. Most such text is valid UTF-8 as well, so validity alone does not find it.
func isUTF16(b []byte, high int) bool {
	if len(b) < 4 || len(b)%2 != 0 {
		return false
	}
	small, zeros := 0, 0
	for i := 0; i < len(b); i += 2 {
		if b[i+1-high] == 0 {
			return false
		}
		if b[i+high] < 0x20 {
			small++
		}
		if b[i+high] == 0 {
			zeros++
		}
	}
	return zeros > 0 && small*4 >= len(b)/2*3
}

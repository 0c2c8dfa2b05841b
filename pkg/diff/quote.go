package diff

import (
	"errors"
	"strings"
)

var errQuote = errors.New("name is not quoted as git quotes")

// unquote reads a name in C style quotes at the start of s, as quote.c of git writes it, and
// returns what follows the closing quote.
func unquote(s string) (name, rest string, err error) {
	if !strings.HasPrefix(s, `"`) {
		return "", s, errQuote
	}
	var b strings.Builder
	for s = s[1:]; ; {
		i := strings.IndexAny(s, `"\`)
		if i < 0 {
			return "", s, errQuote
		}
		b.WriteString(s[:i])
		if s[i] == '"' {
			return b.String(), s[i+1:], nil
		}
		c, n := unescape(s[i+1:])
		if n == 0 {
			return "", s, errQuote
		}
		b.WriteByte(c)
		s = s[i+1+n:]
	}
}

// unescape reads what stands behind a backslash: one character, or three octal digits. n is 0
// where git would write neither.
func unescape(s string) (c byte, n int) {
	if s == "" {
		return 0, 0
	}
	if i := strings.IndexByte(`abtnvfr"\`, s[0]); i >= 0 {
		return "\a\b\t\n\v\f\r\"\\"[i], 1
	}
	if len(s) < 3 || s[0] > '3' {
		return 0, 0
	}
	for _, d := range []byte(s[:3]) {
		if d < '0' || d > '7' {
			return 0, 0
		}
		c = c<<3 | (d - '0')
	}
	return c, 3
}

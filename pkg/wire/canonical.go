package wire

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Canonical returns the JSON text src in the one form its digests are taken over: object keys
// sorted by their UTF-8 bytes, no white space, numbers as written, strings with no escapes except
// \" \\ \b \f \n \r \t and \u00xx in lower case for the other control characters. For texts
// whose numbers are integers it is what Python prints with
// json.dumps(v, sort_keys=True, ensure_ascii=False, separators=(",", ":")).
// A text that strict JSON does not allow, or with a key twice, is an error.
func Canonical(src []byte) ([]byte, error) {
	d, err := scan(src)
	if err != nil {
		return nil, fmt.Errorf("read JSON: %w", err)
	}
	return d.canonical(make([]byte, 0, len(src)), 0, ""), nil
}

// canonical appends the canonical form of the value at i. The member named without is left out
// of an object at the top; inner ones keep theirs.
func (d *document) canonical(dst []byte, i int, without string) []byte {
	switch d.cells[i].kind {
	case '{':
		return d.canonicalObject(dst, i, without)
	case '[':
		dst = append(dst, '[')
		for e := range d.elements(i) {
			if e > i+1 {
				dst = append(dst, ',')
			}
			dst = d.canonical(dst, e, "")
		}
		return append(dst, ']')
	case 's':
		// Without an escape the text is canonical as it stands.
		return append(dst, d.raw(i)...)
	case 'e':
		return d.canonicalString(dst, i)
	}
	return append(dst, d.raw(i)...)
}

func (d *document) canonicalObject(dst []byte, i int, without string) []byte {
	var few [16]int
	keys := few[:0]
	for k := range d.keys(i) {
		if without == "" || string(d.bytes(k)) != without {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(a, b int) int { return bytes.Compare(d.bytes(a), d.bytes(b)) })
	dst = append(dst, '{')
	for n, k := range keys {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, d.bytes(k))
		dst = append(dst, ':')
		dst = d.canonical(dst, k+1, "")
	}
	return append(dst, '}')
}

// canonicalString appends the string at i, whose escapes may be written in other ways.
func (d *document) canonicalString(dst []byte, i int) []byte {
	dst = append(dst, '"')
	for inner := d.inner(i); len(inner) > 0; {
		var piece []byte
		var r rune
		piece, r, inner = nextEscape(inner)
		dst = append(dst, piece...)
		switch {
		case r >= 0x80:
			dst = utf8.AppendRune(dst, r)
		case r >= 0:
			dst = appendByte(dst, byte(r))
		}
	}
	return append(dst, '"')
}

// appendString appends the string s as JSON, in the form Canonical documents.
func appendString(dst, s []byte) []byte {
	dst = append(dst, '"')
	for {
		n := plain(s)
		dst = append(dst, s[:n]...)
		if n == len(s) {
			return append(dst, '"')
		}
		dst = appendByte(dst, s[n])
		s = s[n+1:]
	}
}

// appendByte appends one ASCII character of a string, escaped if it must be.
func appendByte(dst []byte, c byte) []byte {
	const digits = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if c < 0x20 {
		return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
	}
	return append(dst, c)
}

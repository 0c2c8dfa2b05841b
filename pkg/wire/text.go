package wire

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// string reads a string literal, its quotes included in the cell.
func (s *scanner) string() error {
	i := s.open('s')
	s.pos++
	for {
		s.pos += plain(s.src[s.pos:])
		if s.pos == len(s.src) {
			return s.errorf("string without an end")
		}
		switch s.src[s.pos] {
		case '"':
			s.pos++
			s.close(i)
			return nil
		case '\\':
			s.cells[i].kind = 'e'
			if err := s.escape(); err != nil {
				return err
			}
		default:
			return s.errorf("control character in a string")
		}
	}
}

// plain returns how many bytes at the start of b are no quote, backslash or control character.
// Most of a request is text, so it looks at eight bytes at once, as in "Bit Twiddling Hacks"
// (https://graphics.stanford.edu/~seander/bithacks.html#HasLessInWord).
func plain(b []byte) int {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	n := 0
	for ; len(b)-n >= 8; n += 8 {
		x := binary.LittleEndian.Uint64(b[n:])
		quote, slash := x^(ones*'"'), x^(ones*'\\')
		// The lowest bit that is set is right; a higher one may be its carry.
		hit := ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*0x20)&^x) & tops
		if hit != 0 {
			return n + bits.TrailingZeros64(hit)/8
		}
	}
	for n < len(b) && b[n] >= 0x20 && b[n] != '"' && b[n] != '\\' {
		n++
	}
	return n
}

// escape checks one escape sequence. A surrogate without its other half has no UTF-8 form: each
// reader would make something else of it.
func (s *scanner) escape() error {
	rest := s.src[s.pos:]
	if len(rest) < 2 {
		return s.errorf("string without an end")
	}
	if rest[1] != 'u' {
		if bytes.IndexByte([]byte(`"\/bfnrt`), rest[1]) < 0 {
			return s.errorf("unknown escape")
		}
		s.pos += 2
		return nil
	}
	r := hex4(rest[2:])
	if r < 0 {
		return s.errorf("escape without four hex digits")
	}
	s.pos += 6
	if !utf16.IsSurrogate(r) {
		return nil
	}
	rest = s.src[s.pos:]
	if len(rest) < 6 || rest[0] != '\\' || rest[1] != 'u' || utf16.DecodeRune(r, hex4(rest[2:])) == utf8.RuneError {
		return s.errorf("half of a surrogate pair")
	}
	s.pos += 6
	return nil
}

// hex4 returns the value of the four hex digits b starts with, or -1.
func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			r = r<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			r = r<<4 | rune(c-'A'+10)
		default:
			return -1
		}
	}
	return r
}

// raw returns the bytes of a value as written.
func (d *document) raw(i int) []byte {
	c := d.cells[i]
	return d.src[c.start:c.end:c.end]
}

func (d *document) isString(i int) bool {
	return d.cells[i].kind == 's' || d.cells[i].kind == 'e'
}

// bytes returns what the string at i says. It may share the document's memory.
func (d *document) bytes(i int) []byte {
	inner := d.inner(i)
	if d.cells[i].kind == 's' {
		return inner
	}
	return appendUnescaped(make([]byte, 0, len(inner)), inner)
}

// inner returns the string at i as written, without its quotes.
func (d *document) inner(i int) []byte {
	raw := d.raw(i)
	return raw[1 : len(raw)-1]
}

func (d *document) text(i int) string {
	inner := d.inner(i)
	if d.cells[i].kind == 's' {
		return string(inner)
	}
	var b strings.Builder
	b.Grow(len(inner))
	for len(inner) > 0 {
		var piece []byte
		var r rune
		piece, r, inner = nextEscape(inner)
		b.Write(piece)
		if r >= 0 {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// short returns the byte that a two-byte escape stands for.
func short(c byte) byte {
	switch c {
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return c
}

func appendUnescaped(dst, inner []byte) []byte {
	for len(inner) > 0 {
		var piece []byte
		var r rune
		piece, r, inner = nextEscape(inner)
		dst = append(dst, piece...)
		if r >= 0 {
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}

// nextEscape cuts the inner text of a string behind its first escape: the piece before it, the
// rune that the escape stands for, -1 when there is none, and the rest.
func nextEscape(inner []byte) (piece []byte, r rune, rest []byte) {
	i := bytes.IndexByte(inner, '\\')
	if i < 0 {
		return inner, -1, nil
	}
	piece, rest = inner[:i], inner[i+2:]
	if inner[i+1] != 'u' {
		return piece, rune(short(inner[i+1])), rest
	}
	r, rest = hex4(rest), rest[4:]
	if utf16.IsSurrogate(r) {
		r, rest = utf16.DecodeRune(r, hex4(rest[2:])), rest[6:]
	}
	return piece, r, rest
}

// keys yields the index of each key of the object at i; its value is the next index.
func (d *document) keys(object int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for k := object + 1; k < int(d.cells[object].next); k = int(d.cells[k+1].next) {
			if !yield(k) {
				return
			}
		}
	}
}

// elements yields the index of each element of the array at i.
func (d *document) elements(array int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for e := array + 1; e < int(d.cells[array].next); e = int(d.cells[e].next) {
			if !yield(e) {
				return
			}
		}
	}
}

// get returns the index of the value of key in the object at i, or -1 when it is not there, is
// null, or i is not an object.
func (d *document) get(i int, key string) int {
	if i < 0 || d.cells[i].kind != '{' {
		return -1
	}
	for k := range d.keys(i) {
		if string(d.bytes(k)) == key {
			if d.cells[k+1].kind == 'n' {
				return -1
			}
			return k + 1
		}
	}
	return -1
}

// str returns the string at key of the object at i, "" when there is none.
func (d *document) str(i int, key string) string {
	v := d.get(i, key)
	if v < 0 || !d.isString(v) {
		return ""
	}
	return d.text(v)
}

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

const (
	maxDepth = 128
	// maxValues bounds what a small text can cost in memory: each value takes 16 bytes beside it.
	maxValues = 1 << 20
	// maxText keeps every offset within a cell's 32 bits.
	maxText = 1 << 30
)

// cell is one JSON value or object key of a text. Cells stand in the order of the text; those of
// an object alternate key, value. Offsets are bytes of the text, next is the index of the first
// cell behind the value and all it holds.
type cell struct {
	kind       byte // '{' '[' 's' (string without escapes) 'e' (string with) '0' 't' 'f' 'n'
	start, end int32
	next       int32
}

// document is a JSON text read by the grammar of RFC 8259, more strictly than encoding/json does
// it: an object key stands once and is compared exactly, strings are valid UTF-8 without lone
// surrogates, nothing follows the value. What two readers could take differently is refused, so
// that what is checked here is what the other end reads.
type document struct {
	src   []byte
	cells []cell
}

type scanner struct {
	document
	pos    int
	depth  int
	limits limits
}

// limits bound what a text may cost.
type limits struct{ depth, values int }

func scan(src []byte) (*document, error) {
	return scanWithin(src, limits{depth: maxDepth, values: maxValues})
}

func scanWithin(src []byte, within limits) (*document, error) {
	if len(src) > maxText {
		return nil, fmt.Errorf("over %d bytes", maxText)
	}
	if !utf8.Valid(src) {
		return nil, errors.New("not valid UTF-8")
	}
	s := &scanner{document: document{src: src, cells: make([]cell, 0, 16+len(src)/64)}, limits: within}
	if err := s.value(); err != nil {
		return nil, err
	}
	s.space()
	if s.pos != len(src) {
		return nil, s.errorf("something follows the value")
	}
	return &s.document, nil
}

func (s *scanner) errorf(format string, args ...any) error {
	return fmt.Errorf("byte %d: %s", s.pos, fmt.Sprintf(format, args...))
}

func (s *scanner) space() {
	for s.pos < len(s.src) {
		switch s.src[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the byte behind it, 0 at the end.
func (s *scanner) peek() byte {
	s.space()
	if s.pos == len(s.src) {
		return 0
	}
	return s.src[s.pos]
}

func (s *scanner) open(kind byte) int {
	s.cells = append(s.cells, cell{kind: kind, start: int32(s.pos)})
	return len(s.cells) - 1
}

func (s *scanner) close(i int) {
	s.cells[i].end = int32(s.pos)
	s.cells[i].next = int32(len(s.cells))
}

func (s *scanner) value() error {
	if len(s.cells) >= s.limits.values {
		return s.errorf("over %d values", s.limits.values)
	}
	switch c := s.peek(); c {
	case '{':
		return s.object()
	case '[':
		return s.array()
	case '"':
		return s.string()
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	case 0:
		return s.errorf("want a value")
	default:
		return s.number()
	}
}

func (s *scanner) enter() error {
	s.depth++
	if s.depth > s.limits.depth {
		return s.errorf("nested deeper than %d", s.limits.depth)
	}
	s.pos++
	return nil
}

func (s *scanner) leave(i int) error {
	s.depth--
	s.pos++
	s.close(i)
	return nil
}

func (s *scanner) array() error {
	i := s.open('[')
	if err := s.enter(); err != nil {
		return err
	}
	if s.peek() == ']' {
		return s.leave(i)
	}
	for {
		if err := s.value(); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case ']':
			return s.leave(i)
		default:
			return s.errorf("want a comma or the array's end")
		}
	}
}

func (s *scanner) object() error {
	i := s.open('{')
	if err := s.enter(); err != nil {
		return err
	}
	if s.peek() == '}' {
		return s.leave(i)
	}
	for {
		if err := s.member(); err != nil {
			return err
		}
		switch s.peek() {
		case ',':
			s.pos++
		case '}':
			if err := s.leave(i); err != nil {
				return err
			}
			return s.unique(i)
		default:
			return s.errorf("want a comma or the object's end")
		}
	}
}

func (s *scanner) member() error {
	if s.peek() != '"' {
		return s.errorf("want a key")
	}
	if err := s.string(); err != nil {
		return err
	}
	if s.peek() != ':' {
		return s.errorf("want a colon")
	}
	s.pos++
	return s.value()
}

// unique refuses a key that stands twice: one reader takes the first, another the last.
func (s *scanner) unique(object int) error {
	// Few keys are compared with each other, which takes no memory; many would take too long.
	const few = 16
	n := 0
	for range s.keys(object) {
		n++
	}
	if n > few {
		return s.uniqueAmong(object, n)
	}
	for k := range s.keys(object) {
		for other := object + 1; other < k; other = int(s.cells[other+1].next) {
			if bytes.Equal(s.bytes(k), s.bytes(other)) {
				return s.errorf("key %.64q stands twice", s.bytes(k))
			}
		}
	}
	return nil
}

func (s *scanner) uniqueAmong(object, n int) error {
	seen := make(map[string]bool, n)
	for k := range s.keys(object) {
		key := s.text(k)
		if seen[key] {
			return s.errorf("key %.64q stands twice", key)
		}
		seen[key] = true
	}
	return nil
}

func (s *scanner) literal(word string) error {
	if !bytes.HasPrefix(s.src[s.pos:], []byte(word)) {
		return s.errorf("want a value")
	}
	i := s.open(word[0])
	s.pos += len(word)
	s.close(i)
	return nil
}

func (s *scanner) number() error {
	i := s.open('0')
	if s.at() == '-' {
		s.pos++
	}
	switch c := s.at(); {
	case c == '0':
		s.pos++
	case c >= '1' && c <= '9':
		s.digits()
	default:
		return s.errorf("want a value")
	}
	if s.at() == '.' {
		s.pos++
		if !s.digits() {
			return s.errorf("want a digit")
		}
	}
	if c := s.at(); c == 'e' || c == 'E' {
		s.pos++
		if c := s.at(); c == '+' || c == '-' {
			s.pos++
		}
		if !s.digits() {
			return s.errorf("want a digit")
		}
	}
	s.close(i)
	return nil
}

func (s *scanner) at() byte {
	if s.pos == len(s.src) {
		return 0
	}
	return s.src[s.pos]
}

func (s *scanner) digits() bool {
	from := s.pos
	for c := s.at(); c >= '0' && c <= '9'; c = s.at() {
		s.pos++
	}
	return s.pos > from
}

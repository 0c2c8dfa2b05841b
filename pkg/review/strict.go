package review

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how many arrays and objects may stand inside each other in any JSON that this
// package reads.
const MaxDepth = 64

// SyntaxError says why bytes are not the one JSON value that they should be.
type SyntaxError struct {
	// Path is the JSON Pointer (RFC 6901) of the value at fault; "" is the whole.
	Path string
	// Offset counts bytes from 0.
	Offset int
	// What is wrong, in words.
	What string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s at %s (byte %d)", e.What, shown(e.Path), e.Offset)
}

// Strict returns nil when b holds exactly one JSON value (RFC 8259) that every reader understands
// alike, and a *SyntaxError otherwise: for more than limit bytes, a byte-order mark, invalid
// UTF-8, a second value, a key that an object has twice, more than MaxDepth levels, an escape that
// is half a surrogate pair.
func Strict(b []byte, limit int) error {
	return scan(b, rules{bytes: limit})
}

// rules are what scan holds JSON to beyond RFC 8259. The zero value of values is no limit.
type rules struct {
	bytes  int
	values int
	// doubles refuses numbers that a double cannot hold, and those whose text is long enough to
	// make exact arithmetic on them slow: the validator panics or stalls on either.
	doubles bool
	// halves lets strings, though not keys, hold one half of a surrogate pair. It reads as U+FFFD.
	halves bool
}

func scan(b []byte, r rules) error {
	s := scanner{text: b, rules: r}
	if len(b) > r.bytes {
		return s.fail(r.bytes, "%d bytes, of which at most %d are read,", len(b), r.bytes)
	}
	if len(b) >= 3 && string(b[:3]) == "\uFEFF" {
		return s.fail(0, "a byte-order mark")
	}
	if at := firstInvalid(b); at >= 0 {
		return s.fail(at, "invalid UTF-8 (0x%02X)", b[at])
	}
	if err := s.value(); err != nil {
		return err
	}
	if s.space(); s.at < len(s.text) {
		return s.fail(s.at, "more after the JSON value")
	}
	return nil
}

// firstInvalid returns the offset of the first byte that is not part of a UTF-8 character, or -1.
func firstInvalid(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
}

type scanner struct {
	rules
	text  []byte
	at    int
	seen  int
	steps []string
}

func (s *scanner) fail(at int, format string, args ...any) error {
	return &SyntaxError{Path: pointer(s.steps), Offset: at, What: fmt.Sprintf(format, args...)}
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// next returns the byte at hand, or 0 at the end; a NUL in the text is no token either.
func (s *scanner) next() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *scanner) unexpected(want string) error {
	if s.at >= len(s.text) {
		return s.fail(s.at, "the end instead of %s", want)
	}
	r, _ := utf8.DecodeRune(s.text[s.at:])
	return s.fail(s.at, "%q instead of %s", r, want)
}

func (s *scanner) value() error {
	s.space()
	if s.seen++; s.values > 0 && s.seen > s.values {
		return s.fail(s.at, "more than %d values", s.values)
	}
	switch c := s.next(); {
	case c == '{':
		return s.object()
	case c == '[':
		return s.array()
	case c == '"':
		_, err := s.str(s.halves)
		return err
	case c == '-' || isDigit(c):
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(string(s.text[s.at:min(len(s.text), s.at+len(word))]), word) {
			s.at += len(word)
			return nil
		}
	}
	return s.unexpected("a JSON value")
}

func (s *scanner) deeper() error {
	if len(s.steps) >= MaxDepth {
		return s.fail(s.at, "more than %d levels", MaxDepth)
	}
	s.at++
	s.steps = append(s.steps, "")
	return nil
}

func (s *scanner) higher() error {
	s.at++
	s.steps = s.steps[:len(s.steps)-1]
	return nil
}

func (s *scanner) array() error {
	if err := s.deeper(); err != nil {
		return err
	}
	if s.space(); s.next() == ']' {
		return s.higher()
	}
	for i := 0; ; i++ {
		s.steps[len(s.steps)-1] = strconv.Itoa(i)
		if err := s.value(); err != nil {
			return err
		}
		s.space()
		switch s.next() {
		case ',':
			s.at++
		case ']':
			return s.higher()
		default:
			return s.unexpected(`"," or "]"`)
		}
	}
}

func (s *scanner) object() error {
	if err := s.deeper(); err != nil {
		return err
	}
	if s.space(); s.next() == '}' {
		return s.higher()
	}
	for keys := map[string]bool{}; ; {
		if err := s.member(keys); err != nil {
			return err
		}
		s.space()
		switch s.next() {
		case ',':
			s.at++
		case '}':
			return s.higher()
		default:
			return s.unexpected(`"," or "}"`)
		}
	}
}

// member reads one key with its value. Keys are compared as they read, not as they are written:
// "a" and "\u0061" are the same.
func (s *scanner) member(keys map[string]bool) error {
	s.space()
	start := s.at
	if s.next() != '"' {
		return s.unexpected("a key")
	}
	key, err := s.str(false)
	if err != nil {
		return err
	}
	s.steps[len(s.steps)-1] = key
	if keys[key] {
		return s.fail(start, "a key that is there twice")
	}
	keys[key] = true
	if s.space(); s.next() != ':' {
		return s.unexpected(`":"`)
	}
	s.at++
	return s.value()
}

package review

import (
	"encoding/json"
	"strconv"
	"strings"
)

// str reads a string and returns what it reads as.
func (s *scanner) str(halves bool) (string, error) {
	start := s.at
	escaped := false
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return unquote(s.text[start:s.at], escaped), nil
		case c < 0x20:
			return "", s.fail(s.at, "a control character (0x%02X) in a string", c)
		case c == '\\':
			escaped = true
			if err := s.escape(halves); err != nil {
				return "", err
			}
		}
	}
	return "", s.unexpected("the end of a string")
}

func unquote(quoted []byte, escaped bool) string {
	if !escaped {
		return string(quoted[1 : len(quoted)-1])
	}
	var text string
	// It cannot fail on what str has read, and "" would only make a duplicate of it.
	_ = json.Unmarshal(quoted, &text)
	return text
}

// escape reads the escape that starts at the backslash and stays on its last byte.
func (s *scanner) escape(halves bool) error {
	start := s.at
	s.at++
	switch c := s.next(); {
	case c != 0 && strings.IndexByte(`"\/bfnrt`, c) >= 0:
		return nil
	case c != 'u':
		return s.fail(start, "an escape that JSON does not have")
	}
	unit, ok := s.hex()
	if !ok {
		return s.fail(start, "an escape without four hex digits")
	}
	if halves || unit < 0xD800 || unit > 0xDFFF {
		return nil
	}
	if unit < 0xDC00 && s.at+2 < len(s.text) && s.text[s.at+1] == '\\' && s.text[s.at+2] == 'u' {
		s.at += 2
		if low, ok := s.hex(); ok && low >= 0xDC00 && low <= 0xDFFF {
			return nil
		}
	}
	return s.fail(start, "half a surrogate pair")
}

// hex reads the four digits behind the "u" at hand and stays on the last.
func (s *scanner) hex() (uint64, bool) {
	if s.at+5 > len(s.text) {
		return 0, false
	}
	digits := string(s.text[s.at+1 : s.at+5])
	// ParseUint alone would take an underscore or a sign for some bases; not for 16.
	unit, err := strconv.ParseUint(digits, 16, 16)
	if err != nil {
		return 0, false
	}
	s.at += 4
	return unit, true
}

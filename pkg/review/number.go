package review

import (
	"math"
	"strconv"
)

// maxNumberBytes and maxExponent bound the text of a number that is to be compared exactly:
// arbitrary precision makes one of a million digits slow, and fails on exponents far beyond.
const (
	maxNumberBytes = 400
	maxExponent    = 1000
)

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number reads a number by the grammar of RFC 8259.
func (s *scanner) number() error {
	start := s.at
	if s.next() == '-' {
		s.at++
	}
	switch {
	case s.next() == '0':
		s.at++
	case !s.digits():
		return s.unexpected("a digit")
	}
	if s.next() == '.' {
		if s.at++; !s.digits() {
			return s.unexpected("a digit")
		}
	}
	exponent := s.at
	if c := s.next(); c == 'e' || c == 'E' {
		s.at++
		if c := s.next(); c == '+' || c == '-' {
			s.at++
		}
		if !s.digits() {
			return s.unexpected("a digit")
		}
	}
	if s.doubles {
		return s.double(start, exponent)
	}
	return nil
}

func (s *scanner) digits() bool {
	start := s.at
	for isDigit(s.next()) {
		s.at++
	}
	return s.at > start
}

// double refuses the number from start to here where rules.doubles says so; its exponent, if any,
// starts at exponent.
func (s *scanner) double(start, exponent int) error {
	text := string(s.text[start:s.at])
	if len(text) > maxNumberBytes {
		return s.fail(start, "a number of %d characters", len(text))
	}
	if f, err := strconv.ParseFloat(text, 64); err != nil || math.IsInf(f, 0) {
		return s.fail(start, "a number that no double holds (%s)", shorten(text, 40))
	}
	if exponent < s.at {
		if e, err := strconv.Atoi(string(s.text[exponent+1 : s.at])); err != nil || e > maxExponent || e < -maxExponent {
			return s.fail(start, "a number that no double holds (%s)", shorten(text, 40))
		}
	}
	return nil
}

// wholeNumber reads a JSON number that has an integer as its value, as 7, 7.0 and 70e-1 do. One
// beyond the range of int becomes the nearest end of it, so that it still fails every check that
// it should fail.
func wholeNumber(text string) (int, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) {
		return 0, false
	}
	switch {
	case f >= math.MaxInt:
		return math.MaxInt, true
	case f <= math.MinInt:
		return math.MinInt, true
	}
	return int(f), true
}

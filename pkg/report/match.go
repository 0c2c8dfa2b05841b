package report

import "strings"

// find returns the first place at or behind from where text has something that GitHub's renderer,
// or one of the filters after it, gives a meaning: code, a link in any scheme, a mention, a mail
// address, a commit or an issue, mathematics. The filters work on the text that a reader sees, so
// that escaping helps against none of them, and leave code alone. start is -1 when there is none.
//
// Looking back is bounded, and never reaches before from, so that all calls together take linear
// time.
func find(text string, from int) (start, end int) {
	for i := from; i < len(text); i++ {
		start, end := i, i
		switch text[i] {
		case '`':
			end = skip(text, i, func(c byte) bool { return c == '`' })
		case '$':
			end = skip(text, i, func(c byte) bool { return c == '$' })
			end = skip(text, end, func(c byte) bool { return isLinkChar(c) && c != '$' })
		case '#':
			end = issue(text, i+1)
		case 'g', 'G':
			if hasFold(text[i:], "gh-") {
				end = issue(text, i+len("gh-"))
			}
		case 'w', 'W':
			if hasFold(text[i:], "www.") {
				end = skip(text, i, isLinkChar)
			}
		case ':':
			start, end = link(text, i, from)
		case '@':
			start, end = mention(text, i, from)
		}
		if end > i {
			return start, end
		}
	}
	return -1, -1
}

// issue returns where the number at at ends, or 0 when there is none.
func issue(text string, at int) int {
	if end := skip(text, at, isDigit); end > at {
		return end
	}
	return 0
}

// link takes "scheme://anything" around the colon at at.
func link(text string, at, from int) (start, end int) {
	const schemeMax = 31 // far more than any that a renderer knows
	if !strings.HasPrefix(text[at:], "://") {
		return at, at
	}
	start = at
	for start > from && at-start < schemeMax && isSchemeChar(text[start-1]) {
		start--
	}
	for !isLetter(text[start]) {
		if start++; start >= at {
			return at, at
		}
	}
	return start, skip(text, at, isLinkChar)
}

// mention takes "name@name" around the sign at at; what is before it may be missing.
func mention(text string, at, from int) (start, end int) {
	const localMax = 64 // RFC 5321, section 4.5.3.1.1
	if at+1 == len(text) || !isNameChar(text[at+1]) {
		return at, at
	}
	start = at
	for start > from && at-start < localMax && isMailChar(text[start-1]) {
		start--
	}
	return start, skip(text, at+1, func(c byte) bool { return isNameChar(c) || c == '.' || c == '/' })
}

// skip returns the first place at or behind at whose byte is not of the kind.
func skip(text string, at int, kind func(byte) bool) int {
	for at < len(text) && kind(text[at]) {
		at++
	}
	return at
}

func hasFold(text, prefix string) bool {
	return len(text) >= len(prefix) && strings.EqualFold(text[:len(prefix)], prefix)
}

func isLetter(c byte) bool     { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool      { return c >= '0' && c <= '9' }
func isNameChar(c byte) bool   { return isLetter(c) || isDigit(c) || c == '_' || c == '-' }
func isSchemeChar(c byte) bool { return isLetter(c) || isDigit(c) || c == '+' || c == '.' || c == '-' }
func isMailChar(c byte) bool   { return isNameChar(c) || c == '.' || c == '%' || c == '+' }

// isLinkChar reports what can stand in a link that a renderer finds in plain text.
func isLinkChar(c byte) bool { return c > ' ' && strings.IndexByte("<>\"`|\x7F", c) < 0 }

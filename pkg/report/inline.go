package report

import (
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	linkable  = regexp.MustCompile(`^https://([a-z0-9.-]+(?::[0-9]{1,5})?)(/[A-Za-z0-9._~/?=&,;#%+-]*)?$`)
	reference = regexp.MustCompile(`(?i)/(issues|pull|pulls|discussions)(/|$)`)
	numbered  = regexp.MustCompile(`^[0-9]{1,9}[.)](?:[ \t]|$)`)
)

// writer makes one line of inert text.
type writer struct {
	policy Policy
	out    []byte
	// code is a span that is not written yet: two that touch would become one of another kind.
	code strings.Builder
	// after is the last byte of the foreign text that was taken, 0 at its start.
	after byte
}

// inline returns one line of text that has no white space at its ends.
func (p Policy) inline(text string) string {
	w := writer{policy: p}
	w.add(text, codeRuns(text))
	w.flush()
	return string(w.out)
}

// runs are the places of a text's runs of backticks by their length, in ascending order.
type runs map[int][]int

func codeRuns(text string) runs {
	all := runs{}
	for at := 0; at < len(text); {
		n := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if n > 0 {
			all[n] = append(all[n], at)
		}
		at += max(n, 1)
	}
	return all
}

// closer returns the place of the first run of n backticks at or behind place at, or -1. What it
// passes over is forgotten, so that all calls together take linear time.
func (r runs) closer(n, at int) int {
	for len(r[n]) > 0 && r[n][0] < at {
		r[n] = r[n][1:]
	}
	if len(r[n]) == 0 {
		return -1
	}
	return r[n][0]
}

// add writes text. Without closers it has no code spans of its own.
func (w *writer) add(text string, closers runs) {
	for at := 0; at < len(text); {
		start, end := find(text, at)
		if start < 0 {
			w.plain(text[at:])
			return
		}
		w.plain(text[at:start])
		switch match := text[start:end]; {
		case match[0] != '`':
			end = start + w.special(match, text[end:])
		case closers.closer(len(match), end) >= 0:
			closer := closers.closer(len(match), end)
			w.span(unpadded(text[end:closer]))
			end = closer + len(match)
		default:
			w.plain(match)
		}
		w.after = text[end-1]
		at = end
	}
}

// unpadded takes off the spaces that let a span start and end with a backtick, as renderers do.
func unpadded(content string) string {
	if len(content) > 2 && content[0] == ' ' && content[len(content)-1] == ' ' && strings.Trim(content, " ") != "" {
		return content[1 : len(content)-1]
	}
	return content
}

// special writes a match that is not backticks, and returns how much of it was taken. A dollar
// sign before white space starts no mathematics.
func (w *writer) special(match, rest string) int {
	if match == "$" && (rest == "" || rest[0] == ' ' || rest[0] == '\t') {
		w.plain(match)
		return len(match)
	}
	taken := match
	if match[0] != '$' && match[0] != '#' {
		taken = strings.TrimRight(match, `.,;:!?'")]}*_~/-`)
		if strings.Contains(match, "://") && strings.HasPrefix(match[len(taken):], "/") {
			taken = match[:len(taken)+1] // The slash that ends a link is part of it.
		}
	}
	if strings.HasSuffix(taken, "@") || taken == "" {
		taken = match
	}
	if w.policy.links(taken) {
		w.flush()
		w.out = append(w.out, "<"+taken+">"...)
	} else {
		w.span(taken)
	}
	return len(taken)
}

// links reports whether link may be followed by a click. A link to an issue of the server is no
// more than a reference to it, which leaves a note there.
func (p Policy) links(link string) bool {
	m := linkable.FindStringSubmatch(link)
	if m == nil {
		return false
	}
	meant, err := url.PathUnescape(link)
	return err == nil && !reference.MatchString(meant) && slices.Contains(p.Hosts, m[1])
}

// span adds a code span. Where a table may be around it, it cannot hold "|" in a way that also
// reads well without a table.
func (w *writer) span(content string) {
	if w.policy.Line && strings.Contains(content, "|") {
		w.add(content, nil)
		return
	}
	w.code.WriteString(content)
}

// flush writes the span that is waiting. One of nothing but spaces would be none.
func (w *writer) flush() {
	content := w.code.String()
	w.code.Reset()
	if strings.TrimSpace(content) == "" {
		w.out = append(w.out, strings.Repeat("&#32;", len(content))...)
		return
	}
	if strings.Contains(content, "@") {
		w.detach()
	}
	mark := strings.Repeat("`", 1+longestRun(content, '`'))
	pad := ""
	if content[0] == '`' || content[len(content)-1] == '`' || content[0] == ' ' && content[len(content)-1] == ' ' {
		pad = " " // The renderer takes one space away at each end.
	}
	w.out = append(w.out, mark+pad+content+pad+mark...)
}

// plain writes text so that every character of it is shown as it is.
func (w *writer) plain(text string) {
	if text == "" {
		return
	}
	w.flush()
	mark := -1 // where the "." or ")" of a numbered list's item stands
	if len(w.out) == 0 && numbered.MatchString(text) {
		mark = strings.IndexAny(text, ".)")
	}
	for i := range len(text) {
		if i == mark {
			w.out = append(w.out, '\\')
		}
		w.char(text, i)
		w.after = text[i]
	}
}

// char writes the byte text[i]. Those of characters beyond ASCII pass through.
func (w *writer) char(text string, i int) {
	c := text[i]
	first := len(w.out) == 0
	if strings.IndexByte("\\`<>&|$", c) >= 0 {
		w.reference(c)
		return
	}
	switch c {
	case '*', '_', '~', '[', ']', '#':
		w.out = append(w.out, '\\')
	case '-', '+', '=', ':':
		if first {
			w.out = append(w.out, '\\') // an item of a list, an underlined heading, a rule, a table
		}
	case '/':
		if i+1 < len(text) && isLetter(text[i+1]) && (first || w.after == ' ' || w.after == '\t') {
			w.reference(c) // a slash command
			return
		}
	}
	w.out = append(w.out, c)
}

// reference writes c so that it means itself wherever it stands.
func (w *writer) reference(c byte) {
	w.out = append(w.out, "&#"+strconv.Itoa(int(c))+";"...)
}

// detach keeps the span that follows apart from the word before it. Some renderers would take
// "me`@host.example" for a mail address, and the backtick for a part of it.
func (w *writer) detach() {
	last := len(w.out) - 1
	if last < 0 {
		return
	}
	c := w.out[last]
	if c <= ' ' || c > '~' || c == ';' || c == '>' {
		return // Mail addresses have none of these: ">" and ";" end a link and a reference.
	}
	w.out = w.out[:last]
	if last > 0 && w.out[last-1] == '\\' {
		w.out = w.out[:last-1]
	}
	w.reference(c)
}

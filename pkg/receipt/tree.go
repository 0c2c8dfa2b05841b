package receipt

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"unicode/utf8"
)

// depthMax bounds nesting. With two spaces a level, deeper values would grow a small file into a
// huge one.
const depthMax = 64

// value is a JSON value whose literals keep their bytes: a number that no Go type can hold, or a
// string with its escapes, prints as it was read.
type value struct {
	// open is '{', '[', or 0 for a literal.
	open    byte
	literal []byte
	members []member
}

// member is a member of an object, or an element of an array (without a key).
type member struct {
	key     []byte // as written, with quotes
	name    string // decoded
	content *value
}

// parseTree reads one JSON value, with nothing after it.
func parseTree(data []byte) (*value, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not UTF-8")
	}
	if !json.Valid(data) {
		return nil, errors.New("not JSON")
	}
	p := treeParser{rest: data}
	return p.value(0)
}

// treeParser reads JSON that is known to be valid.
type treeParser struct{ rest []byte }

func (p *treeParser) value(depth int) (*value, error) {
	if depth > depthMax {
		return nil, fmt.Errorf("nested more than %d deep", depthMax)
	}
	switch c := p.peek(); c {
	case '{', '[':
		p.rest = p.rest[1:]
		return p.members(&value{open: c}, depth)
	case '"':
		return &value{literal: p.quoted()}, nil
	}
	n := bytes.IndexAny(p.rest, ",]} \t\r\n")
	if n < 0 {
		n = len(p.rest)
	}
	return &value{literal: p.take(n)}, nil
}

func (p *treeParser) members(v *value, depth int) (*value, error) {
	for {
		switch p.peek() {
		case '}', ']':
			p.rest = p.rest[1:]
			return v, nil
		case ',':
			p.rest = p.rest[1:]
			continue
		}
		var m member
		if v.open == '{' {
			m.key = p.quoted()
			if err := json.Unmarshal(m.key, &m.name); err != nil {
				return nil, err
			}
			p.peek()
			p.take(len(":"))
		}
		content, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		m.content = content
		v.members = append(v.members, m)
	}
}

// peek returns the next byte that is not white space.
func (p *treeParser) peek() byte {
	p.rest = bytes.TrimLeft(p.rest, " \t\r\n")
	return p.rest[0]
}

func (p *treeParser) take(n int) []byte {
	taken := p.rest[:n]
	p.rest = p.rest[n:]
	return taken
}

func (p *treeParser) quoted() []byte {
	n := 1
	for p.rest[n] != '"' {
		if p.rest[n] == '\\' {
			n++
		}
		n++
	}
	return p.take(n + 1)
}

// print returns v with two-space indent, the members of objects sorted by name in the order of
// their bytes, and a newline at the end.
func (v *value) print() []byte {
	var b bytes.Buffer
	v.printTo(&b, "\n")
	b.WriteByte('\n')
	return b.Bytes()
}

func (v *value) printTo(b *bytes.Buffer, newline string) {
	if v.open == 0 {
		b.Write(v.literal)
		return
	}
	b.WriteByte(v.open)
	inner := newline + "  "
	for i, m := range v.sorted() {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(inner)
		if m.key != nil {
			b.Write(m.key)
			b.WriteString(": ")
		}
		m.content.printTo(b, inner)
	}
	if len(v.members) > 0 {
		b.WriteString(newline)
	}
	b.WriteByte(v.open + 2) // '{' and '}', '[' and ']' lie two apart in ASCII.
}

// sorted keeps the order of elements, and of members of the same name: readers that take the
// last one must still do so.
func (v *value) sorted() []member {
	if v.open == '[' {
		return v.members
	}
	members := append([]member(nil), v.members...)
	sort.SliceStable(members, func(i, j int) bool { return members[i].name < members[j].name })
	return members
}

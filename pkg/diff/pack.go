package diff

import (
	"encoding/binary"
	"iter"
	"strings"
)

// The packed form of a file's hunks, one after the other:
//
//	hunk = uvarint(gap) run* end
//	run  = uvarint(lines<<2 | kind)
//	end  = uvarint(flags<<2 | endMark)
//
// gap counts the unchanged lines between the last hunk and this one. Both sides skip the same
// number of lines there, so that one number gives both starts. Most fields take one byte: a
// million-line diff is held in about a hundredth of its size.
const (
	endMark      = 3
	noNewlineOld = 1 << 0
	noNewlineNew = 1 << 1
)

func packedRun(r Run) uint64 { return uint64(r.Lines)<<2 | uint64(r.Kind) }

func packedEnd(flags uint64) uint64 { return flags<<2 | endMark }

// packer collects a packed form in pieces: a slice that grows would leave behind several times
// what it holds in the end.
type packer struct {
	full []string
	last []byte
}

const pieceSize = 64 << 10

func (p *packer) add(n uint64) {
	if len(p.last)+binary.MaxVarintLen64 > pieceSize {
		p.full = append(p.full, string(p.last))
		p.last = p.last[:0]
	}
	p.last = binary.AppendUvarint(p.last, n)
}

func (p *packer) reset() { p.full, p.last = nil, p.last[:0] }

func (p *packer) text() string {
	return strings.Join(append(p.full, string(p.last)), "")
}

// uvarint reads a number at the start of s and returns what follows it. The standard library
// reads bytes only, and a copy of s is what the packing is there to avoid.
func uvarint(s string) (uint64, string) {
	var n uint64
	for i := range len(s) {
		n |= uint64(s[i]&0x7f) << (7 * i)
		if s[i] < 0x80 {
			return n, s[i+1:]
		}
	}
	return n, ""
}

// Hunks yields the hunks of f in order. Hunks of a submodule are there too, although nobody can
// comment on them.
func (f File) Hunks() iter.Seq[Hunk] {
	return func(yield func(Hunk) bool) {
		c := cursor{rest: f.hunks, oldLine: 1, newLine: 1}
		for c.rest != "" {
			if !yield(c.next()) {
				return
			}
		}
	}
}

// cursor walks a packed form. oldLine and newLine are the next lines of either side.
type cursor struct {
	rest             string
	oldLine, newLine int
}

func (c *cursor) next() Hunk {
	gap, rest := uvarint(c.rest)
	c.oldLine += int(gap)
	c.newLine += int(gap)
	h := Hunk{runs: rest}
	for {
		n, after := uvarint(rest)
		if n&3 == endMark {
			h.runs = h.runs[:len(h.runs)-len(rest)]
			h.NoNewlineOld = n>>2&noNewlineOld != 0
			h.NoNewlineNew = n>>2&noNewlineNew != 0
			c.rest = after
			break
		}
		rest = after
		if Kind(n & 3).on(Left) {
			h.OldLines += int(n >> 2)
		}
		if Kind(n & 3).on(Right) {
			h.NewLines += int(n >> 2)
		}
	}
	h.OldStart = headerStart(c.oldLine, h.OldLines)
	h.NewStart = headerStart(c.newLine, h.NewLines)
	c.oldLine += h.OldLines
	c.newLine += h.NewLines
	return h
}

// headerStart turns the next line of a side into what a hunk header says: git names the line
// before when the hunk has no line on that side.
func headerStart(next, lines int) int {
	if lines == 0 {
		return next - 1
	}
	return next
}

// Runs yields the lines of h in order, as runs of one kind.
func (h Hunk) Runs() iter.Seq[Run] {
	return func(yield func(Run) bool) {
		for s := h.runs; s != ""; {
			var n uint64
			n, s = uvarint(s)
			if !yield(Run{Kind: Kind(n & 3), Lines: int(n >> 2)}) {
				return
			}
		}
	}
}

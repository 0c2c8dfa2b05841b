package diff

import (
	"bytes"
	"io"
)

// maxLines bounds line numbers. Git shows a file of more than 1 GiB as binary (MAX_XDIFF_SIZE),
// so no line lies beyond.
const maxLines = 1 << 30

// hunkReader reads the hunks of one file. oldLine and newLine are the next lines of either side.
type hunkReader struct {
	*parser
	file             *File
	oldLine, newLine int
	// ended tells that a side's last line was there and has no line end.
	ended uint64
	// old and new count the lines that the hunk still has to bring; run is the open run.
	old, new int
	run      Run
}

// hunks reads the hunks of f and packs them.
func (p *parser) hunks(f *File) error {
	h := hunkReader{parser: p, file: f, oldLine: 1, newLine: 1}
	p.packed.reset()
	if !p.has("@@ -") {
		return p.missing("a hunk of %q", f.Path())
	}
	for p.has("@@ -") {
		if err := h.read(); err != nil {
			return err
		}
	}
	f.hunks = p.packed.text()
	return nil
}

func (h *hunkReader) read() error {
	gap, err := h.start()
	if err != nil {
		return err
	}
	h.packed.add(uint64(gap))
	h.run = Run{}
	before := h.ended
	for h.old > 0 || h.new > 0 {
		h.buffered()
		if err := h.line(); err != nil {
			return err
		}
	}
	for h.has(`\`) {
		if err := h.noNewline(); err != nil {
			return err
		}
	}
	h.flush()
	h.packed.add(packedEnd(h.ended &^ before))
	return nil
}

// start reads a line "@@ -l[,n] +l[,n] @@[ section]" and returns the number of lines between the
// last hunk and this one.
func (h *hunkReader) start() (gap int, err error) {
	line, err := h.lines.read(maxHeader)
	if err != nil {
		return 0, err
	}
	ranges, section, ok := bytes.Cut(bytes.TrimPrefix(line, []byte("@@ -")), []byte(" @@"))
	before, after, hasBoth := bytes.Cut(ranges, []byte(" +"))
	oldStart, old, okOld := span(before)
	newStart, new, okNew := span(after)
	if !ok || !hasBoth || !okOld || !okNew || old+new == 0 || len(section) > 0 && section[0] != ' ' {
		return 0, h.failf("hunk header %.80q is not of git diff", line)
	}
	if h.file.Old == "" && old > 0 || h.file.New == "" && new > 0 {
		return 0, h.failf("hunk %q has lines that %s file cannot have", ranges, h.file.Status)
	}
	gap = oldStart - h.oldLine
	if gap < 0 || gap != newStart-h.newLine || h.ended != 0 && gap > 0 {
		e := h.failf("hunk %q does not fit the hunks before it", ranges)
		e.hint = "run git diff without options that hide lines, such as -w, --ignore-blank-lines or -I"
		return 0, e
	}
	h.old, h.new = old, new
	h.oldLine, h.newLine = oldStart+old, newStart+new
	return gap, nil
}

// span reads "l[,n]" and returns the first line, or the line that would be, and the count.
func span(s []byte) (start, lines int, ok bool) {
	first, count, counted := bytes.Cut(s, []byte(","))
	start, ok = number(first)
	if !ok || !counted {
		return start, 1, ok
	}
	lines, ok = number(count)
	if lines == 0 {
		// With no line of its own, the header names the line before.
		start++
	}
	return start, lines, ok
}

func number(s []byte) (n int, ok bool) {
	for _, c := range s {
		if c < '0' || c > '9' || n > maxLines/10 {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, len(s) > 0 && n < maxLines
}

// kindOf reads the first byte of a line. An empty line is context without its space, as
// diff.suppressBlankEmpty prints it.
func kindOf(c byte) (kind Kind, ok bool) {
	switch c {
	case ' ', '\n':
		return ContextLine, true
	case '-':
		return RemovedLine, true
	case '+':
		return AddedLine, true
	}
	return 0, false
}

// buffered reads the lines that lie in the buffer as a whole and leaves the first that is not as
// expected to line. Nearly all lines pass here; a call a line would cost most of the time.
func (h *hunkReader) buffered() {
	window := h.window()
	n, all, last := 0, 0, 0
	for h.old > 0 || h.new > 0 {
		rest := window[all:]
		size := bytes.IndexByte(rest, '\n') + 1
		if size == 0 {
			break
		}
		kind, ok := kindOf(rest[0])
		if !ok || !h.count(kind) {
			break
		}
		n, all, last = n+1, all+size, size
	}
	h.advance(n, all, last)
}

// line reads one line of the hunk.
func (h *hunkReader) line() error {
	if h.old == 0 && h.new == 0 {
		return nil
	}
	c, err := h.peek()
	if err == io.EOF {
		return h.cut("a hunk has fewer lines than its header says")
	}
	if err != nil {
		return err
	}
	if c == '\\' {
		return h.noNewline()
	}
	kind, ok := kindOf(c)
	if !ok {
		return h.unexpected()
	}
	if err := h.skip(); err != nil {
		return err
	}
	if h.ended&endFlags(kind) != 0 {
		return h.failf("a line follows the last line of %q", h.file.Path())
	}
	if !h.count(kind) {
		return h.failf("a hunk of %q has more lines than its header says", h.file.Path())
	}
	return nil
}

// count adds a line to the open run, unless there can be no such line.
func (h *hunkReader) count(kind Kind) bool {
	old, new := h.old, h.new
	if kind != AddedLine {
		old--
	}
	if kind != RemovedLine {
		new--
	}
	if old < 0 || new < 0 || h.ended&endFlags(kind) != 0 {
		return false
	}
	h.old, h.new = old, new
	if kind != h.run.Kind {
		h.flush()
		h.run.Kind = kind
	}
	h.run.Lines++
	return true
}

// noNewline reads "\ No newline at end of file", which speaks of the line before it. Some
// programs translate the words.
func (h *hunkReader) noNewline() error {
	if !h.has(`\ `) {
		return h.unexpected()
	}
	if err := h.skip(); err != nil {
		return err
	}
	sides := endFlags(h.run.Kind)
	if h.run.Lines == 0 || h.ended&sides != 0 {
		return h.failf("a mark for a missing line end follows no line")
	}
	h.ended |= sides
	return nil
}

func (h *hunkReader) unexpected() error {
	line, err := h.text()
	if err != nil {
		return err
	}
	return h.failf("line %.60q is not of a hunk", line)
}

func (h *hunkReader) flush() {
	if h.run.Lines > 0 {
		h.packed.add(packedRun(h.run))
	}
	h.run.Lines = 0
}

// endFlags returns the sides that lines of kind are on.
func endFlags(kind Kind) uint64 {
	switch kind {
	case RemovedLine:
		return noNewlineOld
	case AddedLine:
		return noNewlineNew
	}
	return noNewlineOld | noNewlineNew
}

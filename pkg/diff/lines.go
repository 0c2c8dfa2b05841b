package diff

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxHeader bounds a header line in bytes. Two quoted names of the longest path that Linux
// takes need 32 KiB; lines of files are never held and have no bound.
const maxHeader = 1 << 20

// SyntaxError says where a diff is not what git writes. It unwraps to io.ErrUnexpectedEOF when
// the diff just ends too early.
type SyntaxError struct {
	// Offset is the number of bytes before the line at fault, Line its number from 1.
	Offset, Line int64
	Reason       string
	hint         string
	err          error
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("read diff at byte %d, line %d: %s", e.Offset, e.Line, e.Reason)
}

// Unwrap returns io.ErrUnexpectedEOF for a diff that was cut, else nil.
func (e *SyntaxError) Unwrap() error { return e.err }

// Hint returns what to ask git for instead, or "".
func (e *SyntaxError) Hint() string { return e.hint }

// lines reads lines of any length in the memory of one buffer.
type lines struct {
	br *bufio.Reader
	// offset and number are those of the line read last, next is where the one after it starts.
	offset, number, next int64
}

func newLines(r io.Reader) *lines {
	return &lines{br: bufio.NewReaderSize(r, 64<<10)}
}

// peek returns the first byte of the next line, or io.EOF.
func (l *lines) peek() (byte, error) {
	b, err := l.br.Peek(1)
	if err == nil {
		return b[0], nil
	}
	if err == io.EOF {
		return 0, io.EOF
	}
	return 0, fmt.Errorf("read diff at byte %d: %w", l.next, err)
}

// has reports whether the next line starts with prefix. A read error shows at the next read.
func (l *lines) has(prefix string) bool {
	b, _ := l.br.Peek(len(prefix))
	return string(b) == prefix
}

// window returns what is buffered of the lines to come, which may end inside a line.
func (l *lines) window() []byte {
	b, _ := l.br.Peek(l.br.Buffered())
	return b
}

// advance skips n lines of the window: all have bytes together, the last of them the last bytes.
func (l *lines) advance(n, all, last int) {
	if n == 0 {
		return
	}
	l.br.Discard(all)
	l.next += int64(all)
	l.offset, l.number = l.next-int64(last), l.number+int64(n)
}

// skip reads a line and forgets it.
func (l *lines) skip() error {
	_, err := l.read(0)
	return err
}

// text reads a line without its line end.
func (l *lines) text() (string, error) {
	b, err := l.read(maxHeader)
	return string(b), err
}

// read reads a line and keeps it without its line end if keep is not 0; a longer one is then an
// error.
func (l *lines) read(keep int) ([]byte, error) {
	l.offset, l.number = l.next, l.number+1
	var kept []byte
	for {
		b, err := l.br.ReadSlice('\n')
		l.next += int64(len(b))
		switch {
		case err == nil && kept == nil:
			return b[:len(b)-1], nil
		case err == nil:
			return append(kept, b[:len(b)-1]...), nil
		case err == io.EOF:
			return nil, l.cut("its last line has no line end")
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("read diff at byte %d: %w", l.next, err)
		}
		if keep == 0 {
			continue
		}
		if kept = append(kept, b...); len(kept) > keep {
			return nil, l.failf("header line is longer than %d bytes", keep)
		}
	}
}

// failf returns a SyntaxError at the line read last.
func (l *lines) failf(format string, args ...any) *SyntaxError {
	return &SyntaxError{Offset: l.offset, Line: l.number, Reason: fmt.Sprintf(format, args...)}
}

// cut returns the SyntaxError of a diff that ends inside what.
func (l *lines) cut(what string) *SyntaxError {
	e := l.failf("the diff was cut: %s", what)
	e.err = io.ErrUnexpectedEOF
	return e
}

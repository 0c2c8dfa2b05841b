package actions

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// OutputLimit is how much the outputs of a job may hold, in bytes of their UTF-16 form: GitHub
// measures them so, and drops what is over.
const OutputLimit = 1 << 20

// delimiterTries bounds the search for a delimiter that a value does not hold. One is enough unless
// the source of randomness is broken.
const delimiterTries = 8

// Output is one output of the step.
type Output struct {
	Name, Value string
}

// WriteOutputs appends outputs to the file at path, which is what GITHUB_OUTPUT names, in the
// runner's heredoc form with a fresh random delimiter of 128 bits for each value: a value can not
// end itself and forge another. Names are ASCII letters, digits, "_" and "-".
//
// Nothing is ever cut. What does not fit under OutputLimit together with what the file holds, the
// smaller first, and what is not UTF-8 is left out whole and named by the error; the others are
// written. An empty path is ErrUnset. Not for two writers at once.
func WriteOutputs(path string, random io.Reader, outputs ...Output) error {
	if path == "" {
		return fmt.Errorf("write outputs: GITHUB_OUTPUT %w", ErrUnset)
	}
	var problems []error
	err := appendFile(path, func(size int64) []byte {
		var text bytes.Buffer
		// Most of the file is ASCII, which UTF-16 doubles.
		fits, left := chooseOutputs(outputs, OutputLimit-2*size)
		problems = append(problems, left...)
		for _, o := range fits {
			if err := heredoc(&text, random, o); err != nil {
				problems = append(problems, fmt.Errorf("write output %q: %w", o.Name, err))
			}
		}
		return text.Bytes()
	})
	if err != nil {
		problems = append(problems, fmt.Errorf("write outputs: %w", err))
	}
	return errors.Join(problems...)
}

// chooseOutputs returns the outputs that may be written into room bytes, in the order given, and
// why each of the others may not.
func chooseOutputs(outputs []Output, room int64) (fits []Output, left []error) {
	order := make([]int, len(outputs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return len(outputs[a].Value) - len(outputs[b].Value)
	})
	chosen := make([]bool, len(outputs))
	for _, i := range order {
		o := outputs[i]
		need := 2 * int64(utf16Len(o.Name)+utf16Len(o.Value))
		switch {
		case !isOutputName(o.Name):
			left = append(left, fmt.Errorf("write output %s: not a name", quote(o.Name)))
		case !utf8.ValidString(o.Value):
			left = append(left, fmt.Errorf("write output %q: not UTF-8", o.Name))
		case need > room:
			left = append(left, &OutputSizeError{Name: o.Name, Size: need, Room: max(room, 0)})
		default:
			room -= need
			chosen[i] = true
		}
	}
	for i, o := range outputs {
		if chosen[i] {
			fits = append(fits, o)
		}
	}
	return fits, left
}

// OutputSizeError says which output was left out because outputs may hold no more. Size and Room
// are in bytes of the UTF-16 form.
type OutputSizeError struct {
	Name       string
	Size, Room int64
}

func (e *OutputSizeError) Error() string {
	return fmt.Sprintf("write output %q: %d bytes, and outputs have room for %d more", e.Name, e.Size, e.Room)
}

// Hint is the next thing to do.
func (e *OutputSizeError) Hint() string {
	return "read it from the file or the artifact instead: the outputs of a job hold 1 MB"
}

// heredoc writes "name<<delimiter", the value and the delimiter, each on lines of their own. The
// runner reads a value up to the newline before the delimiter, so trailing newlines survive.
func heredoc(w *bytes.Buffer, random io.Reader, o Output) error {
	for range delimiterTries {
		delimiter, err := randomToken(random)
		if err != nil {
			return err
		}
		if strings.Contains(o.Value, delimiter) {
			continue
		}
		fmt.Fprintf(w, "%s<<%s\n%s\n%s\n", o.Name, delimiter, o.Value, delimiter)
		return nil
	}
	return fmt.Errorf("no delimiter in %d tries that the value does not hold", delimiterTries)
}

// randomToken returns 128 random bits. It is no name of a workflow command and holds nothing that
// either command form or a heredoc could stumble over.
func randomToken(random io.Reader) (string, error) {
	var b [16]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", fmt.Errorf("make a random token: %w", err)
	}
	return "recibo-" + hex.EncodeToString(b[:]), nil
}

func isOutputName(s string) bool {
	return isWord(s, "_-") && s[0] != '-' && (s[0] < '0' || s[0] > '9')
}

// utf16Len counts UTF-16 code units, which is what the runner's limits count.
func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

package diff

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Parse reads a diff to its end and returns its files in order. It holds a few bytes for every
// run of lines of one kind, and no line of a file. What git does not write is an error, so that
// a diff which lost a part is not taken for a shorter one. Yet a diff cut exactly before a file, a
// hunk or a "\" line, or behind the modes of a file, is whole by itself: r must not answer io.EOF
// before git has exited well. Errors about the diff are a *SyntaxError; those of r are wrapped.
func Parse(r io.Reader) ([]File, error) {
	p := &parser{lines: newLines(r)}
	var files []File
	for {
		if _, err := p.peek(); err == io.EOF {
			return slices.Clip(files), nil
		} else if err != nil {
			return nil, err
		}
		f, err := p.file()
		if err != nil {
			return nil, err
		}
		if n := len(files); n > 0 && typeChanged(files[n-1], f) {
			files[n-1] = joined(files[n-1], f)
			continue
		}
		files = append(files, f)
	}
}

// typeChanged reports whether git split one change of type into the two given.
func typeChanged(gone, made File) bool {
	return gone.Status == Deleted && made.Status == Added &&
		gone.Old == made.New && gone.OldMode.kind() != made.NewMode.kind() &&
		len(gone.ids) == len(made.ids)
}

// joined undoes the split. The hunks may follow each other as they are: the first section ends
// where the old side does, the second starts at the start of the new one.
func joined(gone, made File) File {
	return File{
		Old: gone.Old, New: made.New, Status: TypeChanged,
		OldMode: gone.OldMode, NewMode: made.NewMode,
		Binary: gone.Binary || made.Binary,
		ids:    gone.ids[:len(gone.ids)/2] + made.ids[len(made.ids)/2:],
		hunks:  gone.hunks + made.hunks,
	}
}

type parser struct {
	*lines
	packed packer
}

// file reads one "diff --git" section.
func (p *parser) file() (File, error) {
	line, err := p.text()
	if err != nil {
		return File{}, err
	}
	names, ok := strings.CutPrefix(line, "diff --git ")
	if !ok {
		return File{}, p.stray(line)
	}
	h := header{parser: p, names: names}
	if err := h.read(); err != nil {
		return File{}, err
	}
	shown, err := p.body(&h.File)
	if err != nil {
		return File{}, err
	}
	if !shown && h.content() {
		return File{}, p.missing("the lines of %q", h.Path())
	}
	if shown && h.ids == "" {
		return File{}, p.failf("lines of %q stand without a line %q", h.Path(), "index ")
	}
	return h.File, nil
}

// body reads what follows the header and reports whether there was anything.
func (p *parser) body(f *File) (shown bool, err error) {
	switch {
	case p.has("--- "):
		if err := p.fileLines(f); err != nil {
			return false, err
		}
		return true, p.hunks(f)
	case p.has("Binary files "):
		f.Binary = true
		return true, p.skip()
	case p.has("GIT binary patch\n"):
		f.Binary = true
		return true, p.binaryPatch()
	}
	return false, nil
}

// fileLines reads the "---" and "+++" lines, which only repeat what is known.
func (p *parser) fileLines(f *File) error {
	for _, side := range []struct{ mark, prefix, name string }{
		{"--- ", "a/", f.Old},
		{"+++ ", "b/", f.New},
	} {
		v, err := p.value(side.mark)
		if err != nil {
			return err
		}
		if side.name == "" && v == "/dev/null" {
			continue
		}
		rest, ok := cutName(v, side.prefix+side.name)
		if !ok || side.name == "" || rest != "" && rest != "\t" {
			return p.failf("line %.80q names another file than %q", side.mark+v, f.Path())
		}
	}
	return nil
}

// binaryPatch reads the one or two blocks of git diff --binary, each ended by an empty line.
func (p *parser) binaryPatch() error {
	if err := p.skip(); err != nil {
		return err
	}
	blocks := 0
	for ; p.has("literal ") || p.has("delta "); blocks++ {
		for !p.has("\n") {
			if _, err := p.peek(); err == io.EOF {
				return p.cut("a binary patch has no end")
			}
			if err := p.skip(); err != nil {
				return err
			}
		}
		if err := p.skip(); err != nil {
			return err
		}
	}
	if blocks == 0 {
		return p.missing("a binary patch")
	}
	return nil
}

// value reads a line that must start with mark and returns the rest of it.
func (p *parser) value(mark string) (string, error) {
	if !p.has(mark) {
		return "", p.missing("the line %q", mark)
	}
	line, err := p.text()
	if err != nil {
		return "", err
	}
	return line[len(mark):], nil
}

// missing returns the error for something that does not follow, where the diff ends or goes on
// with something else.
func (p *parser) missing(format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	if _, err := p.peek(); err == io.EOF {
		return p.cut(what + " should follow")
	} else if err != nil {
		return err
	}
	line, err := p.text()
	if err != nil {
		return err
	}
	e := p.failf("line %.60q stands where %s should", line, what)
	e.hint = "run git diff without options that hide lines, such as -w, --ignore-blank-lines or -D"
	return e
}

// stray returns the error for a line where a file should begin.
func (p *parser) stray(line string) error {
	e := p.failf("line %.60q is not of git diff between two trees", line)
	for _, known := range []struct{ prefix, hint string }{
		{"diff --c", "a merge is shown as a combined diff: compare two commits instead"},
		{"* Unmerged path", "compare two commits, not a working tree in the middle of a merge"},
		{"Submodule ", "run git diff with --submodule=short"},
		{"\x1b[", "run git diff with --no-color"},
		{"commit ", "run git diff, not git log or git show"},
	} {
		if strings.HasPrefix(line, known.prefix) {
			e.hint = known.hint
		}
	}
	return e
}

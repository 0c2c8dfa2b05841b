// Package prompt reads the one prompt of a run and refuses what Codex would alter on its way to
// the model.
//
// It renders no template and never changes a byte: what was read is what is hashed and sent.
package prompt

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// Prompt is the text of a run, read once.
type Prompt struct {
	bytes []byte
	// Path is where the text really lies, relative to the top of the repository, with forward
	// slashes and every symbolic link resolved; "" for a prompt given inline.
	Path string
	// SHA is the digest of Bytes.
	SHA digest.SHA256
}

// Bytes returns the text: always the same slice, which nobody may write to.
func (p Prompt) Bytes() []byte { return p.bytes }

// New returns the prompt that consists of b, which it keeps. path is "" or relative to the top of
// the repository. The errors are those of Check.
func New(path string, b []byte) (Prompt, error) {
	if err := Check(b); err != nil {
		return Prompt{}, err
	}
	return Prompt{bytes: b, Path: path, SHA: digest.Of(b)}, nil
}

// Source says where the prompt comes from. Exactly one of Inline and File is set; white space
// alone counts as not set.
type Source struct {
	// Inline is the text itself.
	Inline string
	// File is a path, absolute or relative to Dir, of a file inside Root.
	File string
	// Root is the top of the repository, absolute.
	Root string
	// Dir is the absolute directory that a relative File starts from; "" is Root.
	Dir string
}

// Load reads the prompt that s names. Every refusal is a fault.Request with a hint.
func Load(s Source) (Prompt, error) {
	switch inline, file := isSet(s.Inline), isSet(s.File); {
	case inline && file:
		return Prompt{}, fault.New(fault.Request, "remove one of the two inputs",
			"prompt and prompt-file are both set, and a run has one prompt")
	case inline:
		p, err := New("", []byte(s.Inline))
		if err != nil {
			return Prompt{}, fmt.Errorf("input prompt: %w", err)
		}
		return p, nil
	case file:
		return loadFile(s)
	}
	return Prompt{}, fault.New(fault.Request, "set prompt-file to a file of the repository, or prompt to the text",
		"neither prompt nor prompt-file is set")
}

func isSet(input string) bool { return strings.TrimSpace(input) != "" }

func loadFile(s Source) (Prompt, error) {
	path, b, err := readInside(s)
	if err != nil {
		return Prompt{}, fmt.Errorf("prompt file %s: %w", quoted(s.File), err)
	}
	p, err := New(filepath.ToSlash(path), b)
	if err != nil {
		return Prompt{}, fmt.Errorf("prompt file %s: %w", quoted(s.File), err)
	}
	return p, nil
}

// quoted bounds a name in a message: a whole prompt put into prompt-file by mistake is one.
func quoted(name string) string {
	const most = 120
	runes := []rune(name)
	if len(runes) <= most {
		return fmt.Sprintf("%q", name)
	}
	return fmt.Sprintf("%q…", string(runes[:most]))
}

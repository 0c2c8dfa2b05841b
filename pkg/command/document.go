package command

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// Marks between which action.yml and README.md are made from the tables in this package.
const (
	generatedStart = "generated: start"
	generatedEnd   = "generated: end"
)

// output is one output of the action.
type output struct{ name, text string }

func outputTable() []output {
	return []output{
		{"final-message", "The review as Codex wrote it."},
		{"verdict", "`ok`, `findings`, `inconclusive`, `failed` or `skipped`."},
		{"findings-count", "How many findings the review has."},
		{"review-file", "Path of the review."},
		{"usage-file", "Path of the receipt."},
		{"prompt-sha", "SHA-256 of the prompt that reached the model."},
		{"tools-sha", "SHA-256 of the declared tools file; empty without one."},
		{"git-describe", "What `git describe --tags --always --dirty` says of the checkout."},
		{"git-sha", "Commit of the checkout."},
		{"total-tokens", "Input and output tokens, as the endpoint reported them."},
		{"artifact-id", "Id of the uploaded artifact; empty without one."},
		{"artifact-url", "Address of the uploaded artifact; empty without one."},
	}
}

// ActionYML returns the inputs and outputs as action.yml has them.
func ActionYML() string {
	var b strings.Builder
	b.WriteString("inputs:\n")
	for _, in := range inputs() {
		fmt.Fprintf(&b, "  %s:\n    description: %s\n    required: false\n", in.name, yamlText(plain(in.text)))
		if in.def != "" {
			fmt.Fprintf(&b, "    default: %s\n", yamlText(in.def))
		}
		if in.notice != "" {
			fmt.Fprintf(&b, "    deprecationMessage: %s\n", yamlText(in.notice))
		}
	}
	b.WriteString("outputs:\n")
	for _, o := range outputTable() {
		fmt.Fprintf(&b, "  %s:\n    description: %s\n", o.name, yamlText(plain(o.text)))
	}
	return b.String()
}

// plain takes the marks of Markdown away.
func plain(s string) string { return strings.ReplaceAll(s, "`", "") }

// yamlText quotes s as a single-quoted YAML scalar.
func yamlText(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// InputTable returns the inputs as the README's table has them.
func InputTable() string {
	var b strings.Builder
	b.WriteString("| input | default | meaning |\n|---|---|---|\n")
	for _, in := range inputs() {
		def := ""
		if in.def != "" {
			def = "`" + in.def + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", in.name, def, in.text)
	}
	b.WriteString("\n| output | meaning |\n|---|---|\n")
	for _, o := range outputTable() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", o.name, o.text)
	}
	return b.String()
}

// Splice replaces what stands between the marks of file with text, and leaves the marks.
func Splice(file []byte, text string) ([]byte, error) {
	start := bytes.Index(file, []byte(generatedStart))
	end := bytes.Index(file, []byte(generatedEnd))
	if start < 0 || end < start {
		return nil, fault.New(fault.Request, "put both marks in", "splice: the marks %q and %q are not there in order", generatedStart, generatedEnd)
	}
	start += bytes.IndexByte(file[start:], '\n') + 1
	end = bytes.LastIndexByte(file[:end], '\n') + 1
	return bytes.Join([][]byte{file[:start], []byte(text), file[end:]}, nil), nil
}

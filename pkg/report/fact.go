package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/recibo-ci/recibo/pkg/receipt"
)

// fact is one line about what went into a run. Words may hold foreign text.
type fact struct {
	label, words string
	sha          string // in hex, or ""
}

// facts lists what is known, in the order in which people ask. Labels take 11 columns at most, so
// that a digest fits beside them.
func facts(r *receipt.Receipt) []fact {
	all := []fact{
		{"prompt", promptWords(r), r.PromptSHA.String()},
		{"on the wire", intactWords(r.Wire), ""},
		{"tools file", declaredWords(r), r.ToolsSHA.String()},
		{"tools sent", offeredWords(r.Wire), r.WireToolsSHA.String()},
		{"schema", schemaWords(r), r.SchemaSHA.String()},
		{"AGENTS.md", chainWords(r), r.AgentsChainSHA.String()},
		{"context", contextWords(r), r.ContextSHA.String()},
		{"Codex", codexWords(r), r.CodexSHA.String()},
		{"model", modelWords(r), ""},
		{"endpoint", string(r.Wire.Endpoint), ""},
		{"checkout", commitWords(r), ""},
		{"reviewed", string(r.HeadSHA), ""},
		{"merge base", string(r.MergeBase), ""},
		{"jail", jailWords(r), ""},
		{"tool calls", callWords(r.Wire), ""},
		{"recibo", r.ReciboVersion, ""},
		{"started", startWords(r), ""},
	}
	known := all[:0]
	for _, f := range all {
		if f.words != "" || f.sha != "" {
			known = append(known, f)
		}
	}
	return known
}

func promptWords(r *receipt.Receipt) string {
	if r.PromptBytes == nil {
		return ""
	}
	path := string(r.PromptPath)
	if path == "" {
		path = "given inline"
	}
	return fmt.Sprintf("%s, %s", path, plural(int(*r.PromptBytes), "byte"))
}

func intactWords(w receipt.Wire) string {
	switch {
	case w.PromptIntact == nil:
		return ""
	case *w.PromptIntact:
		return "unchanged in " + plural(w.Requests, "request")
	}
	return "NOT unchanged in every request"
}

func declaredWords(r *receipt.Receipt) string {
	switch {
	case r.ToolsSHA != (receipt.Digest{}):
		return "declared in " + string(r.Instructions.ToolsPath)
	case r.Wire.Requests == 0:
		return ""
	}
	return "none declared"
}

func offeredWords(w receipt.Wire) string {
	if len(w.Tools) == 0 {
		return ""
	}
	return "offered " + strings.Join(w.Tools, ", ")
}

func schemaWords(r *receipt.Receipt) string {
	if r.SchemaSHA == (receipt.Digest{}) {
		return ""
	}
	if r.Instructions.SchemaPath == "" {
		return "built in or inline"
	}
	return string(r.Instructions.SchemaPath)
}

func chainWords(r *receipt.Receipt) string {
	if r.AgentsChainSHA == (receipt.Digest{}) {
		return ""
	}
	var loaded []string
	for _, f := range r.AgentsMD.Files {
		switch {
		case f.Loaded && f.Truncated:
			loaded = append(loaded, f.Path+" (cut)")
		case f.Loaded:
			loaded = append(loaded, f.Path)
		}
	}
	if len(loaded) == 0 {
		return "none loaded"
	}
	return strings.Join(loaded, ", ")
}

func contextWords(r *receipt.Receipt) string {
	if r.ContextSHA == (receipt.Digest{}) {
		return ""
	}
	return "what recibo told the agent about the pull request"
}

func codexWords(r *receipt.Receipt) string {
	if r.CodexVersion == "" || r.Run.Codex.Source == "" {
		return string(r.CodexVersion)
	}
	return fmt.Sprintf("%s, %s", r.CodexVersion, r.Run.Codex.Source)
}

func modelWords(r *receipt.Receipt) string {
	var words []string
	add := func(what, value receipt.Text) {
		if value != "" {
			words = append(words, string(what+value))
		}
	}
	add("asked for ", r.Model)
	add("served ", r.ModelServed)
	add("effort ", r.Effort)
	return strings.Join(words, ", ")
}

func commitWords(r *receipt.Receipt) string {
	if r.GitSHA == "" || r.GitDescribe == "" {
		return string(r.GitSHA)
	}
	return fmt.Sprintf("%s (%s)", r.GitSHA, r.GitDescribe)
}

func jailWords(r *receipt.Receipt) string {
	switch {
	case r.Wire.Requests == 0:
		return "" // No agent ran.
	case len(r.Jail.Missing) == 0:
		return r.Jail.Level
	}
	return fmt.Sprintf("%s, without %s", r.Jail.Level, strings.Join(r.Jail.Missing, ", "))
}

func callWords(w receipt.Wire) string {
	c := w.ToolCalls
	switch {
	case w.Requests == 0:
		return ""
	case c.Total == 0:
		return "none"
	}
	words := fmt.Sprintf("%s: %s worked", grouped(int64(c.Total)), grouped(int64(c.Worked)))
	if c.Nonzero > 0 {
		words += fmt.Sprintf(", %s ended with an error", grouped(int64(c.Nonzero)))
	}
	if c.Failed > 0 {
		words += fmt.Sprintf(", %s could not run", grouped(int64(c.Failed)))
	}
	return words
}

func startWords(r *receipt.Receipt) string {
	took := time.Duration(r.TimingMS.Total) * time.Millisecond
	return fmt.Sprintf("%s, took %s", r.Run.StartedAt.UTC().Format(time.RFC3339), took.Round(100*time.Millisecond))
}

// tokens lists the sums by kind.
func tokens(t receipt.Tokens) []fact {
	return []fact{
		{label: "input", words: grouped(t.Input)},
		{label: "cached input", words: grouped(t.Cached)},
		{label: "written to cache", words: grouped(t.CacheWrite)},
		{label: "output", words: grouped(t.Output)},
		{label: "reasoning", words: grouped(t.Reasoning)},
		{label: "total", words: grouped(t.Total)},
	}
}

// tokenNote says what the sums cover.
func tokenNote(t receipt.Tokens) string {
	note := "As the endpoint reported them for " + plural(t.Requests, "request") + "."
	if t.Unreported > 0 {
		note += " " + plural(t.Unreported, "request") + " ended without a report, so the sums are too small."
	}
	return note
}

// files lists what the run left, with what each file is.
func (o Options) files(r *receipt.Receipt) []fact {
	all := []fact{{label: o.UsageFile, words: "the receipt"}}
	add := func(path receipt.Text, words string) {
		if path != "" {
			all = append(all, fact{label: string(path), words: words})
		}
	}
	add(r.Review.Path, "the review, byte for byte as Codex wrote it")
	add(r.Wire.Path, "one line a model request")
	for _, f := range r.Run.Files {
		words := plural(int(f.Bytes), "byte")
		if f.Path == string(r.Prompt.SavedPath) {
			words = "the prompt, as it was sent"
		}
		add(receipt.Text(f.Path), words)
	}
	return all
}

package command

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/recibo-ci/recibo/pkg/fault"
)

func unexpected(arg string) error {
	return fault.New(fault.Request, "see `recibo help`", "unexpected argument %q", arg)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func runHelp(_ context.Context, w World, args []string) error {
	if len(args) > 1 {
		return unexpected(args[1])
	}
	if len(args) == 0 {
		helpAll(w.Stdout)
		return nil
	}
	all := verbs()
	i := slices.IndexFunc(all, func(v verb) bool { return v.name == args[0] })
	if i < 0 {
		return fault.New(fault.Request, "see `recibo help`", "unknown verb %q%s", args[0], nearestVerb(args[0]))
	}
	helpVerb(w.Stdout, all[i])
	return nil
}

func helpAll(out io.Writer) {
	fmt.Fprint(out, "recibo reviews a pull request with the Codex CLI and leaves a receipt.\n\nusage: recibo VERB [--INPUT=VALUE ...]\n\n")
	for _, v := range verbs() {
		fmt.Fprintf(out, "  %-9s %s\n", v.name, v.text)
	}
	fmt.Fprint(out, "\nWithout a verb it is the action: inputs come as INPUT_* variables.\n`recibo help VERB` lists the inputs of a verb.\n")
}

func helpVerb(out io.Writer, v verb) {
	fmt.Fprintf(out, "recibo %s: %s\n", v.name, v.text)
	switch v.name {
	case "review":
		fmt.Fprint(out, "\nusage: recibo review [--INPUT=VALUE ...] [--json] [--quiet]\n")
		helpInputs(out)
		fmt.Fprint(out, "\nexit codes: 0 done or skipped, 1 a gate said no, 2 the request is wrong,\n3 no trustworthy review, 4 stopped by a limit, 5 a rerun may mend it\n")
	case "demo":
		fmt.Fprint(out, "\nusage: recibo demo [--live] [--INPUT=VALUE ...]\n\nReplays a scripted session on a frozen pull request with the real Codex CLI. With\n--live and OPENAI_API_KEY set, the real model is asked instead.\n")
	}
}

func helpInputs(out io.Writer) {
	for _, in := range inputs() {
		if in.notice != "" {
			continue
		}
		fmt.Fprintf(out, "\n  --%s", in.name)
		if in.def != "" {
			fmt.Fprintf(out, "  (default %s)", in.def)
		}
		fmt.Fprint(out, "\n")
		for _, line := range wrap(in.text, 74) {
			fmt.Fprintf(out, "      %s\n", line)
		}
	}
}

// wrap breaks text at spaces into lines of at most width bytes, longer words apart.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recibo-ci/recibo/pkg/actions"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// input is one input of the action, which is also a flag of the command line.
type input struct {
	name, def, text string
	// notice marks an input of openai/codex-action that has no effect here, and says why.
	notice string
	// raw inputs are bytes that matter: never trimmed.
	raw bool
	// secret inputs are never shown.
	secret bool
}

// inputs is the one table from which flags, action.yml and the README's table are made. A test
// keeps them equal.
func inputs() []input {
	const jailed = "accepted and without effect: recibo's own isolation replaces it"
	return []input{
		{name: "command", def: "review", text: "The verb: `review`."},
		{name: "prompt", raw: true, text: "The prompt's text. Exactly one of `prompt` and `prompt-file`. A text over 128 KiB cannot be passed here; `prompt-file` has no such limit."},
		{name: "prompt-file", text: "Path of the prompt, relative to the repository's root and inside it."},
		{name: "context", def: "refs", text: "What recibo tells the agent in a developer message of its own: `none`, `refs` (numbers, commits, changed files and lines) or `full` (also title, body and labels, marked as untrusted)."},
		{name: "tools-file", def: ".agent/tools.json", text: "The tools the team declares; hashed as bytes. The default may be absent."},
		{name: "output-schema", raw: true, text: "JSON Schema of the review, inline. At most one of `output-schema` and `output-schema-file`; neither means the built-in one."},
		{name: "output-schema-file", text: "Path of the JSON Schema of the review."},
		{name: "openai-api-key", secret: true, text: "Key for the model endpoint. Not needed for a replay."},
		{name: "responses-api-endpoint", text: "Full URL of a Responses endpoint (default: OpenAI's), or `replay:PATH` of a session file."},
		{name: "codex-version", text: "Exact version of the Codex CLI. Default: the one pinned by this release."},
		{name: "codex-bin", text: "Path of an installed Codex outside the workspace; its version must be `codex-version`."},
		{name: "codex-args", raw: true, text: "Extra arguments for `codex exec`, as a JSON array or shell words. What would undo sandbox, provider or output contract is refused."},
		{name: "model", text: "Model to ask for. Default: Codex's."},
		{name: "effort", text: "Reasoning effort to ask for. Default: Codex's."},
		{name: "sandbox", def: "read-only", text: "What the jail lets the agent write: nothing (`read-only`), or with `workspace-write` its own copy of the tree."},
		{name: "allow-unsandboxed", def: "false", text: "Go on where the jail cannot be had whole; the receipt says `jail: partial` or `none`."},
		{name: "working-directory", text: "Where the agent works, relative to the repository's root."},
		{name: "timeout", def: "20m", text: "Limit of the whole review, such as `90s` or `20m`."},
		{name: "pull-request", text: "Number of the pull request, for `workflow_dispatch` and `schedule`."},
		{name: "usage-file", def: "usage.json", text: "Where the receipt is written. Keys of other writers are kept."},
		{name: "output-file", def: ".recibo/review.json", text: "Where the review is written, byte for byte as Codex wrote it."},
		{name: "artifacts-dir", def: ".recibo", text: "Where recibo's other files are written."},
		{name: "upload-artifact", def: "true", text: "Upload recibo's files as an artifact of the run. Without an artifact service they stay in the workspace, and a warning says so."},
		{name: "artifact-name", text: "Name of the artifact. Default: `recibo-JOB-ATTEMPT`; a name that is taken gets a suffix."},
		{name: "wire-record", def: "digests", text: "What is kept of each model request: `digests`, or `full` (bodies too, in `session.jsonl`)."},
		{name: "github-token", def: "${{ github.token }}", secret: true, text: "Token for GitHub's API; asked when the event has only the pull request's number."},
		{name: "on-skip", def: "pass", text: "What a run that cannot review does: `pass`, or `fail`."},
		{name: "safety-strategy", notice: jailed, text: "Accepted for compatibility, without effect."},
		{name: "codex-home", notice: jailed, text: "Accepted for compatibility, without effect."},
		{name: "codex-user", notice: jailed, text: "Accepted for compatibility, without effect."},
	}
}

// values are the inputs as given: flag, else environment, else default.
type values struct {
	given    map[string]string
	defaults map[string]string
	warnings []string
	// json prints the receipt alone on standard output, quiet nothing but errors.
	json, quiet bool
}

// get returns the value of an input with its bytes untouched.
func (v values) get(name string) string {
	if s, ok := v.given[name]; ok {
		return s
	}
	return v.defaults[name]
}

// word returns the value of an input without white space around it, and the default when nothing
// is left: a workflow that passes an empty expression means "not set".
func (v values) word(name string) string {
	if s := strings.TrimSpace(v.given[name]); s != "" {
		return s
	}
	return v.defaults[name]
}

// set reports whether somebody gave the input something but white space.
func (v values) set(name string) bool { return strings.TrimSpace(v.given[name]) != "" }

// readValues takes inputs from flags and INPUT_* variables. Arguments that are no flags are
// returned in order.
func readValues(args, environ []string) (values, []string, error) {
	v := values{given: map[string]string{}, defaults: map[string]string{}}
	known := inputs()
	for _, in := range known {
		// An expression is the runner's to fill in; here it means nothing.
		if !strings.HasPrefix(in.def, "${{") {
			v.defaults[in.name] = in.def
		}
	}
	v.readEnviron(environ)
	rest, err := v.readFlags(args)
	if err != nil {
		return v, nil, err
	}
	for _, in := range known {
		if in.notice != "" && v.set(in.name) {
			v.warnings = append(v.warnings, fmt.Sprintf("input %q is %s", in.name, in.notice))
		}
	}
	return v, rest, nil
}

func (v *values) readEnviron(environ []string) {
	given, conflicts := actions.Inputs(environ)
	for _, name := range conflicts {
		v.warnings = append(v.warnings, fmt.Sprintf("input %q is given twice and differently; the form with hyphens counts", name))
	}
	for _, name := range sortedKeys(given) {
		if !isInput(name) {
			v.warnings = append(v.warnings, fmt.Sprintf("unknown input %q is ignored%s", name, nearest(name)))
			continue
		}
		v.given[name] = given[name]
	}
}

func (v *values) readFlags(args []string) ([]string, error) {
	var rest []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if arg == "--" {
			return append(rest, args[i+1:]...), nil
		}
		if !strings.HasPrefix(arg, "-") || arg == "-" {
			rest = append(rest, arg)
			continue
		}
		name, value, inline := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if (name == "json" || name == "quiet") && !inline {
			v.json, v.quiet = v.json || name == "json", v.quiet || name == "quiet"
			continue
		}
		if !isInput(name) {
			return nil, fault.New(fault.Request, "see `recibo help review`", "unknown flag %q%s", arg, nearest(name))
		}
		if !inline {
			i++
			if i == len(args) {
				return nil, fault.New(fault.Request, "write --"+name+"=VALUE", "flag --%s needs a value", name)
			}
			value = args[i]
		}
		v.given[name] = value
	}
	return rest, nil
}

func isInput(name string) bool {
	return slices.ContainsFunc(inputs(), func(in input) bool { return in.name == name })
}

// nearest names the input that was probably meant, or nothing.
func nearest(name string) string {
	best, at := "", 4
	for _, in := range inputs() {
		if d := distance(name, in.name); d < at && d <= len(name)/2 {
			best, at = in.name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is Levenshtein's: insertions, deletions and substitutions.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j]+1, row[j+1]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}

package command

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/recibo-ci/recibo/pkg/actions"
	"github.com/recibo-ci/recibo/pkg/artifact"
	"github.com/recibo-ci/recibo/pkg/codex"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/gateway"
)

// options are the inputs of a review, parsed once.
type options struct {
	prompt, promptFile                 string
	context                            string
	toolsFile                          string
	toolsNamed                         bool
	schema, schemaFile                 string
	key                                string
	endpoint                           gateway.Endpoint
	codexVersion, codexBin             string
	codexArgs                          []string
	model, effort                      string
	workingDirectory                   string
	pullRequest                        int
	usageFile, outputFile              string
	artifactsDir                       string
	artifactName                       string
	wireFull                           bool
	token                              string
	failOnSkip                         bool
	allowUnsandboxed, writable, upload bool
}

// readOptions checks every input that can be checked without looking at the repository.
func readOptions(v values) (options, error) {
	o := options{
		prompt: v.get("prompt"), promptFile: v.word("prompt-file"),
		toolsFile: v.word("tools-file"), toolsNamed: v.set("tools-file"),
		schema: v.get("output-schema"), schemaFile: v.word("output-schema-file"),
		key: v.word("openai-api-key"), codexBin: v.word("codex-bin"),
		model: v.word("model"), effort: v.word("effort"),
		usageFile: v.word("usage-file"), outputFile: v.word("output-file"),
		artifactsDir: v.word("artifacts-dir"), token: v.word("github-token"),
	}
	if !v.set("output-schema") {
		o.schema = ""
	}
	if o.schema != "" && o.schemaFile != "" {
		return o, fault.New(fault.Request, "keep one of them", "read inputs: both output-schema and output-schema-file are set")
	}
	for _, parse := range []func(values) error{o.readChoices, o.readNumbers, o.readCodex, o.readPaths} {
		if err := parse(v); err != nil {
			return o, err
		}
	}
	endpoint, err := gateway.ParseEndpoint(v.word("responses-api-endpoint"))
	if err != nil {
		return o, err
	}
	o.endpoint = endpoint
	return o, nil
}

func (o *options) readChoices(v values) error {
	context, err := choice(v, "context", "none", "refs", "full")
	if err != nil {
		return err
	}
	skip, err := choice(v, "on-skip", "pass", "fail")
	if err != nil {
		return err
	}
	record, err := choice(v, "wire-record", "digests", "full")
	if err != nil {
		return err
	}
	box, err := choice(v, "sandbox", "read-only", "workspace-write")
	if err != nil {
		return err
	}
	o.context, o.failOnSkip, o.wireFull, o.writable = context, skip == "fail", record == "full", box == "workspace-write"
	return o.readSwitches(v)
}

func (o *options) readSwitches(v values) error {
	for name, into := range map[string]*bool{"allow-unsandboxed": &o.allowUnsandboxed, "upload-artifact": &o.upload} {
		on, err := actions.Bool(v.word(name))
		if err != nil {
			return fault.New(fault.Request, "use true or false", "read input %s: %w", name, err)
		}
		*into = on
	}
	o.artifactName = v.word("artifact-name")
	if o.artifactName == "" {
		return nil
	}
	if err := artifact.CheckName(o.artifactName); err != nil {
		return asRequest(err)
	}
	return nil
}

func choice(v values, name string, allowed ...string) (string, error) {
	got := v.word(name)
	for _, a := range allowed {
		if got == a {
			return got, nil
		}
	}
	return "", fault.New(fault.Request, "use one of: "+strings.Join(allowed, ", "), "read input %s: unknown value %q", name, got)
}

func (o *options) readNumbers(v values) error {
	d, err := time.ParseDuration(v.word("timeout"))
	if err != nil || d <= 0 {
		return fault.New(fault.Request, "write a number with a unit, such as 90s or 20m", "read input timeout: %q is not a positive duration", v.word("timeout"))
	}
	if !v.set("pull-request") {
		return nil
	}
	n, err := strconv.Atoi(v.word("pull-request"))
	if err != nil || n <= 0 {
		return fault.New(fault.Request, "give the number alone, such as 42", "read input pull-request: %q is not a number", v.word("pull-request"))
	}
	o.pullRequest = n
	return nil
}

func (o *options) readCodex(v values) error {
	version := codex.Pinned()
	// Blanks are refused rather than taken for "not set": an expression that came out empty would
	// otherwise float.
	if given, ok := v.given["codex-version"]; ok && given != "" {
		parsed, err := codex.ParseVersion(given)
		if err != nil {
			return err
		}
		version = parsed
	}
	o.codexVersion = version
	args, err := codex.ParseArgs(v.get("codex-args"))
	if err != nil {
		return err
	}
	o.codexArgs = args
	return nil
}

// readPaths checks the paths that are relative to the repository's root and must stay inside it.
// Whether a symbolic link leads out is asked when they are opened.
func (o *options) readPaths(v values) error {
	dir := filepath.ToSlash(v.word("working-directory"))
	if dir == "" {
		dir = "."
	}
	if path.IsAbs(dir) || !filepath.IsLocal(dir) {
		return fault.New(fault.Request, "give a path below the repository's root", "read input working-directory: %q is not inside the repository", dir)
	}
	o.workingDirectory = path.Clean(dir)
	if first, _, _ := strings.Cut(o.workingDirectory, "/"); strings.EqualFold(first, ".git") {
		return fault.New(fault.Request, "name a directory of the tree", "read input working-directory: %q is git's own", dir)
	}
	return nil
}

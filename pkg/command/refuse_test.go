package command

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recibo-ci/recibo/pkg/receipt"
)

// emptyBench is a directory that only looks like a repository: the first git process would fail
// with another error than the one a case wants, so a refusal that names the case's fault shows
// that nothing was started.
func emptyBench(t *testing.T) *bench {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "ok.md"), "Review.\n")
	b := &bench{t: t, dir: dir, env: plainEnviron(t)}
	b.ask()
	return b
}

func TestRefusedBeforeAnything(t *testing.T) {
	t.Parallel()
	outside := filepath.Join(t.TempDir(), "outside.md")
	put(t, outside, "Review.\n")
	files := map[string]string{
		"bom.md": "\xef\xbb\xbfReview.", "utf16.md": "\xff\xfeR\x00e\x00v\x00", "invalid.md": "Review \xff.",
		"blank.md": " \n\t", "long.md": strings.Repeat("é", 80_001), "open.json": `{"type":"object","properties":{"findings":{"type":"array","items":{"type":"string"}}}}`, "other.json": `{"type":"object","properties":{},"required":[],"additionalProperties":false}`,
		"ref.json": `{"$ref":"#"}`, "tools.json": "not json",
	}
	tests := map[string]struct {
		env  map[string]string
		args []string
		want string
	}{
		"neither":             {want: "neither prompt nor prompt-file"},
		"both":                {env: map[string]string{"INPUT_PROMPT": "Review.", "INPUT_PROMPT-FILE": "ok.md"}, want: "both set"},
		"both_by_flag":        {args: []string{"--prompt=Review.", "--prompt-file", "ok.md"}, want: "both set"},
		"both_underscore":     {env: map[string]string{"INPUT_PROMPT": "Review.", "INPUT_PROMPT_FILE": "ok.md"}, want: "both set"},
		"white_space":         {env: map[string]string{"INPUT_PROMPT": " \n", "INPUT_PROMPT-FILE": "\t"}, want: "neither"},
		"white_space_file":    {args: []string{"--prompt-file=blank.md"}, want: "blank.md"},
		"missing":             {args: []string{"--prompt-file=nowhere.md"}, want: "nowhere.md"},
		"directory":           {args: []string{"--prompt-file=.git"}, want: ".git"},
		"outside":             {args: []string{"--prompt-file=../outside.md"}, want: "../outside.md"},
		"outside_absolute":    {args: []string{"--prompt-file=" + outside}, want: outside},
		"outside_symlink":     {args: []string{"--prompt-file=link.md"}, want: "link.md"},
		"byte_order_mark":     {args: []string{"--prompt-file=bom.md"}, want: "byte-order mark"},
		"utf16":               {args: []string{"--prompt-file=utf16.md"}, want: "UTF-16"},
		"invalid_utf8":        {args: []string{"--prompt-file=invalid.md"}, want: "UTF-8"},
		"too_long":            {args: []string{"--prompt-file=long.md"}, want: "80001"},
		"codex_latest":        {args: []string{"--prompt-file=ok.md", "--codex-version=latest"}, want: "codex-version"},
		"codex_range":         {args: []string{"--prompt-file=ok.md", "--codex-version=^0.171.0"}, want: "codex-version"},
		"codex_v":             {args: []string{"--prompt-file=ok.md", "--codex-version=v0.171.0"}, want: "codex-version"},
		"codex_blank":         {args: []string{"--prompt-file=ok.md", "--codex-version= "}, want: "codex-version"},
		"schema_both":         {args: []string{"--prompt-file=ok.md", "--output-schema={}", "--output-schema-file=ref.json"}, want: "both output-schema"},
		"schema_recursive":    {args: []string{"--prompt-file=ok.md", "--output-schema-file=ref.json"}, want: "$ref"},
		"schema_not_strict":   {args: []string{"--prompt-file=ok.md", "--output-schema-file=open.json"}, want: "additionalProperties"},
		"schema_no_findings":  {args: []string{"--prompt-file=ok.md", "--output-schema-file=other.json"}, want: "no `findings`"},
		"target_directory":    {args: []string{"--prompt-file=ok.md", "--output-file=.git"}, want: "is a directory"},
		"target_link":         {args: []string{"--prompt-file=ok.md", "--artifacts-dir=out"}, want: "symbolic link"},
		"target_below_file":   {args: []string{"--prompt-file=ok.md", "--artifacts-dir=ok.md"}, want: "ok.md"},
		"target_prompt":       {args: []string{"--prompt-file=ok.md", "--output-file=./ok.md"}, want: "prompt-file"},
		"target_usage":        {args: []string{"--prompt-file=ok.md", "--output-file=usage.json"}, want: "usage-file"},
		"work_dir_git":        {args: []string{"--prompt-file=ok.md", "--working-directory=.git"}, want: "working-directory"},
		"tools_not_json":      {args: []string{"--prompt-file=ok.md", "--tools-file=tools.json"}, want: "tools.json"},
		"tools_named_missing": {args: []string{"--prompt-file=ok.md", "--tools-file=none.json"}, want: "none.json"},
		"endpoint_http":       {args: []string{"--prompt-file=ok.md", "--responses-api-endpoint=http://example.com/v1/responses"}, want: "responses-api-endpoint"},
		"replay_missing":      {args: []string{"--prompt-file=ok.md", "--responses-api-endpoint=replay:none.jsonl"}, want: "none.jsonl"},
		"timeout":             {args: []string{"--prompt-file=ok.md", "--timeout=20"}, want: "timeout"},
		"working_directory":   {args: []string{"--prompt-file=ok.md", "--working-directory=../x"}, want: "working-directory"},
		"context":             {args: []string{"--prompt-file=ok.md", "--context=everything"}, want: "context"},
		"codex_args":          {args: []string{"--prompt-file=ok.md", "--codex-args=-s danger-full-access"}, want: "codex-args"},
		"wire_record":         {args: []string{"--prompt-file=ok.md", "--wire-record=all"}, want: "wire-record"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := emptyBench(t)
			for file, content := range files {
				put(t, filepath.Join(b.dir, file), content)
			}
			if err := os.Symlink(outside, filepath.Join(b.dir, "link.md")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(t.TempDir(), filepath.Join(b.dir, "out")); err != nil {
				t.Fatal(err)
			}
			maps.Copy(b.env, tt.env)
			b.want(exitRequest, append([]string{"review"}, tt.args...)...)
			out := b.stdout.String() + b.stderr.String()
			if n := strings.Count(out, "error:"); n != 1 {
				t.Errorf("%d errors were told, want 1:\n%s", n, out)
			}
			if n := strings.Count(out, "hint:"); n != 1 {
				t.Errorf("%d hints were told, want 1:\n%s", n, out)
			}
			if !strings.Contains(out, tt.want) {
				t.Errorf("the error does not say %q:\n%s", tt.want, out)
			}
			rec := b.receipt()
			if rec.Status != receipt.Refused || rec.Run.Error == nil || rec.Run.Error.Hint == "" {
				t.Errorf("receipt: status %q, error %+v; want refused with a hint", rec.Status, rec.Run.Error)
			}
			if rec.GitSHA != "" {
				t.Errorf("git was asked (%s) before the refusal", rec.GitSHA)
			}
		})
	}
}

// A receipt that cannot go where it was asked for goes to the default place.
func TestUnusableReceiptPathIsRefused(t *testing.T) {
	t.Parallel()
	for _, path := range []string{".git", "ok.md/usage.json", "/proc/recibo/usage.json", "out/usage.json", "ok.md"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			b := emptyBench(t)
			if err := os.Symlink(t.TempDir(), filepath.Join(b.dir, "out")); err != nil {
				t.Fatal(err)
			}
			b.want(exitRequest, "review", "--prompt-file=ok.md", "--usage-file="+path)
			if rec := b.receipt(); rec.Status != receipt.Refused || rec.Run.Error == nil {
				t.Errorf("status %q, error %+v; want refused", rec.Status, rec.Run.Error)
			}
			if data, err := os.ReadFile(filepath.Join(b.dir, "ok.md")); err != nil || string(data) != "Review.\n" {
				t.Errorf("the prompt is now %q, %v", data, err)
			}
		})
	}
}

// Quiet keeps everything back but the error.
func TestQuietStillTellsTheError(t *testing.T) {
	t.Parallel()
	b := emptyBench(t)
	b.want(exitRequest, "review", "--quiet", "--prompt-file=none.md")
	if out := b.stderr.String(); strings.Count(out, "error: ") != 1 || strings.Count(out, "hint: ") != 1 || b.stdout.Len() > 0 {
		t.Errorf("stdout %q, stderr %q; want one error and its hint on stderr", b.stdout.String(), out)
	}
}

func TestUnknownFlagNamesTheNearest(t *testing.T) {
	t.Parallel()
	b := emptyBench(t)
	b.want(exitRequest, "review", "--promt-file=ok.md")
	if got := b.stderr.String(); !strings.Contains(got, `did you mean "prompt-file"?`) || !strings.Contains(got, "hint:") {
		t.Errorf("stderr = %q, want the nearest name and a hint", got)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "usage.json")); !os.IsNotExist(err) {
		t.Errorf("a receipt was written before the inputs were read: %v", err)
	}
}

func TestUnknownVerb(t *testing.T) {
	t.Parallel()
	b := emptyBench(t)
	b.want(exitRequest, "reviw")
	if got := b.stderr.String(); !strings.Contains(got, `did you mean "review"?`) {
		t.Errorf("stderr = %q, want the nearest verb", got)
	}
}

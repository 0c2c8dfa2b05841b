package receipt

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// sha returns the digest whose hex digits are pair, 32 times.
func sha(t testing.TB, pair string) Digest {
	t.Helper()
	d, err := digest.Parse(strings.Repeat(pair, 32))
	if err != nil {
		t.Fatal(err)
	}
	return Digest(d)
}

func commit(digit string) Text { return Text(strings.Repeat(digit, 40)) }

// completed is the receipt in testdata/completed.json: every field has a value that no other has.
func completed(t testing.TB) *Receipt {
	t.Helper()
	return &Receipt{
		AgentsChainSHA: sha(t, "11"),
		CodexSHA:       sha(t, "22"),
		CodexVersion:   "0.171.0",
		ContextSHA:     sha(t, "33"),
		Effort:         "high",
		GitDescribe:    "v1.4.0-3-g0a1b2c3",
		GitSHA:         commit("a"),
		HeadSHA:        commit("b"),
		MergeBase:      commit("c"),
		Model:          "gpt-6.2-sol",
		ModelServed:    "gpt-6.2-sol-2026-01-01",
		PromptBytes:    new(int64(1402)),
		PromptPath:     ".agent/review & <more>.md",
		PromptSHA:      sha(t, "55"),
		ReciboVersion:  "v0.1.0",
		SchemaSHA:      sha(t, "99"),
		SchemaVersion:  "1",
		Status:         Completed,
		ToolsSHA:       sha(t, "bc"),
		WireToolsSHA:   sha(t, "ef"),

		AgentsMD: AgentsMD{Files: []AgentsFile{{Path: "AGENTS.md", SHA: sha(t, "12"), Bytes: 512, Loaded: true}}},
		Effects:  []Effect{},
		Egress:   Egress{Enforced: true, Hosts: []Host{{Name: "modules.example:443", Allowed: 2, Refused: 1}}},
		Instructions: Instructions{
			SHA: sha(t, "41"),
			Items: []Item{
				{Role: "developer", What: "base instructions", SHA: sha(t, "41"), Bytes: 17000},
				{Role: "user", What: "prompt", SHA: sha(t, "55"), Bytes: 1402},
			},
			SchemaPath: ".github/codex/review.schema.json",
			ToolsPath:  ".agent/tools.json",
		},
		Jail:   Jail{Level: JailPartial, Missing: []string{"landlock"}},
		Prompt: Prompt{Source: PromptFile, Blob: commit("d"), SavedPath: ".recibo/prompt.resolved.md"},
		Review: Review{
			Path: ".recibo/review.json", SHA: sha(t, "66"), Bytes: new(int64(2048)),
			Shape: "built-in", Valid: new(true), Verdict: VerdictFindings, OK: new(false), Findings: 3,
			BySeverity: BySeverity{High: 1, Low: 1, Unrated: 1},
			Locations:  map[string]int{"ok": 2, "no_file": 1},
			Problems:   []string{"findings[2].path: no such file at head"},
		},
		Run:      completedRun(t),
		Skills:   []Skill{{Name: "release", Path: ".agents/skills/release/SKILL.md", SHA: sha(t, "ab"), Bytes: 77}},
		TimingMS: TimingMS{Total: 6100, Install: new(int64(12)), Tree: new(int64(45)), Control: new(int64(400)), Codex: new(int64(5000)), Review: new(int64(3))},
		Tokens:   Tokens{Input: 1000, Cached: 800, CacheWrite: 100, Output: 200, Reasoning: 50, Total: 1200, Requests: 3, Unreported: 1},
		Wire: Wire{
			Requests: 4, Refused: 1, PromptIntact: new(true), Tools: []string{"exec", "wait"},
			ToolCalls: ToolCalls{Total: 7, Worked: 4, Nonzero: 2, Failed: 1}, Record: "digests", Endpoint: "api.openai.com", Origin: OriginLive,
			ControlSHA: sha(t, "cd"), Path: ".recibo/wire.jsonl", SHA: sha(t, "de"), Bytes: new(int64(4096)),
		},
	}
}

func completedRun(t testing.TB) Run {
	t.Helper()
	return Run{
		Repository: "octo/engine", Server: "https://github.com", Event: "pull_request", Actor: "ada",
		RunID: new(int64(9007199254740993)), RunAttempt: new(int64(2)), Job: "review", PullRequest: new(int64(12)),
		BaseSHA: commit("e"), OS: "linux", Arch: "amd64",
		StartedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Codex: Codex{
			Source: "image", Integrity: "lock",
			Programs: []Program{{Name: "codex", SHA: sha(t, "77"), Bytes: 315000000}},
		},
		Files:    []File{{Path: ".recibo/events.jsonl", SHA: sha(t, "88"), Bytes: 999}},
		Error:    &Error{Kind: "gate", Message: "1 finding is high or worse", Hint: "ask for it again"},
		Warnings: []string{"no tags: git describe is poorer"},
	}
}

// refused is the receipt in testdata/refused.json, as a run leaves it that got nowhere.
func refused() *Receipt {
	err := fault.New(fault.Request, "set exactly one of prompt and prompt-file", "read prompt: neither prompt nor prompt-file is set")
	east := time.FixedZone("east", 2*60*60)
	return &Receipt{
		ReciboVersion: "v0.1.0",
		Status:        Refused,
		TimingMS:      TimingMS{Total: 3},
		Run: Run{
			OS: "linux", Arch: "arm64", Error: ErrorOf(err),
			StartedAt: time.Date(2026, 1, 2, 5, 4, 5, 999, east),
		},
	}
}

func golden(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestMarshal_prints_the_goldens(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*Receipt{"completed.json": completed(t), "refused.json": refused()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := r.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(golden(t, name)), string(got)); diff != "" {
				t.Errorf("receipt (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParse_gives_back_what_was_printed(t *testing.T) {
	t.Parallel()
	want := completed(t)
	got, err := Parse(golden(t, "completed.json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
	again, err := got.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if want := golden(t, "completed.json"); !bytes.Equal(again, want) {
		t.Errorf("printed again: %s", cmp.Diff(string(want), string(again)))
	}
}

func TestMarshal_is_UTF8_whatever_it_is_told(t *testing.T) {
	t.Parallel()
	r := refused()
	r.PromptPath, r.Run.Warnings = "a\xffb", []string{"c\xc3"}
	data, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{string(back.PromptPath), back.Run.Warnings[0]}
	if diff := cmp.Diff([]string{"a\uFFFDb", "c\uFFFD"}, got); diff != "" {
		t.Errorf("texts (-want +got):\n%s", diff)
	}
}

func TestMarshal_names_what_was_not_checked(t *testing.T) {
	t.Parallel()
	r := refused()
	r.Review.Locations = map[string]int{"": 2, "unchecked": 1, "ok": 4}
	data, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]int{"unchecked": 3, "ok": 4}, back.Review.Locations); diff != "" {
		t.Errorf("locations (-want +got):\n%s", diff)
	}
	if got := len(r.Review.Locations); got != 3 {
		t.Errorf("the receipt's own map has %d entries now, want 3 as before", got)
	}
}

func TestStatus_round_trips(t *testing.T) {
	t.Parallel()
	want := []string{"completed", "inconclusive", "failed", "cancelled", "timeout", "budget", "breaker", "refused", "skipped"}
	var got []string
	for _, status := range Statuses() {
		r := refused()
		r.Status = status
		data, err := r.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if line := fmt.Sprintf("\n  \"status\": %q,\n", status); !bytes.Contains(data, []byte(line)) {
			t.Errorf("status %q: no line %q in the receipt", status, line)
		}
		back, err := Parse(data)
		if err != nil {
			t.Fatalf("status %q: %v", status, err)
		}
		got = append(got, string(back.Status))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

func TestParse_refuses_a_receipt_without_status(t *testing.T) {
	t.Parallel()
	r := refused()
	r.Status = ""
	data, err := r.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(data); err == nil || !strings.Contains(err.Error(), "status") {
		t.Errorf("got error %v, want one about the status", err)
	}
}

func TestErrorOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		err  error
		want *Error
	}{
		{"none", nil, nil},
		{"plain", errors.New("read x"), &Error{Message: "read x"}},
		{"request", fault.New(fault.Request, "do y", "read x"), &Error{Kind: "request", Message: "read x", Hint: "do y"}},
		{"gate", fault.New(fault.Gate, "", "no"), &Error{Kind: "gate", Message: "no"}},
		{"review", fault.New(fault.Review, "", "no"), &Error{Kind: "review", Message: "no"}},
		{"budget", fault.New(fault.Budget, "", "no"), &Error{Kind: "budget", Message: "no"}},
		{"remote", fault.New(fault.Remote, "", "no"), &Error{Kind: "remote", Message: "no"}},
		{"wrapped", fmt.Errorf("run: %w", fault.New(fault.Remote, "rerun", "no")), &Error{Kind: "remote", Message: "run: no", Hint: "rerun"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := ErrorOf(c.err)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			r := refused()
			r.Run.Error = got
			data, err := r.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Parse(data); err != nil {
				t.Errorf("receipt with it: %v", err)
			}
		})
	}
}

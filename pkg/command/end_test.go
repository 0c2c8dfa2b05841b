package command

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/internal/artifacttest"
	"github.com/recibo-ci/recibo/internal/modeltest"
	"github.com/recibo-ci/recibo/pkg/receipt"
)

// hang answers nothing until the client goes away.
func hang(reached chan<- struct{}) modeltest.Turn {
	return func(w http.ResponseWriter, _ []byte) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		reached <- struct{}{}
		c, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = bufio.NewReader(c).ReadByte()
	}
}

func TestTimeoutLeavesAReceipt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ask(hang(make(chan struct{}, 1)))
	b.want(exitReview, "review", "--prompt-file="+promptV3, "--timeout=20s")
	rec := b.receipt()
	if rec.Status != receipt.Timeout || rec.Review.Verdict != receipt.VerdictFailed {
		t.Errorf("status %q, verdict %q; want timeout and failed", rec.Status, rec.Review.Verdict)
	}
	if rec.Tokens.Unreported != 1 || rec.Wire.Requests != 1 {
		t.Errorf("tokens %+v, want one request that reported nothing", rec.Tokens)
	}
}

// A signal ends everything below, and the receipt says so.
func TestCancelLeavesAReceipt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	reached := make(chan struct{}, 1)
	b.ask(modeltest.CodeMode("sleep 86399 & git log -1"), hang(reached))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan int)
	go func() {
		done <- b.runIn(ctx, "review", "--prompt-file="+promptV3)
	}()
	<-reached
	cancel()
	if code := <-done; code != exitReview {
		t.Errorf("exit code %d, want %d", code, exitReview)
	}
	if rec := b.receipt(); rec.Status != receipt.Cancelled || rec.Run.Error == nil {
		t.Errorf("status %q, error %+v; want cancelled", rec.Status, rec.Run.Error)
	}
	if left := running(t, "sleep\x0086399\x00"); left > 0 {
		t.Errorf("%d processes of the agent's are left", left)
	}
}

// running counts processes with that command line.
func running(t *testing.T, command string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Fatalf("read /proc: %v", err)
	}
	n := 0
	for _, file := range files {
		// One that has just ended cannot be read.
		if data, err := os.ReadFile(file); err == nil && string(data) == command {
			n++
		}
	}
	return n
}

func TestSkipped(t *testing.T) {
	t.Parallel()
	fork := func(b *bench) {
		b.editEvent(`"repo": { "full_name": "example/orders", "fork": false }`, `"repo": { "full_name": "other/orders", "fork": true }`)
		b.editEvent(`"sha": "`+fixtureBase+`",
      "repo": { "full_name": "other/orders", "fork": true }`, `"sha": "`+fixtureBase+`",
      "repo": { "full_name": "example/orders", "fork": false }`)
	}
	tests := map[string]struct {
		prepare func(b *bench)
		want    string
	}{
		"draft":       {func(b *bench) { b.editEvent(`"draft": false`, `"draft": true`) }, "draft"},
		"fork_no_key": {func(b *bench) { fork(b); delete(b.env, "INPUT_OPENAI-API-KEY") }, "fork"},
		"bot_no_key": {func(b *bench) {
			b.editEvent(`"sender": { "login": "fixture-author", "id": 1, "type": "User" }`, `"sender": { "login": "renovate[bot]", "id": 2, "type": "Bot" }`)
			delete(b.env, "INPUT_OPENAI-API-KEY")
		}, "bot"},
		"merge_group": {func(b *bench) {
			b.env["GITHUB_EVENT_NAME"] = "merge_group"
			put(b.t, b.env["GITHUB_EVENT_PATH"], `{"action":"checks_requested","merge_group":{"head_sha":"`+fixtureMerge+`","head_ref":"refs/heads/gh-readonly-queue/main/pr-7","base_sha":"`+fixtureBase+`","base_ref":"refs/heads/main"},"repository":{"full_name":"example/orders"},"sender":{"login":"fixture-author","id":1,"type":"User"}}`)
		}, "merge group"},
		"empty_diff": {func(b *bench) { b.editEvent(fixtureHead, fixtureMergeBase) }, "changes nothing"},
	}
	for name, tt := range tests {
		for mode, code := range map[string]int{"pass": exitDone, "fail": exitGate} {
			t.Run(name+"_"+mode, func(t *testing.T) {
				t.Parallel()
				b := newBench(t)
				b.ask()
				tt.prepare(b)
				b.want(code, "review", "--prompt-file="+promptV3, "--on-skip="+mode)
				rec := b.receipt()
				if rec.Status != receipt.Skipped || rec.Review.Verdict != receipt.VerdictSkipped || !strings.Contains(string(rec.Run.SkipReason), tt.want) {
					t.Errorf("status %q, verdict %q, reason %q; want skipped because of %q", rec.Status, rec.Review.Verdict, rec.Run.SkipReason, tt.want)
				}
			})
		}
	}
}

func TestNoKeyOnAnOrdinaryEventIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ask()
	delete(b.env, "INPUT_OPENAI-API-KEY")
	b.want(exitRequest, "review", "--prompt-file="+promptV3)
	if rec := b.receipt(); rec.Status != receipt.Refused || rec.GitSHA != fixtureMerge {
		t.Errorf("status %q, git_sha %q; want refused with what was known", rec.Status, rec.GitSHA)
	}
}

func TestShallowCloneIsRefusedWithTheFix(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	shallow := filepath.Join(t.TempDir(), "shallow")
	runGit(t, ".", "init", "-q", shallow)
	runGit(t, shallow, "fetch", "-q", "--depth=1", "file://"+b.dir, fixtureBase, fixtureHead)
	runGit(t, shallow, "checkout", "-q", "--detach", fixtureHead)
	b.dir = shallow
	b.ask()
	b.want(exitRequest, "review", "--prompt-file="+promptV3)
	if out := b.stdout.String() + b.stderr.String(); !strings.Contains(out, "fetch-depth: 0") || strings.Count(out, "hint:") != 1 {
		t.Errorf("the fix is not told once:\n%s", out)
	}
	rec := b.receipt()
	if rec.Status != receipt.Refused {
		t.Errorf("status %q, want refused", rec.Status)
	}
	if got := strings.Join(rec.Run.Warnings, "\n"); !strings.Contains(got, "no tags") {
		t.Errorf("warnings = %q, want that there are no tags", got)
	}
}

// A checkout that is the head's tree is used as it is; the agent's git still works, on a
// repository of its own.
func TestInPlaceWhereTheCheckoutIsTheTree(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	runGit(t, b.dir, "remote", "remove", "origin")
	runGit(t, b.dir, "checkout", "-q", "--detach", fixtureHead)
	// The agent's own user must be able to walk to the checkout, as it is on a runner.
	for dir := b.dir; dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m := b.ask(modeltest.CodeMode("pwd; git rev-parse --git-dir HEAD; git status --short; git diff --stat "+fixtureMergeBase+" HEAD | tail -1"), modeltest.Message(noFinding))
	b.want(exitDone, "review", "--prompt-file="+promptV3)
	seen := string(m.Requests()[1])
	for _, want := range []string{b.dir, fixtureHead, "5 files changed"} {
		if !strings.Contains(seen, want) {
			t.Errorf("what the agent saw does not hold %q", want)
		}
	}
	if strings.Contains(seen, b.dir+"/.git") {
		t.Error("the agent's git worked on the checkout's own repository")
	}
}

func TestOtherWritersKeysAreKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	put(t, filepath.Join(b.dir, "usage.json"), `{"total_cost": 1e400, "prompt_sha": "old", "big": 9007199254740993}`)
	b.ask(look(""), modeltest.Message(noFinding))
	b.want(exitDone, "review", "--prompt-file="+promptV3)
	data, err := os.ReadFile(filepath.Join(b.dir, "usage.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	if string(m["total_cost"]) != "1e400" || string(m["big"]) != "9007199254740993" || strings.Contains(string(m["prompt_sha"]), "old") {
		t.Errorf("total_cost = %s, big = %s, prompt_sha = %s", m["total_cost"], m["big"], m["prompt_sha"])
	}
	if !strings.HasSuffix(string(data), "}\n") {
		t.Error("no newline at the end")
	}
}

// On a runner: outputs, summary, masks, and nothing that a model wrote is a command.
func TestOnARunner(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.onRunner()
	b.env["INPUT_NONESUCH"] = "x"
	evil := strings.Replace(lockFinding, "Create returns", `\n::set-output name=x::y\n##[error]z\nCreate returns`, 1)
	b.ask(modeltest.CodeMode("echo '::warning::from the agent'; echo 'x ##[error]y'; git log -1"), modeltest.Message(evil))
	b.dir = t.TempDir()
	code := b.run("review", "--prompt-file="+promptV3)
	b.dir = b.env["GITHUB_WORKSPACE"]
	if code != exitDone {
		t.Fatalf("exit code %d\n%s%s", code, b.stdout.String(), b.stderr.String())
	}
	for line := range strings.Lines(b.stdout.String()) {
		text := strings.TrimSpace(line)
		if strings.HasPrefix(text, "::set-output") || strings.Contains(text, "##[error]") || strings.HasPrefix(text, "::warning::from") {
			t.Errorf("a command of the agent's reached the log: %q", line)
		}
	}
	if !strings.Contains(b.stdout.String(), "::add-mask::"+modeltest.Key) {
		t.Error("the key was not masked")
	}
	if !strings.Contains(b.stdout.String(), `unknown input "nonesuch"`) {
		t.Error("an unknown input was not warned of")
	}
	output, err := os.ReadFile(b.env["GITHUB_OUTPUT"])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"verdict<<", "findings-count<<", "prompt-sha<<", "final-message<<", "git-describe<<", "total-tokens<<"} {
		if !strings.Contains(string(output), want) {
			t.Errorf("outputs do not hold %q", want)
		}
	}
	summary, err := os.ReadFile(b.env["GITHUB_STEP_SUMMARY"])
	if err != nil || !strings.Contains(string(summary), "Never unlocked") {
		t.Errorf("summary = %q, %v", summary, err)
	}
}

// What is uploaded are recibo's own files, each once, and the receipt among them is the one on
// disk.
func TestArtifactHoldsOurFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	server := artifacttest.Start(t, artifacttest.Options{})
	b.onRunner()
	b.env["ACTIONS_RESULTS_URL"], b.env["ACTIONS_RUNTIME_TOKEN"] = server.ResultsURL, server.Token
	b.env["GITHUB_JOB"], b.env["GITHUB_RUN_ID"], b.env["GITHUB_RUN_ATTEMPT"] = "review", "42", "2"
	put(t, filepath.Join(b.dir, ".recibo", "mine.txt"), "not recibo's")
	b.ask(look(""), modeltest.Message(noFinding))
	b.want(exitDone, "review", "--prompt-file="+promptV3)
	all := server.Artifacts()
	if len(all) != 1 || all[0].Name != "recibo-review-2" || !all[0].Finalized {
		t.Fatalf("artifacts = %+v, want recibo-review-2", all)
	}
	z, err := zip.NewReader(bytes.NewReader(all[0].Zip), int64(len(all[0].Zip)))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
		if f.Name != "usage.json" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		want, rerr := os.ReadFile(filepath.Join(b.dir, "usage.json"))
		if err != nil || rerr != nil || !bytes.Equal(got, want) {
			t.Errorf("the artifact's receipt is not the one on disk: %v, %v", err, rerr)
		}
	}
	slices.Sort(names)
	if d := cmp.Diff([]string{"events.jsonl", "prompt.resolved.md", "review.json", "usage.json", "wire.jsonl"}, names); d != "" {
		t.Errorf("files (-want +got):\n%s", d)
	}
	output, err := os.ReadFile(b.env["GITHUB_OUTPUT"])
	if err != nil || !strings.Contains(string(output), "/actions/runs/42/artifacts/") {
		t.Errorf("outputs do not tell the artifact's address: %v\n%s", err, output)
	}
}

// A service that fails costs nothing: everything is in the workspace, and exit 5 says that a rerun
// may mend it.
func TestArtifactServiceFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	server := artifacttest.Start(t, artifacttest.Options{})
	server.Break(artifacttest.Fault{Call: "CreateArtifact", Kind: artifacttest.Refuse, Status: http.StatusForbidden})
	b.onRunner()
	b.env["ACTIONS_RESULTS_URL"], b.env["ACTIONS_RUNTIME_TOKEN"] = server.ResultsURL, server.Token
	b.ask(look(""), modeltest.Message(noFinding))
	b.want(exitRemote, "review", "--prompt-file="+promptV3)
	if rec := b.receipt(); rec.Status != receipt.Completed || rec.Review.Path == "" {
		t.Errorf("status %q, review %q; want a completed review on disk", rec.Status, rec.Review.Path)
	}
	if !strings.Contains(b.stdout.String(), "hint: ") {
		t.Errorf("no hint:\n%s", b.stdout.String())
	}
}

// Outputs that cannot be written are told, by the log, the exit code and the receipt alike.
func TestOutputsThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.onRunner()
	b.env["GITHUB_OUTPUT"] = filepath.Join(b.dir, "none", "output")
	b.ask(look(""), modeltest.Message(noFinding))
	b.want(exitRemote, "review", "--prompt-file="+promptV3, "--upload-artifact=false")
	rec := b.receipt()
	if rec.Status != receipt.Completed || rec.Run.Error == nil || !strings.Contains(b.stdout.String(), "GITHUB_OUTPUT") {
		t.Errorf("status %q, error %+v, log:\n%s", rec.Status, rec.Run.Error, b.stdout.String())
	}
}

// A valid review in a shape that recibo cannot read is never "no findings".
func TestUnknownShapeIsInconclusive(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	const schema = `{"type":"object","properties":{"ok":{"type":"boolean"},"findings":{"type":"array","items":{"type":"object","properties":{"msg":{"type":"string"}},"required":["msg"],"additionalProperties":false}}},"required":["ok","findings"],"additionalProperties":false}`
	b.ask(look(""), modeltest.Message(`{"ok":false,"findings":[{"msg":"SQL injection"}]}`))
	b.want(exitReview, "review", "--prompt-file="+promptV3, "--output-schema="+schema)
	rec := b.receipt()
	if rec.Status != receipt.Inconclusive || rec.Review.OK == nil || *rec.Review.OK {
		t.Errorf("status %q, ok %v; want inconclusive, and the model's own no", rec.Status, rec.Review.OK)
	}
	if out := b.stdout.String(); strings.Count(out, "hint:") != 1 {
		t.Errorf("the hint is told %d times:\n%s", strings.Count(out, "hint:"), out)
	}
}

// Many findings cost one look at the tree, not one each.
func TestManyFindings(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	finding := strings.TrimSuffix(strings.SplitN(lockFinding, "[", 2)[1], "]}")
	all := make([]string, 3000)
	for i := range all {
		all[i] = strings.Replace(finding, "internal/store/store.go", fmt.Sprintf("none/%d.go", i), 1)
	}
	b.ask(look(""), modeltest.Message(`{"ok":false,"summary":"s","findings":[`+strings.Join(all, ",")+`]}`))
	b.want(exitDone, "review", "--prompt-file="+promptV3)
	if rec := b.receipt(); rec.Review.Findings != 3000 || rec.Review.Locations["no_file"] != 3000 {
		t.Errorf("findings %d, locations %v", rec.Review.Findings, rec.Review.Locations)
	}
}

// The frozen replay says everywhere what it is.
func TestDemoSaysThatItIsScripted(t *testing.T) {
	t.Parallel()
	b := &bench{t: t, dir: t.TempDir(), env: plainEnviron(t)}
	b.env["TMPDIR"] = t.TempDir()
	b.want(exitDone, "demo")
	for _, want := range []string{"scripted session: no model was asked", "internal/pricing/total.go:53", "go.mod:5", "go run . demo --prompt-file="} {
		if !strings.Contains(b.stdout.String(), want) {
			t.Errorf("the demo does not say %q:\n%s", want, b.stdout.String())
		}
	}
	b.want(exitRequest, "demo", "--live")
	b.want(exitRequest, "demo", "--prompt=Something else.")
}

// Events that know only a number: the rest is asked of GitHub.
func TestEventsWithANumberOnly(t *testing.T) {
	t.Parallel()
	for name, payload := range map[string]string{
		"workflow_dispatch": `{"inputs":null,"ref":"refs/heads/main","repository":{"full_name":"example/orders"},"sender":{"login":"fixture-author","id":1,"type":"User"}}`,
		"schedule":          `{"schedule":"0 0 * * *","repository":{"full_name":"example/orders"}}`,
		"issue_comment":     `{"action":"created","issue":{"number":7,"title":"t","body":"b","state":"open","user":{"login":"a","id":1,"type":"User"},"labels":[],"pull_request":{"url":"https://api.github.com/repos/example/orders/pulls/7"}},"comment":{"id":1,"body":"/review","user":{"login":"a","id":1,"type":"User"}},"repository":{"full_name":"example/orders"},"sender":{"login":"a","id":1,"type":"User"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			asked := b.askGitHub()
			put(t, b.env["GITHUB_EVENT_PATH"], payload)
			b.env["GITHUB_EVENT_NAME"] = name
			b.ask(look(""), modeltest.Message(noFinding))
			args := []string{"review", "--prompt-file=" + promptV3}
			if name != "issue_comment" {
				args = append(args, "--pull-request=7")
			}
			b.want(exitDone, args...)
			if rec := b.receipt(); rec.HeadSHA != fixtureHead || rec.Run.PullRequest == nil || *rec.Run.PullRequest != 7 {
				t.Errorf("head %q, pull request %v", rec.HeadSHA, rec.Run.PullRequest)
			}
			if n := asked(); n != 1 {
				t.Errorf("GitHub was asked %d times, want once", n)
			}
		})
	}
}

func TestNumberIsMissing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	put(t, b.env["GITHUB_EVENT_PATH"], `{"inputs":null,"repository":{"full_name":"example/orders"},"sender":{"login":"a","id":1,"type":"User"}}`)
	b.env["GITHUB_EVENT_NAME"] = "workflow_dispatch"
	b.ask()
	b.want(exitRequest, "review", "--prompt-file="+promptV3)
	if out := b.stdout.String(); !strings.Contains(out, "pull-request") {
		t.Errorf("the input is not named:\n%s", out)
	}
}

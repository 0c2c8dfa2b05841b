//go:build docker

// Package e2e tries the built image as a runner would start it. It needs a Docker engine, and runs
// only with the build tag "docker".
package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recibo-ci/recibo/fixtures"
	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/receipt"
)

const (
	image       = "recibo:e2e"
	fixtureHead = "0e5d9c0fe81c9c8b8003a92fbbf03bfe2e409539"
	merge       = "77baa035fd0ff4b25ea6722ff7fedc98c4f5ffc0"
	promptFile  = ".github/codex/prompts/review.v3.md"
)

// run is one start of the container, with the directories that a runner mounts.
type run struct {
	t              *testing.T
	dir, workspace string
	env            map[string]string
	args           []string
	stdout, stderr bytes.Buffer
	name           string
}

// newRun lays out the fixture's checkout and everything that the runner mounts, owned by the
// runner's own user.
func newRun(t *testing.T) *run {
	t.Helper()
	dir := t.TempDir()
	r := &run{t: t, dir: dir, workspace: filepath.Join(dir, "workspace"), name: strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))}
	bundle := filepath.Join(dir, "bundle")
	write(t, bundle, fixture(t, "repository.bundle"))
	command(t, "git", "clone", "-q", "--no-checkout", bundle, r.workspace)
	command(t, "git", "-C", r.workspace, "fetch", "-q", "origin", "+refs/*:refs/fixture/*")
	command(t, "git", "-C", r.workspace, "checkout", "-q", "--detach", merge)
	for _, name := range []string{"home", "workflow", "file_commands", "runner_temp"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "workflow", "event.json"), fixture(t, "event.json"))
	write(t, filepath.Join(dir, "file_commands", "output"), nil)
	write(t, filepath.Join(dir, "file_commands", "summary"), nil)
	r.env = map[string]string{
		"GITHUB_ACTIONS": "true", "CI": "true", "HOME": "/github/home", "GITHUB_WORKSPACE": "/github/workspace",
		"GITHUB_EVENT_NAME": "pull_request", "GITHUB_EVENT_PATH": "/github/workflow/event.json", "GITHUB_REPOSITORY": "example/orders",
		"GITHUB_OUTPUT": "/github/file_commands/output", "GITHUB_STEP_SUMMARY": "/github/file_commands/summary",
		"GITHUB_SERVER_URL": "https://github.com", "GITHUB_API_URL": "https://api.github.com", "GITHUB_GRAPHQL_URL": "https://api.github.com/graphql",
		"GITHUB_RUN_ID": "42", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_JOB": "review", "RUNNER_TEMP": "/github/runner_temp",
		"ACTIONS_RUNTIME_TOKEN": "runtime-token-secret-0123456789", "INPUT_OPENAI-API-KEY": "sk-secret-0123456789abcdef",
		"INPUT_PROMPT-FILE": promptFile, "INPUT_WIRE-RECORD": "full", "INPUT_GITHUB-TOKEN": "ghs_secret0123456789abcdef",
	}
	return r
}

// script replays answers that run commands one after another and then say that nothing is wrong.
func (r *run) script(commands ...string) {
	r.t.Helper()
	const final = `{"ok":true,"summary":"Nothing.","findings":[]}`
	prompt := fixture(r.t, "review.v3.md")
	lines := []any{map[string]any{"session": 1, "origin": "scripted", "codex_version": "0.171.0", "model": "gpt-6.2-sol", "prompt_sha": digest.Of(prompt).String()}}
	answer := func(n int, item map[string]any) {
		usage := map[string]any{"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}
		events := []any{
			map[string]any{"type": "response.created", "response": map[string]any{"id": "r"}},
			map[string]any{"type": "response.output_item.done", "output_index": 0, "item": item},
			map[string]any{"type": "response.completed", "response": map[string]any{"id": "r", "model": "gpt-6.2-sol", "usage": usage}},
		}
		lines = append(lines, map[string]any{"n": n, "request": nil, "response": map[string]any{"status": 200, "content_type": "text/event-stream", "events": events}})
	}
	for i, c := range commands {
		quoted, err := json.Marshal(c)
		if err != nil {
			r.t.Fatal(err)
		}
		source := "text(await tools.exec_command({cmd: " + string(quoted) + ", yield_time_ms: 20000}));"
		answer(i+1, map[string]any{"type": "custom_tool_call", "call_id": "c" + string(rune('a'+i)), "name": "exec", "namespace": "functions", "input": source})
	}
	answer(len(commands)+1, map[string]any{"type": "message", "role": "assistant", "content": []any{map[string]any{"type": "output_text", "text": final}}})
	var b bytes.Buffer
	for _, line := range lines {
		if err := json.NewEncoder(&b).Encode(line); err != nil {
			r.t.Fatal(err)
		}
	}
	write(r.t, filepath.Join(r.dir, "runner_temp", "session.jsonl"), b.Bytes())
	r.env["INPUT_RESPONSES-API-ENDPOINT"] = "replay:/github/runner_temp/session.jsonl"
}

// docker is the command line that the runner would use.
func (r *run) docker() *exec.Cmd {
	command(r.t, "chown", "-R", "1001:1001", r.dir)
	args := []string{"run", "--rm", "--name", r.name, "--workdir", "/github/workspace"}
	for k, v := range r.env {
		args = append(args, "-e", k+"="+v)
	}
	for host, inside := range map[string]string{
		r.workspace: "/github/workspace", filepath.Join(r.dir, "home"): "/github/home", filepath.Join(r.dir, "workflow"): "/github/workflow",
		filepath.Join(r.dir, "file_commands"): "/github/file_commands", filepath.Join(r.dir, "runner_temp"): "/github/runner_temp",
		"/var/run/docker.sock": "/var/run/docker.sock",
	} {
		args = append(args, "-v", host+":"+inside)
	}
	c := exec.Command("docker", append(append(args, image), r.args...)...)
	c.Stdout, c.Stderr = &r.stdout, &r.stderr
	return c
}

func (r *run) want(code int) {
	r.t.Helper()
	err := r.docker().Run()
	got := 0
	if exit, ok := err.(*exec.ExitError); ok {
		got = exit.ExitCode()
	} else if err != nil {
		r.t.Fatal(err)
	}
	if got != code {
		r.t.Fatalf("exit code %d, want %d\n%s\n%s", got, code, r.stdout.String(), r.stderr.String())
	}
}

func (r *run) receipt() *receipt.Receipt {
	r.t.Helper()
	rec, err := receipt.Read(filepath.Join(r.workspace, "usage.json"))
	if err != nil {
		r.t.Fatal(err)
	}
	return rec
}

// outputs are what each command printed, as the model was told.
func (r *run) outputs() string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.workspace, ".recibo", "session.jsonl"))
	if err != nil {
		r.t.Fatal(err)
	}
	return string(data)
}

func fixture(t *testing.T, name string) []byte {
	t.Helper()
	data, err := fixtures.Files.ReadFile("orders/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func command(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

func TestImageHoldsWhatAReviewNeeds(t *testing.T) {
	t.Parallel()
	inside := func(script string) string {
		return command(t, "docker", "run", "--rm", "--entrypoint", "/bin/sh", image, "-c", script)
	}
	if got := command(t, "docker", "run", "--rm", image, "version"); !strings.Contains(got, "codex  0.171.0") {
		t.Errorf("version says %q", got)
	}
	found := inside("for p in recibo git bash node npm npx; do command -v $p || true; done; ls /opt/recibo/codex/*/bin /opt/recibo/codex/*/codex-path; cat /etc/recibo/npm-registry")
	for _, want := range []string{"/usr/local/bin/recibo", "/usr/bin/git", "codex-code-mode-host", "rg", "https://"} {
		if !strings.Contains(found, want) {
			t.Errorf("the image lacks %s:\n%s", want, found)
		}
	}
	for _, name := range []string{"node", "npm", "npx"} {
		if strings.Contains(found, "/"+name+"\n") {
			t.Errorf("the image has %s", name)
		}
	}
}

func TestContainerReviews(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.script("git diff --stat 425c2fc2ed1f00fec79478f1b72fbeab22b9087b HEAD; git rev-parse HEAD; rg -c Create internal/store/store.go")
	r.want(0)
	rec := r.receipt()
	if rec.Status != receipt.Completed || rec.Jail.Level != receipt.JailFull || rec.Run.Codex.Source != "image" {
		t.Errorf("status %q, jail %+v, Codex from %q; want completed in a full jail with the image's Codex", rec.Status, rec.Jail, rec.Run.Codex.Source)
	}
	if got := r.outputs(); !strings.Contains(got, "5 files changed") || !strings.Contains(got, fixtureHead) {
		t.Error("the agent's git or rg did not work")
	}
	output, err := os.ReadFile(filepath.Join(r.dir, "file_commands", "output"))
	if err != nil || !strings.Contains(string(output), "verdict<<") {
		t.Errorf("outputs = %q, %v", output, err)
	}
	if got := command(t, "find", r.workspace, "-not", "-user", "1001"); got != "" {
		t.Errorf("files that do not belong to the workspace's owner:\n%s", got)
	}
	for _, path := range []string{"usage.json", ".recibo/review.json", ".recibo/wire.jsonl", ".recibo/session.jsonl", ".recibo/events.jsonl", ".recibo/prompt.resolved.md"} {
		data, err := os.ReadFile(filepath.Join(r.workspace, path))
		if err != nil {
			t.Error(err)
		}
		for _, secret := range []string{"sk-secret", "ghs_secret", "runtime-token"} {
			if bytes.Contains(data, []byte(secret)) {
				t.Errorf("%s holds %s…", path, secret)
			}
		}
	}
}

// A pull request that runs these as the agent gets nothing.
func TestHostileCommandsGetNothing(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.script(
		"id; cat /proc/1/environ /proc/1/maps 2>&1 | tail -3; ls /proc/1/fd 2>&1 | tail -1; env | grep -c -E 'INPUT_|ACTIONS_|GITHUB_' ; echo done-1",
		"cat /github/workflow/event.json /github/runner_temp/session.jsonl 2>&1 | tail -1; ls /github/home /github/workspace/.git 2>&1 | tail -1; (echo x > /github/file_commands/output) 2>&1; (echo x > /github/workspace/evil) 2>&1; (echo x > /etc/evil) 2>&1; echo done-2",
		"ls -la /var/run/docker.sock 2>&1; bash -c 'exec 3<>/dev/tcp/1.1.1.1/80 && printf \"GET / HTTP/1.0\\r\\n\\r\\n\" >&3 && timeout 5 cat <&3' 2>&1 | head -1; bash -c 'exec 3<>/dev/udp/1.1.1.1/53' 2>&1; echo done-3",
		"setsid sleep 4000 & git config --global --list 2>&1; su -c id 2>&1; kill -9 1 2>&1; git log -1 --format=%H; echo done-4",
	)
	r.want(0)
	got := r.outputs()
	for _, want := range []string{"done-1", "done-2", "done-3", "done-4", "uid=65532"} {
		if !strings.Contains(got, want) {
			t.Errorf("the commands did not run: no %q", want)
		}
	}
	for _, secret := range []string{"sk-secret", "ghs_secret", "runtime-token", "fixture-author", "HTTP/1.1 200"} {
		if strings.Contains(got, secret) {
			t.Errorf("the agent saw %q", secret)
		}
	}
	if _, err := os.Stat(filepath.Join(r.workspace, "evil")); err == nil {
		t.Error("the agent wrote into the workspace")
	}
	if data, _ := os.ReadFile(filepath.Join(r.dir, "file_commands", "output")); bytes.Contains(data, []byte("x\n")) && !bytes.Contains(data, []byte("<<")) {
		t.Errorf("the agent wrote outputs: %q", data)
	}
}

// The runner cancels with SIGINT and kills 10 s later.
func TestCancelledContainerLeavesAReceipt(t *testing.T) {
	t.Parallel()
	r := newRun(t)
	r.script("sleep 3600")
	c := r.docker()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for !strings.Contains(top(r.name), "sleep 3600") {
		if time.Now().After(deadline) {
			t.Fatalf("the agent's command never started\n%s%s", r.stdout.String(), r.stderr.String())
		}
		time.Sleep(100 * time.Millisecond)
	}
	command(t, "docker", "kill", "--signal", "INT", r.name)
	if err := c.Wait(); err == nil {
		t.Error("a cancelled run ended with 0")
	}
	rec := r.receipt()
	if rec.Status != receipt.Cancelled {
		t.Errorf("status %q, want cancelled", rec.Status)
	}
}

// top lists the container's processes; none while it does not run.
func top(name string) string {
	out, err := exec.Command("docker", "top", name, "-eo", "pid,args").Output()
	if err != nil {
		return ""
	}
	return string(out)
}

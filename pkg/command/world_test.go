package command

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recibo-ci/recibo/fixtures"
	"github.com/recibo-ci/recibo/internal/modeltest"
	"github.com/recibo-ci/recibo/pkg/receipt"
	"github.com/recibo-ci/recibo/pkg/sandbox"
)

// Commits of the fixture, as fixtures/orders/build.sh makes them.
const (
	fixtureBase      = "3a83176cfde3054c8812dcd0b39ac01225b93b83"
	fixtureHead      = "0e5d9c0fe81c9c8b8003a92fbbf03bfe2e409539"
	fixtureMergeBase = "425c2fc2ed1f00fec79478f1b72fbeab22b9087b"
	fixtureMerge     = "77baa035fd0ff4b25ea6722ff7fedc98c4f5ffc0"

	promptV3 = ".github/codex/prompts/review.v3.md"
	promptV4 = ".github/codex/prompts/review.v4.md"
)

// The jail starts this binary again.
func TestMain(m *testing.M) {
	if sandbox.IsChild(os.Args) {
		sandbox.Child()
	}
	os.Exit(m.Run())
}

// bench is one call of recibo with a world of its own.
type bench struct {
	t              testing.TB
	dir            string
	env            map[string]string
	stdout, stderr bytes.Buffer
}

// newBench checks the fixture out as a runner would, at the merge commit.
func newBench(t testing.TB) *bench {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "orders")
	bundle := filepath.Join(t.TempDir(), "repository.bundle")
	data, err := fixtures.Files.ReadFile("orders/repository.bundle")
	if err != nil {
		t.Fatal(err)
	}
	put(t, bundle, string(data))
	runGit(t, ".", "clone", "-q", "--no-checkout", bundle, dir)
	runGit(t, dir, "fetch", "-q", "origin", "+refs/*:refs/fixture/*")
	runGit(t, dir, "checkout", "-q", "--detach", fixtureMerge)
	event, err := fixtures.Files.ReadFile("orders/event.json")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "event.json")
	put(t, path, string(event))
	b := &bench{t: t, dir: dir, env: plainEnviron(t)}
	b.env["GITHUB_EVENT_PATH"], b.env["GITHUB_EVENT_NAME"] = path, "pull_request"
	b.env["GITHUB_REPOSITORY"] = "example/orders"
	return b
}

// plainEnviron is what every call needs: programs, and the cache that holds Codex.
func plainEnviron(t testing.TB) map[string]string {
	t.Helper()
	env := map[string]string{"HOME": t.TempDir()}
	if cache, err := os.UserCacheDir(); err == nil {
		env["XDG_CACHE_HOME"] = cache
	}
	for _, name := range []string{"PATH", "NPM_CONFIG_REGISTRY", "npm_config_registry", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "NPM_CONFIG_USERCONFIG"} {
		if v := os.Getenv(name); v != "" {
			env[name] = v
		}
	}
	return env
}

// onRunner sets what a runner sets.
func (b *bench) onRunner() {
	dir := b.t.TempDir()
	for name, value := range map[string]string{
		"GITHUB_ACTIONS": "true", "GITHUB_WORKSPACE": b.dir,
		"GITHUB_OUTPUT": filepath.Join(dir, "output"), "GITHUB_STEP_SUMMARY": filepath.Join(dir, "summary"),
		"GITHUB_SERVER_URL": "https://github.com", "GITHUB_API_URL": "https://api.github.com",
		"GITHUB_GRAPHQL_URL": "https://api.github.com/graphql",
		// Where the tests have less than the whole jail, that is told by the receipt.
		"INPUT_ALLOW-UNSANDBOXED": "true",
	} {
		b.env[name] = value
	}
}

// commitToHead adds a file to the pull request's head.
func (b *bench) commitToHead(path, content string) string {
	b.t.Helper()
	work := filepath.Join(b.t.TempDir(), "work")
	runGit(b.t, b.dir, "worktree", "add", "-q", "--detach", work, fixtureHead)
	put(b.t, filepath.Join(work, path), content)
	runGit(b.t, work, "add", "-A", "-f")
	runGit(b.t, work, "commit", "-q", "-m", "change")
	head := runGit(b.t, work, "rev-parse", "HEAD")
	runGit(b.t, b.dir, "worktree", "remove", "--force", work)
	b.editEvent(fixtureHead, head)
	return head
}

// editEvent replaces a text in the event's payload.
func (b *bench) editEvent(old, new string) {
	b.t.Helper()
	path := b.env["GITHUB_EVENT_PATH"]
	data, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		b.t.Fatalf("the event does not hold %q", old)
	}
	put(b.t, path, strings.ReplaceAll(string(data), old, new))
}

// ask points the bench at a scripted model.
func (b *bench) ask(turns ...modeltest.Turn) *modeltest.Model {
	b.t.Helper()
	m := modeltest.Start(b.t, turns...)
	b.env["INPUT_RESPONSES-API-ENDPOINT"] = m.URL
	b.env["INPUT_OPENAI-API-KEY"] = modeltest.Key
	return m
}

func (b *bench) run(args ...string) int {
	b.t.Helper()
	return b.runIn(b.t.Context(), args...)
}

func (b *bench) runIn(ctx context.Context, args ...string) int {
	w := World{Args: args, Stdout: &b.stdout, Stderr: &b.stderr, Dir: b.dir, Now: time.Now}
	for k, v := range b.env {
		w.Environ = append(w.Environ, k+"="+v)
	}
	return Main(ctx, w)
}

// want runs and fails the test, with everything that was printed, on another exit code.
func (b *bench) want(code int, args ...string) {
	b.t.Helper()
	if got := b.run(args...); got != code {
		b.t.Fatalf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", got, code, b.stdout.String(), b.stderr.String())
	}
}

// receipt reads usage.json, which must be valid whatever happened.
func (b *bench) receipt() *receipt.Receipt {
	b.t.Helper()
	r, err := receipt.Read(filepath.Join(b.dir, "usage.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// flat reads usage.json as any script would.
func (b *bench) flat() map[string]any {
	b.t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, "usage.json"))
	if err != nil {
		b.t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		b.t.Fatal(err)
	}
	return m
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func runGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	c := exec.Command("git", append([]string{"-C", dir}, args...)...)
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@recibo.invalid", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@recibo.invalid"}
	out, err := c.Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// askGitHub serves the fixture's pull request as GitHub's API would, and counts.
func (b *bench) askGitHub() (asked func() int) {
	b.t.Helper()
	const token = "ghs_test0123456789"
	data, err := os.ReadFile(b.env["GITHUB_EVENT_PATH"])
	if err != nil {
		b.t.Fatal(err)
	}
	var event struct {
		Pull json.RawMessage `json:"pull_request"`
	}
	if err := json.Unmarshal(data, &event); err != nil {
		b.t.Fatal(err)
	}
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		if r.Method != http.MethodGet || r.URL.Path != "/repos/example/orders/pulls/7" || r.Header.Get("Authorization") != "Bearer "+token {
			b.t.Errorf("unexpected request to GitHub: %s %s", r.Method, r.URL)
		}
		if _, err := w.Write(event.Pull); err != nil {
			b.t.Error(err)
		}
	}))
	b.t.Cleanup(s.Close)
	b.env["GITHUB_API_URL"], b.env["INPUT_GITHUB-TOKEN"] = s.URL, token
	return func() int { return int(n.Load()) }
}

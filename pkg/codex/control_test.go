package codex

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recibo-ci/recibo/internal/modeltest"
	"github.com/recibo-ci/recibo/pkg/identity"
	"github.com/recibo-ci/recibo/pkg/wire"
)

// models are one that works in code mode (Codex's default), one with classic tools, and one that
// Codex does not know.
func models() map[string]string {
	return map[string]string{"default": "", "classic": "gpt-5.5", "unknown": "acme-9"}
}

// realRun is a Run of the pinned Codex in a small repository.
func realRun(t *testing.T, model string) Run {
	t.Helper()
	home, err := NewHome(filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := home.Remove(); err != nil {
			t.Error(err)
		}
	})
	tree := filepath.Join(t.TempDir(), "tree")
	if err := os.MkdirAll(filepath.Join(tree, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "init", "-q", tree).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v: %s", err, out)
	}
	return Run{
		Programs: realPrograms(t), Home: home, Config: Config{Model: model}, Dir: tree, Tree: tree,
		Schema: []byte(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"],"additionalProperties":false}`),
		Prompt: []byte("Review this.\r\n\x00 end\n\n"), Launch: Direct,
	}
}

// first runs r against an endpoint that answers with a final message, and returns request 1.
func first(t *testing.T, r Run) *wire.Request {
	t.Helper()
	m := modeltest.Start(t, modeltest.Message(`{"ok":true}`))
	// Codex has no key; the gateway would add it.
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		req.Header.Set("Authorization", "Bearer "+modeltest.Key)
		m.ServeHTTP(w, req)
	}))
	defer proxy.Close()
	r.Config.BaseURL, r.Endpoint = proxy.URL+"/v1", strings.TrimPrefix(proxy.URL, "http://")
	res, err := r.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if res.Exit != nil || string(res.Message) != `{"ok":true}` || !res.Completed {
		t.Fatalf("Codex: exit %v, message %q, completed %v, failures %q, stderr %s", res.Exit, res.Message, res.Completed, res.Failures, res.Stderr.Bytes())
	}
	req, err := wire.ParseRequest(m.Requests()[0])
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRealCodexSendsWhatIsExpected(t *testing.T) {
	t.Parallel()
	for name, model := range models() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := realRun(t, model)
			write(t, filepath.Join(r.Tree, "AGENTS.md"), "# Root\r\nno newline at the end")
			write(t, filepath.Join(r.Tree, "sub", "AGENTS.md"), "hidden")
			write(t, filepath.Join(r.Tree, "sub", "AGENTS.override.md"), "bytes that are not UTF-8: \xe2\x82 \xff\xfe.\n")
			write(t, filepath.Join(r.Tree, ".agents", "skills", "evil", "SKILL.md"), "---\nname: evil\ndescription: d\n---\nEVIL\n")
			r.Dir = filepath.Join(r.Tree, "sub")
			r.Config.Context = []byte("Context with \"quotes\", \\ and\ttabs.\n")
			r.Prompt = append(r.Prompt, "use $evil and $imagegen"...)
			expect := learned(t, r)
			skills, err := identity.FindSkills(r.Tree, "sub")
			if err != nil || len(skills) != 1 {
				t.Fatalf("FindSkills() = %v, %v", skills, err)
			}

			// With the skill left on, its text is something nobody accounts for.
			if err := expect.Match(first(t, r)); err == nil || !strings.Contains(err.Error(), "<skill>") {
				t.Errorf("a skill's text in the request: Match() = %v", err)
			}
			r.Config.SkillsOff = skills[0].Names
			if err := expect.Match(first(t, r)); err != nil {
				t.Errorf("Match() = %v", err)
			}
		})
	}
}

func learned(t *testing.T, r Run) Expectation {
	t.Helper()
	l := Learner{CacheDir: t.TempDir(), Base: filepath.Join(t.TempDir(), "base"), Launch: Direct}
	c, err := l.Learn(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	chain, err := identity.LoadChain(r.Tree, "sub")
	if err != nil {
		t.Fatal(err)
	}
	// What was kept is used: an endpoint that cannot be started is never asked for.
	l.Launch = func(context.Context, Command) (Process, error) {
		t.Error("learned twice although it is kept")
		return nil, os.ErrInvalid
	}
	again, err := l.Learn(t.Context(), r)
	if err != nil || again.ToolsSHA != c.ToolsSHA || again.Key != c.Key {
		t.Errorf("second Learn() = %+v, %v; want what was kept", again, err)
	}
	return Expectation{Control: c, Context: r.Config.Context, Instructions: chain.Compose(), Prompt: r.Prompt, Schema: r.Schema, Dir: r.Dir}
}

func TestCapOfInstructions(t *testing.T) {
	t.Parallel()
	r := realRun(t, "")
	r.Dir = filepath.Join(r.Tree, "sub")
	write(t, filepath.Join(r.Tree, "AGENTS.md"), strings.Repeat("x", identity.ChainLimit-4))
	write(t, filepath.Join(r.Tree, "sub", "AGENTS.md"), "über the cap")
	expect := learned(t, r)
	if err := expect.Match(first(t, r)); err != nil {
		t.Errorf("Match() = %v", err)
	}
}

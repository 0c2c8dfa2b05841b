package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/recibo-ci/recibo/fixtures"
	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/git"
)

// demoFixture is the frozen pull request of the demo.
const demoFixture = "orders"

// fixture is fixture.json.
type fixture struct {
	Name       string   `json:"name"`
	Title      string   `json:"title"`
	Origin     string   `json:"origin"`
	Repository string   `json:"repository"`
	Bundle     string   `json:"bundle"`
	Checkout   string   `json:"checkout"`
	EventName  string   `json:"event_name"`
	Event      string   `json:"event"`
	PromptFile string   `json:"prompt_file"`
	Sessions   []string `json:"sessions"`
}

// runDemo unpacks the frozen pull request as a runner would check it out, and reviews it.
func runDemo(ctx context.Context, w World, args []string) error {
	live := false
	var flags []string
	for _, a := range args {
		if a == "--live" {
			live = true
			continue
		}
		flags = append(flags, a)
	}
	v, rest, err := readValues(flags, nil)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return unexpected(rest[0])
	}
	key := w.getenv("OPENAI_API_KEY")
	if live && key == "" {
		return fault.New(fault.Request, "export OPENAI_API_KEY, or leave --live out to replay the scripted session", "ask the real model: OPENAI_API_KEY is not set")
	}
	d, err := unpackDemo(ctx)
	if err != nil {
		return err
	}
	d.world, d.live, d.key = w, live, key
	return d.review(ctx, v)
}

// demo is the frozen pull request on disk.
type demo struct {
	fixture
	// dir holds the fixture's files, repo the checkout.
	dir, repo string
	world     World
	live      bool
	key       string
}

func unpackDemo(ctx context.Context) (*demo, error) {
	dir, err := os.MkdirTemp("", "recibo-demo-")
	if err != nil {
		return nil, err
	}
	// The agent's own user must be able to read the checkout.
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	d := &demo{dir: filepath.Join(dir, "fixture"), repo: filepath.Join(dir, "orders")}
	files, err := fs.Sub(fixtures.Files, demoFixture)
	if err != nil {
		return nil, err
	}
	if err := os.CopyFS(d.dir, files); err != nil {
		return nil, fmt.Errorf("unpack the demo: %w", err)
	}
	data, err := os.ReadFile(filepath.Join(d.dir, "fixture.json"))
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &d.fixture); err != nil {
		return nil, fmt.Errorf("read the demo's fixture.json: %w", err)
	}
	_, err = git.Unbundle(ctx, git.Bundle{File: filepath.Join(d.dir, d.Bundle), Dir: d.repo, Commit: d.Checkout})
	return d, err
}

func (d *demo) review(ctx context.Context, v values) error {
	if !v.set("prompt") && !v.set("prompt-file") {
		v.given["prompt-file"] = d.PromptFile
	}
	if d.live {
		v.given["openai-api-key"] = d.key
	} else if err := d.chooseSession(v); err != nil {
		return err
	}
	w := d.world
	w.Dir = d.repo
	w.Environ = d.environ()
	r := newReviewing(w, v)
	r.next = d.next(v)
	return r.run(ctx)
}

// environ is what the demo takes of the person's environment: where things are kept and how the
// network is reached, and nothing that says what to review.
func (d *demo) environ() []string {
	env := []string{
		"GITHUB_EVENT_NAME=" + d.EventName, "GITHUB_EVENT_PATH=" + filepath.Join(d.dir, d.Event),
		"GITHUB_REPOSITORY=" + d.Repository,
	}
	for _, entry := range d.world.Environ {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "INPUT_") && !strings.HasPrefix(name, "GITHUB_") && name != "OPENAI_API_KEY" {
			env = append(env, entry)
		}
	}
	return env
}

// chooseSession replays the session that was made for the prompt.
func (d *demo) chooseSession(v values) error {
	prompt := []byte(v.get("prompt"))
	if v.set("prompt-file") {
		var err error
		if prompt, err = os.ReadFile(filepath.Join(d.repo, filepath.FromSlash(v.word("prompt-file")))); err != nil {
			return fault.New(fault.Request, "the demo has .github/codex/prompts/review.v3.md and review.v4.md", "read the demo's prompt: %w", err)
		}
	}
	want := digest.Of(prompt).String()
	for _, name := range d.Sessions {
		file := filepath.Join(d.dir, name)
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(string(data), "\n")
		if strings.Contains(first, want) {
			v.given["responses-api-endpoint"] = "replay:" + file
			return nil
		}
	}
	return fault.New(fault.Request, "use review.v3.md or review.v4.md of the demo, or ask the real model with --live", "replay the demo: it has no session for the prompt %.12s", want)
}

// next says what to type next.
func (d *demo) next(v values) []string {
	other := path.Join(path.Dir(d.PromptFile), "review.v3.md")
	if v.word("prompt-file") == other {
		other = d.PromptFile
	}
	next := []string{
		"cat " + filepath.Join(d.repo, "usage.json"),
		fmt.Sprintf("git -C %s show HEAD:%s | sha256sum", d.repo, v.word("prompt-file")),
		"go run . demo --prompt-file=" + other,
	}
	if !d.live {
		next = append(next, "OPENAI_API_KEY=... go run . demo --live")
	}
	return next
}

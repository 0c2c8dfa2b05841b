package pull

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recibo-ci/recibo/internal/githubtest"
	"github.com/recibo-ci/recibo/pkg/diff"
	"github.com/recibo-ci/recibo/pkg/effect"
)

const (
	number  = 7
	nextSHA = "7c211433f02071597741e6ff5a8ea34789abbf43"
)

// lines is the diff of every pull request here: one file, two hunks.
func lines() githubtest.Lines {
	return githubtest.Lines{"store.go": {"RIGHT": {{1, 100}, {200, 300}}, "LEFT": {{1, 100}, {200, 300}}}}
}

// clock is a time that only waiting moves.
type clock struct {
	mu    sync.Mutex
	now   time.Time
	slept []time.Duration
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

func (c *clock) total() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	var sum time.Duration
	for _, d := range c.slept {
		sum += d
	}
	return sum
}

// world is a pull request, a client of it and a clock.
type world struct {
	t      testing.TB
	github *githubtest.Server
	client *Client
	clock  *clock
	run    int64
}

func newWorld(t testing.TB, o githubtest.Options) *world {
	t.Helper()
	s := githubtest.Start(t, o)
	s.AddToken(token, githubtest.Token{Login: githubtest.Bot, Minimize: true})
	s.AddPull(githubtest.Pull{Number: number, Head: headSHA, Base: baseSHA, Author: "someone", Lines: lines()})
	w := &world{t: t, github: s, clock: &clock{now: time.Unix(1_800_000_000, 0)}, run: 100}
	s.SetRun(githubtest.Run{ID: w.run, Attempt: 1, Status: "in_progress"})
	w.client = w.as(token)
	return w
}

// as returns a client with another token, and with connections of its own.
func (w *world) as(token string) *Client {
	w.t.Helper()
	tr := &http.Transport{}
	w.t.Cleanup(tr.CloseIdleConnections)
	c, err := New(Config{APIURL: w.github.APIURL(), GraphQLURL: w.github.GraphQLURL(), Repository: githubtest.Repository, Token: token, Transport: tr})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func (w *world) options() Options {
	return Options{Run: w.run, Attempt: 1, Sleep: w.clock.Sleep, Now: w.clock.Now}
}

func (w *world) publish(p *effect.Plan) (Result, error) {
	return w.client.Publish(w.t.Context(), p, w.options())
}

func (w *world) mustPublish(p *effect.Plan) Result {
	w.t.Helper()
	r, err := w.publish(p)
	if err != nil {
		w.t.Fatalf("Publish() = %v", err)
	}
	return r
}

// input has n findings in one file, finding i at line i+1.
func input(n int) effect.Input {
	in := effect.Input{Name: "recibo", Repository: githubtest.Repository, Pull: number, Head: headSHA, Lead: "## Findings", Tail: "Receipt."}
	var anchors []effect.Anchor
	for i := range n {
		anchors = append(anchors, effect.Anchor{Path: "store.go", Side: diff.Right, Category: "bug", Code: fmt.Sprintf("line %d", i)})
	}
	for i, f := range effect.Fingerprints(in.Name, anchors) {
		in.Findings = append(in.Findings, effect.Finding{
			Fingerprint: f, Range: diff.Range{Path: "store.go", Side: diff.Right, Start: i + 1, End: i + 1},
			Inline: fmt.Sprintf("comment on finding %d.", i), Item: fmt.Sprintf("item of finding %d.", i),
		})
	}
	return in
}

// index is a diff whose commentable lines are 1 to 100 of store.go.
func index(t testing.TB) *diff.Index {
	t.Helper()
	text := "diff --git a/store.go b/store.go\nindex " + strings.Repeat("1", 40) + ".." + strings.Repeat("2", 40) + " 100644\n--- a/store.go\n+++ b/store.go\n@@ -1,100 +1,100 @@\n" +
		strings.Repeat("-a\n+b\n", 100)
	files, err := diff.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return diff.NewIndex(files)
}

func (w *world) plan(in effect.Input) *effect.Plan {
	w.t.Helper()
	p, err := effect.New(in, index(w.t))
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

// account says where each finding of n is told: how often in comments of submitted reviews, and in
// bodies of such.
func (w *world) account(n int) (inline, body []int) {
	public := map[int64]bool{}
	inline, body = make([]int, n), make([]int, n)
	for _, r := range w.github.Reviews(number) {
		if public[r.ID] = r.State == "COMMENTED"; !public[r.ID] {
			continue
		}
		for i := range n {
			body[i] += strings.Count(r.Body, fmt.Sprintf("item of finding %d.", i))
		}
	}
	for _, c := range w.github.Comments(number) {
		for i := range n {
			if public[c.Review] {
				inline[i] += strings.Count(c.Body, fmt.Sprintf("comment on finding %d.", i))
			}
		}
	}
	return inline, body
}

// once complains unless each of n findings is told once; those of refused in a body.
func (w *world) once(n int, refused ...int) {
	w.t.Helper()
	inline, body := w.account(n)
	want := make([]int, n)
	for _, i := range refused {
		want[i] = 1
	}
	for i := range n {
		if body[i] != want[i] || inline[i] != 1-want[i] {
			w.t.Errorf("finding %d is told %d times inline and %d times in a body, want %d and %d", i, inline[i], body[i], 1-want[i], want[i])
		}
	}
	if got := len(w.github.Reviews(number)); got != 1 {
		w.t.Errorf("there are %d reviews, want 1", got)
	}
}

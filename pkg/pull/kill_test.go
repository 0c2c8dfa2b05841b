package pull

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/recibo-ci/recibo/internal/githubtest"
	"github.com/recibo-ci/recibo/pkg/diff"
	"github.com/recibo-ci/recibo/pkg/effect"
)

// findings is how many a trial's plan has.
const findings = 5

// scope ends with a trial and not with its test, so that a thousand servers do not stay.
type scope struct {
	testing.TB
	mu       sync.Mutex
	cleanups []func()
}

func (s *scope) Cleanup(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cleanups = append(s.cleanups, f)
}

func (s *scope) close() {
	for _, f := range slices.Backward(s.cleanups) {
		f()
	}
}

// fate is where a publisher dies.
type fate struct {
	// at is the request, from 0, at which it is killed; acted is before or after the server acts.
	at    int
	acted bool
	// late lets a request that came in before the kill be acted on afterwards.
	late   bool
	seen   int
	cancel context.CancelFunc
}

// trial is one pull request on which publishers die and are run again.
type trial struct {
	*world
	r     *rand.Rand
	mu    sync.Mutex
	fates map[string]*fate
	quick func(context.Context, time.Duration) error
	blind bool
	died  int
}

func newTrial(t testing.TB, seed uint64, o githubtest.Options) *trial {
	t.Helper()
	x := &trial{world: newWorld(t, o), r: rand.New(rand.NewPCG(seed, 1)), fates: map[string]*fate{}}
	x.quick = func(ctx context.Context, _ time.Duration) error {
		time.Sleep(time.Millisecond)
		return ctx.Err()
	}
	x.github.OnRequest(x.reap)
	return x
}

// reap kills the publisher whose hour has come. Requests are spread a little, so that two
// publishers do not keep in step.
func (x *trial) reap(r githubtest.Request) bool {
	x.mu.Lock()
	f := x.fates[r.Token]
	wait := time.Duration(x.r.IntN(300)) * time.Microsecond
	dies := f != nil && f.seen == f.at && r.Acted == f.acted
	if f != nil && r.Acted {
		f.seen++
	}
	if dies {
		x.died++
	}
	x.mu.Unlock()
	if dies {
		f.cancel()
		if f.late {
			wait *= 10
		}
	}
	time.Sleep(wait)
	return dies && !f.late
}

// run publishes once, in workflow run id and with the n-th token, and dies as f says.
func (x *trial) run(id int64, n int, plan *effect.Plan, f *fate) error {
	name := fmt.Sprintf("ghs_trial%d", n)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	x.github.AddToken(name, githubtest.Token{Login: githubtest.Bot, Minimize: true})
	x.github.SetRun(githubtest.Run{ID: id, Attempt: 1, Status: "in_progress"})
	defer x.github.SetRun(githubtest.Run{ID: id, Attempt: 1, Status: "completed"})
	x.mu.Lock()
	if x.fates[name] = f; f != nil {
		f.cancel = cancel
	}
	x.mu.Unlock()
	_, err := x.as(name).Publish(ctx, plan, Options{Run: id, Attempt: 1, Sleep: x.quick, Now: time.Now, noReadBack: x.blind})
	return err
}

// all publishes with as many publishers as there are fates, then again until each plan comes
// through, and returns how many findings are told twice, and how many not at all.
func (x *trial) all(plans []*effect.Plan, fates []*fate, oneRun bool) (twice, lost int) {
	var wait sync.WaitGroup
	for i, f := range fates {
		id := int64(1000 + i)
		if oneRun {
			id = 1000
		}
		wait.Go(func() { _ = x.run(id, i, plans[i], f) })
	}
	wait.Wait()
	for i, plan := range plans {
		for n := range 5 {
			if x.run(int64(2000+10*i+n), len(fates)+10*i+n, plan, nil) == nil {
				break
			}
		}
	}
	inline, body := x.account(findings)
	for i := range findings {
		switch sum := inline[i] + body[i]; {
		case sum == 0:
			lost++
		case sum > 1:
			twice++
		}
	}
	return twice, lost
}

// try runs one trial. Odd seeds have two publishers at once, of whom one or both die, half of these
// in the same workflow run, some for two heads; a third of the pull requests has a comment that GitHub refuses, another an earlier review of ours.
func try(t testing.TB, seed uint64, o githubtest.Options, noReadBack bool) (twice, lost, died int) {
	t.Helper()
	s := &scope{TB: t}
	defer s.close()
	x := newTrial(s, seed, o)
	x.blind = noReadBack
	in := input(findings)
	switch seed / 2 % 3 {
	case 1:
		in.Findings[seed%findings].Range = diff.Range{Path: "store.go", Side: diff.Right, Start: 95, End: 96}
		x.github.AddPull(githubtest.Pull{Number: number, Head: headSHA, Base: baseSHA, Lines: githubtest.Lines{"store.go": {"RIGHT": {{1, 94}}}}})
	case 2:
		early := input(2)
		early.Lead = "## Earlier"
		x.mustPublish(x.plan(early))
	}
	var fates []*fate
	plans := []*effect.Plan{x.plan(in), x.plan(in)}
	if seed%12 == 5 {
		in.Head = nextSHA
		x.github.Push(number, nextSHA, lines(), false)
		plans[1] = x.plan(in)
	}
	for i := range 1 + int(seed%2) {
		f := &fate{at: x.r.IntN(12), acted: x.r.IntN(2) == 0, late: x.r.IntN(2) == 0}
		if i == 1 && x.r.IntN(2) == 0 {
			f.at = -1 // This one lives.
		}
		fates = append(fates, f)
	}
	twice, lost = x.all(plans[:len(fates)], fates, seed%4 == 3)
	x.mu.Lock()
	defer x.mu.Unlock()
	return twice, lost, x.died
}

func TestKilledPublishersPostOnce(t *testing.T) {
	t.Parallel()
	deaths := 0
	for seed := range uint64(60) {
		twice, lost, died := try(t, seed, githubtest.Options{}, false)
		if deaths += died; twice+lost > 0 {
			t.Errorf("trial %d: %d findings twice, %d lost", seed, twice, lost)
		}
	}
	if deaths < 20 {
		t.Errorf("%d publishers were killed in 60 trials", deaths)
	}
}

// BenchmarkKilledPublishers makes as many trials as -benchtime says, such as 1000x.
func BenchmarkKilledPublishers(b *testing.B) {
	trials, deaths := uint64(0), 0
	for b.Loop() {
		twice, lost, died := try(b, trials, githubtest.Options{}, false)
		if deaths += died; twice+lost > 0 {
			b.Errorf("trial %d: %d findings twice, %d lost", trials, twice, lost)
		}
		trials++
	}
	b.ReportMetric(float64(deaths), "deaths")
}

// The trials are worth nothing unless they notice what they are there for.
func TestTrialsNotice(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options    githubtest.Options
		noReadBack bool
	}{
		"two_pending_reviews": {githubtest.Options{AllowTwoPending: true}, false},
		"no_read_back":        {githubtest.Options{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(400) {
				if twice, lost, _ := try(t, seed, tt.options, tt.noReadBack); twice+lost > 0 {
					t.Logf("noticed by trial %d", seed)
					return
				}
			}
			t.Error("400 trials noticed nothing")
		})
	}
}

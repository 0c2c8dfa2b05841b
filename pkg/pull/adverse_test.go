package pull

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/internal/githubtest"
	"github.com/recibo-ci/recibo/pkg/diff"
	"github.com/recibo-ci/recibo/pkg/effect"
	"github.com/recibo-ci/recibo/pkg/fault"
)

func TestFaultsLeaveOneReview(t *testing.T) {
	t.Parallel()
	faults := 0
	for _, call := range []string{"viewer", "list reviews", "create review", "list review comments", "submit review"} {
		for _, f := range []githubtest.Fault{
			{Kind: githubtest.DropBefore}, {Kind: githubtest.DropAfter}, {Kind: githubtest.Refuse, Status: 502}, {Kind: githubtest.RefuseAfter, Status: 500},
			{Kind: githubtest.Limit, RetryAfter: "2"}, {Kind: githubtest.Refuse, Status: 503, RetryAfter: "9"}, {Kind: githubtest.RefuseAfter, Status: 500, Times: 2},
		} {
			f.Call = call
			faults++
			t.Run(strings.ReplaceAll(fmt.Sprint(f.String(), f.Status, f.Times), " ", "_"), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, githubtest.Options{})
				if f.Times == 2 && (call == "create review" || call == "submit review") {
					f.Times = 1 // The second creation or submission never comes, since the first is found.
				}
				w.github.Break(f)
				if got := w.mustPublish(w.plan(input(3))); got.Already || got.Counts.Inline != 3 {
					t.Errorf("Publish() = %+v, want 3 comments of its own", got)
				}
				w.once(3)
			})
		}
	}
	if faults < 30 {
		t.Errorf("tried %d faults", faults)
	}
}

func TestStaleListsAreReadAgain(t *testing.T) {
	t.Parallel()
	t.Run("after_the_claim", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, githubtest.Options{})
		w.github.Break(githubtest.Fault{Call: "list reviews", Kind: githubtest.Stale, Skip: 1, Times: 2})
		w.mustPublish(w.plan(input(3)))
		w.once(3)
	})
	t.Run("before_the_claim", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, githubtest.Options{})
		p := w.plan(input(3))
		body, _ := p.Body(effect.Outcome{Inline: []int{0, 1, 2}, Marker: effect.Marker{Run: 1, Attempt: 1}})
		var comments []githubtest.Comment
		for _, c := range p.Comments() {
			comments = append(comments, githubtest.Comment{Body: c.Body})
		}
		w.github.AddReview(number, githubtest.Review{User: githubtest.Bot, State: "COMMENTED", Body: body}, comments...)
		w.github.Break(githubtest.Fault{Call: "list reviews", Kind: githubtest.Stale})
		if got := w.mustPublish(p); !got.Already {
			t.Errorf("Publish() = %+v, want to see after the claim that it was posted", got)
		}
		w.once(3)
	})
	t.Run("lost_creation", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t, githubtest.Options{})
		w.github.Break(githubtest.Fault{Call: "create review", Kind: githubtest.RefuseAfter, Status: 502},
			githubtest.Fault{Call: "list reviews", Kind: githubtest.Stale, Skip: 1, Times: 2})
		w.mustPublish(w.plan(input(3)))
		w.once(3)
	})
}

// What GitHub will not show after a submission was not answered is not repeated.
func TestUnknownIsReported(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{})
	w.github.Break(githubtest.Fault{Call: "submit review", Kind: githubtest.DropBefore},
		githubtest.Fault{Call: "list reviews", Kind: githubtest.Stale, Skip: 2, Times: tries})
	_, err := w.publish(w.plan(input(2)))
	if fault.KindOf(err) != fault.Remote || !strings.Contains(err.Error(), "unknown") {
		t.Errorf("Publish() = %v, want a remote error that says unknown", err)
	}
	if inline, _ := w.account(2); inline[0] != 0 {
		t.Errorf("it was posted after all: %v", inline)
	}
	w.mustPublish(w.plan(input(2)))
	w.once(2)
}

func TestCommentThatGitHubLosesGoesToTheBody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{})
	w.github.Break(githubtest.Fault{Call: "create review", Kind: githubtest.Lose})
	got := w.mustPublish(w.plan(input(3)))
	if d := cmp.Diff([]int{2}, got.Refused); d != "" || got.Counts != (effect.Counts{Inline: 2, Body: 1}) {
		t.Errorf("Publish() = %+v; refused (-want +got):\n%s", got, d)
	}
	w.once(3, 2)
}

func TestGitHubThatKeepsLosingComments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{})
	w.github.Break(githubtest.Fault{Call: "create review", Kind: githubtest.Lose, Times: 4})
	if _, err := w.publish(w.plan(input(9))); fault.KindOf(err) != fault.Remote || !strings.Contains(err.Error(), "losing") {
		t.Errorf("Publish() = %v, want a remote error", err)
	}
	if inline, body := w.account(9); inline[0]+body[0] != 0 {
		t.Error("a part was posted")
	}
}

// Two pushes in short order: the second run has looked before the first one's review was there.
func TestReviewOfAnotherHeadInBetween(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{})
	w.github.AddToken("ghs_first", githubtest.Token{Login: githubtest.Bot})
	w.github.Push(number, nextSHA, lines(), false)
	first, overtaken := w.as("ghs_first"), false
	w.github.OnRequest(func(r githubtest.Request) bool {
		if r.Token == token && r.Call == "list reviews" && r.Acted && !overtaken {
			overtaken = true
			o := w.options()
			o.Run = 99
			if _, err := first.Publish(t.Context(), w.plan(input(3)), o); err != nil {
				t.Errorf("Publish() of the first = %v", err)
			}
		}
		return false
	})
	next := input(4)
	next.Head = nextSHA
	if got := w.mustPublish(w.plan(next)); !overtaken || got.Counts != (effect.Counts{Inline: 1, Standing: 3}) {
		t.Errorf("Publish() = %+v, overtaken %v; want 1 new finding", got, overtaken)
	}
	inline, _ := w.account(4)
	if d := cmp.Diff([]int{1, 1, 1, 1}, inline); d != "" {
		t.Errorf("comments per finding (-want +got):\n%s", d)
	}
}

// outside gives finding i a line that the plan's diff has, and GitHub's has not.
func (w *world) outside(in effect.Input, bad ...int) effect.Input {
	for _, i := range bad {
		in.Findings[i].Range = diff.Range{Path: "store.go", Side: diff.Right, Start: 95, End: 96}
	}
	w.github.AddPull(githubtest.Pull{Number: number, Head: in.Head, Base: baseSHA, Lines: githubtest.Lines{"store.go": {"RIGHT": {{1, 94}}}}})
	return in
}

func TestCulpritsAreFound(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 5, 8, 13, 40, 60} {
		for _, bad := range [][]int{{0}, {n - 1}, {n / 2}, {0, n - 1}, {n / 3, n / 2, n - 1}} {
			t.Run(fmt.Sprintf("%d_%v", n, bad), func(t *testing.T) {
				t.Parallel()
				distinct := map[int]bool{}
				for _, i := range bad {
					distinct[i] = true
				}
				w := newWorld(t, githubtest.Options{})
				in := w.outside(input(n), bad...)
				in.Limit = 60
				got := w.mustPublish(w.plan(in))
				if len(got.Refused) != len(distinct) || got.Loose || got.Counts.Sum() != n {
					t.Errorf("Publish() = %+v, want %v refused of %d", got, bad, n)
				}
				w.once(n, got.Refused...)
				// Besides the six of the clean path and the creation without the culprit.
				if limit := 6 + 1 + int(2*math.Log2(float64(n))); len(distinct) == 1 && len(w.github.Calls()) > limit {
					t.Errorf("%d calls, want at most %d", len(w.github.Calls()), limit)
				}
			})
		}
	}
}

func TestCommitThatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{})
	w.github.Push(number, nextSHA, lines(), true)
	got := w.mustPublish(w.plan(input(20)))
	if !got.Loose || got.Counts != (effect.Counts{Body: 20}) {
		t.Errorf("Publish() = %+v, want everything in the body", got)
	}
	r := w.github.Reviews(number)[0]
	if r.CommitID != nextSHA || !strings.Contains(r.Body, "The reviewed commit "+headSHA+" is not part") {
		t.Errorf("review %+v does not name the reviewed commit", r)
	}
}

func TestHeadThatMovedIsAnchoredWhereItWasReviewed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{})
	w.github.Push(number, nextSHA, lines(), false)
	if got := w.mustPublish(w.plan(input(3))); got.Loose || w.github.Reviews(number)[0].CommitID != headSHA {
		t.Errorf("Publish() = %+v, review at %s", got, w.github.Reviews(number)[0].CommitID)
	}
	w.once(3)
}

// pendingOf leaves a pending review of another publication.
func (w *world) pendingOf(p *effect.Plan, m effect.Marker, comments int) {
	var out []githubtest.Comment
	var inline []int
	for _, c := range p.Comments() {
		inline = append(inline, c.Finding)
		out = append(out, githubtest.Comment{Path: c.Range.Path, Side: "RIGHT", Line: c.Range.End, Body: c.Body})
	}
	body, _ := p.Body(effect.Outcome{Inline: inline, Marker: m})
	w.github.AddReview(number, githubtest.Review{User: githubtest.Bot, State: "PENDING", Body: body, CommitID: headSHA}, out[:comments]...)
}

func TestPendingReviewsOfOthers(t *testing.T) {
	t.Parallel()
	other := input(2)
	other.Lead = "## Other"
	for name, tt := range map[string]struct {
		in       effect.Input
		marker   effect.Marker
		comments int
		status   string
		finished bool
	}{
		"dead_whole":           {input(3), effect.Marker{Run: 55, Attempt: 1}, 3, "completed", true},
		"dead_part":            {input(3), effect.Marker{Run: 55, Attempt: 1}, 2, "completed", false},
		"dead_probe":           {input(3), effect.Marker{Run: 55, Attempt: 1, Probe: true}, 3, "completed", false},
		"dead_other":           {other, effect.Marker{Run: 55, Attempt: 1}, 2, "completed", false},
		"earlier_attempt":      {input(3), effect.Marker{Run: 100, Attempt: 1}, 3, "", true},
		"later_attempt_runs":   {input(3), effect.Marker{Run: 55, Attempt: 0}, 3, "in_progress", true},
		"own_attempt_whole":    {input(3), effect.Marker{Run: 100, Attempt: 2}, 3, "", false},
		"own_attempt_of_probe": {input(3), effect.Marker{Run: 100, Attempt: 2, Probe: true}, 3, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, githubtest.Options{})
			w.pendingOf(w.plan(tt.in), tt.marker, tt.comments)
			if tt.status != "" {
				w.github.SetRun(githubtest.Run{ID: 55, Attempt: 1, Status: tt.status})
			}
			o := w.options()
			o.Attempt = 2
			got, err := w.client.Publish(t.Context(), w.plan(input(3)), o)
			if err != nil || got.Finished != tt.finished || got.Already {
				t.Errorf("Publish() = %+v, %v; want finished %v", got, err, tt.finished)
			}
			w.once(3)
		})
	}
}

func TestPendingReviewsThatStay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		foreign bool
		token   githubtest.Token
		run     githubtest.Run
		who     string
	}{
		"foreign":    {true, githubtest.Token{Login: githubtest.Bot}, githubtest.Run{}, "recibo did not write"},
		"alive":      {false, githubtest.Token{Login: githubtest.Bot}, githubtest.Run{ID: 55, Attempt: 1, Status: "in_progress"}, "run 55"},
		"queued":     {false, githubtest.Token{Login: githubtest.Bot}, githubtest.Run{ID: 55, Attempt: 1, Status: "queued"}, "run 55"},
		"unknown":    {false, githubtest.Token{Login: githubtest.Bot}, githubtest.Run{}, "run 55"},
		"unreadable": {false, githubtest.Token{Login: githubtest.Bot, NoRuns: true}, githubtest.Run{ID: 55, Attempt: 1, Status: "completed"}, "run 55"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, githubtest.Options{})
			w.github.AddToken(token, tt.token)
			w.github.SetRun(tt.run)
			if tt.foreign {
				w.github.AddReview(number, githubtest.Review{User: githubtest.Bot, State: "PENDING", Body: "another action"})
			} else {
				w.pendingOf(w.plan(input(3)), effect.Marker{Run: 55, Attempt: 1}, 3)
			}
			before := w.github.Reviews(number)
			_, err := w.publish(w.plan(input(3)))
			if fault.KindOf(err) != fault.Remote || !strings.Contains(err.Error(), tt.who) {
				t.Errorf("Publish() = %v, want a remote error that names %q", err, tt.who)
			}
			if got := w.clock.total(); got < defaultWait || got > 2*defaultWait {
				t.Errorf("it waited %s, want about %s", got, defaultWait)
			}
			if d := cmp.Diff(before, w.github.Reviews(number)); d != "" {
				t.Errorf("somebody else's review was touched (-before +after):\n%s", d)
			}
		})
	}
}

package pull

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/internal/githubtest"
	"github.com/recibo-ci/recibo/pkg/effect"
	"github.com/recibo-ci/recibo/pkg/fault"
)

func TestPublishTakesSixCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{})
	got := w.mustPublish(w.plan(input(3)))
	want := []string{"viewer", "list reviews", "create review", "list reviews", "list review comments", "submit review"}
	if d := cmp.Diff(want, w.github.Calls()); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
	w.once(3)
	r := w.github.Reviews(number)[0]
	if r.CommitID != headSHA || r.ID != got.Review || got.URL == "" || got.Already || got.Counts != (effect.Counts{Inline: 3}) {
		t.Errorf("Publish() = %+v for %+v", got, r)
	}
	m, ok := effect.ParseMarker(r.Body)
	if !ok || m.Run != w.run || m.Attempt != 1 || m.Head != headSHA || m.Inline != 3 || m.Probe {
		t.Errorf("marker %+v, %v", m, ok)
	}
	if len(w.clock.slept) != 0 {
		t.Errorf("it slept %v", w.clock.slept)
	}
}

func TestSameEffectsAgainPostNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{Page: 1})
	w.github.AddReview(number, githubtest.Review{User: "someone", Body: "hi", State: "COMMENTED"})
	first := w.mustPublish(w.plan(input(3)))
	before := len(w.github.Calls())
	w.run++
	got := w.mustPublish(w.plan(input(3)))
	if !got.Already || got.Review != first.Review || got.URL != first.URL {
		t.Errorf("Publish() = %+v, want the review %d as it is", got, first.Review)
	}
	// Two reviews on pages of one.
	if d := cmp.Diff([]string{"viewer", "list reviews", "list reviews"}, w.github.Calls()[before:]); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

func TestNextPushRepeatsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{})
	w.mustPublish(w.plan(input(4)))
	answered := w.github.Comments(number)[3]
	w.github.AddReply(number, answered.ID, "someone", "why?")
	w.github.Push(number, nextSHA, lines(), false)
	next := input(6)
	next.Head = nextSHA
	next.Findings = append(next.Findings[:1], append(next.Findings[2:3], next.Findings[4:]...)...) // 0, 2, 4, 5
	got := w.mustPublish(w.plan(next))
	if got.Counts != (effect.Counts{Inline: 2, Standing: 2}) || got.Hidden != 1 || got.Unhidden != 0 {
		t.Errorf("Publish() = %+v, want 2 new, 2 standing, 1 hidden", got)
	}
	inline, _ := w.account(6)
	if d := cmp.Diff([]int{1, 1, 1, 1, 1, 1}, inline); d != "" {
		t.Errorf("comments per finding (-want +got):\n%s", d)
	}
	comments := w.github.Comments(number)
	if c := comments[1]; !c.Minimized || !strings.Contains(c.Body, "\n\n_Not found again at "+nextSHA+"._\n\n") {
		t.Errorf("the comment whose finding is gone: %+v", c)
	}
	if c := comments[3]; c.Minimized || c.Body != answered.Body {
		t.Errorf("a thread with a reply was touched: %+v", c)
	}
	if body := w.github.Reviews(number)[1].Body; !strings.Contains(body, "2 earlier comments still stand.") || !strings.Contains(body, "2 earlier comments are about things") {
		t.Errorf("body %q does not tell what stands and what is gone", body)
	}
}

// A finding that comes back after its comment was called gone is told anew; one whose comment
// somebody has deleted or rewritten is not put there again.
func TestWhatPeopleDeleteStaysDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{})
	w.mustPublish(w.plan(input(3)))
	w.github.DeleteComment(number, w.github.Comments(number)[1].ID)
	next := input(2)
	next.Lead = "## Without 2"
	if got := w.mustPublish(w.plan(next)); got.Counts != (effect.Counts{Standing: 1, Body: 1}) || got.Hidden != 1 {
		t.Errorf("Publish() = %+v, want the deleted comment's finding in the body, and 1 hidden", got)
	}
	next = input(3)
	next.Lead = "## With 2"
	if got := w.mustPublish(w.plan(next)); got.Counts != (effect.Counts{Inline: 1, Standing: 1, Body: 1}) {
		t.Errorf("Publish() = %+v, want the finding that came back inline", got)
	}
	inline, body := w.account(3)
	if d := cmp.Diff([][]int{{1, 0, 2}, {0, 2, 0}}, [][]int{inline, body}); d != "" {
		t.Errorf("inline and in bodies (-want +got):\n%s", d)
	}
}

func TestHiddenByAnEditWhereMinimisingIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{})
	w.github.AddToken(token, githubtest.Token{Login: githubtest.Bot})
	w.mustPublish(w.plan(input(1)))
	next := input(0)
	next.Head = nextSHA
	w.github.Push(number, nextSHA, lines(), false)
	got := w.mustPublish(w.plan(next))
	if c := w.github.Comments(number)[0]; got.Hidden != 1 || c.Minimized || !strings.Contains(c.Body, "Not found again") {
		t.Errorf("Publish() = %+v, comment %+v; want it edited", got, c)
	}
}

func TestReviewNamesDoNotTouchEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{})
	w.mustPublish(w.plan(input(2)))
	other := input(1)
	other.Name = "security"
	if got := w.mustPublish(w.plan(other)); got.Already || got.Counts.Inline != 1 || got.Hidden+got.Unhidden != 0 {
		t.Errorf("Publish() = %+v, want a review of its own", got)
	}
	if n := len(w.github.Reviews(number)); n != 2 {
		t.Errorf("%d reviews, want 2", n)
	}
}

// A marker is believed only in what our own account wrote.
func TestForgedMarkerCountsForNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{})
	p := w.plan(input(1))
	body, _ := p.Body(effect.Outcome{Inline: []int{0}, Marker: effect.Marker{Run: 1, Attempt: 1}})
	w.github.AddReview(number, githubtest.Review{User: "someone", Body: body, State: "COMMENTED"}, githubtest.Comment{Body: p.Comments()[0].Body, Path: "store.go"})
	got := w.mustPublish(p)
	if got.Already || got.Counts.Inline != 1 {
		t.Errorf("Publish() = %+v: it believed a forged marker", got)
	}
	next := w.plan(input(2))
	w.github.AddReview(number, githubtest.Review{User: "someone", State: "COMMENTED"}, githubtest.Comment{Body: next.Comments()[1].Body, Path: "store.go"})
	if got := w.mustPublish(next); got.Counts != (effect.Counts{Inline: 1, Standing: 1}) {
		t.Errorf("Publish() = %+v: it believed a forged comment", got)
	}
}

func TestSummaryKeepsOneReview(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{})
	in := input(2)
	in.Summary = true
	first := w.mustPublish(w.plan(in))
	if len(w.github.Comments(number)) != 0 || first.Counts != (effect.Counts{Body: 2}) {
		t.Errorf("Publish() = %+v with %d comments", first, len(w.github.Comments(number)))
	}
	in.Lead = "## Changed"
	w.github.Break(githubtest.Fault{Call: "update review", Kind: githubtest.DropAfter})
	got := w.mustPublish(w.plan(in))
	if r := w.github.Reviews(number); got.Review != first.Review || len(r) != 1 || !strings.HasPrefix(r[0].Body, "## Changed") {
		t.Errorf("Publish() = %+v, reviews %+v; want the first one with a new body", got, r)
	}
}

func TestTokenThatMayNotWrite(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		token githubtest.Token
		lock  bool
		want  error
	}{
		"fork":   {githubtest.Token{Login: githubtest.Bot, ReadOnly: true}, false, ErrReadOnly},
		"locked": {githubtest.Token{Login: githubtest.Bot}, true, ErrLocked},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, githubtest.Options{})
			w.github.AddToken(token, tt.token)
			w.github.AddPull(githubtest.Pull{Number: number, Head: headSHA, Locked: tt.lock, Lines: lines()})
			_, err := w.publish(w.plan(input(1)))
			if !errors.Is(err, tt.want) || fault.KindOf(err) != fault.Request || fault.HintOf(err) == "" {
				t.Errorf("Publish() = %v, want %v with a hint", err, tt.want)
			}
		})
	}
}

func TestRateLimitsAreWaitedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{})
	w.github.Break(githubtest.Fault{Call: "create review", Kind: githubtest.Limit, RetryAfter: "37"},
		githubtest.Fault{Call: "submit review", Kind: githubtest.Limit})
	w.mustPublish(w.plan(input(2)))
	w.once(2)
	if got, want := w.clock.total(), 97*time.Second; got != want {
		t.Errorf("it waited %s, want %s: what GitHub asked for, else a minute", got, want)
	}
	w = newWorld(t, githubtest.Options{})
	w.github.Break(githubtest.Fault{Call: "create review", Kind: githubtest.Limit, RetryAfter: "3600"})
	if _, err := w.publish(w.plan(input(2))); fault.KindOf(err) != fault.Remote || w.clock.total() != 0 {
		t.Errorf("Publish() = %v after %s, want a remote error at once", err, w.clock.total())
	}
}

func TestClaimThatSomebodyDeletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, githubtest.Options{})
	w.github.AddToken("ghs_other", githubtest.Token{Login: githubtest.Bot})
	other, deleted := w.as("ghs_other"), false
	w.github.OnRequest(func(r githubtest.Request) bool {
		if r.Call == "create review" && r.Acted && !deleted {
			deleted = true
			if _, _, err := other.api.PullRequests.DeletePendingReview(t.Context(), githubtest.Owner, githubtest.Name, number, w.github.Reviews(number)[0].ID); err != nil {
				t.Error(err)
			}
		}
		return false
	})
	if got := w.mustPublish(w.plan(input(2))); !deleted || got.Counts != (effect.Counts{Inline: 2}) {
		t.Errorf("Publish() = %+v, deleted %v", got, deleted)
	}
	w.once(2)
}

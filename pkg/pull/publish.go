package pull

import (
	"context"
	"errors"
	"time"

	"github.com/recibo-ci/recibo/pkg/effect"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// Errors of a pull request that cannot be written to. The review is then to be shown elsewhere.
var (
	// ErrReadOnly means that the token may not write, as on the events of forks.
	ErrReadOnly = errors.New("the token may only read")
	// ErrLocked means that the conversation is locked.
	ErrLocked = errors.New("the conversation is locked")
)

// Options say for whom Publish works. Sleep and Now are required.
type Options struct {
	// Run and Attempt are those of the workflow run.
	Run     int64
	Attempt int
	// Wait bounds the wait for another pending review of the same account; 0 is two minutes.
	Wait  time.Duration
	Sleep func(ctx context.Context, d time.Duration) error
	Now   func() time.Time
	// noReadBack leaves out what makes it exactly once. Tests show with it that they would notice.
	noReadBack bool
}

// Result says what stands on the pull request now.
type Result struct {
	// Review and URL are the submitted review's.
	Review int64
	URL    string
	// Already means that an earlier publication had posted the same effects.
	Already bool
	// Finished means that the pending review of a run that died was submitted.
	Finished bool
	// Updated means that the one review of a summary was given a new body.
	Updated bool
	// Counts are those of a review that this call composed, else zero.
	Counts effect.Counts
	// Refused are the findings that GitHub took no comment for; they stand in the body.
	Refused []int
	// Loose means that GitHub does not know the reviewed commit any more.
	Loose bool
	// Hidden and Unhidden count comments of earlier reviews whose finding is gone.
	Hidden, Unhidden int
}

// publisher is one call of Publish.
type publisher struct {
	c      *Client
	plan   *effect.Plan
	o      Options
	viewer string

	// waited, limits and doubts are spent of their bounds.
	waited, limits time.Duration
	doubts         int
	// partial counts pending reviews that lacked comments.
	partial int
	// refused are findings that GitHub takes no comment for; loose means no commit either.
	refused map[int]bool
	loose   bool
	// mine is the pending review that this call created, or 0; made is what it holds.
	mine int64
	made made
	// seek is true after a creation without a clear answer, sent after such a submission.
	seek, sent bool
}

// made is a review that was composed.
type made struct {
	comments []effect.Comment
	counts   effect.Counts
	gone     []effect.Standing
}

const (
	defaultWait = 2 * time.Minute
	poll        = 5 * time.Second
	// maxRounds bounds everything; each bound of its own is reached long before.
	maxRounds = 200
	maxDoubts = 6
)

// Publish posts the effects of plan as one review with the event COMMENT, exactly once: whoever
// else publishes the same at the same time, and wherever an earlier publication broke off.
//
// It claims, looks and confirms. The claim is a pending review, which nobody else sees and of
// which GitHub allows an account only one per pull request. After it, the reviews are listed once
// more: what others have submitted until then is in that list, and nobody can submit anything new
// while the claim stands. Only then it is submitted. Whatever has no clear answer is looked for
// before anything else is done. In the clean path these are six calls and further pages: viewer,
// reviews, creation, its comments, reviews, submission; and, where an earlier review of the same
// name may have left comments, a list of these.
//
// Errors are fault.Request for a token or a conversation that cannot be written to (ErrReadOnly,
// ErrLocked), and fault.Remote for what a rerun may mend; those of ctx are returned as they are.
func (c *Client) Publish(ctx context.Context, plan *effect.Plan, o Options) (Result, error) {
	if o.Wait == 0 {
		o.Wait = defaultWait
	}
	if c.graphql == "" {
		return Result{}, fault.New(fault.Request, "leave GITHUB_GRAPHQL_URL as the runner sets it", "post the review of pull request %d: GITHUB_GRAPHQL_URL is not set", plan.Pull())
	}
	p := &publisher{c: c, plan: plan, o: o, refused: map[int]bool{}}
	if err := p.askViewer(ctx); err != nil {
		return Result{}, err
	}
	for range maxRounds {
		s, err := p.look(ctx)
		if err != nil {
			return Result{}, err
		}
		if s.twin != nil {
			return p.found(ctx, s)
		}
		r, err := p.step(ctx, s)
		if err != nil || r.Review != 0 {
			return r, err
		}
	}
	return Result{}, p.unknown("post the review")
}

// step does the next thing that brings the pull request closer to the plan. A result without a
// review means: look again.
func (p *publisher) step(ctx context.Context, s sight) (Result, error) {
	switch {
	case s.pending != nil:
		return p.settle(ctx, s)
	case p.plan.Summary() && s.prior != nil:
		return p.update(ctx, s.prior)
	}
	if err := p.claim(ctx, s); err != nil || !p.o.noReadBack || p.mine == 0 {
		return Result{}, err
	}
	return p.submit(ctx, p.mine, false)
}

// found ends a publication whose review is there already.
func (p *publisher) found(ctx context.Context, s sight) (Result, error) {
	if s.pending != nil {
		// A claim that came too late, or lies there since an answer was lost. Whoever made it comes
		// to the same end.
		if m, ok := effect.ParseMarker(s.pending.GetBody()); ok && (s.pending.GetID() == p.mine || p.same(m)) {
			if err := p.drop(ctx, s.pending.GetID()); err != nil {
				return Result{}, err
			}
		}
	}
	out := Result{Review: s.twin.GetID(), URL: s.twin.GetHTMLURL(), Already: true, Loose: p.loose}
	if s.twin.GetID() == p.mine {
		out.Already = false
		p.finish(ctx, &out)
	}
	return out, nil
}

// doubt counts an answer that tells nothing, and waits before the next look.
func (p *publisher) doubt(ctx context.Context, what string, a reply) error {
	if p.doubts++; p.doubts >= maxDoubts {
		return p.failed(what, a)
	}
	return p.o.Sleep(ctx, pause(p.doubts-1))
}

func (p *publisher) unknown(what string) error {
	return fault.New(fault.Remote, "look at the pull request, then run it again",
		"%s of pull request %d: GitHub's answer was lost, and the review is not to be seen: whether it was posted is unknown", what, p.plan.Pull())
}

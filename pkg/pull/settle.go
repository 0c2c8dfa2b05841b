package pull

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/effect"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// settle deals with the account's pending review: submits what is whole, deletes what is dead,
// waits for what lives or is not recibo's.
//
// A whole review with our own effects may be submitted by anyone: whoever comes second finds it
// submitted. So two of one run do not have to know which of them created it.
func (p *publisher) settle(ctx context.Context, s sight) (Result, error) {
	id := s.pending.GetID()
	m, ok := effect.ParseMarker(s.pending.GetBody())
	if !ok {
		return Result{}, p.wait(ctx, "a pending review that recibo did not write, of the same account")
	}
	own := id == p.mine || p.ours(m) && m.Name == p.plan.Name() && m.Head == p.plan.Head() && m.Digest == p.plan.Digest()
	if !own {
		dead, err := p.dead(ctx, m)
		if err != nil {
			return Result{}, err
		}
		if !dead {
			return Result{}, p.wait(ctx, fmt.Sprintf("the pending review %q of run %d, attempt %d", m.Name, m.Run, m.Attempt))
		}
	}
	if m.Base != s.prior.GetID() || !p.same(m) {
		// Another review of the name may have told in between what this one tells.
		p.mine = 0
		return Result{}, p.drop(ctx, id)
	}
	whole, err := p.whole(ctx, id, m.Inline)
	if err != nil {
		return Result{}, err
	}
	if !whole {
		if p.partial++; p.partial >= tries {
			return Result{}, fault.New(fault.Remote, "run it again", "read back the review of pull request %d: GitHub keeps losing its comments", p.plan.Pull())
		}
		p.mine = 0
		return Result{}, p.drop(ctx, id)
	}
	return p.submit(ctx, id, !own)
}

// dead reports whether the run that wrote m is over. What cannot be found out counts as alive.
func (p *publisher) dead(ctx context.Context, m effect.Marker) (bool, error) {
	if m.Run == p.o.Run {
		return m.Attempt < p.o.Attempt, nil
	}
	var run *github.WorkflowRun
	a := p.read(ctx, func() (err error) {
		run, _, err = p.c.api.Actions.GetWorkflowRunByID(ctx, p.c.owner, p.c.name, m.Run)
		return err
	})
	if a.verdict == forbidden && a.status == 0 {
		return false, a.err
	}
	return a.verdict == done && (run.GetStatus() == "completed" || run.GetRunAttempt() > m.Attempt), nil
}

// wait waits for somebody else, within the bound.
func (p *publisher) wait(ctx context.Context, who string) error {
	if p.waited >= p.o.Wait {
		return fault.New(fault.Remote, "run it again when that review is submitted or deleted",
			"post the review of pull request %d: %s stands in the way since %s; GitHub allows an account only one", p.plan.Pull(), who, p.waited.Round(time.Second))
	}
	p.waited += poll
	return p.o.Sleep(ctx, poll)
}

// whole reads a pending review's comments back. The findings whose comment stays away although
// GitHub has taken it go to the body of the next review.
func (p *publisher) whole(ctx context.Context, id int64, inline int) (bool, error) {
	if inline == 0 {
		return true, nil
	}
	var there map[digest.SHA256]bool
	for n := range tries {
		comments, a := all(ctx, p, func(o *github.ListOptions) ([]*github.PullRequestComment, *github.Response, error) {
			return p.c.api.PullRequests.ListReviewComments(ctx, p.c.owner, p.c.name, p.plan.Pull(), id, o)
		})
		if a.verdict != done && a.verdict != missing {
			return false, p.failed("read the review back", a)
		}
		there = map[digest.SHA256]bool{}
		for _, c := range comments {
			if m, ok := effect.ParseFindingMarker(c.GetBody()); ok {
				there[m.Fingerprint] = true
			}
		}
		if a.verdict == missing || len(there) >= inline {
			return a.verdict == done, nil
		}
		if err := p.o.Sleep(ctx, pause(n)); err != nil {
			return false, err
		}
	}
	if id == p.mine {
		for _, c := range p.made.comments {
			if m, ok := effect.ParseFindingMarker(c.Body); ok && !there[m.Fingerprint] {
				p.refused[c.Finding] = true
			}
		}
	}
	return false, nil
}

// submit makes a pending review public.
func (p *publisher) submit(ctx context.Context, id int64, finished bool) (Result, error) {
	var r *github.PullRequestReview
	a := p.once(ctx, func() (err error) {
		r, _, err = p.c.api.PullRequests.SubmitReview(ctx, p.c.owner, p.c.name, p.plan.Pull(), id, &github.PullRequestReviewRequest{Event: github.String("COMMENT")})
		return err
	})
	switch {
	case a.verdict == done && r.GetID() == id && r.GetState() == "COMMENTED":
		out := Result{Review: id, URL: r.GetHTMLURL(), Finished: finished, Loose: p.loose}
		if id == p.mine {
			p.finish(ctx, &out)
		}
		return out, nil
	case a.verdict == done, a.verdict == unsure:
		p.sent = id == p.mine
		return Result{}, p.doubt(ctx, "submit the review", a)
	case a.verdict == missing, a.verdict == refused:
		// Somebody was faster: the next look shows whether it was submitted or deleted.
		return Result{}, p.doubt(ctx, "submit the review", a)
	}
	return Result{}, p.failed("submit the review", a)
}

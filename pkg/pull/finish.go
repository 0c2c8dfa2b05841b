package pull

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-github/v66/github"

	"github.com/recibo-ci/recibo/pkg/effect"
)

// finish tells what the review that this call composed holds, and hides the comments of earlier
// ones whose finding is gone. The review is posted by then: what fails here is counted.
func (p *publisher) finish(ctx context.Context, out *Result) {
	out.Counts = p.made.counts
	for i := range p.refused {
		out.Refused = append(out.Refused, i)
	}
	slices.Sort(out.Refused)
	for _, s := range p.made.gone {
		switch {
		case s.Replied:
			// The thread is also theirs who answered.
		case p.hide(ctx, s):
			out.Hidden++
		default:
			out.Unhidden++
		}
	}
}

const minimize = "mutation($id: ID!) { minimizeComment(input: {subjectId: $id, classifier: OUTDATED}) { minimizedComment { isMinimized } } }"

// hide minimises a comment where the token may, and says in it that the finding is gone, also in
// its marker, so that a finding that comes back is told anew.
func (p *publisher) hide(ctx context.Context, s effect.Standing) bool {
	p.once(ctx, func() error {
		_, err := p.query(ctx, minimize, map[string]string{"id": s.Node}, &struct{}{})
		return err
	})
	text := strings.TrimRight(s.Body, " \t\r\n")
	text = strings.TrimRight(text[:strings.LastIndexAny(text, "\r\n")+1], " \t\r\n")
	gone := effect.FindingMarker{Name: p.plan.Name(), Fingerprint: s.Fingerprint, Gone: true}
	text += fmt.Sprintf("\n\n_Not found again at %s._\n\n%s", p.plan.Head(), gone)
	a := p.once(ctx, func() error {
		_, _, err := p.c.api.PullRequests.EditComment(ctx, p.c.owner, p.c.name, s.ID, &github.PullRequestComment{Body: &text})
		return err
	})
	return a.verdict == done
}

// update gives the one review of a summary a new body. Doing it twice does nothing more.
func (p *publisher) update(ctx context.Context, prior *github.PullRequestReview) (Result, error) {
	body, counts := p.plan.Body(p.outcome(sight{}, nil, effect.Delta{}, false))
	a := p.once(ctx, func() error {
		_, _, err := p.c.api.PullRequests.UpdateReview(ctx, p.c.owner, p.c.name, p.plan.Pull(), prior.GetID(), body)
		return err
	})
	switch a.verdict {
	case done:
		return Result{Review: prior.GetID(), URL: prior.GetHTMLURL(), Updated: true, Counts: counts}, nil
	case unsure:
		return Result{}, p.doubt(ctx, "update the review", a)
	}
	return Result{}, p.failed("update the review", a)
}

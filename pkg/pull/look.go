package pull

import (
	"context"
	"slices"
	"strings"

	"github.com/google/go-github/v66/github"

	"github.com/recibo-ci/recibo/pkg/effect"
)

// sight is what the list of reviews shows.
type sight struct {
	// twin is a submitted review with the same effects, prior the last other one of the same name,
	// pending the pending one of the account.
	twin, prior, pending *github.PullRequestReview
	// told are the findings, by effect.Short, for which any of those reviews had a comment.
	told map[string]bool
}

// look lists the reviews. A list that lacks our own claim is older than the claim, and says
// nothing about what others have submitted before it: it is read again.
func (p *publisher) look(ctx context.Context) (sight, error) {
	for n := 0; ; n++ {
		s, err := p.list(ctx)
		lacks := s.twin == nil && (p.seek && s.pending == nil || p.mine != 0 && s.pending.GetID() != p.mine)
		if err != nil || !lacks {
			p.adopt(s)
			return s, err
		}
		if n == tries-1 {
			return s, p.lost()
		}
		if err := p.o.Sleep(ctx, pause(n)); err != nil {
			return s, err
		}
	}
}

// adopt takes a pending review for the one whose creation was not answered.
func (p *publisher) adopt(s sight) {
	if m, ok := effect.ParseMarker(s.pending.GetBody()); p.seek && ok && p.same(m) && p.ours(m) {
		p.mine = s.pending.GetID()
	}
	p.seek = p.seek && s.pending == nil && s.twin == nil
}

// lost is called when what was claimed stays away. A creation without effect can be repeated: were
// it to come late, it would be a pending review that nobody sees, and the next publication's to
// remove. A claim that went away unsubmitted was removed by somebody. A submission is not repeated.
func (p *publisher) lost() error {
	if p.sent {
		return p.unknown("submit the review")
	}
	p.seek, p.mine = false, 0
	return nil
}

func (p *publisher) list(ctx context.Context) (sight, error) {
	reviews, a := all(ctx, p, func(o *github.ListOptions) ([]*github.PullRequestReview, *github.Response, error) {
		return p.c.api.PullRequests.ListReviews(ctx, p.c.owner, p.c.name, p.plan.Pull(), o)
	})
	if a.verdict != done {
		return sight{}, p.failed("list the reviews", a)
	}
	s := sight{told: map[string]bool{}}
	for _, r := range reviews {
		m, ok := effect.ParseMarker(r.GetBody())
		switch {
		case r.GetState() == "PENDING":
			// GitHub shows pending reviews to their author only.
			if s.pending == nil || r.GetID() == p.mine {
				s.pending = r
			}
		case !ok || m.Probe || m.Name != p.plan.Name() || !p.me(r.GetUser()):
		case p.same(m):
			s.twin = r
		default:
			s.prior = r
			for _, f := range effect.ParseTold(r.GetBody()) {
				s.told[f] = true
			}
		}
	}
	return s, nil
}

// me reports whether u is the account of our token. GraphQL may leave out the suffix of a bot.
func (p *publisher) me(u *github.User) bool {
	return u.GetLogin() == p.viewer || u.GetType() == "Bot" && strings.TrimSuffix(u.GetLogin(), "[bot]") == p.viewer
}

// same reports whether m marks the effects of our plan.
func (p *publisher) same(m effect.Marker) bool {
	return m.Name == p.plan.Name() && m.Head == p.plan.Head() && m.Digest == p.plan.Digest() && !m.Probe
}

// ours reports whether m was written in our own attempt of the workflow run.
func (p *publisher) ours(m effect.Marker) bool { return m.Run == p.o.Run && m.Attempt == p.o.Attempt }

// standing lists the comments that earlier reviews of our name left. It takes from told what has a
// comment, whatever that says by now: the rest was deleted by people, or rewritten.
func (p *publisher) standing(ctx context.Context, told map[string]bool) ([]effect.Standing, error) {
	comments, a := all(ctx, p, func(o *github.ListOptions) ([]*github.PullRequestComment, *github.Response, error) {
		return p.c.api.PullRequests.ListComments(ctx, p.c.owner, p.c.name, p.plan.Pull(), &github.PullRequestListCommentsOptions{ListOptions: *o})
	})
	if a.verdict != done {
		return nil, p.failed("list the comments", a)
	}
	var out []effect.Standing
	for _, c := range comments {
		m, ok := effect.ParseFindingMarker(c.GetBody())
		if !ok || m.Name != p.plan.Name() || !p.me(c.GetUser()) {
			continue
		}
		delete(told, effect.Short(m.Fingerprint))
		if m.Gone {
			continue
		}
		replied := slices.ContainsFunc(comments, func(o *github.PullRequestComment) bool { return o.GetInReplyTo() == c.GetID() })
		out = append(out, effect.Standing{ID: c.GetID(), Node: c.GetNodeID(), Fingerprint: m.Fingerprint, Replied: replied, Body: c.GetBody()})
	}
	return out, nil
}

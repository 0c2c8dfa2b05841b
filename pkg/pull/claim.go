package pull

import (
	"context"
	"fmt"
	"slices"

	"github.com/recibo-ci/recibo/pkg/effect"
)

// maxRefused is how many comments are looked for one by one before all of them go to the body.
const maxRefused = 10

// claim creates the pending review with all comments that GitHub takes.
func (p *publisher) claim(ctx context.Context, s sight) error {
	var standing []effect.Standing
	if s.prior != nil {
		var err error
		if standing, err = p.standing(ctx, s.told); err != nil {
			return err
		}
	}
	delta := p.plan.Reconcile(standing)
	comments := slices.DeleteFunc(p.plan.Comments(), func(c effect.Comment) bool {
		m, _ := effect.ParseFindingMarker(c.Body)
		// A comment that people have deleted is not put there again; its finding stands in the body.
		return p.loose || p.refused[c.Finding] || s.told[effect.Short(m.Fingerprint)] || !slices.Contains(delta.New, c.Finding)
	})
	for good := 0; ; {
		body, counts := p.plan.Body(p.outcome(s, comments, delta, false))
		id, a := p.create(ctx, body, comments)
		if a.verdict == refused && !(p.loose && len(comments) == 0) {
			rest, known, err := p.sift(ctx, front{s, comments, good, delta})
			if err != nil || rest == nil {
				return err
			}
			comments, good = rest, known
			continue
		}
		p.made = made{comments, counts, delta.Gone}
		return p.created(ctx, id, a)
	}
}

// created notes what became of a creation.
func (p *publisher) created(ctx context.Context, id int64, a reply) error {
	switch a.verdict {
	case done:
		p.mine = id
		return nil
	case claimed:
		return p.wait(ctx, "another review that is pending")
	case unsure:
		p.seek = true
		return p.doubt(ctx, "create the review", a)
	}
	return p.failed("create the review", a)
}

func (p *publisher) outcome(s sight, comments []effect.Comment, d effect.Delta, probe bool) effect.Outcome {
	m := effect.Marker{Run: p.o.Run, Attempt: p.o.Attempt, Base: s.prior.GetID(), Probe: probe}
	o := effect.Outcome{Standing: d.Standing, Gone: len(d.Gone), Marker: m}
	for _, c := range comments {
		o.Inline = append(o.Inline, c.Finding)
	}
	if p.loose {
		o.Note = fmt.Sprintf("The reviewed commit %s is not part of this pull request any more, so that nothing could be put at its lines.", p.plan.Head())
	}
	return o
}

// front is what a search for a refused comment knows.
type front struct {
	sight
	comments []effect.Comment
	// good is how many comments at the front are known to pass together.
	good  int
	delta effect.Delta
}

// sift takes from the comments, which GitHub has refused together, the first that it refuses. It
// returns the others and how many at their front are known to pass, or nil when the pull request
// has to be looked at anew. When there is more than one and the head has moved, or when there are
// too many, the commit is given up, and all comments with it.
func (p *publisher) sift(ctx context.Context, f front) ([]effect.Comment, int, error) {
	loose := len(f.comments) == 0 || len(p.refused) >= maxRefused
	if len(p.refused) == 1 {
		// Without an answer the comments are still sifted.
		now, err := p.c.Get(ctx, p.plan.Pull())
		loose = loose || err == nil && now.Head.SHA != p.plan.Head()
	}
	if loose {
		p.loose = true
		return []effect.Comment{}, 0, nil
	}
	at, ok, err := p.hunt(ctx, f)
	if err != nil || !ok {
		return nil, 0, err
	}
	p.refused[f.comments[at].Finding] = true
	return append(append([]effect.Comment{}, f.comments[:at]...), f.comments[at+1:]...), at, nil
}

// hunt finds the first comment that GitHub refuses. A probe that fails costs one call, one that
// succeeds two, as it has to be deleted; so the parts are made as Fibonacci numbers are, and for n
// comments it takes no more than 2·log₂ n calls. It is not ok when something else than a refusal
// came in between.
func (p *publisher) hunt(ctx context.Context, f front) (at int, ok bool, err error) {
	good, bad := f.good, len(f.comments)
	for bad-good > 1 {
		probe := good + split(bad-good)
		body, _ := p.plan.Body(p.outcome(f.sight, f.comments[:probe], f.delta, true))
		id, a := p.create(ctx, body, f.comments[:probe])
		switch a.verdict {
		case refused:
			bad = probe
		case done:
			good = probe
			if err := p.drop(ctx, id); err != nil {
				return 0, false, err
			}
		case claimed:
			return 0, false, p.wait(ctx, "another review that is pending")
		case unsure:
			return 0, false, p.doubt(ctx, "create the review", a)
		default:
			return 0, false, p.failed("create the review", a)
		}
	}
	return good, true, nil
}

// split says how many of n > 1 candidates to probe: all but as many as two calls less can tell apart.
func split(n int) int {
	twoLess, oneLess, enough := 1, 1, 1
	for enough < n {
		twoLess, oneLess, enough = oneLess, enough, oneLess+enough
	}
	return n - twoLess
}

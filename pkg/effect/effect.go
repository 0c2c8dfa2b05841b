// Package effect says what a review is to do to a pull request: which comments stand at which
// lines, what stands in the body, and the digest that names all of it.
//
// It calls nobody, renders no Markdown and judges no finding: texts come as they are to be posted.
package effect

import (
	"fmt"
	"strings"

	"github.com/recibo-ci/recibo/pkg/diff"
	"github.com/recibo-ci/recibo/pkg/digest"
)

// GitHub's limit of a body counts characters; bytes are never fewer.
const (
	// MaxBody is the most bytes that a body has, marker included.
	MaxBody = 65536
	// DefaultComments and MaxComments are how many inline comments there are if nothing is said,
	// and at most.
	DefaultComments = 40
	MaxComments     = 60
	// maxFrame bounds lead, tail and run notes together, so that there is room for findings.
	maxFrame = MaxBody / 2
)

// Finding is one finding of a review with the texts that tell it.
type Finding struct {
	// Fingerprint is one of those that Fingerprints returned.
	Fingerprint digest.SHA256
	// Range is where it lies, with a path as in the diff; a Range without Path has no place.
	Range diff.Range
	// Inline is the comment at the lines, Item the finding where it stands in the body. Both are
	// Markdown that is safe to post.
	Inline, Item string
}

// Input is what a plan is made of.
type Input struct {
	// Name is the review-name, Repository owner/name, Head the reviewed commit in 40 hex digits.
	Name, Repository, Head string
	Pull                   int
	// Lead stands before the findings in the body, Tail behind. Run stands last and is not part of
	// the digest: it may name what differs from run to run, such as an artifact.
	Lead, Tail, Run string
	// Findings are those to tell, the most important first.
	Findings []Finding
	// Limit is how many inline comments there are at most; 0 is DefaultComments.
	Limit int
	// Summary puts all findings into the body.
	Summary bool
}

// Plan is everything that a review does to a pull request. It is a value that nobody changes.
type Plan struct {
	in     Input
	places []diff.Placement
	inline []bool
	digest digest.SHA256
}

// New makes a plan. A finding becomes an inline comment where the diff has a place for a part of
// it, and else stands in the body. x may be nil for a summary.
func New(in Input, x *diff.Index) (*Plan, error) {
	switch {
	case !ValidName(in.Name):
		return nil, fmt.Errorf("plan the effects: %q cannot name a review", in.Name)
	case !isCommit(in.Head):
		return nil, fmt.Errorf("plan the effects: the head %q is not a commit", in.Head)
	case in.Limit < 0 || in.Limit > MaxComments:
		return nil, fmt.Errorf("plan the effects: %d inline comments are not between 0 and %d", in.Limit, MaxComments)
	case len(in.Lead)+len(in.Tail)+len(in.Run) > maxFrame:
		return nil, fmt.Errorf("plan the effects: the body has %d bytes before any finding, more than %d", len(in.Lead)+len(in.Tail)+len(in.Run), maxFrame)
	}
	if in.Limit == 0 {
		in.Limit = DefaultComments
	}
	p := &Plan{in: in, places: make([]diff.Placement, len(in.Findings)), inline: make([]bool, len(in.Findings))}
	left := in.Limit
	first := map[digest.SHA256]int{}
	for i, f := range in.Findings {
		if n, ok := first[f.Fingerprint]; ok {
			return nil, fmt.Errorf("plan the effects: findings %d and %d have the same fingerprint", n+1, i+1)
		}
		first[f.Fingerprint] = i
		if strings.TrimSpace(f.Item) == "" || strings.TrimSpace(f.Inline) == "" {
			return nil, fmt.Errorf("plan the effects: finding %d has no text", i+1)
		}
		if in.Summary || x == nil || f.Range.Path == "" {
			continue
		}
		p.places[i] = x.Place(f.Range)
		fits := p.places[i].Fit == diff.Inside || p.places[i].Fit == diff.Clipped
		if fits && left > 0 && len(p.comment(i)) <= MaxBody {
			p.inline[i] = true
			left--
		}
	}
	p.digest = digest.Of(p.Canonical())
	return p, nil
}

// Name returns the review-name.
func (p *Plan) Name() string { return p.in.Name }

// Head returns the reviewed commit.
func (p *Plan) Head() string { return p.in.Head }

// Pull returns the number of the pull request.
func (p *Plan) Pull() int { return p.in.Pull }

// Summary reports whether there are to be no inline comments.
func (p *Plan) Summary() bool { return p.in.Summary }

// Len returns how many findings there are; they are known by their index.
func (p *Plan) Len() int { return len(p.in.Findings) }

// Digest names the effects: it is that of Canonical.
func (p *Plan) Digest() digest.SHA256 { return p.digest }

// Comment is an inline comment as it is posted, marker included.
type Comment struct {
	// Finding is the index of the finding that it tells.
	Finding int
	Range   diff.Range
	Body    string
}

// Comments returns the inline comments, in the order of the findings.
func (p *Plan) Comments() []Comment {
	var out []Comment
	for i := range p.in.Findings {
		if p.inline[i] {
			out = append(out, Comment{i, p.places[i].Range, p.comment(i)})
		}
	}
	return out
}

// comment is the inline comment of finding i.
func (p *Plan) comment(i int) string {
	f := p.in.Findings[i]
	return f.Inline + "\n\n" + FindingMarker{Name: p.in.Name, Fingerprint: f.Fingerprint}.String()
}

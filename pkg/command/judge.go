package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/recibo-ci/recibo/pkg/diff"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/receipt"
	"github.com/recibo-ci/recibo/pkg/review"
)

var errInconclusive = errors.New("the review is inconclusive")

// judge reads the last message, checks it and its locations, and says whether it can be trusted.
func (r *reviewing) judge(ctx context.Context) error {
	start := r.world.Now()
	defer func() {
		ms := r.world.Now().Sub(start).Milliseconds()
		r.receipt.TimingMS.Review = &ms
	}()
	parsed, err := review.Parse(r.kept.message, r.guide.schema)
	r.noteValid(err)
	if err != nil {
		return err
	}
	r.review = parsed
	if parsed.Shape == review.ShapeUnknown {
		r.doubts = append(r.doubts, "the review is valid by its schema, but in no shape that recibo reads: its findings stand in the review file alone")
		r.receipt.Review.Problems = append(r.receipt.Review.Problems, r.doubts[len(r.doubts)-1])
	}
	if err := r.locate(ctx); err != nil {
		return fmt.Errorf("check the findings' locations: %w", err)
	}
	r.noteReview()
	if len(r.doubts) > 0 {
		return fault.New(fault.Review, "see events.jsonl and wire.jsonl in the artifacts directory", "%w: %s", errInconclusive, strings.Join(r.doubts, "; "))
	}
	return nil
}

func (r *reviewing) noteValid(err error) {
	valid := err == nil
	r.receipt.Review.Valid = &valid
	r.receipt.Review.Problems = append(r.receipt.Review.Problems, r.doubts...)
	if err != nil {
		r.receipt.Review.Problems = append(r.receipt.Review.Problems, problems(err)...)
	}
}

func problems(err error) []string {
	var invalid *review.InvalidError
	if !errors.As(err, &invalid) {
		return []string{err.Error()}
	}
	var out []string
	for _, p := range invalid.Problems {
		out = append(out, p.String())
	}
	return out
}

// locate forgives paths as models write them, where only one file can be meant, and checks every
// location against the reviewed commits. Git is asked a few times for all findings together.
func (r *reviewing) locate(ctx context.Context) error {
	t := &trees{repo: r.repo, head: r.subject.pull.Head.SHA, base: r.subject.mergeBase}
	if err := t.list(ctx, r.review.Findings); err != nil {
		return err
	}
	for i := range r.review.Findings {
		f := &r.review.Findings[i]
		if f.Path == "" {
			continue
		}
		found := r.index.Resolve(diff.Written{
			Path: f.Path, Side: diff.Side(f.Side), Roots: r.roots,
			Exists: func(path string) bool { return t.has(path, f.Side) },
			Paths:  t.paths(f.Side),
		})
		if found.Path != "" {
			f.Path = found.Path
		}
	}
	if err := t.count(ctx, r.review.Findings); err != nil {
		return err
	}
	r.review.Locate(t)
	return nil
}

func (r *reviewing) noteReview() {
	out := &r.receipt.Review
	out.Shape, out.OK = receipt.Text(r.review.Shape), r.review.OK
	out.Findings = len(r.review.Findings)
	out.Locations = map[string]int{}
	for _, f := range r.review.Findings {
		out.Locations[f.Location.State]++
		count(&out.BySeverity, f.Severity)
	}
	out.Verdict = receipt.VerdictOK
	if out.Findings > 0 || out.OK != nil && !*out.OK {
		out.Verdict = receipt.VerdictFindings
	}
}

func count(by *receipt.BySeverity, severity string) {
	switch severity {
	case "critical":
		by.Critical++
	case "high":
		by.High++
	case "medium":
		by.Medium++
	case "low":
		by.Low++
	case "info":
		by.Info++
	default:
		by.Unrated++
	}
}

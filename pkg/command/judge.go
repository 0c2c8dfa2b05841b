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
	r.resolvePaths(ctx)
	lines := &lines{ctx: ctx, repo: r.repo, head: r.subject.pull.Head.SHA, base: r.subject.mergeBase}
	parsed.Locate(lines)
	if lines.err != nil {
		return asReview(fmt.Errorf("check the findings' locations: %w", lines.err))
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

// resolvePaths forgives paths as models write them, where only one file can be meant.
func (r *reviewing) resolvePaths(ctx context.Context) {
	l := &lines{ctx: ctx, repo: r.repo, head: r.subject.pull.Head.SHA, base: r.subject.mergeBase}
	for i := range r.review.Findings {
		f := &r.review.Findings[i]
		if f.Path == "" {
			continue
		}
		side := f.Side
		found := r.index.Resolve(diff.Written{
			Path: f.Path, Side: diff.Side(side), Roots: r.roots,
			Exists: func(path string) bool { _, ok := l.Lines(path, side); return ok },
			Paths:  l.paths(side),
		})
		if found.Path != "" {
			f.Path = found.Path
		}
	}
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

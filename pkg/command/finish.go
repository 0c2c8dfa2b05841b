package command

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/recibo-ci/recibo/pkg/actions"
	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/disk"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/receipt"
	"github.com/recibo-ci/recibo/pkg/report"
)

// finish writes everything that is kept, the receipt last, and only then lets anything leave and
// tells anybody. It returns the error of the run, or of what could not be kept or told.
func (r *reviewing) finish(ctx context.Context, err error) error {
	err = r.conclude(ctx, err)
	if werr := r.writeFiles(); err == nil {
		err = werr
	}
	err = r.writeReceipt(err)
	if r.receipt.Status != receipt.Refused {
		if uerr := r.upload(ctx); err == nil {
			err = uerr
		}
	}
	if terr := r.publish(); terr != nil && err == nil {
		err = fault.New(fault.Remote, "check GITHUB_OUTPUT and GITHUB_STEP_SUMMARY; review and receipt are in the workspace", "tell the outcome: %w", terr)
		err = r.writeReceipt(err)
	}
	r.tell(err)
	if err == nil {
		return nil
	}
	return &toldError{err}
}

// writeReceipt puts the receipt on disk with err in it. When that fails and nothing else did, the
// error is its own.
func (r *reviewing) writeReceipt(err error) error {
	rec := r.receipt
	rec.Run.Error = receipt.ErrorOf(err)
	if err != nil && fault.KindOf(err) != fault.Remote && rec.Status == receipt.Completed {
		rec.Status = receipt.Failed
	}
	rec.Run.Warnings = r.warnings
	rec.TimingMS.Total = r.world.Now().Sub(r.start).Milliseconds()
	aside, werr := receipt.Write(r.path(r.usageFile()), rec)
	if aside != "" {
		r.warn(fmt.Sprintf("%s held something that is no receipt; it is kept as %s", r.usageFile(), aside))
	}
	if werr != nil && err == nil {
		return fault.New(fault.Review, "give usage-file a path that can be written", "keep the receipt: %w", werr)
	}
	return err
}

// conclude turns how the run ended into status, verdict and the error that the person reads.
func (r *reviewing) conclude(ctx context.Context, err error) error {
	rec := r.receipt
	switch {
	case r.skip != "" && err == nil:
		rec.Status, rec.Review.Verdict, rec.Run.SkipReason = receipt.Skipped, receipt.VerdictSkipped, receipt.Text(r.skip)
		if r.opt.failOnSkip {
			return fault.New(fault.Gate, "on-skip: pass lets such runs through", "nothing was reviewed: %s", r.skip)
		}
		return nil
	case err == nil:
		rec.Status = receipt.Completed
		return nil
	case errors.Is(err, errTimeout):
		rec.Status = receipt.Timeout
	case errors.Is(ctx.Err(), context.Canceled):
		rec.Status = receipt.Cancelled
		err = fault.New(fault.Review, "run it again", "the run was cancelled")
	case fault.KindOf(err) == fault.Request:
		rec.Status = receipt.Refused
	case errors.Is(err, errInconclusive):
		rec.Status = receipt.Inconclusive
	default:
		rec.Status = receipt.Failed
		err = asReview(err)
	}
	rec.Review.Verdict = receipt.VerdictFailed
	if rec.Status == receipt.Inconclusive {
		rec.Review.Verdict = receipt.VerdictInconclusive
	}
	return err
}

// usageFile is known even when the inputs were refused.
func (r *reviewing) usageFile() string {
	if r.usageBad {
		return defaultUsage
	}
	return r.values.word("usage-file")
}

// path resolves a path of the inputs: relative ones start at the repository's root, or where
// recibo was called when no repository was found.
func (r *reviewing) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	base := r.place.root
	if base == "" {
		base = r.world.Dir
	}
	return filepath.Join(base, name)
}

// writeFiles puts the run's files on disk and names them in the receipt.
func (r *reviewing) writeFiles() error {
	dir := r.values.word("artifacts-dir")
	var errs []error
	write := func(name string, data []byte) *receipt.File {
		if data == nil {
			return nil
		}
		if err := disk.Write(r.path(name), data, 0o644); err != nil {
			errs = append(errs, fmt.Errorf("keep %q: %w", name, err))
			return nil
		}
		return &receipt.File{Path: filepath.ToSlash(name), SHA: receipt.Digest(digest.Of(data)), Bytes: int64(len(data))}
	}
	rec := r.receipt
	if f := write(r.values.word("output-file"), r.kept.message); f != nil {
		rec.Review.Path, rec.Review.SHA, rec.Review.Bytes = receipt.Text(f.Path), f.SHA, &f.Bytes
	}
	if f := write(filepath.Join(dir, "wire.jsonl"), r.kept.wire); f != nil {
		rec.Wire.Path, rec.Wire.SHA, rec.Wire.Bytes = receipt.Text(f.Path), f.SHA, &f.Bytes
	}
	if p := r.guide.prompt.Bytes(); p != nil {
		if f := write(filepath.Join(dir, "prompt.resolved.md"), p); f != nil {
			rec.Prompt.SavedPath = receipt.Text(f.Path)
		}
	}
	for _, other := range []struct {
		name string
		data []byte
	}{{"events.jsonl", r.kept.events}, {"session.jsonl", r.kept.session}} {
		if f := write(filepath.Join(dir, other.name), other.data); f != nil {
			rec.Run.Files = append(rec.Run.Files, *f)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fault.New(fault.Review, "free disk space, or give output-file and artifacts-dir other paths", "%w", err)
	}
	return nil
}

// publish hands the outcome to the runner: summary and outputs. What cannot be written is an
// error, and keeps nothing else from being written.
func (r *reviewing) publish() error {
	summary := report.Summary(r.receipt, r.review, report.Options{UsageFile: r.usageFile()})
	cut, serr := actions.AppendSummary(r.facts.StepSummary, string(summary))
	if cut > 0 && serr == nil {
		r.warn(fmt.Sprintf("the last %d bytes of the summary did not fit and were left out", cut))
	}
	return errors.Join(unlessUnset(serr), unlessUnset(actions.WriteOutputs(r.facts.Output, rand.Reader, r.outputs()...)))
}

// tell prints the outcome: the review, then the one error with its hint. A reader that went away
// is no failure of the run: everything is on disk.
func (r *reviewing) tell(err error) {
	r.log.EndGroup()
	if r.facts.Actions && !r.values.quiet {
		for _, text := range r.warnings {
			r.log.Warning(text)
		}
	}
	told := r.tellReview(err)
	switch {
	case err == nil, told:
	case r.values.quiet:
		tell(r.world.Stderr, err)
	default:
		r.log.Error(err.Error())
		if hint := fault.HintOf(err); hint != "" {
			r.log.Print("hint: " + hint)
		}
	}
}

// tellReview prints the review, the receipt as JSON, or nothing, as was asked for. It reports
// whether the error and its hint were printed with it.
func (r *reviewing) tellReview(err error) (told bool) {
	if r.values.json {
		if data, merr := r.receipt.Marshal(); merr == nil {
			r.world.Stdout.Write(data)
		}
		return false
	}
	inconclusive := r.receipt.Status == receipt.Inconclusive
	if err != nil && !inconclusive && fault.KindOf(err) != fault.Remote || r.values.quiet {
		return false
	}
	options := report.Options{UsageFile: r.usageFile(), Next: r.next}
	if r.facts.Actions {
		r.log.Print(string(report.Text(r.receipt, r.review, options)))
		return false
	}
	options.Colour = r.world.Terminal && r.world.getenv("NO_COLOR") == ""
	r.world.Stdout.Write(report.Text(r.receipt, r.review, options))
	return r.receipt.Run.Error != nil
}

func unlessUnset(err error) error {
	if errors.Is(err, actions.ErrUnset) {
		return nil
	}
	return err
}

func (r *reviewing) outputs() []actions.Output {
	rec := r.receipt
	return []actions.Output{
		{Name: "final-message", Value: string(bytes.ToValidUTF8(r.kept.message, []byte("\uFFFD")))},
		{Name: "verdict", Value: string(rec.Review.Verdict)},
		{Name: "findings-count", Value: strconv.Itoa(rec.Review.Findings)},
		{Name: "review-file", Value: string(rec.Review.Path)},
		{Name: "usage-file", Value: r.usageFile()},
		{Name: "prompt-sha", Value: rec.PromptSHA.String()},
		{Name: "tools-sha", Value: rec.ToolsSHA.String()},
		{Name: "git-describe", Value: string(rec.GitDescribe)},
		{Name: "git-sha", Value: string(rec.GitSHA)},
		{Name: "total-tokens", Value: strconv.FormatInt(rec.Tokens.Total, 10)},
		{Name: "artifact-id", Value: r.uploaded.id},
		{Name: "artifact-url", Value: r.uploaded.url},
	}
}

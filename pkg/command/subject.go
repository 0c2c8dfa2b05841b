package command

import (
	"context"
	"errors"
	"fmt"

	"github.com/recibo-ci/recibo/pkg/actions"
	"github.com/recibo-ci/recibo/pkg/diff"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/pull"
	"github.com/recibo-ci/recibo/pkg/receipt"
)

// subject is the pull request under review.
type subject struct {
	pull      actions.PullRequest
	mergeBase string
}

// readSubject finds the pull request and its commits, or why there is nothing to review.
func (r *reviewing) readSubject(ctx context.Context) error {
	event, err := actions.ReadEvent(r.world.getenv)
	if err != nil {
		return asRequest(err)
	}
	r.noteRun(event)
	if r.skip = r.skipBefore(event); r.skip != "" {
		return nil
	}
	if r.subject.pull, err = r.pullRequest(ctx, event); err != nil {
		return err
	}
	r.notePull()
	if r.skip = r.skipPull(event); r.skip != "" {
		return nil
	}
	if r.opt.key == "" && !r.opt.endpoint.IsReplay() {
		return fault.New(fault.Request, "set openai-api-key, or replay a session with responses-api-endpoint: replay:PATH", "read input openai-api-key: it is not set")
	}
	return r.findCommits(ctx)
}

func (r *reviewing) skipBefore(event *actions.Event) string {
	if event.MergeGroup != nil {
		return "a merge group is not reviewed: each pull request in it was reviewed by its own run"
	}
	return ""
}

// pullRequest completes what the event tells with the number from the input and, where the event
// has only a number, with what GitHub's API says.
func (r *reviewing) pullRequest(ctx context.Context, event *actions.Event) (actions.PullRequest, error) {
	p := event.PullRequest
	if p != nil && p.Complete {
		if r.opt.pullRequest != 0 && r.opt.pullRequest != p.Number {
			return *p, fault.New(fault.Request, "leave pull-request empty on this event", "read input pull-request: it says %d, the event is about %d", r.opt.pullRequest, p.Number)
		}
		return *p, nil
	}
	number := r.opt.pullRequest
	if p != nil && number == 0 {
		number = p.Number
	}
	if number == 0 {
		if !event.NeedsNumber {
			return actions.PullRequest{}, asRequest(&actions.NotPullRequestError{Event: event.Name})
		}
		return actions.PullRequest{}, fault.New(fault.Request, "set the input pull-request to a number", "find the pull request: event %q does not say which", event.Name)
	}
	return r.askPull(ctx, number)
}

func (r *reviewing) skipPull(event *actions.Event) string {
	p := r.subject.pull
	switch {
	case p.Draft:
		return "the pull request is a draft"
	case r.opt.key != "" || r.opt.endpoint.IsReplay():
		return ""
	case p.CrossRepository:
		return "there is no model key: the pull request comes from a fork, and GitHub gives its events no secrets"
	case event.Bot():
		return "there is no model key: the event is a bot's, and GitHub may give it no secrets"
	}
	return ""
}

func (r *reviewing) findCommits(ctx context.Context) (err error) {
	p := &r.subject.pull
	for _, ref := range []*actions.Ref{&p.Head, &p.Base} {
		if ref.SHA, err = r.repo.Commit(ctx, ref.SHA); err != nil {
			return asRequest(err)
		}
	}
	if r.subject.mergeBase, err = r.repo.MergeBase(ctx, p.Base.SHA, p.Head.SHA); err != nil {
		return asRequest(err)
	}
	r.receipt.MergeBase = receipt.Text(r.subject.mergeBase)
	return nil
}

// readDiff reads what the pull request changes, as GitHub shows it.
func (r *reviewing) readDiff(ctx context.Context) error {
	stream, err := r.repo.Diff(ctx, r.subject.mergeBase, r.subject.pull.Head.SHA)
	if err != nil {
		return asRequest(err)
	}
	files, err := diff.Parse(stream)
	if err = errors.Join(err, stream.Close()); err != nil {
		return asReview(fmt.Errorf("read the diff: %w", err))
	}
	if len(files) == 0 {
		r.skip = "the pull request changes nothing"
		return nil
	}
	r.files, r.index = files, diff.NewIndex(files)
	return nil
}

func (r *reviewing) noteRun(event *actions.Event) {
	run := &r.receipt.Run
	run.Repository, run.Server = receipt.Text(event.Repository), receipt.Text(r.facts.ServerURL)
	run.Event, run.Actor, run.Job = receipt.Text(event.Name), receipt.Text(r.facts.Actor), receipt.Text(r.facts.Job)
	run.RunID, run.RunAttempt = positive(r.facts.RunID), positive(r.facts.RunAttempt)
}

func (r *reviewing) notePull() {
	p := r.subject.pull
	r.receipt.HeadSHA = receipt.Text(p.Head.SHA)
	r.receipt.Run.PullRequest, r.receipt.Run.BaseSHA = positive(int64(p.Number)), receipt.Text(p.Base.SHA)
}

// positive returns a pointer to n, or nil for "not known".
func positive(n int64) *int64 {
	if n <= 0 {
		return nil
	}
	return &n
}

// askPull asks GitHub where the event has only a number.
func (r *reviewing) askPull(ctx context.Context, number int) (actions.PullRequest, error) {
	c, err := pull.New(pull.Config{APIURL: r.facts.APIURL, Repository: r.facts.Repository, Token: r.opt.token})
	if err != nil {
		return actions.PullRequest{}, err
	}
	return c.Get(ctx, number)
}

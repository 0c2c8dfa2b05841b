package pull

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/go-github/v66/github"

	"github.com/recibo-ci/recibo/pkg/effect"
	"github.com/recibo-ci/recibo/pkg/fault"
)

const (
	perPage = 100
	// maxPages bounds a list: 10,000 entries.
	maxPages = 100
	// tries is how often a read is made, and how often something uncertain is looked for.
	tries = 4
	// maxLimit bounds what rate limits may make one publication wait.
	maxLimit = 5 * time.Minute
)

// pause is the wait before the n-th repetition, from 0.
func pause(n int) time.Duration { return time.Second << min(n, 4) }

// once makes a call that must not be repeated blindly. Only a rate limit is waited for, since
// GitHub has then done nothing.
func (p *publisher) once(ctx context.Context, call func() error) reply {
	for {
		a := judge(call(), p.o.Now())
		if ended(ctx) {
			a.verdict, a.err = forbidden, ctx.Err()
		}
		if a.verdict != limited || p.limits+a.wait > maxLimit {
			return a
		}
		p.limits += max(a.wait, time.Second)
		if err := p.o.Sleep(ctx, a.wait); err != nil {
			return reply{verdict: forbidden, err: err}
		}
	}
}

// read makes a call that changes nothing, again if it must.
func (p *publisher) read(ctx context.Context, call func() error) reply {
	for n := 0; ; n++ {
		a := p.once(ctx, call)
		if a.verdict != unsure || n == tries-1 {
			return a
		}
		if err := p.o.Sleep(ctx, pause(n)); err != nil {
			return reply{verdict: forbidden, err: err}
		}
	}
}

// failed is the error for a call whose answer nothing can be made of.
func (p *publisher) failed(what string, a reply) error {
	where := fmt.Sprintf("%s of pull request %d", what, p.plan.Pull())
	switch {
	case a.verdict == readOnly:
		return fault.New(fault.Request, "give the job `pull-requests: write`; on a fork's event GitHub does not", "%s: %w", where, ErrReadOnly)
	case a.verdict == locked:
		return fault.New(fault.Request, "unlock the conversation", "%s: %w", where, ErrLocked)
	case a.verdict == limited:
		return fault.New(fault.Remote, "run it again later", "%s: GitHub limits the rate and asks to wait %s", where, a.wait)
	case a.verdict == forbidden && a.status == 0:
		return a.err // The end of ctx.
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden, a.status == http.StatusNotFound:
		return fault.New(fault.Request, "give the job `pull-requests: write`, and pass github-token", "%s: GitHub answered %d", where, a.status)
	case a.status == http.StatusOK:
		return fault.New(fault.Remote, "run it again", "%s: %w", where, a.err)
	case a.status != 0:
		return fault.New(fault.Remote, "run it again", "%s: GitHub answered %d", where, a.status)
	}
	return fault.New(fault.Remote, "run it again", "%s: GitHub could not be reached", where)
}

// query asks GraphQL. Errors inside an answer of status 200 come in the first result.
func (p *publisher) query(ctx context.Context, text string, variables map[string]string, data any) (problem string, err error) {
	in := map[string]any{"query": text}
	if variables != nil {
		in["variables"] = variables
	}
	req, err := p.c.api.NewRequest(http.MethodPost, p.c.graphql, in)
	if err != nil {
		return "", err
	}
	out := struct {
		Data   any
		Errors []struct{ Message string }
	}{Data: data}
	if _, err := p.c.api.Do(ctx, req, &out); err != nil {
		return "", err
	}
	if len(out.Errors) > 0 {
		return out.Errors[0].Message, nil
	}
	return "", nil
}

// askViewer finds out which account the token acts as. REST refuses that to a workflow's token.
func (p *publisher) askViewer(ctx context.Context) error {
	var data struct{ Viewer struct{ Login string } }
	a := p.read(ctx, func() error {
		_, err := p.query(ctx, "query { viewer { login } }", nil, &data)
		return err
	})
	if a.verdict != done {
		return p.failed("ask GitHub who reviews", a)
	}
	if p.viewer = data.Viewer.Login; p.viewer == "" {
		return fault.New(fault.Remote, "run it again", "ask GitHub who reviews pull request %d: it did not say", p.plan.Pull())
	}
	return nil
}

// all reads the pages of a list.
func all[E any](ctx context.Context, p *publisher, list func(*github.ListOptions) ([]E, *github.Response, error)) ([]E, reply) {
	var out []E
	o := &github.ListOptions{PerPage: perPage}
	for range maxPages {
		var entries []E
		next := 0
		a := p.read(ctx, func() error {
			got, resp, err := list(o)
			if err != nil {
				return err
			}
			entries, next = got, resp.NextPage
			return nil
		})
		if a.verdict != done {
			return nil, a
		}
		out = append(out, entries...)
		if next == 0 {
			return out, reply{}
		}
		o.Page = next
	}
	return nil, reply{verdict: refused, status: http.StatusOK, err: fmt.Errorf("there are more than %d pages", maxPages)}
}

// create creates a review that is pending, as go-github's empty Event means.
func (p *publisher) create(ctx context.Context, body string, comments []effect.Comment) (int64, reply) {
	in := &github.PullRequestReviewRequest{Body: &body}
	if !p.loose {
		in.CommitID = github.String(p.plan.Head())
	}
	for _, c := range comments {
		d := &github.DraftReviewComment{Path: &c.Range.Path, Side: github.String(string(c.Range.Side)), Line: &c.Range.End, Body: &c.Body}
		if c.Range.Start != c.Range.End {
			d.StartLine, d.StartSide = &c.Range.Start, d.Side
		}
		in.Comments = append(in.Comments, d)
	}
	var id int64
	a := p.once(ctx, func() error {
		r, _, err := p.c.api.PullRequests.CreateReview(ctx, p.c.owner, p.c.name, p.plan.Pull(), in)
		id = r.GetID()
		return err
	})
	if a.verdict == done && id == 0 {
		a.verdict = unsure
	}
	return id, a
}

// drop deletes a pending review. What became of it, the next look shows.
func (p *publisher) drop(ctx context.Context, id int64) error {
	a := p.once(ctx, func() error {
		_, _, err := p.c.api.PullRequests.DeletePendingReview(ctx, p.c.owner, p.c.name, p.plan.Pull(), id)
		return err
	})
	switch a.verdict {
	case done, missing, refused:
		return nil
	case unsure:
		return p.doubt(ctx, "delete the pending review", a)
	}
	return p.failed("delete the pending review", a)
}

package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/recibo-ci/recibo/pkg/actions"
	"github.com/recibo-ci/recibo/pkg/diff"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/gateway"
	"github.com/recibo-ci/recibo/pkg/git"
	"github.com/recibo-ci/recibo/pkg/receipt"
	"github.com/recibo-ci/recibo/pkg/review"
)

// reviewing is one review on its way. Each step fills in what the next ones need; whatever the
// last step was, finish writes the receipt.
type reviewing struct {
	world  World
	values values
	log    *actions.Log
	start  time.Time

	facts actions.Run
	opt   options
	place place
	guide guide
	// gate is the gateway's configuration as far as it is known; its Upstream is the endpoint.
	gate    gateway.Config
	repo    *git.Repository
	jail    *jail
	subject subject
	files   []diff.File
	index   *diff.Index
	receipt *receipt.Receipt
	kept    kept
	review  *review.Review
	doubts  []string
	// roots are the directories that the agent saw the tree at.
	roots    []string
	warnings []string
	skip     string
	// usageBad says that the receipt cannot go where it was asked for.
	usageBad bool
	// uploaded is the artifact once there is one.
	uploaded uploaded
	// next are commands to offer at the end.
	next []string
}

// kept is what is written at the end.
type kept struct {
	message, wire, events, session []byte
}

func runReview(ctx context.Context, w World, args []string) error {
	v, rest, err := readValues(args, w.Environ)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return unexpected(rest[0])
	}
	if verb := v.word("command"); verb != "review" {
		return fault.New(fault.Request, "this version knows: review", "read input command: unknown verb %q", verb)
	}
	return newReviewing(w, v).run(ctx)
}

// run reviews and finishes, whatever happened.
func (r *reviewing) run(ctx context.Context) error {
	err := r.inTime(ctx)
	if r.repo != nil {
		err = errors.Join(err, asReview(r.repo.Close()))
	}
	return r.finish(ctx, err)
}

func newReviewing(w World, v values) *reviewing {
	out := w.Stdout
	switch {
	case v.quiet:
		out = io.Discard
	case v.json:
		out = w.Stderr
	}
	log := actions.NewLog(out, actions.LogOptions{Getenv: w.getenv, Terminal: w.Terminal, Random: rand.Reader})
	r := &reviewing{world: w, values: v, log: log, start: w.Now(), warnings: v.warnings}
	log.Mask(v.word("openai-api-key"))
	log.Mask(v.word("github-token"))
	r.receipt = newReceipt(r.start)
	return r
}

// inTime is do within the time limit, which is the whole review's. A limit that cannot be read is
// refused by do itself.
func (r *reviewing) inTime(ctx context.Context) error {
	limit, err := time.ParseDuration(r.values.word("timeout"))
	if err != nil || limit <= 0 {
		return r.do(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errTimeout)
	defer cancel()
	err = r.do(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errTimeout) {
		return fault.New(fault.Review, "raise timeout, or review a smaller change", "review for %s: %w", limit, errTimeout)
	}
	return err
}

// do is the review: everything that can be refused first, before a process is started or a
// request is made.
func (r *reviewing) do(ctx context.Context) error {
	steps := []func(context.Context) error{
		r.readInputs, r.readGuide, r.readGit, r.readSubject, r.readDiff, r.runCodex, r.judge,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
		if r.skip != "" {
			return nil
		}
	}
	return nil
}

func (r *reviewing) readInputs(context.Context) (err error) {
	if r.opt, err = readOptions(r.values); err != nil {
		return err
	}
	if r.facts, err = actions.ReadRun(r.world.getenv); err != nil {
		return fault.New(fault.Request, fault.HintOf(err), "%w", err)
	}
	if r.place, err = findPlace(r.world); err != nil {
		return err
	}
	if err := r.checkTargets(); err != nil {
		return err
	}
	return r.checkJail()
}

// readGit asks git for what the receipt says about the checkout, before anything is written: our
// own files must not make the tree dirty.
func (r *reviewing) readGit(ctx context.Context) (err error) {
	if r.repo, err = git.Open(ctx, r.place.root, git.Options{}); err != nil {
		return asRequest(err)
	}
	head, err := r.repo.Head(ctx)
	if err != nil {
		return asRequest(err)
	}
	describe, err := r.repo.Describe(ctx)
	if err != nil {
		return asRequest(err)
	}
	r.receipt.GitSHA, r.receipt.GitDescribe = receipt.Text(head), receipt.Text(describe)
	if err := r.notePromptBlob(ctx, head); err != nil {
		return asRequest(err)
	}
	tags, err := r.repo.HasTags(ctx)
	if err != nil {
		return asRequest(err)
	}
	if !tags {
		r.warn("the checkout has no tags, so git_describe is only a commit; fetch-depth: 0 brings them")
	}
	return nil
}

func (r *reviewing) warn(text string) { r.warnings = append(r.warnings, text) }

// asRequest makes an error of the ground floor one that the person can mend, with its own hint.
func asRequest(err error) error {
	if fault.KindOf(err) != 0 || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New(fault.Request, fault.HintOf(err), "%w", err)
}

// asReview makes an error without a kind one of a review that did not come about.
func asReview(err error) error {
	if err == nil || fault.KindOf(err) != 0 {
		return err
	}
	return fault.New(fault.Review, fault.HintOf(err), "%w", err)
}

func newReceipt(start time.Time) *receipt.Receipt {
	b := thisBuild()
	version := b.Version
	if b.Commit != "" && version == develVersion {
		version = fmt.Sprintf("%s-%.12s", version, b.Commit)
	}
	r := &receipt.Receipt{ReciboVersion: version, Status: receipt.Failed}
	r.Run.StartedAt, r.Run.OS, r.Run.Arch = start, runtime.GOOS, runtime.GOARCH
	return r
}

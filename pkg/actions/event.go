package actions

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// EventLimit is how many bytes the payload of an event may have: GitHub sends none larger.
const EventLimit = 25 << 20

// Event is what started the run. It is read once and then only looked at.
type Event struct {
	// Name is the event's, Action the type of activity ("opened"), "" for events that have none.
	Name, Action string
	// Repository is the owner/name that the event happened in.
	Repository string
	// PullRequest is nil where the event names none, MergeGroup and WorkflowRun are nil for other
	// events.
	PullRequest *PullRequest
	MergeGroup  *MergeGroup
	WorkflowRun *WorkflowRun
	// NeedsNumber says that the number of the pull request must come from somebody else, as on
	// workflow_dispatch.
	NeedsNumber bool
	// Inputs are the workflow's own inputs (not the action's), of workflow_dispatch only.
	Inputs map[string]string
	// Sender did what the event tells of. Actor is whom GitHub goes by when it hands out secrets,
	// TriggeringActor who started this attempt; of these two the environment gives no type unless
	// they are the sender.
	Sender, Actor, TriggeringActor Actor
}

// Actor is an account. The zero Actor is one that the event does not name, or that is gone.
type Actor struct {
	Login string
	// Type is GitHub's: "User", "Bot", "Organization", "Mannequin"; "" is not known.
	Type string
	ID   int64
}

// Bot reports whether the account is a GitHub App's.
func (a Actor) Bot() bool {
	return a.Type == "Bot" || strings.HasSuffix(strings.ToLower(a.Login), "[bot]")
}

// Dependabot reports whether the account is GitHub's updater of dependencies.
func (a Actor) Dependabot() bool {
	return strings.EqualFold(a.Login, "dependabot[bot]") || strings.EqualFold(a.Login, "dependabot-preview[bot]")
}

// Bot reports whether a bot sent the event, or started the run or this attempt of it.
func (e *Event) Bot() bool { return e.Sender.Bot() || e.Actor.Bot() || e.TriggeringActor.Bot() }

// Dependabot reports whether the run is Dependabot's, which gets neither secrets nor a token that
// may write, whoever runs it again.
func (e *Event) Dependabot() bool { return e.Sender.Dependabot() || e.Actor.Dependabot() }

// Fork reports whether the pull request comes from another repository, and whether the event tells.
func (e *Event) Fork() (fork, known bool) {
	if e.PullRequest == nil || !e.PullRequest.Complete {
		return false, false
	}
	return e.PullRequest.CrossRepository, true
}

// MergeGroup is the group of a merge queue that is to be checked.
type MergeGroup struct {
	// Base is the branch that is merged into, Head the commit that would become it.
	Base, Head Ref
}

// WorkflowRun is the run of another workflow that the event tells of.
type WorkflowRun struct {
	ID      int64
	Attempt int64
	// Name is the workflow's, Event what started the run, Conclusion "" while it goes on.
	Name, Event, Status, Conclusion string
	// Head is what the run ran on; its Repo is "" if it was deleted.
	Head                   Ref
	Actor, TriggeringActor Actor
	// PullRequests have numbers and refs only, and no Repo in them. GitHub leaves the list empty
	// for a fork's.
	PullRequests []PullRequest
}

// NotPullRequestError says that the event is about no pull request.
type NotPullRequestError struct {
	Event string
	// Issue is the number of the plain issue that was commented on, or 0.
	Issue int
}

func (e *NotPullRequestError) Error() string {
	if e.Issue > 0 {
		return fmt.Sprintf("event %q is about issue %d, which is not a pull request", e.Event, e.Issue)
	}
	return fmt.Sprintf("event %s is not about a pull request", quote(e.Event))
}

// Hint is the next thing to do.
func (e *NotPullRequestError) Hint() string {
	if e.Issue > 0 {
		return "add `if: github.event.issue.pull_request` to the job"
	}
	return "run on pull_request, or on workflow_dispatch with the input pull-request"
}

// ReadEvent reads the event that GITHUB_EVENT_NAME and GITHUB_EVENT_PATH name. Its errors are those
// of ParseEvent.
func ReadEvent(getenv func(string) string) (*Event, error) {
	name, path := getenv("GITHUB_EVENT_NAME"), getenv("GITHUB_EVENT_PATH")
	if path == "" {
		return nil, &EventError{Event: name, Problem: "GITHUB_EVENT_PATH is not set"}
	}
	payload, err := readPayload(path)
	if err != nil {
		return nil, &EventError{Event: name, Problem: err.Error()}
	}
	return ParseEvent(name, payload, getenv)
}

// readPayload reads one byte more than is allowed, so that too much is seen.
func readPayload(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%q is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, EventLimit+1))
}

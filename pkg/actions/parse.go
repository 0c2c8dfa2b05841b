package actions

import "strings"

// ParseEvent reads the payload of the event of that name. The names and fields are those of
// "Events that trigger workflows" and "Webhook events and payloads" in GitHub's documentation.
// Unknown fields are ignored, those that are needed must be of their type; a byte-order mark is
// skipped. getenv gives what a payload does not hold: GITHUB_REPOSITORY, GITHUB_ACTOR,
// GITHUB_ACTOR_ID and GITHUB_TRIGGERING_ACTOR.
//
// The error is a *NotPullRequestError for an event that has nothing to do with pull requests and
// for a comment on a plain issue, a *VariableError for the environment, else an *EventError.
func ParseEvent(name string, payload []byte, getenv func(string) string) (*Event, error) {
	r := &reader{event: name}
	switch {
	case name == "":
		return nil, &EventError{Problem: "GITHUB_EVENT_NAME is not set"}
	case len(payload) > EventLimit:
		return nil, &EventError{Event: name, Problem: "more than 25 MiB"}
	case !isKnown(name):
		return nil, &NotPullRequestError{Event: name}
	}
	root := r.root(payload)
	if r.err != nil {
		return nil, r.err
	}
	e := &Event{
		Name:       name,
		Action:     root.optional("action"),
		Repository: root.repository("repository"),
		Sender:     root.actor("sender"),
	}
	if err := e.complete(getenv); err != nil {
		return nil, err
	}
	err := e.subject(root)
	if r.err != nil {
		return nil, r.err
	}
	if err != nil {
		return nil, err
	}
	return e, nil
}

func isKnown(name string) bool {
	switch name {
	case "issue_comment", "merge_group", "workflow_run", "workflow_dispatch", "schedule":
		return true
	}
	return isPullRequest(name)
}

func isPullRequest(name string) bool {
	switch name {
	case "pull_request", "pull_request_target", "pull_request_review", "pull_request_review_comment",
		"pull_request_review_thread":
		return true
	}
	return false
}

// complete takes from the environment what the payload does not hold.
func (e *Event) complete(getenv func(string) string) error {
	run := facts{getenv: getenv}
	if e.Repository == "" {
		e.Repository = run.repository("GITHUB_REPOSITORY")
	}
	e.Actor.Login = run.login("GITHUB_ACTOR")
	if e.Actor.Login != "" {
		e.Actor.ID = run.number("GITHUB_ACTOR_ID")
	}
	e.TriggeringActor.Login = run.login("GITHUB_TRIGGERING_ACTOR")
	for _, a := range []*Actor{&e.Actor, &e.TriggeringActor} {
		if a.Login != "" && strings.EqualFold(a.Login, e.Sender.Login) {
			*a = e.Sender
		}
	}
	return run.err
}

// subject reads what the event is about.
func (e *Event) subject(root object) error {
	switch {
	case isPullRequest(e.Name):
		e.PullRequest = root.need("pull_request").pullRequest(e.Repository)
		if root.has("number") && root.pullNumber("number") != e.PullRequest.Number {
			root.r.fail("number", "differs from pull_request.number")
		}
	case e.Name == "issue_comment":
		issue := root.need("issue")
		e.PullRequest = issue.commented()
		if !issue.has("pull_request") {
			return &NotPullRequestError{Event: e.Name, Issue: e.PullRequest.Number}
		}
	case e.Name == "merge_group":
		group := root.need("merge_group")
		e.MergeGroup = &MergeGroup{
			Base: Ref{Ref: group.text("base_ref"), SHA: group.sha("base_sha"), Repo: e.Repository},
			Head: Ref{Ref: group.text("head_ref"), SHA: group.sha("head_sha"), Repo: e.Repository},
		}
	case e.Name == "workflow_run":
		e.NeedsNumber = true
		e.WorkflowRun = root.need("workflow_run").workflowRun()
	default:
		e.NeedsNumber = true
		e.Inputs = root.object("inputs").scalars()
	}
	if e.Repository == "" {
		root.r.fail("repository", "missing, and GITHUB_REPOSITORY is not set")
	}
	return nil
}

func (o object) actor(name string) Actor {
	account := o.object(name)
	if !o.has(name) {
		return Actor{}
	}
	a := Actor{Login: account.text("login"), Type: account.optional("type"), ID: account.number("id")}
	if a.Login != "" && !isLogin(a.Login) {
		o.r.fail(account.at("login"), "not a login: %s", quote(a.Login))
	}
	return a
}

func (o object) workflowRun() *WorkflowRun {
	run := &WorkflowRun{
		ID:              o.number("id"),
		Attempt:         o.number("run_attempt"),
		Name:            o.optional("name"),
		Event:           o.text("event"),
		Status:          o.optional("status"),
		Conclusion:      o.optional("conclusion"),
		Head:            Ref{Ref: o.optional("head_branch"), SHA: o.sha("head_sha"), Repo: o.repository("head_repository")},
		Actor:           o.actor("actor"),
		TriggeringActor: o.actor("triggering_actor"),
	}
	if run.ID == 0 {
		o.required("id")
	}
	for _, pull := range o.list("pull_requests") {
		base, head := pull.need("base"), pull.need("head")
		run.PullRequests = append(run.PullRequests, PullRequest{
			Number: pull.pullNumber("number"),
			Base:   Ref{Ref: base.text("ref"), SHA: base.sha("sha")},
			Head:   Ref{Ref: head.text("ref"), SHA: head.sha("sha")},
		})
	}
	return run
}

// scalars returns the values of an object as text: strings as they are, booleans and numbers as
// they are written, null as "".
func (o object) scalars() map[string]string {
	if len(o.fields) == 0 {
		return nil
	}
	values := make(map[string]string, len(o.fields))
	for name, raw := range o.fields {
		switch raw[0] {
		case 'n':
			values[name] = ""
		case '"':
			values[name] = o.optional(name)
		case '{', '[':
			o.r.fail(o.at(name), "want a string, a number or a boolean")
		default:
			values[name] = string(raw)
		}
	}
	return values
}

package actions

import (
	"fmt"
	"strconv"
)

// Run is what the environment tells of the run: the variables of "Variables reference" in GitHub's
// documentation. Tokens are not among them. What is not set is empty.
type Run struct {
	// Actions says that a runner started this process.
	Actions bool
	// Debug says that debug logging was asked for.
	Debug bool
	// ServerURL, APIURL and GraphQLURL are as the runner gives them, which on GitHub Enterprise
	// is not github.com, and are never made from each other. Without a runner they are
	// github.com's unless set.
	ServerURL, APIURL, GraphQLURL string
	// ResultsURL is the artifact service's.
	ResultsURL string
	// Repository is owner/name.
	Repository            string
	RunID, RunAttempt     int64
	Job                   string
	Workflow, WorkflowRef string
	// Actor and TriggeringActor are logins, "" where the runner writes something else.
	Actor, TriggeringActor string
	EventName, EventPath   string
	RefName                string
	// SHA is the commit that the event gave; on pull_request a merge commit that GitHub made.
	SHA string
	// Workspace and Temp are directories; StepSummary and Output the files to append to.
	Workspace, Temp, StepSummary, Output string
}

// ReadRun reads the facts of the run. The error is a *VariableError for the first variable that
// holds something no runner writes.
func ReadRun(getenv func(string) string) (Run, error) {
	f := facts{getenv: getenv}
	run := Run{
		Actions:         onActions(getenv),
		Debug:           getenv("RUNNER_DEBUG") == "1",
		ServerURL:       f.url("GITHUB_SERVER_URL", "https://github.com"),
		APIURL:          f.url("GITHUB_API_URL", "https://api.github.com"),
		GraphQLURL:      f.url("GITHUB_GRAPHQL_URL", "https://api.github.com/graphql"),
		ResultsURL:      f.url("ACTIONS_RESULTS_URL", ""),
		Repository:      f.repository("GITHUB_REPOSITORY"),
		RunID:           f.number("GITHUB_RUN_ID"),
		RunAttempt:      f.number("GITHUB_RUN_ATTEMPT"),
		Job:             getenv("GITHUB_JOB"),
		Workflow:        getenv("GITHUB_WORKFLOW"),
		WorkflowRef:     getenv("GITHUB_WORKFLOW_REF"),
		Actor:           f.login("GITHUB_ACTOR"),
		TriggeringActor: f.login("GITHUB_TRIGGERING_ACTOR"),
		EventName:       getenv("GITHUB_EVENT_NAME"),
		EventPath:       getenv("GITHUB_EVENT_PATH"),
		RefName:         getenv("GITHUB_REF_NAME"),
		SHA:             f.sha("GITHUB_SHA"),
		Workspace:       getenv("GITHUB_WORKSPACE"),
		Temp:            getenv("RUNNER_TEMP"),
		StepSummary:     getenv("GITHUB_STEP_SUMMARY"),
		Output:          getenv("GITHUB_OUTPUT"),
	}
	return run, f.err
}

// facts reads variables and keeps the first problem.
type facts struct {
	getenv func(string) string
	err    error
}

// checked returns the value of a variable, "" if it holds what is not ok.
func (f *facts) checked(name, want string, ok func(string) bool) string {
	v := f.getenv(name)
	if v == "" || ok(v) {
		return v
	}
	f.fail(name, fmt.Sprintf("want %s, got %s", want, quote(v)))
	return ""
}

func (f *facts) fail(name, problem string) {
	if f.err == nil {
		f.err = &VariableError{Name: name, Problem: problem}
	}
}

func (f *facts) url(name, outside string) string {
	v := f.getenv(name)
	switch {
	case v == "" && !onActions(f.getenv):
		return outside
	case v == "" || isURL(v):
		return v
	}
	// A URL that is wrong may be one with a password in it.
	f.fail(name, "want an http or https URL without a user")
	return ""
}

func (f *facts) repository(name string) string { return f.checked(name, "owner/name", isRepository) }

// login returns a login, "" if the variable holds none. That is no error: act, which runs workflows
// locally, writes "nektos/act".
func (f *facts) login(name string) string {
	if v := f.getenv(name); isLogin(v) {
		return v
	}
	return ""
}

func (f *facts) sha(name string) string {
	return f.checked(name, "40 or 64 lower-case hex digits", isSHA)
}

// number returns a positive integer, 0 if it is not set.
func (f *facts) number(name string) int64 {
	isPositive := func(s string) bool {
		n, err := strconv.ParseInt(s, 10, 64)
		return err == nil && n > 0
	}
	n, err := strconv.ParseInt(f.checked(name, "a positive integer", isPositive), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

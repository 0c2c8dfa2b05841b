package actions

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadRun(t *testing.T) {
	t.Parallel()
	server := []string{
		"GITHUB_ACTIONS", "true", "GITHUB_SERVER_URL", "https://ghe.example/", "GITHUB_API_URL", "https://ghe.example/api/v3",
		"GITHUB_GRAPHQL_URL", "http://ghe.example:8080/api/graphql", "ACTIONS_RESULTS_URL", "https://results.example/",
		"GITHUB_REPOSITORY", "o/r", "GITHUB_RUN_ID", "12345678901", "GITHUB_RUN_ATTEMPT", "2", "GITHUB_JOB", "review",
		"GITHUB_WORKFLOW", "Review: all\n", "GITHUB_WORKFLOW_REF", "o/r/.github/workflows/x.yml@refs/heads/main",
		"GITHUB_ACTOR", "mona", "GITHUB_TRIGGERING_ACTOR", "hub_acme", "GITHUB_EVENT_NAME", "pull_request",
		"GITHUB_EVENT_PATH", "/github/workflow/event.json", "GITHUB_REF_NAME", "7/merge", "GITHUB_SHA", headSHA,
		"GITHUB_WORKSPACE", "/github/workspace", "RUNNER_TEMP", "/github/runner_temp", "RUNNER_DEBUG", "1",
		"GITHUB_STEP_SUMMARY", "/s", "GITHUB_OUTPUT", "/o",
		"GITHUB_TOKEN", "not-read", "ACTIONS_RUNTIME_TOKEN", "not-read",
	}
	want := Run{
		Actions: true, Debug: true, ServerURL: "https://ghe.example/", APIURL: "https://ghe.example/api/v3",
		GraphQLURL: "http://ghe.example:8080/api/graphql", ResultsURL: "https://results.example/",
		Repository: "o/r", RunID: 12345678901, RunAttempt: 2, Job: "review", Workflow: "Review: all\n",
		WorkflowRef: "o/r/.github/workflows/x.yml@refs/heads/main", Actor: "mona", TriggeringActor: "hub_acme",
		EventName: "pull_request", EventPath: "/github/workflow/event.json", RefName: "7/merge", SHA: headSHA,
		Workspace: "/github/workspace", Temp: "/github/runner_temp", StepSummary: "/s", Output: "/o",
	}
	for name, tc := range map[string]struct {
		env  []string
		want Run
	}{
		"on_a_server": {server, want},
		"elsewhere": {nil, Run{ServerURL: "https://github.com", APIURL: "https://api.github.com",
			GraphQLURL: "https://api.github.com/graphql"}},
		"never_built": {[]string{"GITHUB_ACTIONS", "true", "GITHUB_SERVER_URL", "https://ghe.example"},
			Run{Actions: true, ServerURL: "https://ghe.example"}},
		"act": {[]string{"GITHUB_ACTIONS", "true", "GITHUB_ACTOR", "nektos/act", "GITHUB_RUN_ID", "1"},
			Run{Actions: true, RunID: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := map[string]bool{}
			getenv := environ(tc.env...)
			got, err := ReadRun(func(key string) string { read[key] = true; return getenv(key) })
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("ReadRun (-want +got):\n%s", diff)
			}
			for key := range read {
				if strings.Contains(key, "TOKEN") {
					t.Errorf("ReadRun asked for %s", key)
				}
			}
		})
	}
}

func TestReadRunErrors(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"GITHUB_SERVER_URL":   "ghe.example",
		"GITHUB_API_URL":      "file:///etc/passwd",
		"GITHUB_GRAPHQL_URL":  "https://user:secret@ghe.example/",
		"ACTIONS_RESULTS_URL": "https://",
		"GITHUB_REPOSITORY":   "o",
		"GITHUB_RUN_ID":       "0",
		"GITHUB_RUN_ATTEMPT":  "two",
		"GITHUB_SHA":          "HEAD",
	} {
		_, err := ReadRun(environ(name, value))
		wrong, ok := errors.AsType[*VariableError](err)
		if !ok || wrong.Name != name || !strings.Contains(wrong.Hint(), name) || !strings.Contains(err.Error(), name) ||
			strings.Contains(err.Error(), "secret") {
			t.Errorf("%s=%s: got %v, want a *VariableError of it with a hint and without a password", name, value, err)
		}
	}
}

package actions

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	baseSHA = "380387fbc80638b734a49e1be1c4dfec1c01b33c"
	headSHA = "2ffea6db159f6b6c47a24e778fb9ef40cf6b1c7d"
	// payload is all that is needed of a pull request, and a ref that would do harm in a shell.
	payload = `{"action": "opened", "number": 7, "repository": {"full_name": "octo-org/a.b"},
		"sender": {"login": "octo-bot[bot]", "type": "Bot", "id": 5},
		"pull_request": {"number": 7,
			"base": {"ref": "main", "sha": "` + baseSHA + `", "repo": {"full_name": "octo-org/a.b"}},
			"head": {"ref": "$(touch x) 日本\n", "sha": "` + headSHA + `", "repo": {"full_name": "Octo-Org/A.B"}}}}`
)

func TestParseEvent(t *testing.T) {
	t.Parallel()
	want := &Event{
		Name: "pull_request", Action: "opened", Repository: "octo-org/a.b",
		Sender:          Actor{"octo-bot[bot]", "Bot", 5},
		Actor:           Actor{"octo-bot[bot]", "Bot", 5},
		TriggeringActor: Actor{Login: "mona"},
		PullRequest: &PullRequest{
			Number: 7, Complete: true,
			Base: Ref{"main", baseSHA, "octo-org/a.b"},
			Head: Ref{"$(touch x) 日本\n", headSHA, "Octo-Org/A.B"},
		},
	}
	getenv := environ("GITHUB_ACTOR", "Octo-Bot[bot]", "GITHUB_ACTOR_ID", "5", "GITHUB_TRIGGERING_ACTOR", "mona",
		"GITHUB_REPOSITORY", "other/repo")
	for name, text := range map[string]string{
		"as_sent":    payload,
		"with_bom":   "\xef\xbb\xbf" + payload,
		"unknown":    strings.Replace(payload, `"action"`, `"x": {"y": [1]}, "Action": 5, "action"`, 1),
		"null_extra": strings.Replace(payload, `"number": 7,`, `"number": 7, "labels": null, "inputs": null,`, 2),
	} {
		got, err := ParseEvent("pull_request", []byte(text), getenv)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if !want.Bot() || want.Dependabot() {
		t.Errorf("Bot, Dependabot: got %t, %t, want true, false", want.Bot(), want.Dependabot())
	}
}

func TestParseEventFromEnvironment(t *testing.T) {
	t.Parallel()
	bare := strings.NewReplacer(`"repository": {"full_name": "octo-org/a.b"},`, "", `, "repo": {"full_name": "octo-org/a.b"}`, "",
		`"sender": {"login": "octo-bot[bot]", "type": "Bot", "id": 5},`, `"sender": null,`).Replace(payload)
	got, err := ParseEvent("pull_request", []byte(bare), environ("GITHUB_REPOSITORY", "octo-org/a.b", "GITHUB_ACTOR", "nektos/act"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Repository != "octo-org/a.b" || got.PullRequest.Base.Repo != "octo-org/a.b" || got.PullRequest.CrossRepository {
		t.Errorf("got %+v, %+v, want the repository of the environment", got, got.PullRequest)
	}
	if got.Sender != (Actor{}) || got.Actor != (Actor{}) || got.Bot() {
		t.Errorf("actors: got %+v, %+v, want none: neither is a login", got.Sender, got.Actor)
	}
	_, err = ParseEvent("pull_request", []byte(bare), environ())
	if want := `read event "pull_request": field "repository": missing, and GITHUB_REPOSITORY is not set`; err == nil || err.Error() != want {
		t.Errorf("no repository: got %v, want %s", err, want)
	}
	_, err = ParseEvent("pull_request", []byte(bare), environ("GITHUB_REPOSITORY", "../x"))
	if e, ok := errors.AsType[*VariableError](err); !ok || e.Name != "GITHUB_REPOSITORY" || e.Hint() == "" {
		t.Errorf("wrong repository: got %v, want a *VariableError with a hint", err)
	}
}

func TestParseEventOthers(t *testing.T) {
	t.Parallel()
	const repository = `"repository": {"full_name": "o/r"}`
	for name, tc := range map[string]struct {
		event, text string
		want        Event
	}{
		"schedule": {"schedule", `{"schedule": "0 0 * * *"}`, Event{Name: "schedule", Repository: "env/repo", NeedsNumber: true}},
		"dispatch": {"workflow_dispatch", `{` + repository + `, "ref": "x", "inputs": {"pull-request": "7", "n": 7, "b": true, "no": null}}`,
			Event{Name: "workflow_dispatch", Repository: "o/r", NeedsNumber: true,
				Inputs: map[string]string{"pull-request": "7", "n": "7", "b": "true", "no": ""}}},
		"dispatch_without_inputs": {"workflow_dispatch", `{` + repository + `, "inputs": null}`,
			Event{Name: "workflow_dispatch", Repository: "o/r", NeedsNumber: true}},
		"issue_comment": {"issue_comment", `{` + repository + `, "issue": {"number": 3, "pull_request": {}, "html_url": "https://h/o/r/pull/3", "user": null}}`,
			Event{Name: "issue_comment", Repository: "o/r", PullRequest: &PullRequest{Number: 3, HTMLURL: "https://h/o/r/pull/3"}}},
		"workflow_run": {"workflow_run", `{` + repository + `, "workflow_run": {"id": 9, "run_attempt": 2, "event": "pull_request",
			"head_branch": null, "head_sha": "` + headSHA + `", "head_repository": null, "conclusion": null,
			"actor": {"login": "mona", "type": "User", "id": 1}, "triggering_actor": {"login": "dependabot[bot]"},
			"pull_requests": [{"number": 4, "base": {"ref": "main", "sha": "` + baseSHA + `"}, "head": {"ref": "x", "sha": "` + headSHA + `"}}]}}`,
			Event{Name: "workflow_run", Repository: "o/r", NeedsNumber: true, WorkflowRun: &WorkflowRun{
				ID: 9, Attempt: 2, Event: "pull_request", Head: Ref{SHA: headSHA},
				Actor: Actor{"mona", "User", 1}, TriggeringActor: Actor{Login: "dependabot[bot]"},
				PullRequests: []PullRequest{{Number: 4, Base: Ref{Ref: "main", SHA: baseSHA}, Head: Ref{Ref: "x", SHA: headSHA}}}}}},
		"merge_group_sha256": {"merge_group", `{` + repository + `, "merge_group": {"base_ref": "b", "head_ref": "h",
			"base_sha": "` + strings.Repeat("a", 64) + `", "head_sha": "` + strings.Repeat("0", 64) + `"}}`,
			Event{Name: "merge_group", Repository: "o/r", MergeGroup: &MergeGroup{
				Ref{"b", strings.Repeat("a", 64), "o/r"}, Ref{"h", strings.Repeat("0", 64), "o/r"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseEvent(tc.event, []byte(tc.text), environ("GITHUB_REPOSITORY", "env/repo"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("ParseEvent (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseEventErrors(t *testing.T) {
	t.Parallel()
	change := func(old, new string) string {
		if !strings.Contains(payload, old) {
			t.Fatalf("the payload does not hold %q", old)
		}
		return strings.Replace(payload, old, new, 1)
	}
	const inField = `read event "pull_request": field `
	for name, tc := range map[string]struct{ text, want string }{
		"empty":           {"", `read event "pull_request": not JSON: `},
		"not_json":        {"{", `read event "pull_request": not JSON: byte 1`},
		"trailing":        {payload + "{}", `read event "pull_request": not JSON: `},
		"array":           {"[]", `read event "pull_request": want an object, got array`},
		"null":            {"null", `read event "pull_request": want an object, got null`},
		"deep":            {strings.Repeat("[", 1<<20), `read event "pull_request": not JSON: `},
		"utf_16":          {"\xff\xfe{\x00}\x00", `read event "pull_request": not JSON: `},
		"no_pull_request": {change(`"pull_request"`, `"Pull_Request"`), inField + `"pull_request": missing`},
		"pull_null":       {`{"repository": {"full_name": "o/r"}, "pull_request": null}`, inField + `"pull_request": missing`},
		"pull_string":     {`{"pull_request": "7"}`, inField + `"pull_request": want an object, got "\"7\""`},
		"number_string":   {change(`{"number": 7,`, `{"number": "7",`), inField + `"pull_request.number": want a positive integer, got "\"7\""`},
		"number_zero":     {change(`{"number": 7,`, `{"number": 0,`), inField + `"pull_request.number": want a positive integer`},
		"number_negative": {change(`{"number": 7,`, `{"number": -7,`), inField + `"pull_request.number": want a positive integer`},
		"number_float":    {change(`{"number": 7,`, `{"number": 7.0,`), inField + `"pull_request.number": want a positive integer`},
		"number_exponent": {change(`{"number": 7,`, `{"number": 7e0,`), inField + `"pull_request.number": want a positive integer`},
		"number_large":    {change(`{"number": 7,`, `{"number": 2147483648,`), inField + `"pull_request.number": want a number under`},
		"number_missing":  {change(`{"number": 7,`, `{`), inField + `"pull_request.number": missing`},
		"numbers_differ":  {change(`"number": 7,`, `"number": 8,`), inField + `"number": differs`},
		"sha_short":       {change(baseSHA, baseSHA[1:]), inField + `"pull_request.base.sha": want 40 or 64`},
		"sha_upper":       {change(headSHA, strings.ToUpper(headSHA)), inField + `"pull_request.head.sha": want 40 or 64`},
		"sha_option":      {change(headSHA, "--upload-pack=x"), inField + `"pull_request.head.sha": want 40 or 64`},
		"sha_number":      {change(`"`+headSHA+`"`, "1"), inField + `"pull_request.head.sha": want a string, got "1"`},
		"sha_missing":     {change(`"sha": "`+headSHA+`", `, ""), inField + `"pull_request.head.sha": missing`},
		"ref_empty":       {change(`"main"`, `""`), inField + `"pull_request.base.ref": empty`},
		"ref_null":        {change(`"main"`, `null`), inField + `"pull_request.base.ref": missing`},
		"head_missing":    {change(`"head"`, `"HEAD"`), inField + `"pull_request.head": missing`},
		"repo_string":     {change(`{"full_name": "Octo-Org/A.B"}`, `"o/r"`), inField + `"pull_request.head.repo": want an object`},
		"repo_no_name":    {change(`{"full_name": "Octo-Org/A.B"}`, `{}`), inField + `"pull_request.head.repo.full_name": missing`},
		"repo_parent":     {change(`Octo-Org/A.B`, `o/..`), inField + `"pull_request.head.repo.full_name": want owner/name`},
		"repo_deep":       {change(`Octo-Org/A.B`, `o/r/x`), inField + `"pull_request.head.repo.full_name": want owner/name`},
		"repo_query":      {change(`Octo-Org/A.B`, `o/r?x`), inField + `"pull_request.head.repo.full_name": want owner/name`},
		"repo_option":     {change(`Octo-Org/A.B`, `-o/r`), inField + `"pull_request.head.repo.full_name": want owner/name`},
		"login_path":      {change(`octo-bot[bot]`, `../x`), inField + `"sender.login": not a login: "../x"`},
		"login_bot_alone": {change(`octo-bot[bot]`, `[bot]`), inField + `"sender.login": not a login`},
		"login_missing":   {change(`"login"`, `"Login"`), inField + `"sender.login": missing`},
		"draft_string":    {change(`"base"`, `"draft": "false", "base"`), inField + `"pull_request.draft": want true or false`},
		"labels_object":   {change(`"base"`, `"labels": {}, "base"`), inField + `"pull_request.labels": want an array`},
		"label_null":      {change(`"base"`, `"labels": [{"name": "a"}, null], "base"`), inField + `"pull_request.labels[1]": want an object, got null`},
		"label_no_name":   {change(`"base"`, `"labels": [{}], "base"`), inField + `"pull_request.labels[0].name": missing`},
		"link_script":     {change(`"base"`, `"html_url": "javascript:x", "base"`), inField + `"pull_request.html_url": want an http or https URL`},
		"link_user":       {change(`"base"`, `"html_url": "https://a:b@c/", "base"`), inField + `"pull_request.html_url": want an http or https URL`},
		"long_value":      {change(headSHA, strings.Repeat("é", 5000)), inField + `"pull_request.head.sha": want 40 or 64`},
		"hostile_value":   {change(headSHA, `\n::error::x\u202e`), inField + `"pull_request.head.sha": want 40 or 64 lower-case hex digits, got "\n::error::x\u202e"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseEvent("pull_request", []byte(tc.text), environ("GITHUB_REPOSITORY", "o/r"))
			if got != nil || err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Fatalf("ParseEvent: got %+v, %v, want no event and %s", got, err, tc.want)
			}
			wrong, ok := errors.AsType[*EventError](err)
			if !ok || wrong.Event != "pull_request" || wrong.Hint() == "" || len(err.Error()) > 500 || danger(err.Error()) != "" {
				t.Errorf("ParseEvent: got %#v, want a short *EventError with a hint", err)
			}
		})
	}
}

func TestParseEventRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		event, text, want string
	}{
		"no_name":     {"", payload, `read event "": GITHUB_EVENT_NAME is not set`},
		"too_large":   {"pull_request", payload + strings.Repeat(" ", EventLimit), `read event "pull_request": more than 25 MiB`},
		"push":        {"push", payload, `event "push" is not about a pull request`},
		"issue":       {"issue_comment", `{"issue": {"number": 3}}`, `event "issue_comment" is about issue 3, which is not a pull request`},
		"inputs":      {"workflow_dispatch", `{"inputs": {"a": []}}`, `read event "workflow_dispatch": field "inputs.a": want a string`},
		"run_no_id":   {"workflow_run", `{"workflow_run": {}}`, `read event "workflow_run": field "workflow_run.event": missing`},
		"group_short": {"merge_group", `{"merge_group": {"base_ref": "a", "base_sha": "1"}}`, `read event "merge_group": field "merge_group.base_sha": want 40`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseEvent(tc.event, []byte(tc.text), environ("GITHUB_REPOSITORY", "o/r"))
			if got != nil || err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Fatalf("ParseEvent: got %+v, %v, want no event and %s", got, err, tc.want)
			}
			if h, ok := err.(interface{ Hint() string }); !ok || h.Hint() == "" {
				t.Errorf("ParseEvent: got %v without a hint", err)
			}
		})
	}
}

func TestReadEvent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	good, large := filepath.Join(dir, "event.json"), filepath.Join(dir, "large.json")
	if err := errors.Join(os.WriteFile(good, []byte(payload), 0o600), os.WriteFile(large, nil, 0o600),
		os.Truncate(large, EventLimit+1)); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ path, want string }{
		"good":      {good, ""},
		"unset":     {"", "GITHUB_EVENT_PATH is not set"},
		"missing":   {filepath.Join(dir, "none"), "no such file"},
		"directory": {dir, "is not a regular file"},
		"too_large": {large, "more than 25 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ReadEvent(environ("GITHUB_EVENT_NAME", "pull_request", "GITHUB_EVENT_PATH", tc.path))
			if tc.want == "" {
				if err != nil || got.PullRequest.Number != 7 {
					t.Errorf("ReadEvent: got %+v, %v, want the event", got, err)
				}
				return
			}
			if _, ok := errors.AsType[*EventError](err); !ok || got != nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("ReadEvent: got %+v, %v, want an *EventError: %s", got, err, tc.want)
			}
		})
	}
}

func TestActor(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		actor           Actor
		bot, dependabot bool
	}{
		"person":     {Actor{"mona", "User", 1}, false, false},
		"type":       {Actor{"Copilot", "Bot", 1}, true, false},
		"suffix":     {Actor{"x[BOT]", "", 0}, true, false},
		"dependabot": {Actor{"Dependabot[bot]", "", 0}, true, true},
		"lookalike":  {Actor{"dependabot", "User", 2}, false, false},
		"nobody":     {Actor{}, false, false},
	} {
		if got := tc.actor.Bot(); got != tc.bot {
			t.Errorf("%s: Bot: got %t, want %t", name, got, tc.bot)
		}
		for _, e := range []Event{{Sender: tc.actor}, {Actor: tc.actor}, {TriggeringActor: tc.actor}} {
			if e.Bot() != tc.bot || e.Dependabot() != (tc.dependabot && e.TriggeringActor == Actor{}) {
				t.Errorf("%s: event %+v: got Bot %t, Dependabot %t", name, e, e.Bot(), e.Dependabot())
			}
		}
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add("pull_request", payload)
	f.Add("pull_request_target", "\xef\xbb\xbf"+payload)
	f.Add("issue_comment", `{"issue": {"number": 3, "pull_request": {"html_url": "https://h/"}, "labels": [{"name": "a"}]}}`)
	f.Add("merge_group", `{"merge_group": {"base_ref": "a", "base_sha": "`+baseSHA+`", "head_ref": "b", "head_sha": "`+headSHA+`"}}`)
	f.Add("workflow_run", `{"workflow_run": {"id": 1, "event": "push", "head_sha": "`+headSHA+`", "pull_requests": [{"number": 1}]}}`)
	f.Add("workflow_dispatch", `{"inputs": {"a": "b", "c": 1e9, "d": null, "e": false}}`)
	f.Add("schedule", `{"schedule": "0 0 * * *"}`)
	f.Add("push", `{}`)
	f.Add("", `null`)
	f.Fuzz(func(t *testing.T, name, text string) {
		e, err := ParseEvent(name, []byte(text), environ("GITHUB_REPOSITORY", "o/r"))
		if err != nil {
			h, ok := err.(interface{ Hint() string })
			if e != nil || !ok || h.Hint() == "" || danger(err.Error()) != "" {
				t.Errorf("ParseEvent(%q, %q): got %+v, %v, want no event and a printable error with a hint", name, text, e, err)
			}
			return
		}
		if (e.PullRequest == nil) == (e.MergeGroup == nil && !e.NeedsNumber) || !isRepository(e.Repository) {
			t.Errorf("ParseEvent(%q, %q): got %+v, want exactly one subject and a repository", name, text, e)
		}
		if p := e.PullRequest; p != nil && (p.Number < 1 || p.Complete != (isSHA(p.Base.SHA) && isSHA(p.Head.SHA)) ||
			p.Head.Repo != "" && !isRepository(p.Head.Repo) || p.Complete && p.Base.Repo == "") {
			t.Errorf("ParseEvent(%q, %q): got %+v, want checked fields", name, text, p)
		}
		for _, a := range []Actor{e.Sender, e.Actor} {
			if a.Login != "" && strings.ContainsAny(a.Login, "/.?#% \n") {
				t.Errorf("ParseEvent(%q, %q): got login %q", name, text, a.Login)
			}
		}
	})
}

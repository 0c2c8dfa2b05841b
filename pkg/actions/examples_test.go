package actions

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/internal/npmtest"
)

// example is one payload as GitHub or GitHub Enterprise Server sends it.
type example struct {
	event string
	raw   []byte
}

// corpus is the payloads of @octokit/webhooks-examples.
type corpus []example

func readCorpus(t *testing.T) corpus {
	t.Helper()
	dir := npmtest.Install(t, filepath.Join("testdata", "npm"))
	files, err := filepath.Glob(filepath.Join(dir, "node_modules", "@octokit", "webhooks-examples", "*", "index.json"))
	if err != nil || len(files) != 6 {
		t.Fatalf("example files: got %q, %v, want those of github.com and of five servers", files, err)
	}
	var all corpus
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var events []struct {
			Name     string            `json:"name"`
			Examples []json.RawMessage `json:"examples"`
		}
		if err := json.Unmarshal(b, &events); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, event := range events {
			for _, raw := range event.Examples {
				all = append(all, example{event.Name, raw})
			}
		}
	}
	return all
}

// of returns the payloads of events whose names start so.
func (c corpus) of(prefixes ...string) []example {
	return slices.DeleteFunc(slices.Clone(c), func(ex example) bool {
		return !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(ex.event, p) })
	})
}

func TestExamples(t *testing.T) {
	t.Parallel()
	all := readCorpus(t)
	for name, test := range map[string]func(*testing.T, corpus){
		"pull_request":  testPullRequestExamples,
		"fork":          testForkExamples,
		"issue_comment": testIssueCommentExamples,
		"merge_group":   testMergeGroupExamples,
		"others":        testOtherExamples,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, all)
		})
	}
}

// tree is a payload as generic JSON, the independent reading.
type tree map[string]any

func treeOf(t *testing.T, raw []byte) tree {
	t.Helper()
	var v tree
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// at returns the value on the way, nil where there is none.
func (v tree) at(way ...string) any {
	var here any = map[string]any(v)
	for _, name := range way {
		fields, _ := here.(map[string]any)
		here = fields[name]
	}
	return here
}

func (v tree) text(way ...string) string { s, _ := v.at(way...).(string); return s }

func (v tree) number(way ...string) int { n, _ := v.at(way...).(float64); return int(n) }

func (v tree) flag(way ...string) bool { b, _ := v.at(way...).(bool); return b }

func (v tree) actor(way ...string) Actor {
	return Actor{Login: v.text(append(way, "login")...), Type: v.text(append(way, "type")...), ID: int64(v.number(append(way, "id")...))}
}

func (v tree) described(way string) PullRequest {
	p := PullRequest{
		Number: v.number(way, "number"), Title: v.text(way, "title"), Body: v.text(way, "body"),
		Draft: v.flag(way, "draft"), State: v.text(way, "state"), Locked: v.flag(way, "locked"), Author: v.actor(way, "user"),
	}
	labels, _ := v.at(way, "labels").([]any)
	for _, l := range labels {
		p.Labels = append(p.Labels, tree(l.(map[string]any)).text("name"))
	}
	return p
}

func (v tree) ref(side string) Ref {
	return Ref{Ref: v.text("pull_request", side, "ref"), SHA: v.text("pull_request", side, "sha"),
		Repo: v.text("pull_request", side, "repo", "full_name")}
}

func (v tree) pullRequest() PullRequest {
	p := v.described("pull_request")
	p.Base, p.Head = v.ref("base"), v.ref("head")
	p.CrossRepository = p.Head.Repo != p.Base.Repo
	p.HTMLURL, p.Complete = v.text("pull_request", "html_url"), true
	return p
}

func testPullRequestExamples(t *testing.T, all corpus) {
	found := all.of("pull_request")
	if len(found) != 77 {
		t.Errorf("examples: got %d, want 77", len(found))
	}
	actions, numbers := map[string]int{}, map[int]int{}
	for i, ex := range found {
		v := treeOf(t, ex.raw)
		want := v.pullRequest()
		names := []string{ex.event}
		if ex.event == "pull_request" {
			names = append(names, "pull_request_target")
		}
		for _, name := range names {
			e, err := ParseEvent(name, ex.raw, environ())
			if err != nil {
				t.Fatalf("%d %s %s: %v", i, name, v.text("action"), err)
			}
			if diff := cmp.Diff(want, *e.PullRequest); diff != "" || want.Number == 0 {
				t.Errorf("%d %s (-raw +got):\n%s", i, name, diff)
			}
			if e.Name != name || e.Action != v.text("action") || e.Action == "" || e.NeedsNumber ||
				e.Repository != v.text("repository", "full_name") || e.Sender != v.actor("sender") {
				t.Errorf("%d %s: got %+v, want action, repository and sender of the payload", i, name, e)
			}
			if fork, known := e.Fork(); !known || fork != (v.text("pull_request", "head", "repo", "full_name") != e.Repository) {
				t.Errorf("%d %s: Fork: got %t, %t", i, name, fork, known)
			}
		}
		actions[ex.event+" "+v.text("action")]++
		numbers[want.Number]++
	}
	if len(actions) != 21 || len(numbers) < 2 {
		t.Errorf("got %d kinds of activity %v, numbers %v, want 21 and more than one", len(actions), actions, numbers)
	}
}

// testForkExamples turns each example into a fork's, and into one whose fork is gone.
func testForkExamples(t *testing.T, all corpus) {
	found := all.of("pull_request")
	if len(found) == 0 {
		t.Fatal("no examples")
	}
	for i, ex := range found {
		for fork, repo := range map[string]any{"octo-fork/Hello-World": map[string]any{"full_name": "octo-fork/Hello-World"}, "": nil} {
			v := treeOf(t, ex.raw)
			v.at("pull_request", "head").(map[string]any)["repo"] = repo
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			e, err := ParseEvent(ex.event, raw, environ())
			if err != nil {
				t.Fatalf("%d: %v", i, err)
			}
			if cross, known := e.Fork(); !cross || !known || e.PullRequest.Head.Repo != fork || e.PullRequest.Base.Repo == "" {
				t.Errorf("%d: got fork %t, %t, head %+v, want true, true, %q", i, cross, known, e.PullRequest.Head, fork)
			}
		}
	}
}

func testIssueCommentExamples(t *testing.T, all corpus) {
	found := all.of("issue_comment")
	if len(found) != 20 {
		t.Errorf("examples: got %d, want 20", len(found))
	}
	const link = "https://github.com/o/r/pull/1"
	for i, ex := range found {
		v := treeOf(t, ex.raw)
		_, err := ParseEvent(ex.event, ex.raw, environ())
		plain, ok := errors.AsType[*NotPullRequestError](err)
		if !ok || plain.Issue != v.number("issue", "number") || plain.Hint() == "" {
			t.Errorf("%d, a plain issue: got %v, want a *NotPullRequestError of issue %d", i, err, v.number("issue", "number"))
		}
		v.at("issue").(map[string]any)["pull_request"] = map[string]any{"html_url": link}
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		e, err := ParseEvent(ex.event, raw, environ())
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		want := v.described("issue")
		want.HTMLURL = link
		if diff := cmp.Diff(want, *e.PullRequest); diff != "" {
			t.Errorf("%d (-raw +got):\n%s", i, diff)
		}
		if _, known := e.Fork(); known {
			t.Errorf("%d: Fork: got known, want not known: the event does not tell", i)
		}
	}
}

func testMergeGroupExamples(t *testing.T, all corpus) {
	found := all.of("merge_group")
	if len(found) != 2 {
		t.Errorf("examples: got %d, want 2", len(found))
	}
	for i, ex := range found {
		v := treeOf(t, ex.raw)
		e, err := ParseEvent(ex.event, ex.raw, environ())
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		repo := v.text("repository", "full_name")
		want := MergeGroup{
			Base: Ref{v.text("merge_group", "base_ref"), v.text("merge_group", "base_sha"), repo},
			Head: Ref{v.text("merge_group", "head_ref"), v.text("merge_group", "head_sha"), repo},
		}
		if e.MergeGroup == nil || *e.MergeGroup != want || e.PullRequest != nil || e.NeedsNumber {
			t.Errorf("%d: got %+v, want %+v alone", i, e, want)
		}
	}
}

func testOtherExamples(t *testing.T, all corpus) {
	found := all.of("workflow_run", "workflow_dispatch")
	if len(found) != 17 {
		t.Errorf("examples: got %d, want 17", len(found))
	}
	for i, ex := range found {
		v := treeOf(t, ex.raw)
		e, err := ParseEvent(ex.event, ex.raw, environ())
		if err != nil {
			t.Fatalf("%d %s: %v", i, ex.event, err)
		}
		if !e.NeedsNumber || e.PullRequest != nil {
			t.Errorf("%d %s: got %+v, want that it needs a number", i, ex.event, e)
		}
		if run := e.WorkflowRun; ex.event == "workflow_run" && (run.Head.SHA != v.text("workflow_run", "head_sha") ||
			run.ID != int64(v.number("workflow_run", "id")) || run.Event != v.text("workflow_run", "event") ||
			run.Actor != v.actor("workflow_run", "actor")) {
			t.Errorf("%d: got %+v, want the run of the payload", i, run)
		}
	}
	others := all.of("push", "check_run", "deployment", "release", "issues", "star")
	if len(others) < 30 {
		t.Errorf("other examples: got %d, want 30 or more", len(others))
	}
	for _, ex := range others {
		_, err := ParseEvent(ex.event, ex.raw, environ())
		if no, ok := errors.AsType[*NotPullRequestError](err); !ok || no.Event != ex.event || no.Issue != 0 || no.Hint() == "" {
			t.Errorf("%s: got %v, want a *NotPullRequestError with a hint", ex.event, err)
		}
	}
}

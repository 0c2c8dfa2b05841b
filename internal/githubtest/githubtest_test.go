package githubtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// recorder is a T that keeps complaints.
type recorder struct {
	testing.TB
	mu         sync.Mutex
	complaints []string
	cleanups   []func()
}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complaints = append(r.complaints, fmt.Sprintf(format, args...))
}

func (r *recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

func (r *recorder) end() []string {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
	return r.complaints
}

const (
	bot   = "ghs_bot"
	human = "ghp_human"
	fork  = "ghs_fork"
	path7 = "/repos/octo/service/pulls/7"
)

func start(t T, o Options) *Server {
	s := Start(t, o)
	s.AddToken(bot, Token{Login: Bot})
	s.AddToken(human, Token{Login: "someone", Minimize: true})
	s.AddToken(fork, Token{Login: Bot, ReadOnly: true})
	s.AddPull(Pull{Number: 7, Head: "aaaa", Lines: Lines{"a.go": {"RIGHT": {{1, 5}, {10, 12}}, "LEFT": {{1, 3}}}}})
	s.AddPull(Pull{Number: 8, Head: "aaaa", Locked: true})
	s.SetRun(Run{ID: 42, Attempt: 2, Status: "in_progress"})
	return s
}

type got struct {
	status int
	body   string
	header http.Header
}

func (g got) id(t *testing.T) string {
	t.Helper()
	var v struct{ ID json.Number }
	if err := json.Unmarshal([]byte(g.body), &v); err != nil || v.ID == "" {
		t.Fatalf("no id in %q: %v", g.body, err)
	}
	return v.ID.String()
}

func ask(t *testing.T, s *Server, token, method, path, body string) got {
	t.Helper()
	address := s.APIURL() + path
	if path == "graphql" {
		address = s.GraphQLURL()
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return got{body: err.Error()}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got{resp.StatusCode, string(b), resp.Header}
}

func TestWhatFailsTheTest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ token, method, path, body, want string }{
		"route":        {bot, "GET", "/repos/octo/service/issues", "", "no such route"},
		"method":       {bot, "PATCH", path7, "", "no such route"},
		"no_token":     {"", "GET", path7, "", "without a token"},
		"property":     {bot, "POST", path7 + "/reviews", `{"body":"x","node_id":"y"}`, "unknown field"},
		"comment":      {bot, "POST", path7 + "/reviews", `{"body":"x","comments":[{"path":"a.go","position":1,"body":"x"}]}`, "unknown field"},
		"trailing":     {bot, "POST", path7 + "/reviews", `{"body":"x"} {}`, "more than one"},
		"approve":      {bot, "POST", path7 + "/reviews", `{"body":"x","event":"APPROVE"}`, "APPROVE"},
		"parameter":    {bot, "GET", path7 + "/reviews?sort=x", "", "unknown parameter"},
		"query":        {bot, "POST", "graphql", `{"query":"{ rateLimit { cost } }"}`, "unknown GraphQL"},
		"not_a_number": {bot, "GET", "/repos/octo/service/pulls/x", "", "not a number"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t}
			ask(t, start(r, Options{}), tt.token, tt.method, tt.path, tt.body)
			if c := r.end(); len(c) == 0 || !strings.Contains(c[0], tt.want) {
				t.Errorf("complaints %q, want one about %q", c, tt.want)
			}
		})
	}
	r := &recorder{TB: t}
	s := start(r, Options{})
	s.Break(Fault{Call: "get pull", Kind: DropBefore})
	if c := r.end(); len(c) != 1 || !strings.Contains(c[0], "get pull dropped before acting") {
		t.Errorf("complaints %q, want one about the unused fault", c)
	}
}

func TestWhatGitHubRefuses(t *testing.T) {
	t.Parallel()
	comment := func(c string) string { return `{"body":"x","comments":[{"body":"b",` + c + `}]}` }
	for name, tt := range map[string]struct {
		token, method, path, body string
		status                    int
		want                      string
	}{
		"bad_token":   {"x", "GET", path7, "", 401, "Bad credentials"},
		"user_of_bot": {bot, "GET", "/user", "", 403, "not accessible"},
		"user":        {human, "GET", "/user", "", 200, "someone"},
		"viewer":      {bot, "POST", "graphql", `{"query":"{ viewer { login } }"}`, 200, Bot},
		"run":         {bot, "GET", "/repos/octo/service/actions/runs/42", "", 200, "in_progress"},
		"no_run":      {bot, "GET", "/repos/octo/service/actions/runs/43", "", 404, "Not Found"},
		"fork":        {fork, "POST", path7 + "/reviews", `{"body":"x"}`, 403, "Resource not accessible by integration"},
		"locked":      {bot, "POST", "/repos/octo/service/pulls/8/reviews", `{"body":"x"}`, 403, "locked"},
		"no_pull":     {bot, "GET", "/repos/octo/service/pulls/9/reviews", "", 404, "Not Found"},
		"inside":      {bot, "POST", path7 + "/reviews", comment(`"path":"a.go","side":"RIGHT","line":5`), 200, "PENDING"},
		"range":       {bot, "POST", path7 + "/reviews", comment(`"path":"a.go","side":"RIGHT","start_line":1,"start_side":"RIGHT","line":5`), 200, "PENDING"},
		"outside":     {bot, "POST", path7 + "/reviews", comment(`"path":"a.go","side":"RIGHT","line":6`), 422, "must be part of the diff"},
		"two_hunks":   {bot, "POST", path7 + "/reviews", comment(`"path":"a.go","side":"RIGHT","start_line":5,"start_side":"RIGHT","line":10`), 422, "must be part of the diff"},
		"one_line":    {bot, "POST", path7 + "/reviews", comment(`"path":"a.go","side":"RIGHT","start_line":5,"start_side":"RIGHT","line":5`), 422, "must be part of the diff"},
		"other_side":  {bot, "POST", path7 + "/reviews", comment(`"path":"a.go","side":"LEFT","line":5`), 422, "must be part of the diff"},
		"path":        {bot, "POST", path7 + "/reviews", comment(`"path":"b.go","side":"RIGHT","line":1`), 422, "must be part of the diff"},
		"commit":      {bot, "POST", path7 + "/reviews", `{"body":"x","commit_id":"bbbb"}`, 422, "Unprocessable"},
		"body":        {bot, "POST", path7 + "/reviews", `{"body":"` + strings.Repeat("é", MaxBody+1) + `"}`, 422, "Unprocessable"},
		"full_body":   {bot, "POST", path7 + "/reviews", `{"body":"` + strings.Repeat("é", MaxBody) + `"}`, 200, "PENDING"},
		"empty":       {bot, "POST", path7 + "/reviews", `{"event":"COMMENT"}`, 422, "Unprocessable"},
		"no_minimize": {bot, "POST", "graphql", `{"query":"minimizeComment","variables":{"id":"x"}}`, 200, "FORBIDDEN"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := ask(t, start(t, Options{}), tt.token, tt.method, tt.path, tt.body)
			if g.status != tt.status || !strings.Contains(g.body, tt.want) {
				t.Errorf("%s %s: %d %s, want %d with %q", tt.method, tt.path, g.status, g.body, tt.status, tt.want)
			}
			if tt.status == 422 && strings.Contains(g.body, ".go") {
				t.Errorf("the refusal names the culprit: %s", g.body)
			}
		})
	}
}

func TestOnePendingReview(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	create := func(token, body string) got { return ask(t, s, token, "POST", path7+"/reviews", body) }
	first := create(bot, `{"body":"first","comments":[{"path":"a.go","side":"RIGHT","line":5,"body":"b"}]}`)
	for _, body := range []string{`{"body":"second"}`, `{"body":"second","event":"COMMENT"}`} {
		if g := create(bot, body); g.status != 422 || !strings.Contains(g.body, "only have one pending review") {
			t.Errorf("%s beside a pending one: %d %s", body, g.status, g.body)
		}
	}
	if g := create(human, `{"body":"theirs"}`); g.status != 200 {
		t.Errorf("another account's pending review: %d %s", g.status, g.body)
	}
	one := path7 + "/reviews/" + first.id(t)
	if g := ask(t, s, human, "GET", path7+"/reviews", ""); strings.Contains(g.body, "first") || !strings.Contains(g.body, "theirs") {
		t.Errorf("somebody else sees %s", g.body)
	}
	if g := ask(t, s, human, "GET", one+"/comments", ""); g.status != 404 {
		t.Errorf("somebody else reads a pending review's comments: %d %s", g.status, g.body)
	}
	if g := ask(t, s, bot, "GET", path7+"/comments", ""); g.body != "[]" {
		t.Errorf("comments of a pending review are listed: %s", g.body)
	}
	if g := ask(t, s, bot, "GET", one+"/comments", ""); !strings.Contains(g.body, `"position"`) || strings.Contains(g.body, `"line"`) {
		t.Errorf("comments of a review: %s; want a position and no line", g.body)
	}
	if g := ask(t, s, bot, "POST", one+"/events", `{"event":"COMMENT"}`); g.status != 200 || !strings.Contains(g.body, "COMMENTED") {
		t.Errorf("submission: %d %s", g.status, g.body)
	}
	if g := ask(t, s, bot, "POST", one+"/events", `{"event":"COMMENT"}`); g.status != 422 {
		t.Errorf("second submission: %d %s", g.status, g.body)
	}
	if g := ask(t, s, bot, "DELETE", one, ""); g.status != 422 {
		t.Errorf("deletion of a submitted review: %d %s", g.status, g.body)
	}
	if g := ask(t, s, human, "GET", path7+"/comments", ""); !strings.Contains(g.body, `"line":5`) || !strings.Contains(g.body, `"side":"RIGHT"`) {
		t.Errorf("comments: %s; want line and side", g.body)
	}
	second := create(bot, `{"body":"second"}`)
	if g := ask(t, s, bot, "DELETE", path7+"/reviews/"+second.id(t), ""); g.status != 200 || g.id(t) != second.id(t) {
		t.Errorf("deletion of a pending review: %d %s, want 200 with it", g.status, g.body)
	}
	if n := len(s.Reviews(7)); n != 2 {
		t.Errorf("%d reviews, want 2", n)
	}
	s = start(t, Options{AllowTwoPending: true})
	create(bot, `{"body":"first"}`)
	if g := create(bot, `{"body":"second"}`); g.status != 200 {
		t.Errorf("a second pending review where they are allowed: %d %s", g.status, g.body)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := start(t, Options{Page: 2})
	for i := range 5 {
		s.AddReview(7, Review{User: "someone", State: "COMMENTED", Body: fmt.Sprint("body", i)})
	}
	var bodies, links []string
	for path := path7 + "/reviews?per_page=100"; path != ""; {
		g := ask(t, s, bot, "GET", path, "")
		var reviews []struct{ Body string }
		if err := json.Unmarshal([]byte(g.body), &reviews); err != nil {
			t.Fatal(err)
		}
		for _, r := range reviews {
			bodies = append(bodies, r.Body)
		}
		path = ""
		if link := g.header.Get("Link"); link != "" {
			links = append(links, link)
			_, path, _ = strings.Cut(link, "/api/v3")
			path, _, _ = strings.Cut(path, ">")
		}
	}
	if d := cmp.Diff([]string{"body0", "body1", "body2", "body3", "body4"}, bodies); d != "" || len(links) != 2 {
		t.Errorf("links %q, bodies (-want +got):\n%s", links, d)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault   Fault
		status  int
		reviews int
	}{
		"before":        {Fault{Kind: DropBefore}, 0, 0},
		"after":         {Fault{Kind: DropAfter}, 0, 1},
		"refused":       {Fault{Kind: Refuse, Status: 502}, 502, 0},
		"refused_after": {Fault{Kind: RefuseAfter, Status: 500}, 500, 1},
		"limited":       {Fault{Kind: Limit, RetryAfter: "7"}, 403, 0},
		"skipped":       {Fault{Kind: DropBefore, Skip: 1}, 200, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, Options{})
			tt.fault.Call = "create review"
			s.Break(tt.fault)
			g := ask(t, s, bot, "POST", path7+"/reviews", `{"body":"x"}`)
			if g.status != tt.status || len(s.Reviews(7)) != tt.reviews {
				t.Errorf("%d with %d reviews, want %d with %d", g.status, len(s.Reviews(7)), tt.status, tt.reviews)
			}
			if tt.fault.RetryAfter != "" && (g.header.Get("Retry-After") != "7" || !strings.Contains(g.body, "secondary-rate-limits")) {
				t.Errorf("limit %v %s", g.header, g.body)
			}
			if tt.fault.Skip > 0 {
				ask(t, s, bot, "POST", path7+"/reviews", `{"body":"x"}`)
			}
		})
	}
	s := start(t, Options{})
	s.AddReview(7, Review{User: "someone", State: "COMMENTED", Body: "new"})
	s.Break(Fault{Call: "list reviews", Kind: Stale}, Fault{Call: "create review", Kind: Lose})
	if g := ask(t, s, bot, "GET", path7+"/reviews", ""); g.body != "[]" {
		t.Errorf("stale list %s", g.body)
	}
	if g := ask(t, s, bot, "POST", path7+"/reviews", `{"body":"x","comments":[{"path":"a.go","side":"RIGHT","line":5,"body":"b"}]}`); g.status != 200 || len(s.Comments(7)) != 0 {
		t.Errorf("%d with %d comments, want 200 and the comment lost", g.status, len(s.Comments(7)))
	}
}

func TestHookSeesAndDrops(t *testing.T) {
	t.Parallel()
	for _, acted := range []bool{false, true} {
		s := start(t, Options{})
		s.OnRequest(func(r Request) bool { return r.Acted == acted && r.Call == "create review" && r.Token == bot })
		if g := ask(t, s, bot, "POST", path7+"/reviews", `{"body":"x"}`); g.status != 0 || len(s.Reviews(7)) == 1 != acted {
			t.Errorf("acted %v: %d with %d reviews", acted, g.status, len(s.Reviews(7)))
		}
	}
}

func TestEditsAndMinimises(t *testing.T) {
	t.Parallel()
	s := start(t, Options{})
	s.AddReview(7, Review{User: "someone", State: "COMMENTED", Body: "x"}, Comment{Path: "a.go", Line: 1, Side: "RIGHT", Body: "b"})
	id := s.Comments(7)[0].ID
	s.AddReply(7, id, "other", "reply")
	ask(t, s, human, "POST", "graphql", `{"query":"mutation minimizeComment","variables":{"id":"`+nodeID(id)+`"}}`)
	ask(t, s, human, "PATCH", fmt.Sprintf("/repos/octo/service/pulls/comments/%d", id), `{"body":"edited"}`)
	c := s.Comments(7)
	if !c[0].Minimized || c[0].Body != "edited" || c[1].InReplyTo != id {
		t.Errorf("comments %+v", c)
	}
	if g := ask(t, s, bot, "GET", path7+"/comments", ""); !strings.Contains(g.body, `"in_reply_to_id"`) {
		t.Errorf("comments %s: no reply", g.body)
	}
	s.DeleteComment(7, id)
	s.Push(7, "bbbb", Lines{}, true)
	if c := s.Comments(7); len(c) != 1 || c[0].Body != "reply" {
		t.Errorf("comments %+v, want the reply alone", c)
	}
	if g := ask(t, s, human, "POST", path7+"/reviews", `{"body":"x","commit_id":"aaaa"}`); g.status != 422 {
		t.Errorf("a review of a commit that was pushed away: %d %s", g.status, g.body)
	}
	if d := cmp.Diff([]string{"minimize", "edit comment", "list comments", "create review"}, s.Calls()); d != "" {
		t.Errorf("calls (-want +got):\n%s", d)
	}
}

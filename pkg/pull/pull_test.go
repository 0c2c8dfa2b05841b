package pull

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/pkg/actions"
	"github.com/recibo-ci/recibo/pkg/fault"
)

const (
	token   = "ghs_0123456789abcdefghijklmnopqrstuvwxyz"
	headSHA = "0e5d9c0fe81c9c8b8003a92fbbf03bfe2e409539"
	baseSHA = "3a83176cfde3054c8812dcd0b39ac01225b93b83"
)

const answer = `{"number":7,"title":"T","body":"B","draft":true,"state":"open","locked":true,"html_url":"https://ghes.example/o/r/pull/7",
"user":{"login":"someone","type":"User","id":5},"labels":[{"name":"a"},{"name":"b"}],
"base":{"ref":"main","sha":"` + baseSHA + `","repo":{"full_name":"o/r"}},"head":{"ref":"x","sha":"` + headSHA + `","repo":{"full_name":"fork/r"}}}`

// get asks a server that answers status and body, below a path as GitHub Enterprise has.
func get(t *testing.T, status int, body string) (actions.PullRequest, error) {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/api/v3/repos/o/r/pulls/7" || r.Header.Get("Authorization") != "Bearer "+token {
			t.Errorf("unexpected %s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if _, err := w.Write([]byte(body)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(s.Close)
	c, err := New(Config{APIURL: s.URL + "/api/v3", Repository: "o/r", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return c.Get(t.Context(), 7)
}

func TestGet(t *testing.T) {
	t.Parallel()
	got, err := get(t, http.StatusOK, answer)
	if err != nil {
		t.Fatal(err)
	}
	want := actions.PullRequest{
		Number: 7, Title: "T", Body: "B", Draft: true, State: "open", Locked: true, HTMLURL: "https://ghes.example/o/r/pull/7",
		Author: actions.Actor{Login: "someone", Type: "User", ID: 5}, Labels: []string{"a", "b"},
		Base: actions.Ref{Ref: "main", SHA: baseSHA, Repo: "o/r"}, Head: actions.Ref{Ref: "x", SHA: headSHA, Repo: "fork/r"},
		CrossRepository: true, Complete: true,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("Get() (-want +got):\n%s", d)
	}
	gone := strings.Replace(answer, `{"full_name":"fork/r"}`, "null", 1)
	if got, err := get(t, http.StatusOK, gone); err != nil || !got.CrossRepository {
		t.Errorf("a deleted fork: cross repository %v, %v", got.CrossRepository, err)
	}
}

func TestGetFails(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		body   string
		kind   fault.Kind
	}{
		"unauthorized": {http.StatusUnauthorized, `{"message":"Bad credentials"}`, fault.Request},
		"forbidden":    {http.StatusForbidden, `{"message":"Resource not accessible by integration"}`, fault.Request},
		"missing":      {http.StatusNotFound, `{"message":"Not Found"}`, fault.Request},
		"server":       {http.StatusBadGateway, `<html>`, fault.Remote},
		"not_json":     {http.StatusOK, `<html>`, fault.Remote},
		"other_pull":   {http.StatusOK, strings.Replace(answer, `"number":7`, `"number":8`, 1), fault.Remote},
		"no_head":      {http.StatusOK, `{"number":7}`, fault.Remote},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := get(t, tt.status, tt.body)
			if fault.KindOf(err) != tt.kind || fault.HintOf(err) == "" {
				t.Errorf("Get() = %v: kind %d, hint %q; want kind %d with a hint", err, fault.KindOf(err), fault.HintOf(err), tt.kind)
			}
			if err != nil && (strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "http")) {
				t.Errorf("the error shows too much: %v", err)
			}
		})
	}
}

func TestTokenStaysWithItsHost(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was asked, with %q", r.Header.Get("Authorization"))
	}))
	defer other.Close()
	s := httptest.NewServer(http.RedirectHandler(other.URL+"/repos/o/r/pulls/7", http.StatusMovedPermanently))
	defer s.Close()
	c, err := New(Config{APIURL: s.URL, Repository: "o/r", Token: token})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), 7); err == nil {
		t.Error("a redirect to another host was followed")
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]Config{
		"no_token":   {APIURL: "https://api.github.com", Repository: "o/r"},
		"no_url":     {Repository: "o/r", Token: token},
		"repository": {APIURL: "https://api.github.com", Repository: "or", Token: token},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := New(c); fault.KindOf(err) != fault.Request || fault.HintOf(err) == "" {
				t.Errorf("New() = %v, want a request error with a hint", err)
			}
		})
	}
}

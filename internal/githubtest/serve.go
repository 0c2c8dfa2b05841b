package githubtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// call is one request while it is served.
type call struct {
	s     *Server
	name  string
	token Token
	r     *http.Request
	body  []byte
	fault Kind

	status int
	header http.Header
	answer any
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.t.Errorf("github: no such route: %s %s", r.Method, r.URL.Path)
		w.WriteHeader(http.StatusNotFound)
	})
	route := func(pattern, name string, act func(*call)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, name, act) })
	}
	repo := "/api/v3/repos/" + Repository
	pull := repo + "/pulls/{number}"
	route("GET /api/v3/user", "get user", (*call).user)
	route("POST /api/graphql", "graphql", (*call).graphql)
	route("GET "+repo+"/actions/runs/{run}", "get run", (*call).run)
	route("GET "+pull, "get pull", (*call).pull)
	route("GET "+pull+"/reviews", "list reviews", (*call).listReviews)
	route("POST "+pull+"/reviews", "create review", (*call).createReview)
	route("GET "+pull+"/reviews/{review}", "get review", (*call).getReview)
	route("PUT "+pull+"/reviews/{review}", "update review", (*call).updateReview)
	route("DELETE "+pull+"/reviews/{review}", "delete review", (*call).deleteReview)
	route("POST "+pull+"/reviews/{review}/events", "submit review", (*call).submitReview)
	route("GET "+pull+"/reviews/{review}/comments", "list review comments", (*call).listReviewComments)
	route("GET "+pull+"/comments", "list comments", (*call).listComments)
	route("PATCH "+repo+"/pulls/comments/{comment}", "edit comment", (*call).editComment)
	return mux
}

// serve lets act answer, unless the hook or a fault comes in between. All acts follow one another.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, name string, act func(*call)) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // The client is gone.
	}
	c := &call{s: s, name: name, r: r, body: body, status: http.StatusOK, header: http.Header{}}
	if name == "graphql" {
		c.nameQuery()
	}
	value, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		s.t.Errorf("github: %s came without a token", c.name)
	}
	at := Request{Call: c.name, Token: value}
	s.tell(at)
	if !s.act(c, value, act) {
		panic(http.ErrAbortHandler)
	}
	at.Acted = true
	s.tell(at)
	c.write(w)
}

func (s *Server) tell(at Request) {
	s.mu.Lock()
	hook := s.hook
	s.mu.Unlock()
	if hook != nil && hook(at) {
		panic(http.ErrAbortHandler)
	}
}

// act answers c, and reports whether the answer is to be sent.
func (s *Server) act(c *call, token string, act func(*call)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := false
	if c.token, known = s.tokens[token]; !known {
		c.fail(http.StatusUnauthorized, "Bad credentials")
		return true
	}
	f := s.meet(c.name)
	if f == nil {
		act(c)
		return true
	}
	c.fault = f.Kind
	switch f.Kind {
	case DropBefore:
	case Stale, Lose, DropAfter, RefuseAfter:
		act(c)
	case Refuse:
	case Limit:
		c.header.Set("X-RateLimit-Remaining", "4999")
		c.fail(http.StatusForbidden, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
	default:
		s.t.Errorf("github: fault of unknown kind %q", f.Kind)
	}
	if f.Kind == Refuse || f.Kind == RefuseAfter {
		c.fail(f.Status, "Injected")
	}
	if f.RetryAfter != "" {
		c.header.Set("Retry-After", f.RetryAfter)
	}
	return f.Kind != DropBefore && f.Kind != DropAfter
}

func (c *call) write(w http.ResponseWriter) {
	out, err := json.Marshal(c.answer)
	if err != nil {
		panic(err)
	}
	for k, v := range c.header {
		w.Header()[k] = v
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(c.status)
	_, _ = w.Write(out) // The client may be gone.
}

type object = map[string]any

// fail answers with GitHub's form of an error. Rate limits have an address of their own, by which
// clients know them.
func (c *call) fail(status int, message string, errors ...any) {
	address := "https://docs.github.com/rest"
	if strings.Contains(message, "secondary rate limit") {
		address += "/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits"
	}
	c.status, c.answer = status, object{"message": message, "documentation_url": address, "status": strconv.Itoa(status)}
	if len(errors) > 0 {
		c.answer = object{"message": message, "errors": errors, "documentation_url": address, "status": strconv.Itoa(status)}
	}
}

// read reads the body into v. What v has no place for fails the test.
func (c *call) read(v any) bool {
	d := json.NewDecoder(bytes.NewReader(c.body))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil && d.More() {
		err = fmt.Errorf("more than one value")
	}
	if err != nil {
		c.s.t.Errorf("github: body of %s: %v", c.name, err)
		c.fail(http.StatusBadRequest, "Problems parsing JSON")
	}
	return err == nil
}

// number reads a part of the path.
func (c *call) number(part string) int64 {
	n, err := strconv.ParseInt(c.r.PathValue(part), 10, 64)
	if err != nil {
		c.s.t.Errorf("github: %s of %s is not a number: %q", part, c.name, c.r.PathValue(part))
	}
	return n
}

// writes reports whether the token may write, and answers when it may not.
func (c *call) writes(p *pull) bool {
	switch {
	case c.token.ReadOnly:
		c.fail(http.StatusForbidden, "Resource not accessible by integration")
	case p.Locked:
		c.fail(http.StatusForbidden, "Unable to create comment because issue is locked.")
	default:
		return true
	}
	return false
}

// page answers with the page of all that was asked for, and with links to the others.
func page[E any](c *call, all []E) {
	q := c.r.URL.Query()
	for k := range q {
		if k != "page" && k != "per_page" {
			c.s.t.Errorf("github: %s has the unknown parameter %q", c.name, k)
		}
	}
	size, limit := 30, 100
	if c.s.options.Page > 0 {
		limit = c.s.options.Page
	}
	if n, err := strconv.Atoi(q.Get("per_page")); err == nil {
		size = n
	}
	size = min(size, limit)
	at, err := strconv.Atoi(q.Get("page"))
	if err != nil {
		at = 1
	}
	start, end := min(len(all), (at-1)*size), min(len(all), at*size)
	if end < len(all) {
		link := func(n int, rel string) string {
			q.Set("page", strconv.Itoa(n))
			return fmt.Sprintf("<%s%s?%s>; rel=%q", c.s.http.URL, c.r.URL.Path, q.Encode(), rel)
		}
		c.header.Set("Link", link(at+1, "next")+", "+link((len(all)+size-1)/size, "last"))
	}
	c.answer = append([]E{}, all[start:end]...)
}

package githubtest

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf8"
)

func account(login string) object {
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	return object{"login": login, "id": 41898282, "type": kind}
}

func (c *call) user() {
	if strings.HasSuffix(c.token.Login, "[bot]") {
		c.fail(http.StatusForbidden, "Resource not accessible by integration")
		return
	}
	c.answer = account(c.token.Login)
}

type query struct {
	Query     string            `json:"query"`
	Variables map[string]string `json:"variables"`
}

// nameQuery names a GraphQL call by what it asks.
func (c *call) nameQuery() {
	var q query
	if json.Unmarshal(c.body, &q) != nil {
		return
	}
	switch {
	case strings.Contains(q.Query, "minimizeComment"):
		c.name = "minimize"
	case strings.Contains(q.Query, "viewer"):
		c.name = "viewer"
	}
}

func (c *call) graphql() {
	var q query
	if !c.read(&q) {
		return
	}
	switch c.name {
	case "viewer":
		c.answer = object{"data": object{"viewer": object{"login": c.token.Login}}}
	case "minimize":
		c.minimize(q.Variables["id"])
	default:
		c.s.t.Errorf("github: unknown GraphQL query %q", q.Query)
	}
}

func (c *call) minimize(node string) {
	if !c.token.Minimize {
		c.answer = object{"data": object{"minimizeComment": nil}, "errors": []object{{"type": "FORBIDDEN", "message": "Resource not accessible by integration"}}}
		return
	}
	for _, p := range c.s.pulls {
		for i := range p.now.comments {
			if nodeID(p.now.comments[i].ID) == node {
				p.now.comments[i].Minimized = true
				c.answer = object{"data": object{"minimizeComment": object{"minimizedComment": object{"isMinimized": true}}}}
				return
			}
		}
	}
	c.s.t.Errorf("github: minimize of the unknown node %q", node)
}

func (c *call) run() {
	r, ok := c.s.runs[c.number("run")]
	switch {
	case c.token.NoRuns:
		c.fail(http.StatusForbidden, "Resource not accessible by integration")
	case !ok:
		c.fail(http.StatusNotFound, "Not Found")
	default:
		c.answer = object{"id": r.ID, "run_attempt": r.Attempt, "status": r.Status}
	}
}

// find returns the pull request of the path, or nil after answering 404.
func (c *call) find() *pull {
	p := c.s.pulls[int(c.number("number"))]
	if p == nil {
		c.fail(http.StatusNotFound, "Not Found")
	}
	return p
}

func (c *call) pull() {
	p := c.find()
	if p == nil {
		return
	}
	repo := object{"full_name": Repository}
	c.answer = object{
		"number": p.Number, "state": p.State, "locked": p.Locked, "user": account(p.Author),
		"head": object{"ref": "change", "sha": p.Head, "repo": repo}, "base": object{"ref": "main", "sha": p.Base, "repo": repo},
	}
}

func (c *call) editComment() {
	var in struct {
		Body string `json:"body"`
	}
	if !c.read(&in) {
		return
	}
	id := c.number("comment")
	for _, p := range c.s.pulls {
		for i := range p.now.comments {
			if m := &p.now.comments[i]; m.ID == id {
				c.edit(p, m, in.Body)
				return
			}
		}
	}
	c.fail(http.StatusNotFound, "Not Found")
}

func (c *call) edit(p *pull, m *Comment, body string) {
	switch {
	case !c.writes(p):
	case m.User != c.token.Login:
		c.s.t.Errorf("github: an edit of a comment of %s", m.User)
		c.fail(http.StatusForbidden, "Forbidden")
	case tooLong(body):
		c.fail(http.StatusUnprocessableEntity, "Validation Failed")
	default:
		m.Body = body
		c.answer = c.comment(*m, false)
	}
}

func tooLong(body string) bool { return utf8.RuneCountInString(body) > MaxBody }

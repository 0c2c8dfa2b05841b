package githubtest

import (
	"net/http"
	"slices"
	"strings"
)

const pending = "PENDING"

func (c *call) review(r Review) object {
	out := object{"id": r.ID, "node_id": nodeID(r.ID), "user": account(r.User), "body": r.Body, "state": r.State, "commit_id": r.CommitID,
		"html_url": c.s.http.URL + "/" + Repository + "/pull/" + c.r.PathValue("number") + "#pullrequestreview-" + nodeID(r.ID)}
	if r.State != pending {
		out["submitted_at"] = "2026-01-02T03:04:05Z"
	}
	return out
}

// comment is a comment as GitHub prints it. The comments of one review have a position in the
// diff, and neither line nor side.
func (c *call) comment(m Comment, ofReview bool) object {
	out := object{"id": m.ID, "node_id": nodeID(m.ID), "user": account(m.User), "body": m.Body, "path": m.Path,
		"commit_id": m.CommitID, "original_commit_id": m.CommitID, "pull_request_review_id": m.Review, "position": 1}
	if m.InReplyTo != 0 {
		out["in_reply_to_id"] = m.InReplyTo
	}
	if !ofReview {
		out["line"], out["side"] = m.Line, m.Side
		if m.Start != 0 {
			out["start_line"], out["start_side"] = m.Start, m.Side
		}
	}
	return out
}

// seen is the state as a list shows it.
func (c *call) seen(p *pull) state {
	if c.fault == Stale {
		return p.before
	}
	return p.now
}

func (c *call) listReviews() {
	p := c.find()
	if p == nil {
		return
	}
	var out []object
	for _, r := range c.seen(p).reviews {
		if r.State != pending || r.User == c.token.Login {
			out = append(out, c.review(r))
		}
	}
	page(c, out)
}

// at finds the review of the path, as far as the token may see it, or answers 404.
func (c *call) at() (*pull, *Review) {
	p := c.find()
	if p == nil {
		return nil, nil
	}
	id := c.number("review")
	for i := range p.now.reviews {
		if r := &p.now.reviews[i]; r.ID == id && (r.State != pending || r.User == c.token.Login) {
			return p, r
		}
	}
	c.fail(http.StatusNotFound, "Not Found")
	return p, nil
}

func (c *call) getReview() {
	if _, r := c.at(); r != nil {
		c.answer = c.review(*r)
	}
}

func (c *call) listReviewComments() {
	p, r := c.at()
	if r == nil {
		return
	}
	var out []object
	for _, m := range c.seen(p).comments {
		if m.Review == r.ID {
			out = append(out, c.comment(m, true))
		}
	}
	page(c, out)
}

func (c *call) listComments() {
	p := c.find()
	if p == nil {
		return
	}
	var out []object
	st := c.seen(p)
	for _, m := range st.comments {
		hidden := slices.ContainsFunc(st.reviews, func(r Review) bool { return r.ID == m.Review && r.State == pending })
		if !hidden {
			out = append(out, c.comment(m, false))
		}
	}
	page(c, out)
}

type draft struct {
	Path      string  `json:"path"`
	Body      string  `json:"body"`
	Line      int     `json:"line"`
	Side      string  `json:"side"`
	StartLine *int    `json:"start_line"`
	StartSide *string `json:"start_side"`
}

func (c *call) createReview() {
	var in struct {
		CommitID string  `json:"commit_id"`
		Body     string  `json:"body"`
		Event    string  `json:"event"`
		Comments []draft `json:"comments"`
	}
	p := c.find()
	if p == nil || !c.read(&in) || !c.event(in.Event, true) || !c.writes(p) {
		return
	}
	if !c.s.options.AllowTwoPending && slices.ContainsFunc(p.now.reviews, func(r Review) bool { return r.State == pending && r.User == c.token.Login }) {
		c.fail(http.StatusUnprocessableEntity, "Unprocessable Entity", "User can only have one pending review per pull request")
		return
	}
	if in.CommitID == "" {
		in.CommitID = p.Head
	}
	lines, known := p.commits[in.CommitID]
	if !known || tooLong(in.Body) || in.Event != "" && in.Body == "" {
		c.fail(http.StatusUnprocessableEntity, "Unprocessable Entity")
		return
	}
	var comments []Comment
	for _, d := range in.Comments {
		m, ok := lines.place(d)
		if !ok {
			// Which comment it is stays unsaid.
			c.fail(http.StatusUnprocessableEntity, "Unprocessable Entity", "Pull request review thread line must be part of the diff")
			return
		}
		m.CommitID = in.CommitID
		comments = append(comments, m)
	}
	if c.fault == Lose && len(comments) > 0 {
		comments = comments[:len(comments)-1]
	}
	r := Review{User: c.token.Login, Body: in.Body, State: pending, CommitID: in.CommitID}
	if in.Event != "" {
		r.State = "COMMENTED"
	}
	r.ID = c.s.add(p, r, comments)
	c.answer = c.review(r)
}

// place is the comment that d asks for, if it stands on lines of one hunk.
func (l Lines) place(d draft) (Comment, bool) {
	m := Comment{Path: d.Path, Body: d.Body, Side: d.Side, Line: d.Line}
	start := d.Line
	if d.StartLine != nil {
		start, m.Start = *d.StartLine, *d.StartLine
		if start >= d.Line || d.StartSide == nil || *d.StartSide != d.Side {
			return m, false
		}
	}
	if strings.TrimSpace(d.Body) == "" || tooLong(d.Body) {
		return m, false
	}
	for _, hunk := range l[d.Path][d.Side] {
		if hunk[0] <= start && d.Line <= hunk[1] {
			return m, true
		}
	}
	return m, false
}

// event lets only events pass that recibo may choose.
func (c *call) event(event string, empty bool) bool {
	if event == "COMMENT" || event == "" && empty {
		return true
	}
	c.s.t.Errorf("github: %s with event %q", c.name, event)
	c.fail(http.StatusUnprocessableEntity, "Unprocessable Entity")
	return false
}

func (c *call) submitReview() {
	var in struct {
		Body  string `json:"body"`
		Event string `json:"event"`
	}
	p, r := c.at()
	if r == nil || !c.read(&in) || !c.event(in.Event, false) || !c.writes(p) {
		return
	}
	if in.Body == "" {
		in.Body = r.Body
	}
	if r.State != pending || tooLong(in.Body) || in.Body == "" {
		c.fail(http.StatusUnprocessableEntity, "Unprocessable Entity")
		return
	}
	p.before = p.now.clone()
	r.State, r.Body = "COMMENTED", in.Body
	c.answer = c.review(*r)
}

func (c *call) updateReview() {
	var in struct {
		Body string `json:"body"`
	}
	p, r := c.at()
	if r == nil || !c.read(&in) || !c.writes(p) {
		return
	}
	if r.User != c.token.Login {
		c.s.t.Errorf("github: an update of a review of %s", r.User)
	}
	if tooLong(in.Body) || in.Body == "" {
		c.fail(http.StatusUnprocessableEntity, "Unprocessable Entity")
		return
	}
	p.before = p.now.clone()
	r.Body = in.Body
	c.answer = c.review(*r)
}

// deleteReview deletes a pending review and answers with it.
func (c *call) deleteReview() {
	p, r := c.at()
	if r == nil || !c.writes(p) {
		return
	}
	if r.State != pending {
		c.fail(http.StatusUnprocessableEntity, "Can not delete a non-pending pull request review")
		return
	}
	gone := *r
	p.before = p.now.clone()
	p.now.reviews = slices.DeleteFunc(p.now.reviews, func(o Review) bool { return o.ID == gone.ID })
	p.now.comments = slices.DeleteFunc(p.now.comments, func(m Comment) bool { return m.Review == gone.ID })
	c.answer = c.review(gone)
}

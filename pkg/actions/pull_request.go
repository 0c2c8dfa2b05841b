package actions

import "strings"

// PullRequest is a pull request as an event tells of it. Title, body, labels and refs are somebody
// else's text: a ref may hold anything that Git takes.
type PullRequest struct {
	Number      int
	Title, Body string
	Labels      []string
	Draft       bool
	// State is "open" or "closed".
	State  string
	Locked bool
	Author Actor
	// Base is what is merged into, Head what is to be merged.
	Base, Head Ref
	// CrossRepository says that Head is in another repository: a fork, or one that is gone.
	CrossRepository bool
	HTMLURL         string
	// Complete says that Base, Head and CrossRepository are known. The event of a comment does not
	// tell them.
	Complete bool
}

// Ref is a branch and the commit that it was at.
type Ref struct {
	// Ref is the name without refs/heads/, or as GitHub gives it for a merge group.
	Ref string
	// SHA has 40 or 64 hex digits.
	SHA string
	// Repo is owner/name; "" if the repository was deleted or is not told.
	Repo string
}

// pullRequest reads a pull request of a repository. A base that does not say where it is lies in
// that repository; a head that does not is a deleted fork's.
func (o object) pullRequest(repository string) *PullRequest {
	p := o.described()
	p.Base = o.need("base").ref()
	p.Head = o.need("head").ref()
	if p.Base.Repo == "" {
		p.Base.Repo = repository
	}
	p.CrossRepository = p.Head.Repo == "" || !strings.EqualFold(p.Head.Repo, p.Base.Repo)
	p.HTMLURL = o.link("html_url")
	p.Complete = true
	return p
}

// commented reads the issue of a comment, which also stands for the pull request that it is.
func (o object) commented() *PullRequest {
	p := o.described()
	p.HTMLURL = o.object("pull_request").link("html_url")
	if p.HTMLURL == "" {
		p.HTMLURL = o.link("html_url")
	}
	return p
}

// described reads what issues and pull requests have in common.
func (o object) described() *PullRequest {
	p := &PullRequest{
		Number: o.pullNumber("number"),
		Title:  o.optional("title"),
		Body:   o.optional("body"),
		Draft:  o.flag("draft"),
		State:  o.optional("state"),
		Locked: o.flag("locked"),
		Author: o.actor("user"),
	}
	for _, label := range o.list("labels") {
		p.Labels = append(p.Labels, label.text("name"))
	}
	return p
}

func (o object) ref() Ref {
	return Ref{Ref: o.text("ref"), SHA: o.sha("sha"), Repo: o.repository("repo")}
}

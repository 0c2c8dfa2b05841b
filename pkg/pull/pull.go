// Package pull speaks to GitHub about one pull request, through go-github.
//
// It decides nothing about a review. The GitHub token has its one home here.
package pull

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-github/v66/github"
	"golang.org/x/oauth2"

	"github.com/recibo-ci/recibo/pkg/actions"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// requestTime bounds one call, all its bytes read.
const requestTime = 30 * time.Second

// Client asks GitHub about the pull requests of one repository.
type Client struct {
	api         *github.Client
	graphql     string
	owner, name string
}

// Config says whom to ask, and as whom.
type Config struct {
	// APIURL is the environment's GITHUB_API_URL as it stands: GitHub Enterprise's differs.
	APIURL string
	// GraphQLURL is GITHUB_GRAPHQL_URL as it stands. Only Publish needs it.
	GraphQLURL string
	// Repository is owner/name.
	Repository string
	Token      string
	// Transport is below the token; nil means Go's default, which heeds the proxy variables.
	Transport http.RoundTripper
}

// New returns a client. Errors are fault.Request.
func New(c Config) (*Client, error) {
	base, err := url.Parse(strings.TrimSuffix(c.APIURL, "/") + "/")
	if err != nil || base.Host == "" {
		return nil, fault.New(fault.Request, "leave GITHUB_API_URL as the runner sets it", "read GITHUB_API_URL: not a URL")
	}
	if graphql, err := url.Parse(c.GraphQLURL); err != nil || c.GraphQLURL != "" && graphql.Host == "" {
		return nil, fault.New(fault.Request, "leave GITHUB_GRAPHQL_URL as the runner sets it", "read GITHUB_GRAPHQL_URL: not a URL")
	}
	owner, name, ok := strings.Cut(c.Repository, "/")
	if !ok {
		return nil, fault.New(fault.Request, "set GITHUB_REPOSITORY to owner/name", "read GITHUB_REPOSITORY: %q is not owner/name", c.Repository)
	}
	if c.Token == "" {
		return nil, fault.New(fault.Request, "set github-token; in a workflow its default is enough", "ask GitHub about %s: there is no token", c.Repository)
	}
	transport := &oauth2.Transport{Source: oauth2.StaticTokenSource(&oauth2.Token{AccessToken: c.Token}), Base: c.Transport}
	api := github.NewClient(&http.Client{Transport: frank{transport}, Timeout: requestTime, CheckRedirect: sameHost})
	api.BaseURL = base
	return &Client{api: api, graphql: c.GraphQLURL, owner: owner, name: name}, nil
}

// sameHost follows a redirect, as GitHub answers for a renamed repository, only where the token
// may go too.
func sameHost(next *http.Request, via []*http.Request) error {
	if len(via) > 5 || next.URL.Host != via[0].URL.Host || next.URL.Scheme != via[0].URL.Scheme {
		return errors.New("redirect to another host")
	}
	return nil
}

// Get returns pull request number.
func (c *Client) Get(ctx context.Context, number int) (actions.PullRequest, error) {
	p, _, err := c.api.PullRequests.Get(ctx, c.owner, c.name, number)
	if err != nil {
		return actions.PullRequest{}, c.failed(fmt.Sprintf("get pull request %d", number), err)
	}
	out := actions.PullRequest{
		Number: p.GetNumber(), Title: p.GetTitle(), Body: p.GetBody(), Draft: p.GetDraft(), State: p.GetState(),
		Locked: p.GetLocked(), HTMLURL: p.GetHTMLURL(), Author: actor(p.GetUser()),
		Base: ref(p.GetBase()), Head: ref(p.GetHead()), Complete: true,
	}
	for _, l := range p.Labels {
		out.Labels = append(out.Labels, l.GetName())
	}
	out.CrossRepository = out.Head.Repo == "" || !strings.EqualFold(out.Head.Repo, out.Base.Repo)
	if out.Number != number || out.Head.SHA == "" || out.Base.SHA == "" {
		return actions.PullRequest{}, fault.New(fault.Remote, "run it again", "get pull request %d: the answer is not a pull request", number)
	}
	return out, nil
}

func ref(b *github.PullRequestBranch) actions.Ref {
	return actions.Ref{Ref: b.GetRef(), SHA: b.GetSHA(), Repo: b.GetRepo().GetFullName()}
}

func actor(u *github.User) actions.Actor {
	return actions.Actor{Login: u.GetLogin(), Type: u.GetType(), ID: u.GetID()}
}

// failed says what GitHub answered, without the bodies and addresses that its client quotes.
func (c *Client) failed(what string, err error) error {
	if ctx := errors.Join(err); errors.Is(ctx, context.Canceled) || errors.Is(ctx, context.DeadlineExceeded) {
		return err
	}
	var answer *github.ErrorResponse
	if !errors.As(err, &answer) || answer.Response == nil {
		return fault.New(fault.Remote, "run it again", "%s of %s/%s: GitHub could not be reached", what, c.owner, c.name)
	}
	status := answer.Response.StatusCode
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return fault.New(fault.Request, "give the job `pull-requests: read`, and pass github-token", "%s of %s/%s: GitHub answered %d", what, c.owner, c.name, status)
	case status == http.StatusNotFound:
		return fault.New(fault.Request, "check the number, and give the job `pull-requests: read`", "%s of %s/%s: GitHub knows no such pull request", what, c.owner, c.name)
	}
	return fault.New(fault.Remote, "run it again", "%s of %s/%s: GitHub answered %d", what, c.owner, c.name, status)
}

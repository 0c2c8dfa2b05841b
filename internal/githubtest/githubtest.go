// Package githubtest is a strict GitHub for tests: one repository with its pull requests, reviews
// and workflow runs, over REST and GraphQL, on loopback. It refuses what GitHub refuses, and fails
// the test on what no client of ours may send.
//
// It is not a model of all of GitHub: a route that is not here fails the test. What it does where
// GitHub's documentation is silent is told beside it.
package githubtest

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"sync"
)

// The repository that every server has.
const (
	Owner      = "octo"
	Name       = "service"
	Repository = Owner + "/" + Name
)

// Bot is the account of the token that a workflow gets by default.
const Bot = "github-actions[bot]"

// MaxBody is how many characters a body may have.
const MaxBody = 65536

// T is what the server needs of a *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(f func())
}

// Options say how the server differs from GitHub.
type Options struct {
	// AllowTwoPending drops the rule of one pending review per user and pull request.
	AllowTwoPending bool
	// Page is the size of a page where the client asks for a larger one; 0 is GitHub's 100.
	Page int
}

// Token is what a token may do.
type Token struct {
	// Login is the account that it acts as; those that end in [bot] are bots.
	Login string
	// ReadOnly is a token as the event of a fork gets it.
	ReadOnly bool
	// NoRuns means that workflow runs cannot be read.
	NoRuns bool
	// Minimize means that comments can be hidden.
	Minimize bool
}

// Lines are the ranges of lines that can be commented on, a hunk each, by path and then by side,
// LEFT or RIGHT. Both ends count.
type Lines map[string]map[string][][2]int

// Pull is a pull request.
type Pull struct {
	Number             int
	Head, Base, Author string
	// State is open when empty.
	State  string
	Locked bool
	Lines  Lines
}

// Review is a review as it stands.
type Review struct {
	ID                          int64
	User, Body, State, CommitID string
}

// Comment is a review comment as it stands.
type Comment struct {
	ID, Review, InReplyTo int64
	User, Body            string
	Path, Side            string
	// Start is the first of several lines, or 0.
	Start, Line int
	CommitID    string
	Minimized   bool
}

// Run is a workflow run.
type Run struct {
	ID      int64
	Attempt int
	// Status is one of GitHub's: queued, in_progress, completed and others.
	Status string
}

// Server is a running GitHub.
type Server struct {
	t       T
	options Options
	http    *httptest.Server

	mu     sync.Mutex
	pulls  map[int]*pull
	tokens map[string]Token
	runs   map[int64]Run
	faults []*Fault
	calls  []string
	hook   func(Request) bool
	lastID int64
}

// pull is a pull request with all that hangs on it.
type pull struct {
	Pull
	commits map[string]Lines
	now     state
	// before is the state that the last change found.
	before state
}

type state struct {
	reviews  []Review
	comments []Comment
}

func (s state) clone() state {
	return state{slices.Clone(s.reviews), slices.Clone(s.comments)}
}

// Start starts a server. The test fails on a request that no client of ours may send, and on
// faults that nobody met.
func Start(t T, o Options) *Server {
	t.Helper()
	// Ids are over 2^53: who reads them as floating-point numbers gets them wrong.
	s := &Server{t: t, options: o, pulls: map[int]*pull{}, tokens: map[string]Token{}, runs: map[int64]Run{}, lastID: 9_007_199_254_740_992}
	s.http = httptest.NewServer(s.handler())
	t.Cleanup(func() {
		s.http.Close()
		for _, f := range s.left() {
			t.Errorf("github: %d of fault %s were not met", f.Times, f)
		}
	})
	return s
}

// APIURL is for GITHUB_API_URL; like that of GitHub Enterprise it has a path.
func (s *Server) APIURL() string { return s.http.URL + "/api/v3" }

// GraphQLURL is for GITHUB_GRAPHQL_URL, and does not lie below APIURL.
func (s *Server) GraphQLURL() string { return s.http.URL + "/api/graphql" }

// AddToken makes value a token.
func (s *Server) AddToken(value string, token Token) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[value] = token
}

// AddPull adds a pull request.
func (s *Server) AddPull(p Pull) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.State == "" {
		p.State = "open"
	}
	s.pulls[p.Number] = &pull{Pull: p, commits: map[string]Lines{p.Head: p.Lines}}
}

// Push moves the head. With force, the commits before are gone.
func (s *Server) Push(number int, head string, lines Lines, force bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pulls[number]
	if force {
		clear(p.commits)
	}
	p.Head, p.Lines, p.commits[head] = head, lines, lines
}

// SetRun adds a workflow run or changes it.
func (s *Server) SetRun(r Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.runs[r.ID] = r
}

// AddReview adds a review that others wrote, with its comments, and returns its id.
func (s *Server) AddReview(number int, r Review, comments ...Comment) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(s.pulls[number], r, comments)
}

// AddReply adds a reply to a comment.
func (s *Server) AddReply(number int, to int64, user, body string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pulls[number]
	p.now.comments = append(p.now.comments, Comment{ID: s.id(), InReplyTo: to, User: user, Body: body})
}

// DeleteComment removes a comment, as people do.
func (s *Server) DeleteComment(number int, id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.pulls[number]
	p.now.comments = slices.DeleteFunc(p.now.comments, func(c Comment) bool { return c.ID == id })
}

// Reviews returns the reviews of a pull request, pending ones too, in order.
func (s *Server) Reviews(number int) []Review {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.pulls[number].now.reviews)
}

// Comments returns the review comments of a pull request, those of pending reviews too, in order.
func (s *Server) Comments(number int) []Comment {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.pulls[number].now.comments)
}

// Calls returns what was asked for, in order, by the names that Fault.Call has.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

func (s *Server) id() int64 {
	s.lastID++
	return s.lastID
}

// add puts a review into p. The caller holds the lock.
func (s *Server) add(p *pull, r Review, comments []Comment) int64 {
	p.before = p.now.clone()
	r.ID = s.id()
	p.now.reviews = append(p.now.reviews, r)
	for _, c := range comments {
		c.ID, c.Review = s.id(), r.ID
		if c.User == "" {
			c.User = r.User
		}
		p.now.comments = append(p.now.comments, c)
	}
	return r.ID
}

func nodeID(id int64) string { return fmt.Sprintf("N_%d", id) }

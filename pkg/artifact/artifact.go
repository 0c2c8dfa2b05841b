// Package artifact keeps files as an artifact of a workflow run: a client of GitHub's artifact
// service, version 4.
//
// It does not choose the files, and it neither overwrites nor deletes what the run already has.
// The runtime token has its one home here.
package artifact

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// ErrUnavailable means that this run has no artifact service: a local run, a server that has
// none. It is no failure of the run: the files stay where they are, and a warning says so.
var ErrUnavailable = errors.New("there is no artifact service")

// dialTime bounds the making of a connection, and its TLS handshake.
const dialTime = 30 * time.Second

// Config says which service, and as whom. The zero value of everything but the first two is the
// machine's own.
type Config struct {
	// ResultsURL and Token are the environment's ACTIONS_RESULTS_URL and ACTIONS_RUNTIME_TOKEN as
	// they stand.
	ResultsURL, Token string
	// Proxy names the proxy for an address; nil, or a nil answer, is none.
	Proxy func(*url.URL) (*url.URL, error)
	// Transport sends the requests, whatever Proxy says; nil is one that heeds it.
	Transport http.RoundTripper
	// Now is the clock that retention and Retry-After dates are counted from.
	Now func() time.Time
	// Sleep waits between two tries, or returns early with why ctx ended.
	Sleep func(ctx context.Context, d time.Duration) error
	// Jitter returns a number in [0,1) that spreads the waits of many jobs.
	Jitter func() float64
	// Mask is told each signature of an address that the service hands out, before it is used, so
	// that the log can hide it. Nothing here prints one.
	Mask func(secret string)
}

// Service is the artifact service of one job. Its methods may be called at once.
type Service struct {
	origin  *url.URL
	backend backend
	// token is a function so that no way of formatting a Service shows it.
	token  func() string
	client *http.Client
	now    func() time.Time
	sleep  func(context.Context, time.Duration) error
	jitter func() float64
	mask   func(string)
	// block is how many bytes are sent at once.
	block int
}

// Open returns the job's service, without asking it anything. The capability decides, not the
// name of a host: a results URL, and a token whose scope holds Actions.Results:RUN:JOB. Without
// them the error is ErrUnavailable, with what is missing.
func Open(c Config) (*Service, error) {
	origin, err := originOf(c.ResultsURL)
	if err != nil {
		return nil, err
	}
	ids, err := parseToken(c.Token)
	if err != nil {
		return nil, err
	}
	c = c.withDefaults()
	return &Service{
		origin: origin, backend: ids, token: func() string { return c.Token },
		client: &http.Client{Transport: c.Transport, CheckRedirect: noRedirect},
		now:    c.Now, sleep: c.Sleep, jitter: c.Jitter, mask: c.Mask, block: blockMax,
	}, nil
}

func (c Config) withDefaults() Config {
	if c.Transport == nil {
		c.Transport = newTransport(c.Proxy)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Sleep == nil {
		c.Sleep = sleep
	}
	if c.Jitter == nil {
		c.Jitter = rand.Float64
	}
	if c.Mask == nil {
		c.Mask = func(string) {}
	}
	return c
}

// originOf is the scheme and host of the results URL: the service lies at a path of its own,
// whatever path the URL has. Plain http is a service of the machine's own network.
func originOf(results string) (*url.URL, error) {
	if results == "" {
		return nil, fmt.Errorf("%w: ACTIONS_RESULTS_URL is not set", ErrUnavailable)
	}
	u, err := url.Parse(results)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
		return nil, fmt.Errorf("%w: ACTIONS_RESULTS_URL is not an http address", ErrUnavailable)
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// noRedirect hands a redirection back as the answer: neither token nor files follow one.
func noRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// errProxy has none of the proxy's address in it, which may hold a password.
var errProxy = errors.New("the proxy's address cannot be read")

func newTransport(proxy func(*url.URL) (*url.URL, error)) *http.Transport {
	t := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: dialTime, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: dialTime, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true,
		// A block is written at once: small writes cost more than they save.
		WriteBufferSize: 64 << 10,
	}
	if proxy != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) {
			u, err := proxy(r.URL)
			if err != nil {
				return nil, errProxy
			}
			return u, nil
		}
	}
	return t
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// URL is the page of an artifact for people: SERVER/OWNER/NAME/actions/runs/RUN/artifacts/ID.
// server is the environment's GITHUB_SERVER_URL as it stands, repository is owner/name.
func URL(server, repository string, runID, artifactID int64) string {
	return fmt.Sprintf("%s/%s/actions/runs/%d/artifacts/%d", strings.TrimSuffix(server, "/"), repository, runID, artifactID)
}

package codex

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// Bounds of talking to a registry.
const (
	registryTries = 3
	firstPause    = 500 * time.Millisecond
	longestPause  = 20 * time.Second
	redirectsMax  = 5
)

// registryClient talks to one registry.
type registryClient struct {
	Finder
	registry
	http *http.Client
}

func (f Finder) client(reg registry) *registryClient {
	c := &registryClient{Finder: f, registry: reg, http: &http.Client{}}
	c.http.CheckRedirect = c.redirect
	if f.HTTP != nil {
		c.http.Transport = f.HTTP.Transport
	} else {
		c.http.Transport = f.transport()
	}
	return c
}

func (f Finder) transport() *http.Transport {
	either := func(name, lower string) string {
		if v := f.Getenv(lower); v != "" {
			return v
		}
		return f.Getenv(name)
	}
	proxies := httpproxy.Config{
		HTTPProxy: either("HTTP_PROXY", "http_proxy"), HTTPSProxy: either("HTTPS_PROXY", "https_proxy"),
		NoProxy: either("NO_PROXY", "no_proxy"),
	}
	proxy := proxies.ProxyFunc()
	return &http.Transport{
		Proxy:               func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
		DialContext:         (&net.Dialer{Timeout: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: 15 * time.Second, ResponseHeaderTimeout: time.Minute,
		// One large body at a time is faster without HTTP/2's windows.
		TLSClientConfig: &tls.Config{RootCAs: f.roots(), MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}},
	}
}

// roots are the system's certificate authorities and those that the environment adds for npm;
// nil is the system's alone.
func (f Finder) roots() *x509.CertPool {
	var pool *x509.CertPool
	for _, name := range []string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"} {
		path := f.Getenv(name)
		if path == "" {
			continue
		}
		pem, err := os.ReadFile(path)
		if err == nil && pool == nil {
			pool, err = x509.SystemCertPool()
		}
		// Not an error, as for npm: a registry that needs them will be refused, by name.
		if err != nil || !pool.AppendCertsFromPEM(pem) {
			f.warn("no certificates are read from " + name + "=" + path)
		}
	}
	return pool
}

// errRefused is a redirection or an address that is not followed.
var errRefused = errors.New("it leads to where packages are not fetched from: only the registry itself, or https")

// redirect is http.Client.CheckRedirect. Headers are those of the first request by now.
func (c *registryClient) redirect(req *http.Request, via []*http.Request) error {
	if len(via) > redirectsMax {
		return fmt.Errorf("%w, at most %d times", errRefused, redirectsMax)
	}
	if !c.trusted(req.URL) {
		return errRefused
	}
	if !sameOrigin(req.URL, c.base) {
		req.Header.Del("Authorization")
	}
	return nil
}

// get asks for u. An answer that is not 200 is an *statusError; what another try may mend is a
// *passingError.
func (c *registryClient) get(ctx context.Context, u *url.URL, accept string) (*http.Response, error) {
	if !c.trusted(u) {
		return nil, fmt.Errorf("get %s: %w", u.Redacted(), errRefused)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Accept-Encoding", "identity")
	req.Header.Set("User-Agent", "recibo")
	if c.auth != "" && sameOrigin(u, c.base) {
		req.Header.Set("Authorization", c.auth)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		var cert *tls.CertificateVerificationError
		if errors.As(err, &cert) || errors.Is(err, errRefused) {
			return nil, err
		}
		return nil, &passingError{err: err}
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	resp.Body.Close()
	err = &statusError{status: resp.StatusCode, from: u.Redacted()}
	if resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests {
		seconds, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
		return nil, &passingError{err: err, after: time.Duration(seconds) * time.Second}
	}
	return nil, err
}

// statusError is an answer that is not 200.
type statusError struct {
	status int
	from   string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("get %s: %d %s", e.from, e.status, http.StatusText(e.status))
}

// statusOf is the status that err is about, or 0.
func statusOf(err error) int {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status
	}
	return 0
}

// passingError is an error that another try may mend.
type passingError struct {
	err error
	// after is how long the registry asked to wait.
	after time.Duration
}

func (e *passingError) Error() string { return e.err.Error() }
func (e *passingError) Unwrap() error { return e.err }

// retry calls once up to registryTries times, as long as it returns a *passingError.
func (f Finder) retry(ctx context.Context, once func() error) error {
	wait := firstPause
	for n := 1; ; n++ {
		err := once()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		passing, ok := errors.AsType[*passingError](err)
		if !ok || n == registryTries {
			return err
		}
		if err := f.wait(ctx, min(max(wait, passing.after), longestPause)); err != nil {
			return err
		}
		wait *= 2
	}
}

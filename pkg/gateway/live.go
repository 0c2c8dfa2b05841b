package gateway

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/net/http/httpproxy"

	"github.com/recibo-ci/recibo/pkg/fault"
)

const (
	dialTimeout = 30 * time.Second
	tlsTimeout  = 15 * time.Second
	// idleTimeout is what Codex itself waits between two events of a stream.
	idleTimeout = 5 * time.Minute
	// shortest is the length from which a key is looked for in answers; a shorter one is no key
	// of any provider, and would be found by chance.
	shortest = 12
)

// Dialing says how upstream is reached. The zero value dials directly and trusts the system's
// authorities.
type Dialing struct {
	// Roots are the certificate authorities; nil is the system's.
	Roots *x509.CertPool
	// Proxy names the proxy for a URL, nil for none; it is never asked for a loopback address.
	Proxy func(*url.URL) (*url.URL, error)
	// Idle bounds the silence before the answer's headers and between two of its pieces; 0 is
	// five minutes.
	Idle time.Duration
}

// EnvironmentProxy reads HTTPS_PROXY, HTTP_PROXY and NO_PROXY (and their lower-case forms) by
// getenv, for Dialing.Proxy.
func EnvironmentProxy(getenv func(string) string) func(*url.URL) (*url.URL, error) {
	either := func(name string) string {
		if v := getenv(name); v != "" {
			return v
		}
		return getenv(strings.ToLower(name))
	}
	cfg := httpproxy.Config{HTTPProxy: either("HTTP_PROXY"), HTTPSProxy: either("HTTPS_PROXY"), NoProxy: either("NO_PROXY")}
	return cfg.ProxyFunc()
}

// Live returns what sends requests to e with the key: `Authorization: Bearer KEY`, or for Azure
// OpenAI's hosts `api-key: KEY`, unless the key is a JSON web token, which Azure takes as bearer.
// It follows no redirect and does not retry. Its errors are *fault.Error and never hold the key; an
// answer that holds it breaks off with an error.
func Live(e Endpoint, key string, d Dialing) (http.RoundTripper, error) {
	if e.url == nil {
		return nil, errors.New("a replay has no live endpoint")
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fault.New(fault.Request, "store the key again, without white space or line breaks",
			"openai-api-key: holds a character that no key has")
	}
	if d.Idle == 0 {
		d.Idle = idleTimeout
	}
	return &live{endpoint: e, key: key, idle: d.Idle, transport: newTransport(d)}, nil
}

type live struct {
	endpoint  Endpoint
	key       string
	idle      time.Duration
	transport *http.Transport
}

func newTransport(d Dialing) *http.Transport {
	t := &http.Transport{
		DialContext:           (&net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}).DialContext,
		TLSClientConfig:       &tls.Config{RootCAs: d.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   tlsTimeout,
		ResponseHeaderTimeout: d.Idle,
		IdleConnTimeout:       90 * time.Second,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true,
		// Bytes are passed on as they come, so the metering pays for each read.
		ReadBufferSize:         chunk,
		MaxResponseHeaderBytes: 256 << 10,
	}
	if d.Proxy != nil {
		t.Proxy = func(r *http.Request) (*url.URL, error) {
			if isLoopback(r.URL.Hostname()) {
				return nil, nil
			}
			return d.Proxy(r.URL)
		}
	}
	return t
}

// CloseIdleConnections ends the connections that no request uses.
func (l *live) CloseIdleConnections() { l.transport.CloseIdleConnections() }

// RoundTrip sends r's method, headers and body to the endpoint.
func (l *live) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	out := r.Clone(ctx)
	out.URL = l.endpoint.at(r.URL.Path)
	out.Host = ""
	l.authorize(out.Header)
	res, err := l.transport.RoundTrip(out)
	if err != nil {
		cancel(nil)
		if r.Context().Err() != nil {
			return nil, r.Context().Err()
		}
		return nil, l.explain(err)
	}
	for name, values := range res.Header {
		if len(l.key) >= shortest && strings.Contains(strings.Join(values, "\n"), l.key) {
			delete(res.Header, name)
		}
	}
	res.Body = &watched{ReadCloser: res.Body, live: l, stopped: r.Context().Err, cancel: cancel,
		timer: time.AfterFunc(l.idle, func() { cancel(errIdle) })}
	return res, nil
}

func (l *live) authorize(h http.Header) {
	h.Del("Authorization")
	h.Del("Api-Key")
	if l.key == "" {
		return
	}
	token := strings.HasPrefix(l.key, "eyJ") && strings.Count(l.key, ".") == 2
	if l.endpoint.isAzure() && !token {
		h.Set("Api-Key", l.key)
		return
	}
	h.Set("Authorization", "Bearer "+l.key)
}

// explain says what went wrong in the words of whoever has to mend it.
func (l *live) explain(err error) error {
	host := l.endpoint.Host()
	say := func(hint, what string) error {
		return upstreamFault(hint, "model endpoint %q: %s: %s", host, what, l.scrub(err.Error()))
	}
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok || unknown {
		return say("if the endpoint has an authority of its own, give it with ca-file", "its certificate is not trusted")
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" {
		return say("check HTTPS_PROXY and NO_PROXY", "the proxy cannot be reached")
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return say("check the host in responses-api-endpoint, and the name server", "its name cannot be looked up")
	}
	if n, ok := errors.AsType[net.Error](err); ok && n.Timeout() {
		return say("run it again later", "it did not answer in time")
	}
	return say("check responses-api-endpoint", "it cannot be reached")
}

// scrub takes what is secret out of a text that the libraries below made.
func (l *live) scrub(s string) string {
	secrets := []string{l.key}
	for _, values := range l.endpoint.url.Query() {
		secrets = append(secrets, values...)
	}
	for _, secret := range secrets {
		if len(secret) >= 4 {
			s = strings.ReplaceAll(s, secret, "***")
		}
	}
	return s
}

var (
	errIdle   = errors.New("upstream was silent")
	errEchoed = errors.New("upstream sent the key back, the answer is withheld")
)

// String keeps the key out of what formats the value.
func (l *live) String() string { return fmt.Sprintf("live %s", l.endpoint) }

// GoString is String.
func (l *live) GoString() string { return l.String() }

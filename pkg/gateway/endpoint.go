package gateway

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/recibo-ci/recibo/pkg/fault"
)

const (
	defaultEndpoint = "https://api.openai.com/v1/responses"
	replayScheme    = "replay:"
	endpointExample = "give the full URL of a Responses endpoint, as in " + defaultEndpoint + ", or replay:PATH"
)

// Endpoint is what answers model requests: a URL, or a recorded session.
type Endpoint struct {
	// Session is the path of the session to replay; "" for an endpoint with a URL.
	Session string
	url     *url.URL
}

// ParseEndpoint reads the input responses-api-endpoint: the full URL of a Responses endpoint, its
// query kept, https or, to a loopback address, http; or replay:PATH. Empty is OpenAI's. Errors are
// fault.Request and quote neither query nor user.
func ParseEndpoint(raw string) (Endpoint, error) {
	if raw == "" {
		raw = defaultEndpoint
	}
	if path, ok := strings.CutPrefix(raw, replayScheme); ok {
		if path == "" || strings.ContainsRune(path, 0) {
			return Endpoint{}, refuseEndpoint("%q names no session", replayScheme)
		}
		return Endpoint{Session: path}, nil
	}
	// The error of url.Parse quotes what it was given, which may hold a secret.
	u, err := url.Parse(raw)
	if strings.Contains(raw, "#") {
		return Endpoint{}, refuseEndpoint("a fragment (#) has no meaning for an endpoint")
	}
	if err != nil || strings.ContainsAny(raw, " \t\r\n") || u.Opaque != "" || u.Hostname() == "" {
		return Endpoint{}, refuseEndpoint("not a full URL")
	}
	if err := checkURL(u); err != nil {
		return Endpoint{}, err
	}
	return Endpoint{url: u}, nil
}

func checkURL(u *url.URL) error {
	loopback := isLoopback(u.Hostname())
	switch path := strings.TrimRight(u.Path, "/"); {
	case u.User != nil:
		return fault.New(fault.Request, "the key belongs into openai-api-key",
			"responses-api-endpoint: user or password in the URL")
	case u.Scheme == "http" && !loopback:
		return fault.New(fault.Request, "use https",
			"responses-api-endpoint: http to %q would show the key to the network", u.Hostname())
	case u.Scheme != "http" && u.Scheme != "https":
		return refuseEndpoint("scheme %.32q is not https", u.Scheme)
	case !validPort(u):
		return refuseEndpoint("port %.16q", u.Port())
	case path == "" || strings.HasSuffix(path, "/v1"):
		return refuseEndpoint("path %.64q is that of a base URL, not of an endpoint", u.Path)
	}
	return nil
}

func refuseEndpoint(format string, args ...any) error {
	return fault.New(fault.Request, endpointExample, "responses-api-endpoint: "+format, args...)
}

func validPort(u *url.URL) bool {
	if strings.HasSuffix(u.Host, ":") {
		return false
	}
	if u.Port() == "" {
		return true
	}
	n, err := strconv.ParseUint(u.Port(), 10, 16)
	return err == nil && n > 0
}

// isLoopback reports whether host is this machine by name or address.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// IsReplay reports whether a recorded session answers.
func (e Endpoint) IsReplay() bool { return e.Session != "" }

// String is for people and receipts: without the query's values, which may be secret.
func (e Endpoint) String() string {
	if e.IsReplay() {
		return replayScheme + e.Session
	}
	if e.url == nil {
		return ""
	}
	u := *e.url
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	return u.String()
}

// Host is the host asked, with its port where one is given; "" for a replay.
func (e Endpoint) Host() string {
	if e.url == nil {
		return ""
	}
	return e.url.Host
}

// at returns the URL for a path of the gateway.
func (e Endpoint) at(path string) *url.URL {
	u := *e.url
	below := strings.TrimPrefix(path, responsesPath)
	u.Path += below
	if u.RawPath != "" {
		u.RawPath += below
	}
	return &u
}

// isAzure reports whether Azure OpenAI serves the host
// (https://learn.microsoft.com/azure/ai-services/openai/reference).
func (e Endpoint) isAzure() bool {
	host := strings.ToLower(e.url.Hostname())
	for _, zone := range []string{"openai.azure", "cognitiveservices.azure", "services.ai.azure"} {
		for _, cloud := range []string{".com", ".us", ".cn"} {
			if strings.HasSuffix(host, "."+zone+cloud) {
				return true
			}
		}
	}
	return false
}

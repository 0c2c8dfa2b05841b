package gateway

import (
	"net/http"
	"strings"
)

// passes reports whether a header of Codex is passed on. Of the rest, authorization, cookies,
// forwarding and proxy headers could change who asks, organisation and project who pays, and
// encodings what is metered.
func passes(name string) bool {
	switch name {
	case "Accept", "Content-Type", "User-Agent", "Openai-Beta", "Originator", "Version",
		"Session-Id", "Session_id", "Thread-Id", "Conversation-Id", "Conversation_id",
		"X-Client-Request-Id", "X-Openai-Subagent", "X-Openai-Internal-Codex-Responses-Lite":
		return true
	}
	return strings.HasPrefix(name, "X-Codex-")
}

// outbound returns the headers of the request to upstream.
func outbound(in http.Header) http.Header {
	out := make(http.Header, len(in))
	for name, values := range in {
		if passes(name) {
			out[name] = values
		}
	}
	// Encoded bytes could not be metered.
	out.Set("Accept-Encoding", "identity")
	if out.Get("User-Agent") == "" {
		// Otherwise the transport would put its own name there.
		out["User-Agent"] = []string{""}
	}
	return out
}

// inbound copies the headers of an answer: all but those of the connection and those by which
// upstream would leave something with the client.
func inbound(dst, src http.Header) {
	named := make(map[string]bool)
	for _, list := range src["Connection"] {
		for name := range strings.SplitSeq(list, ",") {
			named[http.CanonicalHeaderKey(strings.TrimSpace(name))] = true
		}
	}
	for name, values := range src {
		if !named[name] && !ofConnection(name) {
			dst[name] = values
		}
	}
}

func ofConnection(name string) bool {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade",
		"Set-Cookie", "Set-Cookie2", "Alt-Svc", "Www-Authenticate", "Strict-Transport-Security":
		return true
	}
	return false
}

package gateway

import (
	"strings"
	"testing"

	"github.com/recibo-ci/recibo/pkg/fault"
)

func TestParseEndpoint(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, url, compact, text string }{
		{"default", "", "https://api.openai.com/v1/responses", "https://api.openai.com/v1/responses/compact", "https://api.openai.com/v1/responses"},
		{"query", "https://x.openai.azure.com/openai/responses?api-version=2025-04-01&k=s3cr3t", "https://x.openai.azure.com/openai/responses?api-version=2025-04-01&k=s3cr3t",
			"https://x.openai.azure.com/openai/responses/compact?api-version=2025-04-01&k=s3cr3t", "https://x.openai.azure.com/openai/responses?…"},
		{"escapes", "https://h.example/a%2Fb/responses", "https://h.example/a%2Fb/responses", "https://h.example/a%2Fb/responses/compact", "https://h.example/a%2Fb/responses"},
		{"loopback", "http://127.0.0.1:8080/v1/responses", "http://127.0.0.1:8080/v1/responses", "http://127.0.0.1:8080/v1/responses/compact", "http://127.0.0.1:8080/v1/responses"},
		{"loopback_6", "http://[::1]:8080/r", "http://[::1]:8080/r", "http://[::1]:8080/r/compact", "http://[::1]:8080/r"},
		{"localhost", "http://localhost/r", "http://localhost/r", "http://localhost/r/compact", "http://localhost/r"},
		{"loopback_net", "http://127.8.8.8/r", "http://127.8.8.8/r", "http://127.8.8.8/r/compact", "http://127.8.8.8/r"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, err := ParseEndpoint(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.at(responsesPath).String(); got != tt.url || e.IsReplay() || e.Host() == "" {
				t.Errorf("got %s, want %s", got, tt.url)
			}
			if got := e.at(compactPath).String(); got != tt.compact {
				t.Errorf("compaction: got %s, want %s", got, tt.compact)
			}
			if got := e.String(); got != tt.text {
				t.Errorf("String: got %s, want %s", got, tt.text)
			}
		})
	}
	e, err := ParseEndpoint("replay:some dir/session.jsonl")
	if err != nil || !e.IsReplay() || e.Session != "some dir/session.jsonl" || e.Host() != "" || e.String() != "replay:some dir/session.jsonl" {
		t.Errorf("replay: got %+v, %v", e, err)
	}
}

func TestParseEndpointRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"no_session", "replay:", "names no session"},
		{"word", "openai", "not a full URL"},
		{"path", "/v1/responses", "not a full URL"},
		{"no_host", "https:///v1/responses", "not a full URL"},
		{"opaque", "https:api.openai.com/v1/responses", "not a full URL"},
		{"newline", "https://api.openai.com/v1/responses\n", "not a full URL"},
		{"space", "https://api.openai.com/v1/responses ", "not a full URL"},
		{"bad_escape", "https://h.example/%zz?s3cr3t", "not a full URL"},
		{"user", "https://s3cr3t:s3cr3t@h.example/r", "user or password"},
		{"fragment", "https://h.example/r#s3cr3t", "fragment"},
		{"empty_fragment", "https://h.example/r#", "fragment"},
		{"http", "http://api.openai.com/v1/responses", "show the key"},
		{"http_private", "http://10.0.0.1/v1/responses", "show the key"},
		{"http_alike", "http://127.0.0.1.evil.example/r", "show the key"},
		{"http_localhost_alike", "http://localhost.evil.example/r", "show the key"},
		{"scheme", "ftp://h.example/r", "scheme"},
		{"port", "https://h.example:99999/r", "port"},
		{"no_port", "https://h.example:/r", "port"},
		{"base_url", "https://api.openai.com/v1", "base URL"},
		{"base_url_slash", "https://api.openai.com/v1/", "base URL"},
		{"root", "https://api.openai.com", "base URL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, err := ParseEndpoint(tt.in)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "responses-api-endpoint: ") {
				t.Fatalf("got %+v, %v; want %q", e, err, tt.want)
			}
			if fault.KindOf(err) != fault.Request || fault.HintOf(err) == "" || strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("kind %v, hint %q, text %v", fault.KindOf(err), fault.HintOf(err), err)
			}
		})
	}
}

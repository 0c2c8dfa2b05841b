// Package artifacttest is a strict artifact service of GitHub's kind, version 4, with its blob
// store, for tests: both on loopback, at two addresses. It refuses what the real ones refuse, and
// fails the test on what no client of ours may send.
//
// It is not a service to keep things in: nothing expires, and nothing outlives the test.
package artifacttest

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/recibo-ci/recibo/pkg/digest"
)

// firstID is over 2^53: who reads ids as floating-point numbers gets them wrong.
const firstID = 9_007_199_254_740_993

// T is what the server needs of a *testing.T.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Cleanup(f func())
}

// Options say how the server differs from GitHub's as far as it is known.
type Options struct {
	// Decimal names run and job by numbers, as act does, and not by UUIDs.
	Decimal bool
	// Camel answers with fields in camelCase, as act does.
	Camel bool
	// Undigested leaves digests out of lists, as older servers do.
	Undigested bool
	// Refinalize takes a second, equal FinalizeArtifact, and answers as to the first. What GitHub
	// does is not published.
	Refinalize bool
	// AnyOrder takes blocks in any order of arrival, as Azure does. act appends them as they come.
	AnyOrder bool
	// Limit is how many artifacts a job may have; 0 is 500.
	Limit int
	// Dir is where blocks are written to; empty keeps them in memory.
	Dir string
}

// Artifact is an artifact that was announced.
type Artifact struct {
	ID        int64
	Name      string
	Finalized bool
	// ExpiresAt is as it was asked for, empty when it was not.
	ExpiresAt string
	Size      int64
	SHA       digest.SHA256
	// Zip is the content, unless it is in Options.Dir.
	Zip []byte
}

// Server is a running service.
type Server struct {
	// ResultsURL and Token are for ACTIONS_RESULTS_URL and ACTIONS_RUNTIME_TOKEN.
	ResultsURL, Token string

	t             T
	options       Options
	service, blob *httptest.Server
	run, job      string

	mu        sync.Mutex
	artifacts []*artifact
	faults    []*Fault
	calls     []string
	secrets   []string
}

// Start starts both servers. The test fails on a request that no client of ours may send, and on
// faults that nobody met.
func Start(t T, o Options) *Server {
	t.Helper()
	if o.Limit == 0 {
		o.Limit = 500
	}
	s := &Server{t: t, options: o, run: uuid(), job: uuid()}
	if o.Decimal {
		s.run, s.job = "42", "42"
	}
	s.Token = Token("Actions.ExampleScope Actions.Results:" + s.run + ":" + s.job)
	s.secrets = []string{s.Token}
	s.service = httptest.NewServer(serviceHandler{s})
	s.blob = httptest.NewServer(blobHandler{s})
	// The real one has a path too, and the service does not lie below it.
	s.ResultsURL = s.service.URL + "/results/"
	t.Cleanup(func() {
		s.service.Close()
		s.blob.Close()
		for _, f := range s.left() {
			t.Errorf("artifact service: %d of fault %s were not met", f.Times, f)
		}
	})
	return s
}

// Token is a runtime token with a scope claim.
func Token(scope string) string {
	claims, err := json.Marshal(map[string]any{"scp": scope, "ac": `[{"Scope":"","Permission":2}]`, "exp": 4102444800})
	if err != nil {
		panic(err)
	}
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + part(claims) + "." + part(random(32))
}

// Add gives the run a finalized artifact of another job, and returns its id.
func (s *Server) Add(name string, zip []byte) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.announce(uuid(), name, "")
	a.blocks = map[string]block{"": {data: zip, size: int64(len(zip))}}
	a.list, a.committed, a.Finalized = []string{""}, true, true
	a.Size, a.SHA = int64(len(zip)), digest.Of(zip)
	return a.ID
}

// Artifacts returns what was announced, in order.
func (s *Server) Artifacts() []Artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Artifact
	for _, a := range s.artifacts {
		if a.committed && s.options.Dir == "" {
			a.Zip = a.content()
		}
		out = append(out, a.Artifact)
	}
	return out
}

// Calls returns what was asked for, in order, faults included: the service's methods by name,
// PutBlock, PutBlockList and GetBlob.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.calls...)
}

// Secrets returns what must not be seen anywhere: the token, and each signature that was handed
// out, as it is and as it stands in the address.
func (s *Server) Secrets() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.secrets...)
}

func random(n int) []byte {
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		panic(err)
	}
	return b
}

func uuid() string {
	b := random(16)
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// sign returns a query with a new signature, which has characters that an address must escape.
func (s *Server) sign() string {
	plain := base64.StdEncoding.EncodeToString(append([]byte{0xfb, 0xff}, random(29)...))
	escaped := strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(plain)
	s.secrets = append(s.secrets, plain, escaped)
	// In an order, and with escapes, that no library would write again.
	return "sv=2025-11-05&sr=b&sig=" + escaped + "&se=2100-01-01T00%3a00:00Z&sp=rw"
}

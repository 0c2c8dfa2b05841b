package artifacttest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	servicePath = "/twirp/github.actions.results.api.v1.ArtifactService/"
	requestMax  = 1 << 20
	nameMax     = 255
)

// input is the union of the service's requests; fields says which belong to which.
type input struct {
	RunID      string `json:"workflow_run_backend_id"`
	JobID      string `json:"workflow_job_run_backend_id"`
	Name       string `json:"name"`
	ExpiresAt  string `json:"expires_at"`
	Version    int    `json:"version"`
	Size       string `json:"size"`
	Hash       string `json:"hash"`
	NameFilter string `json:"name_filter"`
	IDFilter   string `json:"id_filter"`
}

// fields are those of each request as the service's description has them, but for mime_type, on
// which act breaks.
func fields(method string) []string {
	ids := []string{"workflow_run_backend_id", "workflow_job_run_backend_id"}
	switch method {
	case "CreateArtifact":
		return append(ids, "name", "expires_at", "version")
	case "FinalizeArtifact":
		return append(ids, "name", "size", "hash")
	case "ListArtifacts":
		return append(ids, "name_filter", "id_filter")
	case "GetSignedArtifactURL":
		return append(ids, "name")
	default:
		return nil
	}
}

// refusal is an answer that is not 200. One that is expected does not fail the test.
type refusal struct {
	status    int
	code, msg string
	expected  bool
}

// never is what no client of ours may cause.
func never(status int, code, format string, args ...any) *refusal {
	return &refusal{status, code, fmt.Sprintf(format, args...), false}
}

func twirp(w http.ResponseWriter, status int, code, msg string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"code": code, "msg": msg})
}

type serviceHandler struct{ *Server }

// ServeHTTP answers a call of the service.
func (s serviceHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	method, ok := strings.CutPrefix(r.URL.Path, servicePath)
	if !ok || fields(method) == nil || r.Method != http.MethodPost {
		s.t.Errorf("artifact service: unexpected %s %s", r.Method, r.URL.Path)
		twirp(w, http.StatusNotFound, "bad_route", "no such method")
		return
	}
	s.serve(method, w, r, func(w http.ResponseWriter, r *http.Request) {
		out, refused := s.answer(method, r)
		if refused != nil {
			if !refused.expected {
				s.t.Errorf("artifact service: %s: %d %s: %s", method, refused.status, refused.code, refused.msg)
			}
			twirp(w, refused.status, refused.code, refused.msg)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(s.spell(out))
	})
}

func (s *Server) answer(method string, r *http.Request) (map[string]any, *refusal) {
	in, refused := s.read(method, r)
	if refused != nil {
		return nil, refused
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch method {
	case "CreateArtifact":
		return s.create(in)
	case "FinalizeArtifact":
		return s.finalize(in)
	case "ListArtifacts":
		return s.list(in)
	default:
		return s.signedURL(in)
	}
}

// read checks all that has nothing to do with what the run has.
func (s *Server) read(method string, r *http.Request) (input, *refusal) {
	switch auth := r.Header.Get("Authorization"); {
	case auth == "":
		return input{}, never(http.StatusUnauthorized, "unauthenticated", "no bearer token")
	case auth != "Bearer "+s.Token:
		return input{}, never(http.StatusUnauthorized, "unauthenticated", "not the job's bearer token")
	case r.Header.Get("Content-Type") != "application/json":
		return input{}, never(http.StatusNotFound, "bad_route", "unexpected Content-Type %q", r.Header.Get("Content-Type"))
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, requestMax))
	if err != nil {
		return input{}, never(http.StatusBadRequest, "malformed", "read request: %v", err)
	}
	in, err := decode(method, body)
	if err != nil {
		return input{}, never(http.StatusBadRequest, "malformed", "%v", err)
	}
	if method != "GetSignedArtifactURL" && (in.RunID != s.run || in.JobID != s.job) {
		return input{}, never(http.StatusForbidden, "permission_denied", "run %q and job %q are not the token's", in.RunID, in.JobID)
	}
	return in, nil
}

// decode takes exactly the fields of the method, spelled as they are.
func decode(method string, body []byte) (input, error) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil {
		return input{}, err
	}
	for name := range raw {
		if !slices.Contains(fields(method), name) {
			return input{}, fmt.Errorf("unknown field %q", name)
		}
	}
	var in input
	if err := json.Unmarshal(body, &in); err != nil {
		return input{}, err
	}
	if in.ExpiresAt != "" {
		if _, err := time.Parse(time.RFC3339, in.ExpiresAt); err != nil {
			return input{}, fmt.Errorf("expires_at %q is not a time", in.ExpiresAt)
		}
	}
	return in, nil
}

func checkName(name string) *refusal {
	switch {
	case name == "" || len(name) > nameMax:
		return never(http.StatusBadRequest, "invalid_argument", "a name has 1 to %d bytes", nameMax)
	case strings.ContainsAny(name, "\":<>|*?\\/\r\n"):
		return never(http.StatusBadRequest, "invalid_argument", "the artifact name %q is not valid", name)
	}
	return nil
}

// spell gives fields the server's spelling.
func (s *Server) spell(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, value := range v {
			out[s.spellName(name)] = s.spell(value)
		}
		return out
	case []any:
		for i := range v {
			v[i] = s.spell(v[i])
		}
	}
	return v
}

func (s *Server) spellName(snake string) string {
	if !s.options.Camel {
		return snake
	}
	first, rest, found := strings.Cut(snake, "_")
	for found {
		var word string
		word, rest, found = strings.Cut(rest, "_")
		first += strings.ToUpper(word[:1]) + word[1:]
	}
	return first
}

func quote(n int64) string { return strconv.FormatInt(n, 10) }

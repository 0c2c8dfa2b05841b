package artifact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
)

const (
	// scopeName opens the one scope that lets a job keep artifacts.
	scopeName = "Actions.Results:"
	tokenMax  = 64 << 10
	idMax     = 128
)

// backend names the run and the job to the service: UUIDs on GitHub, decimals on act.
type backend struct{ run, job string }

// parseToken reads the scope claim of a runtime token. The signature is the service's to check.
func parseToken(token string) (backend, error) {
	if token == "" {
		return backend{}, fmt.Errorf("%w: ACTIONS_RUNTIME_TOKEN is not set", ErrUnavailable)
	}
	parts := strings.Split(token, ".")
	if len(parts) != 3 || len(token) > tokenMax || strings.ContainsFunc(token, notPrintable) {
		return backend{}, fmt.Errorf("%w: ACTIONS_RUNTIME_TOKEN is not a JSON web token", ErrUnavailable)
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	if err != nil {
		return backend{}, fmt.Errorf("%w: the claims of ACTIONS_RUNTIME_TOKEN are not base64", ErrUnavailable)
	}
	var claims struct {
		Scope string `json:"scp"`
	}
	if err := json.Unmarshal(payload, &claims); err != nil {
		return backend{}, fmt.Errorf("%w: the claims of ACTIONS_RUNTIME_TOKEN cannot be read", ErrUnavailable)
	}
	return parseScope(claims.Scope)
}

func parseScope(scope string) (backend, error) {
	for one := range strings.FieldsSeq(scope) {
		ids, ok := strings.CutPrefix(one, scopeName)
		if !ok {
			continue
		}
		run, job, ok := strings.Cut(ids, ":")
		if ok && isID(run) && isID(job) {
			return backend{run, job}, nil
		}
	}
	return backend{}, fmt.Errorf("%w: ACTIONS_RUNTIME_TOKEN has no scope Actions.Results:RUN:JOB", ErrUnavailable)
}

func isID(s string) bool {
	return s != "" && len(s) <= idMax && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '-' && r != '_'
	})
}

// notPrintable finds what no header can hold.
func notPrintable(r rune) bool { return r <= ' ' || r > '~' }

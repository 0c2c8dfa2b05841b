package artifact

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// servicePath is where the service's methods lie (actions/toolkit, artifact.twirp-client).
const servicePath = "/twirp/github.actions.results.api.v1.ArtifactService/"

// protocol is the version of the artifacts that are made: a zip in staged blocks.
const protocol = 4

// The requests, in the names of the service's own description (results/api/v1/artifact.proto).
type (
	subject struct {
		RunID string `json:"workflow_run_backend_id"`
		JobID string `json:"workflow_job_run_backend_id"`
	}
	createRequest struct {
		subject
		Name      string `json:"name"`
		ExpiresAt string `json:"expires_at,omitempty"`
		Version   int    `json:"version"`
	}
	finalizeRequest struct {
		subject
		Name string `json:"name"`
		Size int64  `json:"size,string"`
		Hash string `json:"hash"`
	}
	listRequest struct {
		subject
		NameFilter string `json:"name_filter,omitempty"`
	}
	signRequest struct {
		subject
		Name string `json:"name"`
	}
)

func (b backend) subject() subject { return subject{b.run, b.job} }

// call asks the service once and again, as retry says; lost is retry's.
func (s *Service) call(ctx context.Context, method string, in any) (out answer, lost bool, err error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, false, err
	}
	lost, err = s.retry(ctx, func() error {
		out, err = s.post(ctx, method, body)
		return err
	})
	if err != nil {
		return nil, lost, explain(ctx, method, err)
	}
	return out, lost, nil
}

func (s *Service) post(ctx context.Context, method string, body []byte) (answer, error) {
	to := s.origin.JoinPath(servicePath, method)
	header := http.Header{}
	header.Set("Authorization", "Bearer "+s.token())
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json")
	res, err := s.exchange(ctx, request{http.MethodPost, to, header, body, answerMax, callTime})
	if err != nil {
		return nil, err
	}
	if err := s.judge(res, http.StatusOK, s.foreign(messageOf(res.body), to)); err != nil {
		return nil, err
	}
	out, err := parseAnswer(res.body)
	if err != nil {
		// Acted on, and the answer spoiled on its way: another try may bring a better one.
		return nil, &passingError{err: err, lost: true}
	}
	return out, nil
}

// messageOf is what an error answer says (twirp: code and msg).
func messageOf(body []byte) string {
	a, err := parseAnswer(body)
	if err != nil {
		return ""
	}
	msg, err := a.text("msg")
	if err != nil {
		return ""
	}
	return msg
}

// explain gives a failed call a kind and the next thing to do.
func explain(ctx context.Context, method string, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	hint := "run the job again; the files are still where they were written"
	switch statusOf(err) {
	case http.StatusNotFound, http.StatusNotImplemented:
		// A server without the service, which its runners' environment does not show.
		if method == "CreateArtifact" || method == "ListArtifacts" {
			return fmt.Errorf("%w: %s: %w", ErrUnavailable, method, err)
		}
	case http.StatusUnauthorized:
		hint = "run the job again: its runtime token is not taken, or no longer"
	case http.StatusForbidden:
		hint = "look at the artifact storage of the account under billing, then run the job again"
	}
	return fault.New(fault.Remote, hint, "%s: %w", method, err)
}

// signed is an address of the blob store that the service handed out. It holds a signature.
func (s *Service) signed(out answer, field string) (*url.URL, error) {
	text, err := out.text(field)
	if err != nil {
		return nil, fault.New(fault.Remote, "run the job again", "%w", err)
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Scheme != "https" && u.Scheme != s.origin.Scheme {
		return nil, fault.New(fault.Remote, "run the job again", "read %s: not an address to send files to", field)
	}
	for _, secret := range signaturesOf(u) {
		s.mask(secret)
	}
	return u, nil
}

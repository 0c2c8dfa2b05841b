package artifact

import (
	"context"
	"fmt"
	"strings"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// Listed is an artifact that the run has.
type Listed struct {
	ID   int64
	Name string
	// Size is the zip's in bytes, as the service tells it.
	Size int64
	// SHA is the zip's; the zero value where the service does not tell.
	SHA digest.SHA256

	backend backend
}

// List returns the finalized artifacts of the run, of all its jobs, in the service's order.
func (s *Service) List(ctx context.Context) ([]Listed, error) { return s.list(ctx, "") }

// list returns those of one name, or all for "".
func (s *Service) list(ctx context.Context, name string) ([]Listed, error) {
	out, _, err := s.call(ctx, "ListArtifacts", listRequest{s.backend.subject(), name})
	if err != nil {
		return nil, err
	}
	found, err := parseList(out)
	if err != nil {
		return nil, fault.New(fault.Remote, "run the job again", "ListArtifacts: %w", err)
	}
	return found, nil
}

func parseList(out answer) ([]Listed, error) {
	items, err := out.list("artifacts")
	if err != nil {
		return nil, err
	}
	var found []Listed
	for n, item := range items {
		l, err := parseListed(item)
		if err != nil {
			return nil, fmt.Errorf("artifact %d: %w", n+1, err)
		}
		found = append(found, l)
	}
	return found, nil
}

func parseListed(item answer) (l Listed, err error) {
	if l.ID, err = idOf(item, "database_id"); err != nil {
		return Listed{}, err
	}
	if l.Name, err = item.text("name"); err != nil {
		return Listed{}, err
	}
	if l.Size, err = item.number("size"); err != nil {
		return Listed{}, err
	}
	if l.backend.run, err = item.text("workflow_run_backend_id"); err != nil {
		return Listed{}, err
	}
	if l.backend.job, err = item.text("workflow_job_run_backend_id"); err != nil {
		return Listed{}, err
	}
	sum, err := item.text("digest")
	if err != nil {
		return Listed{}, err
	}
	if hex, ok := strings.CutPrefix(sum, "sha256:"); ok {
		l.SHA, err = digest.Parse(hex)
	}
	return l, err
}

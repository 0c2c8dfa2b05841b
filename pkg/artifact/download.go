package artifact

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// Download returns the zip of the run's newest artifact of this name, of any of its jobs; over
// limit bytes is an error. Where the service tells a digest, the bytes have it. What is in the zip
// is somebody else's: see Unzip.
func (s *Service) Download(ctx context.Context, name string, limit int64) ([]byte, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	data, err := s.download(ctx, name, limit)
	if err != nil {
		return nil, fmt.Errorf("download artifact %q: %w", name, err)
	}
	return data, nil
}

func (s *Service) download(ctx context.Context, name string, limit int64) ([]byte, error) {
	found, err := s.list(ctx, name)
	if err != nil {
		return nil, err
	}
	var newest Listed
	for _, l := range found {
		if l.Name == name && l.ID > newest.ID {
			newest = l
		}
	}
	if newest.ID == 0 {
		return nil, fault.New(fault.Request, "name an artifact that this run has kept", "the run has none of this name")
	}
	out, _, err := s.call(ctx, "GetSignedArtifactURL", signRequest{newest.backend.subject(), name})
	if err != nil {
		return nil, err
	}
	from, err := s.signed(out, "signed_url")
	if err != nil {
		return nil, err
	}
	data, err := s.fetch(ctx, from, limit)
	if err != nil {
		return nil, remote(ctx, err, "fetch it: %w", err)
	}
	if got := digest.Of(data); !newest.SHA.IsZero() && got != newest.SHA {
		return nil, fault.New(fault.Remote, "run the job again", "its digest is %s, and not %s as the service says", got, newest.SHA)
	}
	return data, nil
}

// fetch reads a blob. A blob that breaks off is fetched again from its start.
func (s *Service) fetch(ctx context.Context, from *url.URL, limit int64) (data []byte, err error) {
	_, err = s.retry(ctx, func() error {
		res, err := s.exchange(ctx, request{http.MethodGet, from, nil, nil, limit, blobTime})
		if err != nil {
			return err
		}
		data = res.body
		return s.judge(res, http.StatusOK, s.foreign(res.header.Get("x-ms-error-code"), from))
	})
	return data, err
}

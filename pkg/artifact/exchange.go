package artifact

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/recibo-ci/recibo/pkg/disk"
)

const (
	// callTime bounds one try of a call, blobTime one try of sending a block or fetching a blob.
	callTime = time.Minute
	blobTime = 5 * time.Minute
	// answerMax bounds an answer in bytes: a list of all artifacts of a run fits.
	answerMax = 4 << 20
)

// request is one thing to send. Its body can be sent again.
type request struct {
	method string
	to     *url.URL
	header http.Header
	body   []byte
	// max bounds the answer's body in bytes, patience the whole exchange.
	max      int64
	patience time.Duration
}

// response is an answer, read to its end.
type response struct {
	status int
	header http.Header
	body   []byte
}

// exchange sends r once. When no whole answer came the error is a *passingError, and nothing of
// the address, which may hold a signature, is in it.
func (s *Service) exchange(ctx context.Context, r request) (response, error) {
	ctx, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, r.to.String(), bytes.NewReader(r.body))
	if err != nil {
		return response{}, fmt.Errorf("the address at %s cannot be used", r.to.Host)
	}
	maps.Copy(req.Header, r.header)
	req.Header.Set("User-Agent", "recibo")
	req.Header.Set("Accept-Encoding", "identity")
	res, err := s.client.Do(req)
	if err != nil {
		return response{}, s.broken(err, r)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, r.max+1))
	if err != nil {
		return response{}, s.broken(fmt.Errorf("the answer broke off: %w", err), r)
	}
	if int64(len(body)) > r.max {
		return response{}, fmt.Errorf("the answer of %s: %w of %d bytes", r.to.Host, disk.ErrTooLarge, r.max)
	}
	return response{res.StatusCode, res.Header, body}, nil
}

// broken says why no answer came, in words only: the libraries' errors hold the address, and what
// they wrap could be printed by anyone.
func (s *Service) broken(err error, r request) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	words := errors.New(s.scrub(err.Error(), r.to))
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return words
	}
	if errors.Is(err, context.DeadlineExceeded) {
		words = fmt.Errorf("no answer within %s", r.patience)
	}
	return &passingError{err: words, lost: true}
}

package artifact

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// tries, firstWait and waitGrowth are those of GitHub's own client.
	tries      = 5
	firstWait  = 3 * time.Second
	waitGrowth = 1.5
	// longestWait bounds what Retry-After may ask for: a job that waits costs money too.
	longestWait = 2 * time.Minute
)

// passingError is an error that another try may mend.
type passingError struct {
	err error
	// after is how long the other side asked to wait.
	after time.Duration
	// lost means that the request may have been acted on, although no answer says so.
	lost bool
}

func (e *passingError) Error() string { return e.err.Error() }
func (e *passingError) Unwrap() error { return e.err }

// retry calls once up to five times, as long as it returns a *passingError. lost says that at
// least one try may have been acted on without our knowing.
func (s *Service) retry(ctx context.Context, once func() error) (lost bool, err error) {
	for n := 1; ; n++ {
		err := once()
		passing, ok := errors.AsType[*passingError](err)
		lost = lost || ok && passing.lost
		if ctx.Err() != nil && err != nil {
			return lost, context.Cause(ctx)
		}
		if !ok {
			return lost, err
		}
		if n == tries {
			return lost, fmt.Errorf("%d tries: %w", tries, passing.err)
		}
		if passing.after > longestWait {
			return lost, fmt.Errorf("%w (asked to wait %s)", passing.err, passing.after)
		}
		if err := s.sleep(ctx, max(s.backoff(n), passing.after)); err != nil {
			return lost, err
		}
	}
}

// backoff is the wait after the n-th try, from 1: growing, and spread so that jobs that failed
// together do not come back together.
func (s *Service) backoff(n int) time.Duration {
	wait := float64(firstWait)
	for range n - 1 {
		wait *= waitGrowth
	}
	return time.Duration(wait * (1 + (waitGrowth-1)*s.jitter()))
}

// statusError is an answer of another status than asked for.
type statusError struct {
	status int
	// code is the other side's own word for it, quoted; it may be empty.
	code string
}

func (e *statusError) Error() string {
	text := strings.TrimSpace(fmt.Sprintf("%d %s", e.status, http.StatusText(e.status)))
	if e.code == "" {
		return text
	}
	return text + ": " + e.code
}

// statusOf is the status that err is about, or 0.
func statusOf(err error) int {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status
	}
	return 0
}

// judge turns an answer of another status than want into an error.
func (s *Service) judge(res response, want int, code string) error {
	if res.status == want {
		return nil
	}
	err := &statusError{res.status, code}
	switch {
	case res.status == http.StatusTooManyRequests:
		return &passingError{err: err, after: retryAfter(res.header.Get("Retry-After"), s.now())}
	case res.status >= 500 && res.status != http.StatusNotImplemented:
		return &passingError{err: err, after: retryAfter(res.header.Get("Retry-After"), s.now()), lost: true}
	default:
		return err
	}
}

// retryAfter reads a Retry-After header: seconds or a date (RFC 9110, 10.2.3). What cannot be
// read, or has passed, is no wait.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

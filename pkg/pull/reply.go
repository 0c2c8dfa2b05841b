package pull

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v66/github"
)

// limitHeaders are those by which go-github decides on its own, by the wall clock, to refuse later
// calls or to wait. They are kept under other names.
var limitHeaders = [...]string{"Retry-After", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"}

const kept = "Recibo-"

// frank is a transport that hides rate limits from go-github, so that every call is made and its
// answer is judged here. It also hides a method of oauth2's transport that does nothing but log.
type frank struct{ base http.RoundTripper }

// RoundTrip is that of base.
func (f frank) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := f.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	for _, h := range limitHeaders {
		resp.Header.Del(kept + h)
		if v := resp.Header.Get(h); v != "" {
			resp.Header.Set(kept+h, v)
		}
		resp.Header.Del(h)
	}
	return resp, nil
}

// verdict is what an answer means for the call.
type verdict int

const (
	// done means that it was done.
	done verdict = iota
	// unsure means that it may have been done or not: no answer, half of one, or a 5xx.
	unsure
	// limited means that it was not done, and may be after a wait.
	limited
	// claimed means that the account has another pending review.
	claimed
	// refused means that GitHub does not take it as it is.
	refused
	// missing means that what it is about is not there.
	missing
	readOnly
	locked
	// forbidden is every other answer that no repetition mends.
	forbidden
)

// reply is a verdict with what goes with it.
type reply struct {
	verdict verdict
	status  int
	wait    time.Duration
	err     error
}

// judge reads what go-github made of an answer.
func judge(err error, now time.Time) reply {
	if err == nil {
		return reply{verdict: done}
	}
	out := reply{verdict: unsure, err: err}
	resp, text := response(err)
	if resp == nil {
		return out
	}
	out.status = resp.StatusCode
	if wait, ok := limitOf(resp, text, now); ok {
		out.verdict, out.wait = limited, wait
		return out
	}
	switch status := resp.StatusCode; {
	case status >= 500, status == http.StatusRequestTimeout:
	case status == http.StatusForbidden && strings.Contains(text, "not accessible"):
		out.verdict = readOnly
	case status == http.StatusForbidden && strings.Contains(text, "locked"):
		out.verdict = locked
	case status == http.StatusUnprocessableEntity && strings.Contains(text, "one pending review"):
		out.verdict = claimed
	case status == http.StatusUnprocessableEntity:
		out.verdict = refused
	case status == http.StatusNotFound:
		out.verdict = missing
	default:
		out.verdict = forbidden
	}
	return out
}

// response returns GitHub's answer and its messages in lower case.
func response(err error) (*http.Response, string) {
	if e, ok := errors.AsType[*github.AbuseRateLimitError](err); ok {
		return e.Response, strings.ToLower(e.Message)
	}
	e, ok := errors.AsType[*github.ErrorResponse](err)
	if !ok || e.Response == nil {
		return nil, ""
	}
	text := e.Message
	for _, one := range e.Errors {
		text += "\n" + one.Message
	}
	return e.Response, strings.ToLower(text)
}

// limitOf reports whether an answer is a rate limit, and how long GitHub asks to wait
// (docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api): Retry-After, else the
// reset when nothing remains, else a minute.
func limitOf(resp *http.Response, text string, now time.Time) (time.Duration, bool) {
	if resp.StatusCode != http.StatusForbidden && resp.StatusCode != http.StatusTooManyRequests {
		return 0, false
	}
	after := resp.Header.Get(kept + "Retry-After")
	if s, err := strconv.Atoi(after); err == nil && s >= 0 {
		return time.Duration(s) * time.Second, true
	}
	if at, err := http.ParseTime(after); err == nil {
		return max(0, at.Sub(now)), true
	}
	if resp.Header.Get(kept+"X-Ratelimit-Remaining") == "0" {
		if s, err := strconv.ParseInt(resp.Header.Get(kept+"X-Ratelimit-Reset"), 10, 64); err == nil {
			return max(0, time.Unix(s, 0).Sub(now)), true
		}
	}
	return time.Minute, resp.StatusCode == http.StatusTooManyRequests || strings.Contains(text, "rate limit")
}

// ended reports whether err is the end of ctx rather than a fault of the call.
func ended(ctx context.Context) bool { return ctx.Err() != nil }

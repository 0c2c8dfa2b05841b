package artifact

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/internal/artifacttest"
	"github.com/recibo-ci/recibo/pkg/fault"
)

func TestRetryAfterHeader(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 27, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, " 7 ": 7 * time.Second, "-7": 0, "7.5": 0, "soon": 0, "99999999999999999999": 0,
		"Fri, 27 Feb 2026 12:00:30 GMT": 30 * time.Second, "Fri, 27 Feb 2026 11:00:00 GMT": 0,
	} {
		if got := retryAfter(value, now); got != want {
			t.Errorf("%q: got %s, want %s", value, got, want)
		}
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, s := range []string{"7", "Fri, 27 Feb 2026 12:00:30 GMT", "Sat, 31 Dec 9999 23:59:59 GMT", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if got := retryAfter(value, time.Unix(0, 0)); got < 0 {
			t.Errorf("%q: a wait of %s", value, got)
		}
	})
}

func TestBackoffGrowsAndIsSpread(t *testing.T) {
	t.Parallel()
	jitter := 0.0
	s := &Service{jitter: func() float64 { return jitter }}
	previous := time.Duration(0)
	for n := 1; n < tries; n++ {
		jitter = 0
		low := s.backoff(n)
		jitter = 0.999
		high := s.backoff(n)
		if low < previous || high <= low || high > 16*time.Second {
			t.Errorf("wait %d: %s to %s after %s", n, low, high, previous)
		}
		previous = high - time.Second/50
	}
}

// waits are the backoffs without jitter.
var waits = []time.Duration{3 * time.Second, 4500 * time.Millisecond, 6750 * time.Millisecond, 10125 * time.Millisecond}

func TestPassingFaultsAreSatOut(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"CreateArtifact", "PutBlock", "PutBlockList", "FinalizeArtifact"} {
		for _, status := range []int{429, 500, 502, 503, 504, 599} {
			t.Run(fmt.Sprint(call, "_", status), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, artifacttest.Options{})
				w.Break(artifacttest.Fault{Call: call, Kind: artifacttest.Refuse, Status: status, Times: tries - 1})
				got, err := w.Upload(t.Context(), oneFile("a"))
				if err != nil || got.Name != "a" {
					t.Fatalf("got %+v, %v", got, err)
				}
				if diff := cmp.Diff(waits, w.waits); diff != "" {
					t.Errorf("waits (-want +got):\n%s", diff)
				}
				if a := w.Artifacts()[0]; !a.Finalized || a.SHA != got.SHA {
					t.Errorf("the service has %+v, want %s", a, got.SHA)
				}
			})
		}
	}
}

func TestDroppedBeforeActing(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"CreateArtifact", "PutBlock", "PutBlockList", "FinalizeArtifact"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, artifacttest.Options{})
			w.Break(artifacttest.Fault{Call: call, Kind: artifacttest.DropBefore, Times: 2})
			got, err := w.Upload(t.Context(), oneFile("a"))
			if err != nil || got.Name != "a" || len(w.waits) != 2 {
				t.Errorf("got %+v, %v after waits %v", got, err, w.waits)
			}
		})
	}
}

func TestLastingFaults(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"CreateArtifact", "PutBlock", "PutBlockList", "FinalizeArtifact"} {
		for _, tt := range []struct {
			status, times int
			hint          string
		}{
			{429, tries, "run the job again"}, {503, tries, "run the job again"},
			{400, 1, "run the job again"}, {401, 1, "run the job again"}, {403, 1, "then run the job again"}, {410, 1, "run the job again"},
			{422, 1, "run the job again"}, {302, 1, "run the job again"}, {204, 1, "run the job again"},
		} {
			t.Run(fmt.Sprint(call, "_", tt.status), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, artifacttest.Options{})
				w.Break(artifacttest.Fault{Call: call, Kind: artifacttest.Refuse, Status: tt.status, Times: tt.times, Message: "no\n::error::way"})
				got, err := w.Upload(t.Context(), oneFile("a"))
				if fault.KindOf(err) != fault.Remote || statusOf(err) != tt.status || got != (Uploaded{}) {
					t.Fatalf("got %+v, %v, want a remote fault with %d", got, err, tt.status)
				}
				if hint := fault.HintOf(err); !strings.Contains(hint, tt.hint) {
					t.Errorf("hint: got %q, want %q in it", hint, tt.hint)
				}
				if text := err.Error(); !strings.HasPrefix(text, `upload artifact "a": `) || strings.Contains(text, "\n") {
					t.Errorf("error: got %q", text)
				}
				// Only a finalize that may have been taken is looked up.
				if looked := slices.Contains(w.Calls(), "ListArtifacts"); looked != (call == "FinalizeArtifact" && tt.status == 503) {
					t.Errorf("calls: got %v", w.Calls())
				}
				if len(w.waits) != tt.times-1 {
					t.Errorf("waits: got %v, want %d", w.waits, tt.times-1)
				}
				w.holdsNoSecret(t, err)
			})
		}
	}
}

func TestRetryAfterIsHeeded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, after string
		status      int
		want        []time.Duration
	}{
		{"longer_than_ours", "60", 429, []time.Duration{time.Minute}},
		{"shorter_than_ours", "1", 429, []time.Duration{3 * time.Second}},
		{"on_503", "60", 503, []time.Duration{time.Minute}},
		{"date", "Fri, 27 Feb 2026 12:01:30 GMT", 429, []time.Duration{90 * time.Second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, artifacttest.Options{})
			w.Break(artifacttest.Fault{Call: "CreateArtifact", Kind: artifacttest.Refuse, Status: tt.status, RetryAfter: tt.after})
			if _, err := w.Upload(t.Context(), oneFile("a")); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, w.waits); diff != "" {
				t.Errorf("waits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTooLongARetryAfterIsNotSatOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, artifacttest.Options{})
	w.Break(artifacttest.Fault{Call: "CreateArtifact", Kind: artifacttest.Refuse, Status: 429, RetryAfter: "3600"})
	_, err := w.Upload(t.Context(), oneFile("a"))
	if statusOf(err) != 429 || !strings.Contains(err.Error(), "asked to wait 1h0m0s") || len(w.waits) != 0 {
		t.Errorf("got %v after waits %v", err, w.waits)
	}
}

func TestNoService(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 501} {
		w := newWorld(t, artifacttest.Options{})
		w.Break(artifacttest.Fault{Call: "CreateArtifact", Kind: artifacttest.Refuse, Status: status},
			artifacttest.Fault{Call: "ListArtifacts", Kind: artifacttest.Refuse, Status: status},
			artifacttest.Fault{Call: "FinalizeArtifact", Kind: artifacttest.Refuse, Status: status})
		if _, err := w.Upload(t.Context(), oneFile("a")); !errors.Is(err, ErrUnavailable) {
			t.Errorf("create, %d: got %v, want ErrUnavailable", status, err)
		}
		if _, err := w.List(t.Context()); !errors.Is(err, ErrUnavailable) {
			t.Errorf("list, %d: got %v, want ErrUnavailable", status, err)
		}
		if _, err := w.Upload(t.Context(), oneFile("a")); errors.Is(err, ErrUnavailable) || fault.KindOf(err) != fault.Remote {
			t.Errorf("finalize, %d: got %v, want a remote fault: the service was there", status, err)
		}
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"CreateArtifact", "PutBlock", "PutBlockList", "FinalizeArtifact"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, artifacttest.Options{})
			reached, cause := make(chan struct{}), errors.New("the run is over")
			w.Break(artifacttest.Fault{Call: call, Kind: artifacttest.Hang, Reached: reached})
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() { <-reached; cancel(cause) }()
			_, err := w.Upload(ctx, oneFile("a"))
			if !errors.Is(err, cause) || fault.KindOf(err) != 0 || len(w.waits) != 0 || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v (kind %d) after waits %v, want the cause at once", err, fault.KindOf(err), w.waits)
			}
			w.holdsNoSecret(t, err)
		})
	}
}

func TestCancelledWhileWaiting(t *testing.T) {
	t.Parallel()
	cause := errors.New("the run is over")
	w := newWorld(t, artifacttest.Options{}, func(c *Config) {
		c.Sleep = func(context.Context, time.Duration) error { return cause }
	})
	w.Break(artifacttest.Fault{Call: "CreateArtifact", Kind: artifacttest.Refuse, Status: 503})
	if _, err := w.Upload(t.Context(), oneFile("a")); !errors.Is(err, cause) {
		t.Errorf("got %v, want %v", err, cause)
	}
}

func TestSilenceIsRetried(t *testing.T) {
	t.Parallel()
	asked := 0
	w := newWorld(t, artifacttest.Options{}, func(c *Config) {
		c.Transport = transport(func(*http.Request) (*http.Response, error) {
			asked++
			return nil, context.DeadlineExceeded
		})
	})
	_, err := w.Upload(t.Context(), oneFile("a"))
	if asked != tries || err == nil || !strings.Contains(err.Error(), "no answer within 1m0s") || fault.KindOf(err) != fault.Remote {
		t.Errorf("got %v after %d tries", err, asked)
	}
}

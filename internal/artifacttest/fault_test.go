package artifacttest

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// try asks for an artifact and says what came: the status, or why there is none.
func (c raw) try(ctx context.Context) (string, http.Header) {
	body := `{"workflow_run_backend_id":"` + c.run + `","workflow_job_run_backend_id":"` + c.job + `","name":"a","version":4}`
	req, err := http.NewRequestWithContext(ctx, "POST", c.service.URL+servicePath+"CreateArtifact", strings.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if errors.Is(err, context.Canceled) {
		return "canceled", nil
	}
	if err != nil {
		return "no answer", nil
	}
	defer res.Body.Close()
	if _, err := io.ReadAll(res.Body); err != nil {
		return res.Status + ", cut", res.Header
	}
	return res.Status, res.Header
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		fault Fault
		want  []string
		acted bool
	}{
		{"dropped_before", Fault{Kind: DropBefore}, []string{"no answer", "200 OK"}, false},
		{"dropped_after", Fault{Kind: DropAfter}, []string{"no answer", "409 Conflict"}, true},
		{"cut", Fault{Kind: Cut}, []string{"200 OK, cut", "409 Conflict"}, true},
		{"refused", Fault{Kind: Refuse, Status: 503}, []string{"503 Service Unavailable", "200 OK"}, false},
		{"refused_twice", Fault{Kind: Refuse, Status: 500, Times: 2}, []string{"500 Internal Server Error", "500 Internal Server Error", "200 OK"}, false},
		{"refused_later", Fault{Kind: Refuse, Status: 429, Skip: 1}, []string{"200 OK", "429 Too Many Requests", "409 Conflict"}, true},
		{"refused_after", Fault{Kind: RefuseAfter, Status: 502}, []string{"502 Bad Gateway", "409 Conflict"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := raw{t, Start(t, Options{})}
			tt.fault.Call = "CreateArtifact"
			c.Break(tt.fault)
			var got []string
			for n := range tt.want {
				if n == 1 && tt.acted != (len(c.Artifacts()) == 1) {
					t.Errorf("after the first try %d artifacts, acted %v", len(c.Artifacts()), tt.acted)
				}
				status, _ := c.try(t.Context())
				got = append(got, status)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHang(t *testing.T) {
	t.Parallel()
	c := raw{t, Start(t, Options{})}
	reached := make(chan struct{})
	c.Break(Fault{Call: "CreateArtifact", Kind: Hang, Reached: reached})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	if got, _ := c.try(ctx); got != "canceled" {
		t.Errorf("got %q, want no answer until the client gives up", got)
	}
	if n := len(c.Artifacts()); n != 0 {
		t.Errorf("%d artifacts, want nothing done", n)
	}
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	c := raw{t, Start(t, Options{})}
	c.Break(Fault{Call: "CreateArtifact", Kind: Refuse, Status: 429, RetryAfter: "7"})
	status, header := c.try(t.Context())
	if got := header.Get("Retry-After"); status != "429 Too Many Requests" || got != "7" {
		t.Errorf("got %q, Retry-After %q", status, got)
	}
}

func TestUnmetFaultsAreComplaints(t *testing.T) {
	t.Parallel()
	r := &Recorder{}
	c := raw{t, Start(r, Options{})}
	c.Break(Fault{Call: "CreateArtifact", Kind: Refuse, Status: 500, Times: 2}, Fault{Call: "GetBlob", Kind: Cut})
	c.try(t.Context())
	got, want := r.Finish(), []string{"1 of fault CreateArtifact refused with 500", "1 of fault GetBlob answer cut"}
	if !slices.EqualFunc(got, want, strings.Contains) {
		t.Errorf("complaints: got %q, want %q", got, want)
	}
}

func TestUnknownFaultIsAComplaint(t *testing.T) {
	t.Parallel()
	r := &Recorder{}
	c := raw{t, Start(r, Options{})}
	c.Break(Fault{Call: "CreateArtifact", Kind: "odd"})
	if got, _ := c.try(t.Context()); got != "no answer" {
		t.Errorf("got %q, want no answer", got)
	}
	if got := r.Finish(); len(got) != 1 || !strings.Contains(got[0], "unknown kind") {
		t.Errorf("complaints: got %q", got)
	}
}

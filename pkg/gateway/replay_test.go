package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/wire"
)

type seen struct {
	Status      int
	ContentType string
	Body        string
	Cut         bool
}

// tell posts the same request n times and returns what a client sees.
func tell(t *testing.T, r *running, n int) []seen {
	t.Helper()
	var out []seen
	for range n {
		res, err := http.Post(r.BaseURL()+"/responses", "application/json", strings.NewReader(ask))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		out = append(out, seen{res.StatusCode, res.Header.Get("Content-Type"), string(body), err != nil})
	}
	return out
}

// A session that was recorded answers as upstream did.
func TestRecordThenReplay(t *testing.T) {
	t.Parallel()
	half := reply[:strings.Index(reply, "event: response.completed")]
	bad := `{"error":{"message":"slow <down>","code":"rate"}}`
	recorded := start(t, upstream(t, streams(reply), says(429, "application/json", bad), hangup("text/event-stream", half), streams(reply), streams("data: [DONE]\n\n"),
		func(w http.ResponseWriter, r *http.Request) { panic(http.ErrAbortHandler) }))
	want := tell(t, recorded, 6)
	records := recorded.close()
	if want[0].Body != reply || want[1].Body != bad || !want[2].Cut || want[2].Body != half || want[5].Status != 502 {
		t.Fatalf("the recorded run: %+v", want)
	}

	rt, header, err := Replay(strings.NewReader(recorded.session.String()))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wire.Header{Version: 1, Origin: wire.Recorded, CodexVersion: "0.171.0", Model: "m", PromptSHA: digest.Of([]byte("p"))}, header); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	again := start(t, rt)
	got := tell(t, again, 7)
	if diff := cmp.Diff(want, got[:6]); diff != "" {
		t.Errorf("replayed (-want +got):\n%s", diff)
	}
	if past := got[6]; past.Status != 400 || !strings.Contains(past.Body, "the recorded session has no answer for request 7") {
		t.Errorf("past the end: %+v", past)
	}
	for i, rec := range again.close()[:5] {
		a, b := *records[i].Response, *rec.Response
		if a.SHA != b.SHA || !cmp.Equal(a.Summary, b.Summary) || a.Cut != b.Cut || a.Bytes != b.Bytes {
			t.Errorf("record %d: got %+v, want %+v", i+1, b, a)
		}
	}
	// Replaying is recording again, but for the requests that came past the end.
	lines := strings.SplitAfter(again.session.String(), "\n")
	if got := strings.Join(lines[:7], ""); got != recorded.session.String() {
		t.Errorf("session of the replay:\n%s\nwant\n%s", got, recorded.session.String())
	}
}

func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "{}\n", scripted + "{\"n\":2}\n", scripted + "x"} {
		rt, header, err := Replay(strings.NewReader(text))
		if err == nil || rt != nil || header != (wire.Header{}) || fault.KindOf(err) != fault.Request || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: got %v, %v, %v", text, rt, header, err)
		}
	}
}

var scripted = `{"session":1,"origin":"scripted","codex_version":"0.171.0","model":"m","prompt_sha":"` + strings.Repeat("0a", 32) + `"}` + "\n"

func TestReplayOfAScript(t *testing.T) {
	t.Parallel()
	event := `{"type":"response.completed","response":{"model":"<m>", "usage":{"input_tokens":1,"output_tokens":2}}}`
	rt, header, err := Replay(strings.NewReader(scripted + `{"n":1,"request":null,"response":{"status":200,"content_type":"text/event-stream","events":[` + event + `]}}` + "\n"))
	if err != nil || header.Origin != wire.Scripted {
		t.Fatalf("header %+v, %v", header, err)
	}
	r := start(t, rt)
	got := tell(t, r, 1)
	want := seen{200, "text/event-stream", "event: response.completed\ndata: " + event + "\n\n", false}
	if got[0] != want {
		t.Errorf("got %+v, want %+v", got[0], want)
	}
	if r.close(); r.Usage().Total != 3 {
		t.Errorf("usage %+v", r.Usage())
	}
}

type failing struct{ after int }

func (f *failing) Write(p []byte) (int, error) {
	f.after--
	if f.after < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

// A session that cannot be written is told at the end and stops nothing.
func TestSessionCannotBeWritten(t *testing.T) {
	t.Parallel()
	for after := range 3 {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			t.Parallel()
			r := start(t, upstream(t, streams(reply), streams(reply)), func(c *Config) { c.Session = &failing{after} })
			for _, got := range tell(t, r, 2) {
				if got.Status != 200 || got.Body != reply {
					t.Errorf("got %+v", got)
				}
			}
			if err := r.Close(t.Context()); err == nil || !strings.Contains(err.Error(), "write session: disk full") {
				t.Errorf("Close: got %v", err)
			}
			if len(r.records) != 2 {
				t.Errorf("records: %+v", r.records)
			}
		})
	}
}

// An answer too large to keep ends the session instead of leaving a hole in it.
func TestSessionIsBounded(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	rec := &recorder{out: &out}
	req := mustParse(t, ask)
	large := &kept{status: 200}
	part := make([]byte, 1<<20)
	for range maxKept>>20 + 1 {
		large.Write(part)
	}
	if large.body != nil || large.left == 0 {
		t.Errorf("holds %d bytes, left %d", len(large.body), large.left)
	}
	rec.write(&exchange{req: req, reply: &kept{status: 200}})
	rec.write(&exchange{req: req, reply: large})
	rec.write(&exchange{req: req, reply: &kept{status: 200}})
	if err := rec.close(); err == nil || !strings.Contains(err.Error(), "answer 2 is over") {
		t.Errorf("close: %v", err)
	}
	if got := strings.Count(out.String(), "\n"); got != 2 {
		t.Errorf("got %d lines, want header and one exchange", got)
	}
}

// Without a session no bodies are kept.
func TestNoSession(t *testing.T) {
	t.Parallel()
	r := start(t, upstream(t, streams(reply)), func(c *Config) { c.Session = nil })
	if got := tell(t, r, 1); got[0].Body != reply {
		t.Errorf("got %+v", got)
	}
	if rec := r.only(); rec.Response.Usage == nil || r.session.Len() != 0 {
		t.Errorf("record %+v, session %q", rec, r.session.String())
	}
}

package wire

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
)

const header = `{"session":1,"origin":"scripted","codex_version":"0.171.0","model":"gpt-6.2-sol","prompt_sha":"4bc3f0b93012150c5774a12ea9824d331bb932fc53cedb45f84433477e68f979"}`

func line(n, response string) string {
	return `{"n":` + n + `,"request":null,"response":` + response + `}`
}

const stop = `{"status":200,"content_type":"text/event-stream","events":[{"type":"response.completed"}]}`

func readAll(text string) (Header, []Exchange, error) {
	s, err := ReadSession(strings.NewReader(text))
	if err != nil {
		return Header{}, nil, err
	}
	var out []Exchange
	for {
		e, err := s.Next()
		if errors.Is(err, io.EOF) {
			return s.Header, out, nil
		}
		if err != nil {
			return s.Header, out, err
		}
		out = append(out, e)
	}
}

func TestSessionRoundTrip(t *testing.T) {
	t.Parallel()
	head := Header{Version: 1, Origin: Recorded, CodexVersion: "0.171.0", Model: "m", PromptSHA: digest.Of([]byte("p"))}
	want := []Exchange{
		{N: 1, Request: &Sent{Method: "POST", Path: "/v1/responses", Body: json.RawMessage(`{ "b":1.0, "a":"<\u00e9>é" }`)},
			Response: Reply{Status: 200, ContentType: "text/event-stream; charset=utf-8", Events: []json.RawMessage{
				json.RawMessage(`{"type":"a", "x": [ 1e2 ] ,"t":"\n\u0000 </script>"}`), json.RawMessage(`{"type":"b"}`)}}},
		{N: 2, Response: Reply{Status: 400, ContentType: "application/json", Body: "{\"error\":\n\"\x00\\\u2028\"}"}},
		{N: 3, Response: Reply{Status: 200, ContentType: "text/event-stream", Events: []json.RawMessage{}, Cut: true}},
	}
	text, err := AppendHeader(nil, head)
	for _, e := range want {
		if err == nil {
			text, err = AppendExchange(text, e)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), "\n") != 4 {
		t.Errorf("want 4 lines, got:\n%s", text)
	}
	gotHead, got, err := readAll(string(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(head, gotHead); diff != "" {
		t.Errorf("header (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("exchanges (-want +got):\n%s", diff)
	}
}

func TestSessionRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, text, want string }{
		{"empty", "", "line 1: no header, the file is empty"},
		{"no_header", line("1", stop) + "\n", "line 1: no header"},
		{"not_json", "hello\n", "line 1: byte 0"},
		{"version", strings.Replace(header, `"session":1`, `"session":2`, 1) + "\n", "line 1: version 2, this recibo reads 1"},
		{"origin", strings.Replace(header, "scripted", "made up", 1) + "\n", "line 1: origin"},
		{"digest", strings.Replace(header, "4bc3", "4BC3", 1) + "\n", "line 1: prompt_sha"},
		{"no_digest", strings.Replace(header, "4bc3f0b93012150c5774a12ea9824d331bb932fc53cedb45f84433477e68f979", "", 1) + "\n", "prompt_sha is empty"},
		{"no_model", strings.Replace(header, `"model":"gpt-6.2-sol",`, "", 1) + "\n", `no "model"`},
		{"header_slip", strings.Replace(header, "{", `{"x":1,`, 1) + "\n", `unknown key "x"`},
		{"no_end", header, "line 1: the last line has no end"},
		{"cut_line", header + "\n" + `{"n":1,`, "line 2: the last line has no end"},
		{"empty_line", header + "\n\n" + line("1", stop) + "\n", "line 2"},
		{"second_first", header + "\n" + line("2", stop) + "\n", "line 2: exchange 2 where 1 is due"},
		{"twice", header + "\n" + line("1", stop) + "\n" + line("1", stop) + "\n", "line 3: exchange 1 where 2 is due"},
		{"n_is_text", header + "\n" + line(`"1"`, stop) + "\n", "line 2: \"n\" is not a count"},
		{"header_twice", header + "\n" + header + "\n", "line 2: unknown key"},
		{"no_status", header + "\n" + line("1", `{"content_type":"x","body":""}`) + "\n", `line 2: response: no "status"`},
		{"odd_status", header + "\n" + line("1", `{"status":99,"content_type":"x","body":""}`) + "\n", "status 99"},
		{"slip", header + "\n" + line("1", `{"status":200,"content_type":"text/event-stream","event":[]}`) + "\n", `unknown key "event"`},
		{"neither", header + "\n" + line("1", `{"status":200,"content_type":"x"}`) + "\n", "either"},
		{"both", header + "\n" + line("1", `{"status":200,"content_type":"x","body":"","events":[]}`) + "\n", "either"},
		{"event_without_type", header + "\n" + line("1", `{"status":200,"content_type":"x","events":[{"type":"a"},{}]}`) + "\n", "event 2"},
		{"event_is_text", header + "\n" + line("1", `{"status":200,"content_type":"x","events":["a"]}`) + "\n", "event 1"},
		{"event_forges_a_line", header + "\n" + line("1", `{"status":200,"content_type":"x","events":[{"type":"a\ndata: x"}]}`) + "\n", "event 1"},
		{"type_forges_a_header", header + "\n" + line("1", `{"status":200,"content_type":"x\r\na: b","body":""}`) + "\n", "line break"},
		{"cut_is_text", header + "\n" + line("1", `{"status":200,"content_type":"x","body":"","cut":"yes"}`) + "\n", "cut"},
		{"request_is_text", header + "\n" + `{"n":1,"request":"x","response":` + stop + "}\n", "request: want an object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, _, err := readAll(tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "read session: line ") {
				t.Fatalf("got %v, want an error with %q", err, tt.want)
			}
			if fault.KindOf(err) != fault.Request || fault.HintOf(err) == "" {
				t.Errorf("kind %v, hint %q", fault.KindOf(err), fault.HintOf(err))
			}
		})
	}
}

func TestNewReply(t *testing.T) {
	t.Parallel()
	var events []string
	r := NewReply(200, "text/event-stream", []byte(answer), false)
	for _, e := range r.Events {
		events = append(events, string(e))
	}
	if len(events) != 6 || r.Body != "" || !strings.Contains(events[4], "\n") {
		t.Fatalf("got %q, body %q", events, r.Body)
	}
	var again []byte
	for _, e := range r.Events {
		var err error
		if again, err = AppendEvent(again, e); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(summed(answer, whole), summed(string(again), whole)); diff != "" {
		t.Errorf("printed again it says something else (-want +got):\n%s", diff)
	}
	for name, body := range map[string]string{"word": "data: [DONE]\n\n", "no_type": "data: {}\n\n"} {
		if r := NewReply(200, "text/event-stream", []byte(body), true); r.Events != nil || r.Body != body || !r.Cut {
			t.Errorf("%s: got %+v, want the body", name, r)
		}
	}
	if r := NewReply(400, "application/json", []byte("{}"), false); r.Events != nil || r.Body != "{}" {
		t.Errorf("no stream: got %+v", r)
	}
	if r := NewReply(200, "text/event-stream", nil, true); r.Events == nil || r.Body != "" {
		t.Errorf("empty stream: got %+v, want no events", r)
	}
}

func FuzzSession(f *testing.F) {
	f.Add(header + "\n" + line("1", stop) + "\n" + line("2", `{"status":400,"content_type":"a/b","body":"x","cut":true}`) + "\n")
	f.Add(header + "\n" + `{"n":1,"request":{"method":"POST","path":"/","body":{"a":1}},"response":` + stop + "}\n")
	f.Add(line("1", stop))
	f.Fuzz(func(t *testing.T, text string) {
		head, exchanges, err := readAll(text)
		if err != nil {
			if fault.KindOf(err) != fault.Request {
				t.Fatalf("error without a kind: %v", err)
			}
			return
		}
		again, err := AppendHeader(nil, head)
		for _, e := range exchanges {
			if err == nil {
				again, err = AppendExchange(again, e)
			}
		}
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		head2, exchanges2, err := readAll(string(again))
		if err != nil || head2 != head {
			t.Fatalf("what was written cannot be read: %v, %v", head2, err)
		}
		if diff := cmp.Diff(exchanges, exchanges2); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestRecordLine(t *testing.T) {
	t.Parallel()
	r := parsed(t, string(file(t, "code_mode_1.json")))
	rec := Record{N: 1, Path: "/v1/responses", Kind: KindOf("/v1/responses", r), SinceStartMS: 12, Request: NewAsked(r),
		PromptIntact: true, Attempts: 1, Response: &Answer{Status: 200, HeadersMS: 1, FirstEventMS: 2, DoneMS: 3, Bytes: 10,
			Summary: Summary{Events: 3, Model: "<served>", Usage: &Usage{Input: 100, Cached: 40, Output: 20, Reasoning: 5, Total: 120}, Items: map[string]int{"message": 1}, Finished: true}}}
	line, err := rec.AppendLine(nil)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(line), "\n") != 1 || line[len(line)-1] != '\n' || strings.Contains(string(line), "Review it") {
		t.Errorf("not one line, or it holds text of the request: %s", line)
	}
	if !strings.Contains(string(line), `"<served>"`) || !strings.Contains(string(line), `"changed":[]`) {
		t.Errorf("line: %s", line)
	}
	var back Record
	if err := json.Unmarshal(line, &back); err != nil {
		t.Fatal(err)
	}
	rec.Changed = []string{}
	if diff := cmp.Diff(rec, back); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"functions.exec", "functions.wait", "clock.sleep"}, back.Request.Tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

// The names are the outside of the product: those who read wire.jsonl depend on them.
func TestRecordNames(t *testing.T) {
	t.Parallel()
	line, err := Record{Response: &Answer{}}.AppendLine(nil)
	if err != nil {
		t.Fatal(err)
	}
	zero := `"developer":[],"user":[],"schema_sha":"","left_out":0}`
	want := `{"n":0,"path":"","kind":"","since_start_ms":0,"request":{"sha":"","bytes":0,"model":"","effort":"","items":0,"instructions_sha":"","tools_sha":"","tools":[],` + zero +
		`,"changed":[],"prompt_intact":false,"refused":"","failure":"","attempts":0,"response":{"status":0,"headers_ms":0,"first_event_ms":0,"done_ms":0,"bytes":0,"sha":"","events":0,"unread":0,"model":"","response_id":"","usage":null,"items":null,"finished":false,"failed":false,"error_code":"","error":"","cut":false}}` + "\n"
	if string(line) != want {
		t.Errorf("got  %swant %s", line, want)
	}
}

func TestRecordIsBounded(t *testing.T) {
	t.Parallel()
	var items, tools strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&items, `{"role":"user","content":"%d"},`, i)
		fmt.Fprintf(&tools, `{"type":"function","name":"%s"},`, strings.Repeat("n", 1000))
	}
	r := parsed(t, `{"model":"`+strings.Repeat("m", 5000)+`","input":[`+items.String()+`{}],"tools":[`+tools.String()+`{}]}`)
	asked := NewAsked(r)
	if asked.Items != 2001 || len(asked.User) != 256 || len(asked.Tools) != 256 || asked.LeftOut != 1744+1745 {
		t.Errorf("items %d, user %d, tools %d, left out %d", asked.Items, len(asked.User), len(asked.Tools), asked.LeftOut)
	}
	line, err := Record{Request: asked}.AppendLine(nil)
	if err != nil || len(line) > 128<<10 {
		t.Errorf("line of %d bytes, %v", len(line), err)
	}
}

func TestBounded(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"short", "abc", "abc"},
		{"full", "abcdefgh", "abcdefgh"},
		{"cut", "abcdefghijk", "abcdefgh…"},
		{"cut_in_a_rune", "abcdefg🧾", "abcdefg…"},
		{"cut_in_two_byte_rune", "abcdefgéé", "abcdefg…"},
		{"whole_rune_at_the_cut", "abcdefé-", "abcdefé…"},
		{"lines", "a\r\nb\x1b\u0085", "a  b  "},
		{"separator", "a\u2028b", "a b"},
		{"invalid", "a\xff", "a\uFFFD"},
		{"all_invalid", "\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf\xbf", "\uFFFD…"},
	} {
		got := Bounded(tt.in, 8)
		if got != tt.want || !utf8.ValidString(got) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	meta := func(kind string) *Request {
		return parsed(t, `{"client_metadata":{"x-codex-turn-metadata":"{\"request_kind\":\"`+kind+`\"}"}}`)
	}
	for _, tt := range []struct {
		path, kind, want string
	}{
		{"/v1/responses", "turn", "turn"},
		{"/v1/responses", "compaction", "compaction"},
		{"/v1/responses", "memory", "other"},
		{"/v1/responses", "", "other"},
		{"/v1/responses/compact", "turn", "compaction"},
	} {
		if got := KindOf(tt.path, meta(tt.kind)); got != tt.want {
			t.Errorf("%s %q: got %q, want %q", tt.path, tt.kind, got, tt.want)
		}
	}
}

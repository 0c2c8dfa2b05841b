package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recibo-ci/recibo/pkg/fault"
)

func TestRefuses(t *testing.T) {
	t.Parallel()
	hosted := func(tool string) string {
		return `{"model":"m","store":false,"input":[{"type":"additional_tools","tools":[{"type":"function","name":"f"},{"type":"namespace","name":"n","tools":[` + tool + `]}]}]}`
	}
	input := func(item string) string { return `{"model":"m","store":false,"input":[` + item + `]}` }
	for _, tt := range []struct {
		name, body string
		status     int
		want       string
	}{
		{"store_true", `{"model":"m","store":true}`, 400, "store: true"},
		{"store_missing", `{"model":"m"}`, 400, "store: false"},
		{"store_null", `{"model":"m","store":null}`, 400, "store: false"},
		{"store_twice", `{"model":"m","store":false,"store":true}`, 400, "twice"},
		{"store_in_capitals", `{"model":"m","store":false,"STORE":true}`, 400, "instead of"},
		{"no_model", `{"store":false}`, 400, "no model"},
		{"background", `{"model":"m","store":false,"background":true}`, 400, "background"},
		{"conversation", `{"model":"m","store":false,"conversation":"c"}`, 400, "conversation"},
		{"previous", `{"model":"m","store":false,"previous_response_id":"r"}`, 400, "response kept"},
		{"stored_prompt", `{"model":"m","store":false,"prompt":{"id":"p"}}`, 400, "not in it: prompt"},
		{"web_search", `{"model":"m","store":false,"tools":[{"type":"web_search"}]}`, 400, `type "web_search"`},
		{"mcp_nested", hosted(`{"type":"mcp","name":"x","server_url":"https://evil.example"}`), 400, `type "mcp"`},
		{"tool_without_type", hosted(`{"name":"x"}`), 400, `a tool of type "" (name "x")`},
		{"tool_of_no_word", hosted(`{"type":["function"],"name":"x"}`), 400, `a tool of type ""`},
		{"remote_image", input(`{"role":"user","content":[{"type":"input_image","image_url":"https://evil.example/?q=secret"}]}`), 400, "not in it: image_url"},
		{"file", input(`{"role":"user","content":[{"type":"input_file","file_id":"file-1"}]}`), 400, "not in it: file_id"},
		{"reference", input(`{"type":"item_reference","id":"i"}`), 400, "item_reference"},
		{"not_json", `hello`, 400, "want a value"},
		{"list", `[]`, 400, "not a JSON object"},
		{"deep", `{"model":"m","store":false,"x":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`, 400, "deeper"},
		{"empty", ``, 400, "want a value"},
		{"too_large", `{"x":"` + strings.Repeat("x", maxBody) + `"}`, 413, "over 67108864 bytes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, never{t})
			status, answer, err := r.post("/responses", tt.body)
			if status != tt.status || err != nil || !strings.Contains(strings.ReplaceAll(answer, `\"`, `"`), tt.want) {
				t.Errorf("got %d, %s, %v; want %d with %q", status, answer, err, tt.status, tt.want)
			}
			// The first refusal stands for the rest of the run, whatever is asked then.
			status, again, _ := r.post("/responses", ask)
			if status != 400 || again != answer {
				t.Errorf("a good request behind it: got %d, %s; want 400, %s", status, again, answer)
			}
			err = r.Err()
			if fault.KindOf(err) != fault.Review || fault.HintOf(err) == "" || !strings.HasPrefix(err.Error(), "refuse model request 1: ") {
				t.Errorf("Err: %v, kind %v", err, fault.KindOf(err))
			}
			records := r.close()
			if len(records) != 2 || records[0].Refused != err.Error() || records[1].Refused != err.Error() || records[0].Attempts+records[1].Attempts != 0 {
				t.Errorf("records: %+v", records)
			}
			if got := r.session.String(); strings.Count(got, "\n") != 1 {
				t.Errorf("session holds more than its header: %q", got)
			}
		})
	}
}

func TestRefusesEncodings(t *testing.T) {
	t.Parallel()
	r := start(t, never{t})
	status, answer, _ := r.post("/responses", ask, func(q *http.Request) { q.Header.Set("Content-Encoding", "zstd") })
	if status != 415 || !strings.Contains(answer, `zstd`) || r.Err() == nil {
		t.Errorf("got %d, %s, %v; want 415", status, answer, r.Err())
	}
	r = start(t, upstream(t, streams(reply)))
	if status, _, _ := r.post("/responses", ask, func(q *http.Request) { q.Header.Set("Content-Encoding", "identity") }); status != 200 {
		t.Errorf("identity: got %d, want 200", status)
	}
}

func TestRefusesAnotherModel(t *testing.T) {
	t.Parallel()
	r := start(t, upstream(t, streams(reply)))
	if status, _, err := r.post("/responses", ask); status != 200 || err != nil {
		t.Fatalf("got %d, %v", status, err)
	}
	status, answer, _ := r.post("/responses", strings.Replace(ask, `"m"`, `"big"`, 1))
	if status != 400 || !strings.Contains(answer, "big") {
		t.Errorf("got %d, %s; want a refusal", status, answer)
	}
}

// What a review does send must pass, compaction with its own path and without `store` too.
func TestAllows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, path, body string }{
		{"plain", "/responses", ask},
		{"nulls", "/responses", `{"model":"m","store":false,"conversation":null,"previous_response_id":null,"background":false,"prompt":null,"tools":null}`},
		{"tools", "/responses", `{"model":"m","store":false,"tools":[{"type":"function","name":"a","parameters":{"properties":{"file_id":{},"type":{}}}},{"type":"custom","name":"b"}]}`},
		{"inline_image", "/responses", `{"model":"m","store":false,"input":[{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AA"}]}]}`},
		{"compact", "/responses/compact", `{"model":"m","input":[]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, upstream(t, func(w http.ResponseWriter, q *http.Request) {
				if want := "/v1" + tt.path; q.URL.Path != want {
					t.Errorf("upstream got %s, want %s", q.URL.Path, want)
				}
				says(200, "application/json", `{"id":"r","output":[{"type":"compaction"}],"usage":{"input_tokens":1,"output_tokens":1}}`)(w, q)
			}))
			status, answer, err := r.post(tt.path, tt.body)
			if status != 200 || err != nil {
				t.Fatalf("got %d, %s, %v", status, answer, err)
			}
			rec := r.only()
			if rec.Refused != "" || rec.Path != "/v1"+tt.path || rec.Response.Usage.Total != 2 || rec.Response.Items["compaction"] != 1 || (tt.name == "compact") != (rec.Kind == "compaction") {
				t.Errorf("record: %+v %+v", rec, rec.Response)
			}
		})
	}
}

// A client killed while it sends is no offence: what comes next is served.
func TestHalfRequest(t *testing.T) {
	t.Parallel()
	r := start(t, upstream(t, streams(reply)))
	conn := dial(t, r.addr)
	conn.Write([]byte("POST /" + r.token + "/v1/responses HTTP/1.1\r\nHost: " + r.addr + "\r\nContent-Length: 100\r\n\r\n{\"model\""))
	conn.Close()
	// The half request has its number before the whole one comes.
	until(func() bool { return r.Requests() == 1 })
	if status, _, err := r.post("/responses", ask); status != 200 || err != nil {
		t.Errorf("got %d, %v", status, err)
	}
	if r.Err() != nil {
		t.Errorf("Err: %v", r.Err())
	}
	records := r.close()
	if len(records) != 2 || records[0].Refused != errLeft.Error() || records[1].Refused != "" {
		t.Errorf("records: %+v", records)
	}
}

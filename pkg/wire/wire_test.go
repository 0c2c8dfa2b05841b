package wire

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func parsed(t testing.TB, body string) *Request {
	t.Helper()
	r, err := ParseRequest([]byte(body))
	if err != nil {
		t.Fatalf("ParseRequest(%.200s): %v", body, err)
	}
	return r
}

func TestParseCodeMode(t *testing.T) {
	t.Parallel()
	body := file(t, "code_mode_2.json")
	r := parsed(t, string(body))
	if string(r.Body) != string(body) {
		t.Error("Body is not what was given")
	}
	if r.Store == nil || *r.Store || !r.Stream || r.Background {
		t.Errorf("store %v, stream %v, background %v", r.Store, r.Stream, r.Background)
	}
	got := []string{r.Model, r.Effort, r.Kind, r.Sandbox, r.CWD, r.Instructions}
	want := []string{"gpt-6.2-sol", "low", "turn", "read-only", "/srv/repo", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
	var tools []string
	for _, tool := range r.Tools {
		tools = append(tools, strings.Join(tool.Namespace, "/")+" "+tool.Type+" "+tool.Name)
	}
	if diff := cmp.Diff([]string{"functions custom exec", "functions function wait", "clock function sleep"}, tools); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	prompt := r.Items[4]
	if want := "Review it, please.\r\n\ttabs, \"quotes\", \x00 and ünïcödé 🧾\n"; prompt.Parts[0] != want {
		t.Errorf("prompt: got %q, want %q", prompt.Parts[0], want)
	}
	call, output := r.Items[6], r.Items[7]
	if call.Name != "exec" || call.Namespace != "functions" || call.CallID != "c1" || call.ID != "ctc_1" {
		t.Errorf("call: %+v", call)
	}
	if diff := cmp.Diff([]string{"Script completed\n", "1"}, output.Parts); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestParseClassic(t *testing.T) {
	t.Parallel()
	r := parsed(t, string(file(t, "classic.json")))
	if r.Instructions != "Base." || len(r.Tools) != 2 || r.Tools[1].Type != "custom" || r.Tools[0].Namespace != nil {
		t.Errorf("instructions %q, tools %+v", r.Instructions, r.Tools)
	}
	if diff := cmp.Diff([]string{"a.txt\n"}, r.Items[4].Parts); diff != "" {
		t.Errorf("string output (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"{}"}, r.Items[5].Parts); diff != "" {
		t.Errorf("output_text (-want +got):\n%s", diff)
	}
}

// The digests were made with Python's hashlib and json.dumps, as Canonical documents.
func TestDigests(t *testing.T) {
	t.Parallel()
	code, classic := parsed(t, string(file(t, "code_mode_1.json"))), parsed(t, string(file(t, "classic.json")))
	for _, tt := range []struct{ name, got, want string }{
		{"body", code.SHA().String(), "93f57605c4d5debf99970fcb5406c72a858fe90818db334378c8156ffa484b53"},
		{"code_mode_tools", code.ToolsSHA().String(), "5ac19a112a664222487a7f41095f62b9452f4e92dc90a9bc3f3d7cb71fdb0f03"},
		{"classic_tools", classic.ToolsSHA().String(), "6fc985fc935128d3dc96ee549c63b8b0ca14b705465c27bf53cc4f081be6e843"},
		{"schema", code.SchemaSHA().String(), "4528a3c79c4aaee242a31e586366657f8e9a3f11cc8d2cb040d9bf61ab1bbb63"},
		{"instructions", classic.InstructionsSHA().String(), "581a875c97989bf88d13ed465bd3ceeedb14646cbd202516c44a54dc79fa5d52"},
		{"no_instructions", code.InstructionsSHA().String(), ""},
		{"no_tools", parsed(t, `{"model":"m"}`).ToolsSHA().String(), ""},
		{"no_schema", parsed(t, `{"model":"m"}`).SchemaSHA().String(), ""},
		{"prompt", code.Texts("user")[2].SHA.String(), "4bc3f0b93012150c5774a12ea9824d331bb932fc53cedb45f84433477e68f979"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, tt.got, tt.want)
		}
	}
	if got := code.Texts("user")[2].Bytes; got != 60 {
		t.Errorf("prompt bytes: got %d, want 60", got)
	}
	if got := len(code.Texts("developer")); got != 3 {
		t.Errorf("developer texts: got %d, want 3", got)
	}
}

func TestToolsSHAChangesWith(t *testing.T) {
	t.Parallel()
	base := `{"tools":[{"type":"namespace","name":"n","description":"d","tools":[{"type":"function","name":"a","v":1.0},{"type":"custom","name":"b"}]}]}`
	for _, tt := range []struct {
		name, old, new string
		same           bool
	}{
		{"key_order", `"type":"custom","name":"b"`, `"name":"b","type":"custom"`, true},
		{"white_space", `"d","tools"`, "\"d\" ,\n \"tools\"", true},
		{"escapes", `"name":"b"`, `"name":"\u0062"`, true},
		{"tool_order", `{"type":"function","name":"a","v":1.0},{"type":"custom","name":"b"}`, `{"type":"custom","name":"b"},{"type":"function","name":"a","v":1.0}`, false},
		{"tool_name", `"b"`, `"c"`, false},
		{"tool_gone", `,{"type":"custom","name":"b"}`, ``, false},
		{"number_as_written", `1.0`, `1`, false},
		{"namespace_name", `"n"`, `"m"`, false},
		{"namespace_description", `"d"`, `"e"`, false},
		{"empty_namespace", `]}]}`, `]},{"type":"namespace","name":"x","tools":[]}]}`, false},
		{"bare_namespace", `]}]}`, `]},{"type":"namespace","name":"x"}]}`, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			changed := strings.Replace(base, tt.old, tt.new, 1)
			if changed == base {
				t.Fatalf("%q is not in the base", tt.old)
			}
			if same := parsed(t, base).ToolsSHA() == parsed(t, changed).ToolsSHA(); same != tt.same {
				t.Errorf("same digest: got %v, want %v", same, tt.same)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, body, want string }{
		{"empty", ``, "want a value"},
		{"not_an_object", `[]`, "not a JSON object"},
		{"two_values", `{} {}`, "follows"},
		{"key_twice", `{"store":false,"store":true}`, "twice"},
		{"key_twice_by_escape", `{"store":false,"st\u006fre":true}`, "twice"},
		{"key_twice_in_a_tool", `{"tools":[{"type":"function","type":"web_search"}]}`, "twice"},
		{"key_twice_among_many", `{` + manyKeys(40) + `"k7":1}`, "twice"},
		{"other_case", `{"store":false,"Store":true}`, `"Store" instead of "store"`},
		{"other_case_by_fold", `{"ſtore":true}`, "instead of"},
		{"other_case_in_a_tool", `{"tools":[{"type":"function","Type":"mcp"}]}`, "instead of"},
		{"other_case_in_an_item", `{"input":[{"type":"message","Content":"x"}]}`, "instead of"},
		{"other_case_in_a_part", `{"input":[{"content":[{"type":"input_text","text":"a","Text":"b"}]}]}`, "instead of"},
		{"model_is_a_number", `{"model":5}`, `"model" is not a string`},
		{"store_is_a_string", `{"store":"false"}`, "neither true nor false"},
		{"tools_is_an_object", `{"tools":{}}`, "not a list"},
		{"tools_of_a_function", `{"tools":[{"type":"function","tools":{}}]}`, "not a list"},
		{"tool_is_a_string", `{"tools":["x"]}`, "not an object"},
		{"input_is_a_number", `{"input":1}`, "neither a list"},
		{"item_is_a_string", `{"input":["x"]}`, "item 0"},
		{"invalid_utf8", "{\"model\":\"\xff\"}", "UTF-8"},
		{"lone_surrogate", `{"model":"\ud83e"}`, "surrogate"},
		{"reversed_surrogates", `{"model":"\udfee\ud83e"}`, "surrogate"},
		{"control_character", "{\"model\":\"a\nb\"}", "control character"},
		{"leading_zero", `{"n":01}`, "comma"},
		{"bare_dot", `{"n":1.}`, "digit"},
		{"trailing_comma", `{"n":1,}`, "key"},
		{"unknown_escape", `{"n":"\x"}`, "escape"},
		{"wrong_escape", `{"n":"\u00G0"}`, "hex"},
		{"short_escape", `{"n":"\u12"}`, "hex"},
		{"cut", `{"n":"`, "without an end"},
		{"deep", `{"n":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, "deeper"},
		{"many_values", `{"n":[` + strings.Repeat("0,", maxValues) + `0]}`, "values"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := ParseRequest([]byte(tt.body))
			if err == nil || r != nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v; want an error with %q", r, err, tt.want)
			}
		})
	}
}

// Eight bytes are looked at together: each must be told from each, wherever it stands.
func TestPlain(t *testing.T) {
	t.Parallel()
	for special := range 256 {
		for at := range 20 {
			text := []byte("aZ \x7f\x80\xff!#[]~ aZ \x7f\x80\xff!#")
			text[at] = byte(special)
			want := len(text)
			if special < 0x20 || special == '"' || special == '\\' {
				want = at
			}
			if got := plain(text); got != want {
				t.Fatalf("byte %#x at %d: got %d, want %d", special, at, got, want)
			}
		}
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`"k` + string(rune('0'+i%10)) + strings.Repeat("x", i/10) + `":1,`)
	}
	return b.String()
}

func TestParseTolerates(t *testing.T) {
	t.Parallel()
	r := parsed(t, ` {"new_field":{"a":[1,-2.5e+10,null,true]},"model":null,"tools":null,"input":"hello","conversation":{"id":"c"},"previous_response_id":"r","background":true,"prompt":{"id":"p"}} `)
	if len(r.Items) != 1 || r.Items[0].Role != "user" || r.Items[0].Parts[0] != "hello" {
		t.Errorf("bare input: %+v", r.Items)
	}
	if r.Store != nil || r.Model != "" || string(r.Conversation) != `{"id":"c"}` || r.PreviousResponseID != "r" || !r.Background {
		t.Errorf("got %+v", r)
	}
	r = parsed(t, `{"input":[{"role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:image/png;base64,AA"},{"type":"input_text","text":5}]},{"type":"x","output":{"a":1}}]}`)
	if diff := cmp.Diff([]string{"input_image", "input_text"}, r.Items[0].Other); diff != "" {
		t.Errorf("other parts (-want +got):\n%s", diff)
	}
	if r.Items[0].Type != "message" || r.Items[1].Other[0] != "object" || r.Outside != nil {
		t.Errorf("items %+v, outside %v", r.Items, r.Outside)
	}
}

func TestOutside(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, body, want string }{
		{"remote_image", `{"input":[{"role":"user","content":[{"type":"input_image","image_url":"https://x.example/a"}]}]}`, "image_url"},
		{"image_object", `{"input":[{"role":"user","content":[{"type":"input_image","image_url":{"url":"data:x"}}]}]}`, "image_url"},
		{"image_in_output", `{"input":[{"type":"function_call_output","output":[{"image_url" : "HTTP://x"}]}]}`, "image_url"},
		{"key_by_escape", `{"input":[{"content":[{"image\u005furl":"https://x"}]}]}`, "image_url"},
		{"file_id", `{"input":[{"content":[{"type":"input_file","file_id":"f"}]}]}`, "file_id"},
		{"file_url", `{"input":[{"content":[{"type":"input_file","file_url":"https://x"}]}]}`, "file_url"},
		{"vector_store", `{"input":[{"type":"file_search_call","vector_store_ids":["v"]}]}`, "vector_store_ids"},
		{"reference", `{"input":[{"type":"item_reference","id":"i"}]}`, "item_reference"},
		{"stored_prompt", `{"prompt":{"id":"p"}}`, "prompt"},
		{"inline_image", `{"input":[{"content":[{"image_url":"data:image/png;base64,AA"}]}]}`, ""},
		{"null", `{"input":[{"content":[{"image_url":null,"file_id":null}]}],"prompt":null}`, ""},
		{"parameter_of_a_tool", `{"input":[{"type":"additional_tools","tools":[{"type":"function","name":"a","parameters":{"file_id":{"type":"string"}}}]}]}`, ""},
		{"behind_tools", `{"input":[{"type":"additional_tools","tools":[{"type":"function","name":"a"}],"content":[{"file_id":"f"}]}]}`, "file_id"},
		{"text_only", `{"input":[{"role":"user","content":"file_id: image_url"}]}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := strings.Join(parsed(t, tt.body).Outside, ","); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A hosted tool must be seen wherever a request can carry it.
func TestToolsAreFoundAnywhere(t *testing.T) {
	t.Parallel()
	hosted := `{"type":"web_search","name":"w"}`
	for _, tt := range []struct{ name, body string }{
		{"top", `{"tools":[` + hosted + `]}`},
		{"namespace", `{"tools":[{"type":"namespace","name":"n","tools":[` + hosted + `]}]}`},
		{"additional_tools", `{"input":[{"type":"additional_tools","tools":[` + hosted + `]}]}`},
		{"nested_twice", `{"input":[{"type":"additional_tools","tools":[{"type":"namespace","name":"n","tools":[{"type":"namespace","name":"m","tools":[` + hosted + `]}]}]}]}`},
		{"other_item", `{"input":[{"type":"tool_search_output","tools":[` + hosted + `]}]}`},
		{"below_a_function", `{"tools":[{"type":"function","name":"f","tools":[` + hosted + `]}]}`},
		{"second_item", `{"input":[{"type":"additional_tools","tools":[]},{"type":"additional_tools","tools":[` + hosted + `]}]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tools := parsed(t, tt.body).Tools
			if len(tools) == 0 || tools[len(tools)-1].Type != "web_search" {
				t.Errorf("got %+v, want a web_search", tools)
			}
		})
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	got, err := Canonical([]byte(` {"b" : [1.50, -0, "a\/\u00e9\u2028\u0001\u007f\n" , {}], "a":{"z":null,"":true}, "é":"\ud83e\uddfe" } `))
	want := "{\"a\":{\"\":true,\"z\":null},\"b\":[1.50,-0,\"a/é\u2028\\u0001\u007f\\n\",{}],\"é\":\"🧾\"}"
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v; want %s", got, err, want)
	}
	var a, b any
	if json.Unmarshal(got, &a) != nil || json.Unmarshal([]byte(want), &b) != nil || !cmp.Equal(a, b) {
		t.Errorf("canonical form says something else: %v, %v", a, b)
	}
	if _, err := Canonical([]byte(`{"a":1,"a":1}`)); err == nil {
		t.Error("a key twice: got no error")
	}
}

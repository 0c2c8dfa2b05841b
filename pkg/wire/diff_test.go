package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	one, two := string(file(t, "code_mode_1.json")), string(file(t, "code_mode_2.json"))
	for _, tt := range []struct {
		name, old, new string
		want           []string
	}{
		{"goes_on", "", "", nil},
		{"turn_ids", `turn_id`, `turn_ix`, nil},
		{"white_space", `"store":false`, ` "store" : false`, nil},
		{"model", `"gpt-6.2-sol"`, `"gpt-5.5"`, []string{"model"}},
		{"instructions", `"store"`, `"instructions":"x","store"`, []string{"instructions"}},
		{"tool", `"Run JavaScript.`, `"Walk JavaScript.`, []string{"tools"}},
		{"schema", `"required":["ok"]`, `"required":[]`, []string{"schema"}},
		{"effort", `"low","context"`, `"high","context"`, []string{"effort"}},
		{"reasoning", `"all_turns"`, `"last_turn"`, []string{"reasoning"}},
		{"verbosity", `"verbosity":"low"`, `"verbosity":"high"`, []string{"text"}},
		{"sandbox", `read-only\"}`, `danger\"}`, []string{"sandbox"}},
		{"cwd", `<cwd>/srv/repo`, `<cwd>/srv`, []string{"cwd", "prefix"}},
		{"prompt", `Review it, please`, `Review it please`, []string{"prefix"}},
		{"item_gone", `{"type":"message","id":"msg_1","role":"developer","content":[{"type":"input_text","text":"You are an agent."}]},`, ``, []string{"prefix"}},
		{"known_field", `"tool_choice":"auto"`, `"tool_choice":"required"`, []string{"tool_choice"}},
		{"new_fields", `"store"`, `"x":1,"y":2,"top_p":0.5,"store"`, []string{"top_p", "other"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			changed := strings.Replace(two, tt.old, tt.new, 1)
			if tt.old != "" && changed == two {
				t.Fatalf("%q is not in the request", tt.old)
			}
			got := Diff(parsed(t, one), parsed(t, changed))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := Diff(parsed(t, two), parsed(t, one)); !cmp.Equal(got, []string{"prefix"}) {
		t.Errorf("shorter history: got %v, want prefix", got)
	}
	a := `{"tools":[{"type":"function","name":"a"},{"type":"function","name":"b"}]}`
	b := `{"tools":[{"type":"function","name":"b"},{"type":"function","name":"a"}]}`
	if got := Diff(parsed(t, a), parsed(t, b)); !cmp.Equal(got, []string{"tools_order"}) {
		t.Errorf("order of tools: got %v, want tools_order", got)
	}
}

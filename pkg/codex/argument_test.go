package codex

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/pkg/fault"
)

func TestParseArgs(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in   string
		want []string
	}{
		"none":          {"  \n", nil},
		"json":          {`["-c", "model_verbosity=\"high\""]`, []string{"-c", `model_verbosity="high"`}},
		"words":         {`-c model_verbosity='"high"'`, []string{"-c", `model_verbosity="high"`}},
		"inline":        {`--config=tool_output_token_limit=100 --color never`, []string{"--config=tool_output_token_limit=100", "--color", "never"}},
		"backslash":     {`-c model_verbosity=\"low\"`, []string{"-c", `model_verbosity="low"`}},
		"double_quotes": {`-c "model_verbosity=\"a\b\""`, []string{"-c", `model_verbosity="a\b"`}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseArgs(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("ParseArgs(%q) (-want +got):\n%s", tt.in, d)
			}
		})
	}
}

func TestParseArgsRefuses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ in, named string }{
		"sandbox":         {"-s danger-full-access", "-s"},
		"sandbox_long":    {"--sandbox=read-only", "--sandbox"},
		"bypass":          {"--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-approvals-and-sandbox"},
		"output":          {"-o /tmp/x", "-o"},
		"schema":          {"--output-schema x", "--output-schema"},
		"directory":       {"--cd /", "--cd"},
		"profile":         {"-p mine", "-p"},
		"enable":          {"--enable web_search_request", "--enable"},
		"model":           {"-m gpt", "-m"},
		"unknown":         {"--brand-new-flag", "--brand-new-flag"},
		"positional":      {"please", "please"},
		"provider":        {`-c model_provider="other"`, "model_provider"},
		"provider_nested": {`-c model_providers.recibo.base_url="http://x"`, "model_providers"},
		"trust":           {`--config=projects."/".trust_level="trusted"`, "projects"},
		"instructions":    {`-c developer_instructions=x`, "developer_instructions"},
		"mcp":             {`["-c","mcp_servers.x.command=\"sh\""]`, "mcp_servers"},
		"no_value":        {"-c", "-c"},
		"no_equals":       {"-c model_verbosity", "model_verbosity"},
		"joined":          {`-cmodel_provider="other"`, "-cmodel_provider"},
		"open_quote":      {`-c "model_verbosity`, `'"'`},
		"bad_json":        {`["-c"`, "codex-args"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParseArgs(tt.in)
			if err == nil {
				t.Fatalf("ParseArgs(%q) was taken", tt.in)
			}
			if fault.KindOf(err) != fault.Request || fault.HintOf(err) == "" {
				t.Errorf("error %v: kind %d, hint %q; want a request error with a hint", err, fault.KindOf(err), fault.HintOf(err))
			}
			if !strings.Contains(err.Error(), tt.named) {
				t.Errorf("error %q does not name %q", err, tt.named)
			}
		})
	}
}

func FuzzParseArgs(f *testing.F) {
	f.Add(`-c model_verbosity="low"`)
	f.Add(`["--color","never"]`)
	f.Add(`'`)
	f.Fuzz(func(t *testing.T, in string) {
		args, err := ParseArgs(in)
		if err != nil {
			return
		}
		// What was taken must pass again as it stands.
		if err := checkArgs(args); err != nil {
			t.Errorf("ParseArgs(%q) took %q, which is refused: %v", in, args, err)
		}
	})
}

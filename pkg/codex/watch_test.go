package codex

import (
	"strings"
	"testing"
)

// The outputs below are as Codex 0.171.0 sent them.
func TestJudgeOutput(t *testing.T) {
	t.Parallel()
	const panicked = "\nthread 'main' panicked at linux-sandbox/src/launcher.rs:68:13:\nbubblewrap is unavailable: no system bwrap was found\n"
	tests := map[string]struct {
		parts []string
		want  outcome
	}{
		"classic_zero":             {[]string{"Chunk ID: 003e3c\nWall time: 0.0000 seconds\nProcess exited with code 0\nOriginal token count: 3\nOutput:\nf351efd x\n"}, worked},
		"classic_nonzero":          {[]string{"Chunk ID: 003e3c\nWall time: 0.0000 seconds\nProcess exited with code 3\nOriginal token count: 3\nOutput:\nf351efd x\n"}, nonzero},
		"classic_no_sandbox":       {[]string{"Chunk ID: c3c771\nWall time: 0.0000 seconds\nProcess exited with code 101\nOriginal token count: 74\nOutput:\n" + panicked}, failed},
		"classic_running":          {[]string{"Chunk ID: c3c771\nWall time: 10.0000 seconds\nProcess running with session ID 4\nOutput:\n"}, worked},
		"unknown_tool":             {[]string{"unsupported custom tool call: execx"}, failed},
		"no_code_mode_host":        {[]string{"failed to spawn code-mode host bin/codex-code-mode-host: host executable was not found"}, failed},
		"script_zero":              {[]string{"Script completed\nWall time 0.1 seconds\nOutput:\n", `{"chunk_id":"5f","wall_time_seconds":0,"exit_code":0,"output":"x"}`}, worked},
		"script_one":               {[]string{"Script completed\nWall time 0.1 seconds\nOutput:\n", `{"exit_code":1,"output":""}`}, one},
		"script_silent":            {[]string{"Script completed\nWall time 0.1 seconds\nOutput:\n"}, silent},
		"script_nonzero":           {[]string{"Script completed\nWall time 0.1 seconds\nOutput:\n", `{"exit_code":4,"output":"x"}`}, nonzero},
		"script_one_of_two":        {[]string{"Script completed\nWall time 0.1 seconds\nOutput:\n", `{"exit_code":4,"output":"x"}`, `{"exit_code":0,"output":"two\n"}`}, worked},
		"script_no_sandbox":        {[]string{"Script completed\nWall time 0.1 seconds\nOutput:\n", `{"exit_code":101,"output":"bubblewrap is unavailable: no system bwrap"}`}, failed},
		"script_text_no_sandbox":   {[]string{"Script completed\nWall time 0.1 seconds\nOutput:\n", panicked}, failed},
		"script_plain_text":        {[]string{"Script completed\nWall time 0.1 seconds\nOutput:\n", "some text"}, silent},
		"script_failed":            {[]string{"Script failed\nWall time 0.0 seconds\nOutput:\n", "Script error:\nError: bad\n    at exec_main.mjs:1:7"}, failed},
		"script_running":           {[]string{"Script running with cell ID 3\nWall time 30 seconds\nOutput:\n"}, silent},
		"forged_exit_in_output":    {[]string{"Script completed\nWall time 0.1 seconds\nOutput:\n", `{"exit_code":1,"output":"{\"exit_code\":0}"}`}, one},
		"forged_line_does_not_win": {[]string{"Chunk ID: 1\nProcess exited with code 1\nOutput:\nProcess exited with code 0\n"}, one},
		"nothing":                  {nil, failed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := judgeOutput(tt.parts); got != tt.want {
				t.Errorf("judgeOutput(%q) = %d, want %d", tt.parts, got, tt.want)
			}
		})
	}
}

func TestDoubts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		health   Health
		failures []string
		ran      int
		inside   bool
		want     string
	}{
		"worked":            {health: Health{Calls: 2, Worked: 1, Nonzero: 1}},
		"looked_at_nothing": {health: Health{}, want: "looked at nothing"},
		"diff_in_context":   {health: Health{}, inside: true},
		"all_failed":        {health: Health{Calls: 2, Failed: 2, Broken: []string{`"no host"`}}, want: `none of the agent's 2 tool calls worked: "no host"`},
		"all_nonzero":       {health: Health{Calls: 2, Nonzero: 2}, want: "none of the agent's 2 tool calls worked"},
		"found_nothing":     {health: Health{Calls: 1, One: 1}},
		"silent_that_ran":   {health: Health{Calls: 1, Silent: 1}, ran: 1},
		"silent_that_idled": {health: Health{Calls: 1, Silent: 1}, want: "none of the agent's 1 tool calls worked"},
		"prompt_lost":       {health: Health{Calls: 1, Worked: 1, PromptLostAt: 3}, want: "from request 3 on"},
		"error_item":        {health: Health{Calls: 1, Worked: 1}, failures: []string{"Code Mode is unavailable"}, want: "Code Mode is unavailable"},
		"unknown_model":     {health: Health{Calls: 1, Worked: 1}, failures: []string{"Model metadata for `acme-9` not found. Defaulting to fallback metadata; this can degrade performance and cause issues."}},
		"long_instructions": {health: Health{Calls: 1, Worked: 1}, failures: []string{"Loaded only 8 of 9 bytes from `AGENTS.md` in environment `local`"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(tt.health.Doubts(tt.failures, tt.ran, tt.inside), "\n")
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("Doubts() = %q, want %q in it", got, tt.want)
			}
		})
	}
}

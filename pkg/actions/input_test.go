package actions

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestInput(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		environ []string
		want    string
		set     bool
	}{
		"hyphen":            {[]string{"INPUT_PROMPT-FILE=a"}, "a", true},
		"underscore":        {[]string{"INPUT_PROMPT_FILE=a"}, "a", true},
		"both":              {[]string{"INPUT_PROMPT_FILE=a", "INPUT_PROMPT-FILE=b"}, "b", true},
		"hyphen_empty":      {[]string{"INPUT_PROMPT_FILE=a", "INPUT_PROMPT-FILE="}, "a", true},
		"empty":             {[]string{"INPUT_PROMPT-FILE="}, "", false},
		"unset":             {nil, "", false},
		"not_trimmed":       {[]string{"INPUT_PROMPT-FILE= \r\n a\t\n\n"}, " \r\n a\t\n\n", true},
		"white_space_alone": {[]string{"INPUT_PROMPT-FILE=\n"}, "\n", true},
		"equals_inside":     {[]string{"INPUT_PROMPT-FILE=a=b"}, "a=b", true},
		"lower_case":        {[]string{"INPUT_prompt-file=a"}, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, set := Input(getenvOf(tc.environ), "prompt-file")
			if got != tc.want || set != tc.set {
				t.Errorf("Input: got %q, %t, want %q, %t", got, set, tc.want, tc.set)
			}
		})
	}
}

// getenvOf reads entries as os.Getenv does: the first of a key counts.
func getenvOf(entries []string) func(string) string {
	return func(key string) string {
		for _, entry := range entries {
			if k, v, _ := strings.Cut(entry, "="); k == key {
				return v
			}
		}
		return ""
	}
}

func TestInputs(t *testing.T) {
	t.Parallel()
	given, conflicts := Inputs([]string{
		"PATH=/bin", "INPUT_=x", "INPUT_MODEL=m\n", "INPUT_MODEL=second", "INPUT_MAX_TOKENS=1", "INPUT_MAX-TOKENS=2",
		"INPUT_FAIL_ON=", "INPUT_FAIL-ON=high", "INPUT_CODEX-ARGS=", "INPUT_CODEX_ARGS=a", "INPUT_NONSENSE=",
		"INPUT_POST-MODE=same", "INPUT_POST_MODE=same", "NOT_INPUT_A=b", "INPUT_MI-X_ED=1", "INPUT_A-B_C=1", "INPUT_A_B-C=2",
	})
	want := map[string]string{"model": "m\n", "max-tokens": "2", "fail-on": "high", "codex-args": "a", "nonsense": "",
		"post-mode": "same", "mi-x-ed": "1", "a-b-c": "1"}
	if diff := cmp.Diff(want, given); diff != "" {
		t.Errorf("given (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"max-tokens"}, conflicts); diff != "" {
		t.Errorf("conflicts (-want +got):\n%s", diff)
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		value string
		want  []string
	}{
		"empty":    {"", nil},
		"blank":    {" \n,\t,\r\n", nil},
		"commas":   {"a, b ,,c", []string{"a", "b", "c"}},
		"newlines": {"a\r\n\n  b c\n", []string{"a", "b c"}},
		"mixed":    {"a,b\nc", []string{"a", "b", "c"}},
	} {
		if diff := cmp.Diff(tc.want, List(tc.value)); diff != "" {
			t.Errorf("%s: List(%q) (-want +got):\n%s", name, tc.value, diff)
		}
	}
}

func TestBool(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"true": true, "True": true, "TRUE": true, "false": false, "False": false,
		"FALSE": false, " true\n": true} {
		if got, err := Bool(value); got != want || err != nil {
			t.Errorf("Bool(%q): got %t, %v, want %t and no error", value, got, err, want)
		}
	}
	for _, value := range []string{"", " ", "yes", "no", "on", "1", "0", "tRUE", "truee", "\x1b[31m", strings.Repeat("é", 99)} {
		got, err := Bool(value)
		if err == nil || got || len(err.Error()) > 300 || danger(err.Error()) != "" {
			t.Errorf("Bool(%q): got %t, %v, want false and a short error", value, got, err)
		}
	}
}

func FuzzInputs(f *testing.F) {
	f.Add("INPUT_A-B=1", "INPUT_A_B=2", "INPUT_A-B=")
	f.Add("INPUT_A_B=", "INPUT_=", "INPUT_X")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		entries := []string{a, b, c}
		given, conflicts := Inputs(entries)
		for name, got := range given {
			// Names outside of what an environment holds as it is, and mixed forms, are nobody's input.
			if upper := strings.ToUpper(name); strings.ToLower(upper) != name || strings.Contains(strings.Join(entries, ""), "\x00") {
				continue
			}
			if want, set := Input(getenvOf(entries), name); set && got != want && !mixed(entries) {
				t.Errorf("%q: Inputs: got %q for %q, want Input's %q", entries, got, name, want)
			}
		}
		if len(conflicts) > 1 {
			t.Errorf("%q: got conflicts %q of three entries", entries, conflicts)
		}
	})
}

func mixed(entries []string) bool {
	for _, entry := range entries {
		key, _, _ := strings.Cut(strings.TrimPrefix(entry, inputPrefix), "=")
		if strings.Contains(key, "-") && strings.Contains(key, "_") || key != strings.ToUpper(key) {
			return true
		}
	}
	return false
}

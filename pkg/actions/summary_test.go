package actions

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAppendSummary(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("é", 49) + "\n" // 99 bytes
	for name, tc := range map[string]struct {
		before, give string
		wantLeft     int
		wantStart    string
	}{
		"plain":         {"", "# a\n", 0, "# a\n"},
		"newline_added": {"", "# a", 0, "# a\n"},
		"after_partial": {"x", "# a\n", 0, "x\n# a\n"},
		"empty":         {"x", "", 0, "x"},
		"not_utf8":      {"", "a\xffb\n", 0, "a\ufffdb\n"},
		"largest":       {"", strings.Repeat("x", 1<<20-512), 0, "xxx"},
		"over":          {"", strings.Repeat("x", 1<<20), 512, "\n> **Cut:** the last 512 of 1048576 bytes of this summary are left out: a step's summary holds 1048576.\n\nxxx"},
		"lines":         {"", strings.Repeat(line, 11000), 99 * (11000 - 10586), "\n> **Cut:** the last 40986 of 1089000 bytes"},
		"runes":         {"", "a" + strings.Repeat("日", 400000), 3 * (400000 - 349354), "\n> **Cut:** the last 151938 of 1200001 bytes"},
		"fence_open":    {"", "```\n" + strings.Repeat("x", 1<<20), 516, "\n> **Cut:**"},
		"nearly_full":   {strings.Repeat("y", 1<<20-300), "some\n", 5, strings.Repeat("y", 1<<20-300) + "\n\n> **Cut:** the last 5 of 5 bytes"},
		"full":          {strings.Repeat("y", 1<<20), "some\n", 5, "yyy"},
		"over_full":     {strings.Repeat("y", 1<<20+9), "some\n", 5, "yyy"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := outputFile(t, tc.before)
			left, err := AppendSummary(path, tc.give)
			if err != nil || left != tc.wantLeft {
				t.Errorf("AppendSummary: got %d, %v, want %d left out and no error", left, err, tc.wantLeft)
			}
			got := readFile(t, path)
			if !strings.HasPrefix(got, tc.wantStart) || !utf8.ValidString(got) {
				t.Errorf("file: got %q…, want UTF-8 that starts with %q", got[:min(len(got), 200)], tc.wantStart)
			}
			if len(got) > max(1<<20, len(tc.before)) {
				t.Errorf("file: got %d bytes, want %d at most", len(got), 1<<20)
			}
			if tc.wantLeft > 0 && len(tc.before) < 1<<20-400 && len(got) < 1<<20-512 {
				t.Errorf("file: got %d bytes, want it full", len(got))
			}
		})
	}
}

func TestAppendSummaryAgain(t *testing.T) {
	t.Parallel()
	path := outputFile(t, "")
	told := 0
	for i := range 20 {
		left, err := AppendSummary(path, strings.Repeat("x", 100_000)+"\n")
		if err != nil {
			t.Fatalf("part %d: %v", i, err)
		}
		if left > 0 {
			told++
		}
	}
	got := readFile(t, path)
	if told != 10 || len(got) > SummaryLimit || !strings.Contains(got, "**Cut:**") {
		t.Errorf("got %d parts cut, %d bytes, want 10 parts cut, %d bytes at most and a line that says so", told, len(got), SummaryLimit)
	}
}

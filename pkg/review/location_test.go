package review_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/review"
)

// files is a tree: lines by path and side.
type files map[string]map[string]int

func (f files) Lines(path, side string) (int, bool) {
	n, ok := f[path][side]
	return n, ok
}

func TestLocate(t *testing.T) {
	t.Parallel()
	tree := files{
		"a.go":      {"RIGHT": 10, "LEFT": 4},
		"empty":     {"RIGHT": 0},
		"gone.go":   {"LEFT": 3},
		"..odd":     {"RIGHT": 1},
		"d:/x":      {"RIGHT": 1},
		"/etc/x":    {"RIGHT": 1},
		"../x":      {"RIGHT": 1},
		"a/../../x": {"RIGHT": 1},
	}
	for name, c := range map[string]struct {
		path       string
		start, end int
		side       string
		want       review.Location
	}{
		"one_line":           {"a.go", 1, 1, "RIGHT", review.Location{State: "ok"}},
		"whole_file":         {"a.go", 1, 10, "RIGHT", review.Location{State: "ok"}},
		"last_line":          {"a.go", 10, 10, "RIGHT", review.Location{State: "ok"}},
		"left":               {"a.go", 4, 4, "LEFT", review.Location{State: "ok"}},
		"left_only":          {"gone.go", 1, 3, "LEFT", review.Location{State: "ok"}},
		"two_dots_in_a_name": {"..odd", 1, 1, "RIGHT", review.Location{State: "ok"}},
		"no_path":            {"", 0, 0, "RIGHT", review.Location{State: "none", Reason: "the finding names no file"}},
		"no_file":            {"b.go", 1, 1, "RIGHT", review.Location{State: "no_file", Reason: "b.go does not exist at the reviewed head"}},
		"no_file_left":       {"empty", 1, 1, "LEFT", review.Location{State: "no_file", Reason: "empty does not exist at the merge base"}},
		"gone":               {"gone.go", 1, 1, "RIGHT", review.Location{State: "no_file", Reason: "gone.go does not exist at the reviewed head"}},
		"dot_slash":          {"./a.go", 1, 1, "RIGHT", review.Location{State: "no_file", Reason: "./a.go does not exist at the reviewed head"}},
		"line_zero":          {"a.go", 0, 0, "RIGHT", review.Location{State: "bad_range", Reason: "lines 0 to 0 are no range of lines"}},
		"negative":           {"a.go", -1, 5, "RIGHT", review.Location{State: "bad_range", Reason: "lines -1 to 5 are no range of lines"}},
		"backwards":          {"a.go", 5, 4, "RIGHT", review.Location{State: "bad_range", Reason: "lines 5 to 4 are no range of lines"}},
		"extreme":            {"a.go", math.MaxInt, math.MinInt, "RIGHT", review.Location{State: "bad_range", Reason: "lines 9223372036854775807 to -9223372036854775808 are no range of lines"}},
		"past_end":           {"a.go", 10, 11, "RIGHT", review.Location{State: "past_end", Reason: "line 11 is past line 10, the last of a.go"}},
		"past_end_left":      {"a.go", 5, 5, "LEFT", review.Location{State: "past_end", Reason: "line 5 is past line 4, the last of a.go"}},
		"past_end_far":       {"a.go", 1, 1 << 53, "RIGHT", review.Location{State: "past_end", Reason: "line 9007199254740992 is past line 10, the last of a.go"}},
		"empty_file":         {"empty", 1, 1, "RIGHT", review.Location{State: "past_end", Reason: "line 1 is past line 0, the last of empty"}},
		"bad_side":           {"a.go", 1, 1, "right", review.Location{State: "bad_side", Reason: `side is "right", not RIGHT or LEFT`}},
		"no_side":            {"a.go", 1, 1, "", review.Location{State: "bad_side", Reason: `side is "", not RIGHT or LEFT`}},
		"absolute":           {"/etc/x", 1, 1, "RIGHT", review.Location{State: "outside_repository", Reason: "/etc/x is not a path inside the repository"}},
		"up":                 {"../x", 1, 1, "RIGHT", review.Location{State: "outside_repository", Reason: "../x is not a path inside the repository"}},
		"up_alone":           {"..", 1, 1, "RIGHT", review.Location{State: "outside_repository", Reason: ".. is not a path inside the repository"}},
		"up_later":           {"a/../../x", 1, 1, "RIGHT", review.Location{State: "outside_repository", Reason: "a/../../x is not a path inside the repository"}},
		"drive":              {"d:/x", 1, 1, "RIGHT", review.Location{State: "outside_repository", Reason: "d:/x is not a path inside the repository"}},
		"hostile_path":       {"x\n::error::\x00", 1, 1, "RIGHT", review.Location{State: "no_file", Reason: `x\n::error::\x00 does not exist at the reviewed head`}},
		"long_path":          {strings.Repeat("x", 5000), 1, 1, "RIGHT", review.Location{State: "no_file", Reason: strings.Repeat("x", 160) + "… does not exist at the reviewed head"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := review.Finding{Severity: "low", Title: "t", Body: "b", Path: c.path, StartLine: c.start, EndLine: c.end, Side: c.side}
			r := review.Review{Findings: []review.Finding{before}}
			r.Locate(tree)
			if len(r.Findings) != 1 {
				t.Fatalf("got %d findings, want the one", len(r.Findings))
			}
			if diff := cmp.Diff(c.want, r.Findings[0].Location); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if diff := cmp.Diff(before, r.Findings[0], cmpopts.IgnoreFields(review.Finding{}, "Location")); diff != "" {
				t.Errorf("Locate changed the finding: -want +got\n%s", diff)
			}
		})
	}
}

func TestSeverities(t *testing.T) {
	t.Parallel()
	order := review.Severities()
	if diff := cmp.Diff([]string{"info", "low", "medium", "high", "critical"}, order); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
	for i, s := range order {
		if got, err := review.ParseSeverity(s); got != s || err != nil {
			t.Errorf("ParseSeverity(%q): got %q, %v", s, got, err)
		}
		for j, limit := range order {
			if got, want := review.AtLeast(s, limit), i >= j; got != want {
				t.Errorf("AtLeast(%q, %q): got %t, want %t", s, limit, got, want)
			}
		}
	}
	if !review.AtLeast("", "info") || review.AtLeast("", "low") {
		t.Error("a finding without severity has to rank as info")
	}
	for text, hint := range map[string]string{"hihg": `did you mean "high"?`, "HIGH": `did you mean "high"?`, "never": "use one of info, low", "": "use one of", "high ": `did you mean "high"?`} {
		_, err := review.ParseSeverity(text)
		if fault.KindOf(err) != fault.Request || !strings.Contains(fault.HintOf(err), hint) {
			t.Errorf("ParseSeverity(%q): got %v with hint %q, want a request fault with %q", text, err, fault.HintOf(err), hint)
		}
	}
}

func TestHighest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		severities []string
		want       string
	}{
		"none":         {nil, ""},
		"unsaid":       {[]string{"", ""}, ""},
		"mixed":        {[]string{"low", "", "high", "info"}, "high"},
		"only_info":    {[]string{"info"}, "info"},
		"critical_top": {[]string{"critical", "high"}, "critical"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r review.Review
			for _, s := range c.severities {
				r.Findings = append(r.Findings, review.Finding{Severity: s})
			}
			if got := r.Highest(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

package review_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/review"
)

func parse(t *testing.T, message string, s *review.Schema) *review.Review {
	t.Helper()
	r, err := review.Parse([]byte(message), s)
	if err != nil {
		t.Fatalf("Parse(%.200s): %v", message, err)
	}
	return r
}

func TestParseReadsTheThreeShapes(t *testing.T) {
	t.Parallel()
	lines := "\tn := 0\n\tfor n < limit {\n"
	for name, c := range map[string]struct {
		message string
		schema  *review.Schema
		want    review.Review
	}{
		"built_in": {string(published(t, "builtin.json")), review.BuiltIn(), review.Review{
			Shape: "built-in", OK: new(false), Summary: "Adds a retry loop; one path never ends.",
			Findings: []review.Finding{
				{Severity: "critical", Category: "correctness", Title: "Retry never stops",
					Body: "The counter is reset on every turn.\n\n`n` has to live outside the loop.",
					Path: "store/retry.go", StartLine: 12, EndLine: 17, Side: "RIGHT", Suggestion: &lines, Confidence: new(0.95)},
				{Severity: "info", Category: "tests", Title: "Removed test had no replacement", Body: "The case for an empty key is gone.",
					Path: "store/retry_test.go", StartLine: 40, EndLine: 40, Side: "LEFT", Confidence: new(1.0)},
				{Severity: "low", Category: "docs", Title: "Changelog lacks an entry", Side: "RIGHT", Suggestion: new(""), Confidence: new(0.0)},
			},
		}},
		"built_in_empty": {`{"ok":true,"summary":"Fine.","findings":[]}`, review.BuiltIn(),
			review.Review{Shape: "built-in", OK: new(true), Summary: "Fine."}},
		"codex": {string(published(t, "codex.json")), load(t, string(published(t, "codex.schema.json"))), review.Review{
			Shape: "codex", OK: new(false), Summary: "One path never ends.",
			Findings: []review.Finding{
				{Severity: "critical", Title: "[P0] Retry never stops", Body: "The counter is reset on every turn.",
					Path: "/home/runner/work/shop/shop/store/retry.go", StartLine: 12, EndLine: 17, Side: "RIGHT", Confidence: new(0.9)},
				{Severity: "low", Title: "[P3] Name says less than it could", Body: "`x` is the key.",
					Path: "store/key.go", StartLine: 3, EndLine: 3, Side: "RIGHT", Confidence: new(0.4)},
			},
		}},
		"codex_correct": {`{"findings":[],"overall_correctness":"patch is correct","overall_explanation":"Fine.","overall_confidence_score":1}`,
			load(t, string(published(t, "codex.schema.json"))), review.Review{Shape: "codex", OK: new(true), Summary: "Fine."}},
		"strings": {`{"ok":false,"findings":["one","two\nlines"]}`, load(t, `{}`), review.Review{
			Shape: "strings", OK: new(false), Findings: []review.Finding{{Body: "one", Side: "RIGHT"}, {Body: "two\nlines", Side: "RIGHT"}}}},
		"strings_empty": {`{"ok":true,"findings":[]}`, load(t, `{}`), review.Review{Shape: "strings", OK: new(true)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parse(t, c.message, c.schema)
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// A schema of one's own may lead to a variant of a shape, or to something else entirely.
func TestParseReadsVariants(t *testing.T) {
	t.Parallel()
	minimal := review.Finding{Severity: "high", Title: "t", Body: "b", Side: "RIGHT"}
	at := func(change func(f *review.Finding)) []review.Finding {
		f := minimal
		change(&f)
		return []review.Finding{f}
	}
	codex := func(more string) string {
		return `{"overall_correctness":"unsure","findings":[{"title":"t","body":"b",` + more +
			`"code_location":{"absolute_file_path":"a.go","line_range":{"start":1,"end":2}}}]}`
	}
	found := func(severity string) []review.Finding {
		return []review.Finding{{Severity: severity, Title: "t", Body: "b", Path: "a.go", StartLine: 1, EndLine: 2, Side: "RIGHT"}}
	}
	built := func(more string) string {
		return `{"findings":[{"severity":"high","title":"t","body":"b"` + more + `}]}`
	}
	for name, c := range map[string]struct {
		message string
		want    review.Review
	}{
		"fewer_members":        {built(""), review.Review{Shape: "built-in", Findings: []review.Finding{minimal}}},
		"more_members":         {built(`,"rule":{"id":7}`), review.Review{Shape: "built-in", Findings: []review.Finding{minimal}}},
		"null_members":         {built(`,"path":null,"start_line":null,"side":null,"confidence":null`), review.Review{Shape: "built-in", Findings: []review.Finding{minimal}}},
		"one_line":             {built(`,"start_line":7`), review.Review{Shape: "built-in", Findings: at(func(f *review.Finding) { f.StartLine, f.EndLine = 7, 7 })}},
		"other_side":           {built(`,"side":"TOP"`), review.Review{Shape: "built-in", Findings: at(func(f *review.Finding) { f.Side = "TOP" })}},
		"number_forms":         {built(`,"start_line":7.0,"end_line":80e-1`), review.Review{Shape: "built-in", Findings: at(func(f *review.Finding) { f.StartLine, f.EndLine = 7, 8 })}},
		"number_negative_zero": {built(`,"start_line":-0,"end_line":-0.0,"confidence":-0`), review.Review{Shape: "built-in", Findings: at(func(f *review.Finding) { f.Confidence = new(0.0) })}},
		"number_beyond_int":    {built(`,"start_line":-99999999999999999999,"end_line":1e300`), review.Review{Shape: "built-in", Findings: at(func(f *review.Finding) { f.StartLine, f.EndLine = math.MinInt, math.MaxInt })}},
		"number_exact":         {built(`,"start_line":9007199254740993,"end_line":9223372036854775807`), review.Review{Shape: "built-in", Findings: at(func(f *review.Finding) { f.StartLine, f.EndLine = 9007199254740993, math.MaxInt })}},
		"confidence_percent":   {built(`,"confidence":95`), review.Review{Shape: "built-in", Findings: []review.Finding{minimal}}},
		"half_pair":            {built(`,"path":"\ud83d"`), review.Review{Shape: "built-in", Findings: at(func(f *review.Finding) { f.Path = "\uFFFD" })}},
		"codex_no_priority":    {codex(""), review.Review{Shape: "codex", Findings: found("")}},
		"codex_null_priority":  {codex(`"priority":null,`), review.Review{Shape: "codex", Findings: found("")}},
		"codex_priority_1":     {codex(`"priority":1,`), review.Review{Shape: "codex", Findings: found("high")}},
		"codex_priority_2":     {codex(`"priority":2,`), review.Review{Shape: "codex", Findings: found("medium")}},
		"codex_priority_4":     {codex(`"priority":4,`), review.Review{Shape: "codex", Findings: found("")}},
		"codex_priority_far":   {codex(`"priority":1e300,`), review.Review{Shape: "codex", Findings: found("")}},
		"codex_no_path":        {`{"overall_correctness":"x","findings":[{"title":"t","body":"b","code_location":{"line_range":{"start":1,"end":2}}}]}`, review.Review{Shape: "unknown"}},
		"codex_no_lines":       {`{"overall_correctness":"x","findings":[{"title":"t","body":"b","code_location":{"absolute_file_path":"a"}}]}`, review.Review{Shape: "unknown"}},
		"codex_line_as_text":   {`{"overall_correctness":"x","findings":[{"title":"t","body":"b","code_location":{"absolute_file_path":"a","line_range":{"start":"1","end":2}}}]}`, review.Review{Shape: "unknown"}},
		"codex_no_location":    {`{"overall_correctness":"x","findings":[{"title":"t","body":"b"}]}`, review.Review{Shape: "unknown"}},
		"scalar":               {`"fine"`, review.Review{Shape: "unknown"}},
		"null":                 {`null`, review.Review{Shape: "unknown"}},
		"array":                {`[{"severity":"high","title":"t","body":"b"}]`, review.Review{Shape: "unknown"}},
		"no_findings":          {`{"ok":true,"summary":"s"}`, review.Review{Shape: "unknown", OK: new(true), Summary: "s"}},
		"other_findings":       {`{"ok":true,"findings":[{"message":"m","file":"a.go"}]}`, review.Review{Shape: "unknown", OK: new(true)}},
		"findings_object":      {`{"ok":true,"findings":{"a":1}}`, review.Review{Shape: "unknown", OK: new(true)}},
		"empty_and_no_verdict": {`{"verdict":"x","findings":[]}`, review.Review{Shape: "unknown"}},
		"mixed":                {`{"ok":true,"findings":["a",{"severity":"high","title":"t","body":"b"}]}`, review.Review{Shape: "unknown", OK: new(true)}},
		"other_severity":       {`{"findings":[{"severity":"HIGH","title":"t","body":"b"}]}`, review.Review{Shape: "unknown"}},
		"line_as_text":         {built(`,"start_line":"7"`), review.Review{Shape: "unknown"}},
		"line_as_fraction":     {built(`,"start_line":7.5`), review.Review{Shape: "unknown"}},
		"ok_as_text":           {`{"ok":"yes","findings":["a"]}`, review.Review{Shape: "unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parse(t, c.message, load(t, `{}`))
			if diff := cmp.Diff(&c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func wantInvalid(t *testing.T, err error) *review.InvalidError {
	t.Helper()
	var got *review.InvalidError
	if !errors.As(err, &got) {
		t.Fatalf("got %v, want an *InvalidError", err)
	}
	if fault.KindOf(err) != fault.Review || fault.HintOf(err) == "" {
		t.Errorf("got kind %v and hint %q, want a review fault with a hint", fault.KindOf(err), fault.HintOf(err))
	}
	if text := err.Error(); strings.Contains(text, "\n") || len(text) > 800 {
		t.Errorf("got %q, want one short line", text)
	}
	return got
}

func TestParseTellsAllProblems(t *testing.T) {
	t.Parallel()
	message := `{"ok":"yes","findings":[
		{"severity":"urgent","category":"c","title":"t","body":"b","path":"p","start_line":1.5,"end_line":1,"side":"RIGHT","suggestion":7,"confidence":0},
		"text",
		{"severity":"low","category":"c","title":null,"path":"p","start_line":1,"end_line":1,"side":"RIGHT","suggestion":null,"confidence":0,"note":"n"},
		1,2,3,4,5,6,7,8,
		{"severity":"low","category":"c","title":"t","body":"b","path":"p","start_line":1,"end_line":1,"side":"MIDDLE","suggestion":null,"confidence":0}
	]}`
	r, err := review.Parse([]byte(message), review.BuiltIn())
	if r != nil {
		t.Errorf("got a review, %+v, beside the error", r)
	}
	got := wantInvalid(t, err)
	want := &review.InvalidError{Problems: []review.Problem{
		{Path: "", What: `"summary" is missing`},
		{Path: "/findings/0/severity", What: `want one of "critical", "high", "medium", "low", "info"`},
		{Path: "/findings/0/start_line", What: "want integer, got number"},
		{Path: "/findings/0/suggestion", What: "want [string,null], got integer"},
		{Path: "/findings/1", What: "want object, got string"},
		{Path: "/findings/2", What: `"note" is not in the schema`},
		{Path: "/findings/2", What: `"body" is missing`},
		{Path: "/findings/2/title", What: "want string, got null"},
		{Path: "/findings/3", What: "want object, got integer"},
		{Path: "/findings/4", What: "want object, got integer"},
		{Path: "/findings/5", What: "want object, got integer"},
		{Path: "/findings/6", What: "want object, got integer"},
		{Path: "/findings/7", What: "want object, got integer"},
		{Path: "/findings/8", What: "want object, got integer"},
		{Path: "/findings/9", What: "want object, got integer"},
		{Path: "/findings/10", What: "want object, got integer"},
		{Path: "/findings/11/side", What: `want one of "RIGHT", "LEFT"`},
		{Path: "/ok", What: "want boolean, got string"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if text := `invalid review: "summary" is missing (and 17 more)`; err.Error() != text {
		t.Errorf("got %q, want %q", err, text)
	}
}

func TestProblemsAreInOrder(t *testing.T) {
	t.Parallel()
	_, err := review.Parse([]byte(`{"b":1,"10":1,"9":1,"1x":1,"":1,"a":1,"01":1}`), load(t, `{"additionalProperties":{"type":"null"}}`))
	var got []string
	for _, p := range wantInvalid(t, err).Problems {
		got = append(got, p.Path)
	}
	if diff := cmp.Diff([]string{"/9", "/10", "/", "/01", "/1x", "/a", "/b"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestParseBoundsTheProblems(t *testing.T) {
	t.Parallel()
	_, err := review.Parse([]byte(`{"ok":true,"summary":"","findings":[0`+strings.Repeat(",0", 99)+`]}`), review.BuiltIn())
	got := wantInvalid(t, err)
	if len(got.Problems) != review.MaxProblems || got.More != 50 {
		t.Errorf("got %d problems and %d more, want %d and 50", len(got.Problems), got.More, review.MaxProblems)
	}
	if text := "invalid review: /findings/0: want object, got integer (and 99 more)"; err.Error() != text {
		t.Errorf("got %q, want %q", err, text)
	}
}

func TestParseSaysEachKeyword(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, message, want string }{
		"false":         {`false`, `1`, "the top: nothing is allowed here"},
		"const":         {`{"const":"x"}`, `1`, `the top: want "x"`},
		"any_of":        {`{"anyOf":[{"type":"null"}]}`, `1`, "the top: fits none of the schemas in anyOf"},
		"one_of":        {`{"oneOf":[true,true]}`, `1`, "the top: does not fit exactly one of the schemas in oneOf"},
		"not":           {`{"not":{}}`, `1`, "the top: fits the schema in not"},
		"minimum":       {`{"minimum":2}`, `1`, "the top: must be greater than or equal to 2"},
		"length":        {`{"maxLength":1}`, `"ab"`, "the top: string length must be less than or equal to 1"},
		"pattern":       {`{"pattern":"^b"}`, `"ab"`, "the top: does not match pattern '^b'"},
		"items":         {`{"items":{"type":"null"}}`, `[1]`, "/0: want null, got integer"},
		"odd_names":     {`{"additionalProperties":{"type":"null"}}`, `{"a/b.c~":1}`, "/a~1b.c~0: want null, got integer"},
		"hostile_name":  {`{"additionalProperties":{"type":"null"}}`, `{"\n::error::\u001b[0m\u202e":1}`, `/\n::error::\x1b[0m\u202e: want null, got integer`},
		"hostile_extra": {`{"additionalProperties":false}`, `{"\r##[error]":1}`, `the top: "\r##[error]" is not in the schema`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := review.Parse([]byte(c.message), load(t, c.schema))
			got := wantInvalid(t, err)
			if !slices.ContainsFunc(got.Problems, func(p review.Problem) bool { return p.String() == c.want }) {
				t.Errorf("got %q, want %q among them", got.Problems, c.want)
			}
		})
	}
}

func TestParseNamesWhatStandsAround(t *testing.T) {
	t.Parallel()
	good := `{"ok":true,"summary":"","findings":[]}`
	for name, c := range map[string]struct{ message, want string }{
		"fence":               {"```json\n" + good + "\n```", "the review stands in a code fence"},
		"fence_plain":         {"\n```\n" + good + "\n```\n", "the review stands in a code fence"},
		"fence_tilde":         {"~~~\n" + good + "\n~~~", "the review stands in a code fence"},
		"fence_after_text":    {"Here it is:\n```json\n" + good + "\n```\nDone.", "the review stands in a code fence, with text before it"},
		"text_before":         {"Here is the review: " + good, "text stands before the review"},
		"text_after":          {good + "\nLet me know.", "text stands after the review"},
		"text_around":         {"Review: " + good + " Done.", "text stands before and after the review"},
		"braces_before":       {"For {} and {x}: " + good, "text stands before the review"},
		"mark":                {"\uFEFF" + good, "the review starts with a byte-order mark"},
		"empty":               {"", "the review is empty"},
		"white_space":         {" \n\t", "the review is empty"},
		"prose":               {"I could not review this.", "'I' instead of a JSON value (byte 0)"},
		"two_reviews":         {good + good, "more after the JSON value (byte 38)"},
		"cut":                 {`{"ok":true,"findings":[{"a":1},{"b"`, `/findings/1/b: the end instead of ":" (byte 35)`},
		"cut_array":           {`[{"a":1},`, "/1: the end instead of a JSON value (byte 9)"},
		"duplicate":           {`{"ok":true,"ok":false,"summary":"","findings":[]}`, "/ok: a key that is there twice (byte 11)"},
		"not_utf8":            {"{\"ok\":\"\xff\"}", "invalid UTF-8 (0xFF) (byte 7)"},
		"number_beyond":       {`{"ok":true,"summary":"","findings":[{"confidence":1e400}]}`, "/findings/0/confidence: a number that no double holds (1e400) (byte 50)"},
		"number_far_beyond":   {`[1e99999999999999999999]`, "/0: a number that no double holds (1e99999999999999999999) (byte 1)"},
		"number_near_nothing": {`[1e-2000000]`, "/0: a number that no double holds (1e-2000000) (byte 1)"},
		"number_long":         {"[" + strings.Repeat("1", 401) + "]", "/0: a number of 401 characters (byte 1)"},
		"half_pair_in_key":    {`{"\ud800":1}`, "/: half a surrogate pair (byte 2)"},
		"too_deep":            {strings.Repeat("[", 70) + strings.Repeat("]", 70), "more than 64 levels (byte 64)"},
		"too_many_values":     {"[" + strings.Repeat("0,", 250_000) + "0]", "/249999: more than 250000 values (byte 499999)"},
		"many_braces":         {"x" + strings.Repeat("{", 100_000), "'x' instead of a JSON value (byte 0)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := review.Parse([]byte(c.message), review.BuiltIn())
			if r != nil {
				t.Errorf("got a review: %+v", r)
			}
			got := wantInvalid(t, err)
			if len(got.Problems) != 1 || got.More != 0 || !strings.HasSuffix(got.Error(), c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// What a schema accepts may still be absurd. It is read, or refused in words.
func TestParseSurvivesAbsurdReviews(t *testing.T) {
	t.Parallel()
	one := `{"severity":"high","category":"c","title":%q,"body":"b","path":"a.go","start_line":9,"end_line":2,"side":"RIGHT","suggestion":null,"confidence":0.5}`
	many := func(n int, title string) string {
		f := fmt.Sprintf(one, title)
		return `{"ok":true,"summary":"","findings":[` + strings.Repeat(f+",", n-1) + f + `]}`
	}
	for name, c := range map[string]struct {
		message  string
		findings int
	}{
		"ten_thousand_findings": {many(10_000, "t"), 10_000},
		"titles_of_a_megabyte":  {many(10, strings.Repeat("x", 1<<20)), 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := parse(t, c.message, review.BuiltIn())
			r.Locate(files{})
			if len(r.Findings) != c.findings || r.Findings[c.findings-1].Location.State != review.LocationNoFile {
				t.Errorf("got %d findings, want %d, each looked for", len(r.Findings), c.findings)
			}
		})
	}
	for name, message := range map[string]string{
		"too_long":          `{"ok":true,"summary":"` + strings.Repeat("x", review.MaxReviewBytes) + `","findings":[]}`,
		"too_many_findings": many(40_000, "t"),
		"too_wrong":         `{"ok":true,"summary":"","findings":[{}` + strings.Repeat(",{}", 60_000) + `]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := review.Parse([]byte(message), review.BuiltIn())
			wantInvalid(t, err)
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"ok":true,"summary":"s","findings":[{"severity":"high","category":"","title":"t","body":"b","path":"a","start_line":1,"end_line":1e3,"side":"LEFT","suggestion":"x","confidence":1}]}`,
		`{"ok":false,"findings":["a"]}`, "```json\n{}\n```", `x {"a":1}`, `{"findings":[{"title":"t","body":"b","code_location":{"absolute_file_path":"/a","line_range":{"start":1,"end":-0}}}],"overall_correctness":"patch is correct"}`,
		`[1e400]`, `{"a":"\ud800"}`, `{"ok":1}`, `{"findings":[1,"x",{}]}`,
	} {
		f.Add([]byte(seed))
	}
	anything, err := review.LoadSchema([]byte(`{}`))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		for _, s := range []*review.Schema{review.BuiltIn(), anything} {
			r, err := review.Parse(message, s)
			if err != nil {
				wantInvalid(t, err)
				continue
			}
			r.Locate(files{"a": {"RIGHT": 3, "LEFT": 1}})
			for _, found := range r.Findings {
				if _, err := review.ParseSeverity(found.Severity); err != nil && found.Severity != "" {
					t.Errorf("got severity %q", found.Severity)
				}
				if l := found.Location; l.State == review.LocationUnchecked || (l.State == review.LocationOK) != (l.Reason == "") {
					t.Errorf("got location %+v", l)
				}
			}
		}
	})
}

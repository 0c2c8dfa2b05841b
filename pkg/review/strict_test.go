package review_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/recibo-ci/recibo/pkg/review"
)

func TestStrictAllows(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"object":             `{"a":[1,-0,1.5e+10,2E-3,true,false,null,"x"],"b":{}}`,
		"space_around":       " \t\r\n{} \n",
		"scalar":             `"x"`,
		"zero":               `0`,
		"beyond_a_double":    `1e400`,
		"long_number":        strings.Repeat("9", 5000),
		"escapes":            `"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`,
		"unicode":            `{"é😀":"\u2028"}`,
		"delete_character":   "\"\x7f\"",
		"same_key_elsewhere": `{"a":{"a":1},"b":[{"a":1},{"a":1}]}`,
		"empty_key":          `{"":1}`,
		"deepest":            strings.Repeat("[", review.MaxDepth) + strings.Repeat("]", review.MaxDepth),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := review.Strict([]byte(text), len(text)); err != nil {
				t.Errorf("Strict(%.60s): got %v, want it allowed", text, err)
			}
		})
	}
}

func TestStrictRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want review.SyntaxError
	}{
		"empty":               {"", review.SyntaxError{Path: "", Offset: 0, What: "the end instead of a JSON value"}},
		"two_values":          {"{} {}", review.SyntaxError{Path: "", Offset: 3, What: "more after the JSON value"}},
		"word_too_long":       {"nullx", review.SyntaxError{Path: "", Offset: 4, What: "more after the JSON value"}},
		"word_cut":            {"tru", review.SyntaxError{Path: "", Offset: 0, What: "'t' instead of a JSON value"}},
		"mark":                {"\uFEFF{}", review.SyntaxError{Path: "", Offset: 0, What: "a byte-order mark"}},
		"not_utf8":            {"{\"a\":\"\xff\"}", review.SyntaxError{Path: "", Offset: 6, What: "invalid UTF-8 (0xFF)"}},
		"twice":               {`{"a":1,"b":2,"a":3}`, review.SyntaxError{Path: "/a", Offset: 13, What: "a key that is there twice"}},
		"twice_deep":          {`{"x":[0,{"k/~":1,"k/~":2}]}`, review.SyntaxError{Path: "/x/1/k~1~0", Offset: 17, What: "a key that is there twice"}},
		"twice_escaped":       {`{"a":1,"\u0061":2}`, review.SyntaxError{Path: "/a", Offset: 7, What: "a key that is there twice"}},
		"twice_empty":         {`{"":1,"":2}`, review.SyntaxError{Path: "/", Offset: 6, What: "a key that is there twice"}},
		"too_deep":            {strings.Repeat("[", 65), review.SyntaxError{Path: strings.Repeat("/0", 64), Offset: 64, What: "more than 64 levels"}},
		"half_pair":           {`["\ud83d"]`, review.SyntaxError{Path: "/0", Offset: 2, What: "half a surrogate pair"}},
		"half_pair_low":       {`["\ude00"]`, review.SyntaxError{Path: "/0", Offset: 2, What: "half a surrogate pair"}},
		"half_pair_twice":     {`["\ud83d\ud83d"]`, review.SyntaxError{Path: "/0", Offset: 2, What: "half a surrogate pair"}},
		"half_pair_in_key":    {`{"\udc00":1}`, review.SyntaxError{Path: "/", Offset: 2, What: "half a surrogate pair"}},
		"escape_unknown":      {`"\x"`, review.SyntaxError{Path: "", Offset: 1, What: "an escape that JSON does not have"}},
		"escape_at_end":       {`"\`, review.SyntaxError{Path: "", Offset: 1, What: "an escape that JSON does not have"}},
		"escape_short":        {`"\u12"`, review.SyntaxError{Path: "", Offset: 1, What: "an escape without four hex digits"}},
		"escape_sign":         {`"\u+123"`, review.SyntaxError{Path: "", Offset: 1, What: "an escape without four hex digits"}},
		"string_open":         {`["a`, review.SyntaxError{Path: "/0", Offset: 3, What: "the end instead of the end of a string"}},
		"string_newline":      {"\"a\nb\"", review.SyntaxError{Path: "", Offset: 2, What: "a control character (0x0A) in a string"}},
		"string_nul":          {"\"\x00\"", review.SyntaxError{Path: "", Offset: 1, What: "a control character (0x00) in a string"}},
		"nul_for_value":       {"[\x00]", review.SyntaxError{Path: "/0", Offset: 1, What: `'\x00' instead of a JSON value`}},
		"number_leading_zero": {"01", review.SyntaxError{Path: "", Offset: 1, What: "more after the JSON value"}},
		"number_plus":         {"+1", review.SyntaxError{Path: "", Offset: 0, What: "'+' instead of a JSON value"}},
		"number_minus_alone":  {"-", review.SyntaxError{Path: "", Offset: 1, What: "the end instead of a digit"}},
		"number_no_fraction":  {"1.", review.SyntaxError{Path: "", Offset: 2, What: "the end instead of a digit"}},
		"number_no_exponent":  {"1e+", review.SyntaxError{Path: "", Offset: 3, What: "the end instead of a digit"}},
		"not_a_number":        {"NaN", review.SyntaxError{Path: "", Offset: 0, What: "'N' instead of a JSON value"}},
		"array_comma":         {"[1,]", review.SyntaxError{Path: "/1", Offset: 3, What: "']' instead of a JSON value"}},
		"array_no_comma":      {"[1 2]", review.SyntaxError{Path: "/0", Offset: 3, What: `'2' instead of "," or "]"`}},
		"object_comma":        {`{"a":1,}`, review.SyntaxError{Path: "/a", Offset: 7, What: "'}' instead of a key"}},
		"object_no_colon":     {`{"a" 1}`, review.SyntaxError{Path: "/a", Offset: 5, What: `'1' instead of ":"`}},
		"object_no_comma":     {`{"a":1 "b":2}`, review.SyntaxError{Path: "/a", Offset: 7, What: `'"' instead of "," or "}"`}},
		"comment":             {"{} // x", review.SyntaxError{Path: "", Offset: 3, What: "more after the JSON value"}},
		"other_space":         {"\u00a0{}", review.SyntaxError{Path: "", Offset: 0, What: `'\u00a0' instead of a JSON value`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := review.Strict([]byte(c.text), 1000)
			var got *review.SyntaxError
			if !errors.As(err, &got) {
				t.Fatalf("Strict(%q): got %v, want a syntax error", c.text, err)
			}
			if diff := cmp.Diff(c.want, *got); diff != "" {
				t.Errorf("Strict(%q): -want +got\n%s", c.text, diff)
			}
		})
	}
}

func TestStrictBoundsItsInput(t *testing.T) {
	t.Parallel()
	err := review.Strict([]byte(`[1,2,3]`), 6)
	want := "7 bytes, of which at most 6 are read, at the top (byte 6)"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

// Names in an error may be a model's: they must not start a line, a workflow command or a terminal
// sequence, nor bury what is wrong.
func TestSyntaxErrorIsOneShortLine(t *testing.T) {
	t.Parallel()
	key := `\n::error::x\u001b[31m` + strings.Repeat("y", 5000)
	err := review.Strict([]byte(`{"`+key+`":1,"`+key+`":2}`), 100_000)
	if err == nil {
		t.Fatal("got no error, want one for the duplicate")
	}
	if got := err.Error(); strings.ContainsAny(got, "\n\x1b") || len(got) > 300 || !strings.HasPrefix(got, "a key that is there twice at /\\n::error") {
		t.Errorf("got %q, want one short printable line", got)
	}
}

// What Strict allows is JSON to the standard library as well, within its limits.
func FuzzStrict(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-0.5e3,true,null,"\ud83d\ude00"]}`, `{"a":1,"a":2}`, `{} {}`, "\uFEFF{}", `"\ud800"`, `[[[[]]]]`,
		`01`, "\"\x00\"", `{"a":}`, `1e400`, `{"\u0061":1,"a":2}`, "[1,\xff]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		const limit = 1 << 16
		err := review.Strict(b, limit)
		if err == nil {
			if !json.Valid(b) || len(b) > limit {
				t.Fatalf("Strict allowed %q", b)
			}
			return
		}
		var syntax *review.SyntaxError
		if !errors.As(err, &syntax) {
			t.Fatalf("got %T, want a *SyntaxError", err)
		}
		if syntax.Offset < 0 || syntax.Offset > len(b) || syntax.What == "" {
			t.Fatalf("got %+v for %d bytes", syntax, len(b))
		}
	})
}

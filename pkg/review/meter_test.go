package review

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recibo-ci/recibo/pkg/fault"
)

func reading(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := LoadSchema([]byte(text))
	if err != nil {
		t.Fatalf("LoadSchema(%.200s): %v", text, err)
	}
	return s
}

func price(t *testing.T, s *Schema, message string) int {
	t.Helper()
	v, err := decode([]byte(message))
	if err != nil {
		t.Fatal(err)
	}
	m := meter{left: budget}
	m.visit(s.root, v)
	return budget - m.left
}

// The validator goes on whatever is wrong. These made it take minutes or gigabytes, each by
// another way in which a small review and a small schema multiply.
func TestMeterStopsWhatMultiplies(t *testing.T) {
	t.Parallel()
	many := func(item string, n int) string { return "[" + strings.Repeat(item+",", n-1) + item + "]" }
	names := func(n, size int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"%s%d"`, strings.Repeat("x", size), i)
		}
		return "[" + b.String()[1:] + "]"
	}
	properties := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,"p%d":{}`, i)
		}
		return "{" + b.String()[1:] + "}"
	}
	branches := `{"minimum":1}` + strings.Repeat(`,{"minimum":1}`, 200)
	key := strings.Repeat("k", 100_000)
	for name, c := range map[string]struct{ schema, message string }{
		"required":             {`{"items":{"required":` + names(1000, 1) + `}}`, many("{}", 1000)},
		"required_long_name":   {`{"items":{"required":` + names(1, 100_000) + `}}`, many("{}", 100_000)},
		"wrong_type":           {`{"items":{"type":"string"}}`, many("0", 200_000)},
		"unexpected":           {`{"items":{"additionalProperties":false}}`, many(`{"a":0}`, 120_000)},
		"enum_text":            {`{"items":{"enum":` + names(500, 500) + `}}`, many("0", 20_000)},
		"enum_of_large_value":  {`{"enum":[1],"items":{"enum":[1],"items":{"enum":[1]}}}`, many(many("0", 200), 1000)},
		"const_text":           {`{"items":{"const":"` + key + `"}}`, many("0", 20_000)},
		"branches":             {`{"items":{"anyOf":[` + branches + `]}}`, many("0", 10_000)},
		"branches_of_branches": {`{"items":{"$ref":"#/$defs/a"},"$defs":{"a":{"allOf":[` + strings.Repeat(`{"$ref":"#/$defs/b"},`, 60) + `{}]},"b":{"oneOf":[` + strings.Repeat(`{"$ref":"#/$defs/c"},`, 60) + `{}]},"c":{"minimum":1}}}`, many("0", 1000)},
		"pattern":              {`{"items":{"pattern":"(a|b|ab)*c(a{500})d"}}`, many(`"`+strings.Repeat("ab", 50_000)+`"`, 20)},
		"pattern_names":        {`{"items":{"patternProperties":{"(x{900})y":{}}}}`, many(`{"a":0}`, 50_000)},
		"format":               {`{"items":{"type":"string","format":"hostname"}}`, many(`"`+strings.Repeat("a.", 50_000)+`"`, 20)},
		"names_by_names":       {`{"items":{"properties":` + properties(10_000) + `}}`, many(properties(200), 400)},
		"names_checked":        {`{"items":{"propertyNames":{"maxLength":1,"const":"x"}}}`, many(`{"ab":0}`, 120_000)},
		"dependency_list":      {`{"items":{"dependencies":{"a":` + names(1000, 1) + `}}}`, many(`{"a":0}`, 1000)},
		"dependency_schema":    {`{"items":{"dependencies":{"a":{"required":` + names(1000, 1) + `}}}}`, many(`{"a":0}`, 1000)},
		"unique_items":         {`{"items":{"uniqueItems":true,"items":{"uniqueItems":true,"items":{"uniqueItems":true}}}}`, many(many(many("0", 40), 40), 100)},
		"contains":             {`{"items":{"contains":{"const":1}}}`, many(many("0", 500), 480)},
		"tuple":                {`{"items":[{}],"additionalItems":{"type":"null","minimum":1,"not":{}}}`, many("0", 100_000)},
		"long_path":            {`{"additionalProperties":{"items":{"minimum":1}}}`, `{"` + key + `":` + many("0", 5000) + `}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := reading(t, c.schema)
			if got := price(t, s, c.message); got <= budget {
				t.Errorf("got price %d, want it over %d", got, budget)
			}
			_, err := Parse([]byte(c.message), s)
			if fault.KindOf(err) != fault.Review || !strings.Contains(err.Error(), "too large, or too wrong") {
				t.Errorf("got %v, want a review fault for the price", err)
			}
		})
	}
}

func TestMeterLetsOrdinaryReviewsThrough(t *testing.T) {
	t.Parallel()
	finding := `{"severity":"high","category":"c","title":"t","body":"` + strings.Repeat("word ", 100) +
		`","path":"a.go","start_line":1,"end_line":2,"side":"RIGHT","suggestion":null,"confidence":0.5}`
	message := `{"ok":true,"summary":"","findings":[` + strings.Repeat(finding+",", 99) + finding + `]}`
	if got := price(t, BuiltIn(), message); got > budget/100 {
		t.Errorf("100 findings cost %d, want less than a hundredth of %d", got, budget)
	}
}

// compile is handed only bare, measured schemas. That it leads nowhere holds without that.
func TestCompileFollowsNothing(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer server.Close()
	for _, ref := range []string{server.URL + "/a.json", "file:///etc/hostname", "http://json-schema.org/draft-07/schema#"} {
		_, err := compile(map[string]any{"$ref": ref}, draft7)
		if err == nil || !strings.Contains(err.Error(), "never followed") {
			t.Errorf("compile with a reference to %s: got %v, want it refused by the loader", ref, err)
		}
	}
	if hits.Load() != 0 {
		t.Error("the validator made a request")
	}
}

// A panic of the validator, here over a schema that LoadSchema would not let through, is an error.
func TestValidatorPanicsAreErrors(t *testing.T) {
	t.Parallel()
	if _, err := compile(map[string]any{"definitions": true}, draft7); err == nil || !strings.Contains(err.Error(), "the validator failed") {
		t.Errorf("compile: got %v, want the panic as an error", err)
	}
	v, err := decode([]byte(`1e400`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := check(reading(t, `{"enum":[1]}`).validator, v); err == nil || !strings.Contains(err.Error(), "the validator failed") {
		t.Errorf("check: got %v, want the panic as an error", err)
	}
}

func TestNearest(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"requierd": "required", "additionalproperties": "additionalProperties", "mininum": "minimum", "x": "", "": "",
		"$def": "$defs", strings.Repeat("x", 5000): "",
	} {
		words := []string{"$defs", "additionalProperties", "minimum", "required"}
		if got := nearest(word, words); got != want {
			t.Errorf("nearest(%.20q): got %q, want %q", word, got, want)
		}
	}
}

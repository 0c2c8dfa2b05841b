package review_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/recibo-ci/recibo/pkg/review"
)

func published(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestStructuredOutputsTake(t *testing.T) {
	t.Parallel()
	const object = `{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":%s}%s}`
	nested := `{"type":"string"}`
	for range 9 {
		nested = fmt.Sprintf(object, nested, "")
	}
	for name, schema := range map[string]string{
		"built_in":            string(review.BuiltIn().Bytes()),
		"published_example":   string(published(t, "codex.schema.json")),
		"nullable":            fmt.Sprintf(object, `{"type":["string","null"]}`, ""),
		"any_of_below":        fmt.Sprintf(object, `{"anyOf":[{"type":"string"},{"type":"null"}]}`, ""),
		"definitions":         fmt.Sprintf(object, `{"$ref":"#/$defs/s"}`, `,"$defs":{"s":{"type":"string"}}`),
		"definitions_by_old":  fmt.Sprintf(object, `{"$ref":"#/definitions/s"}`, `,"definitions":{"s":{"type":"string"}}`),
		"constraints":         fmt.Sprintf(object, `{"type":"array","minItems":1,"maxItems":3,"items":{"type":"number","minimum":0,"exclusiveMaximum":9,"multipleOf":3}}`, ""),
		"text_constraints":    fmt.Sprintf(object, `{"type":"string","pattern":"^x","format":"date","minLength":1,"maxLength":9}`, ""),
		"enum_and_const":      fmt.Sprintf(object, `{"anyOf":[{"enum":["x",1,null]},{"const":"y"}]}`, ""),
		"annotations":         fmt.Sprintf(object, `{"type":"string","title":"t","description":"d","$comment":"c"}`, `,"$schema":"http://json-schema.org/draft-07/schema#"`),
		"object_of_nothing":   `{"type":"object","additionalProperties":false}`,
		"ten_levels":          fmt.Sprintf(object, nested, ""),
		"thousand_values":     fmt.Sprintf(object, `{"enum":[0`+counting(1, 1000)+`]}`, ""),
		"long_enum_few_words": fmt.Sprintf(object, `{"enum":["`+strings.Repeat("x", 20_000)+`"]}`, ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := load(t, schema).StructuredOutputProblems(); len(got) > 0 {
				t.Errorf("got %v, want no problem", got)
			}
		})
	}
}

func counting(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, ",%d", i)
	}
	return b.String()
}

func TestStructuredOutputsRefuse(t *testing.T) {
	t.Parallel()
	const closed = `"additionalProperties":false`
	top := func(property string) string {
		return `{"type":"object",` + closed + `,"required":["a"],"properties":{"a":` + property + `}}`
	}
	many := strings.Repeat("x", 60)
	wide, wideNames := strings.Builder{}, strings.Builder{}
	for i := range 5001 {
		fmt.Fprintf(&wide, `,"p%d":{"type":"null"}`, i)
		fmt.Fprintf(&wideNames, `,"p%d"`, i)
	}
	for name, c := range map[string]struct {
		schema string
		want   []review.Problem
	}{
		"top_is_any_of":     {`{"anyOf":[{"type":"null"}]}`, []review.Problem{{"", "the top must not be an anyOf"}, {"", `the top must be of type "object"`}}},
		"top_is_array":      {`{"type":"array","items":{"type":"string"}}`, []review.Problem{{"", `the top must be of type "object"`}}},
		"top_is_nullable":   {`{"type":["object","null"],` + closed + `}`, []review.Problem{{"", `the top must be of type "object"`}}},
		"top_is_true":       {`true`, []review.Problem{{"", `the top must be of type "object"`}, {"", "true and false are not supported as schemas"}}},
		"open":              {`{"type":"object"}`, []review.Problem{{"", `an object needs "additionalProperties": false`}}},
		"open_said":         {`{"type":"object","additionalProperties":true}`, []review.Problem{{"", `an object needs "additionalProperties": false`}}},
		"open_below":        {top(`{"type":"array","items":{"type":["object","null"]}}`), []review.Problem{{"/properties/a/items", `an object needs "additionalProperties": false`}}},
		"open_definition":   {`{"type":"object",` + closed + `,"$defs":{"d":{"properties":{}}}}`, []review.Problem{{"/$defs/d", "needs a type, an anyOf, an enum, a const or a $ref"}, {"/$defs/d", `an object needs "additionalProperties": false`}}},
		"optional":          {`{"type":"object",` + closed + `,"required":["b"],"properties":{"a":{"type":"null"},"b":{"type":"null"}}}`, []review.Problem{{"", `required must list every property, and lacks "a"`}}},
		"optional_all":      {`{"type":"object",` + closed + `,"properties":{"a":{"type":"null"}}}`, []review.Problem{{"", `required must list every property, and lacks "a"`}}},
		"required_unknown":  {`{"type":"object",` + closed + `,"required":["a"]}`, []review.Problem{{"", `required lists "a", which is no property`}}},
		"all_of":            {top(`{"type":"null","allOf":[{"type":"null"}]}`), []review.Problem{{"/properties/a", `"allOf" is not supported`}}},
		"one_of":            {top(`{"type":"null","oneOf":[{"type":"null"}]}`), []review.Problem{{"/properties/a", `"oneOf" is not supported`}}},
		"not":               {top(`{"type":"null","not":{"type":"string"}}`), []review.Problem{{"/properties/a", `"not" is not supported`}}},
		"conditions":        {top(`{"type":"null","if":{"const":1},"then":{"const":1},"else":{"const":1}}`), []review.Problem{{"/properties/a", `"else" is not supported`}, {"/properties/a", `"if" is not supported`}, {"/properties/a", `"then" is not supported`}}},
		"default":           {top(`{"type":"string","default":"x"}`), []review.Problem{{"/properties/a", `"default" is not supported`}}},
		"unique_items":      {top(`{"type":"array","items":{"type":"null"},"uniqueItems":true}`), []review.Problem{{"/properties/a", `"uniqueItems" is not supported`}}},
		"tuple":             {top(`{"type":"array","items":[{"type":"null"}],"additionalItems":false}`), []review.Problem{{"/properties/a", `"additionalItems" is not supported`}, {"/properties/a", "items must be one schema, not a list"}}},
		"array_of_anything": {top(`{"type":"array"}`), []review.Problem{{"/properties/a", "an array needs items"}}},
		"pattern_names":     {`{"type":"object",` + closed + `,"patternProperties":{"^x":{"type":"null"}}}`, []review.Problem{{"", `"patternProperties" is not supported`}}},
		"untyped":           {top(`{"description":"anything"}`), []review.Problem{{"/properties/a", "needs a type, an anyOf, an enum, a const or a $ref"}}},
		"boolean":           {top(`true`), []review.Problem{{"/properties/a", "true and false are not supported as schemas"}}},
		"format_uri":        {top(`{"type":"string","format":"uri"}`), []review.Problem{{"/properties/a", `the format "uri" is not supported`}}},
		"beside_reference":  {`{"type":"object",` + closed + `,"required":["a"],"properties":{"a":{"$ref":"#/$defs/s","description":"d"}},"$defs":{"s":{"type":"string"}}}`, []review.Problem{{"/properties/a", `"description" must not stand beside $ref`}}},
		"reference_elsewhere": {`{"type":"object",` + closed + `,"required":["a","b"],"properties":{"a":{"$ref":"#/properties/b"},"b":{"type":"null"}}}`,
			[]review.Problem{{"/properties/a", "$ref must name a definition at the top of the schema"}}},
		"draft_4_exclusive": {`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object",` + closed + `,"required":["a"],"properties":{"a":{"type":"number","minimum":1,"exclusiveMinimum":true}}}`,
			[]review.Problem{{"/properties/a", `"exclusiveMinimum" must be a number`}}},
		"levels":         {levels(11), []review.Problem{{"", "11 levels of objects are more than the 10 that are allowed"}}},
		"levels_by_ref":  {levelsByReference(11), []review.Problem{{"", "11 levels of objects are more than the 10 that are allowed"}}},
		"values":         {top(`{"enum":[0` + counting(1, 1001) + `]}`), []review.Problem{{"", "1001 enum values are more than the 1000 that are allowed"}}},
		"large_enum":     {top(`{"enum":["` + many + `"` + distinct(251, many) + `]}`), []review.Problem{{"/properties/a", "an enum of more than 250 values has at most 15000 characters, not 15873"}}},
		"characters":     {top(`{"const":"` + strings.Repeat("é", 120_000) + `"}`), []review.Problem{{"", "120001 characters in names, enums and consts are more than the 120000 that are allowed"}}},
		"characters_def": {`{"type":"object",` + closed + `,"$defs":{"` + strings.Repeat("é", 120_001) + `":{"type":"null"}}}`, []review.Problem{{"", "120001 characters in names, enums and consts are more than the 120000 that are allowed"}}},
		"properties":     {`{"type":"object",` + closed + `,"properties":{` + wide.String()[1:] + `},"required":[` + wideNames.String()[1:] + `]}`, []review.Problem{{"", "5001 properties are more than the 5000 that are allowed"}}},
		"several_places": {`{"type":"object","required":["a"],"properties":{"a":{},"b":{"type":"string"}}}`, []review.Problem{{"", `an object needs "additionalProperties": false`}, {"", `required must list every property, and lacks "b"`}, {"/properties/a", "needs a type, an anyOf, an enum, a const or a $ref"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := load(t, c.schema).StructuredOutputProblems()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func levels(n int) string {
	schema := `{"type":"object","additionalProperties":false}`
	for range n - 1 {
		schema = `{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":` + schema + `}}`
	}
	return schema
}

func levelsByReference(n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"$ref":"#/$defs/d1"}},"$defs":{`)
	for i := 1; i < n-1; i++ {
		fmt.Fprintf(&b, `"d%d":{"type":"object","additionalProperties":false,"required":["a"],"properties":{"a":{"$ref":"#/$defs/d%d"}}},`, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"object","additionalProperties":false}}}`, n-1)
	return b.String()
}

func distinct(n int, text string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%s%03d"`, text, i)
	}
	return b.String()
}

package review_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/review"
	"github.com/xeipuuv/gojsonschema"
)

func load(t *testing.T, text string) *review.Schema {
	t.Helper()
	s, err := review.LoadSchema([]byte(text))
	if err != nil {
		t.Fatalf("LoadSchema(%.200s): %v", text, err)
	}
	return s
}

func TestBuiltInIsThePublishedFile(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	s := review.BuiltIn()
	if string(s.Bytes()) != string(want) {
		t.Error("the built-in schema differs from schema.json")
	}
	if s.SHA() != digest.Of(want) {
		t.Errorf("got digest %v, want that of the file, %v", s.SHA(), digest.Of(want))
	}
}

func TestLoadSchemaTakes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ schema, valid, invalid string }{
		"nothing_said":         {`{}`, `1`, ``},
		"true":                 {`true`, `1`, ``},
		"false":                {`false`, ``, `1`},
		"draft_4":              {`{"$schema":"http://json-schema.org/draft-04/schema#","id":"x","minimum":1,"exclusiveMinimum":true}`, `2`, `1`},
		"draft_4_open":         {`{"$schema":"http://json-schema.org/draft-04/schema","additionalProperties":false,"items":[{}],"additionalItems":true}`, `{}`, `{"a":1}`},
		"draft_6":              {`{"$schema":"http://json-schema.org/draft-06/schema#","contains":{"const":null}}`, `[1,null]`, `[1]`},
		"draft_7":              {`{"$schema":"http://json-schema.org/draft-07/schema#","$id":"https://example.com/s.json","if":{"minimum":5},"then":false}`, `4`, `5`},
		"draft_7_unsaid":       {`{"exclusiveMinimum":1}`, `2`, `1`},
		"reference":            {`{"items":{"$ref":"#/definitions/a"},"definitions":{"a":{"type":"string"}}}`, `["x"]`, `[1]`},
		"reference_new_name":   {`{"items":{"$ref":"#/$defs/a.b-c_D"},"$defs":{"a.b-c_D":{"type":"string"}}}`, `["x"]`, `[1]`},
		"reference_at_top":     {`{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}},"description":"d"}`, `"x"`, `1`},
		"reference_chain":      {`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/c"},"c":{"type":"string"}}}`, `"x"`, `1`},
		"reference_to_use":     {`{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, `{"b":"x"}`, `{"b":1}`},
		"reference_escaped":    {`{"properties":{"b":{"$ref":"#/definitions/x~1y~0z"}},"definitions":{"x/y~z":{"type":"string"}}}`, `{"b":"x"}`, `{"b":1}`},
		"reference_into_tuple": {`{"items":[{"type":"string"},{"$ref":"#/items/0"}],"additionalItems":false}`, `["x","y"]`, `["x",1]`},
		"reference_twice":      {`{"properties":{"a":{"$ref":"#/$defs/s"},"b":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`, `{"a":"x"}`, `{"b":1}`},
		"property_names":       {`{"properties":{"$ref":{"type":"string"},"$id":{},"properties":{"enum":[1]},"":{"type":"null"}}}`, `{"$ref":"x","":null}`, `{"":1}`},
		"definition_names":     {`{"$ref":"#/definitions/const","definitions":{"const":{"type":"string"},"$id":{"type":"null"},"properties":{"type":"null"}}}`, `"x"`, `1`},
		"combinations":         {`{"allOf":[{"type":"integer"},{"anyOf":[{"minimum":5},{"maximum":1}]}],"oneOf":[{"multipleOf":2},{"multipleOf":3}],"not":{"const":8}}`, `10`, `8`},
		"dependencies":         {`{"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"b":1}`, `{"c":1}`},
		"names_by_pattern":     {`{"patternProperties":{"^x-":{"type":"string"}},"propertyNames":{"maxLength":4},"additionalProperties":false}`, `{"x-a":"1"}`, `{"x-a":1}`},
		"formats":              {`{"properties":{"d":{"type":"string","format":"date-time"}}}`, `{"d":"2026-01-02T03:04:05Z"}`, `{"d":"yesterday"}`},
		"identity_in_default":  {`{"properties":{"a":{"$ref":"#/definitions/n"}},"default":{"$id":"#/definitions/n","type":"string"},"definitions":{"n":{"type":"integer"}}}`, `{"a":1}`, `{"a":"x"}`},
		"reference_in_default": {`{"type":"string","default":{"$ref":"http://127.0.0.1:1/"},"examples":[{"$ref":"#"}]}`, `"x"`, `1`},
		"reference_in_const":   {`{"const":{"$ref":"http://127.0.0.1:1/"}}`, `{"$ref":"http://127.0.0.1:1/"}`, `{}`},
		"numbers":              {`{"type":"integer","minimum":-0,"maximum":1e2,"multipleOf":0.5}`, `7.0`, `101`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := load(t, c.schema)
			if c.valid != "" {
				if _, err := review.Parse([]byte(c.valid), s); err != nil {
					t.Errorf("Parse(%s): got %v, want it valid", c.valid, err)
				}
			}
			if c.invalid != "" {
				if r, err := review.Parse([]byte(c.invalid), s); fault.KindOf(err) != fault.Review || r != nil {
					t.Errorf("Parse(%s): got %v, %v, want a review fault", c.invalid, r, err)
				}
			}
		})
	}
}

type refusal struct{ schema, err, hint string }

func TestLoadSchemaRefusesDocumentsAndReferences(t *testing.T) {
	t.Parallel()
	wantRefusals(t, map[string]refusal{
		"empty":                    {``, "the end instead of a JSON value", "built-in"},
		"mark":                     {"\uFEFF{}", "a byte-order mark", "built-in"},
		"trailing":                 {`{} {}`, "more after the JSON value", "built-in"},
		"duplicate":                {`{"type":"string","type":"number"}`, "a key that is there twice at /type", "built-in"},
		"too_deep":                 {strings.Repeat(`{"not":`, 65) + "true" + strings.Repeat("}", 65), "more than 64 levels", "built-in"},
		"too_long":                 {`{"title":"` + strings.Repeat("x", review.MaxSchemaBytes) + `"}`, "of which at most 524288 are read", "built-in"},
		"too_many_values":          {`{"enum":[0` + strings.Repeat(",0", 60_000) + `]}`, "more than 50000 values", "built-in"},
		"not_a_schema":             {`[1]`, "the top: a schema is expected, not an array", "object of keywords"},
		"null_property":            {`{"properties":{"a":null}}`, "/properties/a: a schema is expected, not null", "object of keywords"},
		"draft_4_boolean":          {`{"$schema":"http://json-schema.org/draft-04/schema#","not":true}`, "/not: a schema is expected, not true", "object of keywords"},
		"draft_2020":               {`{"$schema":"https://json-schema.org/draft/2020-12/schema"}`, "only drafts 4, 6 and 7 are understood", "draft-07"},
		"draft_of_ones_own":        {`{"$schema":"http://127.0.0.1:1/schema"}`, "only drafts 4, 6 and 7 are understood", "draft-07"},
		"draft_no_string":          {`{"$schema":7}`, "only drafts 4, 6 and 7 are understood, not 7", "draft-07"},
		"draft_below":              {`{"not":{"$schema":"http://json-schema.org/draft-04/schema#"}}`, `/not: "$schema" stands below the top`, "remove it"},
		"identity_below":           {`{"definitions":{"a":{"$id":"#/definitions/b"}}}`, `/definitions/a: "$id" stands below the top`, "remove it"},
		"identity_of_draft_4":      {`{"id":"x"}`, `keyword "id" is unknown in draft 7`, `"$id"`},
		"typo":                     {`{"propertes":{}}`, `the top: keyword "propertes" is unknown in draft 7`, `did you mean "properties"?`},
		"typo_below":               {`{"items":{"require":[]}}`, `/items: keyword "require" is unknown`, `did you mean "required"?`},
		"later_keyword":            {`{"dependentRequired":{}}`, `keyword "dependentRequired" is unknown`, "drafts 4, 6 or 7"},
		"later_keyword_too":        {`{"unevaluatedProperties":false}`, `keyword "unevaluatedProperties" is unknown`, "pass over"},
		"far_keyword":              {`{"zzz":1}`, `keyword "zzz" is unknown`, "pass over"},
		"if_in_draft_6":            {`{"$schema":"http://json-schema.org/draft-06/schema#","if":{}}`, `keyword "if" is unknown in draft 6`, " "},
		"const_in_draft_4":         {`{"$schema":"http://json-schema.org/draft-04/schema#","const":1}`, `keyword "const" is unknown in draft 4`, " "},
		"exclusive_alone":          {`{"$schema":"http://json-schema.org/draft-04/schema#","exclusiveMaximum":true}`, `"exclusiveMaximum" stands without "maximum"`, "draft 4"},
		"exclusive_as_boolean":     {`{"minimum":1,"exclusiveMinimum":true}`, "/exclusiveMinimum: a number", " "},
		"recursion_at_once":        {`{"$ref":"#"}`, "/$ref: the schema refers to itself", "write out"},
		"recursion_mutual":         {`{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b"},"b":{"$ref":"#/definitions/a"}}}`, "the schema refers to itself", "write out"},
		"recursion_in_combination": {`{"$ref":"#/definitions/a","definitions":{"a":{"allOf":[{"$ref":"#/definitions/a"}]}}}`, "/definitions/a: the schema refers to itself", "write out"},
		"recursion_in_property":    {`{"properties":{"a":{"$ref":"#/definitions/a"}},"definitions":{"a":{"properties":{"a":{"$ref":"#/definitions/a"}}}}}`, "the schema refers to itself", "write out"},
		"recursion_in_items":       {`{"items":{"items":{"$ref":"#/items"}}}`, "the schema refers to itself", "write out"},
		"recursion_unused":         {`{"definitions":{"a":{"not":{"$ref":"#/definitions/a"}}}}`, "the schema refers to itself", "write out"},
		"recursion_by_dependency":  {`{"dependencies":{"a":{"$ref":"#/dependencies/a"}}}`, "the schema refers to itself", "write out"},
		"reference_http":           {`{"$ref":"http://127.0.0.1:1/s.json"}`, `"http://127.0.0.1:1/s.json" leads out of the schema`, "under definitions"},
		"reference_https_draft":    {`{"$ref":"http://json-schema.org/draft-07/schema#"}`, "leads out of the schema", "under definitions"},
		"reference_file":           {`{"$ref":"file:///etc/passwd"}`, "leads out of the schema", "under definitions"},
		"reference_path":           {`{"$ref":"other.json#/a"}`, "leads out of the schema", "under definitions"},
		"reference_empty":          {`{"$ref":""}`, "leads out of the schema", "under definitions"},
		"reference_by_name":        {`{"$ref":"#name"}`, "leads out of the schema", "under definitions"},
		"reference_encoded":        {`{"$ref":"#/definitions/%61","definitions":{"a":{},"%61":{}}}`, "has a character that is not read", "letters"},
		"reference_bad_escape":     {`{"$ref":"#/definitions/~2"}`, "has a character that is not read", "letters"},
		"reference_number":         {`{"$ref":1}`, "/$ref: a string is expected, not a number", " "},
		"reference_to_nothing":     {`{"$ref":"#/definitions/a"}`, "/$ref: nothing stands at #/definitions/a", "define"},
		"reference_to_values":      {`{"$ref":"#/enum/0","enum":[{}]}`, `"enum" beside $ref would not be checked`, "move it"},
		"reference_into_default":   {`{"not":{"$ref":"#/default"},"default":{}}`, "nothing stands at #/default", "define"},
		"reference_into_keyword":   {`{"not":{"$ref":"#/properties"},"properties":{}}`, "nothing stands at #/properties", "define"},
		"reference_odd_index":      {`{"items":[{}],"not":{"$ref":"#/items/00"}}`, "nothing stands at #/items/00", "define"},
	})
}

func TestLoadSchemaRefusesKeywordValues(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1001)
	wantRefusals(t, map[string]refusal{
		"beside_reference":      {`{"$ref":"#/$defs/a","maxLength":1,"$defs":{"a":{}}}`, `"maxLength" beside $ref would not be checked`, "move it"},
		"properties_beside":     {`{"$ref":"#/$defs/a","properties":{},"$defs":{"a":{}}}`, `"properties" beside $ref`, "move it"},
		"pattern_lookahead":     {`{"pattern":"^(?!x)"}`, `/pattern: pattern "^(?!x)" does not compile`, "RE2"},
		"pattern_backreference": {`{"items":{"patternProperties":{"(a)\\1":{}}}}`, `does not compile`, "RE2"},
		"pattern_too_long":      {`{"pattern":"` + long + `"}`, "at most 1000 bytes", "shorten"},
		"pattern_too_large":     {`{"pattern":"` + strings.Repeat(`(\\pL{1000})`, 25) + `"}`, "too large to match fast", "repetition"},
		"pattern_number":        {`{"pattern":1}`, "/pattern: a pattern", "pattern"},
		"format_unknown":        {`{"format":"credit-card"}`, "one of the formats that can be checked", " "},
		"format_slow":           {`{"format":"regex"}`, "one of the formats that can be checked", " "},
		"enum_empty":            {`{"enum":[]}`, "an array with something in it is expected, not []", " "},
		"enums_too_long":        {`{"enum":[0` + strings.Repeat(",0", 10_000) + `]}`, "more than 10000 entries", "shorten"},
		"any_of_empty":          {`{"anyOf":[]}`, "/anyOf: an array of schemas is expected, not an empty array", "at least one"},
		"any_of_object":         {`{"anyOf":{}}`, "/anyOf: an array of schemas is expected, not an object", "at least one"},
		"definitions_true":      {`{"definitions":true}`, "/definitions: an object is expected, not true", "by name"},
		"definitions_reference": {`{"definitions":{"$ref":"http://127.0.0.1:1/"}}`, "/definitions/$ref: a schema is expected, not a string", " "},
		"required_string":       {`{"required":"a"}`, `/required: an array of different strings is expected, not "a"`, " "},
		"required_twice":        {`{"required":["a","a"]}`, "different strings", " "},
		"type_unknown":          {`{"type":"text"}`, `/type: one of array, boolean`, " "},
		"type_twice":            {`{"type":["null","null"]}`, `different ones`, " "},
		"type_none":             {`{"type":[]}`, `/type: one of`, " "},
		"count_negative":        {`{"minLength":-1}`, "a whole number from 0 is expected, not -1", " "},
		"count_fraction":        {`{"maxItems":1.5}`, "a whole number from 0 is expected, not 1.5", " "},
		"count_beyond":          {`{"maxItems":99999999999999999999}`, "a whole number from 0", " "},
		"multiple_of_zero":      {`{"multipleOf":0}`, "a number (above 0", " "},
		"minimum_beyond":        {`{"minimum":1e400}`, "a number that no double holds (1e400) at /minimum", " "},
		"minimum_tiny":          {`{"minimum":1e-2000000}`, "a number that no double holds", " "},
		"enum_number_beyond":    {`{"enum":[1e400]}`, "a number that no double holds", " "},
		"number_of_many_digits": {`{"minimum":0.` + long + `}`, " ", " "},
		"dependency_number":     {`{"dependencies":{"a":1}}`, "/dependencies/a: a schema is expected, not a number", " "},
		"dependency_names":      {`{"dependencies":{"a":[1]}}`, "/dependencies/a: an array of different strings", " "},
		"unique_number":         {`{"uniqueItems":1}`, "/uniqueItems: true or false is expected, not 1", " "},
		"lengths_crossed":       {`{"minLength":2,"maxLength":1}`, "the validator does not take it", " "},
	})
}

func wantRefusals(t *testing.T, cases map[string]refusal) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := review.LoadSchema([]byte(c.schema))
			if err == nil || s != nil {
				t.Fatalf("LoadSchema(%.100s): got %v, %v, want an error with %q", c.schema, s, err, c.err)
			}
			if got := err.Error(); !strings.Contains(got, c.err) || !strings.HasPrefix(got, "output schema: ") ||
				strings.Contains(got, "\n") || len(got) > 500 {
				t.Errorf("got error %q, want one short line with %q", got, c.err)
			}
			if fault.KindOf(err) != fault.Request {
				t.Errorf("got kind %v, want a request fault", fault.KindOf(err))
			}
			if got := fault.HintOf(err); !strings.Contains(got, c.hint) || got == "" {
				t.Errorf("got hint %q, want %q in it", got, c.hint)
			}
		})
	}
}

// Twenty definitions, each used twice by the one before, are a million schemas once written out.
func TestLoadSchemaRefusesWhatGrows(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"allOf", "anyOf", "oneOf", "items"} {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/definitions/d0","definitions":{`)
		for i := range 20 {
			fmt.Fprintf(&b, `"d%d":{"%s":[{"$ref":"#/definitions/d%d"},{"$ref":"#/definitions/d%d"}]},`, i, word, i+1, i+1)
		}
		b.WriteString(`"d20":{"type":"string"}}}`)
		_, err := review.LoadSchema([]byte(b.String()))
		if err == nil || !strings.Contains(err.Error(), "too large once its references are replaced") {
			t.Errorf("%s: got %v, want the schema refused for its size", word, err)
		}
	}
}

// A chain of references as long as a schema allows neither overflows the stack nor is refused.
func TestLoadSchemaTakesALongChain(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"$ref":"#/definitions/d0","definitions":{`)
	const n = 8000
	for i := range n {
		fmt.Fprintf(&b, `"d%d":{"$ref":"#/definitions/d%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"d%d":{"type":"string"}}}`, n)
	if _, err := review.Parse([]byte(`"x"`), load(t, b.String())); err != nil {
		t.Errorf("got %v, want the review valid", err)
	}
}

// A long name with many schemas below it stays as small as it is written.
func TestLoadSchemaTakesALongName(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"object","properties":{"%s":{"properties":{"a":{}`, strings.Repeat("x", 250_000))
	for i := range 15_000 {
		fmt.Fprintf(&b, `,"p%d":{}`, i)
	}
	b.WriteString(`}}}}`)
	if got := load(t, b.String()).StructuredOutputProblems(); len(got) != review.MaxProblems {
		t.Errorf("got %d problems, want the bounded %d", len(got), review.MaxProblems)
	}
}

// Nothing a schema says makes a request or reads a file. The validator alone does both, so the
// traps are seen to work before they are seen to stay quiet.
func TestLoadSchemaCallsNobody(t *testing.T) {
	t.Parallel()
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		fmt.Fprint(w, `{"type":"string","definitions":{"a":{}}}`)
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "s.json")
	if err := os.WriteFile(file, []byte(`{"type":"string"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{server.URL + "/s.json", "file://" + file} {
		if _, err := gojsonschema.NewSchema(gojsonschema.NewStringLoader(`{"$ref":"` + target + `"}`)); err != nil {
			t.Fatalf("the validator alone does not follow %s: %v", target, err)
		}
	}
	if hits.Swap(0) != 1 {
		t.Fatal("the trap did not see the validator's own request")
	}
	templates := []string{
		`{"$ref":"%s"}`, `{"items":{"$ref":"%s#/definitions/a"}}`, `{"definitions":{"a":{"$ref":"%s"}}}`,
		`{"$schema":"%s"}`, `{"$id":"%s","type":"string"}`, `{"$id":"%s","$ref":"#/definitions/a","definitions":{"a":{}}}`,
		`{"$id":"%s","$ref":"other.json"}`, `{"definitions":{"a":{"$id":"%s"}},"$ref":"#/definitions/a"}`,
		`{"default":{"$ref":"%s"}}`, `{"const":{"$ref":"%s"}}`, `{"enum":[{"$ref":"%s"}]}`, `{"examples":[{"$id":"%s","$ref":"x"}]}`,
		`{"properties":{"$ref":{"const":"%s"}}}`, `{"dependencies":{"$ref":["%s"]}}`, `{"format":"%s"}`, `{"pattern":"%s"}`,
		`{"definitions":{"$id":{"title":"%s"}}}`, `{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"%s"}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","id":"%s","$ref":"#/definitions/a","definitions":{"a":{}}}`,
	}
	for _, template := range templates {
		for _, target := range []string{server.URL + "/s.json", "file://" + file} {
			s, err := review.LoadSchema(fmt.Appendf(nil, template, target))
			if err == nil {
				_, err = review.Parse([]byte(`{"$ref":1,"a":[1,"x"]}`), s)
			}
			t.Logf("%s: %v", template, err)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("got %d requests, want none", n)
	}
}

func FuzzSchema(f *testing.F) {
	for _, seed := range []string{
		`{"$ref":"#"}`, `{"type":"object","properties":{"a":{"$ref":"#/definitions/a"}},"definitions":{"a":{"enum":[1,"x"]}}}`,
		`{"pattern":"(a+)+$","patternProperties":{"^x":true}}`, `{"dependencies":{"a":["b"],"c":{"not":{}}}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`, `{"items":[{},{"$ref":"#/items/0"}]}`,
		`{"anyOf":[{"const":null},{"format":"date"}],"oneOf":[true,false],"if":{},"then":{"minimum":1e10}}`, `{"definitions":true}`,
		`{"uniqueItems":true,"contains":{"multipleOf":0.1},"propertyNames":{"maxLength":3}}`, string(review.BuiltIn().Bytes()),
	} {
		f.Add([]byte(seed), []byte(`{"a":[1,"x",null,1e3],"c":{"d":true}}`))
	}
	f.Fuzz(func(t *testing.T, schema, message []byte) {
		s, err := review.LoadSchema(schema)
		if err != nil {
			if fault.KindOf(err) != fault.Request || fault.HintOf(err) == "" {
				t.Fatalf("got %v, want a request fault with a hint", err)
			}
			return
		}
		s.StructuredOutputProblems()
		_, err = review.Parse(message, s)
		if err != nil && strings.Contains(err.Error(), "the validator failed") {
			t.Fatalf("schema %q and message %q: %v", schema, message, err)
		}
	})
}

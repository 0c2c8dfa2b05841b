package review

// draft is a version of JSON Schema: 4, 6 or 7, the ones that the validator knows.
type draft int

const (
	draft4 draft = 4
	draft6 draft = 6
	draft7 draft = 7
)

// form is what the value of a keyword has to be.
type form int

const (
	anything form = iota
	text
	flag
	list        // any array
	values      // an array with something in it
	names       // an array of different strings
	types       // a type's name or an array of them
	count       // a whole number from 0
	number      // any number
	positive    // a number above 0
	expression  // a regular expression
	format      // the name of a format
	reference   // "#/…"
	schema      // one schema
	schemaMap   // schemas by name
	patternMap  // schemas by regular expression
	schemaList  // an array of schemas with something in it
	schemaOrSet // one schema or an array of them
	openness    // one schema or, in every draft, a boolean
	dependency  // by name, a schema or an array of names
	oldLimit    // draft 4: a boolean that makes a limit exclusive
)

// keyword is a word of JSON Schema, in the drafts from one up to another.
type keyword struct {
	word     string
	form     form
	from, to draft
	// note marks a word that checks nothing; the validator never sees it.
	note bool
}

// keywords are those of drafts 4, 6 and 7 (json-schema.org/specification-links), and $defs, which
// 2019-09 brought as the new name of definitions and which generators write everywhere. Left out
// is what the validator would pass over in silence.
func keywords() []keyword {
	return []keyword{
		{word: "$schema", form: text, from: draft4, to: draft7, note: true},
		{word: "id", form: text, from: draft4, to: draft4, note: true},
		{word: "$id", form: text, from: draft6, to: draft7, note: true},
		{word: "$comment", form: text, from: draft4, to: draft7, note: true},
		{word: "title", form: text, from: draft4, to: draft7, note: true},
		{word: "description", form: text, from: draft4, to: draft7, note: true},
		{word: "default", form: anything, from: draft4, to: draft7, note: true},
		{word: "examples", form: list, from: draft6, to: draft7, note: true},
		{word: "readOnly", form: flag, from: draft4, to: draft7, note: true},
		{word: "writeOnly", form: flag, from: draft4, to: draft7, note: true},
		{word: "$ref", form: reference, from: draft4, to: draft7},
		{word: "definitions", form: schemaMap, from: draft4, to: draft7},
		{word: "$defs", form: schemaMap, from: draft4, to: draft7},
		{word: "type", form: types, from: draft4, to: draft7},
		{word: "enum", form: values, from: draft4, to: draft7},
		{word: "const", form: anything, from: draft6, to: draft7},
		{word: "multipleOf", form: positive, from: draft4, to: draft7},
		{word: "minimum", form: number, from: draft4, to: draft7},
		{word: "maximum", form: number, from: draft4, to: draft7},
		{word: "exclusiveMinimum", form: oldLimit, from: draft4, to: draft4},
		{word: "exclusiveMaximum", form: oldLimit, from: draft4, to: draft4},
		{word: "exclusiveMinimum", form: number, from: draft6, to: draft7},
		{word: "exclusiveMaximum", form: number, from: draft6, to: draft7},
		{word: "minLength", form: count, from: draft4, to: draft7},
		{word: "maxLength", form: count, from: draft4, to: draft7},
		{word: "pattern", form: expression, from: draft4, to: draft7},
		{word: "format", form: format, from: draft4, to: draft7},
		{word: "items", form: schemaOrSet, from: draft4, to: draft7},
		{word: "additionalItems", form: openness, from: draft4, to: draft7},
		{word: "contains", form: schema, from: draft6, to: draft7},
		{word: "minItems", form: count, from: draft4, to: draft7},
		{word: "maxItems", form: count, from: draft4, to: draft7},
		{word: "uniqueItems", form: flag, from: draft4, to: draft7},
		{word: "properties", form: schemaMap, from: draft4, to: draft7},
		{word: "patternProperties", form: patternMap, from: draft4, to: draft7},
		{word: "additionalProperties", form: openness, from: draft4, to: draft7},
		{word: "propertyNames", form: schema, from: draft6, to: draft7},
		{word: "required", form: names, from: draft4, to: draft7},
		{word: "minProperties", form: count, from: draft4, to: draft7},
		{word: "maxProperties", form: count, from: draft4, to: draft7},
		{word: "dependencies", form: dependency, from: draft4, to: draft7},
		{word: "allOf", form: schemaList, from: draft4, to: draft7},
		{word: "anyOf", form: schemaList, from: draft4, to: draft7},
		{word: "oneOf", form: schemaList, from: draft4, to: draft7},
		{word: "not", form: schema, from: draft4, to: draft7},
		{word: "if", form: schema, from: draft7, to: draft7},
		{word: "then", form: schema, from: draft7, to: draft7},
		{word: "else", form: schema, from: draft7, to: draft7},
	}
}

// vocabulary returns the keywords of d by name.
func vocabulary(d draft) map[string]keyword {
	words := map[string]keyword{}
	for _, k := range keywords() {
		if k.from <= d && d <= k.to {
			words[k.word] = k
		}
	}
	return words
}

// formats are those that the validator checks and that stay fast on any string. It passes over
// others in silence, so they are refused.
func formats() []string {
	return []string{"date", "date-time", "email", "hostname", "ipv4", "ipv6", "time", "uri", "uuid"}
}

func jsonTypes() []string {
	return []string{"array", "boolean", "integer", "null", "number", "object", "string"}
}

// nearest returns the candidate that takes the fewest edits to get from word, or "" when none is
// close.
func nearest(word string, candidates []string) string {
	if len(word) > 40 {
		return ""
	}
	best, least := "", len(word)/3+2
	for _, c := range candidates {
		if n := edits(word, c); n < least {
			best, least = c, n
		}
	}
	return best
}

// edits is the Levenshtein distance between a and b, in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

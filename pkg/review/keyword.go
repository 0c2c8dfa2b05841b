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
	anyForm form = iota
	textForm
	flagForm
	listForm       // any array
	valuesForm     // an array with something in it
	namesForm      // an array of different strings
	typesForm      // a type's name or an array of them
	countForm      // a whole number from 0
	numberForm     // any number
	positiveForm   // a number above 0
	patternForm    // a regular expression
	formatForm     // the name of a format
	refForm        // "#/…"
	schemaForm     // one schema
	schemaMapForm  // schemas by name
	patternMapForm // schemas by regular expression
	schemaListForm // an array of schemas with something in it
	itemsForm      // one schema or an array of them
	openForm       // one schema or, in every draft, a boolean
	dependencyForm // by name, a schema or an array of names
	limitForm      // draft 4: a boolean that makes a limit exclusive
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
		{word: "$schema", form: textForm, from: draft4, to: draft7, note: true},
		{word: "id", form: textForm, from: draft4, to: draft4, note: true},
		{word: "$id", form: textForm, from: draft6, to: draft7, note: true},
		{word: "$comment", form: textForm, from: draft4, to: draft7, note: true},
		{word: "title", form: textForm, from: draft4, to: draft7, note: true},
		{word: "description", form: textForm, from: draft4, to: draft7, note: true},
		{word: "default", form: anyForm, from: draft4, to: draft7, note: true},
		{word: "examples", form: listForm, from: draft6, to: draft7, note: true},
		{word: "readOnly", form: flagForm, from: draft4, to: draft7, note: true},
		{word: "writeOnly", form: flagForm, from: draft4, to: draft7, note: true},
		{word: "$ref", form: refForm, from: draft4, to: draft7},
		{word: "definitions", form: schemaMapForm, from: draft4, to: draft7},
		{word: "$defs", form: schemaMapForm, from: draft4, to: draft7},
		{word: "type", form: typesForm, from: draft4, to: draft7},
		{word: "enum", form: valuesForm, from: draft4, to: draft7},
		{word: "const", form: anyForm, from: draft6, to: draft7},
		{word: "multipleOf", form: positiveForm, from: draft4, to: draft7},
		{word: "minimum", form: numberForm, from: draft4, to: draft7},
		{word: "maximum", form: numberForm, from: draft4, to: draft7},
		{word: "exclusiveMinimum", form: limitForm, from: draft4, to: draft4},
		{word: "exclusiveMaximum", form: limitForm, from: draft4, to: draft4},
		{word: "exclusiveMinimum", form: numberForm, from: draft6, to: draft7},
		{word: "exclusiveMaximum", form: numberForm, from: draft6, to: draft7},
		{word: "minLength", form: countForm, from: draft4, to: draft7},
		{word: "maxLength", form: countForm, from: draft4, to: draft7},
		{word: "pattern", form: patternForm, from: draft4, to: draft7},
		{word: "format", form: formatForm, from: draft4, to: draft7},
		{word: "items", form: itemsForm, from: draft4, to: draft7},
		{word: "additionalItems", form: openForm, from: draft4, to: draft7},
		{word: "contains", form: schemaForm, from: draft6, to: draft7},
		{word: "minItems", form: countForm, from: draft4, to: draft7},
		{word: "maxItems", form: countForm, from: draft4, to: draft7},
		{word: "uniqueItems", form: flagForm, from: draft4, to: draft7},
		{word: "properties", form: schemaMapForm, from: draft4, to: draft7},
		{word: "patternProperties", form: patternMapForm, from: draft4, to: draft7},
		{word: "additionalProperties", form: openForm, from: draft4, to: draft7},
		{word: "propertyNames", form: schemaForm, from: draft6, to: draft7},
		{word: "required", form: namesForm, from: draft4, to: draft7},
		{word: "minProperties", form: countForm, from: draft4, to: draft7},
		{word: "maxProperties", form: countForm, from: draft4, to: draft7},
		{word: "dependencies", form: dependencyForm, from: draft4, to: draft7},
		{word: "allOf", form: schemaListForm, from: draft4, to: draft7},
		{word: "anyOf", form: schemaListForm, from: draft4, to: draft7},
		{word: "oneOf", form: schemaListForm, from: draft4, to: draft7},
		{word: "not", form: schemaForm, from: draft4, to: draft7},
		{word: "if", form: schemaForm, from: draft7, to: draft7},
		{word: "then", form: schemaForm, from: draft7, to: draft7},
		{word: "else", form: schemaForm, from: draft7, to: draft7},
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

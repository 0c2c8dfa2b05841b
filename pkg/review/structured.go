package review

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits of structured outputs on one schema.
const (
	maxProperties     = 5000
	maxLevels         = 10
	maxNameCharacters = 120_000 // of property and definition names, enum and const values together
	maxEnumValues     = 1000    // of all enums together
	manyEnumValues    = 250     // an enum of more …
	maxEnumCharacters = 15_000  // … has at most so many characters
)

// StructuredOutputProblems returns what OpenAI's structured outputs would refuse the schema for,
// with an answer of status 400: at most MaxProblems of it, by path. Codex asks for them strictly
// whenever it is given a schema.
//
// The rules are those of developers.openai.com/api/docs/guides/structured-outputs, "Supported
// schemas", as of 2026: the root is an object and no anyOf; every object has additionalProperties
// false and requires all its properties; allOf, not, if, then and else are not supported; the
// limits above. Where that page is silent: the keywords that OpenAI's own SDK for Node refuses to
// send (src/lib/transform.ts: contains, dependencies, patternProperties, propertyNames,
// uniqueItems, boolean schemas), oneOf, which its agents SDK rewrites, and messages of the API
// that many have published: "'default' is not permitted", "$ref cannot have keywords …",
// "reference can only point to definitions defined at the top level", "schema must have a 'type'
// key", "array schema missing items". What neither names is left alone, except minProperties,
// maxProperties and additionalItems, which the page leaves out of what it lists for objects and
// arrays. minLength and maxLength stand in OpenAI's published review schema. Levels count objects
// only: the page leaves open whether arrays count.
func (s *Schema) StructuredOutputProblems() []Problem {
	c := &outputCheck{}
	c.root(s.root)
	c.schema(s.root, true)
	c.limits(s.root)
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return c.problems
}

type outputCheck struct {
	problems                      []Problem
	properties, characters, enums int
}

func (c *outputCheck) add(n *node, what string, args ...any) {
	if len(c.problems) < MaxProblems {
		c.problems = append(c.problems, Problem{n.path(), fmt.Sprintf(what, args...)})
	}
}

func (c *outputCheck) root(root *node) {
	if _, ok := root.words["anyOf"]; ok {
		c.add(root, "the top must not be an anyOf")
	}
	if root.words["type"] != "object" {
		c.add(root, `the top must be of type "object"`)
	}
}

// schema checks n and all that stands inside it.
func (c *outputCheck) schema(n *node, top bool) {
	if n.words == nil {
		c.add(n, "true and false are not supported as schemas")
		return
	}
	for _, word := range slices.Sorted(maps.Keys(n.words)) {
		c.keyword(n, word, n.words[word])
	}
	if n.ref == nil {
		c.typed(n, top)
	} else {
		c.reference(n)
	}
	if n.isObject() {
		c.object(n)
	}
	for _, k := range n.kids {
		if k.word == "properties" {
			c.properties++
		}
		if k.word == "properties" || k.isDefinition() {
			c.characters += utf8.RuneCountInString(k.name)
		}
		if k.words == nil && (k.word == "additionalProperties" || k.word == "additionalItems") {
			continue // a boolean, and judged as the keyword's value
		}
		c.schema(k, false)
	}
}

func (c *outputCheck) keyword(n *node, word string, v any) {
	switch word {
	case "allOf", "not", "if", "then", "else", "oneOf", "contains", "dependencies", "patternProperties", "propertyNames",
		"uniqueItems", "additionalItems", "minProperties", "maxProperties", "default":
		c.add(n, "%q is not supported", word)
	case "format":
		if v == "uri" {
			c.add(n, "the format %q is not supported", v)
		}
	case "items":
		if n.isTuple() {
			c.add(n, "items must be one schema, not a list")
		}
	case "enum":
		c.enum(n, v.([]any))
	case "const":
		c.characters += length(v)
	case "exclusiveMinimum", "exclusiveMaximum":
		if _, ok := v.(bool); ok {
			c.add(n, "%q must be a number", word)
		}
	}
}

func (c *outputCheck) enum(n *node, values []any) {
	characters := 0
	for _, v := range values {
		characters += length(v)
	}
	c.enums += len(values)
	c.characters += characters
	if len(values) > manyEnumValues && characters > maxEnumCharacters {
		c.add(n, "an enum of more than %d values has at most %d characters, not %d", manyEnumValues, maxEnumCharacters, characters)
	}
}

func length(v any) int {
	s, _ := v.(string)
	return utf8.RuneCountInString(s)
}

// typed checks that a schema says what it describes.
func (c *outputCheck) typed(n *node, top bool) {
	typed := top
	for _, word := range []string{"type", "anyOf", "enum", "const"} {
		_, has := n.words[word]
		typed = typed || has
	}
	if !typed {
		c.add(n, "needs a type, an anyOf, an enum, a const or a $ref")
	}
	if _, ok := n.words["items"]; !ok && n.names("array") {
		c.add(n, "an array needs items")
	}
}

func (c *outputCheck) reference(n *node) {
	for _, word := range slices.Sorted(maps.Keys(n.words)) {
		if word != "$ref" {
			c.add(n, "%q must not stand beside $ref", word)
		}
	}
	to := n.words["$ref"].(string)
	place, name, ok := strings.Cut(strings.TrimPrefix(to, "#/"), "/")
	if !ok || place != "$defs" && place != "definitions" || strings.Contains(name, "/") {
		c.add(n, "$ref must name a definition at the top of the schema")
	}
}

func (n *node) names(jsonType string) bool {
	all, ok := n.words["type"].([]any)
	return n.words["type"] == jsonType || ok && slices.Contains(all, any(jsonType))
}

func (n *node) isObject() bool {
	_, ok := n.words["properties"]
	return ok || n.names("object")
}

func (c *outputCheck) object(n *node) {
	if n.words["additionalProperties"] != false {
		c.add(n, `an object needs "additionalProperties": false`)
	}
	properties, _ := n.words["properties"].(map[string]any)
	required, _ := n.words["required"].([]any)
	listed := map[any]bool{}
	for _, name := range required {
		listed[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if !listed[name] {
			c.add(n, "required must list every property, and lacks %q", shorten(name, 60))
		}
	}
	for _, name := range required {
		if _, ok := properties[name.(string)]; !ok {
			c.add(n, "required lists %q, which is no property", shorten(name.(string), 60))
		}
	}
}

// limits checks the totals, which schema has counted.
func (c *outputCheck) limits(root *node) {
	for _, l := range []struct {
		what     string
		n, limit int
	}{
		{"properties", c.properties, maxProperties},
		{"characters in names, enums and consts", c.characters, maxNameCharacters},
		{"enum values", c.enums, maxEnumValues},
		{"levels of objects", levels(root, map[*node]int{}), maxLevels},
	} {
		if l.n > l.limit {
			c.add(root, "%d %s are more than the %d that are allowed", l.n, l.what, l.limit)
		}
	}
}

// levels returns how deep objects stand inside each other at n and below, references followed.
func levels(n *node, known map[*node]int) int {
	if deep, ok := known[n]; ok {
		return deep
	}
	deep := 0
	for _, k := range n.kids {
		if !k.isDefinition() {
			deep = max(deep, levels(k, known))
		}
	}
	if n.ref != nil {
		deep = max(deep, levels(n.ref, known))
	}
	if n.isObject() {
		deep++
	}
	known[n] = deep
	return deep
}

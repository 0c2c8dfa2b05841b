package review

import (
	"encoding/json"
	"slices"
	"strconv"
)

// budget bounds what checking one review may cost. The validator never stops early, keeps an error
// of about 650 bytes for everything it does not like, and needs about 2 microseconds for a visit:
// so this is a few seconds and some hundred megabytes at the very worst. A review of 10,000
// findings by the built-in schema costs a quarter of it.
const budget = 1_000_000

// The prices, in visits of one value by one schema.
const (
	violationPrice = 8   // something that will certainly be an error
	constraintMay  = 2   // a constraint that may become one
	bytesPerVisit  = 256 // bytes of text copied or compared
	pathPerVisit   = 64  // bytes of a path, which each error holds more than once
	pairsPerVisit  = 256 // pairs of names compared
	stepsPerVisit  = 64  // steps of a pattern: instructions times characters
	formatSteps    = 200 // instructions of the validator's own patterns for formats
)

// meter adds up what the validator will do with a value, without judging the value: every branch
// of every combination counts, as the validator takes them all.
type meter struct {
	left int
	// path is how many bytes the path of the value at hand has; each error writes it out.
	path int
}

// affordable reports whether the validator can be let loose on v.
func affordable(root *node, v any) bool {
	m := meter{left: budget}
	m.visit(root, v)
	return m.left >= 0
}

func (m *meter) visit(n *node, v any) {
	if m.left -= 1 + m.path/pathPerVisit; m.left < 0 {
		return
	}
	if n.ref != nil {
		m.visit(n.ref, v)
		return
	}
	m.constraints(n, v)
	switch v := v.(type) {
	case map[string]any:
		m.object(n, v)
	case []any:
		m.array(n, v)
	}
	for _, k := range n.kids {
		switch k.word {
		case "allOf", "anyOf", "oneOf", "not", "if", "then", "else":
			m.visit(k, v)
		}
	}
}

// below visits v, which has name in the value at hand.
func (m *meter) below(k *node, name string, v any) {
	m.path += len(name) + 1
	m.visit(k, v)
	m.path -= len(name) + 1
}

// constraints pays for the keywords that look at v itself.
func (m *meter) constraints(n *node, v any) {
	m.left -= n.may
	if n.never || n.words["type"] != nil && !hasType(n.words["type"], v) {
		m.left -= violationPrice
	}
	for _, word := range []string{"enum", "const"} {
		if allowed, ok := n.words[word]; ok {
			// The text of what is allowed stands in the error, so it is paid for as well.
			m.whole(allowed)
			m.whole(v)
		}
	}
	if s, ok := v.(string); ok {
		m.left -= len(s)/bytesPerVisit + len(s)*n.steps/stepsPerVisit
	}
}

// may returns what the constraints among words may become in errors.
func may(words map[string]any) int {
	price := 0
	for word := range words {
		switch word {
		case "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength",
			"minItems", "maxItems", "minProperties", "maxProperties", "pattern", "format", "enum", "const",
			"allOf", "anyOf", "oneOf", "not", "if", "contains", "additionalItems":
			price += constraintMay
		}
	}
	return price
}

// whole pays for writing v out as text, or for as much of it as there is budget for.
func (m *meter) whole(v any) {
	if m.left--; m.left < 0 {
		return
	}
	switch v := v.(type) {
	case string:
		m.left -= len(v) / bytesPerVisit
	case map[string]any:
		for key, v := range v {
			m.left -= len(key) / bytesPerVisit
			m.whole(v)
		}
	case []any:
		for _, v := range v {
			m.whole(v)
		}
	}
}

func (m *meter) object(n *node, object map[string]any) {
	properties, _ := n.words["properties"].(map[string]any)
	m.left -= len(object) * len(properties) / pairsPerVisit
	m.present(n.words["required"], object)
	dependencies, _ := n.words["dependencies"].(map[string]any)
	for key := range object {
		m.present(dependencies[key], object)
	}
	for _, k := range n.kids {
		v, has := object[k.name]
		switch {
		case k.word == "properties" && has:
			m.below(k, k.name, v)
		case k.word == "dependencies" && has:
			m.visit(k, object)
		case k.word == "propertyNames":
			for key := range object {
				m.left -= constraintMay
				m.visit(k, key)
			}
		case k.word == "patternProperties":
			for key, v := range object {
				// The validator compiles the pattern again for every name.
				m.left -= n.steps + n.steps*len(key)/stepsPerVisit
				m.below(k, key, v)
			}
		case k.word == "additionalProperties":
			for key, v := range object {
				if _, ok := properties[key]; !ok {
					m.below(k, key, v)
				}
			}
		}
	}
}

// present pays for a list of names that have to be in object. It may be none.
func (m *meter) present(list any, object map[string]any) {
	names, _ := list.([]any)
	m.left -= len(names) / violationPrice
	for _, name := range names {
		name := name.(string)
		if _, ok := object[name]; !ok {
			m.left -= violationPrice + len(name)/bytesPerVisit
		}
	}
}

func (m *meter) array(n *node, array []any) {
	if unique, _ := n.words["uniqueItems"].(bool); unique {
		m.whole(array)
		m.left -= len(array) * violationPrice
	}
	for _, k := range n.kids {
		items := array
		switch {
		case k.word == "items" && n.isTuple():
			i, _ := strconv.Atoi(k.name)
			items = array[min(i, len(array)):min(i+1, len(array))]
		case k.word == "items", k.word == "contains":
		case k.word == "additionalItems" && n.isTuple():
			items = array[min(len(n.words["items"].([]any)), len(array)):]
		default:
			continue
		}
		for _, v := range items {
			m.below(k, "0", v)
		}
	}
}

// hasType reports whether v is of one of the types that the keyword "type" names.
func hasType(types, v any) bool {
	all, ok := types.([]any)
	if !ok {
		all = []any{types}
	}
	return slices.ContainsFunc(all, func(name any) bool { return isType(name, v) })
}

func isType(name, v any) bool {
	switch v := v.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case string:
		return name == "string"
	case json.Number:
		_, whole := wholeNumber(string(v))
		return name == "number" || name == "integer" && whole
	case []any:
		return name == "array"
	}
	return name == "object"
}

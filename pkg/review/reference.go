package review

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// resolve sets the ref of n and all below. A reference leads to a schema, never into a list of
// values or an annotation.
func (r *schemaReader) resolve(root, n *node) error {
	if ref, ok := n.words["$ref"].(string); ok {
		if n.ref = r.follow(root, strings.Split(ref[len("#/"):], "/")); n.ref == nil {
			return &schemaError{Problem{n.path() + "/$ref", "nothing stands at " + shorten(ref, 80)}, "define what the reference names"}
		}
	}
	for _, k := range n.kids {
		if err := r.resolve(root, k); err != nil {
			return err
		}
	}
	return nil
}

// follow returns the node that the steps of a JSON Pointer lead to from n, or nil.
func (r *schemaReader) follow(n *node, steps []string) *node {
	for len(steps) > 0 {
		word := steps[0]
		steps = steps[1:]
		next, ok := r.nodes[place{parent: n, word: word}]
		if !ok && len(steps) > 0 {
			name := strings.ReplaceAll(strings.ReplaceAll(steps[0], "~1", "/"), "~0", "~")
			next, ok = r.nodes[place{parent: n, word: word, name: name, named: true}]
			steps = steps[1:]
		}
		if !ok {
			return nil
		}
		n = next
	}
	return n
}

// walk is what is known of a node while measure goes through the schema.
type walk int

const (
	unseen walk = iota
	open
	done
)

const (
	recursion     = "the schema refers to itself here, and recursion is refused"
	recursionHint = "write out as many levels as a review can have"
)

// measure sets expanded in n and below, and refuses a schema that contains itself or grows beyond
// maxExpanded when every reference is replaced by what it names. The validator overflows the stack
// on a reference that leads back to itself without going into a property or an item, which ends
// the process; the bound is refused here, before a review is paid for that cannot be checked.
func measure(n *node, seen map[*node]walk) error {
	switch seen[n] {
	case done:
		return nil
	case open:
		return &schemaError{Problem{n.path(), recursion}, recursionHint}
	}
	seen[n] = open
	n.expanded = 1
	for _, k := range n.kids {
		if err := measure(k, seen); err != nil {
			return err
		}
		if !k.isDefinition() {
			n.expanded = min(n.expanded+k.expanded, maxExpanded+1)
		}
	}
	if n.ref != nil {
		if err := measure(n.ref, seen); err != nil {
			return err
		}
		n.expanded = min(n.expanded+n.ref.expanded, maxExpanded+1)
	}
	if n.expanded > maxExpanded {
		return &schemaError{Problem{n.path(), "the schema is too large once its references are replaced by what they name"},
			"use fewer references to large definitions"}
	}
	seen[n] = done
	return nil
}

// bare returns a copy of the schema without the words that check nothing: the validator would
// take an "$id" inside a default or an example for the name of a schema, and a reference could
// then be led there.
func (r *schemaReader) bare(n *node) any {
	if n.words == nil {
		return !n.never
	}
	out := map[string]any{}
	for word, v := range n.words {
		switch k := r.words[word]; {
		case k.note:
		case k.form == schemaMapForm || k.form == patternMapForm || k.form == dependencyForm:
			out[word] = maps.Clone(v.(map[string]any))
		case k.form == schemaListForm || k.form == itemsForm && n.isTuple():
			out[word] = slices.Clone(v.([]any))
		default:
			out[word] = v
		}
	}
	for _, k := range n.kids {
		copied := r.bare(k)
		switch form := r.words[k.word].form; {
		case form == schemaMapForm || form == patternMapForm || form == dependencyForm:
			out[k.word].(map[string]any)[k.name] = copied
		case form == schemaListForm || form == itemsForm && n.isTuple():
			i, _ := strconv.Atoi(k.name)
			out[k.word].([]any)[i] = copied
		default:
			out[k.word] = copied
		}
	}
	return out
}

// isTuple reports whether items holds a schema for each place, not one for all.
func (n *node) isTuple() bool {
	all, ok := n.words["items"].([]any)
	return ok && len(all) > 0
}

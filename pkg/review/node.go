package review

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"
	"strconv"
)

// A schema's size is bounded where its reader, its validator or a checked review would grow worse
// than in step with it.
const (
	maxPatternBytes = 1000
	maxPatternSteps = 20_000 // machine instructions of all patterns together
	maxListed       = 10_000 // entries of all enum and required lists together
	maxExpanded     = 20_000 // schemas, each counted as often as it is referred to
)

// node is one schema of a document: an object of keywords or, from draft 6, a boolean.
type node struct {
	place
	// words are the keywords; nil for a boolean.
	words map[string]any
	// never is set for the boolean false.
	never bool
	// kids are the schemas that stand right inside this one, by keyword and then name.
	kids []*node
	// ref is what $ref leads to.
	ref *node
	// steps are the machine instructions of its patterns, and what its format is worth in them.
	steps int
	// may is what the meter asks for constraints that may become errors.
	may int
	// expanded is 1 and that of every kid and of ref, definitions left out.
	expanded int
}

// place is where a node stands in another one: under a keyword and, where that holds several, by a
// name: that of a property, a pattern, or an index. A node has no path as text: with a long name
// high up and many nodes below, those would take gigabytes.
type place struct {
	parent *node
	word   string
	name   string
	named  bool
}

// path returns the JSON Pointer of n in its document.
func (n *node) path() string {
	var steps []string
	for ; n.parent != nil; n = n.parent {
		if n.named {
			steps = append(steps, n.name)
		}
		steps = append(steps, n.word)
	}
	slices.Reverse(steps)
	return pointer(steps)
}

func (n *node) isDefinition() bool { return n.word == "definitions" || n.word == "$defs" }

// schemaReader builds the nodes of one document and refuses what the validator would mistake,
// pass over, or not survive.
type schemaReader struct {
	words map[string]keyword
	draft draft
	nodes map[place]*node
	steps int
	named int
}

// schemaError is a refusal and what to do about it.
type schemaError struct {
	Problem
	hint string
}

func (e *schemaError) Error() string { return e.Problem.String() }

func refuse(path []string, hint, what string, args ...any) error {
	return &schemaError{Problem{pointer(path), fmt.Sprintf(what, args...)}, hint}
}

// read reads v, a schema at p, whose steps from the top are path.
func (r *schemaReader) read(v any, p place, path []string) (*node, error) {
	n := &node{place: p}
	r.nodes[p] = n
	if b, ok := v.(bool); ok && r.draft > draft4 {
		n.never = !b
		return n, nil
	}
	words, ok := v.(map[string]any)
	if !ok {
		return nil, refuse(path, "write a schema as an object of keywords", "a schema is expected, not %s", describe(v))
	}
	n.words, n.may = words, may(words)
	if words["format"] != nil {
		n.steps = formatSteps
	}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		if err := r.word(n, word, path); err != nil {
			return nil, err
		}
	}
	return n, r.together(n, path)
}

func (r *schemaReader) word(n *node, word string, path []string) error {
	k, ok := r.words[word]
	if !ok {
		return refuse(path, r.suggestion(word), "keyword %q is unknown in draft %d", shorten(word, 60), r.draft)
	}
	if len(path) > 0 && (word == "$schema" || word == "id" || word == "$id") {
		return refuse(path, "remove it: references start from the top of the schema", "%q stands below the top", word)
	}
	path = append(slices.Clip(path), word)
	if takes, ok := r.takes(k.form); ok {
		return takes(n, n.words[word], path)
	}
	return r.plain(k.form, n.words[word], path)
}

func (r *schemaReader) suggestion(word string) string {
	if near := nearest(word, slices.Sorted(maps.Keys(r.words))); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "use the keywords of drafts 4, 6 or 7; what the validator would pass over is refused"
}

// together checks what a keyword means beside others.
func (r *schemaReader) together(n *node, path []string) error {
	if _, ok := n.words["$ref"]; ok {
		for _, word := range slices.Sorted(maps.Keys(n.words)) {
			if k := r.words[word]; !k.note && k.form != schemaMapForm && word != "$ref" || word == "properties" {
				return refuse(path, "move it into what $ref names", "%q beside $ref would not be checked", word)
			}
		}
	}
	for limit, base := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		_, has := n.words[limit]
		if _, also := n.words[base]; has && !also && r.draft == draft4 {
			return refuse(path, "draft 4 has it as a boolean beside "+base, "%q stands without %q", limit, base)
		}
	}
	return nil
}

// takes returns how a keyword is read that holds schemas or leaves something in its node.
func (r *schemaReader) takes(f form) (func(n *node, v any, path []string) error, bool) {
	switch f {
	case schemaForm, openForm:
		return func(n *node, v any, path []string) error {
			if b, ok := v.(bool); ok && f == openForm && r.draft == draft4 {
				n.kids = append(n.kids, &node{place: only(n, path), never: !b})
				return nil
			}
			return r.kid(n, v, only(n, path), path)
		}, true
	case schemaMapForm, patternMapForm:
		return r.byName(f == patternMapForm), true
	case schemaListForm:
		return r.inOrder, true
	case itemsForm:
		return func(n *node, v any, path []string) error {
			if set, ok := v.([]any); ok && len(set) > 0 {
				return r.inOrder(n, v, path)
			}
			return r.kid(n, v, only(n, path), path)
		}, true
	case dependencyForm:
		return r.dependencies, true
	case patternForm:
		return func(n *node, v any, path []string) error {
			steps, err := r.expression(v, path)
			n.steps += steps
			return err
		}, true
	}
	return nil, false
}

// only is the place of the one schema of a keyword, and among that of one of several; path ends in
// the keyword.
func only(n *node, path []string) place { return place{parent: n, word: path[len(path)-1]} }

func among(n *node, path []string, name string) place {
	return place{parent: n, word: path[len(path)-1], name: name, named: true}
}

func (r *schemaReader) kid(n *node, v any, p place, path []string) error {
	if p.named {
		path = append(slices.Clip(path), p.name)
	}
	child, err := r.read(v, p, path)
	if err != nil {
		return err
	}
	n.kids = append(n.kids, child)
	return nil
}

func (r *schemaReader) byName(patterns bool) func(n *node, v any, path []string) error {
	return func(n *node, v any, path []string) error {
		m, ok := v.(map[string]any)
		if !ok {
			return refuse(path, "give schemas by name", "an object is expected, not %s", describe(v))
		}
		for _, name := range slices.Sorted(maps.Keys(m)) {
			if patterns {
				steps, err := r.expression(name, append(slices.Clip(path), name))
				if err != nil {
					return err
				}
				n.steps += steps
			}
			if err := r.kid(n, m[name], among(n, path, name), path); err != nil {
				return err
			}
		}
		return nil
	}
}

func (r *schemaReader) inOrder(n *node, v any, path []string) error {
	all, ok := v.([]any)
	if !ok || len(all) == 0 {
		return refuse(path, "list at least one schema", "an array of schemas is expected, not %s", describe(v))
	}
	for i, v := range all {
		if err := r.kid(n, v, among(n, path, strconv.Itoa(i)), path); err != nil {
			return err
		}
	}
	return nil
}

func (r *schemaReader) dependencies(n *node, v any, path []string) error {
	m, ok := v.(map[string]any)
	if !ok {
		return refuse(path, "give schemas or lists of names by name", "an object is expected, not %s", describe(v))
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if _, ok := m[name].([]any); ok {
			if err := r.plain(namesForm, m[name], append(slices.Clip(path), name)); err != nil {
				return err
			}
			continue
		}
		if err := r.kid(n, m[name], among(n, path, name), path); err != nil {
			return err
		}
	}
	return nil
}

// expression compiles a pattern as the validator will, with Go's RE2 syntax, and returns how many
// machine instructions it has: matching takes time in step with that and the text's length.
func (r *schemaReader) expression(v any, path []string) (int, error) {
	pattern, ok := v.(string)
	if !ok || len(pattern) > maxPatternBytes {
		return 0, refuse(path, "shorten the pattern", "a pattern of at most %d bytes is expected", maxPatternBytes)
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, refuse(path, "write it in RE2 syntax, which has no lookahead and no backreferences",
			"pattern %q does not compile: %s", shorten(pattern, 60), shorten(err.Error(), 100))
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, refuse(path, "simplify the pattern", "pattern %q does not compile", shorten(pattern, 60))
	}
	if r.steps += len(program.Inst); r.steps > maxPatternSteps {
		return 0, refuse(path, "lower the repetition counts", "the patterns are too large to match fast")
	}
	return len(program.Inst), nil
}

func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		if len(v) == 0 {
			return "an empty array"
		}
		return "an array"
	}
	return "an object"
}

package review

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/xeipuuv/gojsonschema"
)

// MaxSchemaBytes is the longest schema that LoadSchema reads.
const MaxSchemaBytes = 512 << 10

const maxSchemaValues = 50_000

// Schema is a JSON Schema that reviews are checked against. It is safe for use by several
// goroutines.
type Schema struct {
	bytes     []byte
	sha       digest.SHA256
	root      *node
	validator *gojsonschema.Schema
}

// Bytes returns the schema as it was given: always the same slice, which nobody may write to.
func (s *Schema) Bytes() []byte { return s.bytes }

// SHA returns the digest of Bytes.
func (s *Schema) SHA() digest.SHA256 { return s.sha }

//go:embed schema.json
var builtIn string

// BuiltIn returns the schema of the reviews that a run asks for unless it is given another one.
func BuiltIn() *Schema {
	s, err := LoadSchema([]byte(builtIn))
	if err != nil {
		panic(fmt.Sprintf("built-in schema: %v", err)) // a test loads it
	}
	return s
}

// LoadSchema reads a JSON Schema of draft 4, 6 or 7, or without $schema, which is taken as draft
// 7. It keeps b.
//
// Whatever a schema says, nothing it does may end or hang the process, read a file or call out.
// So it is read strictly (see Strict), all its keywords have to be known, references may lead only
// into the document and never in a circle, patterns have to compile, and its size is bounded, also
// with all references replaced by what they name. What would be passed over in silence is refused:
// it would look as if it had been checked. The error is a fault.Request with a hint.
func LoadSchema(b []byte) (*Schema, error) {
	s := &Schema{bytes: b, sha: digest.Of(b)}
	if err := s.load(); err != nil {
		hint := "correct the schema, or leave it out to use the built-in one"
		var refused *schemaError
		if errors.As(err, &refused) {
			hint = refused.hint
		}
		return nil, fault.New(fault.Request, hint, "output schema: %w", err)
	}
	return s, nil
}

func (s *Schema) load() error {
	if err := scan(s.bytes, rules{bytes: MaxSchemaBytes, values: maxSchemaValues, doubles: true}); err != nil {
		return err
	}
	document, err := decode(s.bytes)
	if err != nil {
		return err
	}
	d, err := draftOf(document)
	if err != nil {
		return err
	}
	r := &schemaReader{words: vocabulary(d), draft: d, nodes: map[place]*node{}}
	if s.root, err = r.read(document, place{}, nil); err != nil {
		return err
	}
	if err := r.resolve(s.root, s.root); err != nil {
		return err
	}
	if err := measure(s.root, map[*node]walk{}); err != nil {
		return err
	}
	s.validator, err = compile(r.bare(s.root), d)
	return err
}

// decode reads JSON that scan has passed, keeping numbers as they are written.
func decode(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

func draftOf(document any) (draft, error) {
	words, ok := document.(map[string]any)
	if !ok {
		return draft7, nil
	}
	name, ok := words["$schema"]
	if !ok {
		return draft7, nil
	}
	switch name {
	case "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-04/schema":
		return draft4, nil
	case "http://json-schema.org/draft-06/schema#", "http://json-schema.org/draft-06/schema":
		return draft6, nil
	case "http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-07/schema":
		return draft7, nil
	}
	return 0, refuse([]string{"$schema"}, `write "http://json-schema.org/draft-07/schema#", or leave it out`,
		"only drafts 4, 6 and 7 are understood, not %s", shorten(compact(name), 80))
}

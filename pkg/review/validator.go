package review

import (
	"errors"
	"fmt"

	"github.com/xeipuuv/gojsonschema"
)

// compile hands a schema to the validator. The document is bare and measured; that the validator
// cannot read a file or call out does not rest on that alone, as its loader refuses everything.
func compile(document any, d draft) (_ *gojsonschema.Schema, err error) {
	defer rescue(&err)
	loader := gojsonschema.NewSchemaLoader()
	loader.AutoDetect = false
	loader.Draft = gojsonschema.Draft(d)
	s, err := loader.Compile(closed{gojsonschema.NewRawLoader(document)})
	if err != nil {
		return nil, fmt.Errorf("the validator does not take it: %s", shorten(err.Error(), 200))
	}
	return s, nil
}

// check returns what is wrong with value by s.
func check(s *gojsonschema.Schema, value any) (_ []gojsonschema.ResultError, err error) {
	defer rescue(&err)
	result, err := s.Validate(closed{gojsonschema.NewRawLoader(value)})
	if err != nil {
		return nil, err
	}
	return result.Errors(), nil
}

// rescue turns a panic of the validator into an error. None is known that gets this far.
func rescue(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("the validator failed: %s", shorten(fmt.Sprint(r), 200))
	}
}

// closed is a document that leads to no other.
type closed struct{ gojsonschema.JSONLoader }

func (closed) LoaderFactory() gojsonschema.JSONLoaderFactory { return nothing{} }

type nothing struct{}

func (nothing) New(source string) gojsonschema.JSONLoader { return unreachable{source: source} }

type unreachable struct {
	gojsonschema.JSONLoader
	source string
}

func (u unreachable) LoadJSON() (any, error) {
	return nil, errors.New("a reference out of the schema is never followed: " + shorten(u.source, 80))
}

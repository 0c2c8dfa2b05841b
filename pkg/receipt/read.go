package receipt

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sort"
	"strings"
	"sync"

	"github.com/xeipuuv/gojsonschema"

	"github.com/recibo-ci/recibo/pkg/disk"
	"github.com/recibo-ci/recibo/pkg/fault"
)

//go:embed usage.schema.json
var schemaText string

// Schema returns the JSON Schema (draft-07) of usage.json, as published in the repository.
func Schema() []byte { return []byte(schemaText) }

// compiled is kept because compiling takes many times as long as validating.
var compiled = sync.OnceValues(func() (*gojsonschema.Schema, error) {
	return gojsonschema.NewSchema(gojsonschema.NewStringLoader(schemaText))
})

// Read returns the receipt in the file at path, which must be a regular file of at most 4 MiB.
// Its errors are requests that are wrong (fault.Request).
func Read(path string) (*Receipt, error) {
	data, err := disk.Read(filepath.Dir(path), filepath.Base(path), fileMax)
	if err != nil {
		return nil, fault.New(fault.Request, "name the usage.json that a run of recibo left", "read receipt %q: %w", path, err)
	}
	r, err := Parse(data)
	if err != nil {
		return nil, fault.New(fault.Request, hintOf(err), "read receipt %q: %w", path, err)
	}
	return r, nil
}

func hintOf(err error) string {
	if _, ok := errors.AsType[versionError](err); ok {
		return "use a recibo that reads this version"
	}
	return "take the file as the run left it, from its artifact"
}

// versionError is a receipt's schema_version that this package does not read.
type versionError string

func (e versionError) Error() string {
	return fmt.Sprintf("schema_version is %.40s, want %q", string(e), SchemaVersion)
}

// Parse reads a receipt. It is strict about the receipt's own keys, at every level: each is
// there once, none is unknown, all are as the schema says. Other keys at the top level are other
// writers', and nothing is asked of them but to be JSON.
func Parse(data []byte) (*Receipt, error) {
	all, err := parseObject(data)
	if err != nil {
		return nil, err
	}
	members, _ := all.split()
	ours := &value{open: '{', members: members}
	if err := ours.plain(""); err != nil {
		return nil, err
	}
	for _, m := range members {
		if m.name == "schema_version" && string(m.content.literal) != `"`+SchemaVersion+`"` {
			return nil, versionError(m.content.literal)
		}
	}
	text := ours.print()
	if err := validate(text); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var r Receipt
	if err := d.Decode(&r); err != nil {
		return nil, err
	}
	return &r, nil
}

// digitsMax is what an int64 holds whatever its digits are.
const digitsMax = 18

// plain refuses what the validator would not notice, or not survive: names that come twice, of
// which readers take one or the other, and numbers that are not plain integers (1e999999999
// costs a big number's worth of time).
func (v *value) plain(at string) error {
	if v.open == 0 {
		return plainNumber(v.literal, at)
	}
	seen := map[string]bool{}
	for _, m := range v.members {
		name := at + "." + m.name
		if v.open == '{' && seen[m.name] {
			return fmt.Errorf("%q stands there twice", strings.TrimPrefix(name, "."))
		}
		seen[m.name] = true
		if err := m.content.plain(name); err != nil {
			return err
		}
	}
	return nil
}

func plainNumber(literal []byte, at string) error {
	if c := literal[0]; c != '-' && (c < '0' || c > '9') {
		return nil
	}
	if bytes.ContainsAny(literal, ".eE") || len(literal) > digitsMax {
		return fmt.Errorf("%q is not a plain integer", strings.TrimPrefix(at, "."))
	}
	return nil
}

// problemsMax bounds what is told of an invalid receipt.
const problemsMax = 10

func validate(data []byte) error {
	schema, err := compiled()
	if err != nil {
		return fmt.Errorf("compile usage.schema.json: %w", err)
	}
	result, err := schema.Validate(gojsonschema.NewBytesLoader(data))
	if err != nil {
		return err
	}
	var problems []string
	for _, e := range result.Errors() {
		problems = append(problems, e.String())
	}
	if len(problems) == 0 {
		return nil
	}
	sort.Strings(problems)
	if more := len(problems) - problemsMax; more > 0 {
		problems = append(problems[:problemsMax], fmt.Sprintf("and %d more", more))
	}
	return errors.New(strings.Join(problems, "; "))
}

package receipt

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/recibo-ci/recibo/pkg/disk"
	"github.com/recibo-ci/recibo/pkg/fault"
)

// TestSchema_and_type_say_the_same walks the Go type and the schema side by side: every field
// is in the schema, required and described, with a type that its values have, and nothing else is.
func TestSchema_and_type_say_the_same(t *testing.T) {
	t.Parallel()
	var schema map[string]any
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	if got, want := schema["$schema"], "http://json-schema.org/draft-07/schema#"; got != want {
		t.Errorf("$schema is %v, want %v", got, want)
	}
	walk := schemaWalk{t: t}
	walk.object("usage.json", reflect.TypeFor[Receipt](), schema, true)
	if walk.fields < 100 {
		t.Errorf("walked %d fields, want at least 100", walk.fields)
	}
}

type schemaWalk struct {
	t      *testing.T
	fields int
}

func (w *schemaWalk) object(at string, typ reflect.Type, schema map[string]any, open bool) {
	w.t.Helper()
	if got := schema["additionalProperties"]; got != open {
		w.t.Errorf("%s: additionalProperties is %v, want %v", at, got, open)
	}
	properties, _ := schema["properties"].(map[string]any)
	required := map[string]bool{}
	for _, name := range schema["required"].([]any) {
		required[name.(string)] = true
	}
	for i := range typ.NumField() {
		name := typ.Field(i).Tag.Get("json")
		property, ok := properties[name].(map[string]any)
		if !ok || !required[name] {
			w.t.Errorf("%s.%s: in the schema: %v, required: %v", at, name, ok, required[name])
			continue
		}
		w.field(at+"."+name, typ.Field(i).Type, property)
	}
	if len(properties) != typ.NumField() || len(required) != typ.NumField() {
		w.t.Errorf("%s: %d properties, %d required, want %d", at, len(properties), len(required), typ.NumField())
	}
}

func (w *schemaWalk) field(at string, typ reflect.Type, schema map[string]any) {
	w.t.Helper()
	w.fields++
	if text, _ := schema["description"].(string); len(text) < len("Its name.") || !strings.HasSuffix(text, ".") {
		w.t.Errorf("%s: description is %q", at, text)
	}
	nullable := false
	if typ.Kind() == reflect.Pointer {
		typ, nullable = typ.Elem(), true
	}
	want := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer",
		reflect.Slice: "array", reflect.Map: "object", reflect.Struct: "object", reflect.Array: "string",
	}[typ.Kind()]
	switch typ {
	case reflect.TypeFor[Text](), reflect.TypeFor[Digest]():
		nullable = !strings.HasSuffix(at, "[].sha") // The digest of a listed file is always known.
	}
	if typ.PkgPath() == "time" {
		want = "string"
	}
	w.kind(at, schema, want, nullable)
	switch {
	case want == "array" && typ.Elem() != reflect.TypeFor[Effect]():
		w.items(at+"[]", typ.Elem(), schema["items"].(map[string]any))
	case typ.Kind() == reflect.Struct && want == "object":
		w.object(at, typ, schema, false)
	}
}

func (w *schemaWalk) items(at string, typ reflect.Type, schema map[string]any) {
	w.t.Helper()
	if typ.Kind() == reflect.Struct {
		w.object(at, typ, schema, false)
		return
	}
	w.field(at, typ, schema)
}

func (w *schemaWalk) kind(at string, schema map[string]any, want string, nullable bool) {
	w.t.Helper()
	values, isEnum := schema["enum"].([]any)
	if isEnum {
		if got := values[len(values)-1] == nil; got != nullable || want != "string" {
			w.t.Errorf("%s: null in the enum: %v, want %v", at, got, nullable)
		}
		return
	}
	if schema["const"] == SchemaVersion {
		return
	}
	var wanted any = want
	if nullable {
		wanted = []any{want, "null"}
	}
	if diff := cmp.Diff(wanted, schema["type"]); diff != "" {
		w.t.Errorf("%s: type (-want +got):\n%s", at, diff)
	}
}

// mutation changes one place of a receipt that is right.
type mutation struct {
	what  string
	apply func()
	undo  func()
}

// mutations lists every way to break v: each literal replaced by an object, each digest and
// object id in upper case, each key taken away or joined by an unknown one.
func mutations(at string, v any) []mutation {
	var all []mutation
	switch v := v.(type) {
	case map[string]any:
		if at != "" && at != ".review.locations" {
			all = append(all, mutation{at + ": an unknown key", func() { v["Sha"] = "x" }, func() { delete(v, "Sha") }})
		}
		for name, old := range v {
			here := at + "." + name
			set := func(what string, to any) {
				all = append(all, mutation{here + ": " + what, func() { v[name] = to }, func() { v[name] = old }})
			}
			set("another type", wrongType(old))
			if at != ".review.locations" {
				all = append(all, mutation{here + ": taken away", func() { delete(v, name) }, func() { v[name] = old }})
			}
			if s, ok := old.(string); ok && (len(s) == 40 || len(s) == 64) {
				set("upper case", strings.ToUpper("a"+s[1:]))
				set("too short", s[1:])
				set("with a prefix", "sha256:"+s)
			}
			if _, ok := old.(json.Number); ok {
				set("negative", json.Number("-1"))
				set("a fraction", json.Number("1.5"))
				set("an exponent", json.Number("1e3"))
				set("huge", json.Number("1e999999999"))
			}
			all = append(all, mutations(here, old)...)
		}
	case []any:
		for i, old := range v {
			all = append(all, mutation{at + "[]: another type", func() { v[i] = wrongType(old) }, func() { v[i] = old }})
			all = append(all, mutations(at+"[]", old)...)
		}
	}
	return all
}

func wrongType(v any) any {
	if _, ok := v.(map[string]any); ok {
		return []any{}
	}
	return map[string]any{}
}

func TestParse_refuses_every_mutation(t *testing.T) {
	t.Parallel()
	d := json.NewDecoder(strings.NewReader(string(golden(t, "completed.json"))))
	d.UseNumber()
	var doc map[string]any
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, m := range mutations("", doc) {
		m.apply()
		data, err := json.Marshal(doc)
		m.undo()
		if err != nil {
			t.Fatal(err)
		}
		if r, err := Parse(data); err == nil || r != nil {
			t.Errorf("%s: got receipt %v and error %v, want none and one", m.what, r, err)
		}
		// Whoever has the schema alone must see it too, but for spellings of the same number.
		if number := strings.HasSuffix(m.what, "exponent") || strings.HasSuffix(m.what, "huge"); !number && validate(data) == nil {
			t.Errorf("%s: the schema allows it", m.what)
		}
		tried++
	}
	if tried < 400 {
		t.Errorf("tried %d mutations, want at least 400", tried)
	}
	data, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Parse(data); err != nil {
		t.Errorf("after undoing all: %v", err)
	}
}

func TestParse_says_what_is_wrong(t *testing.T) {
	t.Parallel()
	good := string(golden(t, "refused.json"))
	for _, c := range []struct{ name, data, want string }{
		{"empty", "", "not JSON"},
		{"array", "[]", "not a JSON object"},
		{"literal", "null", "not a JSON object"},
		{"not_utf8", "{\"a\":\"\xff\"}", "not UTF-8"},
		{"trailing_data", good + "{}", "not JSON"},
		{"byte_order_mark", "\uFEFF" + good, "not JSON"},
		{"deep", strings.Repeat("[", 100) + strings.Repeat("]", 100), "nested more than 64 deep"},
		{"empty_object", "{}", "and 22 more"},
		{"later_version", strings.Replace(good, `"schema_version": "1"`, `"schema_version": "2"`, 1), `schema_version is "2", want "1"`},
		{"version_as_number", strings.Replace(good, `"schema_version": "1"`, `"schema_version": 1`, 1), `schema_version is 1, want "1"`},
		{"version_as_object", strings.Replace(good, `"schema_version": "1"`, `"schema_version": {}`, 1), `schema_version is , want "1"`},
		{"twice_at_the_top", strings.Replace(good, "{", `{"status": "completed",`, 1), `"status" stands there twice`},
		{"twice_inside", strings.Replace(good, `"level": "none"`, `"level": "none", "level": "full"`, 1), `"jail.level" stands there twice`},
		{"twice_by_escape", strings.Replace(good, `"level": "none"`, `"level": "none", "\u006cevel": "full"`, 1), `"jail.level" stands there twice`},
		{"huge_number", strings.Replace(good, `"refused": 0`, `"refused": 1e999999999`, 1), `"wire.refused" is not a plain integer`},
		{"long_number", strings.Replace(good, `"refused": 0`, `"refused": 10000000000000000000000`, 1), `"wire.refused" is not a plain integer`},
		{"wrong_date", strings.Replace(good, "2026-01-02", "2026-13-02", 1), "month out of range"},
		{"effect", strings.Replace(good, `"effects": []`, `"effects": [{}]`, 1), "effects"},
		{"other_case", strings.Replace(good, `"status"`, `"Status"`, 1), "status is required"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := Parse([]byte(c.data))
			if r != nil || err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got receipt %v and error %v, want an error with %q", r, err, c.want)
			}
		})
	}
}

func TestParse_leaves_others_alone(t *testing.T) {
	t.Parallel()
	others := `{
		"Status": "mine", "PROMPT_SHA": 7, "cost": 1e400, "id": 9007199254740993, "a": 1, "a": 2,
		"nested": {"sha": "ABC", "x": {"x": 1, "x": 2}},`
	data := strings.Replace(string(golden(t, "completed.json")), "{", others, 1)
	got, err := Parse([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(completed(t), got); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, data := range map[string][]byte{
		"good.json":  golden(t, "completed.json"),
		"bad.json":   []byte("{}"),
		"later.json": []byte(`{"schema_version": "2"}`),
		"big.json":   []byte(strings.Repeat(" ", fileMax+1)),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("good.json", filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	got, err := Read(filepath.Join(dir, "good.json"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(completed(t), got); diff != "" {
		t.Errorf("receipt (-want +got):\n%s", diff)
	}
	for name, hint := range map[string]string{
		"none.json":  "name the usage.json that a run of recibo left",
		"link.json":  "name the usage.json that a run of recibo left",
		"big.json":   "name the usage.json that a run of recibo left",
		"bad.json":   "take the file as the run left it, from its artifact",
		"later.json": "use a recibo that reads this version",
	} {
		r, err := Read(filepath.Join(dir, name))
		if r != nil || fault.KindOf(err) != fault.Request || fault.HintOf(err) != hint {
			t.Errorf("%s: got receipt %v, error %v of kind %v with hint %q", name, r, err, fault.KindOf(err), fault.HintOf(err))
		}
		if name == "big.json" && !errors.Is(err, disk.ErrTooLarge) {
			t.Errorf("%s: got error %v, want %v", name, err, disk.ErrTooLarge)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(golden(f, "completed.json"))
	f.Add(golden(f, "refused.json"))
	f.Add([]byte(`{"schema_version": "1", "other": [1e400, "\ud800", {"a": 1, "a": {}}]}`))
	f.Add([]byte(`{"schema_version": "1", "status": {"": [[], {}, null, true]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Parse(data)
		if err != nil {
			if r != nil {
				t.Fatalf("got receipt %v beside error %v", r, err)
			}
			return
		}
		printed, err := r.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(printed)
		if err != nil {
			t.Fatalf("parse what was printed: %v\n%s", err, printed)
		}
		if diff := cmp.Diff(r, again); diff != "" {
			t.Errorf("receipt (-first +again):\n%s", diff)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	data := golden(b, "completed.json")
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

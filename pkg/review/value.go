package review

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// plain checks the value of a keyword that holds no schema.
func (r *schemaReader) plain(f form, v any, path []string) error {
	var want string
	switch f {
	case textForm:
		_, ok := v.(string)
		want = unless(ok, "a string")
	case flagForm, limitForm:
		_, ok := v.(bool)
		want = unless(ok, "true or false")
	case listForm:
		_, ok := v.([]any)
		want = unless(ok, "an array")
	case valuesForm:
		all, ok := v.([]any)
		r.named += len(all)
		want = unless(ok && len(all) > 0, "an array with something in it")
	case namesForm:
		want = r.names(v)
	case typesForm:
		want = typeNames(v)
	case countForm:
		n, ok := v.(json.Number)
		i, err := strconv.Atoi(string(n))
		want = unless(ok && err == nil && i >= 0, "a whole number from 0")
	case numberForm, positiveForm:
		n, ok := v.(json.Number)
		value, parsed := new(big.Rat).SetString(string(n))
		want = unless(ok && parsed && (f == numberForm || value.Sign() > 0), "a number (above 0 for multipleOf)")
	case formatForm:
		name, ok := v.(string)
		want = unless(ok && slices.Contains(formats(), name), "one of the formats that can be checked: "+strings.Join(formats(), ", "))
	case refForm:
		return referenceForm(v, path)
	}
	if want != "" {
		return refuse(path, "correct the schema", "%s is expected, not %s", want, shorten(compact(v), 60))
	}
	if r.named > maxListed {
		return refuse(path, "shorten the lists", "enum and required lists have more than %d entries together", maxListed)
	}
	return nil
}

func unless(ok bool, want string) string {
	if ok {
		return ""
	}
	return want
}

func (r *schemaReader) names(v any) string {
	all, ok := v.([]any)
	r.named += len(all)
	seen := map[string]bool{}
	for _, v := range all {
		name, isText := v.(string)
		if !isText || seen[name] {
			ok = false
			break
		}
		seen[name] = true
	}
	return unless(ok, "an array of different strings")
}

func typeNames(v any) string {
	all, ok := v.([]any)
	if !ok {
		all = []any{v}
	}
	seen := map[any]bool{}
	ok = len(all) > 0
	for _, v := range all {
		name, _ := v.(string)
		ok = ok && slices.Contains(jsonTypes(), name) && !seen[name]
		seen[name] = true
	}
	return unless(ok, "one of "+strings.Join(jsonTypes(), ", ")+" or an array of different ones")
}

// referenceForm admits only references into the document itself, spelled the one way that needs no
// decoding beyond RFC 6901, so that this package and the validator cannot take them differently.
func referenceForm(v any, path []string) error {
	ref, ok := v.(string)
	switch {
	case !ok:
		return refuse(path, "correct the schema", "a string is expected, not %s", describe(v))
	case ref == "#":
		return refuse(path, recursionHint, recursion)
	case !strings.HasPrefix(ref, "#/"):
		return refuse(path, "bring what it names into the schema, under definitions",
			"reference %q leads out of the schema and is never followed", shorten(ref, 80))
	}
	for i := len("#"); i < len(ref); i++ {
		c := ref[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', isDigit(c), strings.IndexByte("/_-.$", c) >= 0:
		case c == '~' && i+1 < len(ref) && (ref[i+1] == '0' || ref[i+1] == '1'):
		default:
			return refuse(path, "name the definition with letters, digits and _ - . $",
				"reference %q has a character that is not read", shorten(ref, 80))
		}
	}
	return nil
}

func compact(v any) string {
	if _, ok := v.(map[string]any); ok {
		return describe(v)
	}
	if all, ok := v.([]any); ok && len(all) > 8 {
		return describe(v)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

package actions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
)

// EventError says what is wrong with the payload of an event, and where.
type EventError struct {
	// Event is the name of the event, Field the way to the value, as in "pull_request.head.sha";
	// "" is the payload as a whole.
	Event, Field, Problem string
}

func (e *EventError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("read event %s: %s", quote(e.Event), e.Problem)
	}
	return fmt.Sprintf("read event %s: field %s: %s", quote(e.Event), quote(e.Field), e.Problem)
}

// Hint is the next thing to do.
func (e *EventError) Hint() string {
	return "GITHUB_EVENT_NAME and the file that GITHUB_EVENT_PATH names must be one event as GitHub sends it"
}

// reader keeps the first problem of a payload, so that what is read from it needs no check after
// every field.
type reader struct {
	event string
	err   error
}

func (r *reader) fail(field, format string, args ...any) {
	if r.err == nil {
		r.err = &EventError{Event: r.event, Field: field, Problem: fmt.Sprintf(format, args...)}
	}
}

// object is a JSON object of a payload. Its keys are matched exactly, unlike those of a struct of
// encoding/json. The zero object has no fields, and is what a missing one reads as.
type object struct {
	r      *reader
	path   string
	fields map[string]json.RawMessage
}

func (r *reader) root(payload []byte) object {
	payload = bytes.TrimPrefix(payload, []byte("\xef\xbb\xbf"))
	o := object{r: r}
	if err := json.Unmarshal(payload, &o.fields); err != nil {
		r.fail("", "%s", jsonProblem(err))
	} else if o.fields == nil {
		r.fail("", "want an object, got null")
	}
	return o
}

func jsonProblem(err error) string {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Sprintf("not JSON: byte %d: %v", syntax.Offset, err)
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return "want an object, got " + wrong.Value
	}
	return err.Error()
}

func (o object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// value returns the raw value of a field, nil if it is missing or null.
func (o object) value(name string) json.RawMessage {
	if v := o.fields[name]; string(v) != "null" {
		return v
	}
	return nil
}

func (o object) has(name string) bool { return o.value(name) != nil }

// required returns the raw value of a field, which must be there.
func (o object) required(name string) json.RawMessage {
	v := o.value(name)
	if v == nil {
		o.r.fail(o.at(name), "missing")
	}
	return v
}

func (o object) decode(name string, v json.RawMessage, want string, into any) bool {
	if v == nil {
		return false
	}
	if err := json.Unmarshal(v, into); err != nil {
		o.r.fail(o.at(name), "want %s, got %s", want, quote(string(v)))
		return false
	}
	return true
}

// object returns a field that may be missing.
func (o object) object(name string) object {
	child := object{r: o.r, path: o.at(name)}
	o.decode(name, o.value(name), "an object", &child.fields)
	return child
}

// need returns a field that must be there.
func (o object) need(name string) object {
	o.required(name)
	return o.object(name)
}

// list returns the objects of an array that may be missing.
func (o object) list(name string) []object {
	var raw []json.RawMessage
	o.decode(name, o.value(name), "an array", &raw)
	objects := make([]object, 0, len(raw))
	for i, v := range raw {
		element := name + "[" + strconv.Itoa(i) + "]"
		child := object{r: o.r, path: o.at(element)}
		if o.decode(element, v, "an object", &child.fields) && child.fields == nil {
			o.r.fail(child.path, "want an object, got null")
		}
		objects = append(objects, child)
	}
	return objects
}

// optional returns a string, "" if it is missing.
func (o object) optional(name string) string {
	var s string
	o.decode(name, o.value(name), "a string", &s)
	return s
}

// text returns a string that must be there and not be empty.
func (o object) text(name string) string {
	if o.required(name) == nil {
		return ""
	}
	s := o.optional(name)
	if s == "" {
		o.r.fail(o.at(name), "empty")
	}
	return s
}

// flag returns a boolean, false if it is missing.
func (o object) flag(name string) bool {
	var b bool
	o.decode(name, o.value(name), "true or false", &b)
	return b
}

// number returns a positive integer, 0 if it is missing.
func (o object) number(name string) int64 {
	v := o.value(name)
	if v == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err != nil || n < 1 {
		o.r.fail(o.at(name), "want a positive integer, got %s", quote(string(v)))
		return 0
	}
	return n
}

// numberMax is what GitHub's own API takes for a number (a 32-bit integer).
const numberMax = 1<<31 - 1

// pullNumber returns the number of a pull request, which must be there.
func (o object) pullNumber(name string) int {
	o.required(name)
	n := o.number(name)
	if n > numberMax {
		o.r.fail(o.at(name), "want a number under 2^31, got %d", n)
		return 0
	}
	return int(n)
}

// sha returns the name of a Git object, which must be there.
func (o object) sha(name string) string {
	s := o.text(name)
	if s != "" && !isSHA(s) {
		o.r.fail(o.at(name), "want 40 or 64 lower-case hex digits, got %s", quote(s))
		return ""
	}
	return s
}

// repository returns the owner/name of the repository that a field holds, "" if it is missing or
// null.
func (o object) repository(name string) string {
	if !o.has(name) {
		return ""
	}
	child := o.object(name)
	s := child.text("full_name")
	if s != "" && !isRepository(s) {
		o.r.fail(child.at("full_name"), "want owner/name, got %s", quote(s))
		return ""
	}
	return s
}

// link returns an absolute http or https URL, "" if it is missing.
func (o object) link(name string) string {
	s := o.optional(name)
	if s != "" && !isURL(s) {
		o.r.fail(o.at(name), "want an http or https URL, got %s", quote(s))
		return ""
	}
	return s
}

func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil
}

func isSHA(s string) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return len(s) == 40 || len(s) == 64
}

// isRepository reports whether s is owner/name in the characters that GitHub takes, so that it can
// stand in a path.
func isRepository(s string) bool {
	owner, name, _ := strings.Cut(s, "/")
	return len(owner) <= nameMax && len(name) <= nameMax &&
		isWord(owner, "_-") && owner[0] != '-' && isWord(name, "_-.") && strings.Trim(name, ".") != ""
}

// isLogin reports whether s has only characters that GitHub takes, so that it can stand in a path.
func isLogin(s string) bool {
	return len(s) <= nameMax && isWord(strings.TrimSuffix(s, "[bot]"), "_-")
}

// nameMax is how many bytes a name may have; GitHub's own limits are lower or equal.
const nameMax = 100

// isWord reports whether s has one byte or more, all of them ASCII letters, digits or in extra.
func isWord(s, extra string) bool {
	for _, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && strings.IndexByte(extra, c) < 0 {
			return false
		}
	}
	return s != ""
}

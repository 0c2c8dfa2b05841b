package artifact

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// answer is a message of the service in protobuf's JSON form, whose fields may be in snake_case
// (GitHub) or camelCase (act), whose 64-bit numbers are strings, and which leaves out what is empty.
type answer map[string]json.RawMessage

var errNotObject = errors.New("the answer is not a JSON object")

func parseAnswer(body []byte) (answer, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil || a == nil {
		return nil, errNotObject
	}
	return a, nil
}

// field is the raw value of a field named in snake_case, nil when it is absent or null.
func (a answer) field(snake string) json.RawMessage {
	raw, ok := a[snake]
	if !ok {
		raw = a[camel(snake)]
	}
	if string(raw) == "null" {
		return nil
	}
	return raw
}

func camel(snake string) string {
	words := strings.Split(snake, "_")
	for i := 1; i < len(words); i++ {
		if words[i] != "" {
			words[i] = strings.ToUpper(words[i][:1]) + words[i][1:]
		}
	}
	return strings.Join(words, "")
}

func (a answer) text(snake string) (string, error) {
	var out string
	return out, a.read(snake, &out)
}

func (a answer) yes(snake string) (bool, error) {
	var out bool
	return out, a.read(snake, &out)
}

// number reads a 64-bit number, in quotes or not.
func (a answer) number(snake string) (int64, error) {
	raw := string(a.field(snake))
	if raw == "" {
		return 0, nil
	}
	if quoted, err := strconv.Unquote(raw); err == nil {
		raw = quoted
	}
	n, err := strconv.ParseInt(raw, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read %s: not a number", snake)
	}
	return n, nil
}

func (a answer) list(snake string) ([]answer, error) {
	var out []answer
	return out, a.read(snake, &out)
}

// read leaves into as it is when the field is absent. The value itself stays out of the error: it
// may be an address with a signature.
func (a answer) read(snake string, into any) error {
	raw := a.field(snake)
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("read %s: not of the expected type", snake)
	}
	return nil
}

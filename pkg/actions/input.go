package actions

import (
	"fmt"
	"slices"
	"strings"
)

const inputPrefix = "INPUT_"

// Input returns the input of that name as the runner handed it over, not trimmed: its bytes may be
// hashed. The runner writes INPUT_ and the name in upper case with its hyphens kept; INPUT_ with
// "_" for each hyphen is read too, and loses where both are set. The runner sets every declared
// input that nobody gave to the empty string, so set is false for an empty value.
func Input(getenv func(string) string, name string) (value string, set bool) {
	hyphens := inputPrefix + strings.ToUpper(strings.ReplaceAll(name, " ", "_"))
	if value = getenv(hyphens); value != "" {
		return value, true
	}
	value = getenv(strings.ReplaceAll(hyphens, "-", "_"))
	return value, value != ""
}

// Inputs returns every INPUT_* variable of an environment (KEY=VALUE entries, as os.Environ gives
// them) by the input's name in lower case with hyphens, empty ones too. Values are chosen as Input
// chooses them. conflicts names, sorted, the inputs that were set twice, with "-" and with "_", to
// different values.
func Inputs(environ []string) (given map[string]string, conflicts []string) {
	given = map[string]string{}
	underscored := map[string]string{}
	for _, entry := range environ {
		key, value, _ := strings.Cut(entry, "=")
		rest, ok := strings.CutPrefix(key, inputPrefix)
		if !ok || rest == "" {
			continue
		}
		name := strings.ToLower(strings.ReplaceAll(rest, "_", "-"))
		into := given
		if strings.Contains(rest, "_") {
			into = underscored
		}
		// The first entry of a name is the one that os.Getenv returns.
		if _, twice := into[name]; !twice {
			into[name] = value
		}
	}
	for name, value := range underscored {
		switch first := given[name]; {
		case first == "":
			given[name] = value
		case value != "" && value != first:
			conflicts = append(conflicts, name)
		}
	}
	slices.Sort(conflicts)
	return given, conflicts
}

// List splits the value of a list input at newlines and commas, trims each element and drops the
// blank ones.
func List(value string) []string {
	var list []string
	for _, s := range strings.FieldsFunc(value, func(r rune) bool { return r == '\n' || r == ',' }) {
		if s = strings.TrimSpace(s); s != "" {
			list = append(list, s)
		}
	}
	return list
}

// Bool reads the value of a boolean input: true, True, TRUE, false, False or FALSE, which are the
// forms of YAML 1.2's core schema and all that getBooleanInput of @actions/core takes. White space
// around it is ignored; anything else, blank too, is an error.
func Bool(value string) (bool, error) {
	switch strings.TrimSpace(value) {
	case "true", "True", "TRUE":
		return true, nil
	case "false", "False", "FALSE":
		return false, nil
	}
	return false, fmt.Errorf("read boolean %s: want true or false", quote(value))
}

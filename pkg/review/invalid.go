package review

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/xeipuuv/gojsonschema"
)

// MaxProblems is how many problems an InvalidError lists.
const MaxProblems = 50

// InvalidError says what is wrong with a review, path by path, in the order of the review's text
// as far as paths tell it.
type InvalidError struct {
	Problems []Problem
	// More counts the problems that are not listed.
	More int
}

// Error is one line: the first problem, and how many there are besides.
func (e *InvalidError) Error() string {
	if len(e.Problems) == 0 {
		return "the review is not valid"
	}
	first := e.Problems[0]
	message := first.What
	if first.Path != "" {
		message = first.String()
	}
	if n := len(e.Problems) - 1 + e.More; n > 0 {
		message += fmt.Sprintf(" (and %d more)", n)
	}
	return message
}

const invalidHint = "review.json holds what the model wrote; ask in the prompt for the JSON of the schema and nothing else"

func invalid(problems ...Problem) error {
	return refused(&InvalidError{Problems: problems})
}

func refused(e *InvalidError) error {
	return fault.New(fault.Review, invalidHint, "invalid review: %w", e)
}

// unreadable returns the error for a message that scan does not pass, naming what models are known
// to wrap JSON in.
func unreadable(message []byte, err error) error {
	if what := wrapping(message[:min(len(message), MaxReviewBytes)]); what != "" {
		return invalid(Problem{What: what})
	}
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		return invalid(Problem{What: err.Error()})
	}
	return invalid(Problem{syntax.Path, fmt.Sprintf("%s (byte %d)", syntax.What, syntax.Offset)})
}

// wrapping says what stands around the JSON of a message, or "" when it is not that.
func wrapping(message []byte) string {
	trimmed := bytes.TrimSpace(message)
	switch {
	case bytes.HasPrefix(message, []byte("\uFEFF")):
		return "the review starts with a byte-order mark"
	case len(trimmed) == 0:
		return "the review is empty"
	case bytes.HasPrefix(trimmed, []byte("```")), bytes.HasPrefix(trimmed, []byte("~~~")):
		return "the review stands in a code fence"
	}
	before, after, ok := around(trimmed)
	if !ok {
		return ""
	}
	switch fenced := bytes.Contains(before, []byte("```")); {
	case fenced:
		return "the review stands in a code fence, with text before it"
	case len(before) > 0 && len(after) > 0:
		return "text stands before and after the review"
	case len(before) > 0:
		return "text stands before the review"
	case len(after) > 0 && after[0] != '{':
		return "text stands after the review"
	}
	return ""
}

// around finds the first JSON object in text and returns what is before and after it. Where text
// starts like JSON, that is where the object is: the inner ones of a broken review are no reviews.
// It tries few places, as the message may be made so that each costs a whole read.
func around(text []byte) (before, after []byte, ok bool) {
	tries := 8
	switch text[0] {
	case '[':
		return nil, nil, false
	case '{':
		tries = 1
	}
	for at := 0; tries > 0; tries-- {
		i := bytes.IndexByte(text[at:], '{')
		if i < 0 {
			return nil, nil, false
		}
		at += i
		s := scanner{text: text[at:], rules: rules{values: maxReviewValues, halves: true}}
		if s.value() == nil && s.at > len("{}") {
			return text[:at], bytes.TrimSpace(text[at+s.at:]), true
		}
		at++
	}
	return nil, nil, false
}

// problems turns the validator's errors into bounded ones. They come in no order: objects are maps
// to the validator.
func problems(found []gojsonschema.ResultError) *InvalidError {
	type located struct {
		gojsonschema.ResultError
		steps []string
	}
	all := make([]located, len(found))
	for i, e := range found {
		const separator = "\x00/\x00" // in no name that a model would write
		all[i] = located{e, strings.Split(e.Context().String(separator), separator)[1:]}
	}
	slices.SortFunc(all, func(a, b located) int {
		return cmp.Or(slices.CompareFunc(a.steps, b.steps, compareSteps), strings.Compare(a.Description(), b.Description()))
	})
	// Branches of a combination may report the same twice.
	all = slices.CompactFunc(all, func(a, b located) bool {
		return a.Description() == b.Description() && slices.Equal(a.steps, b.steps)
	})
	e := &InvalidError{More: max(0, len(all)-MaxProblems)}
	for _, l := range all[:min(len(all), MaxProblems)] {
		e.Problems = append(e.Problems, Problem{pointer(l.steps), tell(l.ResultError)})
	}
	return e
}

// compareSteps orders places in a list by number, and names by text behind them.
func compareSteps(a, b string) int {
	switch place, other := isPlace(a), isPlace(b); {
	case place && other:
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	case place:
		return -1
	case other:
		return 1
	}
	return strings.Compare(a, b)
}

func isPlace(step string) bool {
	return step != "" && strings.Trim(step, "0123456789") == "" && (step == "0" || step[0] != '0')
}

// tell puts one of the validator's errors into words. Names and values in it may be a model's.
func tell(e gojsonschema.ResultError) string {
	detail := func(name string) string { return shorten(fmt.Sprint(e.Details()[name]), 200) }
	switch e.Type() {
	case "required":
		return fmt.Sprintf(`"%s" is missing`, detail("property"))
	case "additional_property_not_allowed":
		return fmt.Sprintf(`"%s" is not in the schema`, detail("property"))
	case "invalid_type":
		return fmt.Sprintf("want %s, got %s", detail("expected"), detail("given"))
	case "enum":
		return "want one of " + detail("allowed")
	case "const":
		return "want " + detail("allowed")
	case "number_any_of":
		return "fits none of the schemas in anyOf"
	case "number_one_of":
		return "does not fit exactly one of the schemas in oneOf"
	case "number_all_of":
		return "does not fit all of the schemas in allOf"
	case "number_not":
		return "fits the schema in not"
	case "false":
		return "nothing is allowed here"
	}
	text := shorten(e.Description(), 200)
	return strings.ToLower(text[:min(1, len(text))]) + text[min(1, len(text)):]
}

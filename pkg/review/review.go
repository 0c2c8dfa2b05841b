// Package review reads what a model answered as the review of a pull request, after checking it
// against a JSON Schema, and keeps whatever is wrong with it to be told.
//
// It asks no model, repairs nothing, and does not know the repository: where a finding lies is
// checked against a Tree that the caller has.
package review

import "github.com/recibo-ci/recibo/pkg/fault"

// MaxReviewBytes is the longest message that Parse reads: some thirty times what a model can
// write in one answer.
const MaxReviewBytes = 16 << 20

const maxReviewValues = 250_000

// The shapes of review that Parse understands, and the one that it does not.
const (
	// ShapeBuiltIn is that of the built-in schema.
	ShapeBuiltIn = "built-in"
	// ShapeStrings is {"ok": bool, "findings": [string]}.
	ShapeStrings = "strings"
	// ShapeCodex is that of OpenAI's published example (Build Code Review with the Codex SDK,
	// developers.openai.com/cookbook) and of Codex's own review prompt.
	ShapeCodex = "codex"
	// ShapeUnknown is a review that its schema accepts and that is none of the others. It is kept
	// whole by whoever has its bytes; no finding is read from it.
	ShapeUnknown = "unknown"
)

// Review is a review that its schema accepts.
type Review struct {
	Shape string
	// OK is the verdict: "ok", or overall_correctness being "patch is correct". nil where the
	// review has none.
	OK *bool
	// Summary is "summary" or overall_explanation.
	Summary string
	// Findings are in the order of the review. All that it has are here, or none of them, with
	// ShapeUnknown.
	Findings []Finding
}

// Finding is one problem that a review names. Its texts are the model's: nothing in them is safe
// to print or to post as it is.
type Finding struct {
	// Severity is one of Severities, or "" where the review does not say.
	Severity string
	Category string
	// Title is "" for a finding that is a plain string, which is Body alone.
	Title string
	Body  string
	// Path is as the model wrote it. A caller that knows where the tree lay makes it relative to
	// the top of the repository before Locate.
	Path string
	// StartLine and EndLine count from 1, EndLine included; 0 where the review has none. Numbers
	// beyond int are the nearest int.
	StartLine, EndLine int
	// Side is RIGHT, the reviewed head, unless the review says LEFT, the merge base.
	Side string
	// Suggestion replaces the lines; nil is none, and "" deletes them.
	Suggestion *string
	// Confidence is from 0 to 1; nil where the review has none, or one that is not in there.
	Confidence *float64
	// Location is what Locate found.
	Location Location
}

// Parse checks message, which is to be one JSON value and nothing else, against s and reads it.
// The error is a fault.Review around an *InvalidError that tells all problems path by path. A
// message in a code fence or with text around it is refused, and said to be that.
func Parse(message []byte, s *Schema) (*Review, error) {
	if err := scan(message, rules{bytes: MaxReviewBytes, values: maxReviewValues, doubles: true, halves: true}); err != nil {
		return nil, unreadable(message, err)
	}
	value, err := decode(message)
	if err != nil {
		return nil, unreadable(message, err)
	}
	if !affordable(s.root, value) {
		return nil, invalid(Problem{What: "the review is too large, or too wrong, to be checked against this schema"})
	}
	found, err := check(s.validator, value)
	if err != nil {
		return nil, fault.New(fault.Review, "leave out the schema to use the built-in one", "check review: %w", err)
	}
	if len(found) > 0 {
		return nil, refused(problems(found))
	}
	return understand(value), nil
}

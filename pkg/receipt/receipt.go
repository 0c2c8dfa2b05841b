// Package receipt is usage.json: which exact bytes went into a review, what came out, and how the
// run ended.
//
// It hashes nothing and judges nothing. It prints what it is told, beside what other programs
// keep in the same file, and reads it back; whether a receipt is true is for others to check.
package receipt

import (
	"bytes"
	"encoding"
	"encoding/json"
	"time"

	"github.com/recibo-ci/recibo/pkg/digest"
)

// SchemaVersion is the version of the receipt's format. A field may be added within a version;
// one that is renamed, removed or changes its meaning makes a new version.
const SchemaVersion = "1"

// Status says how a run ended.
type Status string

// The ways in which a run ends.
const (
	// Completed means that a review came out that can be trusted.
	Completed Status = "completed"
	// Inconclusive means that a review came out that must not be trusted.
	Inconclusive Status = "inconclusive"
	// Failed means that no review came out.
	Failed Status = "failed"
	// Cancelled means that a signal ended the run.
	Cancelled Status = "cancelled"
	// Timeout means that the run's time was up.
	Timeout Status = "timeout"
	// Budget means that the token limit was reached.
	Budget Status = "budget"
	// Breaker means that the model endpoint failed too often in a row.
	Breaker Status = "breaker"
	// Refused means that what was asked for was wrong; nothing was spent.
	Refused Status = "refused"
	// Skipped means that there was nothing to review, or no way to.
	Skipped Status = "skipped"
)

// Statuses lists every Status.
func Statuses() []Status {
	return []Status{Completed, Inconclusive, Failed, Cancelled, Timeout, Budget, Breaker, Refused, Skipped}
}

// Text is a string that prints as null when it is empty, which means that it is not known or
// that there is none.
type Text string

// MarshalJSON prints t as JSON without escaping <, > and &.
func (t Text) MarshalJSON() ([]byte, error) {
	if t == "" {
		return []byte("null"), nil
	}
	return plainJSON(string(t))
}

// Digest is a SHA-256 that prints as 64 lower-case hex digits, or as null when nothing was hashed.
type Digest digest.SHA256

var _ encoding.TextUnmarshaler = (*Digest)(nil)

// String returns the hex digits, or "" when nothing was hashed.
func (d Digest) String() string { return digest.SHA256(d).String() }

// MarshalJSON prints d as JSON.
func (d Digest) MarshalJSON() ([]byte, error) { return Text(d.String()).MarshalJSON() }

// UnmarshalText reads 64 lower-case hex digits.
func (d *Digest) UnmarshalText(text []byte) error {
	return (*digest.SHA256)(d).UnmarshalText(text)
}

// Receipt is what usage.json says. Its flat fields are for any script; the objects below hold
// what is needed to check them. The zero value of Text and Digest, and a nil pointer, mean that
// something is not known. Every field is described in the schema (see Schema).
type Receipt struct {
	AgentsChainSHA Digest `json:"agents_chain_sha"`
	CodexSHA       Digest `json:"codex_sha"`
	CodexVersion   Text   `json:"codex_version"`
	ContextSHA     Digest `json:"context_sha"`
	Effort         Text   `json:"effort"`
	GitDescribe    Text   `json:"git_describe"`
	GitSHA         Text   `json:"git_sha"`
	HeadSHA        Text   `json:"head_sha"`
	MergeBase      Text   `json:"merge_base"`
	Model          Text   `json:"model"`
	ModelServed    Text   `json:"model_served"`
	PromptBytes    *int64 `json:"prompt_bytes"`
	PromptPath     Text   `json:"prompt_path"`
	PromptSHA      Digest `json:"prompt_sha"`
	ReciboVersion  string `json:"recibo_version"`
	SchemaSHA      Digest `json:"schema_sha"`
	SchemaVersion  string `json:"schema_version"`
	Status         Status `json:"status"`
	ToolsSHA       Digest `json:"tools_sha"`
	WireToolsSHA   Digest `json:"wire_tools_sha"`

	AgentsMD     AgentsMD     `json:"agents_md"`
	Effects      []Effect     `json:"effects"`
	Egress       Egress       `json:"egress"`
	Instructions Instructions `json:"instructions"`
	Jail         Jail         `json:"jail"`
	Prompt       Prompt       `json:"prompt"`
	Review       Review       `json:"review"`
	Run          Run          `json:"run"`
	Skills       []Skill      `json:"skills"`
	TimingMS     TimingMS     `json:"timing_ms"`
	Tokens       Tokens       `json:"tokens"`
	Wire         Wire         `json:"wire"`
}

// Marshal prints r as usage.json is printed when nobody else writes to it: UTF-8, two-space
// indent, keys sorted at every level, a newline at the end. SchemaVersion is set, empty lists
// print as [], the start of the run is told in UTC and whole seconds.
func (r *Receipt) Marshal() ([]byte, error) {
	v, err := r.tree()
	if err != nil {
		return nil, err
	}
	return v.print(), nil
}

func (r *Receipt) tree() (*value, error) {
	data, err := plainJSON(r.whole())
	if err != nil {
		return nil, err
	}
	return parseTree(data)
}

// whole returns a copy in which nothing is left that would print as null by accident.
func (r *Receipt) whole() *Receipt {
	c := *r
	c.SchemaVersion = SchemaVersion
	c.AgentsMD.Files = list(c.AgentsMD.Files)
	c.Effects = list(c.Effects)
	c.Egress.Hosts = list(c.Egress.Hosts)
	c.Instructions.Items = list(c.Instructions.Items)
	c.Jail.Missing = list(c.Jail.Missing)
	if c.Jail.Level == "" {
		c.Jail.Level = JailNone
	}
	c.Review.Locations = named(c.Review.Locations)
	c.Review.Problems = list(c.Review.Problems)
	c.Run.Codex.Programs = list(c.Run.Codex.Programs)
	c.Run.Files = list(c.Run.Files)
	c.Run.StartedAt = c.Run.StartedAt.UTC().Truncate(time.Second)
	c.Run.Warnings = list(c.Run.Warnings)
	c.Skills = list(c.Skills)
	c.Wire.Tools = list(c.Wire.Tools)
	return &c
}

// named returns a copy of counts in which "" has a name.
func named(counts map[string]int) map[string]int {
	c := make(map[string]int, len(counts))
	for name, n := range counts {
		if name == "" {
			name = "unchecked"
		}
		c[name] += n
	}
	return c
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// plainJSON is json.Marshal without escaping for HTML: a path with "&" stays readable.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

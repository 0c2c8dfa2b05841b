package receipt

import (
	"time"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// Where a prompt came from.
const (
	PromptFile   Text = "file"
	PromptInline Text = "inline"
)

// Prompt says where the bytes behind the receipt's prompt_sha came from.
type Prompt struct {
	// Source is PromptFile or PromptInline.
	Source Text `json:"source"`
	// Blob is the Git object id of the prompt file in the commit git_sha.
	Blob Text `json:"blob"`
	// SavedPath is where the bytes that were sent have been saved.
	SavedPath Text `json:"saved_path"`
}

// AgentsMD is the chain of AGENTS.md files, whose digest is the receipt's agents_chain_sha.
type AgentsMD struct {
	Files []AgentsFile `json:"files"`
}

// AgentsFile is one file of the chain, in the order in which Codex composes them.
type AgentsFile struct {
	Path  string `json:"path"`
	SHA   Digest `json:"sha"`
	Bytes int64  `json:"bytes"`
	// Loaded says whether anything of it reached the model, Truncated whether only a part did.
	Loaded    bool `json:"loaded"`
	Truncated bool `json:"truncated"`
}

// Skill is a skill that Codex could find.
type Skill struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	SHA    Digest `json:"sha"`
	Bytes  int64  `json:"bytes"`
	Loaded bool   `json:"loaded"`
}

// Effect is something that was done to the pull request. This version does nothing to it.
type Effect struct{}

// Instructions is what else steered the model beside prompt and AGENTS.md.
type Instructions struct {
	// SHA is the digest of the base instructions in the first model request.
	SHA Digest `json:"sha"`
	// Items are the input items of the first model request in order, the prompt among them.
	Items []Item `json:"items"`
	// ToolsPath is the file behind tools_sha, SchemaPath the one behind schema_sha (none when
	// the built-in schema was used).
	ToolsPath  Text `json:"tools_path"`
	SchemaPath Text `json:"schema_path"`
}

// Item is one input item of the first model request.
type Item struct {
	Role string `json:"role"`
	// What says as what the item was accounted for.
	What  string `json:"what"`
	SHA   Digest `json:"sha"`
	Bytes int64  `json:"bytes"`
}

// What stood at the other end of the wire.
const (
	// OriginLive is a model.
	OriginLive Text = "live"
	// OriginRecorded is a session that a model gave in an earlier run.
	OriginRecorded Text = "recorded"
	// OriginScripted is a session that a person wrote.
	OriginScripted Text = "scripted"
)

// Wire is what went over the wire between Codex and the model endpoint.
type Wire struct {
	// Requests counts what was sent to the model endpoint, Refused what the gateway did not let
	// through.
	Requests int `json:"requests"`
	Refused  int `json:"refused"`
	// PromptIntact says whether every request carried the prompt unchanged; nil before the first.
	PromptIntact *bool `json:"prompt_intact"`
	// Tools are the names of the tools that the model was offered, in order.
	Tools     []string  `json:"tools"`
	ToolCalls ToolCalls `json:"tool_calls"`
	// Record is "digests" or "full".
	Record Text `json:"record"`
	// Endpoint is the host that was asked, or "replay".
	Endpoint Text `json:"endpoint"`
	// Origin is OriginLive, OriginRecorded or OriginScripted.
	Origin Text `json:"origin"`
	// ControlSHA names the control request that the first request was compared with.
	ControlSHA Digest `json:"control_sha"`
	// Path, SHA and Bytes are those of the record, one line a request.
	Path  Text   `json:"path"`
	SHA   Digest `json:"sha"`
	Bytes *int64 `json:"bytes"`
}

// ToolCalls counts the tool calls whose output went back to the model. Worked, Nonzero and Failed
// add up to Total.
type ToolCalls struct {
	Total  int `json:"total"`
	Worked int `json:"worked"`
	// Nonzero ran and ended with a status other than 0, Failed could not be run.
	Nonzero int `json:"nonzero"`
	Failed  int `json:"failed"`
}

// Tokens are sums over the model requests, as the endpoint reported them.
type Tokens struct {
	// Input includes Cached and CacheWrite, Output includes Reasoning. Total adds up what the
	// endpoint called the total of each request, Input + Output where it did not.
	Input      int64 `json:"input"`
	Cached     int64 `json:"cached"`
	CacheWrite int64 `json:"cache_write"`
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning"`
	Total      int64 `json:"total"`
	// Requests counts the requests behind the sums, Unreported those that reported nothing.
	Requests   int `json:"requests"`
	Unreported int `json:"unreported"`
}

// How much of the jail was in force.
const (
	JailFull    = "full"
	JailPartial = "partial"
	JailNone    = "none"
)

// Jail says how the agent was held.
type Jail struct {
	// Level is JailFull, JailPartial or JailNone.
	Level   string   `json:"level"`
	Missing []string `json:"missing"`
}

// Egress says which hosts the agent could reach beside the model endpoint.
type Egress struct {
	// Enforced is false when nothing kept the agent from reaching any host.
	Enforced bool   `json:"enforced"`
	Hosts    []Host `json:"hosts"`
}

// Host is a host that the agent asked for, as host:port, with the number of answers of each kind.
type Host struct {
	Name    string `json:"name"`
	Allowed int    `json:"allowed"`
	Refused int    `json:"refused"`
}

// The verdicts, as the action's output of that name has them.
const (
	VerdictOK           Text = "ok"
	VerdictFindings     Text = "findings"
	VerdictInconclusive Text = "inconclusive"
	VerdictFailed       Text = "failed"
	VerdictPending      Text = "pending"
	VerdictSkipped      Text = "skipped"
)

// Review is what came out.
type Review struct {
	// Path, SHA and Bytes are those of the review as Codex wrote it.
	Path  Text   `json:"path"`
	SHA   Digest `json:"sha"`
	Bytes *int64 `json:"bytes"`
	// Shape names the form it was read as.
	Shape Text `json:"shape"`
	// Valid says whether it is what the schema asks for; nil when there was none to check.
	Valid   *bool `json:"valid"`
	Verdict Text  `json:"verdict"`
	// OK is what the model said, if it did.
	OK         *bool      `json:"ok"`
	Findings   int        `json:"findings"`
	BySeverity BySeverity `json:"by_severity"`
	// Locations counts the findings by what the check of their location said; those under "" print
	// as "unchecked".
	Locations map[string]int `json:"locations"`
	// Problems say what is wrong with the review or why it is not trusted.
	Problems []string `json:"problems"`
}

// BySeverity counts findings.
type BySeverity struct {
	Critical int `json:"critical"`
	High     int `json:"high"`
	Medium   int `json:"medium"`
	Low      int `json:"low"`
	Info     int `json:"info"`
	// Unrated counts those without a severity of their own.
	Unrated int `json:"unrated"`
}

// Run says where, when and by what the review was made.
type Run struct {
	Repository  Text   `json:"repository"`
	Server      Text   `json:"server"`
	Event       Text   `json:"event"`
	Actor       Text   `json:"actor"`
	RunID       *int64 `json:"run_id"`
	RunAttempt  *int64 `json:"run_attempt"`
	Job         Text   `json:"job"`
	PullRequest *int64 `json:"pull_request"`
	// BaseSHA is the tip of the base branch that the merge base was computed from.
	BaseSHA   Text      `json:"base_sha"`
	OS        string    `json:"os"`
	Arch      string    `json:"arch"`
	StartedAt time.Time `json:"started_at"`
	Codex     Codex     `json:"codex"`
	// Files are the other files that the run left, those of Wire and Review apart.
	Files []File `json:"files"`
	// SkipReason is set when the status is Skipped, Error when a person has something to mend.
	SkipReason Text     `json:"skip_reason"`
	Error      *Error   `json:"error"`
	Warnings   []string `json:"warnings"`
}

// Codex says which native programs ran.
type Codex struct {
	// Source says where they were found.
	Source Text `json:"source"`
	// Integrity says what vouched for the package that they came in.
	Integrity Text      `json:"integrity"`
	Programs  []Program `json:"programs"`
}

// Program is one native program.
type Program struct {
	Name  string `json:"name"`
	SHA   Digest `json:"sha"`
	Bytes int64  `json:"bytes"`
}

// File names the bytes of a file.
type File struct {
	Path  string `json:"path"`
	SHA   Digest `json:"sha"`
	Bytes int64  `json:"bytes"`
}

// Error is what a person was told.
type Error struct {
	// Kind is the fault's kind in lower case, if it has one.
	Kind    Text   `json:"kind"`
	Message string `json:"message"`
	Hint    Text   `json:"hint"`
}

// ErrorOf returns what a receipt says of err, or nil for none.
func ErrorOf(err error) *Error {
	if err == nil {
		return nil
	}
	return &Error{Kind: kindName(fault.KindOf(err)), Message: err.Error(), Hint: Text(fault.HintOf(err))}
}

func kindName(k fault.Kind) Text {
	switch k {
	case fault.Request:
		return "request"
	case fault.Gate:
		return "gate"
	case fault.Review:
		return "review"
	case fault.Budget:
		return "budget"
	case fault.Remote:
		return "remote"
	}
	return ""
}

// TimingMS is how long things took, in milliseconds; nil for what was not done. They overlap, so
// their sum is not Total.
type TimingMS struct {
	Total int64 `json:"total"`
	// Install is finding or installing Codex, Tree laying out what the agent reads, Control the
	// control request, Codex its own run, Review reading and checking what came out.
	Install *int64 `json:"install"`
	Tree    *int64 `json:"tree"`
	Control *int64 `json:"control"`
	Codex   *int64 `json:"codex"`
	Review  *int64 `json:"review"`
}

package codex

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/recibo-ci/recibo/pkg/digest"
	"github.com/recibo-ci/recibo/pkg/wire"
)

// Watch follows the requests of one run: the first must match the expectation, every later one
// must still hold the prompt, and tool outputs are judged as they come by.
type Watch struct {
	Expect Expectation

	mu      sync.Mutex
	calls   map[string]outcome
	broken  []string
	lostAt  int
	matched bool
	items   []Item
}

// Item is one part of the first request, as what it was accounted for.
type Item struct {
	Role, What string
	SHA        digest.SHA256
	Bytes      int64
}

// Items lists what the first request held once it matched, in order.
func (w *Watch) Items() []Item {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.items
}

type outcome int

const (
	worked outcome = iota + 1 // a command ran and ended with 0
	// one is a command that ended with 1, as a search without a hit and a diff with one do.
	one
	nonzero // a command ran and ended otherwise
	// silent is a script that completed and does not tell of any command; whether it ran one
	// stands in Codex's events.
	silent
	failed // nothing ran
)

// Inspect is called for each request before it leaves. It returns whether the prompt item is
// there unchanged, and an error for a first request that must not leave.
func (w *Watch) Inspect(n int, r *wire.Request) (bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	intact := w.holdsPrompt(r)
	if !w.matched {
		if err := w.Expect.Match(r); err != nil {
			return intact, err
		}
		w.matched = true
		w.items = w.Expect.items(r)
	}
	if !intact && w.lostAt == 0 {
		w.lostAt = n
	}
	w.judge(r)
	return intact, nil
}

func (w *Watch) holdsPrompt(r *wire.Request) bool {
	for _, item := range r.Items {
		if item.Type == "message" && item.Role == "user" && len(item.Parts) == 1 && item.Parts[0] == string(w.Expect.Prompt) {
			return true
		}
	}
	return false
}

func (w *Watch) judge(r *wire.Request) {
	if w.calls == nil {
		w.calls = map[string]outcome{}
	}
	for _, item := range r.Items {
		if !strings.HasSuffix(item.Type, "_call_output") {
			continue
		}
		if _, known := w.calls[item.CallID]; known {
			continue
		}
		o := judgeOutput(item.Parts)
		w.calls[item.CallID] = o
		if o == failed && len(item.Parts) > 0 && len(w.broken) < 3 {
			w.broken = append(w.broken, cut(strings.Join(item.Parts, " ")))
		}
	}
}

// sandboxFailure matches what Codex 0.171.0 prints where its own sandbox cannot start; each
// command then exits with 101 or 1 and nothing of it ran.
var sandboxFailure = regexp.MustCompile(`bubblewrap is unavailable|bwrap: |linux-sandbox/src/`)

var exitLine = regexp.MustCompile(`(?m)^Process exited with code (-?\d+)$`)

// judgeOutput reads a tool's output as Codex 0.171.0 writes it: classic tools say "Process
// exited with code N" or "Process running with session ID"; code mode starts with "Script
// completed", "Script failed" or "Script running", followed by what the script printed, in which
// a command's result is an object with exit_code.
func judgeOutput(parts []string) outcome {
	if len(parts) == 0 {
		return failed
	}
	head := parts[0]
	switch {
	case strings.HasPrefix(head, "Script completed"), strings.HasPrefix(head, "Script running"):
		return judgeScript(parts[1:])
	case strings.HasPrefix(head, "Script "):
		return failed
	}
	if m := exitLine.FindStringSubmatch(head); m != nil {
		return judgeExit(m[1], head)
	}
	if strings.Contains(head, "Process running with session ID") {
		return worked
	}
	return failed
}

func judgeScript(printed []string) outcome {
	best := silent
	for _, text := range printed {
		var result struct {
			Exit   *int   `json:"exit_code"`
			Output string `json:"output"`
		}
		o := silent
		if json.Unmarshal([]byte(text), &result) == nil && result.Exit != nil {
			o = judgeExit(strconv.Itoa(*result.Exit), result.Output)
		} else if sandboxFailure.MatchString(text) {
			o = failed
		}
		if best == silent || o != silent && o < best {
			best = o
		}
	}
	return best
}

func judgeExit(code, output string) outcome {
	switch {
	case code == "0":
		return worked
	case sandboxFailure.MatchString(output):
		return failed
	case code == "1":
		return one
	}
	return nonzero
}

// Health is what the requests showed about the run.
type Health struct {
	// Calls counts tool calls whose output was seen; Worked, One, Nonzero, Silent and Failed add up
	// to it. One are commands that ended with 1, Silent scripts that tell of no command.
	Calls, Worked, One, Nonzero, Silent, Failed int
	// Matched is true once a first request was as expected.
	Matched bool
	// PromptLostAt is the number of the first request without the prompt unchanged, or 0.
	PromptLostAt int
	// Broken quotes outputs of calls that failed, a few.
	Broken []string
}

// Health returns what was seen so far.
func (w *Watch) Health() Health {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := Health{Calls: len(w.calls), Matched: w.matched, PromptLostAt: w.lostAt}
	for _, o := range w.calls {
		switch o {
		case worked:
			h.Worked++
		case one:
			h.One++
		case nonzero:
			h.Nonzero++
		case silent:
			h.Silent++
		case failed:
			h.Failed++
		}
	}
	h.Broken = w.broken
	return h
}

// Doubts lists why the run's review cannot be trusted; none means that it can. diffInContext
// tells that the agent could review without looking; ran is how many commands Codex's events say
// ended with 0 or 1.
func (h Health) Doubts(failures []string, ran int, diffInContext bool) []string {
	var doubts []string
	if h.PromptLostAt > 0 {
		doubts = append(doubts, fmt.Sprintf("the prompt no longer reached the model unchanged from request %d on", h.PromptLostAt))
	}
	switch {
	case h.Calls == 0 && !diffInContext:
		doubts = append(doubts, "the agent looked at nothing: no tool call was made, and the diff is not in the context")
	case h.Calls > 0 && h.Worked+h.One == 0 && (h.Silent == 0 || ran == 0):
		doubts = append(doubts, fmt.Sprintf("none of the agent's %d tool calls worked%s", h.Calls, quoted(h.Broken)))
	}
	for _, f := range failures {
		if !harmless(f) {
			doubts = append(doubts, "Codex reported an error: "+cut(f))
		}
	}
	return doubts
}

func quoted(broken []string) string {
	if len(broken) == 0 {
		return ""
	}
	return ": " + broken[0]
}

// harmless tells the error items of Codex 0.171.0 that are notices: an unknown model's fallback
// and instruction files over their limit, both of which the receipt reports by itself, and
// configuration names that will change.
func harmless(text string) bool {
	for _, start := range []string{"Model metadata for ", "Loaded only ", "Skipped project instructions", "Combined user instructions"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return strings.Contains(text, " is deprecated")
}

package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/recibo-ci/recibo/pkg/codex"
	"github.com/recibo-ci/recibo/pkg/receipt"
	"github.com/recibo-ci/recibo/pkg/wire"
)

// commandsShown bounds what a person sees of a run: a line a command.
const (
	commandsShown = 200
	commandMax    = 160
)

// follow prints a line for each command the agent runs, with the time since the start.
func (s *session) follow() func(codex.Event) {
	shown, start := 0, s.world.Now()
	return func(e codex.Event) {
		if e.Type != "item.completed" {
			return
		}
		text := ""
		switch e.Item.Type {
		case "command_execution":
			text = commandLine(e)
		case "error":
			text = "error: " + oneLine(e.Item.Message)
		default:
			return
		}
		shown++
		if shown == commandsShown+1 {
			s.log.Print("… further commands are in events.jsonl")
		}
		if shown > commandsShown {
			return
		}
		s.log.Print(fmt.Sprintf("%6s  %7d tokens  %s", s.world.Now().Sub(start).Round(100*time.Millisecond), s.tokens().Total, text))
	}
}

func commandLine(e codex.Event) string {
	exit := "?"
	if e.Item.ExitCode != nil {
		exit = fmt.Sprint(*e.Item.ExitCode)
	}
	// Codex wraps each command in its shell, whose path says nothing.
	command := e.Item.Command
	if _, inner, ok := strings.Cut(command, " -c "); ok && strings.HasSuffix(strings.Fields(command)[0], "sh") {
		command = inner
	}
	return fmt.Sprintf("exit %s  %s", exit, oneLine(command))
}

// oneLine folds white space and bounds the length.
func oneLine(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > commandMax {
		s = strings.ToValidUTF8(s[:commandMax], "") + "…"
	}
	return s
}

// tokens adds up what the endpoint reported so far.
func (s *session) tokens() receipt.Tokens {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sumTokens(s.records)
}

func sumTokens(records []wire.Record) receipt.Tokens {
	var t receipt.Tokens
	for _, r := range records {
		if r.Refused != "" {
			continue
		}
		t.Requests++
		if r.Response == nil || r.Response.Usage == nil {
			t.Unreported++
			continue
		}
		u := r.Response.Usage
		t.Input += u.Input
		t.Cached += u.Cached
		t.CacheWrite += u.CacheWrite
		t.Output += u.Output
		t.Reasoning += u.Reasoning
	}
	t.Total = t.Input + t.Output
	return t
}

// keep hands over what the session left, whatever its end was.
func (s *session) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec := s.receipt
	rec.Tokens = sumTokens(s.records)
	rec.Run.Codex.Programs = nil
	for _, p := range s.digests.Programs {
		rec.Run.Codex.Programs = append(rec.Run.Codex.Programs, receipt.Program{Name: p.Name, SHA: receipt.Digest(p.SHA256), Bytes: p.Bytes})
	}
	rec.CodexSHA = receipt.Digest(s.digests.SHA)
	rec.Model, rec.Effort = receipt.Text(s.opt.model), receipt.Text(s.opt.effort)
	if len(s.records) > 0 {
		s.kept.wire = s.wire
		s.noteRequests()
	}
	if s.opt.wireFull && s.bodies.Len() > 0 {
		s.kept.session = s.bodies.Bytes()
	}
	if s.result != nil {
		s.kept.message, s.kept.events = s.result.Message, s.result.Events.Bytes()
	}
	if s.watch != nil {
		s.noteHealth()
	}
}

// noteRequests writes what the requests showed into the receipt. mu is held.
func (s *session) noteRequests() {
	rec, intact := s.receipt, true
	for _, r := range s.records {
		if r.Refused != "" {
			rec.Wire.Refused++
			continue
		}
		rec.Wire.Requests++
		intact = intact && r.PromptIntact
		if r.Response != nil && r.Response.Model != "" {
			rec.ModelServed = receipt.Text(r.Response.Model)
		}
	}
	if rec.Wire.Requests > 0 {
		rec.Wire.PromptIntact = &intact
	}
	first := s.records[0].Request
	rec.Wire.Tools, rec.WireToolsSHA = first.Tools, receipt.Digest(first.ToolsSHA)
	rec.Model, rec.Effort = receipt.Text(first.Model), receipt.Text(first.Effort)
	rec.Instructions.SHA = receipt.Digest(first.InstructionsSHA)
}

// noteHealth judges whether the review can be trusted, from what was seen on the wire.
func (s *session) noteHealth() {
	h := s.watch.Health()
	s.receipt.Wire.ToolCalls = toolCalls(h, s.result)
	for _, item := range s.watch.Items() {
		// In code mode the base instructions are an item, elsewhere a field of their own.
		if item.What == "base_instructions" && s.receipt.Instructions.SHA.String() == "" {
			s.receipt.Instructions.SHA = receipt.Digest(item.SHA)
		}
		s.receipt.Instructions.Items = append(s.receipt.Instructions.Items, receipt.Item{
			Role: item.Role, What: item.What, SHA: receipt.Digest(item.SHA), Bytes: item.Bytes,
		})
	}
	if s.result == nil {
		return
	}
	s.doubts = h.Doubts(s.result.Failures, s.result.Ran, false)
}

// toolCalls puts the silent scripts where Codex's events say that they belong.
func toolCalls(h codex.Health, res *codex.Result) receipt.ToolCalls {
	out := receipt.ToolCalls{Total: h.Calls, Worked: h.Worked, Nonzero: h.One + h.Nonzero, Failed: h.Failed}
	if res != nil && res.Ran > 0 {
		out.Worked += h.Silent
	} else {
		out.Failed += h.Silent
	}
	return out
}

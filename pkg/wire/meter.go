package wire

import (
	"strconv"
)

// maxTokens keeps sums of nonsense from running over.
const maxTokens = 1 << 40

// Usage counts tokens as a response told them. Cached and CacheWrite are parts of Input, Reasoning
// of Output.
type Usage struct {
	Input      int64 `json:"input"`
	Cached     int64 `json:"cached"`
	CacheWrite int64 `json:"cache_write"`
	Output     int64 `json:"output"`
	Reasoning  int64 `json:"reasoning"`
	// Total is the response's own sum; where it gives none, Input plus Output.
	Total int64 `json:"total"`
}

// Plus returns the sum of u and v.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Cached + v.Cached, u.CacheWrite + v.CacheWrite,
		u.Output + v.Output, u.Reasoning + v.Reasoning, u.Total + v.Total}
}

// Summary is what a response says of itself.
type Summary struct {
	// Events counts the events of a stream, Unread those among them that could not be read: over
	// 8 MiB, or no JSON object.
	Events int64 `json:"events"`
	Unread int64 `json:"unread"`
	// Model is the served model, as the response names it.
	Model      string `json:"model"`
	ResponseID string `json:"response_id"`
	// Usage is nil when the response did not tell it, as one that was cut does not.
	Usage *Usage `json:"usage"`
	// Items counts the finished output items by type.
	Items map[string]int `json:"items"`
	// Finished says that the response came to its own end, whether good or bad.
	Finished bool `json:"finished"`
	// Failed says that it ended badly: an error, or incomplete.
	Failed    bool   `json:"failed"`
	ErrorCode string `json:"error_code"`
	Error     string `json:"error"`
}

// Stream reads a stream of Responses events as it passes, in chunks of any size, and sums it up.
// It never holds more than one event, and none of those that do not matter to the summary, such
// as deltas. The zero value is ready.
type Stream struct {
	split splitter
	sum   Summary
}

// Write takes the next bytes. It never fails.
func (s *Stream) Write(p []byte) (int, error) {
	if s.split.emit == nil {
		s.split = splitter{limit: maxEvent, skip: irrelevant, emit: s.event}
	}
	return s.split.Write(p)
}

// Events returns how many events have come so far.
func (s *Stream) Events() int64 { return s.sum.Events }

// Summary returns what is known so far.
func (s *Stream) Summary() Summary {
	if s.sum.Items == nil {
		s.sum.Items = map[string]int{}
	}
	return s.sum
}

func irrelevant(kind []byte) bool {
	switch string(kind) {
	case "response.created", "response.completed", "response.failed", "response.incomplete",
		"response.output_item.done", "error":
		return false
	}
	return true
}

func (s *Stream) event(e event) {
	s.sum.Events++
	if e.skipped {
		return
	}
	if e.large {
		s.sum.Unread++
		return
	}
	d, err := scan(e.data)
	if err != nil || d.cells[0].kind != '{' {
		s.sum.Unread++
		return
	}
	switch kind := d.str(0, "type"); kind {
	case "response.created":
		s.sum.response(d, d.get(0, "response"))
	case "response.output_item.done":
		s.sum.item(d.str(d.get(0, "item"), "type"))
	case "response.completed", "response.failed", "response.incomplete":
		s.sum.response(d, d.get(0, "response"))
		s.sum.Finished = true
		s.sum.Failed = s.sum.Failed || kind != "response.completed"
	case "error":
		s.sum.Finished, s.sum.Failed = true, true
		// Both forms are in use: the members in the event itself, or in an object of their own.
		s.sum.failure(d, 0)
		s.sum.failure(d, d.get(0, "error"))
	}
}

// ReadBody sums up a response that is not a stream: a response object, the answer of a
// compaction, or an error.
func ReadBody(body []byte) Summary {
	sum := Summary{Items: map[string]int{}}
	d, err := scan(body)
	if err != nil || d.cells[0].kind != '{' {
		return sum
	}
	sum.Finished = true
	sum.response(d, 0)
	if out := d.get(0, "output"); out >= 0 && d.cells[out].kind == '[' {
		for e := range d.elements(out) {
			sum.item(d.str(e, "type"))
		}
	}
	status := d.str(0, "status")
	sum.Failed = d.get(0, "error") >= 0 || status == "failed" || status == "incomplete"
	return sum
}

// response reads the response object at i. What it does not say stays as it was.
func (s *Summary) response(d *document, i int) {
	if i < 0 {
		return
	}
	if model := d.str(i, "model"); model != "" {
		s.Model = Bounded(model, maxWord)
	}
	if id := d.str(i, "id"); id != "" {
		s.ResponseID = Bounded(id, maxWord)
	}
	if u := d.get(i, "usage"); u >= 0 {
		s.Usage = usage(d, u)
	}
	s.failure(d, d.get(i, "error"))
	if reason := d.str(d.get(i, "incomplete_details"), "reason"); reason != "" && s.Error == "" {
		s.ErrorCode, s.Error = Bounded(reason, maxWord), "the response is incomplete"
	}
}

func (s *Summary) failure(d *document, i int) {
	code, message := d.str(i, "code"), d.str(i, "message")
	if code == "" && message != "" {
		code = d.str(i, "type")
	}
	if message == "" {
		return
	}
	s.ErrorCode, s.Error = Bounded(code, maxWord), Bounded(message, maxError)
}

// item counts one output item. The number of different types is bounded, since upstream names
// them.
func (s *Summary) item(kind string) {
	if s.Items == nil {
		s.Items = map[string]int{}
	}
	kind = Bounded(kind, maxWord)
	if _, known := s.Items[kind]; !known && len(s.Items) >= 32 {
		kind = OtherKind
	}
	s.Items[kind]++
}

// usage reads the object of that name, nil when its counts are not counts.
func usage(d *document, i int) *Usage {
	in, out := d.get(i, "input_tokens_details"), d.get(i, "output_tokens_details")
	var u Usage
	ok := true
	for _, field := range []struct {
		to     *int64
		object int
		key    string
	}{
		{&u.Input, i, "input_tokens"}, {&u.Output, i, "output_tokens"}, {&u.Total, i, "total_tokens"},
		{&u.Cached, in, "cached_tokens"}, {&u.CacheWrite, in, "cache_write_tokens"},
		{&u.Reasoning, out, "reasoning_tokens"},
	} {
		v := d.get(field.object, field.key)
		if v < 0 {
			continue
		}
		n, err := strconv.ParseInt(string(d.raw(v)), 10, 64)
		*field.to = n
		ok = ok && err == nil && n >= 0 && n <= maxTokens
	}
	if !ok || d.get(i, "input_tokens") < 0 || d.get(i, "output_tokens") < 0 {
		return nil
	}
	if d.get(i, "total_tokens") < 0 {
		u.Total = u.Input + u.Output
	}
	return &u
}

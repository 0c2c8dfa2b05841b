// Package modeltest is a scripted model for tests: a Responses endpoint on loopback that answers
// what the test says, in order, and refuses what the real one refuses.
//
// No model is behind it, and it understands nothing of what it is asked.
package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Key is the only key the model takes.
const Key = "sk-test-0123456789abcdefghijklmnop"

// Turn answers one request.
type Turn func(w http.ResponseWriter, body []byte)

// Model is a running endpoint.
type Model struct {
	// URL is the full URL of the endpoint.
	URL string

	t        testing.TB
	mu       sync.Mutex
	turns    []Turn
	requests [][]byte
}

// Start serves turns, one a request. A request beyond them, with another key, method, path or
// content type fails the test, and so do turns that nobody asked for, unless the test says
// otherwise with Unused.
func Start(t testing.TB, turns ...Turn) *Model {
	t.Helper()
	m := &Model{t: t, turns: turns}
	s := httptest.NewServer(m)
	m.URL = s.URL + "/v1/responses"
	t.Cleanup(func() {
		s.Close()
		if n := m.left(); n > 0 && !t.Failed() {
			t.Errorf("%d turns of the scripted model were not asked for", n)
		}
	})
	return m
}

// Unused forgets the turns that are left, for tests in which the run is meant to end early.
func (m *Model) Unused() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turns = nil
}

func (m *Model) left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.turns)
}

// Requests returns the bodies that came, in order.
func (m *Model) Requests() [][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([][]byte(nil), m.requests...)
}

// ServeHTTP answers a request with the next turn.
func (m *Model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		m.t.Errorf("scripted model: read request: %v", err)
		return
	}
	if problem := check(r, body); problem != "" {
		m.t.Errorf("scripted model: %s", problem)
		http.Error(w, `{"error":{"message":"`+problem+`"}}`, http.StatusBadRequest)
		return
	}
	turn := m.next(body)
	if turn == nil {
		m.t.Errorf("scripted model: no turn is left for request %d", len(m.Requests()))
		http.Error(w, `{"error":{"message":"no turn left"}}`, http.StatusBadRequest)
		return
	}
	turn(w, body)
}

func (m *Model) next(body []byte) Turn {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests = append(m.requests, body)
	if len(m.turns) == 0 {
		return nil
	}
	turn := m.turns[0]
	m.turns = m.turns[1:]
	return turn
}

func check(r *http.Request, body []byte) string {
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/v1/responses":
		return fmt.Sprintf("unexpected %s %s", r.Method, r.URL.Path)
	case r.Header.Get("Authorization") != "Bearer "+Key:
		return "wrong or missing key"
	case r.Header.Get("Content-Type") != "application/json":
		return "content type is not JSON"
	case !json.Valid(body):
		return "body is not JSON"
	}
	return ""
}

// Items answers with output items, as an event stream.
func Items(items ...map[string]any) Turn {
	return func(w http.ResponseWriter, body []byte) {
		var asked struct {
			Model string `json:"model"`
		}
		_ = json.Unmarshal(body, &asked)
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(event map[string]any) {
			data, _ := json.Marshal(event)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event["type"], data)
		}
		send(map[string]any{"type": "response.created", "response": map[string]any{"id": "resp_test", "model": asked.Model}})
		for i, item := range items {
			send(map[string]any{"type": "response.output_item.done", "output_index": i, "item": item})
		}
		send(map[string]any{"type": "response.completed", "response": map[string]any{
			"id": "resp_test", "model": asked.Model,
			"usage": map[string]any{
				"input_tokens": 1000, "input_tokens_details": map[string]any{"cached_tokens": 400},
				"output_tokens": 50, "output_tokens_details": map[string]any{"reasoning_tokens": 10}, "total_tokens": 1050,
			},
		}})
	}
}

// Message answers with a final message.
func Message(text string) Turn {
	return Items(map[string]any{
		"type": "message", "id": "msg_test", "role": "assistant",
		"content": []any{map[string]any{"type": "output_text", "text": text}},
	})
}

// CodeMode answers with a script that runs commands, for models that work in code mode.
func CodeMode(commands ...string) Turn {
	var script strings.Builder
	for _, c := range commands {
		quoted, _ := json.Marshal(c)
		fmt.Fprintf(&script, "text(await tools.exec_command({cmd: %s}));\n", quoted)
	}
	return Script(script.String())
}

// Script answers with a code-mode script.
func Script(source string) Turn {
	return Items(map[string]any{
		"type": "custom_tool_call", "id": "ctc_test", "call_id": "call_" + fmt.Sprint(len(source)),
		"name": "exec", "namespace": "functions", "input": source,
	})
}

// Classic answers with a call of the classic command tool.
func Classic(command string) Turn {
	arguments, _ := json.Marshal(map[string]string{"cmd": command})
	return Items(map[string]any{
		"type": "function_call", "id": "fc_test", "call_id": "call_" + fmt.Sprint(len(command)),
		"name": "exec_command", "arguments": string(arguments),
	})
}

// Fail answers with an HTTP error.
func Fail(status int, message string) Turn {
	return func(w http.ResponseWriter, _ []byte) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"message":%q,"type":"invalid_request_error","code":null}}`, message)
	}
}

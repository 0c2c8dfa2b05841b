package wire

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const answer = ": keepalive\n\n" +
	"event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\",\"model\":\"asked\"}}\n\n" +
	"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"hi\"}\n\n" +
	"data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"reasoning\"}}\n\n" +
	"data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"message\"}}\n\n" +
	"data: { \"item\":{\"type\":\"message\"},\ndata:  \"type\":\"response.output_item.done\"}\n\n" +
	"event: response.completed\nid: 7\nretry: 5\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"resp_1\",\"model\":\"served\",\"usage\":{\"input_tokens\":100,\"input_tokens_details\":{\"cached_tokens\":40,\"cache_write_tokens\":7},\"output_tokens\":20,\"output_tokens_details\":{\"reasoning_tokens\":5},\"total_tokens\":120}}}\n\n"

func summed(stream string, sizes func() int) Summary {
	var s Stream
	for p := []byte(stream); len(p) > 0; {
		n := min(len(p), sizes())
		s.Write(p[:n])
		p = p[n:]
	}
	return s.Summary()
}

func whole() int { return 1 << 30 }

func TestStream(t *testing.T) {
	t.Parallel()
	want := Summary{Events: 6, Model: "served", ResponseID: "resp_1", Finished: true,
		Usage: &Usage{Input: 100, Cached: 40, CacheWrite: 7, Output: 20, Reasoning: 5, Total: 120},
		Items: map[string]int{"reasoning": 1, "message": 2}}
	for _, tt := range []struct{ name, stream string }{
		{"lf", answer},
		{"crlf", strings.ReplaceAll(answer, "\n", "\r\n")},
		{"cr", strings.ReplaceAll(answer, "\n", "\r")},
		{"mark", "\xEF\xBB\xBF" + answer},
		{"no_space", strings.ReplaceAll(answer, "data: {", "data:{")},
		{"half_event_behind", answer + "data: {\"type\":\"error\",\"message\":\"x\"}\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for size := 1; size < 40; size++ {
				if diff := cmp.Diff(want, summed(tt.stream, func() int { return size })); diff != "" {
					t.Fatalf("chunks of %d (-want +got):\n%s", size, diff)
				}
			}
			if diff := cmp.Diff(want, summed(tt.stream, whole)); diff != "" {
				t.Errorf("whole (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, data string
		want       Summary
	}{
		{"failed", `{"type":"response.failed","response":{"id":"r","error":{"code":"invalid_prompt","message":"no\nway"}}}`,
			Summary{Events: 1, ResponseID: "r", Finished: true, Failed: true, ErrorCode: "invalid_prompt", Error: "no way"}},
		{"incomplete", `{"type":"response.incomplete","response":{"incomplete_details":{"reason":"max_output_tokens"}}}`,
			Summary{Events: 1, Finished: true, Failed: true, ErrorCode: "max_output_tokens", Error: "the response is incomplete"}},
		{"error", `{"type":"error","code":"rate_limit","message":"slow down"}`,
			Summary{Events: 1, Finished: true, Failed: true, ErrorCode: "rate_limit", Error: "slow down"}},
		{"error_object", `{"type":"error","error":{"type":"server_error","code":null,"message":"oops"}}`,
			Summary{Events: 1, Finished: true, Failed: true, ErrorCode: "server_error", Error: "oops"}},
		{"no_usage", `{"type":"response.completed","response":{"usage":null}}`, Summary{Events: 1, Finished: true}},
		{"no_total", `{"type":"response.completed","response":{"usage":{"input_tokens":3,"output_tokens":4}}}`,
			Summary{Events: 1, Finished: true, Usage: &Usage{Input: 3, Output: 4, Total: 7}}},
		{"negative_usage", `{"type":"response.completed","response":{"usage":{"input_tokens":-3,"output_tokens":4}}}`, Summary{Events: 1, Finished: true}},
		{"fractional_usage", `{"type":"response.completed","response":{"usage":{"input_tokens":3.5,"output_tokens":4}}}`, Summary{Events: 1, Finished: true}},
		{"half_usage", `{"type":"response.completed","response":{"usage":{"input_tokens":3}}}`, Summary{Events: 1, Finished: true}},
		{"unknown", `{"type":"response.new_thing","response":{"id":"x"}}`, Summary{Events: 1}},
		{"done_word", `[DONE]`, Summary{Events: 1, Unread: 1}},
		{"not_json", `{"type":"error"`, Summary{Events: 1, Unread: 1}},
		{"empty", ``, Summary{Events: 1, Unread: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.want.Items = map[string]int{}
			if diff := cmp.Diff(tt.want, summed("data: "+tt.data+"\n\n", whole)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadBody(t *testing.T) {
	t.Parallel()
	got := ReadBody([]byte(`{"id":"r","model":"m","status":"completed","error":null,"output":[{"type":"compaction"}],"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}`))
	want := Summary{Model: "m", ResponseID: "r", Finished: true, Usage: &Usage{Input: 1, Output: 2, Total: 3}, Items: map[string]int{"compaction": 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got = ReadBody([]byte(`{"error":{"message":"bad schema","type":"invalid_request_error","code":null}}`))
	want = Summary{Finished: true, Failed: true, ErrorCode: "invalid_request_error", Error: "bad schema", Items: map[string]int{}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ReadBody([]byte("<html>")); got.Finished || got.Usage != nil {
		t.Errorf("no JSON: got %+v", got)
	}
}

// A line may be larger than the memory: what is held stays small, and what could not be read is
// said.
func TestStreamIsBounded(t *testing.T) {
	t.Parallel()
	filler := bytes.Repeat([]byte("x"), 1<<20)
	for _, tt := range []struct {
		name, head   string
		unread, held int64
	}{
		{"delta", `data: {"type":"response.output_text.delta","delta":"`, 0, 2 << 20},
		{"item", `data: {"type":"response.output_item.done","x":"`, 1, 32 << 20},
		{"no_type_in_front", `data: {"x":"`, 1, 32 << 20},
		{"comment", `: `, 0, 2 << 20},
		{"unknown_field", `foo: `, 0, 2 << 20},
		{"no_field", ``, 0, 2 << 20},
		{"event_name", `event: `, 0, 2 << 20},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var s Stream
			s.Write([]byte(tt.head))
			for range 100 {
				s.Write(filler)
				if held := int64(cap(s.split.line) + cap(s.split.held)); held > tt.held {
					t.Fatalf("holds %d bytes, want at most %d", held, tt.held)
				}
			}
			s.Write([]byte("\"}\n\n" + answer))
			got := s.Summary()
			if got.Unread != tt.unread || got.Usage == nil || got.Usage.Total != 120 {
				t.Errorf("got %+v, want %d unread and the usage behind it", got, tt.unread)
			}
			if held := cap(s.split.line) + cap(s.split.held); held > 1<<20 {
				t.Errorf("still holds %d bytes at the end", held)
			}
		})
	}
}

func TestItemTypesAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, "data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"t%d\"}}\n\n", i)
	}
	got := summed(b.String(), whole).Items
	if len(got) != 33 || got[OtherKind] != 468 {
		t.Errorf("got %d types, %d other", len(got), got[OtherKind])
	}
}

func BenchmarkStream(b *testing.B) {
	delta := "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"item_id\":\"msg_1\",\"output_index\":0,\"delta\":\" word\",\"obfuscation\":\"abcdefghij\"}\n\n"
	chunk := []byte(strings.Repeat(delta, 400))
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	var s Stream
	for b.Loop() {
		s.Write(chunk)
	}
}

func FuzzStream(f *testing.F) {
	f.Add(answer, uint64(1))
	f.Add(strings.ReplaceAll(answer, "\n", "\r\n"), uint64(2))
	f.Add("\xEF\xBB\xBFdata: {}\r\rdata\n\nevent:x\ndata:\n\n", uint64(3))
	f.Add("\xEF\xBBdata: [DONE]\n\n:\n\n", uint64(4))
	f.Add("data: "+strings.Repeat(" ", 200)+"{\"type\":\"error\"}\n\n", uint64(5))
	f.Fuzz(func(t *testing.T, stream string, seed uint64) {
		rng := rand.New(rand.NewPCG(seed, 0))
		// All events, byte for byte: the limit is small so that the fuzzer reaches it.
		events := func(sizes func() int) []string {
			var out []string
			s := splitter{limit: peekWindow + 40, skip: irrelevant, emit: func(e event) {
				out = append(out, fmt.Sprintf("%q %v %v", e.data, e.skipped, e.large))
			}}
			for p := []byte(stream); len(p) > 0; {
				n := min(len(p), sizes())
				s.Write(p[:n])
				p = p[n:]
			}
			return out
		}
		want := events(whole)
		if diff := cmp.Diff(want, events(func() int { return 1 })); diff != "" {
			t.Fatalf("bytewise (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, events(func() int { return 1 + rng.IntN(300) })); diff != "" {
			t.Fatalf("random chunks (-want +got):\n%s", diff)
		}
		if got := summed(stream, whole); got.Events != int64(len(want)) {
			t.Fatalf("%d events, want %d", got.Events, len(want))
		}
	})
}

// The reference splits a complete text the way the specification describes it, line by line.
func reference(stream string) []string {
	stream = strings.TrimPrefix(stream, "\xEF\xBB\xBF")
	stream = strings.ReplaceAll(strings.ReplaceAll(stream, "\r\n", "\n"), "\r", "\n")
	lines := strings.Split(stream, "\n")
	var out, data []string
	for _, line := range lines[:len(lines)-1] {
		name, value, _ := strings.Cut(line, ":")
		switch {
		case line == "" && data != nil:
			out = append(out, strings.Join(data, "\n"))
			data = nil
		case name == "data":
			data = append(data, strings.TrimPrefix(value, " "))
		}
	}
	return out
}

func FuzzSplitter(f *testing.F) {
	f.Add(answer)
	f.Add("data\ndata\n\ndata:a\r\ndata: b\r\rdata:c")
	f.Fuzz(func(t *testing.T, stream string) {
		var got []string
		s := splitter{limit: 1 << 30, emit: func(e event) { got = append(got, string(e.data)) }}
		s.Write([]byte(stream))
		if diff := cmp.Diff(reference(stream), got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

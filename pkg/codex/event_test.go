package codex

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadEventsTakesWhatItKnows(t *testing.T) {
	t.Parallel()
	in := `{"type":"thread.started","thread_id":"x"}
not json at all
{"type":"item.completed","item":{"type":"command_execution","command":"ls","exit_code":3,"status":"failed"},"new_field":1}
` + "\xff\xfe\n" + `{"type":"future.event"}

{"type":"turn.failed","error":{"message":"went wrong"}}
{"type":"item.completed","item":{"type":"error","message":"no host"}}
{"type":"turn.completed"}`
	var types, failures []string
	var keep bytes.Buffer
	unread, err := readEvents(strings.NewReader(in), &keep, func(e Event) {
		types = append(types, e.Type)
		if f := e.Failure(); f != "" {
			failures = append(failures, f)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"thread.started", "item.completed", "future.event", "turn.failed", "item.completed", "turn.completed"}
	if d := cmp.Diff(want, types); d != "" {
		t.Errorf("types (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"went wrong", "no host"}, failures); d != "" {
		t.Errorf("failures (-want +got):\n%s", d)
	}
	if unread != 2 {
		t.Errorf("unread = %d, want 2", unread)
	}
	if keep.String() != in {
		t.Errorf("kept %q, want every byte that came", keep.String())
	}
}

func TestReadEventsSurvivesAHugeLine(t *testing.T) {
	t.Parallel()
	huge := strings.Repeat("x", eventMax+10)
	var seen []string
	unread, err := readEvents(strings.NewReader(huge+"\n{\"type\":\"turn.completed\"}\n"), &Keep{Head: 10, Tail: 100}, func(e Event) { seen = append(seen, e.Type) })
	if err != nil {
		t.Fatal(err)
	}
	if unread != 1 || len(seen) != 1 || seen[0] != "turn.completed" {
		t.Errorf("unread = %d, seen = %q; want 1 and the event after the huge line", unread, seen)
	}
}

func TestKeepHoldsHeadAndTail(t *testing.T) {
	t.Parallel()
	k := &Keep{Head: 20, Tail: 20}
	var all strings.Builder
	for i := range 100 {
		line := fmt.Sprintf("line %d\n", i)
		all.WriteString(line)
		if _, err := k.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	got := string(k.Bytes())
	want := "line 0\nline 1\n{\"recibo\":\"left out\",\"bytes\":760}\nline 98\nline 99\n"
	if got != want {
		t.Errorf("Bytes() = %q, want %q", got, want)
	}
	if k.Total() != int64(all.Len()) {
		t.Errorf("Total() = %d, want %d", k.Total(), all.Len())
	}
}

func TestKeepIsExactWhileItFits(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 19, 20, 21, 39, 40} {
		k := &Keep{Head: 20, Tail: 20}
		in := strings.Repeat("abcdefghij", 4)[:n]
		for _, c := range []byte(in) {
			if _, err := k.Write([]byte{c}); err != nil {
				t.Fatal(err)
			}
		}
		if got := string(k.Bytes()); got != in {
			t.Errorf("%d bytes: Bytes() = %q, want %q", n, got, in)
		}
	}
}

func FuzzReadEvents(f *testing.F) {
	f.Add([]byte(`{"type":"turn.completed","usage":{"input_tokens":1}}` + "\n"))
	f.Add([]byte("\xff\n\n{}"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var keep bytes.Buffer
		if _, err := readEvents(bytes.NewReader(in), &keep, func(Event) {}); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(keep.Bytes(), in) {
			t.Errorf("kept %q of %q", keep.Bytes(), in)
		}
	})
}

package actions

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogOnRunner(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		do    func(*Log)
		want  []workflowCommand
		plain []string
	}{
		"print":      {func(l *Log) { l.Printf("%d%%\n::error::x", 5) }, nil, []string{"5%", `:\:error::x`}},
		"debug":      {func(l *Log) { l.Debug("a\nb") }, []workflowCommand{{"debug", "a\nb", nil}}, nil},
		"end_only":   {func(l *Log) { l.EndGroup() }, nil, nil},
		"mask":       {func(l *Log) { l.Mask("a%0A\r\nb,:") }, []workflowCommand{{"add-mask", "a%0A\r\nb,:", nil}}, nil},
		"mask_blank": {func(l *Log) { l.Mask(" \n") }, nil, nil},
		"group": {func(l *Log) { l.Group("a\nb: 100%"); l.Print("x"); l.EndGroup(); l.EndGroup() },
			[]workflowCommand{{"group", "a b: 100%", nil}, {"endgroup", "", nil}}, []string{"x"}},
		"group_in_group": {func(l *Log) { l.Group("a"); l.Group("b"); l.EndGroup() },
			[]workflowCommand{{"group", "a", nil}, {"endgroup", "", nil}, {"group", "b", nil}, {"endgroup", "", nil}}, nil},
		"annotation": {
			func(l *Log) {
				l.Annotate(Warning, Annotation{"50%,\n%0A: x\r::error::y", "a,b: c=d\ne%", "dir,a:b/c d.go", 3, 9})
			},
			[]workflowCommand{{"warning", "50%,\n%0A: x␍::error::y", map[string]string{
				"title": "a,b: c=d e%", "file": "dir,a:b/c d.go", "line": "3", "endLine": "9"}}}, nil},
		"annotation_bare": {func(l *Log) { l.Notice("n"); l.Error("e") },
			[]workflowCommand{{"notice", "n", nil}, {"error", "e", nil}}, nil},
		"line_without_path": {func(l *Log) { l.Annotate(Error, Annotation{Message: "m", StartLine: 3}) },
			[]workflowCommand{{"error", "m", nil}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			l := onRunner(&out)
			tc.do(l)
			got := readLog(out.String())
			if out.Len() == 0 {
				got.Plain = nil
			}
			for i := range got.Commands {
				if len(got.Commands[i].Properties) == 0 {
					got.Commands[i].Properties = nil
				}
			}
			if diff := cmp.Diff(runnerLog{Commands: tc.want, Plain: tc.plain}, got); diff != "" {
				t.Errorf("the runner reads (-want +got):\n%s\nfrom %q", diff, out.String())
			}
			if l.Err() != nil {
				t.Errorf("Err: got %v, want none", l.Err())
			}
		})
	}
}

func TestLogElsewhere(t *testing.T) {
	t.Parallel()
	speak := func(l *Log) {
		l.Group("title")
		l.Debug("detail")
		l.Mask("secret")
		l.Stopped(func() { l.Print("\x1b[31mtext") })
		l.Annotate(Warning, Annotation{Message: "m", Title: "t", Path: "a.go", StartLine: 3})
		l.Error("bad")
		l.EndGroup()
	}
	const plain = "title\ntext\nwarning: a.go:3: t: m\nerror: bad\n"
	for name, tc := range map[string]struct {
		getenv   func(string) string
		terminal bool
		want     string
	}{
		"plain":    {environ(), false, plain},
		"no_color": {environ("NO_COLOR", "1"), true, plain},
		"dumb":     {environ("TERM", "dumb"), true, plain},
		"debug":    {environ("RUNNER_DEBUG", "1"), false, strings.Replace(plain, "text", "debug: detail\ntext", 1)},
		"not_true": {environ("GITHUB_ACTIONS", "false"), false, plain},
		"terminal": {environ("TERM", "xterm"), true,
			"\x1b[1mtitle\x1b[0m\ntext\n\x1b[33mwarning:\x1b[0m a.go:3: t: m\n\x1b[31merror:\x1b[0m bad\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			speak(NewLog(&out, LogOptions{Getenv: tc.getenv, Terminal: tc.terminal}))
			if out.String() != tc.want {
				t.Errorf("printed:\ngot  %q\nwant %q", out.String(), tc.want)
			}
		})
	}
}

func TestAnnotationLimits(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := onRunner(&out)
	for range AnnotationLimit + 2 {
		l.Annotate(Warning, Annotation{Message: "##[error]m", Path: "::a", StartLine: 1})
	}
	l.Notice("n")
	if shown, plain := l.Annotated(Warning); shown != 10 || plain != 2 {
		t.Errorf("Annotated(Warning): got %d, %d, want 10 and 2", shown, plain)
	}
	if shown, plain := l.Annotated(Notice); shown != 1 || plain != 0 {
		t.Errorf("Annotated(Notice): got %d, %d, want 1 and 0", shown, plain)
	}
	got := readLog(out.String())
	line := `warning: :\:a:1: ##\[error]m`
	if diff := cmp.Diff([]string{line, line}, got.Plain); diff != "" || len(got.Commands) != 11 {
		t.Errorf("got %d commands, want 11; plain lines (-want +got):\n%s", len(got.Commands), diff)
	}
}

func TestAnnotationIsCut(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		message string
		cut     bool
	}{
		"fits":       {strings.Repeat("a", 4096), false},
		"over":       {strings.Repeat("a", 4097), true},
		"two_bytes":  {strings.Repeat("é", 4096), false},
		"pairs_fit":  {strings.Repeat("🙂", 2048), false},
		"pairs_over": {strings.Repeat("🙂", 2049), true},
		"percent":    {strings.Repeat("%", 4096), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			onRunner(&out).Annotate(Error, Annotation{Message: tc.message, Title: strings.Repeat("é", 300)})
			got := readLog(out.String())
			if len(got.Commands) != 1 {
				t.Fatalf("got %+v, want one command", got)
			}
			data := got.Commands[0].Data
			if n := utf16Len(data); n > 4096 {
				t.Errorf("message: got %d UTF-16 units, want 4096 at most", n)
			}
			kept, note, cut := strings.Cut(data, "… (")
			if cut != tc.cut || !strings.HasPrefix(tc.message, kept) || len(kept) < len(tc.message)*9/10 {
				t.Errorf("message: got %d of %d bytes and note %q, want cut %t", len(kept), len(tc.message), note, tc.cut)
			}
			if title := got.Commands[0].Properties["title"]; title != strings.Repeat("é", 254)+"…" {
				t.Errorf("title: got %q, want 254 characters and an ellipsis", title)
			}
		})
	}
}

func TestStopped(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := onRunner(&out)
	l.Group("g")
	l.Stopped(func() {
		// What got past Defuse would reach the runner like this.
		io.WriteString(&out, "::error::forged\n##[error]forged\n")
		l.Warning("ours")
		io.WriteString(&out, "::error::forged again\n")
		l.Stopped(func() { io.WriteString(&out, "::error::nested\n") })
		io.WriteString(&out, "::error::after nested\n")
	})
	l.Notice("after")
	l.EndGroup()
	got := readLog(out.String())
	var names []string
	for _, c := range got.Commands {
		names = append(names, c.Name)
	}
	if diff := cmp.Diff([]string{"group", "warning", "notice", "endgroup"}, names); diff != "" {
		t.Errorf("commands (-want +got):\n%s\nfrom %q", diff, out.String())
	}
	if got.Token != "" || len(got.Plain) != 5 {
		t.Errorf("got token %q and plain lines %q, want no token and the five forged ones", got.Token, got.Plain)
	}
	var tokens []string
	for line := range strings.SplitSeq(out.String(), "\n") {
		if token, ok := strings.CutPrefix(line, "::stop-commands::"); ok {
			tokens = append(tokens, token)
		}
	}
	if len(tokens) != 2 || tokens[0] == tokens[1] || len(tokens[0]) < 32 {
		t.Errorf("tokens: got %q, want two different ones of 128 bits", tokens)
	}
}

func TestStoppedByPanic(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := onRunner(&out)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("recover: got nil, want the panic")
			}
		}()
		l.Stopped(func() { panic("x") })
	}()
	if got := readLog(out.String()); got.Token != "" {
		t.Errorf("token: got %q, want commands to run again", got.Token)
	}
}

func TestLogFromManyGoroutines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	l := onRunner(&out)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 25 {
				l.Stopped(func() { l.Print("::error::x") })
				l.Debug("d")
			}
		})
	}
	group.Wait()
	got := readLog(out.String())
	if len(got.Commands) != 100 || len(got.Plain) != 100 || got.Token != "" {
		t.Errorf("got %d commands, %d lines, token %q, want 100, 100 and none", len(got.Commands), len(got.Plain), got.Token)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

func TestLogKeepsFirstError(t *testing.T) {
	t.Parallel()
	first := errors.New("first")
	l := NewLog(brokenWriter{first}, LogOptions{Getenv: environ("GITHUB_ACTIONS", "true"), Random: strings.NewReader("")})
	l.Warning("w")
	l.Stopped(func() { l.Group("g") })
	if !errors.Is(l.Err(), first) {
		t.Errorf("Err: got %v, want %v", l.Err(), first)
	}
	var out bytes.Buffer
	l = NewLog(&out, LogOptions{Getenv: environ("GITHUB_ACTIONS", "true"), Random: strings.NewReader("")})
	l.Stopped(func() { l.Print("p") })
	if !errors.Is(l.Err(), io.EOF) || out.String() != "p\n" {
		t.Errorf("without randomness: got %v and %q, want EOF and the line alone", l.Err(), out.String())
	}
}

func FuzzAnnotate(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, text, text)
	}
	f.Fuzz(func(t *testing.T, message, title, path string) {
		var out bytes.Buffer
		onRunner(&out).Annotate(Error, Annotation{Message: message, Title: title, Path: path, StartLine: 7})
		got := readLog(out.String())
		if len(got.Commands) != 1 || got.Commands[0].Name != "error" || len(got.Plain) > 0 {
			t.Fatalf("%q: the runner reads %+v, want one error", out.String(), got)
		}
		c := got.Commands[0]
		if len(message) < 1000 && c.Data != Defuse(message) {
			t.Errorf("message: got %q, want %q", c.Data, Defuse(message))
		}
		if path != "" && c.Properties["line"] != "7" {
			t.Errorf("properties: got %q, want line 7", c.Properties)
		}
		for _, s := range append([]string{c.Data}, c.Properties["title"], c.Properties["file"]) {
			if why := danger(s); why != "" {
				t.Errorf("%q: %s", s, why)
			}
		}
	})
}

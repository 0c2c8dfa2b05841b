package actions

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/sethvargo/go-githubactions"
)

// Log is what the step prints for people. On a runner it speaks workflow commands; elsewhere it
// prints plain text. All text goes through Defuse, so only its own methods make commands. It may be
// used by several goroutines at once.
type Log struct {
	actions bool // on a runner
	colour  bool
	debug   bool
	random  io.Reader

	mu       sync.Mutex
	w        io.Writer
	grouped  bool
	stopped  int    // depth of Stopped
	token    string // starts the runner's commands again, "" while they run
	counts   [Error + 1]annotationCount
	writeErr error
}

// LogOptions says where a Log prints and what about it is known.
type LogOptions struct {
	// Getenv is asked for GITHUB_ACTIONS, RUNNER_DEBUG, NO_COLOR and TERM.
	Getenv func(string) string
	// Terminal says that the writer is a terminal.
	Terminal bool
	// Random makes the tokens of Stopped.
	Random io.Reader
}

// NewLog returns a Log that prints to w, which on a runner is standard output: the runner reads
// commands there.
func NewLog(w io.Writer, o LogOptions) *Log {
	actions := onActions(o.Getenv)
	return &Log{
		w:       w,
		random:  o.Random,
		actions: actions,
		debug:   o.Getenv("RUNNER_DEBUG") == "1",
		colour:  !actions && o.Terminal && o.Getenv("NO_COLOR") == "" && o.Getenv("TERM") != "dumb",
	}
}

func onActions(getenv func(string) string) bool { return getenv("GITHUB_ACTIONS") == "true" }

// Print prints text, defused, and a newline.
func (l *Log) Print(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(Defuse(text) + "\n")
}

// Printf is Print for formatted text.
func (l *Log) Printf(format string, args ...any) { l.Print(fmt.Sprintf(format, args...)) }

// Debug prints text where debug logging is on.
func (l *Log) Debug(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.actions:
		l.command(githubactions.Command{Name: "debug", Message: Defuse(text)})
	case l.debug:
		l.write("debug: " + Defuse(text) + "\n")
	}
}

// Group starts a part that can be folded away, and ends the one before: the runner does not nest
// them. Elsewhere the title is a line.
func (l *Log) Group(title string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	title = oneLine(title)
	if !l.actions {
		l.write(l.paint(bold, title) + "\n")
		return
	}
	l.endGroup()
	l.command(githubactions.Command{Name: "group", Message: title})
	l.grouped = true
}

// EndGroup ends the part that Group started, if there is one.
func (l *Log) EndGroup() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.endGroup()
}

func (l *Log) endGroup() {
	if l.grouped {
		l.command(githubactions.Command{Name: "endgroup"})
	}
	l.grouped = false
}

// Mask makes the runner print *** for a secret from now on, each line of it. Elsewhere it prints
// nothing, since nobody would take the secret out.
func (l *Log) Mask(secret string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.actions && strings.TrimSpace(secret) != "" {
		l.command(githubactions.Command{Name: "add-mask", Message: secret})
	}
}

// Stopped calls f while the runner reads no commands: a bracket for blocks of text from others, a
// second wall behind Defuse. What f asks of this Log still works, and so does what other goroutines
// ask meanwhile.
func (l *Log) Stopped(f func()) {
	l.stop(+1)
	defer l.stop(-1)
	f()
}

func (l *Log) stop(by int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped += by
	if !l.actions {
		return
	}
	if l.stopped > 0 {
		l.pause()
		return
	}
	l.resume()
}

// pause and resume are asked for by commands too, so that a token is used once: whoever read it in
// the log can do nothing with it.
func (l *Log) pause() {
	if l.token != "" {
		return
	}
	token, err := randomToken(l.random)
	if err != nil {
		l.fail(err)
		return
	}
	l.token = token
	l.write((&githubactions.Command{Name: "stop-commands", Message: token}).String() + "\n")
}

func (l *Log) resume() {
	if l.token == "" {
		return
	}
	l.write((&githubactions.Command{Name: l.token}).String() + "\n")
	l.token = ""
}

// command prints a workflow command. The library's own printing functions end the process with a
// panic when the writer fails, so only its escaping is used.
func (l *Log) command(c githubactions.Command) {
	l.resume()
	l.write(c.String() + "\n")
	if l.stopped > 0 {
		l.pause()
	}
}

// Err returns the first error of the writer or of the source of randomness. A log that can not be
// written stops nothing.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.writeErr
}

func (l *Log) write(s string) {
	if _, err := io.WriteString(l.w, s); err != nil {
		l.fail(fmt.Errorf("write log: %w", err))
	}
}

func (l *Log) fail(err error) {
	if l.writeErr == nil {
		l.writeErr = err
	}
}

// The escape sequences of a terminal that speaks ANSI.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	cyan   = "\x1b[36m"
	reset  = "\x1b[0m"
)

func (l *Log) paint(colour, s string) string {
	if !l.colour {
		return s
	}
	return colour + s + reset
}

// oneLine returns text, defused, with its line breaks as spaces.
func oneLine(text string) string {
	return strings.ReplaceAll(Defuse(text), "\n", " ")
}

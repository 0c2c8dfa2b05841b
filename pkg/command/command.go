// Package command is what recibo does when it is called: one file a verb, the inputs, and the one
// place where an error becomes an exit code.
//
// It holds no mechanism of its own; the floors below do the work.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// World is everything around the program: tests give their own.
type World struct {
	// Args are the arguments after the program's name.
	Args []string
	// Environ is KEY=VALUE, as os.Environ gives it.
	Environ        []string
	Stdout, Stderr io.Writer
	// Dir is the working directory, absolute.
	Dir string
	Now func() time.Time
	// Terminal says that Stdout is one.
	Terminal bool
}

// Process is the World of this process.
func Process() World {
	dir, err := os.Getwd()
	if err != nil {
		dir = string(os.PathSeparator)
	}
	info, err := os.Stdout.Stat()
	return World{
		Args: os.Args[1:], Environ: os.Environ(), Stdout: os.Stdout, Stderr: os.Stderr, Dir: dir,
		Now: time.Now, Terminal: err == nil && info.Mode()&os.ModeCharDevice != 0,
	}
}

// getenv returns the value of the first entry for key, as the operating system does.
func (w World) getenv(key string) string {
	for _, entry := range w.Environ {
		if value, ok := strings.CutPrefix(entry, key+"="); ok {
			return value
		}
	}
	return ""
}

// Exit codes, as the contract lists them.
const (
	exitDone = iota
	exitGate
	exitRequest
	exitReview
	exitBudget
	exitRemote
)

// verb is one thing recibo can do.
type verb struct {
	name, text string
	run        func(ctx context.Context, w World, args []string) error
}

func verbs() []verb {
	return []verb{
		{"review", "Review a pull request with Codex and leave a receipt.", runReview},
		{"demo", "Review a frozen pull request: nothing to set up, no key.", runDemo},
		{"help", "Explain a verb and its inputs.", runHelp},
		{"version", "Print versions and digests.", runVersion},
	}
}

// Main runs the verb that w names and returns the exit code. Without arguments it is the action.
func Main(ctx context.Context, w World) int {
	err := dispatch(ctx, w)
	if err == nil {
		return exitDone
	}
	var told *toldError
	if !errors.As(err, &told) {
		tell(w.Stderr, err)
	}
	return exitCode(err)
}

// toldError wraps an error that the person has already read.
type toldError struct{ error }

func (e *toldError) Unwrap() error { return e.error }

// tell prints one error and the next thing to do.
func tell(w io.Writer, err error) {
	fmt.Fprintf(w, "error: %v\n", err)
	if hint := fault.HintOf(err); hint != "" {
		fmt.Fprintf(w, "hint: %s\n", hint)
	}
}

func exitCode(err error) int {
	switch fault.KindOf(err) {
	case fault.Gate:
		return exitGate
	case fault.Review:
		return exitReview
	case fault.Budget:
		return exitBudget
	case fault.Remote:
		return exitRemote
	}
	return exitRequest
}

func dispatch(ctx context.Context, w World) error {
	name, args := "review", w.Args
	if len(args) > 0 {
		switch first := args[0]; {
		case first == "--help" || first == "-h":
			name, args = "help", args[1:]
		case first == "--version":
			name, args = "version", args[1:]
		case !strings.HasPrefix(first, "-"):
			name, args = first, args[1:]
		}
	}
	all := verbs()
	i := slices.IndexFunc(all, func(v verb) bool { return v.name == name })
	if i < 0 {
		return fault.New(fault.Request, "see `recibo help`", "unknown verb %q%s", name, nearestVerb(name))
	}
	if slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		return runHelp(ctx, w, []string{name})
	}
	return all[i].run(ctx, w, args)
}

func nearestVerb(name string) string {
	for _, v := range verbs() {
		if distance(name, v.name) <= 2 {
			return fmt.Sprintf("; did you mean %q?", v.name)
		}
	}
	return ""
}

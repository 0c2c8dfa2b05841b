// Package codex finds, configures, starts and follows the Codex CLI, and knows how it composes
// what it sends: what request 1 must hold, and by which signs a review can be trusted.
//
// It does not jail the process (a Launcher does), talk to a model (the gateway does), or judge
// findings.
package codex

import (
	"context"
	"io"
)

// Command is one process to start.
type Command struct {
	Path string
	Args []string
	// Env is the whole environment, as KEY=VALUE: nothing is inherited.
	Env []string
	Dir string
	// Stdin is handed over whole and then closed.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Endpoint is the one loopback address, host:port, that the process must be able to reach.
	Endpoint string
	// Read and Write are the directories that the process needs beyond the system's own.
	Read, Write []string
}

// Process is a started Command with everything it started in turn.
type Process interface {
	// Wait returns when the process has ended, its output is read, and nothing of it runs any
	// more. A process that did not exit with 0 is an error.
	Wait() error
	// Kill ends the process and all below it at once. It may be called at any time, also twice.
	Kill()
}

// Launcher starts a Command. When ctx ends, everything started is killed.
type Launcher func(ctx context.Context, c Command) (Process, error)

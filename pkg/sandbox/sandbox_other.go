//go:build !linux

package sandbox

import (
	"context"
	"os"
	"runtime"

	"github.com/recibo-ci/recibo/pkg/fault"
)

// Process is a program in its jail. There is none on this system.
type Process struct{}

// Probe says that there is no jail on this system.
func Probe() Report {
	return Report{
		Level:   None,
		Missing: []string{"jail: " + runtime.GOOS + " has none"},
		UID:     os.Getuid(),
	}
}

// Start always fails.
func Start(context.Context, Policy, Command) (*Process, error) {
	return nil, fault.New(fault.Request, "run in the container, or on Linux", "start a jail: %s has none", runtime.GOOS)
}

// Report is empty.
func (p *Process) Report() Report { return Report{} }

// Wait returns at once.
func (p *Process) Wait() (ExitState, error) { return ExitState{}, nil }

// Kill does nothing.
func (p *Process) Kill() error { return nil }

// IsChild is false: no process is started here.
func IsChild([]string) bool { return false }

// Child returns at once.
func Child() {}

// Harden does nothing.
func Harden() error { return nil }

package artifacttest

import (
	"fmt"
	"sync"
)

// Recorder is a T that fails no test, for tests in which the server is meant to complain.
type Recorder struct {
	mu       sync.Mutex
	errors   []string
	cleanups []func()
}

// Helper does nothing.
func (r *Recorder) Helper() {}

// Errorf remembers the complaint.
func (r *Recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// Cleanup keeps f for Finish.
func (r *Recorder) Cleanup(f func()) { r.cleanups = append(r.cleanups, f) }

// Finish ends the server and returns all complaints.
func (r *Recorder) Finish() []string {
	for _, f := range r.cleanups {
		f()
	}
	r.cleanups = nil
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.errors...)
}

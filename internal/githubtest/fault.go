package githubtest

import (
	"cmp"
	"fmt"
	"slices"
)

// Kind says how a fault shows.
type Kind string

// The kinds of faults.
const (
	// DropBefore closes the connection, and nothing was done.
	DropBefore Kind = "dropped before acting"
	// DropAfter does what was asked, and closes the connection without an answer.
	DropAfter Kind = "dropped after acting"
	// Refuse answers with Status, and nothing was done.
	Refuse Kind = "refused"
	// RefuseAfter does what was asked, and yet answers with Status.
	RefuseAfter Kind = "refused after acting"
	// Limit answers with 403 and a secondary rate limit of RetryAfter; nothing was done.
	Limit Kind = "limited"
	// Stale answers a list as it was before the last change.
	Stale Kind = "stale"
	// Lose does what was asked without the last of a review's comments.
	Lose Kind = "lost a comment"
)

// Fault is something to go wrong.
type Fault struct {
	// Call is what it hits: "viewer", "minimize", "get pull", "list reviews", "create review",
	// "get review", "submit review", "delete review", "update review", "list review comments",
	// "list comments", "edit comment", "get run".
	Call string
	Kind Kind
	// Skip is how many such calls go well first; Times how many then do not, 0 is one.
	Skip, Times int
	// Status is that of Refuse and RefuseAfter; RetryAfter the header of Limit, or of Refuse.
	Status     int
	RetryAfter string
}

// String names the fault in complaints.
func (f *Fault) String() string { return fmt.Sprintf("%s %s", f.Call, f.Kind) }

// Request is one that has come in.
type Request struct {
	// Call is as in Fault, Token the token it came with.
	Call, Token string
	// Acted tells whether what was asked is done, and only the answer not yet given.
	Acted bool
}

// Break adds faults. Those for the same call follow one another.
func (s *Server) Break(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range faults {
		f.Times = cmp.Or(f.Times, 1)
		s.faults = append(s.faults, &f)
	}
}

// OnRequest lets f see every request, before it is acted on and before it is answered. When f
// returns true, the connection is closed there. It may be called by several goroutines at once.
func (s *Server) OnRequest(f func(Request) (drop bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hook = f
}

// meet notes the call and returns the fault that it meets, or nil.
func (s *Server) meet(call string) *Fault {
	s.calls = append(s.calls, call)
	for _, f := range s.faults {
		switch {
		case f.Call != call || f.Times == 0:
		case f.Skip > 0:
			f.Skip--
			return nil
		default:
			f.Times--
			return f
		}
	}
	return nil
}

func (s *Server) left() []*Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.faults), func(f *Fault) bool { return f.Times == 0 })
}

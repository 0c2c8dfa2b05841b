package artifacttest

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
)

// Kind says how a fault shows.
type Kind string

// The kinds of faults.
const (
	// DropBefore closes the connection, and nothing was done.
	DropBefore Kind = "dropped before acting"
	// DropAfter does what was asked, and closes the connection without an answer.
	DropAfter Kind = "dropped after acting"
	// Cut does what was asked, and breaks off in the middle of the answer.
	Cut Kind = "answer cut"
	// Refuse answers with Status, and nothing was done.
	Refuse Kind = "refused"
	// RefuseAfter does what was asked, and yet answers with Status.
	RefuseAfter Kind = "refused after acting"
	// Hang reads the request and never answers, until the client gives up; nothing was done.
	Hang Kind = "hung"
)

// Fault is something to go wrong.
type Fault struct {
	// Call is what it hits: a method of the service by name, PutBlock, PutBlockList or GetBlob.
	Call string
	Kind Kind
	// Skip is how many such calls go well first; Times how many then do not, 0 is one.
	Skip, Times int
	// Status and RetryAfter are answered by Refuse and RefuseAfter, with Message if there is one.
	Status     int
	RetryAfter string
	Message    string
	// Reached is closed by Hang when the request is there; it may be nil.
	Reached chan<- struct{}
}

// String names the fault in complaints.
func (f *Fault) String() string {
	if f.Status != 0 {
		return fmt.Sprintf("%s %s with %d", f.Call, f.Kind, f.Status)
	}
	return f.Call + " " + string(f.Kind)
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

// meet notes the call and returns the fault that it meets, or nil.
func (s *Server) meet(call string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	var out []*Fault
	for _, f := range s.faults {
		if f.Times > 0 {
			out = append(out, f)
		}
	}
	return out
}

// serve lets act answer, unless a fault comes in between.
func (s *Server) serve(call string, w http.ResponseWriter, r *http.Request, act http.HandlerFunc) {
	f := s.meet(call)
	if f == nil {
		act(w, r)
		return
	}
	// A fault that acts has acted before anything is seen of it; what was answered is kept back.
	answer := httptest.NewRecorder()
	switch f.Kind {
	case DropAfter, Cut, RefuseAfter:
		act(answer, r)
	case Refuse, Hang:
		_, _ = io.Copy(io.Discard, r.Body)
	case DropBefore:
	default:
		s.t.Errorf("artifact service: fault of unknown kind %q", f.Kind)
	}
	switch f.Kind {
	case Cut:
		cut(w, answer)
	case Refuse, RefuseAfter:
		f.refuse(w)
		return
	case Hang:
		if f.Reached != nil {
			close(f.Reached)
		}
		<-r.Context().Done()
	}
	panic(http.ErrAbortHandler)
}

func (f *Fault) refuse(w http.ResponseWriter) {
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	w.Header().Set("x-ms-error-code", "Injected")
	twirp(w, f.Status, "injected", f.Message)
}

// cut promises one byte more than it sends, and sends half of what there is.
func cut(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	body := answer.Body.Bytes()
	w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
}

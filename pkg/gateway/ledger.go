package gateway

import (
	"fmt"
	"io"
	"sync"

	"github.com/recibo-ci/recibo/pkg/wire"
)

// ledger writes what became of each request in the order of their numbers, although they may end
// in another.
type ledger struct {
	record  func(wire.Record)
	session *recorder

	mu    sync.Mutex
	last  int // the last number written
	ready map[int]*exchange
}

// done takes a finished exchange and writes every one whose turn it is.
func (l *ledger) done(x *exchange) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ready == nil {
		l.ready = make(map[int]*exchange)
	}
	l.ready[x.rec.N] = x
	for {
		next, ok := l.ready[l.last+1]
		if !ok {
			return
		}
		delete(l.ready, l.last+1)
		l.last++
		l.session.write(next)
		l.record(next.rec)
	}
}

func (l *ledger) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.session.close()
}

// maxKept bounds the bytes of one answer that are kept for the session.
const maxKept = 64 << 20

// recorder writes the session: the exchanges that were sent, numbered on their own.
type recorder struct {
	out    io.Writer
	header wire.Header
	n      int
	opened bool
	err    error
}

func newRecorder(cfg Config) *recorder {
	if cfg.Session == nil {
		return nil
	}
	return &recorder{out: cfg.Session, header: cfg.SessionHeader}
}

// write appends x. A session with a gap would replay as something that never happened, so the
// first exchange that cannot be kept ends it.
func (r *recorder) write(x *exchange) {
	if r == nil || x.reply == nil {
		return
	}
	if r.open(x.rec.Request.Model); r.err != nil {
		return
	}
	r.n++
	if x.reply.left > 0 {
		r.err = fmt.Errorf("write session: answer %d is over %d bytes, the session ends before it", r.n, maxKept)
		return
	}
	line, err := wire.AppendExchange(nil, wire.Exchange{
		N:        r.n,
		Request:  &wire.Sent{Method: "POST", Path: x.rec.Path, Body: x.req.Body},
		Response: wire.NewReply(x.reply.status, x.reply.contentType, x.reply.body, x.reply.cut),
	})
	if err == nil {
		_, err = r.out.Write(line)
	}
	if err != nil {
		r.err = fmt.Errorf("write session: %w", err)
	}
}

func (r *recorder) open(model string) {
	if r.opened {
		return
	}
	r.opened = true
	if r.header.Model == "" {
		r.header.Model = model
	}
	line, err := wire.AppendHeader(nil, r.header)
	if err == nil {
		_, err = r.out.Write(line)
	}
	if err != nil {
		r.err = fmt.Errorf("write session: %w", err)
	}
}

// close returns what kept the session from being whole. A session without an exchange has its
// header all the same.
func (r *recorder) close() error {
	if r == nil {
		return nil
	}
	r.open("")
	return r.err
}

// kept is an answer as it was passed on.
type kept struct {
	status      int
	contentType string
	body        []byte
	// left counts the bytes over maxKept that are not in body.
	left int64
	cut  bool
}

// Write never fails: a file that cannot be whole must not stop an answer.
func (k *kept) Write(p []byte) (int, error) {
	if k.left > 0 || len(k.body)+len(p) > maxKept {
		k.left += int64(len(p))
		k.body = nil
		return len(p), nil
	}
	k.body = append(k.body, p...)
	return len(p), nil
}

package codex

import (
	"bytes"
	"fmt"
)

// Keep is an io.Writer that remembers the first and the last bytes of what is written, whole
// lines where it can, and counts the rest. It never fails and never grows past its two bounds.
type Keep struct {
	// Head and Tail are the bounds in bytes.
	Head, Tail int
	head       []byte
	ring       []byte
	at         int
	total      int64
}

// Write remembers p as far as the bounds allow.
func (k *Keep) Write(p []byte) (int, error) {
	n := len(p)
	k.total += int64(n)
	if room := k.Head - len(k.head); room > 0 {
		take := min(room, len(p))
		k.head = append(k.head, p[:take]...)
		p = p[take:]
	}
	k.push(p)
	return n, nil
}

func (k *Keep) push(p []byte) {
	if len(p) > k.Tail {
		p = p[len(p)-k.Tail:]
	}
	if room := k.Tail - len(k.ring); room > 0 {
		take := min(room, len(p))
		k.ring = append(k.ring, p[:take]...)
		p = p[take:]
	}
	for len(p) > 0 {
		n := copy(k.ring[k.at:], p)
		k.at = (k.at + n) % k.Tail
		p = p[n:]
	}
}

// Total is how many bytes were written.
func (k *Keep) Total() int64 { return k.total }

// Bytes returns what was kept. Where something was left out, a line of JSON between head and
// tail says how many bytes: {"recibo":"left out","bytes":N}.
func (k *Keep) Bytes() []byte {
	tail := append(append([]byte(nil), k.ring[k.at:]...), k.ring[:k.at]...)
	if k.total == int64(len(k.head)+len(tail)) {
		return append(append([]byte(nil), k.head...), tail...)
	}
	head := k.head[:bytes.LastIndexByte(k.head, '\n')+1]
	if i := bytes.IndexByte(tail, '\n'); i >= 0 {
		tail = tail[i+1:]
	}
	left := k.total - int64(len(head)+len(tail))
	out := append([]byte(nil), head...)
	out = fmt.Appendf(out, "{\"recibo\":\"left out\",\"bytes\":%d}\n", left)
	return append(out, tail...)
}

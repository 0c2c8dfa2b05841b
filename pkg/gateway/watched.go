package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// watched is the body of an answer that ends when upstream is silent for too long, or when it
// holds the key.
type watched struct {
	io.ReadCloser
	live *live
	// stopped is the Err of the caller's context, to tell its end from ours.
	stopped func() error
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	// tail are the last bytes of what was read before: the key may lie across two reads.
	tail []byte
	err  error
}

func (b *watched) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	// Only silence of upstream counts, not a reader that takes its time.
	b.timer.Reset(b.live.idle)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if b.holdsKey(p[:n]) {
		b.err = errEchoed
		return 0, b.err
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.explain(err)
	}
	b.err = err
	return n, err
}

// explain keeps the caller's own cancellation as it is.
func (b *watched) explain(err error) error {
	if stopped := b.stopped(); stopped != nil {
		return stopped
	}
	if errors.Is(err, errIdle) || errors.Is(err, context.Canceled) {
		return fmt.Errorf("%w for %v", errIdle, b.live.idle)
	}
	return errors.New(b.live.scrub(err.Error()))
}

// holdsKey looks for the key in p and across its seam with what came before.
func (b *watched) holdsKey(p []byte) bool {
	key := b.live.key
	if len(key) < shortest || len(p) == 0 {
		return false
	}
	seam := append(b.tail, p[:min(len(p), len(key)-1)]...)
	found := bytes.Contains(seam, []byte(key)) || bytes.Contains(p, []byte(key))
	if len(p) >= len(key)-1 {
		seam = append(seam[:0], p[len(p)-(len(key)-1):]...)
	}
	b.tail = seam[max(0, len(seam)-(len(key)-1)):]
	return found
}

func (b *watched) Close() error {
	b.timer.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}

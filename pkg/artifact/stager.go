package artifact

import "slices"

// growMax is how large a block grows by doubling. Most artifacts are smaller; for the others a
// whole block at once leaves less behind.
const growMax = 256 << 10

// stager cuts what is written into blocks of one size and hands them on, in order and one at a
// time, while the next is being filled.
type stager struct {
	size int
	// full hands a block to the goroutine that sends, free hands it back.
	full, free chan []byte
	// done is closed when nothing more is sent; err may be read from then on.
	done  chan struct{}
	err   error
	block []byte
}

// newStager starts the goroutine that calls put; Close waits for its end.
func newStager(size int, put func(block []byte) error) *stager {
	st := &stager{size: size, full: make(chan []byte), free: make(chan []byte, 2), done: make(chan struct{})}
	st.free <- nil
	st.free <- nil
	go func() {
		defer close(st.done)
		for block := range st.full {
			if st.err = put(block); st.err != nil {
				return
			}
			st.free <- block
		}
	}()
	return st
}

// Write returns the error of an earlier block as soon as there is one.
func (st *stager) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		if len(st.block) == 0 {
			if err := st.take(); err != nil {
				return written, err
			}
		}
		n := min(len(p)-written, st.size-len(st.block))
		if len(st.block)+n > growMax {
			st.block = slices.Grow(st.block, st.size-len(st.block))
		}
		st.block = append(st.block, p[written:written+n]...)
		written += n
		if len(st.block) == st.size {
			if err := st.pass(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

func (st *stager) take() error {
	select {
	case b := <-st.free:
		st.block = b[:0]
		return nil
	case <-st.done:
		return st.err
	}
}

func (st *stager) pass() error {
	select {
	case st.full <- st.block:
		st.block = nil
		return nil
	case <-st.done:
		return st.err
	}
}

// Close sends what is left, waits for the end and returns the first error.
func (st *stager) Close() error {
	if len(st.block) > 0 {
		if err := st.pass(); err != nil {
			return err
		}
	}
	close(st.full)
	<-st.done
	return st.err
}

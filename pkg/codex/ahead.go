package codex

import "io"

// Chunks in flight between two stages: enough that neither waits for the other's hiccups.
const (
	aheadChunk  = 256 << 10
	aheadChunks = 16
)

// aheadReader reads from another reader in a goroutine of its own, so that receiving and
// hashing, decompressing, and writing go on at the same time. It is for one goroutine.
type aheadReader struct {
	full chan aheadPiece
	free chan []byte
	stop chan struct{}
	done chan struct{}
	// now is the piece that is being handed out, rest what is left of it.
	now  aheadPiece
	rest []byte
}

// aheadPiece is a chunk and the error that came after it.
type aheadPiece struct {
	data []byte
	err  error
}

// readAhead starts reading r. Close must be called.
func readAhead(r io.Reader) *aheadReader {
	a := &aheadReader{
		full: make(chan aheadPiece, aheadChunks), free: make(chan []byte, aheadChunks),
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	for range aheadChunks {
		a.free <- make([]byte, aheadChunk)
	}
	go a.fill(r)
	return a
}

func (a *aheadReader) fill(r io.Reader) {
	defer close(a.done)
	for {
		select {
		case <-a.stop:
			return
		case buf := <-a.free:
			n, err := fillChunk(r, buf)
			// Never blocks: there are as many places as chunks.
			a.full <- aheadPiece{buf[:n], err}
			if err != nil {
				return
			}
		}
	}
}

// fillChunk is io.ReadFull that hands on the reader's own error: a cut stream must not look like
// an ended one, nor the other way round.
func fillChunk(r io.Reader, buf []byte) (int, error) {
	n := 0
	for n < len(buf) {
		m, err := r.Read(buf[n:])
		n += m
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// Read hands on what was read, and then, again and again, the error that ended it.
func (a *aheadReader) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.now.err != nil {
			return 0, a.now.err
		}
		if a.now.data != nil {
			a.free <- a.now.data[:aheadChunk]
		}
		a.now = <-a.full
		a.rest = a.now.data
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// Close stops reading. It waits for a Read of the underlying reader that is under way.
func (a *aheadReader) Close() error {
	close(a.stop)
	<-a.done
	return nil
}

package capture

import (
	"io"
	"sync"
)

// readAhead reads a stream in a goroutine of its own, a few blocks in advance, so
// that reading, decompressing and analysing run side by side.
type readAhead struct {
	full  chan block
	empty chan []byte
	stop  chan struct{}
	once  sync.Once
	cur   block
	pos   int
}

type block struct {
	buf []byte
	n   int
	err error
}

// Blocks of 1 MiB: small enough for memory, large enough that the hand-over costs nothing.
const (
	aheadBlocks = 4
	aheadBytes  = 1 << 20
)

func newReadAhead(r io.Reader) *readAhead {
	a := &readAhead{full: make(chan block, aheadBlocks), empty: make(chan []byte, aheadBlocks), stop: make(chan struct{})}
	for range aheadBlocks {
		a.empty <- make([]byte, aheadBytes)
	}
	go a.fill(r)
	return a
}

// fill passes on what one Read returns, so that packets of a live stream do not wait
// for a full block.
func (a *readAhead) fill(r io.Reader) {
	defer close(a.full)
	for {
		var buf []byte
		select {
		case buf = <-a.empty:
		case <-a.stop:
			return
		}
		n, err := r.Read(buf)
		select {
		case a.full <- block{buf, n, err}:
		case <-a.stop:
			return
		}
		if err != nil {
			return
		}
	}
}

func (a *readAhead) Read(p []byte) (int, error) {
	for a.pos == a.cur.n {
		if a.cur.err != nil {
			return 0, a.cur.err
		}
		if a.cur.buf != nil {
			a.empty <- a.cur.buf
		}
		b, ok := <-a.full
		if !ok {
			return 0, io.ErrClosedPipe
		}
		a.cur, a.pos = b, 0
	}
	n := copy(p, a.cur.buf[a.pos:a.cur.n])
	a.pos += n
	return n, nil
}

// Close ends the goroutine as soon as its read returns.
func (a *readAhead) Close() error {
	a.once.Do(func() { close(a.stop) })
	return nil
}

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

// Small enough for the caches, large enough that the hand-over costs nothing.
const (
	aheadBlocks = 4
	aheadBytes  = 256 << 10
)

// keepRoom is the room before each block for the end of the one before: a packet
// that lies across both. Longer ones are joined in a buffer of their own.
const keepRoom = 64 << 10

func newReadAhead(r io.Reader) *readAhead {
	a := &readAhead{full: make(chan block, aheadBlocks), empty: make(chan []byte, aheadBlocks), stop: make(chan struct{})}
	for range aheadBlocks {
		a.empty <- make([]byte, keepRoom+aheadBytes)
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
		n, err := r.Read(buf[keepRoom:])
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

// next takes the next block, and gives the one before back.
func (a *readAhead) next() error {
	if a.cur.err != nil {
		return a.cur.err
	}
	if a.cur.buf != nil {
		a.empty <- a.cur.buf
	}
	b, ok := <-a.full
	if !ok {
		return io.ErrClosedPipe
	}
	a.cur, a.pos = b, 0
	return nil
}

// Read reads as io.Reader says.
func (a *readAhead) Read(p []byte) (int, error) {
	for a.pos == a.cur.n {
		if err := a.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, a.cur.buf[keepRoom+a.pos:keepRoom+a.cur.n])
	a.pos += n
	return n, nil
}

// NextBlock hands out the next block as pcapfile.BlockReader says.
func (a *readAhead) NextBlock(keep []byte) ([]byte, error) {
	old := a.cur.buf
	for a.pos == a.cur.n {
		if a.cur.err != nil {
			return keep, a.cur.err
		}
		b, ok := <-a.full
		if !ok {
			return keep, io.ErrClosedPipe
		}
		if a.cur.buf != nil && &a.cur.buf[0] != &old[0] {
			a.empty <- a.cur.buf // an empty block
		}
		a.cur, a.pos = b, 0
	}
	first, end := keepRoom+a.pos-len(keep), keepRoom+a.cur.n
	a.pos = a.cur.n
	var out []byte
	if first >= 0 {
		out = a.cur.buf[first:end]
		copy(out, keep)
	} else {
		out = append(append(make([]byte, 0, len(keep)+a.cur.n), keep...), a.cur.buf[keepRoom:end]...)
	}
	if old != nil && &old[0] != &a.cur.buf[0] {
		a.empty <- old // keep has been copied out of it
	}
	return out, nil
}

// Close ends the goroutine as soon as its read returns.
func (a *readAhead) Close() error {
	a.once.Do(func() { close(a.stop) })
	return nil
}

package capture

import (
	"context"
	"io"
	"sync"
)

// readAhead reads and decompresses a stream in a goroutine of its own, a few blocks in advance, so
// that reading, decompressing and analysing run side by side. It gives up waiting for
// a silent stream when its context is done.
type readAhead struct {
	ctx   context.Context
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

func newReadAhead(ctx context.Context, r io.Reader) *readAhead {
	a := &readAhead{ctx: ctx, full: make(chan block, aheadBlocks), empty: make(chan []byte, aheadBlocks), stop: make(chan struct{})}
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
	plain, done, err := decompress(r)
	if err != nil {
		a.full <- block{err: err}
		return
	}
	defer done()
	for {
		var buf []byte
		select {
		case buf = <-a.empty:
		case <-a.stop:
			return
		}
		n, err := plain.Read(buf[keepRoom:])
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

// wait returns the next block.
func (a *readAhead) wait() (block, error) {
	select {
	case b, ok := <-a.full:
		if !ok {
			return block{}, io.ErrClosedPipe
		}
		return b, nil
	case <-a.ctx.Done():
		return block{}, a.ctx.Err()
	}
}

// Read reads as io.Reader says.
func (a *readAhead) Read(p []byte) (int, error) {
	for a.pos == a.cur.n {
		if a.cur.err != nil {
			return 0, a.cur.err
		}
		b, err := a.wait()
		if err != nil {
			return 0, err
		}
		if a.cur.buf != nil {
			a.empty <- a.cur.buf
		}
		a.cur, a.pos = b, 0
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
		b, err := a.wait()
		if err != nil {
			return keep, err
		}
		if a.cur.buf != nil && !sameBuffer(a.cur.buf, old) {
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
	if old != nil && !sameBuffer(a.cur.buf, old) {
		a.empty <- old // keep has been copied out of it
	}
	return out, nil
}

func sameBuffer(a, b []byte) bool { return len(a) > 0 && len(b) > 0 && &a[0] == &b[0] }

// Close ends the goroutine as soon as its read returns.
func (a *readAhead) Close() error {
	a.once.Do(func() { close(a.stop) })
	return nil
}

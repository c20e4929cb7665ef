package pcapfile

import (
	"errors"
	"io"
)

// BlockReader is a stream that hands out its own buffers, so that a Reader need not
// copy them: for streams that are read ahead.
type BlockReader interface {
	io.Reader
	// NextBlock returns a buffer that begins with keep, the end of the buffer
	// before, and goes on with what comes next in the stream, at least one byte
	// unless there is an error. It may be overwritten at the next call. With an
	// error, the buffer holds what there is: keep, at least.
	NextBlock(keep []byte) ([]byte, error)
}

// windowLen is how much is read at once. A packet that would not fit makes the
// window grow, to maxPacketBlock at most.
const windowLen = 1 << 20

// source is a window on a stream. Slices that peek returns hold until the next
// call of peek or skip.
type source struct {
	r        io.Reader
	blocks   BlockReader // r, if it is one
	buf      []byte
	from, to int   // the unread part of buf
	base     int64 // offset in the stream of buf[0]
	err      error // what r returned at last
}

// offset returns the position of the next unread byte in the stream.
func (s *source) offset() int64 { return s.base + int64(s.from) }

// peek returns the next n bytes without consuming them. With an error, it
// returns the fewer that there are: io.EOF if there are none at all,
// io.ErrUnexpectedEOF if some, or the stream's own error.
func (s *source) peek(n int) ([]byte, error) {
	if s.to-s.from >= n {
		return s.buf[s.from : s.from+n : s.from+n], nil
	}
	s.fill(n)
	have := s.to - s.from
	if have >= n {
		return s.buf[s.from : s.from+n : s.from+n], nil
	}
	rest := s.buf[s.from:s.to]
	switch {
	case !errors.Is(s.err, io.EOF):
		return rest, s.err
	case have == 0:
		return nil, io.EOF
	}
	return rest, io.ErrUnexpectedEOF
}

// fill reads until n bytes are there or the stream ends.
func (s *source) fill(n int) {
	if s.blocks != nil {
		for s.to-s.from < n && s.err == nil {
			s.base += int64(s.from)
			s.buf, s.err = s.blocks.NextBlock(s.buf[s.from:s.to])
			s.from, s.to = 0, len(s.buf)
		}
		return
	}
	if s.from > 0 {
		copy(s.buf, s.buf[s.from:s.to])
		s.base += int64(s.from)
		s.to -= s.from
		s.from = 0
	}
	if len(s.buf) < n {
		b := make([]byte, max(n, windowLen))
		copy(b, s.buf[:s.to])
		s.buf = b
	}
	for empty := 0; s.to < n && s.err == nil; {
		k, err := s.r.Read(s.buf[s.to:])
		s.to += max(0, min(k, len(s.buf)-s.to))
		s.err = err
		if k == 0 && err == nil {
			if empty++; empty == 100 {
				s.err = io.ErrNoProgress
			}
		}
	}
}

// noEOF makes the end of the stream unexpected.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// next consumes n bytes that peek has shown.
func (s *source) next(n int) { s.from += n }

// skip consumes n bytes, however many.
func (s *source) skip(n int64) error {
	for n > 0 {
		if have := int64(s.to - s.from); have > 0 {
			k := min(have, n)
			s.from += int(k)
			n -= k
			continue
		}
		if _, err := s.peek(1); err != nil {
			return err
		}
	}
	return nil
}

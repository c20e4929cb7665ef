// Package capture reads captures of RoCE traffic and says what went wrong in them.
package capture

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"weir/roce/pcapfile"
)

// A Source delivers packets one by one: a file, or an interface.
type Source interface {
	// Next reads the next packet; rec.Data is valid until the next call. It
	// returns io.EOF at the end, a *pcapfile.FormatError where a file is cut or
	// corrupt.
	Next(rec *pcapfile.Record) error
}

// maxZstdMemory bounds what a hostile zstd header can make us allocate. The
// windows that `zstd -19` writes are 8 MiB; --long=27 makes 128 MiB, which is
// refused.
const maxZstdMemory = 64 << 20

// ErrCompression marks a stream whose compression cannot be undone from the start.
var ErrCompression = errors.New("compressed stream is damaged")

// damagedStream is the failure of a decompressor after its start.
type damagedStream struct{ err error }

func (e *damagedStream) Error() string { return "compressed stream is damaged: " + e.err.Error() }
func (e *damagedStream) Unwrap() error { return ErrCompression }

// decompressor marks the errors of a decompressor. A stream that is only cut ends
// in io.ErrUnexpectedEOF, as files do.
type decompressor struct{ r io.Reader }

func (d decompressor) Read(p []byte) (int, error) {
	n, err := d.r.Read(p)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		err = &damagedStream{err}
	}
	return n, err
}

// decompress tells gzip and zstd by their magic numbers and returns the plain
// stream, and a function that frees what it holds.
func decompress(r io.Reader) (io.Reader, func(), error) {
	b := bufio.NewReaderSize(r, 1<<16)
	magic, err := b.Peek(4)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, nil, fmt.Errorf("gzip: %w: %w", ErrCompression, err)
		}
		return decompressor{z}, func() { z.Close() }, nil
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxZstdMemory), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, nil, fmt.Errorf("zstd: %w: %w", ErrCompression, err)
		}
		return decompressor{z}, z.Close, nil
	}
	return b, func() {}, nil
}

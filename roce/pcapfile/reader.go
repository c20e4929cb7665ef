package pcapfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// Reader reads the packets of a pcap or pcapng stream. It holds one window of
// 1 MiB and, for pcapng, a few bytes an interface.
type Reader struct {
	src source
	ng  bool
	err error // sticky
	big bool  // byte order

	// pcap
	link    LinkType
	tsScale int64 // nanoseconds a unit of the fraction

	// pcapng
	interfaces []iface
}

// Magic numbers as they stand in a big-endian file.
const (
	magicMicro = 0xa1b2c3d4
	magicNano  = 0xa1b23c4d
	magicNG    = 0x0a0d0d0a
)

// NewReader reads the file header of r and returns a reader of its packets. The
// format is told by the first four bytes. It returns a *FormatError if they are
// none of a capture's or the header is cut, and r's own error if that fails.
func NewReader(r io.Reader) (*Reader, error) {
	d := &Reader{src: source{r: r}}
	d.src.blocks, _ = r.(BlockReader)
	b, err := d.src.peek(4)
	if err != nil {
		return nil, d.broken(0, err, "a file header")
	}
	switch le, be := binary.LittleEndian.Uint32(b), binary.BigEndian.Uint32(b); {
	case be == magicNG:
		d.ng = true
		if err := d.section(); err != nil {
			return nil, err
		}
		return d, nil
	case le == magicMicro:
		d.tsScale = 1000
	case be == magicMicro:
		d.big, d.tsScale = true, 1000
	case le == magicNano:
		d.tsScale = 1
	case be == magicNano:
		d.big, d.tsScale = true, 1
	default:
		return nil, &FormatError{Offset: 0, Reason: fmt.Sprintf("starts with % x, which is neither pcap (a1b2c3d4, a1b23c4d, either byte order) nor pcapng (0a0d0d0a)", b)}
	}
	b, err = d.src.peek(24)
	if err != nil {
		return nil, d.broken(0, err, "the file header of 24 bytes")
	}
	d.link = LinkType(d.u32(b[20:]))
	d.src.next(24)
	return d, nil
}

// Next reads the next packet into rec. rec.Data is valid until the next call.
// At the end it returns io.EOF; where the file is cut or corrupt, a
// *FormatError with the byte; or the underlying reader's error. Errors are
// final.
func (d *Reader) Next(rec *Record) error {
	if d.err != nil {
		return d.err
	}
	var err error
	if d.ng {
		err = d.nextBlock(rec)
	} else {
		err = d.nextRecord(rec)
	}
	d.err = err
	return err
}

// u16, u32 and u64 read numbers in the byte order of the file.
func (d *Reader) u16(b []byte) uint16 {
	v := binary.LittleEndian.Uint16(b)
	if d.big {
		v = bits.ReverseBytes16(v)
	}
	return v
}

func (d *Reader) u32(b []byte) uint32 {
	v := binary.LittleEndian.Uint32(b)
	if d.big {
		v = bits.ReverseBytes32(v)
	}
	return v
}

func (d *Reader) u64(b []byte) uint64 {
	v := binary.LittleEndian.Uint64(b)
	if d.big {
		v = bits.ReverseBytes64(v)
	}
	return v
}

// Offset returns the byte of the stream at which the next record starts.
func (d *Reader) Offset() int64 { return d.src.offset() }

const recordHeaderLen = 16

func (d *Reader) nextRecord(rec *Record) error {
	at := d.src.offset()
	b, err := d.src.peek(recordHeaderLen)
	if err != nil {
		return d.broken(at, err, "a record header of 16 bytes")
	}
	sec, frac := d.u32(b), d.u32(b[4:])
	capLen, wireLen := d.u32(b[8:]), d.u32(b[12:])
	if capLen > MaxPacket {
		return &FormatError{Offset: at, Reason: fmt.Sprintf("record claims %d captured bytes; a packet has at most %d", capLen, MaxPacket)}
	}
	// Some tools write the length on the wire smaller than what they captured, none
	// writes a fraction of more than a second.
	if int64(frac)*d.tsScale >= 4e9 {
		return &FormatError{Offset: at, Reason: fmt.Sprintf("record claims a time fraction of %d", frac)}
	}
	n := recordHeaderLen + int(capLen)
	if b, err = d.src.peek(n); err != nil {
		return inPacket(d.broken(at, err, fmt.Sprintf("a record of %d bytes", n)))
	}
	d.src.next(n)
	*rec = Record{
		Time: int64(sec)*1e9 + int64(frac)*d.tsScale, Offset: at,
		Data: b[recordHeaderLen:], WireLen: max(int(min(wireLen, 1<<30)), int(capLen)), LinkType: d.link,
	}
	return nil
}

// inPacket marks a cut as one in the middle of a packet.
func inPacket(err error) error {
	if fe, ok := err.(*FormatError); ok && fe.Cut {
		fe.InPacket = true
	}
	return err
}

// broken turns the source's error at offset at into the reader's, when what was
// expected.
func (d *Reader) broken(at int64, err error, what string) error {
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		// A decompressor may say this, too, when its own input is cut.
		have := d.src.base + int64(d.src.to) - at
		return &FormatError{Offset: at, Reason: fmt.Sprintf("the file ends after %d bytes of %s", have, what), Cut: true}
	case errors.Is(err, io.EOF):
		if at == 0 {
			return &FormatError{Offset: 0, Reason: "the file is empty", Cut: true}
		}
		return io.EOF
	}
	return err
}

package pcapfile

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Options of a Writer.
type Options struct {
	LinkType LinkType // zero value: Null; most captures want Ethernet
	// SnapLen cuts packets to this many bytes; 0: MaxPacket.
	SnapLen int
}

// Writer writes a pcap file with nanosecond time stamps, little-endian. It
// makes two writes a packet, so w should be buffered; the buffer's Flush is
// the caller's. It does not allocate after NewWriter.
type Writer struct {
	w    io.Writer
	snap int
	head [24]byte
}

// NewWriter writes the file header to w.
func NewWriter(w io.Writer, o Options) (*Writer, error) {
	if o.SnapLen <= 0 || o.SnapLen > MaxPacket {
		o.SnapLen = MaxPacket
	}
	p := &Writer{w: w, snap: o.SnapLen}
	le := binary.LittleEndian
	le.PutUint32(p.head[0:], magicNano)
	le.PutUint16(p.head[4:], 2) // version 2.4
	le.PutUint16(p.head[6:], 4)
	le.PutUint32(p.head[16:], uint32(o.SnapLen))
	le.PutUint32(p.head[20:], uint32(o.LinkType))
	_, err := w.Write(p.head[:])
	return p, err
}

// Write writes one packet. ns is its time in nanoseconds since 1970, from 0 to
// 2^32 seconds; data its bytes as far as they are known; wireLen its length on the
// wire (0, or less than len(data): len(data)).
func (p *Writer) Write(ns int64, data []byte, wireLen int) error {
	if ns < 0 || ns/1e9 > 0xffffffff {
		return fmt.Errorf("pcapfile: time %d ns is outside the format's range", ns)
	}
	wireLen = max(wireLen, len(data))
	data = data[:min(len(data), p.snap)]
	le, h := binary.LittleEndian, p.head[:recordHeaderLen]
	le.PutUint32(h[0:], uint32(ns/1e9))
	le.PutUint32(h[4:], uint32(ns%1e9))
	le.PutUint32(h[8:], uint32(len(data)))
	le.PutUint32(h[12:], uint32(wireLen))
	if _, err := p.w.Write(h); err != nil {
		return err
	}
	_, err := p.w.Write(data)
	return err
}

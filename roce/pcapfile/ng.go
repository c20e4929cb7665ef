package pcapfile

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Block types of pcapng.
const (
	blockInterface = 1
	blockPacketOld = 2
	blockSimple    = 3
	blockEnhanced  = 6
	blockSection   = magicNG

	byteOrderMagic = 0x1a2b3c4d
)

// iface is what a packet needs of its interface description.
type iface struct {
	link    LinkType
	snapLen uint32
	res     uint8 // if_tsresol: 10^-n, or 2^-n with the high bit set
	offset  int64 // if_tsoffset, seconds
}

// section reads a section header block; its first four bytes are the same in
// both byte orders.
func (d *Reader) section() error {
	at := d.src.offset()
	b, err := d.src.peek(28)
	if err != nil {
		return d.broken(at, err, "a section header of 28 bytes")
	}
	switch {
	case binary.LittleEndian.Uint32(b[8:]) == byteOrderMagic:
		d.big = false
	case binary.BigEndian.Uint32(b[8:]) == byteOrderMagic:
		d.big = true
	default:
		return &FormatError{Offset: at, Reason: fmt.Sprintf("section header with byte order mark % x", b[8:12])}
	}
	if major := d.u16(b[12:]); major != 1 {
		return &FormatError{Offset: at, Reason: fmt.Sprintf("pcapng version %d; version 1 is known", major)}
	}
	n := d.u32(b[4:])
	if n < 28 || n%4 != 0 {
		return badLength(at, n)
	}
	d.interfaces = d.interfaces[:0]
	if err := d.src.skip(int64(n)); err != nil {
		return d.broken(at, noEOF(err), fmt.Sprintf("a section header of %d bytes", n))
	}
	return nil
}

func badLength(at int64, n uint32) error {
	return &FormatError{Offset: at, Reason: fmt.Sprintf("block claims a length of %d", n)}
}

// nextBlock goes on to the next block with a packet.
func (d *Reader) nextBlock(rec *Record) error {
	for {
		at := d.src.offset()
		b, err := d.src.peek(12)
		if err != nil {
			return d.broken(at, err, "a block header of 12 bytes")
		}
		kind, n := d.u32(b), d.u32(b[4:])
		if binary.BigEndian.Uint32(b) == blockSection {
			if err := d.section(); err != nil {
				return err
			}
			continue
		}
		if n < 12 || n%4 != 0 {
			return badLength(at, n)
		}
		switch kind {
		case blockInterface, blockEnhanced, blockSimple, blockPacketOld:
		default:
			if err := d.src.skip(int64(n)); err != nil {
				return d.broken(at, noEOF(err), fmt.Sprintf("a block of %d bytes", n))
			}
			continue
		}
		if n > maxPacketBlock {
			return &FormatError{Offset: at, Reason: fmt.Sprintf("block claims %d bytes; a packet has at most %d", n, MaxPacket)}
		}
		if b, err = d.src.peek(int(n)); err != nil {
			err = d.broken(at, err, fmt.Sprintf("a block of %d bytes", n))
			if kind != blockInterface {
				err = inPacket(err)
			}
			return err
		}
		if tail := d.u32(b[n-4:]); tail != n {
			return &FormatError{Offset: at, Reason: fmt.Sprintf("block of %d bytes ends with length %d", n, tail)}
		}
		d.src.next(int(n))
		if kind == blockInterface {
			if err := d.addInterface(at, b[8:n-4]); err != nil {
				return err
			}
			continue
		}
		return d.packet(kind, at, b[8:n-4], rec)
	}
}

// addInterface reads an interface description block.
func (d *Reader) addInterface(at int64, b []byte) error {
	if len(b) < 8 {
		return &FormatError{Offset: at, Reason: "interface description without its fields"}
	}
	if len(d.interfaces) == maxInterfaces {
		return &FormatError{Offset: at, Reason: fmt.Sprintf("more than %d interfaces", maxInterfaces)}
	}
	f := iface{link: LinkType(d.u16(b)), snapLen: d.u32(b[4:]), res: 6}
	for o := b[8:]; len(o) >= 4; {
		code, n := d.u16(o), int(d.u16(o[2:]))
		if code == 0 || 4+n > len(o) {
			break
		}
		switch v := o[4 : 4+n]; {
		case code == 9 && n == 1:
			f.res = v[0]
		case code == 14 && n == 8:
			f.offset = int64(d.u64(v))
		}
		o = o[min(len(o), 4+(n+3)&^3):]
	}
	if exp := f.res & 0x7f; f.res&0x80 == 0 && exp > 18 || exp > 63 {
		return &FormatError{Offset: at, Reason: fmt.Sprintf("interface with time resolution code %#x", f.res)}
	}
	d.interfaces = append(d.interfaces, f)
	return nil
}

// packet reads the body b of a packet block.
func (d *Reader) packet(kind uint32, at int64, b []byte, rec *Record) error {
	head := 20
	if kind == blockSimple {
		head = 4
	}
	if len(b) < head {
		return &FormatError{Offset: at, Reason: "packet block without its fields"}
	}
	var id, capLen, wireLen uint32
	switch kind {
	case blockEnhanced:
		id = d.u32(b)
		capLen, wireLen = d.u32(b[12:]), d.u32(b[16:])
	case blockPacketOld:
		id = uint32(d.u16(b))
		capLen, wireLen = d.u32(b[12:]), d.u32(b[16:])
	default:
		wireLen = d.u32(b)
		capLen = min(wireLen, uint32(len(b)-head))
	}
	if int64(id) >= int64(len(d.interfaces)) {
		return &FormatError{Offset: at, Reason: fmt.Sprintf("packet of interface %d; %d are described", id, len(d.interfaces))}
	}
	f := &d.interfaces[id]
	if kind == blockSimple && f.snapLen > 0 {
		capLen = min(capLen, f.snapLen)
	}
	if int64(capLen) > int64(len(b)-head) {
		return &FormatError{Offset: at, Reason: fmt.Sprintf("packet claims %d captured bytes in a block that has room for %d", capLen, len(b)-head)}
	}
	*rec = Record{
		Offset: at, Data: b[head : head+int(capLen)], WireLen: max(int(min(wireLen, 1<<30)), int(capLen)),
		LinkType: f.link, Interface: id,
	}
	if kind != blockSimple {
		rec.Time = f.nanoseconds(uint64(d.u32(b[4:]))<<32 | uint64(d.u32(b[8:])))
	}
	return nil
}

var pow10 = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9}

// nanoseconds converts a time stamp of the interface's resolution. Stamps beyond
// the range of int64 wrap: they mean nothing.
func (f *iface) nanoseconds(ts uint64) int64 {
	exp := f.res & 0x7f
	var ns uint64
	switch {
	case f.res&0x80 != 0:
		hi, lo := bits.Mul64(ts, 1e9)
		ns = lo>>exp | hi<<(64-exp)
		if exp == 0 {
			ns = lo
		}
	case exp <= 9:
		ns = ts * pow10[9-exp]
	default:
		ns = ts / pow10[exp-9]
	}
	return int64(ns) + f.offset*1e9
}

package rnic

import (
	"encoding/binary"
	"net/netip"

	"weir/roce"
)

// Limits of a batch of datagrams on their way out.
const (
	maxSends    = 64    // datagrams, or trains of segments
	maxSegments = 64    // of a train; kernels take 64 at least (UDP_MAX_SEGMENTS)
	maxTrain    = 65000 // bytes of a train: below the largest UDP payload
	maxDatagram = roce.BTHLen + 32 + 4096 + roce.ICRCLen
)

// batch collects datagrams, from their BTH to their ICRC, for one system call.
type batch struct {
	arena []byte
	used  int
	sends []send
}

// send is one datagram, or a train of datagrams of one size (the last may be
// shorter) that the kernel separates.
type send struct {
	path     *path
	tc       uint8
	from, to int // in the arena
	seg      int // bytes of a segment
	n        int // segments
}

// init makes room for size bytes.
func (b *batch) init(size int) {
	b.arena = make([]byte, size)
	b.sends = make([]send, 0, maxSends)
}

func (b *batch) reset() { b.used, b.sends = 0, b.sends[:0] }

// room reports whether another datagram fits for certain.
func (b *batch) room() bool {
	return len(b.sends) < maxSends && b.used+maxDatagram <= len(b.arena)
}

// add makes room for a datagram of n bytes, and returns it with the IPv4
// identification that it will have.
func (b *batch) add(p *path, tc uint8, n int) ([]byte, uint16) {
	from := b.used
	b.used += n
	buf := b.arena[from:b.used]
	if k := len(b.sends); k > 0 && p.gso {
		s := &b.sends[k-1]
		if s.path == p && s.tc == tc && s.n < maxSegments && n <= s.seg && (s.to-s.from) == s.n*s.seg && b.used-s.from <= maxTrain {
			s.to = b.used
			s.n++
			return buf, uint16(s.n - 1)
		}
	}
	b.sends = append(b.sends, send{path: p, tc: tc, from: from, to: b.used, seg: n, n: 1})
	return buf, 0
}

// path is the way to a peer: addresses, ports, and the network and UDP headers
// that packets there will have, for their ICRC.
type path struct {
	dst     netip.Addr
	srcPort uint16
	gso     bool
	head    [roce.IPv6Len + roce.UDPLen]byte
	headLen int
	sender  *sender // of a socket
}

type pathKey struct {
	dst  netip.Addr
	port uint16
}

// pathTo makes the path of a connection, or finds that of datagrams to a destination.
func (d *Device) pathTo(dst netip.Addr, settings Path, local, remote roce.QPN) (*path, error) {
	dst = dst.Unmap().WithZone("")
	if !dst.IsValid() || dst.Is4() != d.addr.Is4() {
		return nil, roce.ErrBadAddress
	}
	port := settings.SourcePort
	if port == 0 {
		port = roce.SourcePortQPs(local, remote)
	}
	key := pathKey{dst, port}
	if p := d.paths[key]; p != nil {
		return p, nil
	}
	p := &path{dst: dst, srcPort: port, gso: d.gso}
	if d.io != nil {
		if err := d.io.sender(p); err != nil {
			return nil, err
		}
	}
	p.makeHead(d.addr)
	const most = 8192 // paths are remembered as a convenience; beyond that, anew
	if len(d.paths) >= most {
		clear(d.paths)
	}
	d.paths[key] = p
	return p, nil
}

func (p *path) makeHead(src netip.Addr) {
	udp := roce.UDP{SrcPort: p.srcPort, DstPort: roce.Port}
	if src.Is4() {
		ip := roce.IPv4{TTL: 64, Protocol: 17, Flags: roce.DontFragment, Src: src.As4(), Dst: p.dst.As4()}
		ip.Put(p.head[:])
		p.headLen = roce.IPv4Len + roce.UDPLen
	} else {
		ip := roce.IPv6{HopLimit: 64, NextHeader: 17, Src: src.As16(), Dst: p.dst.As16()}
		ip.Put(p.head[:])
		p.headLen = roce.IPv6Len + roce.UDPLen
	}
	udp.Put(p.head[p.headLen-roce.UDPLen:])
}

// header returns the network and UDP headers of a datagram of n bytes.
func (p *path) header(n int, id uint16) []byte {
	h := p.head[:p.headLen]
	if p.headLen == roce.IPv4Len+roce.UDPLen {
		binary.BigEndian.PutUint16(h[2:], uint16(n+p.headLen))
		binary.BigEndian.PutUint16(h[4:], id)
	} else {
		binary.BigEndian.PutUint16(h[4:], uint16(n+roce.UDPLen))
	}
	binary.BigEndian.PutUint16(h[p.headLen-roce.UDPLen+4:], uint16(n+roce.UDPLen))
	return h
}

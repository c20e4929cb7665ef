// Package probe finds out what a path does to RoCEv2 packets: whether UDP port
// 4791 passes in both directions, whether DSCP and ECN, addresses and ports
// arrive as they were sent, how large a frame may be, what is lost on which
// source port, how long a round trip takes, and which ways the packets go.
//
// Probes are RoCEv2 datagrams with a right ICRC to a queue pair that no adapter
// has, so hardware drops them without a word. A responder (Server) answers them
// and tells over a TCP connection what arrived, so that silence can be placed:
// a probe that came and whose answer did not is another fault than one that did
// not come.
package probe

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"time"

	"weir/roce"
)

// destQP is the queue pair that probes name, and qkey their queue key.
const (
	destQP roce.QPN = 0xfffff7
	qkey   uint32   = 0x70726f62
)

// magic begins the payload of a probe.
const magic = 0x7765697270726231 // "weirprb1"

// payloadLen is the least payload of a probe.
const payloadLen = 80

// overhead is what stands around the payload in a datagram: BTH, DETH, ICRC.
const overhead = roce.BTHLen + roce.DETHLen + roce.ICRCLen

// probe is the content of a probe or of its answer.
type probePacket struct {
	Reply     bool
	Run       uint64 // which prober
	Seq       uint32
	Port      uint16 // UDP source port as sent
	Class     uint8  // traffic class as sent
	ReplySize uint16 // bytes of datagram that the answer shall have; 0: the least
	Sent      int64  // prober's clock, ns

	// Of an answer: the probe as it arrived.
	SeenAddr  netip.Addr
	SeenPort  uint16
	SeenClass uint8
	SeenTTL   uint8
	SeenSize  uint16
	Held      time.Duration // from arrival to answer
}

var errNotProbe = errors.New("not a probe")

// encode writes the datagram, of size bytes at least (a multiple of four), from
// its BTH to its ICRC, as it goes from src to dst with the given UDP source port.
func (p *probePacket) encode(src, dst netip.Addr, port uint16, size int) []byte {
	payload := max(payloadLen, (size-overhead+3)&^3)
	b := make([]byte, overhead+payload)
	(&roce.BTH{Opcode: roce.UDSendOnly, PKey: 0xffff, DestQP: destQP, PSN: roce.PSN(p.Seq & roce.PSNMask), MigReq: true}).Put(b)
	(&roce.DETH{QKey: qkey, SrcQP: destQP}).Put(b[roce.BTHLen:])
	be, c := binary.BigEndian, b[roce.BTHLen+roce.DETHLen:]
	be.PutUint64(c, magic)
	if p.Reply {
		c[8] = 1
	}
	c[9] = p.Class
	be.PutUint16(c[10:], p.Port)
	be.PutUint32(c[12:], p.Seq)
	be.PutUint64(c[16:], p.Run)
	be.PutUint64(c[24:], uint64(p.Sent))
	be.PutUint16(c[32:], p.ReplySize)
	be.PutUint16(c[34:], p.SeenPort)
	c[36], c[37] = p.SeenClass, p.SeenTTL
	be.PutUint16(c[38:], p.SeenSize)
	be.PutUint64(c[40:], uint64(p.Held))
	g := roce.GIDFromAddr(p.SeenAddr)
	copy(c[48:], g[:])
	icrc, _ := roce.ICRCParts(headers(src, dst, port, len(b)), b[:len(b)-roce.ICRCLen])
	binary.LittleEndian.PutUint32(b[len(b)-roce.ICRCLen:], icrc)
	return b
}

// decodeProbe reads a datagram.
func decodeProbe(b []byte) (p probePacket, err error) {
	var h roce.BTH
	if len(b) < overhead+payloadLen || h.Decode(b) != nil || h.Opcode != roce.UDSendOnly || h.DestQP != destQP {
		return p, errNotProbe
	}
	be, c := binary.BigEndian, b[roce.BTHLen+roce.DETHLen:]
	if be.Uint64(c) != magic {
		return p, errNotProbe
	}
	p.Reply = c[8] == 1
	p.Class, p.Port, p.Seq, p.Run = c[9], be.Uint16(c[10:]), be.Uint32(c[12:]), be.Uint64(c[16:])
	p.Sent, p.ReplySize = int64(be.Uint64(c[24:])), be.Uint16(c[32:])
	p.SeenPort, p.SeenClass, p.SeenTTL, p.SeenSize = be.Uint16(c[34:]), c[36], c[37], be.Uint16(c[38:])
	p.Held = time.Duration(be.Uint64(c[40:]))
	if g := roce.GID(c[48:64]); !g.IsZero() {
		p.SeenAddr = g.Addr()
	}
	return p, nil
}

// headers returns the network and UDP headers that the ICRC covers.
func headers(src, dst netip.Addr, port uint16, n int) []byte {
	udp := roce.UDP{SrcPort: port, DstPort: roce.Port, Length: uint16(n + roce.UDPLen)}
	if dst.Is4() {
		b := make([]byte, roce.IPv4Len+roce.UDPLen)
		ip := roce.IPv4{Protocol: 17, Flags: roce.DontFragment, TotalLen: uint16(n + len(b)), Src: src.As4(), Dst: dst.As4()}
		ip.Put(b)
		udp.Put(b[roce.IPv4Len:])
		return b
	}
	b := make([]byte, roce.IPv6Len+roce.UDPLen)
	ip := roce.IPv6{NextHeader: 17, PayloadLen: udp.Length, Src: src.As16(), Dst: dst.As16()}
	ip.Put(b)
	udp.Put(b[roce.IPv6Len:])
	return b
}

// wireSize returns the largest datagram of a path MTU: WRITE ONLY with immediate.
func wireSize(mtu int) int { return roce.BTHLen + roce.RETHLen + roce.ImmDtLen + mtu + roce.ICRCLen }

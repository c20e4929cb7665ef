package capture

import (
	"encoding/binary"

	"weir/rc"
	"weir/roce"
	"weir/units"
)

// Kind tells what the packets of a row are to their destination queue pair.
type Kind uint8

// The kinds. Datagrams and unreliable connections have requests only.
const (
	Request Kind = iota
	Response
	Notification // CNP
)

// String returns "request", "response" or "cnp".
func (k Kind) String() string { return [...]string{"request", "response", "cnp"}[min(k, Notification)] }

func kindOf(op roce.Opcode) Kind {
	switch {
	case op == roce.CNP:
		return Notification
	case op.IsResponse():
		return Response
	}
	return Request
}

// flowKey names the packets that one address sends to one queue pair of another.
type flowKey struct {
	src, dst roce.GID
	qpn      roce.QPN
	v1       bool
}

// A flow is what one address sends to one queue pair of another, by kind, and,
// if there are requests of a connection among it, what is known of that.
type flow struct {
	flowKey
	streams [3]*stream
	conn    *conn
	// peer is the flow that comes back: its responses answer this flow's
	// requests, and its CNPs slow them down. nil as long as it is not known.
	peer *flow
	// guess counts the responses that could not be told to belong to one flow.
	guess int
}

// portCount is how many source ports a stream remembers.
const portCount = 8

// A stream is one row: packets of one kind in one flow.
type stream struct {
	packets, bytes uint64
	messages       uint64
	repeated       uint64 // READ responses whose PSN was seen before
	naks, rnrs     uint64
	wrong          uint64 // ICRC
	unchecked      uint64
	ecn            [4]uint64
	firstPSN       roce.PSN
	lastPSN        roce.PSN
	firstPacket    uint64
	lastPacket     uint64
	firstAt        units.Time
	lastAt         units.Time
	psns           psnSet
	inexact        bool // psns had no room
	nports         uint8
	ndscp          uint8
	morePorts      bool
	ports          [portCount]uint16
	dscp           [4]uint8
	dscpPackets    [4]uint64
}

func (s *stream) addPort(port uint16) {
	for _, p := range s.ports[:s.nports] {
		if p == port {
			return
		}
	}
	if s.nports == portCount {
		s.morePorts = true
		return
	}
	s.ports[s.nports] = port
	s.nports++
}

// addDSCP counts a DSCP; the fifth and later ones count with the fourth.
func (s *stream) addDSCP(v uint8) {
	for i, d := range s.dscp[:s.ndscp] {
		if d == v {
			s.dscpPackets[i]++
			return
		}
	}
	if int(s.ndscp) == len(s.dscp) {
		s.dscpPackets[len(s.dscp)-1]++
		return
	}
	s.dscp[s.ndscp] = v
	s.dscpPackets[s.ndscp]++
	s.ndscp++
}

// Bounds of what a capture can make an analyser hold: together below 150 MB.
const (
	maxFlows   = 1 << 15
	maxDetails = 1 << 13 // connections with latencies and curves
	maxPages   = 1 << 16 // of PSN sets, 512 bytes each
)

// pair is what is known of two addresses, in one direction.
type pair struct {
	flows []*flow
	mtu   uint32 // path MTU that some connection showed; 0: none yet
}

type pairKey struct {
	src, dst roce.GID
	v1       bool
}

// flowTable finds flows by key. A small cache before the map takes nearly all
// lookups.
type flowTable struct {
	cache [256]*flow
	flows map[flowKey]*flow
	order []*flow
	pairs map[pairKey]*pair
}

func newFlowTable() flowTable {
	return flowTable{flows: map[flowKey]*flow{}, pairs: map[pairKey]*pair{}}
}

// get returns the flow of a packet, made if it is new; nil if there are too many.
func (t *flowTable) get(k *flowKey) *flow {
	h := uint64(k.qpn)*0x9e3779b97f4a7c15 ^ binary.LittleEndian.Uint64(k.src[8:])*0xff51afd7ed558ccd ^ binary.LittleEndian.Uint64(k.dst[8:])
	slot := &t.cache[(h^h>>32)>>8%uint64(len(t.cache))]
	if f := *slot; f != nil && f.flowKey == *k {
		return f
	}
	f := t.flows[*k]
	if f == nil {
		if len(t.order) == maxFlows {
			return nil
		}
		f = &flow{flowKey: *k}
		t.flows[*k] = f
		t.order = append(t.order, f)
		pk := pairKey{k.src, k.dst, k.v1}
		p := t.pairs[pk]
		if p == nil {
			p = &pair{}
			t.pairs[pk] = p
		}
		p.flows = append(p.flows, f)
	}
	*slot = f
	return f
}

// reverse returns what flows against f between the same addresses; nil if nothing does.
func (t *flowTable) reverse(f *flow) *pair { return t.pairs[pairKey{f.dst, f.src, f.v1}] }

// between returns what flows as f does.
func (t *flowTable) between(f *flow) *pair { return t.pairs[pairKey{f.src, f.dst, f.v1}] }

// descriptor makes what package rc needs of a packet. Unreliable connections have
// the opcodes of reliable ones in a space of their own, and the same sequence.
func descriptor(p *roce.Packet) rc.Packet {
	d := rc.Packet{PSN: p.BTH.PSN, Op: p.BTH.Opcode & 0x1f, Bytes: uint32(p.PayloadLen)}
	if p.Has&roce.HasAETH != 0 {
		d.MSN, d.Syndrome = p.AETH.MSN, p.AETH.Syndrome
	}
	if p.BTH.Opcode == roce.RCReadRequest {
		d.Bytes = p.RETH.Length
	}
	if p.BTH.AckReq {
		d.Flags = rc.AckRequest
	}
	return d
}

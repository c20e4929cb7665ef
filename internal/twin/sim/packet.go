package sim

import (
	"weir/rc"
	"weir/units"
)

// A packet in the fabric. It takes one cache line; lists of packets are chains
// of indexes, 0 ends a chain.
type packet struct {
	rc.Packet
	qp uint32

	// at is when a response that waits in its NIC may leave, and when a pause
	// frame has come in at the far end of its link.
	at units.Time

	next    uint32          // in the list that it is in, if any: see fifo
	bytes   uint32          // of the frame, with FCS; of a pause, its quanta
	out     [maxHops]uint16 // as in its route
	paths   uint32          // among how many the switches passed have chosen, when sprayed
	attempt uint16          // rounds of retransmission of the queue pair before it
	hop     uint8           // switches passed
	kind    packetKind
	prio    uint8
	flags   packetFlags
}

// route returns the index of the packet's route in Sim.routes.
func (p *packet) route() uint32 {
	if p.kind == dataPacket || p.kind == segmentPacket {
		return 2 * p.qp
	}
	return 2*p.qp + 1
}

type packetKind uint8

const (
	dataPacket packetKind = iota
	ackPacket
	cnpPacket
	pausePacket
	segmentPacket // of TCP, with data
	answerPacket  // of TCP, without
)

type packetFlags uint8

const (
	marked packetFlags = 1 << iota // congestion experienced
)

// A pool holds packets by index. Index 0 is no packet.
type pool struct {
	all  []packet
	free uint32
	used int
}

func newPool(n int) pool { return pool{all: make([]packet, 1, n+1)} }

// get returns a packet whose fields are stale.
func (p *pool) get() uint32 {
	p.used++
	if i := p.free; i != 0 {
		p.free = p.all[i].next
		return i
	}
	p.all = append(p.all, packet{})
	return uint32(len(p.all) - 1)
}

func (p *pool) put(i uint32) {
	p.used--
	p.all[i].next = p.free
	p.free = i
}

// A fifo is a chain of packets with both ends.
type fifo struct{ head, tail uint32 }

func (f *fifo) push(all []packet, i uint32) {
	all[i].next = 0
	if f.head == 0 {
		f.head = i
	} else {
		all[f.tail].next = i
	}
	f.tail = i
}

func (f *fifo) pop(all []packet) uint32 {
	i := f.head
	f.head = all[i].next
	return i
}

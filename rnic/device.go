package rnic

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"sync"

	"weir/dcqcn"
	"weir/roce"
	"weir/units"
)

// Config says how to open a device.
type Config struct {
	Addr netip.Addr // local address, IPv4 or IPv6; required
	// Congestion are DCQCN's settings. With Enabled, packets with CE are
	// answered with CNPs and CNPs slow queue pairs down.
	Congestion dcqcn.Params
	// CNPTrafficClass are DSCP and ECN of CNPs; 0: DSCP 48 with ECT(0).
	CNPTrafficClass uint8
	// Segmentation lets the kernel cut large sends into packets (UDP GSO). Their
	// IPv4 identifications count up then, which peers in hardware would have to
	// see exactly as the ICRC says; use it between peers of this package.
	Segmentation bool
	// RawReceive reads packets with their IPv4 headers from a raw socket, so
	// that every ICRC is checked in full. It needs CAP_NET_RAW. On interfaces
	// that leave segmentation to their receivers (loopback, veth) it is not for
	// peers with Segmentation, whose trains come unseparated.
	RawReceive bool
	// ReceiveBuffer is the size of the socket's receive buffer in bytes; 0: 8 MiB.
	// The kernel may grant less; see Device.ReceiveBuffer.
	ReceiveBuffer int
	// Rand picks keys, queue pair numbers and PSNs; nil: seeded by the system.
	Rand *rand.Rand
}

// Device is one port of the software adapter.
type Device struct {
	mu         sync.Mutex
	addr       netip.Addr
	now        func() units.Time // since the device was opened
	rnd        *rand.Rand
	congestion dcqcn.Params
	cnpClass   uint8
	gso        bool

	qps      [MaxQPs]*QP
	lastSlot int
	regions  []*MR
	nextBase uint64
	paths    map[pathKey]*path // of datagrams

	ready     [MaxQPs]*QP // ring of queue pairs with something to send
	readyHead int
	readyLen  int
	timed     []*QP      // queue pairs that wait for a time
	check     units.Time // no deadline of timed before

	tx       batch
	pkt      roce.Packet // scratch of receive and transmit
	tags     icrcBases
	counters Counters

	io     *socket // nil on a Fabric
	fabric *Fabric
	asleep bool // io waits, and has to be woken for new work
	closed bool
	done   chan struct{}
}

// Counters count what happened on a device since it was opened.
type Counters struct {
	SentPackets, SentBytes         uint64 // bytes from the BTH to the ICRC
	ReceivedPackets, ReceivedBytes uint64
	Retransmitted                  uint64 // packets sent again
	Duplicates                     uint64 // requests that had arrived before (duplicate_request)
	OutOfSequence                  uint64 // requests ahead of the expected one (out_of_sequence)
	SequenceNAKs                   uint64 // received (packet_seq_err)
	ImpliedNAKs                    uint64 // answers that were passed over (implied_nak_seq_err)
	RNRNAKs                        uint64 // received
	Timeouts                       uint64 // local_ack_timeout_err
	CEMarked                       uint64 // packets with CE received (np_ecn_marked_roce_packets)
	CNPSent, CNPHandled            uint64 // np_cnp_sent, rp_cnp_handled

	// Packets without effect.
	Malformed   uint64 // no transport header, unknown opcode, lengths that contradict
	BadICRC     uint64
	ICRCLoose   uint64 // IPv4 with unknown identification: held against all of them, see the package's comment
	UnknownQP   uint64 // no such queue pair, or not one for this opcode
	WrongSource uint64 // not from the peer's address
	BadQKey     uint64
	BadPKey     uint64
	NotReady    uint64 // queue pair not connected, or in error
	NoBuffer    uint64 // UC and UD messages without a receive request
	Dropped     uint64 // UC messages that lost a packet, UD messages that were too long

	RefusedAccess  uint64 // requests with a bad key, bound or right (NAK 0x62)
	RefusedRequest uint64 // invalid requests (NAK 0x61)
	SendErrors     uint64 // datagrams that the kernel refused to send
}

// Counters returns the counters.
func (d *Device) Counters() Counters {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counters
}

// Addr returns the local address, and GID the same as a GID.
func (d *Device) Addr() netip.Addr { return d.addr }

// GID returns the address as a GID.
func (d *Device) GID() roce.GID { return roce.GIDFromAddr(d.addr) }

// newDevice makes a device without input and output.
func newDevice(c *Config) (*Device, error) {
	if !c.Addr.IsValid() {
		return nil, errors.New("rnic: a device needs a local address")
	}
	if c.Congestion.Enabled && c.Congestion.LineRate <= 0 {
		return nil, fmt.Errorf("rnic: congestion control needs a line rate, not %d", c.Congestion.LineRate)
	}
	d := &Device{
		addr: c.Addr.Unmap(), rnd: c.Rand, congestion: c.Congestion, cnpClass: c.CNPTrafficClass,
		paths: map[pathKey]*path{}, check: units.Never, done: make(chan struct{}),
	}
	if d.rnd == nil {
		d.rnd = rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	}
	if d.congestion.LineRate <= 0 {
		d.congestion.LineRate = units.Gbps
	}
	if d.cnpClass == 0 {
		d.cnpClass = 48<<2 | uint8(roce.ECT0)
	}
	return d, nil
}

// Close closes the device: its queue pairs end, waiting goroutines return.
func (d *Device) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	for _, q := range d.qps {
		if q != nil {
			d.fail(q, Flushed, Flushed)
		}
	}
	close(d.done)
	d.mu.Unlock()
	if d.io != nil {
		return d.io.close()
	}
	delete(d.fabric.devices, d.addr)
	return nil
}

// wake makes the device look for new work.
func (d *Device) wake() {
	if d.io != nil {
		d.io.wake()
	}
}

// freeQP returns a free slot: the one longest unused, as far as that is simple.
func (d *Device) freeQP() int {
	for range MaxQPs {
		d.lastSlot = (d.lastSlot + 1) & (MaxQPs - 1)
		if d.qps[d.lastSlot] == nil {
			return d.lastSlot
		}
	}
	return -1
}

// activate puts a queue pair on the list of those with something to send.
func (d *Device) activate(q *QP) {
	if q.queued {
		return
	}
	q.queued = true
	d.ready[(d.readyHead+d.readyLen)&(MaxQPs-1)] = q
	d.readyLen++
}

// timeFor notes that the queue pair waits for a time.
func (d *Device) timeFor(q *QP) {
	at := q.deadline()
	if at == units.Never {
		return
	}
	d.check = min(d.check, at)
	if !q.timed {
		q.timed = true
		d.timed = append(d.timed, q)
	}
}

// deadline returns when something is due without a packet.
func (q *QP) deadline() units.Time {
	at := q.req.Deadline()
	if q.paced {
		at = min(at, q.paceAt)
	}
	return at
}

// expire deals with the deadlines that have passed. Deadlines move on with
// every acknowledgement, so check is only a lower bound of them.
func (d *Device) expire(now units.Time) {
	if now < d.check {
		return
	}
	d.check = units.Never
	keep := d.timed[:0]
	for _, q := range d.timed {
		if q.state != connected {
			q.timed = false
			continue
		}
		if q.paced && now >= q.paceAt {
			q.paced = false
			d.activate(q)
		}
		d.event(q, q.req.Expire(&q.params, now))
		at := q.deadline()
		if at == units.Never || q.state != connected {
			q.timed = false
			continue
		}
		d.check = min(d.check, at)
		keep = append(keep, q)
	}
	clear(d.timed[len(keep):])
	d.timed = keep
}

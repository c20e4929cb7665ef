package sim

import (
	"fmt"

	"weir/internal/cluster"
	"weir/internal/twin/fabric"
	"weir/roce"
	"weir/units"
)

// ConnID is the number of a connection.
type ConnID uint32

// conn is one direction of a connection: from one NIC to another, over one or
// more queue pairs.
type conn struct {
	src, dst uint32 // cards
	firstQP  uint32
	qps      uint16
	turn     uint16 // queue pair that the next message takes
	split    bool   // messages are split over the queue pairs
	owner    owner

	firstSocket uint32 // of TCP; 0: queue pairs
}

// owner says who is told what becomes of a connection's messages.
type owner uint8

const (
	ownerHandler owner = iota // Handlers
	ownerFlow                 // flows.go: the cookie is the flow
	ownerSlice                // exec_pipe.go: slices of collectives
	ownerClear                // exec_pipe.go: slots that a receiver clears
	ownerLoad                 // load.go: the cookie is the load
)

// Handlers are told of messages posted on connections made by Connect. Cookie
// is the one given to Post. They are called once a message, from inside the
// run, and may call Post; at is the current time.
type Handlers struct {
	// Delivered: the message is in the receiver's memory.
	Delivered func(conn ConnID, cookie uint64, at units.Time)
	// Completed: the sender knows (its last acknowledgement has come).
	Completed func(conn ConnID, cookie uint64, at units.Time)
	// Failed: a queue pair has exhausted its retries; nothing more will come
	// of the connection.
	Failed func(conn ConnID, at units.Time)
}

// Options of a connection.
type Options struct {
	QueuePairs int   // 0: the cluster's
	Priority   uint8 // 0: that of the RoCE class
	TCP        bool  // over TCP; a cluster whose transport is TCP has nothing else
	Ring       int   // messages that a queue pair's NIC works on at a time, rounded up to a power of two; 0: 16
	// Threads of the hosts that copy TCP's data: the n-th, from 1; 0: one of its own.
	SrcThread, DstThread int
}

// Connect makes a connection from one NIC to another, for one direction. It
// fails when there is no path.
func (s *Sim) Connect(src, dst cluster.NICRef, o Options) (ConnID, error) {
	return s.connect(src, dst, o, ownerHandler)
}

func (s *Sim) connect(src, dst cluster.NICRef, o Options, by owner) (ConnID, error) {
	if s.swapped != nil {
		src, dst = s.swap(src), s.swap(dst)
	}
	from, err := s.nicOf(src)
	if err != nil {
		return 0, err
	}
	to, err := s.nicOf(dst)
	if err != nil {
		return 0, err
	}
	pairs, err := s.portPairs(src, dst)
	if err != nil {
		return 0, err
	}
	if s.cluster.Transport == cluster.RoCEv1 && !o.TCP {
		if err := fabric.OneDomain(s.cluster, src, dst); err != nil {
			return 0, err
		}
	}
	rdma := &s.cluster.RDMA
	if o.QueuePairs == 0 {
		o.QueuePairs = max(1, rdma.QPsPerConnection)
	}
	if o.TCP = o.TCP || s.cluster.Transport == cluster.TCP; o.TCP {
		if o.Priority == 0 {
			o.Priority = s.cluster.TCP.Priority
		}
		return s.connectTCP(src, dst, from, to, pairs, o, by)
	}
	if o.Priority == 0 {
		o.Priority = s.cluster.QoS.RoCE().Priority
	}
	if o.Ring == 0 {
		o.Ring = 16
	}
	ring := 1
	for ring < o.Ring {
		ring *= 2
	}
	if len(s.senders)+o.QueuePairs >= maxIndexes || o.QueuePairs > 1<<12 {
		return 0, fmt.Errorf("too many queue pairs: allowed are %d, and %d a connection", maxIndexes-1, 1<<12)
	}
	pick := [2]int32{-1, -1}
	if n, ok := s.cfg.Paths[Pair{src, dst}]; ok {
		pick = [2]int32{int32(n), int32(n)}
	}
	if n, ok := s.cfg.Paths[Pair{dst, src}]; ok {
		pick[1] = int32(n)
	}
	id := ConnID(len(s.conns))
	c := conn{src: from, dst: to, firstQP: uint32(len(s.senders)), qps: uint16(o.QueuePairs), owner: by, split: rdma.SplitData || by == ownerFlow || by == ownerLoad}
	for k := range o.QueuePairs {
		if err := s.addQP(id, pairs[k%len(pairs)], ring, pick, o.Priority); err != nil {
			return 0, err
		}
	}
	s.conns = append(s.conns, c)
	return id, nil
}

// portPairs returns the pairs of ports that queue pairs between two NICs may
// use: port k to port k where that is possible.
func (s *Sim) portPairs(src, dst cluster.NICRef) ([][2]cluster.PortID, error) {
	return PortPairs(s.cluster, s.fabric, src, dst)
}

// Ports of UDP: that of RoCEv2, and the range that adapters take source ports
// from (RFC 6335's dynamic ports).
const (
	rocePort       = 4791
	firstSourceUDP = 0xc000
)

// addQP makes a queue pair of a connection between two host ports.
func (s *Sim) addQP(id ConnID, ports [2]cluster.PortID, ring int, pick [2]int32, prio uint8) error {
	qp := s.allocQP(ring)
	pair := uint64(ports[0])<<32 | uint64(ports[1])
	flow := QueuePairHash(s.seed, s.portEntity(ports[0]), s.portEntity(ports[1]), uint32(s.pairs[pair]))
	s.pairs[pair]++
	edited := s.cards[s.nics[s.tx[s.simPort(ports[0])].unit].card].flags & isEdited
	udp := SourcePort(flow, s.cluster.RDMA.SourcePorts == "fixed" || edited&fixedPort != 0)
	there := fabric.Fields{
		SrcIP: s.fabric.Address(ports[0]), DstIP: s.fabric.Address(ports[1]),
		SrcPort: udp, DstPort: rocePort, DstQP: qp & roce.PSNMask, Protocol: 17,
	}
	if s.cluster.Transport == cluster.RoCEv1 { // addresses of the cards stand for those of layer 2
		there.SrcPort, there.DstPort, there.Protocol = 0, 0, 0
	}
	back := there
	back.SrcIP, back.DstIP = there.DstIP, there.SrcIP

	q, r := &s.senders[qp], &s.receivers[qp]
	q.port, r.port = s.egress(ports[0], &there), s.egress(ports[1], &back)
	q.conn, q.prio, q.rates = id, prio, s.ratesOf(q.port)
	r.rates = q.rates
	if edited&unmarked != 0 {
		q.prio = 0
	}
	q.reaction.Reset(&s.dcqcn[q.rates])
	if err := s.setRoute(&s.routes[2*qp], s.rare[q.port].id, ports[1], there, pick[0], false); err != nil {
		return err
	}
	if err := s.setRoute(&s.routes[2*qp+1], s.rare[r.port].id, ports[0], back, pick[1], true); err != nil {
		return err
	}
	s.routes[2*qp].flow, s.routes[2*qp+1].flow = flow, scramble(flow)
	return nil
}

// egress returns the port by which a host port, or the bond that it is in,
// sends packets with these fields.
func (s *Sim) egress(p cluster.PortID, h *fabric.Fields) uint32 {
	members := s.fabric.Egress(p)
	node := s.cluster.Ports[p].Node
	k := h.Hash(s.cluster.Routing.HashFields, s.fabric.Seed(node)) % uint32(len(members))
	return s.firstPort[node] + uint32(members[k])
}

// Post hands a message of so many bytes to a connection at the current time.
// The cookie comes back with what becomes of it. bytes must be positive.
func (s *Sim) Post(id ConnID, bytes units.Bytes, cookie uint64) {
	c := &s.conns[id]
	if c.firstSocket != 0 {
		s.postTCP(id, c, bytes, cookie)
		return
	}
	largest := units.Bytes(maxMessagePackets) * units.Bytes(s.rc.MTU)
	largest = min(largest, 1<<30)
	one := c.qps == 1 || s.cards[c.src].flags&oneQP != 0
	if !c.split || one {
		parts := (bytes + largest - 1) / largest
		t := s.newTransfer(id, cookie, uint32(parts))
		if one {
			c.turn = 0
		}
		s.postParts(c.firstQP+uint32(c.turn), t, bytes, largest)
		if c.turn++; c.turn == c.qps {
			c.turn = 0
		}
		return
	}
	// Equal shares in whole packets; the first queue pairs get one more.
	mtu := units.Bytes(s.rc.MTU)
	packets := (bytes + mtu - 1) / mtu
	n := units.Bytes(c.qps)
	share := func(k units.Bytes) units.Bytes {
		from, to := packets*k/n*mtu, packets*(k+1)/n*mtu
		return min(to, bytes) - min(from, bytes)
	}
	var parts units.Bytes
	for k := range n {
		parts += (share(k) + largest - 1) / largest
	}
	t := s.newTransfer(id, cookie, uint32(parts))
	for k := range n {
		s.postParts(c.firstQP+uint32(k), t, share(k), largest)
	}
}

// postParts posts bytes on one queue pair as messages of at most largest.
func (s *Sim) postParts(qp, t uint32, bytes, largest units.Bytes) {
	if bytes == 0 {
		return
	}
	q := &s.senders[qp]
	at := s.now
	if s.model.CardLatency {
		d := &s.cards[s.nics[s.tx[q.port].unit].card]
		at += d.latency + d.slow
	}
	for ; bytes > 0; bytes -= largest {
		q.later = append(q.later, part{at, t, uint32(min(bytes, largest))})
	}
	if at == s.now {
		s.doorbell(qp)
		return
	}
	s.queue.push(at, makeKey(s.tx[q.port].node, kindDoorbell, qp))
}

// delivered passes on that a transfer is in the receiver's memory.
func (s *Sim) delivered(qp uint32, t *transfer) {
	c := &s.conns[t.conn]
	if c.owner == ownerFlow || c.owner == ownerLoad || c.owner == ownerHandler && s.handlers.Delivered == nil {
		return
	}
	d := &s.cards[c.dst]
	at := max(s.now, d.drained)
	if s.model.CardLatency {
		at += d.latency
	}
	if at == s.now {
		s.tellDelivered(t.conn, t.cookie)
		return
	}
	// Deliveries of one card come in order: PCIe drains in order.
	d.inbox = append(d.inbox, delivery{at, t.cookie, t.conn})
	if len(d.inbox)-d.inboxFirst == 1 {
		s.queue.push(at, makeKey(d.node, kindDeliver, c.dst))
	}
}

// tellDelivered tells whoever posted a transfer that it has arrived.
func (s *Sim) tellDelivered(id ConnID, cookie uint64) {
	if by := s.conns[id].owner; by == ownerHandler {
		s.handlers.Delivered(id, cookie, s.now)
	} else {
		s.execDelivered(by, cookie)
	}
}

// deliver is the event that messages have reached a card's host.
func (s *Sim) deliver(id uint32) {
	d := &s.cards[id]
	for d.inboxFirst < len(d.inbox) && d.inbox[d.inboxFirst].at <= s.now {
		a := d.inbox[d.inboxFirst]
		d.inboxFirst++
		s.tellDelivered(a.conn, a.cookie)
		d = &s.cards[id]
	}
	if d.inboxFirst == len(d.inbox) {
		d.inbox, d.inboxFirst = d.inbox[:0], 0
		return
	}
	s.queue.push(d.inbox[d.inboxFirst].at, makeKey(d.node, kindDeliver, id))
}

// delivery is a message on its way from a card to its host.
type delivery struct {
	at     units.Time
	cookie uint64
	conn   ConnID
}

// completedAt passes on that a transfer is acknowledged.
func (s *Sim) completedAt(id ConnID, cookie uint64, first units.Time) {
	switch s.conns[id].owner {
	case ownerFlow:
		s.flowDone(FlowID(cookie), first)
	case ownerLoad:
		s.goOn(uint32(cookie))
	case ownerHandler:
		if s.handlers.Completed != nil {
			s.handlers.Completed(id, cookie, s.now)
		}
	default:
		s.execCompleted(s.conns[id].owner, cookie)
	}
}

// failed takes a queue pair out of service for good.
func (s *Sim) failed(qp uint32) {
	q := &s.senders[qp]
	s.failures++
	s.nicCounters[s.nics[s.tx[q.port].unit].card].RetriesExceeded++
	c := &s.conns[q.conn]
	if c.owner == ownerHandler && s.handlers.Failed != nil {
		s.handlers.Failed(q.conn, s.now)
	}
}

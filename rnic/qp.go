package rnic

import (
	"errors"
	"fmt"
	"net/netip"

	"weir/dcqcn"
	"weir/rc"
	"weir/roce"
	"weir/units"
)

// QPType is the transport service of a queue pair.
type QPType uint8

// The types: reliable connection, unreliable connection, unreliable datagram.
const (
	RC QPType = iota
	UC
	UD
)

// String returns "RC", "UC" or "UD".
func (t QPType) String() string { return [...]string{"RC", "UC", "UD"}[min(t, UD)] }

type qpState uint8

const (
	created qpState = iota
	connected
	failed
	destroyed
)

// QPConfig says what queue pair to make.
type QPConfig struct {
	Type           QPType
	SendCQ, RecvCQ *CQ
	// MaxSend and MaxRecv are the depths of the queues, rounded up to a power of
	// two; 0: 128. At most 16384.
	MaxSend, MaxRecv int
	// PSN is the first packet sequence number; PSNRandom picks one.
	PSN uint32
	// QKey of a UD queue pair: datagrams with another are dropped.
	QKey uint32
}

// PSNRandom as QPConfig.PSN asks for a random first PSN.
const PSNRandom = 1 << 24

// Peer is the other end of a connection.
type Peer struct {
	Addr netip.Addr
	QPN  roce.QPN
	PSN  roce.PSN
}

// Path are the settings of a connection, those that verbs sets on the way to
// RTR and RTS.
type Path struct {
	MTU int // path MTU: 256, 512, 1024, 2048 or 4096
	// TrafficClass are the eight bits of DSCP and ECN. DSCP 26 with ECT(0) is 106.
	TrafficClass uint8
	// SourcePort is the UDP source port, over which ECMP spreads; 0: from the
	// queue pair numbers, as Linux does.
	SourcePort uint16

	Timeout    uint8 // local ACK timeout code: 4.096 us x 2^code
	RetryCount uint8 // 0 to 7
	RNRRetry   uint8 // 0 to 7; 7: for ever
	RNRTimer   uint8 // code that this end's RNR NAKs carry
	MaxReads   uint8 // READs and atomics in flight, both ways; 0: 1

	Window   int // packets in flight; 0: 128
	AckEvery int // AckReq on every n-th packet; 0: a quarter of the window
}

// DefaultPath returns settings that suit a data centre: MTU 1024, DSCP 26 with
// ECT(0), timeout code 17 (537 ms), 7 retries, 16 READs.
func DefaultPath() Path {
	return Path{MTU: 1024, TrafficClass: 26<<2 | uint8(roce.ECT0), Timeout: 17, RetryCount: 7, RNRRetry: 7, RNRTimer: 12, MaxReads: 16}
}

// QP is a queue pair. Its methods may be called from any goroutine.
type QP struct {
	dev    *Device
	pd     *PD
	number roce.QPN
	psn    roce.PSN
	typ    QPType
	state  qpState
	cause  Status
	qkey   uint32

	sendCQ, recvCQ *CQ

	peer   Peer
	pathTo Path
	path   *path
	params rc.Params

	// Requester side.
	req  rc.Requester
	work []sendWork // by message number

	// Responder side.
	rsp      rc.Responder
	asked    []asked // of READs and atomics, by number of acceptance
	recvs    []RecvRequest
	recvHead uint32
	recvTail uint32
	in       inbound

	ack    rc.Packet // to be sent, if hasAck
	hasAck bool
	cnp    bool // to be sent
	queued bool // in Device.ready
	timed  bool // in Device.timed
	paced  bool // has something to send at paceAt

	mark   dcqcn.Notification
	rate   dcqcn.Reaction
	paceAt units.Time // no packet before
}

// inbound is the message that is coming in.
type inbound struct {
	mr    *MR    // WRITE
	va    uint64 // where the next packet goes
	left  uint32 // of the length that the RETH stated
	bytes uint32 // so far
	recv  bool   // SEND: into the head of the receive queue
}

// asked is the memory behind a READ or atomic that was accepted.
type asked struct {
	mr       *MR
	va       uint64
	original uint64
}

// CreateQP makes a queue pair. It returns ErrTooMany when MaxQPs exist, and an
// error for a configuration without CQs or with queues that are too deep.
func (p *PD) CreateQP(c QPConfig) (*QP, error) {
	const deepest = 1 << 14
	if c.SendCQ == nil || c.RecvCQ == nil {
		return nil, errors.New("rnic: a queue pair needs a send and a receive CQ")
	}
	if c.MaxSend > deepest || c.MaxRecv > deepest || c.MaxSend < 0 || c.MaxRecv < 0 {
		return nil, fmt.Errorf("rnic: queue depths %d and %d: at most %d", c.MaxSend, c.MaxRecv, deepest)
	}
	d := p.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, ErrClosed
	}
	slot := d.freeQP()
	if slot < 0 {
		return nil, ErrTooMany
	}
	q := &QP{
		dev: d, pd: p, typ: c.Type, qkey: c.QKey, sendCQ: c.SendCQ, recvCQ: c.RecvCQ,
		work: make([]sendWork, depth(c.MaxSend)), recvs: make([]RecvRequest, depth(c.MaxRecv)),
		psn: roce.PSN(c.PSN) & roce.PSNMask,
	}
	if c.PSN >= PSNRandom {
		q.psn = roce.PSN(d.rnd.Uint32()) & roce.PSNMask
	}
	// The upper half of the number is random, so that a packet for an earlier
	// queue pair of the slot does not meet this one. 0 and 1 are taken.
	q.number = roce.QPN(slot) | roce.QPN(d.rnd.Uint32N(roce.QPNMask/MaxQPs)+1)*MaxQPs
	d.qps[slot] = q
	return q, nil
}

func depth(n int) int {
	if n == 0 {
		n = 128
	}
	p := 1
	for p < n {
		p *= 2
	}
	return p
}

// Number returns the queue pair number, and PSN the first packet sequence
// number; the peer needs both.
func (q *QP) Number() roce.QPN { return q.number }

// PSN returns the first packet sequence number that the queue pair sends.
func (q *QP) PSN() roce.PSN { return q.psn }

// Connect brings the queue pair to the state in which it receives and sends.
// Peer is ignored for UD, whose requests name their destinations.
func (q *QP) Connect(peer Peer, path Path) error {
	d := q.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if q.state != created {
		return ErrState
	}
	switch path.MTU {
	case 256, 512, 1024, 2048, 4096:
	default:
		return fmt.Errorf("rnic: path MTU %d, not 256, 512, 1024, 2048 or 4096", path.MTU)
	}
	if path.RetryCount > 7 || path.RNRRetry > 7 || path.Timeout > 31 || path.RNRTimer > 31 {
		return errors.New("rnic: retry counts go to 7, timer codes to 31")
	}
	if path.Window == 0 {
		path.Window = 128
	}
	if path.AckEvery == 0 {
		path.AckEvery = max(1, path.Window/4)
	}
	if path.MaxReads == 0 {
		path.MaxReads = 1
	}
	q.params = rc.Params{
		MTU: uint32(path.MTU), AckEvery: uint32(path.AckEvery), Window: uint32(path.Window),
		Timeout: rc.Timeout(path.Timeout), RetryCount: path.RetryCount, RNRRetry: path.RNRRetry,
		RNRTimer: path.RNRTimer, MaxReads: path.MaxReads,
	}
	q.pathTo = path
	if q.typ != UD {
		peer.Addr = peer.Addr.Unmap().WithZone("")
		p, err := d.pathTo(peer.Addr, path, q.number, peer.QPN)
		if err != nil {
			return err
		}
		q.path, q.peer = p, peer
	} else {
		q.params.Window = 0
	}
	if q.typ != RC {
		q.params.Timeout = 0
	}
	q.req.Reset(&q.params, q.psn, make([]rc.Message, len(q.work)), nil)
	// Answers are remembered well beyond MaxReads, so that late duplicates of
	// atomics find theirs.
	remember := depth(max(16, int(path.MaxReads)))
	q.asked = make([]asked, remember)
	q.rsp.Reset(&q.params, peer.PSN, make([]rc.Reply, remember), nil)
	q.rsp.MTU = q.params.MTU
	q.rate.Reset(&d.congestion)
	q.state = connected
	return nil
}

// Err returns nil while the queue pair works, else the status that ended it.
func (q *QP) Err() error {
	q.dev.mu.Lock()
	defer q.dev.mu.Unlock()
	if q.state == failed {
		return q.cause
	}
	return nil
}

// Rate returns the rate that congestion control allows the queue pair, in bits
// per second; 0 if congestion control is off.
func (q *QP) Rate() units.BitRate {
	d := q.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.congestion.Enabled || q.state != connected {
		return 0
	}
	return q.rate.Rate(&d.congestion, d.now())
}

// Destroy ends the queue pair: its requests are flushed, later packets for it
// are those of an unknown queue pair.
func (q *QP) Destroy() {
	d := q.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	if q.state == destroyed {
		return
	}
	d.fail(q, Flushed, Flushed)
	d.qps[q.number&(MaxQPs-1)] = nil
	q.state = destroyed
}

// fail puts the queue pair in error: the oldest send request completes with
// send, the receive in progress or the oldest with recv, all others are flushed.
func (d *Device) fail(q *QP, send, recv Status) {
	if q.state == failed || q.state == destroyed {
		return
	}
	if q.cause = send; send == Flushed {
		q.cause = recv
	}
	if q.state == connected {
		from, to := q.req.Completed(), q.req.Posted()
		for i := from; i != to; i++ {
			d.complete(q, i, send)
			send = Flushed
		}
		q.req.Reset(&q.params, 0, make([]rc.Message, 1), nil)
	}
	for q.recvHead != q.recvTail {
		d.received(q, Completion{Status: recv})
		recv = Flushed
	}
	q.state = failed
	q.cnp, q.paced = false, false
}

// complete ends the send request with the given number.
func (d *Device) complete(q *QP, number uint32, s Status) {
	w := &q.work[number&uint32(len(q.work)-1)]
	if w.Unsignaled && s == Success {
		q.sendCQ.reserved--
	} else {
		e := q.sendCQ.add()
		e.ID, e.QP, e.Status, e.Op, e.Original = w.ID, q, s, w.Op, w.original
		e.Bytes = uint32(len(w.Data))
		if w.Op >= OpFetchAdd {
			e.Bytes = 8
		}
	}
	w.Data, w.path = nil, nil
}

// received ends the oldest receive request.
func (d *Device) received(q *QP, c Completion) {
	r := &q.recvs[q.recvHead&uint32(len(q.recvs)-1)]
	q.recvHead++
	c.ID, c.QP, c.Receive = r.ID, q, true
	*q.recvCQ.add() = c
	r.Buffer = nil
}

package rnic

import (
	"errors"
	"net/netip"

	"weir/rc"
	"weir/roce"
)

// Op is what a work request does.
type Op uint8

// The operations. UC has SEND and WRITE and their immediate forms, UD SEND and
// SEND with immediate.
const (
	OpSend Op = iota
	OpSendImmediate
	OpSendInvalidate
	OpWrite
	OpWriteImmediate
	OpRead
	OpFetchAdd
	OpCompareSwap
)

// String returns the name of the operation: "send", "write_imm" ...
func (o Op) String() string {
	return [...]string{"send", "send_imm", "send_inv", "write", "write_imm", "read", "fetch_add", "cmp_swap"}[min(o, OpCompareSwap)]
}

var opcodes = [...]roce.Opcode{
	OpSend: roce.RCSendOnly, OpSendImmediate: roce.RCSendOnlyImmediate, OpSendInvalidate: roce.RCSendOnlyInvalidate,
	OpWrite: roce.RCWriteOnly, OpWriteImmediate: roce.RCWriteOnlyImmediate, OpRead: roce.RCReadRequest,
	OpFetchAdd: roce.RCFetchAdd, OpCompareSwap: roce.RCCompareSwap,
}

// SendRequest is a work request of the send queue. Which fields count depends
// on Op and on the type of the queue pair.
type SendRequest struct {
	ID uint64 // comes back in the completion
	Op Op
	// Data is what SEND and WRITE send, and where READ puts what it read. It
	// belongs to the queue pair until the completion.
	Data []byte

	RemoteAddr    uint64 // WRITE, READ, atomics
	RKey          uint32
	Immediate     uint32
	InvalidateKey uint32
	Add           uint64 // OpFetchAdd
	Compare, Swap uint64 // OpCompareSwap

	// Of datagrams.
	To   netip.Addr
	QPN  roce.QPN
	QKey uint32

	// Unsignaled requests complete without a word, unless they fail.
	Unsignaled bool
	// Solicited asks for an event at the receiver.
	Solicited bool
}

// RecvRequest is a work request of the receive queue: a buffer for one message
// of SEND, or the permission for one WRITE with immediate, which needs no
// buffer.
type RecvRequest struct {
	ID     uint64
	Buffer []byte // the queue pair's until the completion
}

// The errors of posting.
var (
	ErrQueueFull = errors.New("rnic: queue full")
	ErrCQFull    = errors.New("rnic: completion queue has no room for another completion")
	ErrState     = errors.New("rnic: queue pair is not connected, or in error")
	ErrRequest   = errors.New("rnic: operation or length not possible on this type of queue pair")
)

// sendWork is a posted send request with what belongs to it.
type sendWork struct {
	SendRequest
	path     *path // datagrams
	original uint64
}

// PostSend adds a request to the send queue. It returns ErrState, ErrRequest
// (operation or length do not fit the queue pair), ErrQueueFull or ErrCQFull,
// and has no effect then. It does not allocate on a connected queue pair.
func (q *QP) PostSend(r *SendRequest) error {
	d := q.dev
	d.mu.Lock()
	err := q.post(r)
	wake := err == nil && d.asleep
	if wake {
		d.asleep = false
	}
	d.mu.Unlock()
	if wake {
		d.wake()
	}
	return err
}

func (q *QP) post(r *SendRequest) error {
	if q.state != connected {
		return ErrState
	}
	if !q.allows(r) {
		return ErrRequest
	}
	if q.req.Outstanding() == len(q.work) {
		return ErrQueueFull
	}
	w := &q.work[q.req.Posted()&uint32(len(q.work)-1)]
	bytes := uint32(len(r.Data))
	if r.Op >= OpFetchAdd {
		bytes = 8
	}
	if !q.sendCQ.reserve() {
		return ErrCQFull
	}
	if q.typ == UD {
		p, err := q.dev.pathTo(r.To, q.pathTo, q.number, r.QPN)
		if err != nil {
			q.sendCQ.reserved--
			return err
		}
		w.path = p
	}
	w.SendRequest = *r
	if !q.req.Post(&q.params, rc.Message{Op: opcodes[r.Op], Bytes: bytes}) {
		q.sendCQ.reserved--
		return ErrRequest
	}
	q.dev.activate(q)
	return nil
}

// allows reports whether the queue pair can do what r asks.
func (q *QP) allows(r *SendRequest) bool {
	if r.Op > OpCompareSwap || uint64(len(r.Data)) > MaxMessage {
		return false
	}
	switch q.typ {
	case UC:
		return r.Op == OpSend || r.Op == OpSendImmediate || r.Op == OpWrite || r.Op == OpWriteImmediate
	case UD:
		return r.Op <= OpSendImmediate && len(r.Data) <= int(q.params.MTU) && r.To.IsValid()
	}
	return r.Op < OpFetchAdd || len(r.Data) == 0
}

// PostRecv adds a buffer to the receive queue. It returns ErrState, ErrQueueFull
// or ErrCQFull, and has no effect then.
func (q *QP) PostRecv(r *RecvRequest) error {
	d := q.dev
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case q.state == failed || q.state == destroyed:
		return ErrState
	case q.recvTail-q.recvHead == uint32(len(q.recvs)):
		return ErrQueueFull
	case !q.recvCQ.reserve():
		return ErrCQFull
	}
	q.recvs[q.recvTail&uint32(len(q.recvs)-1)] = *r
	q.recvTail++
	return nil
}

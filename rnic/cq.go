package rnic

import (
	"context"
	"net/netip"

	"weir/roce"
)

// Status is how a work request ended, in the words of verbs. It is an error
// unless it is Success.
type Status uint8

// The statuses, of verbs' completion codes those that can occur here.
const (
	Success             Status = iota
	LocalLengthError           // a message did not fit the receive buffer
	Flushed                    // the queue pair was in error
	RemoteInvalidError         // NAK 0x61
	RemoteAccessError          // NAK 0x62
	RemoteOpError              // NAK 0x63
	RetryExceeded              // no acknowledgement
	RNRRetryExceeded           // the receiver had no buffer
	LocalAccessError           // a peer's access was refused: receive queue of the responder
	LocalOperationError        // a peer's request was invalid: receive queue of the responder
)

// Error returns the status in words.
func (s Status) Error() string {
	return [...]string{
		"success", "local length error", "work request flushed", "remote invalid request error", "remote access error",
		"remote operation error", "transport retry counter exceeded", "RNR retry counter exceeded",
		"local access error", "local operation error",
	}[min(s, LocalOperationError)]
}

// Completion tells the end of a work request.
type Completion struct {
	ID     uint64 // of the request
	QP     *QP
	Status Status
	// Op is that of the send request; OpSend and OpWriteImmediate for receives.
	Op      Op
	Receive bool

	Bytes          uint32 // of the message
	Immediate      uint32 // Receive, with HasImmediate
	InvalidatedKey uint32 // Receive, with Invalidated
	HasImmediate   bool
	Invalidated    bool
	Solicited      bool   // Receive: the sender asked for an event
	Original       uint64 // atomics: the value before

	// Receive of a datagram.
	From  netip.Addr
	SrcQP roce.QPN
}

// CQ is a completion queue of fixed depth. Posting to a queue pair reserves
// room for the completion, so a CQ never overruns: Post returns ErrCQFull.
type CQ struct {
	dev      *Device
	ring     []Completion
	head, n  int
	reserved int // slots of posted requests, those in the ring included
	notify   chan struct{}
}

// CreateCQ makes a completion queue with room for depth completions, at least 1.
func (d *Device) CreateCQ(depth int) *CQ {
	return &CQ{dev: d, ring: make([]Completion, max(depth, 1)), notify: make(chan struct{}, 1)}
}

// Poll moves completions to dst and returns how many. It does not block.
func (c *CQ) Poll(dst []Completion) int {
	c.dev.mu.Lock()
	defer c.dev.mu.Unlock()
	n := min(c.n, len(dst))
	for i := range n {
		dst[i] = c.ring[c.head]
		c.ring[c.head] = Completion{}
		if c.head++; c.head == len(c.ring) {
			c.head = 0
		}
	}
	c.n -= n
	c.reserved -= n
	return n
}

// Wait blocks until there is something to poll, ctx is done (its error is
// returned) or the device is closed (ErrClosed). One goroutine may wait on a CQ
// at a time. On a device of a Fabric somebody has to run the Fabric meanwhile.
func (c *CQ) Wait(ctx context.Context) error {
	for {
		c.dev.mu.Lock()
		n, closed := c.n, c.dev.closed
		c.dev.mu.Unlock()
		switch {
		case n > 0:
			return nil
		case closed:
			return ErrClosed
		}
		select {
		case <-c.notify:
		case <-c.dev.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// reserve takes a slot for a completion to come.
func (c *CQ) reserve() bool {
	if c.reserved == len(c.ring) {
		return false
	}
	c.reserved++
	return true
}

// add returns the slot of the next completion, which was reserved, cleared.
func (c *CQ) add() *Completion {
	i := c.head + c.n
	if i >= len(c.ring) {
		i -= len(c.ring)
	}
	c.n++
	e := &c.ring[i]
	*e = Completion{}
	if len(c.notify) == 0 {
		select {
		case c.notify <- struct{}{}:
		default:
		}
	}
	return e
}

package capture

import (
	"bufio"
	"bytes"
	"context"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/wire/tap"
	"weir/rc"
	"weir/roce"
	"weir/units"
)

// A requester and a responder of package rc talk over a link that loses packets. A
// capture at the requester sees all that it sends: every message and byte is
// found, what the requester marks as sent again is what the analyser calls a
// retransmission, and there is a finding of loss exactly if a loss made it send again. A
// capture behind the loss sees less, and must not find what was not there.
func TestRecoveredConnections(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := newNetwork(t)
		n.run(t)
		if err := n.out.Flush(); err != nil {
			t.Fatal(err)
		}
		a := New(Options{})
		if err := a.Read(context.Background(), &n.capture); err != nil {
			t.Fatal(err)
		}
		r := a.Report()
		if len(r.Connections) != 1 {
			t.Fatalf("%d connections", len(r.Connections))
		}
		c := r.Connections[0]
		if r.ICRC.Wrong != 0 || c.Duplicates+c.OutOfOrder != 0 {
			t.Fatalf("%d wrong ICRCs, %d doubled, %d out of order", r.ICRC.Wrong, c.Duplicates, c.OutOfOrder)
		}
		found := causes(r)
		if found != "" && found != "path-loss" || found != "" && n.lost == 0 {
			t.Fatalf("%d packets lost, findings %+v", n.lost, r.Findings)
		}
		if n.behind {
			return
		}
		if c.Messages != uint64(n.messages) || c.SentBytes != n.bytes || c.Retransmissions != n.again {
			t.Fatalf("%d of %d messages, %d of %d bytes, %d sent again, the requester says %d",
				c.Messages, n.messages, c.SentBytes, n.bytes, c.Retransmissions, n.again)
		}
		if found == "" && n.again > 0 { // a lost acknowledgement may not matter
			t.Fatalf("%d packets lost and no finding", n.lost)
		}
	})
}

// network is a connection over a link of 5 us each way, and the capture of it.
type network struct {
	p          rc.Params
	req        rc.Requester
	rsp        rc.Responder
	now        units.Time
	requests   []carried // on the way, in order
	responses  []carried
	behind     bool // the capture is taken at the responder
	drops      []int
	next       int
	lost       uint64
	again      uint64
	messages   int
	bytes      uint64
	capture    bytes.Buffer
	out        *bufio.Writer
	w          *tap.Writer
	path, back tap.Path
}

type carried struct {
	at  units.Time
	pkt rc.Packet
}

const (
	wire     = 5 * units.Microsecond
	maxDrops = 7 // fewer than tries, so that every message gets through
)

func newNetwork(t *rapid.T) *network {
	n := &network{
		p:        rc.Params{MTU: 1024, Timeout: units.Millisecond, RetryCount: 7, RNRRetry: 7},
		behind:   rapid.Bool().Draw(t, "capture behind the loss"),
		messages: rapid.IntRange(1, 14).Draw(t, "messages"),
		drops:    rapid.SliceOfN(rapid.IntRange(0, 12), 1, 40).Draw(t, "drops"), // 0: lost
	}
	a, b := roce.GIDFromIPv4([4]byte{192, 0, 2, 1}), roce.GIDFromIPv4([4]byte{192, 0, 2, 2})
	n.path = tap.Path{Src: a, Dst: b, DestQP: 0x200, SrcPort: 50000}
	n.back = tap.Path{Src: b, Dst: a, DestQP: 0x100, SrcPort: 50000}
	if rapid.Bool().Draw(t, "IPv6") { // no identification to go by
		n.path.Src, n.path.Dst, n.back.Src, n.back.Dst = roce.GID{0x20, 1}, roce.GID{0x20, 2}, roce.GID{0x20, 2}, roce.GID{0x20, 1}
	}
	var err error
	n.out = bufio.NewWriter(&n.capture)
	if n.w, err = tap.NewWriter(n.out, tap.Options{Start: 1700000000e9}); err != nil {
		t.Fatal(err)
	}
	psn := roce.PSN(rapid.IntRange(0, roce.PSNMask).Draw(t, "PSN"))
	n.req.Reset(&n.p, psn, make([]rc.Message, 16), nil)
	n.rsp.Reset(&n.p, psn, make([]rc.Reply, 4), nil)
	for i := range n.messages {
		m := rc.Message{Op: roce.RCWriteOnly, Bytes: uint32(1 + 900*(i%6))}
		n.bytes += uint64(m.Bytes)
		if !n.req.Post(&n.p, m) {
			t.Fatal("the ring is full")
		}
	}
	return n
}

// passes says whether the next packet gets through.
func (n *network) passes() bool {
	n.next++
	if n.lost < maxDrops && n.drops[n.next%len(n.drops)] == 0 {
		n.lost++
		return false
	}
	return true
}

func (n *network) see(t *rapid.T, path *tap.Path, p rc.Packet) {
	if err := n.w.Packet(n.now, path, &tap.Packet{Packet: p}); err != nil {
		t.Fatal(err)
	}
}

// run moves in steps of a microsecond until all messages are acknowledged.
func (n *network) run(t *rapid.T) {
	for steps := 0; n.req.Outstanding() > 0; steps++ {
		if steps > 1e6 || n.req.Failure() != 0 {
			t.Fatalf("no end after %v, failure %v", n.now, n.req.Failure())
		}
		n.now += units.Microsecond
		for len(n.requests) > 0 && n.requests[0].at <= n.now {
			in := n.requests[0].pkt
			n.requests = n.requests[1:]
			if n.behind {
				n.see(t, &n.path, in)
			}
			var out rc.Packet
			v := n.rsp.Check(&in)
			if v == rc.InOrder && n.rsp.Commit(&n.p, &in, &out) || v != rc.InOrder && n.rsp.Refuse(&n.p, n.now, v, &in, &out) {
				n.respond(t, out)
			}
		}
		for len(n.responses) > 0 && n.responses[0].at <= n.now {
			in := n.responses[0].pkt
			n.responses = n.responses[1:]
			if !n.behind {
				n.see(t, &n.back, in)
			}
			n.req.Handle(&n.p, n.now, &in)
		}
		if d := n.req.Deadline(); d <= n.now {
			n.req.Expire(&n.p, n.now)
		}
		var out rc.Packet
		if n.req.Next(&n.p, n.now, &out) {
			if out.Flags&rc.Again != 0 {
				n.again++
			}
			if !n.behind {
				n.see(t, &n.path, out)
			}
			if n.passes() {
				n.requests = append(n.requests, carried{n.now + wire, out})
			}
		}
	}
}

func (n *network) respond(t *rapid.T, out rc.Packet) {
	if n.behind {
		n.see(t, &n.back, out)
	}
	if n.passes() {
		n.responses = append(n.responses, carried{n.now + wire, out})
	}
}

package rc_test

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"weir/rc"
	"weir/roce"
	"weir/units"
)

// pair is a requester and a responder with a bad network between them, and
// the bookkeeping that holds them to their promises.
type pair struct {
	p          rc.Params
	req        rc.Requester
	rsp        rc.Responder
	rnd        *rand.Rand
	now        units.Time
	net        inFlight
	serial     int
	loss       float64
	duplicate  float64
	late       float64 // share of packets that are overtaken
	notReady   float64
	refuse     float64
	replyAtomy []uint64 // result of an atomic, by Index of the responder

	messages  []rc.Message
	place     []map[uint32]int // of each message: how often each packet was placed
	executed  []int            // atomics
	gathered  []uint32         // READ bytes that the requester has
	delivered uint32
	refused   bool
	again     int // packets sent again
	counts    map[rc.Event]int
}

type flying struct {
	at         units.Time
	serial     int
	toResponse bool
	pkt        rc.Packet
}

type inFlight []flying

func (q inFlight) Len() int { return len(q) }
func (q inFlight) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].serial < q[j].serial
}
func (q inFlight) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *inFlight) Push(x any)   { *q = append(*q, x.(flying)) }
func (q *inFlight) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

const (
	slot  = 100 * units.Nanosecond
	delay = 2 * units.Microsecond
)

func (n *pair) send(toResponder bool, pkt rc.Packet) {
	copies := 1
	if n.rnd.Float64() < n.loss {
		copies = 0
	} else if n.rnd.Float64() < n.duplicate {
		copies = 2
	}
	for range copies {
		at := n.now + delay
		if n.rnd.Float64() < n.late {
			at += units.Time(n.rnd.Int64N(int64(5 * delay)))
		}
		n.serial++
		heap.Push(&n.net, flying{at, n.serial, toResponder, pkt})
	}
}

var ops = []roce.Opcode{
	roce.RCSendOnly, roce.RCSendOnlyImmediate, roce.RCSendOnlyInvalidate, roce.RCWriteOnly, roce.RCWriteOnlyImmediate,
	roce.RCReadRequest, roce.RCCompareSwap, roce.RCFetchAdd,
}

func newPair(seed uint64) *pair {
	rnd := rand.New(rand.NewPCG(seed, 4791))
	n := &pair{rnd: rnd, counts: map[rc.Event]int{}}
	pick := func(v ...float64) float64 { return v[rnd.IntN(len(v))] }
	n.p = rc.Params{
		MTU:      []uint32{256, 1000, 1024, 4096}[rnd.IntN(4)],
		AckEvery: []uint32{0, 1, 1, 4, 16}[rnd.IntN(5)],
		Window:   []uint32{0, 1, 2, 16, 64}[rnd.IntN(5)],
		Recovery: rc.Recovery(rnd.IntN(3)),
		Timeout:  200 * units.Microsecond, RetryCount: uint8(rnd.IntN(8)), RNRRetry: uint8(rnd.IntN(8)), RNRTimer: 1,
		MaxReads: uint8(rnd.IntN(5)),
	}
	n.p.OutOfOrder = n.p.Recovery != rc.GoBack0 && rnd.IntN(2) == 0
	if rnd.IntN(2) == 0 {
		n.p.NakInterval = 4 * units.Microsecond
	}
	if rnd.IntN(2) == 0 {
		n.p.Reorder = uint32(rnd.IntN(20))
	}
	n.loss = pick(0, 0, 0.001, 0.01, 0.1, 0.3)
	n.duplicate = pick(0, 0, 0.01, 0.2)
	n.late = pick(0, 0, 0.01, 0.3)
	if n.p.Recovery == rc.GoBack0 {
		// the first adapters' scheme works in order only, and livelocks (V04)
		n.late, n.duplicate, n.loss = 0, 0, min(n.loss, 0.01)
	}
	n.notReady = pick(0, 0, 0.01)
	n.refuse = pick(0, 0, 0, 0.001)
	psn := roce.PSN(rnd.Uint32N(1 << 24))
	if rnd.IntN(2) == 0 {
		psn = roce.PSN(roce.PSNMask - rnd.Uint32N(40)) // about to wrap
	}
	n.req.Reset(&n.p, psn, make([]rc.Message, 8), make([]uint64, 4))
	n.rsp.Reset(&n.p, psn, make([]rc.Reply, 4), make([]uint64, 8))
	n.replyAtomy = make([]uint64, 4)
	for range 1 + rnd.IntN(20) {
		m := rc.Message{Op: ops[rnd.IntN(len(ops))]}
		switch rnd.IntN(4) {
		case 0:
			m.Bytes = rnd.Uint32N(4)
		case 1:
			m.Bytes = n.p.MTU * rnd.Uint32N(4)
		default:
			m.Bytes = rnd.Uint32N(30 * n.p.MTU)
		}
		if m.Op == roce.RCCompareSwap || m.Op == roce.RCFetchAdd {
			m.Bytes = 8
		}
		n.messages = append(n.messages, m)
		n.place = append(n.place, map[uint32]int{})
	}
	n.executed = make([]int, len(n.messages))
	n.gathered = make([]uint32, len(n.messages))
	return n
}

// run lets the pair work until everything is complete or has failed.
func (n *pair) run() error {
	for step := 0; ; step++ {
		if step > 400_000 {
			return fmt.Errorf("no end: %d of %d messages, %d in flight, events %v", n.req.Completed(), len(n.messages), n.req.InFlight(), n.counts)
		}
		for int(n.req.Posted()) < len(n.messages) && n.req.Post(&n.p, n.messages[n.req.Posted()]) {
		}
		if n.req.Failure() != rc.NoFailure {
			return n.checkFailure()
		}
		if int(n.req.Completed()) == len(n.messages) {
			return n.checkEnd()
		}
		var out rc.Packet
		ready, at := n.req.Ready(&n.p, n.now)
		switch sent := n.req.Next(&n.p, n.now, &out); {
		case sent != ready:
			return fmt.Errorf("Ready says %v, Next %v", ready, sent)
		case sent:
			if out.Flags&rc.Again != 0 {
				n.again++
			}
			n.send(true, out)
		case at != units.Never && at <= n.now:
			return fmt.Errorf("not ready now, but at %v (now %v)", at, n.now)
		}
		if n.rsp.Ready() {
			if !n.rsp.Next(&n.p, n.now, &out) {
				return fmt.Errorf("responder is ready but has nothing")
			}
			n.send(false, out)
		}
		n.now += slot
		if !ready && !n.rsp.Ready() { // nothing happens before the next of these
			next := min(n.req.Deadline(), at)
			if len(n.net) > 0 {
				next = min(next, n.net[0].at)
			}
			if next == units.Never {
				return fmt.Errorf("deadlock: %d of %d messages, una %v, unsent %v", n.req.Completed(), len(n.messages), n.req.Unacknowledged(), n.req.Unsent())
			}
			n.now = max(n.now, next)
		}
		for len(n.net) > 0 && n.net[0].at <= n.now {
			f := heap.Pop(&n.net).(flying)
			if err := n.arrive(&f); err != nil {
				return err
			}
		}
		if n.now >= n.req.Deadline() {
			n.counts[n.req.Expire(&n.p, n.now)]++
		}
	}
}

func (n *pair) arrive(f *flying) error {
	if f.toResponse {
		return n.atResponder(&f.pkt)
	}
	in := f.pkt
	e, completed := n.req.Handle(&n.p, n.now, &in)
	n.counts[e]++
	if e == rc.Response && n.messages[in.Index].Op == roce.RCReadRequest {
		first := n.req.Message(in.Index).First
		if offset := uint32(in.PSN.Sub(first)) * n.p.MTU; offset != n.gathered[in.Index] {
			return fmt.Errorf("READ response for offset %d, but %d bytes are there", offset, n.gathered[in.Index])
		}
		n.gathered[in.Index] += in.Bytes
	}
	for i := n.req.Completed() - completed; i != n.req.Completed(); i++ {
		m := n.messages[i]
		if i >= n.delivered {
			return fmt.Errorf("message %d complete, but only %d delivered", i, n.delivered)
		}
		if m.Op == roce.RCReadRequest && n.gathered[i] != m.Bytes {
			return fmt.Errorf("READ %d complete with %d of %d bytes", i, n.gathered[i], m.Bytes)
		}
	}
	return nil
}

func (n *pair) atResponder(in *rc.Packet) error {
	var out rc.Packet
	v := n.rsp.Check(in)
	index := in.Index
	hidden := *in
	hidden.Index, hidden.MSN, hidden.Flags = 0, 0, in.Flags&rc.AckRequest // what the wire carries
	switch v {
	case rc.InOrder, rc.Ahead:
		m := n.messages[index]
		if v == rc.InOrder && n.rnd.Float64() < n.notReady {
			v = rc.NotReady
			break
		}
		if v == rc.InOrder && n.rnd.Float64() < n.refuse {
			v = []rc.Verdict{rc.AccessError, rc.Inoperable, rc.Invalid}[n.rnd.IntN(3)]
			n.refused = true
			break
		}
		if v == rc.InOrder && index != n.delivered {
			return fmt.Errorf("packet of message %d in order, but %d are delivered", index, n.delivered)
		}
		if m.Op == roce.RCCompareSwap || m.Op == roce.RCFetchAdd {
			n.executed[index]++
		}
		if m.Op != roce.RCReadRequest {
			n.place[index][uint32(in.PSN)]++
			if n.place[index][uint32(in.PSN)] > 1 && n.p.Recovery != rc.GoBack0 {
				return fmt.Errorf("message %d: PSN %v placed twice", index, in.PSN)
			}
		}
		before := n.rsp.Delivered
		if n.rsp.Commit(&n.p, &hidden, &out) {
			n.send(false, out)
		}
		for ; before != n.rsp.Delivered; before++ {
			m := n.messages[n.delivered]
			if want := max(1, int(m.Bytes+n.p.MTU-1)/int(n.p.MTU)); m.Op != roce.RCReadRequest && len(n.place[n.delivered]) != want {
				return fmt.Errorf("message %d delivered with %d of %d packets", n.delivered, len(n.place[n.delivered]), want)
			}
			n.delivered++
		}
		return nil
	}
	if n.rsp.Refuse(&n.p, n.now, v, &hidden, &out) {
		n.send(false, out)
	}
	return nil
}

func (n *pair) checkEnd() error {
	if n.delivered != uint32(len(n.messages)) {
		return fmt.Errorf("%d of %d messages delivered", n.delivered, len(n.messages))
	}
	for i, m := range n.messages {
		if atomic := m.Op == roce.RCCompareSwap || m.Op == roce.RCFetchAdd; atomic && n.executed[i] != 1 {
			return fmt.Errorf("atomic %d executed %d times", i, n.executed[i])
		}
	}
	return nil
}

func (n *pair) checkFailure() error {
	switch f := n.req.Failure(); {
	case f == rc.RetryExceeded:
		// a broken responder is silent; else it takes all tries
		if n.counts[rc.TimedOut] < int(n.p.RetryCount) {
			return fmt.Errorf("%v after %d timeouts", f, n.counts[rc.TimedOut])
		}
		if n.loss == 0 && n.late == 0 && !n.refused {
			return fmt.Errorf("%v without loss", f)
		}
	case f == rc.RNRRetryExceeded:
		if n.notReady == 0 || n.p.RNRRetry == 7 {
			return fmt.Errorf("%v with RNRRetry %d and share %v", f, n.p.RNRRetry, n.notReady)
		}
	case !n.refused:
		return fmt.Errorf("%v, but nothing was refused", f)
	}
	return nil
}

// TestPair runs requester and responder against each other over a network that
// loses, repeats, delays and reorders, under all settings: each message is
// delivered exactly once and in order, none completes without delivery, atomics
// run once, and every run ends.
func TestPair(t *testing.T) {
	runs := uint64(5000)
	if os.Getenv("WEIR_LONG") != "" {
		runs = 1_000_000
	}
	events := map[rc.Event]int{}
	for seed := range runs {
		n := newPair(seed)
		if err := n.run(); err != nil {
			t.Fatalf("seed %d: %+v, loss %v, duplicate %v, late %v: %v", seed, n.p, n.loss, n.duplicate, n.late, err)
		}
		for e, c := range n.counts {
			events[e] += c
		}
	}
	for e := rc.Nothing; e < rc.Failed; e++ {
		if events[e] == 0 {
			t.Errorf("no run had the event %q", e)
		}
	}
	t.Log(events)
}

// TestSprayed: over a network that reorders and loses nothing, a responder with a
// bitmap takes everything as it comes, and nothing is sent twice: with go-back-N,
// because it never says that something is missing, with selective repeat, as long
// as the allowance for reordering is as large as the reordering.
func TestSprayed(t *testing.T) {
	for seed := range uint64(300) {
		n := newPair(seed)
		n.p.Recovery, n.p.OutOfOrder = rc.GoBackN, true
		if seed%2 == 0 {
			n.p.Recovery = rc.SelectiveRepeat
		}
		n.p.Reorder, n.p.Window, n.p.NakInterval = 120, 120, 0
		n.loss, n.duplicate, n.notReady, n.refuse, n.late = 0, 0, 0, 0, 0.3
		for i := range n.messages {
			n.messages[i].Op = roce.RCWriteOnly // READs and atomics are taken in order only
		}
		n.req.Reset(&n.p, 0xffffe0, make([]rc.Message, 32), make([]uint64, 4))
		n.rsp.Reset(&n.p, 0xffffe0, nil, make([]uint64, 8))
		if err := n.run(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if n.again != 0 || n.counts[rc.SequenceError] != 0 || n.counts[rc.TimedOut] != 0 {
			t.Fatalf("seed %d, %+v: %d packets sent again, events %v", seed, n.p, n.again, n.counts)
		}
	}
}

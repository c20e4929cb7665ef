package switchcore

import (
	"container/heap"

	"weir/units"
)

// harness joins senders, links and one switch: sender i sends frames back to
// back by port i towards port out and obeys the switch's pause frames after
// their way and a reaction time.
type harness struct {
	s     *Switch
	now   units.Time
	queue eventQueue
	seq   int

	rate     units.BitRate
	frame    uint32      // buffered bytes of a data frame
	gap      units.Bytes // preamble and gap
	delay    units.Time  // of each cable, one way
	wait     units.Time  // that a pause frame waits for the frame that has just started
	reaction units.Time  // from the arrival of a pause frame to its effect, its own transmission included
	round    units.Time  // if set, transmission times are cut to multiples of it

	out      uint16
	blocked  bool // the receiver never takes anything
	busy     bool
	senders  []sender
	received int
	dropped  int
	last     units.Time // arrival of the last frame at the receiver
}

type sender struct {
	left   int
	paused bool
	busy   bool
	size   uint32 // 0: harness.frame
}

type event struct {
	at  units.Time
	seq int
	do  func()
}

type eventQueue []event

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(event)) }
func (q *eventQueue) Pop() any {
	old := *q
	e := old[len(old)-1]
	*q = old[:len(old)-1]
	return e
}

func (h *harness) after(d units.Time, do func()) {
	h.seq++
	heap.Push(&h.queue, event{h.now + d, h.seq, do})
}

func (h *harness) wire(bytes uint32) units.Time {
	d := h.rate.TransmitTime(units.Bytes(bytes) + h.gap)
	if h.round != 0 {
		d -= d % h.round
	}
	return d
}

func (h *harness) run() {
	for i := range h.senders {
		h.send(i)
	}
	for len(h.queue) > 0 {
		e := heap.Pop(&h.queue).(event)
		h.now = e.at
		e.do()
	}
}

func (h *harness) send(i int) {
	d := &h.senders[i]
	if d.busy || d.paused || d.left == 0 {
		return
	}
	d.busy = true
	d.left--
	size := d.size
	if size == 0 {
		size = h.frame
	}
	t := h.wire(size)
	h.after(t, func() { d.busy = false; h.send(i) })
	h.after(t+h.delay, func() { h.arrive(uint16(i), size) })
}

func (h *harness) arrive(in uint16, size uint32) {
	o := h.s.Enqueue(h.now, &Entry{Bytes: size, In: in, Out: h.out, Priority: 3, Flags: Capable})
	if o.Flags&Dropped != 0 {
		h.dropped++
	}
	if o.Flags&XOFF != 0 {
		h.pause(in, true)
	}
	h.forward()
}

func (h *harness) pause(port uint16, off bool) {
	h.after(h.wait+h.delay+h.reaction, func() {
		h.senders[port].paused = off
		h.send(int(port))
	})
}

func (h *harness) forward() {
	if h.blocked || h.busy {
		return
	}
	var e Entry
	var o Outcome
	if !h.s.Dequeue(h.now, h.out, &e, &o) {
		return
	}
	h.busy = true
	if o.Flags&XON != 0 {
		h.pause(e.In, false)
	}
	t := h.wire(e.Bytes)
	h.after(t, func() { h.busy = false; h.forward() })
	h.after(t+h.delay, func() { h.received++; h.last = h.now })
}

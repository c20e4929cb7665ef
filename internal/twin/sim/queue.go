package sim

import (
	"math/bits"

	"weir/units"
)

// An event says that something is due at a node. It is a value of 16 bytes:
// what it concerns is found in the arrays of the simulator by the key.
//
// Events at equal times are taken in the order of their keys, never in the
// order of insertion, so that a run does not depend on how the queue works or
// on how nodes are spread over workers. A key that is pending twice at the
// same time is the same event twice, in any order.
type event struct {
	at  units.Time
	key key
}

// A key is node (20 bits), kind (4 bits), index (24 bits), from high to low.
// The 16 lowest bits are free.
type key uint64

const (
	indexBits = 24
	kindBits  = 4
	nodeBits  = 20
	spareBits = 64 - indexBits - kindBits - nodeBits

	maxNodes   = 1 << nodeBits
	maxIndexes = 1 << indexBits
)

// makeKey packs a key. node and index must be below maxNodes and maxIndexes.
func makeKey(node uint32, kind kind, index uint32) key {
	return key(node)<<(64-nodeBits) | key(kind)<<(64-nodeBits-kindBits) | key(index)<<spareBits
}

func (k key) node() uint32  { return uint32(k >> (64 - nodeBits)) }
func (k key) kind() kind    { return kind(k>>(64-nodeBits-kindBits)) & (1<<kindBits - 1) }
func (k key) index() uint32 { return uint32(k>>spareBits) & (maxIndexes - 1) }

func (a event) before(b event) bool {
	return a.at < b.at || a.at == b.at && a.key < b.key
}

const (
	minBuckets = 1 << 12
	maxBuckets = 1 << 17
	maxShift   = 36 // 69 ms

	// crowd is how many places an insertion into the open bucket moves at
	// most; events that would move more go to the late heap.
	crowd = 64

	// tuneEvery is how many events lie between two looks at the bucket width.
	tuneEvery = 1 << 14

	// maxOpen is how many events of one bucket are taken before it is split.
	maxOpen = 1 << 14
)

// A queue holds pending events in a wheel of buckets: bucket b holds the
// events of times b<<shift to (b+1)<<shift-1. Only the bucket that is open is
// sorted. The width follows the density of events (a calendar queue). Events
// beyond the wheel, such as retransmission timers, wait in a heap.
//
// The zero queue is not ready; use newQueue. Pushes and pops do not allocate
// once the arrays have grown to the largest number of pending events.
type queue struct {
	open []event // sorted, from head on
	head int

	cur   uint64 // number of the open bucket
	shift uint
	mask  uint64 // buckets-1

	first []uint32 // per bucket: list of nodes, 0: empty
	used  []uint64 // bitmap of buckets with events
	nodes []node
	free  uint32

	inWheel int
	far     heap // beyond the wheel
	late    heap // belong to the open bucket, which was too crowded

	// Density since the last tuning.
	popped, farPushed uint64
	passed            uint64 // buckets

	heapOnly bool
}

type node struct {
	event
	next uint32
}

// newQueue returns a queue. With heapOnly all events wait in one heap: slower,
// and the reference that the wheel is tested against.
func newQueue(heapOnly bool) *queue {
	q := &queue{shift: 10, heapOnly: heapOnly}
	q.resize(minBuckets)
	q.nodes = make([]node, 1, 1<<10)
	return q
}

func (q *queue) resize(buckets int) {
	q.mask = uint64(buckets - 1)
	q.first = make([]uint32, buckets)
	q.used = make([]uint64, buckets/64)
}

// len returns the number of pending events.
func (q *queue) len() int {
	return len(q.open) - q.head + q.inWheel + len(q.far) + len(q.late)
}

// push adds an event. Its time may lie before the open bucket, but not before
// the last event popped.
func (q *queue) push(at units.Time, k key) {
	b := uint64(at) >> q.shift
	d := int64(b - q.cur)
	switch {
	case q.heapOnly:
		q.far.push(event{at, k})
	case d <= 0:
		q.insertOpen(event{at, k})
	case uint64(d) <= q.mask:
		q.insertBucket(b&q.mask, event{at, k})
	default:
		q.farPushed++
		q.far.push(event{at, k})
	}
}

func (q *queue) insertBucket(slot uint64, e event) {
	n := q.free
	if n != 0 {
		q.free = q.nodes[n].next
	} else {
		n = uint32(len(q.nodes))
		q.nodes = append(q.nodes, node{})
	}
	q.nodes[n] = node{e, q.first[slot]}
	q.first[slot] = n
	q.used[slot>>6] |= 1 << (slot & 63)
	q.inWheel++
}

func (q *queue) insertOpen(e event) {
	i := len(q.open)
	floor := max(q.head, i-crowd)
	for i > floor && e.before(q.open[i-1]) {
		i--
	}
	if i == floor && i > q.head && e.before(q.open[i-1]) {
		q.late.push(e)
		return
	}
	q.open = append(q.open, event{})
	copy(q.open[i+1:], q.open[i:])
	q.open[i] = e
}

// next returns the earliest event without removing it. false: none is left.
func (q *queue) next() (event, bool) {
	if q.head == len(q.open) && len(q.late) == 0 && !q.advance() {
		return event{}, false
	}
	if len(q.late) != 0 && (q.head == len(q.open) || q.late[0].before(q.open[q.head])) {
		return q.late[0], true
	}
	return q.open[q.head], true
}

// drop removes the event that next returned, before any other push.
func (q *queue) drop() {
	if len(q.late) != 0 && (q.head == len(q.open) || q.late[0].before(q.open[q.head])) {
		q.late.pop()
	} else {
		q.head++
		if q.head == maxOpen {
			q.spill()
		}
	}
	q.popped++
}

// spill narrows the buckets in the middle of one that is far too wide.
func (q *queue) spill() {
	last := q.open[q.head-1].at
	rest := append([]event(nil), q.open[q.head:]...)
	q.open, q.head = q.open[:0], 0
	if q.heapOnly || q.shift == 0 {
		q.open = append(q.open, rest...)
		return
	}
	q.cur = uint64(last) >> q.shift
	shift := q.shift - min(q.shift, 8)
	q.rebuild(shift, len(q.first), uint64(last)>>shift)
	for _, e := range rest {
		q.push(e.at, e.key)
	}
}

// advance opens the next bucket with events. false: there is none.
func (q *queue) advance() bool {
	q.open, q.head = q.open[:0], 0
	if q.heapOnly {
		if len(q.far) == 0 {
			return false
		}
		q.open = append(q.open, q.far.pop())
		return true
	}
	if q.popped >= tuneEvery {
		q.tune()
		if len(q.open) != 0 {
			return true
		}
	}
	to, ok := q.nextBucket()
	if len(q.far) != 0 {
		if b := uint64(q.far[0].at) >> q.shift; !ok || b < to {
			to, ok = b, true
		}
	}
	if !ok {
		return false
	}
	q.passed += min(to-q.cur, 64) // a leap to a far timer says nothing about density
	q.cur = to
	slot := to & q.mask
	for n := q.first[slot]; n != 0; {
		nd := &q.nodes[n]
		q.open = append(q.open, nd.event)
		next := nd.next
		nd.next = q.free
		q.free = n
		n = next
	}
	q.inWheel -= len(q.open)
	q.first[slot] = 0
	q.used[slot>>6] &^= 1 << (slot & 63)
	for len(q.far) != 0 && uint64(q.far[0].at)>>q.shift <= to {
		q.open = append(q.open, q.far.pop())
	}
	sortEvents(q.open)
	return true
}

// nextBucket finds the first bucket after the open one that has events.
func (q *queue) nextBucket() (uint64, bool) {
	if q.inWheel == 0 {
		return 0, false
	}
	start := (q.cur + 1) & q.mask
	w := start >> 6
	word := q.used[w] &^ (1<<(start&63) - 1)
	for word == 0 {
		w = (w + 1) & uint64(len(q.used)-1)
		word = q.used[w]
	}
	slot := w<<6 | uint64(bits.TrailingZeros64(word))
	return q.cur + 1 + (slot-start)&q.mask, true
}

// tune adapts the width so that a bucket holds one to four events, and the
// number of buckets so that few events go to the far heap. It is called when
// the open bucket is exhausted.
func (q *queue) tune() {
	popped, far := q.popped, q.farPushed
	passed := max(q.passed, 1)
	q.popped, q.farPushed, q.passed = 0, 0, 0
	shift, buckets := q.shift, len(q.first)
	switch {
	case popped > 16*passed && shift > 0:
		// At most a factor of 16 at a time: density comes in spells.
		shift -= min(4, shift, uint(bits.Len64(popped/passed))-4)
	case popped < 4*passed && shift < maxShift:
		shift += min(4, maxShift-shift, uint(bits.Len64(4*passed/max(popped, 1))))
	}
	if (far > popped/32 || shift < q.shift && far > popped/256) && buckets < maxBuckets {
		buckets = min(maxBuckets, buckets*4)
	}
	if shift != q.shift || buckets != len(q.first) {
		// The last time of the exhausted bucket stays in the bucket that is
		// exhausted now: later buckets may not be skipped.
		q.rebuild(shift, buckets, ((q.cur+1)<<q.shift-1)>>shift)
	}
}

// rebuild moves the events of all buckets to a wheel of another form, whose
// open bucket is number cur. The open bucket is empty before it, and may have
// events after it.
func (q *queue) rebuild(shift uint, buckets int, cur uint64) {
	moved := make([]event, 0, q.inWheel)
	for slot, n := range q.first {
		for n != 0 {
			moved = append(moved, q.nodes[n].event)
			n = q.nodes[n].next
		}
		q.first[slot] = 0
	}
	clear(q.used)
	if buckets != len(q.first) {
		q.resize(buckets)
	}
	q.nodes, q.free, q.inWheel = q.nodes[:1], 0, 0
	q.cur, q.shift = cur, shift
	farPushed := q.farPushed
	for _, e := range moved {
		q.push(e.at, e.key)
	}
	q.farPushed = farPushed
}

// sortEvents sorts in place: by insertion while there are few, as a well-tuned
// wheel has them, else as a heap.
func sortEvents(o []event) {
	if len(o) > 32 {
		heapSort(o)
		return
	}
	for i := 1; i < len(o); i++ {
		e := o[i]
		j := i
		for j > 0 && e.before(o[j-1]) {
			o[j] = o[j-1]
			j--
		}
		o[j] = e
	}
}

func heapSort(o []event) {
	for i := len(o)/2 - 1; i >= 0; i-- {
		siftLast(o, i)
	}
	for n := len(o) - 1; n > 0; n-- {
		o[0], o[n] = o[n], o[0]
		siftLast(o[:n], 0)
	}
}

// siftLast moves o[i] down in a binary heap whose top is the latest event.
func siftLast(o []event, i int) {
	e := o[i]
	for {
		c := 2*i + 1
		if c >= len(o) {
			break
		}
		if c+1 < len(o) && o[c].before(o[c+1]) {
			c++
		}
		if !e.before(o[c]) {
			break
		}
		o[i] = o[c]
		i = c
	}
	o[i] = e
}

// A heap is a four-ary heap of events, earliest on top.
type heap []event

func (h *heap) push(e event) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 {
		p := (i - 1) / 4
		if !e.before(s[p]) {
			break
		}
		s[i] = s[p]
		i = p
	}
	s[i] = e
	*h = s
}

func (h *heap) pop() event {
	s := *h
	top := s[0]
	n := len(s) - 1
	e := s[n]
	s = s[:n]
	*h = s
	if n == 0 {
		return top
	}
	i := 0
	for {
		c := 4*i + 1
		if c >= n {
			break
		}
		least := c
		for j := c + 1; j < min(c+4, n); j++ {
			if s[j].before(s[least]) {
				least = j
			}
		}
		if !s[least].before(e) {
			break
		}
		s[i] = s[least]
		i = least
	}
	s[i] = e
	return top
}

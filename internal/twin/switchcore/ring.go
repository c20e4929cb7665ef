package switchcore

// ring is a queue of packed entries whose length is a power of two.
type ring struct {
	buf     []uint64
	head, n uint32
}

// An entry is packed into 64 bits: 32 of the handle, 18 of the size, 11 of
// the ingress port, 3 of flags.
const (
	bytesShift = 32
	inShift    = 50
	flagShift  = 61
	firstRing  = 8
)

func pack(e *Entry) uint64 {
	return uint64(e.Packet) | uint64(e.Bytes)<<bytesShift | uint64(e.In)<<inShift | uint64(e.Flags)<<flagShift
}

// unpack fills e field by field: a composite literal would be built aside and
// copied, which costs as much as the rest of Dequeue.
func (e *Entry) unpack(v uint64, out uint16, prio uint8) {
	e.Packet = uint32(v)
	e.Bytes = packedBytes(v)
	e.In = packedIn(v)
	e.Out = out
	e.Priority = prio
	e.Flags = EntryFlags(v >> flagShift)
}

func packedBytes(v uint64) uint32 { return uint32(v>>bytesShift) & MaxPacketBytes }
func packedIn(v uint64) uint16    { return uint16(v>>inShift) & (MaxPorts - 1) }

func (r *ring) push(v uint64) {
	if r.n == uint32(len(r.buf)) {
		r.grow()
	}
	r.buf[(r.head+r.n)&uint32(len(r.buf)-1)] = v
	r.n++
}

func (r *ring) first() uint64 { return r.buf[r.head&uint32(len(r.buf)-1)] }

func (r *ring) pop() {
	r.head++
	r.n--
}

func (r *ring) popLast() uint64 {
	r.n--
	return r.buf[(r.head+r.n)&uint32(len(r.buf)-1)]
}

func (r *ring) at(i uint32) uint64 { return r.buf[(r.head+i)&uint32(len(r.buf)-1)] }

func (r *ring) grow() {
	buf := make([]uint64, max(firstRing, 2*len(r.buf)))
	for i := range r.n {
		buf[i] = r.at(i)
	}
	r.buf, r.head = buf, 0
}

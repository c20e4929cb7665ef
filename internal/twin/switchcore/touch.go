package switchcore

// The Touch methods read what Enqueue and Dequeue will need, without effect, so
// that a caller with many packets at hand can have memory fetch it all at once.
// Their results have no meaning.

// TouchPort reads the state of an egress port and of one of its queues.
func (s *Switch) TouchPort(out uint16, prio uint8) uint32 {
	p := &s.ports[out]
	return p.service + p.out[prio&7].bytes
}

// TouchIngress reads the accounting of an ingress port and priority.
func (s *Switch) TouchIngress(in uint16, prio uint8) uint32 {
	return s.ports[in].in[prio&7].bytes
}

// TouchTail reads where the next packet of a queue will be put. TouchPort should
// have been called before.
func (s *Switch) TouchTail(out uint16, prio uint8) uint32 {
	q := &s.ports[out].out[prio&7]
	if len(q.buf) == 0 {
		return 0
	}
	return uint32(q.buf[(q.head+q.n)&uint32(len(q.buf)-1)])
}

// TouchHead reads the first packet of a queue, and the accounting of the port
// that it came in by. TouchPort should have been called before.
func (s *Switch) TouchHead(out uint16, prio uint8) uint32 {
	q := &s.ports[out].out[prio&7]
	if q.n == 0 {
		return 0
	}
	return s.ports[packedIn(q.first())].in[prio&7].bytes
}

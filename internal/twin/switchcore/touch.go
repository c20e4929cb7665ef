package switchcore

// Touch reads what Enqueue will need for a packet from port in to port out,
// without effect, so that a caller with many packets at hand can have memory
// fetch them all at once. The result has no meaning.
func (s *Switch) Touch(in, out uint16, prio uint8) uint32 {
	p, from := &s.ports[out], &s.ports[in]
	q := &p.out[prio&7]
	sum := p.service + from.headroom + from.in[prio&7].bytes
	if len(q.buf) != 0 {
		sum += uint32(q.buf[(q.head+q.n)&uint32(len(q.buf)-1)])
	}
	return sum
}

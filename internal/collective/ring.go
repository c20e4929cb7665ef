package collective

import "weir/units"

// Channel c enters a node at the GPU next to NIC c mod NICs (share.entry). Its
// ring goes on through the node in ascending order and leaves it at the GPU
// before the entry.

// position returns where rank stands in the ring of channel c.
func (s *Schedule) position(rank, c int) int {
	local := int(uint32(rank) % uint32(s.g))
	i := local - s.shares[c].entry
	if i < 0 {
		i += s.g
	}
	return rank - local + i
}

// at is the inverse of position.
func (s *Schedule) at(pos, c int) int {
	i := int(uint32(pos) % uint32(s.g))
	local := i + s.shares[c].entry
	if local >= s.g {
		local -= s.g
	}
	return pos - i + local
}

// wrap brings i, from -n to 2n-1, into 0 to n-1.
func wrap(i, n int) int {
	if i < 0 {
		return i + n
	}
	if i >= n {
		return i - n
	}
	return i
}

// neighbours returns the previous and the next rank of the ring.
func (s *Schedule) neighbours(pos, c int) (prev, next int32) {
	return int32(s.at(wrap(pos-1, s.n), c)), int32(s.at(wrap(pos+1, s.n), c))
}

// ringReduceStep: n-1 operations push partial sums round the ring, the next
// one completes a chunk, n-1 push the sums round. The first chunk that a rank
// sends is the one before its own position, as in NCCL.
func (s *Schedule) ringReduceStep(rank, c, i int) (Step, bool) {
	sh := &s.shares[c]
	n := s.n
	p, ok := s.locate(sh, int64(i), int64(2*n-1), int64(n))
	if !ok {
		return Step{}, false
	}
	pos := s.position(rank, c)
	prev, next := s.neighbours(pos, c)
	st := newStep()
	if p.op > 0 {
		st.Recv[0] = prev
		st.Reduce = p.op < n
		st.Keep = p.op >= n-1
	}
	if p.op < 2*n-2 {
		st.Send[0] = next
	}
	chunk := pos - 1 - p.op // modulo n, down to -2n
	if chunk < 0 {
		chunk += n
	}
	chunk = wrap(chunk, n)
	st.Offset, st.Bytes = sh.chunkSpan(p, int64(chunk))
	return st, true
}

// chunkSpan returns the span of p's slice in chunk number chunk of p's loop.
func (sh *share) chunkSpan(p place, chunk int64) (units.Bytes, uint32) {
	return sh.span(p.loopOff+chunk*p.chunk+p.sliceOff, p.sliceSize)
}

// ringGatherStep: each rank sends its own block and passes on n-2 others.
func (s *Schedule) ringGatherStep(rank, c, i int) (Step, bool) {
	sh := &s.shares[c]
	p, ok := s.locate(sh, int64(i), int64(s.n), 1)
	if !ok {
		return Step{}, false
	}
	pos := s.position(rank, c)
	prev, next := s.neighbours(pos, c)
	st := newStep()
	if p.op > 0 {
		st.Recv[0] = prev
		st.Keep = true
	}
	if p.op < s.n-1 {
		st.Send[0] = next
	}
	s.blockSpan(&st, sh, p, s.at(wrap(pos-p.op, s.n), c))
	return st, true
}

// ringScatterStep: n-1 partial sums pass, the last one that arrives is the own block.
func (s *Schedule) ringScatterStep(rank, c, i int) (Step, bool) {
	sh := &s.shares[c]
	p, ok := s.locate(sh, int64(i), int64(s.n), 1)
	if !ok {
		return Step{}, false
	}
	pos := s.position(rank, c)
	prev, next := s.neighbours(pos, c)
	st := newStep()
	if p.op > 0 {
		st.Recv[0] = prev
		st.Reduce = true
	}
	if p.op < s.n-1 {
		st.Send[0] = next
	} else {
		st.Keep = true
	}
	s.blockSpan(&st, sh, p, s.at(wrap(pos-1-p.op, s.n), c))
	return st, true
}

// blockSpan sets the span of p's slice in the block of rank owner.
func (s *Schedule) blockSpan(st *Step, sh *share, p place, owner int) {
	st.Offset, st.Bytes = sh.span(p.loopOff+p.sliceOff, p.sliceSize)
	st.Offset += units.Bytes(int64(owner) * s.block)
}

// ringBroadcastStep: the root sends, the others keep and pass on, the last
// one of the ring only keeps.
func (s *Schedule) ringBroadcastStep(rank, c, i int) (Step, bool) {
	sh := &s.shares[c]
	p, ok := s.locate(sh, int64(i), 1, 1)
	if !ok {
		return Step{}, false
	}
	pos := s.position(rank, c)
	prev, next := s.neighbours(pos, c)
	fromRoot := wrap(pos-s.position(s.set.Root, c), s.n)
	st := newStep()
	if fromRoot > 0 {
		st.Recv[0] = prev
		st.Keep = true
	}
	if fromRoot < s.n-1 {
		st.Send[0] = next
	}
	st.Offset, st.Bytes = sh.span(p.loopOff+p.sliceOff, p.sliceSize)
	return st, true
}

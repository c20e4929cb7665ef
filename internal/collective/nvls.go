package collective

import "weir/units"

// nvlsStep: the NVLink switch adds and multicasts. Each rank heads its part of
// every channel's share. Inside one node, one step gathers the part's slice
// from all ranks, and spreads the sum to all of them. Between nodes the heads
// of one rail form the same two trees as the tree algorithm's nodes do.
func (s *Schedule) nvlsStep(rank, c, half, i int) (Step, bool) {
	st := newStep()
	sh := s.shares[c]
	if s.set.Op != AllReduce {
		// One node (New allows no other): each rank's own block.
		p, ok := s.locate(&sh, int64(i), 1, 1)
		if !ok || half == 1 {
			return Step{}, false
		}
		s.blockSpan(&st, &sh, p, rank)
		st.Keep = true
		st.Gather = s.set.Op == ReduceScatter
		st.Spread = s.set.Op == AllGather
		return st, true
	}
	local := int64(rank % s.g)
	part := (sh.len + int64(s.g) - 1) / int64(s.g)
	part = (part + grain - 1) / grain * grain
	start := min(local*part, sh.len)
	length := min(part, sh.len-start)
	off := int64(i) * s.chunk
	if off >= length {
		return Step{}, false
	}
	st.Offset = units.Bytes(sh.off + start + off)
	st.Bytes = uint32(min(s.chunk, length-off))
	up, down := s.headPeers(rank, c)
	if !upDown(&st, half, up, down) {
		return Step{}, false
	}
	st.Gather = half == 0
	st.Spread = st.Keep
	return st, true
}

// headPeers returns rank's parent and children among the heads of its rail.
func (s *Schedule) headPeers(rank, c int) (up int32, down [MaxPeers]int32) {
	up, down = NoPeer, [MaxPeers]int32{NoPeer, NoPeer, NoPeer}
	local := rank % s.g
	b := doubleTree(s.k, rank/s.g, s.whichTree(c))
	children := 0
	for _, d := range [...]int{b.down0, b.down1} {
		if d >= 0 {
			down[children] = int32(d*s.g + local)
			children++
		}
	}
	if b.up >= 0 {
		up = int32(b.up*s.g + local)
	}
	return up, down
}

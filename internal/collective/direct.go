package collective

import "weir/units"

// directStep: in round j every rank sends to the rank j further and receives
// from the one j before, counted by nodes first and inside the node second, so
// that each round is a permutation of nodes and of GPUs. Round j runs on
// channel j mod channels; lane 0 of a channel sends, lane 1 receives. Round 0
// is the rank's own block, copied in lane 0.
func (s *Schedule) directStep(rank, c, half, i int) (Step, bool) {
	slices := int((s.block + s.chunk - 1) / s.chunk)
	if slices == 0 {
		return Step{}, false
	}
	round := c + i/slices*s.comm.Channels
	if half == 1 && c == 0 {
		round += s.comm.Channels
	}
	if round >= s.n {
		return Step{}, false
	}
	st := newStep()
	off := int64(i%slices) * s.chunk
	st.Bytes = uint32(min(s.chunk, s.block-off))
	peer := rank
	switch {
	case round == 0:
		st.Keep = true
	case half == 0:
		peer = s.roundPeer(rank, round, 1)
		st.Send[0] = int32(peer)
	default:
		peer = s.roundPeer(rank, round, -1)
		st.Recv[0] = int32(peer)
		st.Keep = true
	}
	st.Offset = units.Bytes(int64(peer)*s.block + off)
	return st, true
}

// roundPeer returns the rank that is round further (sign 1) or before (-1).
func (s *Schedule) roundPeer(rank, round, sign int) int {
	node := wrap(rank/s.g+sign*(round/s.g), s.k)
	local := wrap(rank%s.g+sign*(round%s.g), s.g)
	return node*s.g + local
}

package collective

import "weir/units"

// AppendPeers appends to peers the ranks that a lane of rank sends to, each
// once, and returns the result. Lanes that send nothing append nothing.
func (s *Schedule) AppendPeers(peers []int32, rank, lane int) []int32 {
	c := lane / s.perLane
	half := lane - c*s.perLane
	switch s.form {
	case ringReduce, ringGather, ringScatter, ringBroadcast:
		pos := s.position(rank, c)
		_, next := s.neighbours(pos, c)
		if s.form == ringBroadcast && int(next) == s.set.Root {
			return peers
		}
		return append(peers, next)
	case treeReduce:
		up, down := s.treePeers(rank, c)
		return appendTree(peers, half, up, down)
	case nvls:
		if s.k == 1 {
			return peers
		}
		up, down := s.headPeers(rank, c)
		return appendTree(peers, half, up, down)
	case hierarchical:
		node, local := rank/s.g, rank%s.g
		if s.g > 1 {
			peers = append(peers, int32(node*s.g+wrap(local+1, s.g)))
		}
		if s.k > 1 {
			peers = append(peers, int32(wrap(node+1, s.k)*s.g+local))
		}
	case direct:
		if half == 1 {
			return peers
		}
		for round := c; round < s.n; round += s.comm.Channels {
			if round > 0 {
				peers = append(peers, int32(s.roundPeer(rank, round, 1)))
			}
		}
	}
	return peers
}

// AppendSources appends to sources the ranks that a lane of rank receives
// from, each once, in the order of their first slices, and returns the result.
func (s *Schedule) AppendSources(sources []int32, rank, lane int) []int32 {
	c := lane / s.perLane
	half := lane - c*s.perLane
	switch s.form {
	case ringReduce, ringGather, ringScatter, ringBroadcast:
		if s.form == ringBroadcast && rank == s.set.Root {
			return sources
		}
		prev, _ := s.neighbours(s.position(rank, c), c)
		return append(sources, prev)
	case treeReduce:
		up, down := s.treePeers(rank, c)
		return appendTreeSources(sources, half, up, down)
	case nvls:
		if s.k == 1 {
			return sources
		}
		up, down := s.headPeers(rank, c)
		return appendTreeSources(sources, half, up, down)
	case hierarchical:
		node, local := rank/s.g, rank%s.g
		if s.g > 1 {
			sources = append(sources, int32(node*s.g+wrap(local-1, s.g)))
		}
		if s.k > 1 {
			sources = append(sources, int32(wrap(node-1, s.k)*s.g+local))
		}
	case direct:
		if half == 0 {
			return sources
		}
		for round := c; round < s.n; round += s.comm.Channels {
			if round > 0 {
				sources = append(sources, int32(s.roundPeer(rank, round, -1)))
			}
		}
	}
	return sources
}

func appendTreeSources(sources []int32, half int, up int32, down [MaxPeers]int32) []int32 {
	if half == 0 {
		for _, d := range down {
			if d != NoPeer {
				sources = append(sources, d)
			}
		}
	} else if up != NoPeer {
		sources = append(sources, up)
	}
	return sources
}

// Traffic returns how many bytes of data a lane sends to each of its peers over
// a whole operation, and in how many slices: means over ranks, for estimates.
func (s *Schedule) Traffic(lane int) (bytes units.Bytes, slices float64) {
	if s.form == direct {
		return units.Bytes(s.block), float64(s.SlicesPerPeer())
	}
	if s.form == single {
		return 0, 0
	}
	sh := &s.shares[lane/s.perLane]
	length, n := float64(sh.len), float64(s.n)
	perChunk := float64(sh.full*sh.slices) + float64(sh.lastSlices)
	if sh.last == 0 {
		perChunk = float64(sh.full * sh.slices)
	}
	switch s.form {
	case ringReduce:
		return units.Bytes(length * 2 * (n - 1) / n), perChunk * 2 * (n - 1)
	case ringGather, ringScatter:
		return units.Bytes(length * (n - 1)), perChunk * (n - 1)
	case nvls:
		part := length / float64(s.g)
		return units.Bytes(part), max(1, part/float64(s.chunk))
	case hierarchical: // between nodes
		k := float64(s.k)
		return units.Bytes(length / float64(s.g) * 2 * (k - 1) / k), max(1, perChunk) * 2 * (k - 1)
	}
	return units.Bytes(length), perChunk
}

// SlicesPerPeer returns how many slices each pair of ranks exchanges in
// all_to_all; 0 for operations whose peers exchange more than one block.
func (s *Schedule) SlicesPerPeer() int {
	if s.form != direct {
		return 0
	}
	return int((s.block + s.chunk - 1) / s.chunk)
}

func appendTree(peers []int32, half int, up int32, down [MaxPeers]int32) []int32 {
	if half == 0 && up != NoPeer {
		return append(peers, up)
	}
	if half == 0 || up != NoPeer {
		for _, d := range down {
			if d != NoPeer {
				peers = append(peers, d)
			}
		}
	}
	return peers
}

// NICs returns through which NIC of its node src sends to dst on a channel,
// and which NIC of dst's node receives. Rings and trees keep to the channel's
// NIC at both ends. Hierarchical and NVLSTree keep each GPU at its own NIC.
// all_to_all uses the receiver's NIC number at both ends with PXN (the data
// cross the sender's NVLink first), else each GPU's own.
func (s *Schedule) NICs(src, dst int32, channel int, pxn bool) (from, to int) {
	switch s.form {
	case nvls, hierarchical:
		return s.ownNIC(src, channel), s.ownNIC(dst, channel)
	case direct:
		to = s.ownNIC(dst, channel)
		if pxn {
			return to, to
		}
		return s.ownNIC(src, channel), to
	}
	n := channel % s.comm.NICs
	return n, n
}

// NearGPU returns the local rank next to a NIC of its node.
func (s *Schedule) NearGPU(nic int) int { return nic * s.g / s.comm.NICs % s.g }

// ownNIC returns a NIC next to rank's GPU; channels take turns where a GPU
// has several.
func (s *Schedule) ownNIC(rank int32, channel int) int {
	local := int(rank) % s.g
	first := local * s.comm.NICs / s.g
	n := (local+1)*s.comm.NICs/s.g - first
	if n > 1 {
		first += channel % n
	}
	return first
}

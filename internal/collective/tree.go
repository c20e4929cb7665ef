package collective

// branch is one node of a binary tree: its parent and its two children, -1
// where there is none. second tells which child of its parent it is.
type branch struct {
	up, down0, down1 int
	second           bool
}

// binaryTree returns node r of the binary tree over 0 to n-1 whose shape is
// read off the bits of r: odd numbers are leaves, and the lowest set bit of r
// is the height of r's subtree. 0 is the root and has one child.
func binaryTree(n, r int) branch {
	if r == 0 {
		top := -1
		for step := 1; step < n; step <<= 1 {
			top = step
		}
		return branch{up: -1, down0: -1, down1: top, second: false}
	}
	low := r & -r
	b := branch{up: r&^low | low<<1, down0: -1, down1: -1}
	if b.up >= n {
		b.up = r &^ low
	}
	b.second = r > b.up
	if low == 1 {
		return b
	}
	b.down0 = r - low/2
	for step := low / 2; step > 0; step /= 2 {
		if r+step < n {
			b.down1 = r + step
			break
		}
	}
	return b
}

// doubleTree returns node r of the first (0) or the second (1) of NCCL's two
// complementary trees (Sanders, Speck, Traeff 2009). The second one is the
// first mirrored if n is even, else shifted by one, so that the leaves of one
// are inner nodes of the other.
func doubleTree(n, r, which int) branch {
	if which == 0 {
		return binaryTree(n, r)
	}
	image := func(x int) int { return n - 1 - x }
	back := image
	if n%2 == 1 {
		image = func(x int) int { return wrap(x-1, n) }
		back = func(x int) int { return wrap(x+1, n) }
	}
	b := binaryTree(n, image(r))
	for _, x := range []*int{&b.up, &b.down0, &b.down1} {
		if *x >= 0 {
			*x = back(*x)
		}
	}
	return b
}

// whichTree: NCCL builds each channel twice, the copy with the second tree.
func (s *Schedule) whichTree(c int) int {
	if s.comm.Channels > 1 && c >= (s.comm.Channels+1)/2 {
		return 1
	}
	return 0
}

// treePeers returns the parent and the children of rank in the tree of
// channel c. Inside a node the ranks form a chain, whose first rank has the
// link to the parent node. First children of a node hang on the second rank
// of its chain, second children on the first ("balanced tree" in NCCL).
func (s *Schedule) treePeers(rank, c int) (up int32, down [MaxPeers]int32) {
	up, down = NoPeer, [MaxPeers]int32{NoPeer, NoPeer, NoPeer}
	pos := s.position(rank, c)
	node, i := pos/s.g, pos%s.g
	children := 0
	add := func(r int) {
		down[children] = int32(r)
		children++
	}
	if i < s.g-1 {
		add(s.at(pos+1, c))
	}
	if i > 0 {
		up = int32(s.at(pos-1, c))
	}
	if i > 1 {
		return up, down
	}
	b := doubleTree(s.k, node, s.whichTree(c))
	firstChildren := min(1, s.g-1)
	if i == firstChildren && b.down0 >= 0 {
		add(s.at(b.down0*s.g, c))
	}
	if i == 0 {
		if b.down1 >= 0 {
			add(s.at(b.down1*s.g, c))
		}
		if b.up >= 0 {
			seat := firstChildren
			if b.second {
				seat = 0
			}
			up = int32(s.at(b.up*s.g+seat, c))
		}
	}
	return up, down
}

// treeStep: lane 0 of a channel sums towards the root, lane 1 hands the sum
// down. The root does both in lane 0.
func (s *Schedule) treeStep(rank, c, half, i int) (Step, bool) {
	sh := &s.shares[c]
	p, ok := s.locate(sh, int64(i), 1, 1)
	if !ok {
		return Step{}, false
	}
	up, down := s.treePeers(rank, c)
	st := newStep()
	st.Offset, st.Bytes = sh.span(p.loopOff+p.sliceOff, p.sliceSize)
	return st, upDown(&st, half, up, down)
}

// upDown fills in the peers of a step of a tree, or returns false if the rank
// has no part in this half.
func upDown(st *Step, half int, up int32, down [MaxPeers]int32) bool {
	switch {
	case half == 0:
		st.Recv = down
		st.Reduce = down[0] != NoPeer
		if up == NoPeer {
			st.Keep = true
			st.Send = down
		} else {
			st.Send[0] = up
		}
	case up == NoPeer:
		return false
	default:
		st.Recv[0] = up
		st.Keep = true
		st.Send = down
	}
	return true
}

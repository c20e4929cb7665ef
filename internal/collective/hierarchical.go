package collective

// hierarchicalStep: a loop covers n = g x k chunks. First k reduce-scatters
// over the g ranks of the node leave each rank with k chunks of the node's sum; then
// a ring over the k nodes on each rail completes them; then k all-gathers
// spread them in the node. Phases follow one another in one lane; channels
// overlap.
func (s *Schedule) hierarchicalStep(rank, c, i int) (Step, bool) {
	sh := &s.shares[c]
	g, k := s.g, s.k
	inner, outer := g, 2*k-1 // operations of an inner ring, of the outer ring
	if g == 1 {
		inner = 0
	}
	if k == 1 {
		outer = 0
	}
	p, ok := s.locate(sh, int64(i), int64(2*k*inner+outer), int64(s.n))
	if !ok {
		return Step{}, false
	}
	node, local := rank/g, rank%g
	st := newStep()
	var part, piece int // which rank of the node, which chunk of its k
	switch op := p.op; {
	case op < k*inner:
		piece, op = op/inner, op%inner
		part = wrap(wrap(local-1-op, g), g)
		s.inner(&st, node, local, op)
		st.Reduce = op > 0
		st.Keep = op == g-1
	case op < k*inner+outer:
		op -= k * inner
		part = local
		piece = node - 1 - op
		if piece < 0 {
			piece += k
		}
		piece = wrap(piece, k)
		if op > 0 {
			st.Recv[0] = int32(wrap(node-1, k)*g + local)
			st.Reduce = op < k
			st.Keep = op >= k-1
		}
		if op < 2*k-2 {
			st.Send[0] = int32(wrap(node+1, k)*g + local)
		}
	default:
		op -= k*inner + outer
		piece, op = op/inner, op%inner
		part = wrap(local-op, g)
		s.inner(&st, node, local, op)
		st.Keep = op > 0
	}
	st.Offset, st.Bytes = sh.chunkSpan(p, int64(part*k+piece))
	return st, true
}

// inner sets the peers of operation op of a ring inside a node.
func (s *Schedule) inner(st *Step, node, local, op int) {
	if op > 0 {
		st.Recv[0] = int32(node*s.g + wrap(local-1, s.g))
	}
	if op < s.g-1 {
		st.Send[0] = int32(node*s.g + wrap(local+1, s.g))
	}
}

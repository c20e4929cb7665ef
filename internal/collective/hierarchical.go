package collective

import "weir/units"

// hierarchicalLoop is the shape of one loop of a share. Each of the g ranks of
// a node stands for a part of size bytes. Reduce-scatter and all-gather inside
// the node take it in rounds of inner bytes, the ring between nodes in k
// pieces of outer bytes.
type hierarchicalLoop struct {
	off, size               int64
	rounds                  int64
	inner, outer            int64
	innerSlices, innerSlice int64
	outerSlices, outerSlice int64
	innerSteps, outerSteps  int64 // of one phase
	innerOps, outerOps      int64
}

func (s *Schedule) hierarchicalLoop(sh *share, loop int64) (h hierarchicalLoop) {
	g, k := int64(s.g), int64(s.k)
	perLoop := g * k * s.chunk
	h.off = loop * perLoop
	h.size = k * s.chunk
	if loop >= sh.full {
		h.size = ceilTo(sh.len-h.off, g)
	}
	h.rounds = (h.size + s.chunk - 1) / s.chunk
	h.inner = ceilTo(h.size, max(h.rounds, 1))
	h.outer = ceilTo(h.size, k)
	h.innerSlices, h.innerSlice = s.cut(h.inner)
	h.outerSlices, h.outerSlice = s.cut(h.outer)
	if g > 1 {
		h.innerOps = g
	}
	if k > 1 {
		h.outerOps = 2*k - 1
	}
	h.innerSteps = h.rounds * h.innerOps * h.innerSlices
	h.outerSteps = h.outerOps * h.outerSlices
	return h
}

// ceilTo returns the least multiple of a grain of which parts make up n.
func ceilTo(n, parts int64) int64 {
	per := (n + parts - 1) / parts
	return (per + grain - 1) / grain * grain
}

// hierarchicalStep: reduce-scatter over the g ranks of the node leaves each
// rank with its part of the node's sum; a ring over the k nodes on each rail
// completes it; all-gather spreads it in the node. The phases follow one
// another in one lane; channels overlap.
func (s *Schedule) hierarchicalStep(rank, c, step int) (Step, bool) {
	sh := &s.shares[c]
	i := int64(step)
	loop := int64(0)
	h := s.hierarchicalLoop(sh, 0)
	if sh.full > 0 {
		per := 2*h.innerSteps + h.outerSteps
		loop = min(i/per, sh.full)
		i -= loop * per
		if loop == sh.full {
			h = s.hierarchicalLoop(sh, loop)
		} else {
			h.off = loop * int64(s.n) * s.chunk
		}
	}
	if h.off >= sh.len || i >= 2*h.innerSteps+h.outerSteps {
		return Step{}, false
	}
	node, local := rank/s.g, rank%s.g
	st := newStep()
	switch {
	case i < h.innerSteps:
		op := s.inner(&st, sh, &h, node, local, i, -1)
		st.Reduce = op > 0
		st.Keep = op == s.g-1
	case i < h.innerSteps+h.outerSteps:
		s.outer(&st, sh, &h, node, local, i-h.innerSteps)
	default:
		op := s.inner(&st, sh, &h, node, local, i-h.innerSteps-h.outerSteps, 0)
		st.Keep = op > 0
	}
	return st, true
}

// inner sets peers and span of step i of a ring inside a node, whose operation
// op handles the part of local+shift-op, and returns op.
func (s *Schedule) inner(st *Step, sh *share, h *hierarchicalLoop, node, local int, i int64, shift int) int {
	slice := i % h.innerSlices
	i /= h.innerSlices
	op, round := int(i%h.innerOps), i/h.innerOps
	if op > 0 {
		st.Recv[0] = int32(node*s.g + wrap(local-1, s.g))
	}
	if op < s.g-1 {
		st.Send[0] = int32(node*s.g + wrap(local+1, s.g))
	}
	part := wrap(wrap(local+shift-op, s.g), s.g)
	st.Offset, st.Bytes = h.span(sh, part, round*h.inner, h.inner, slice, h.innerSlice)
	return op
}

// outer sets peers and span of step i of the ring between nodes.
func (s *Schedule) outer(st *Step, sh *share, h *hierarchicalLoop, node, local int, i int64) {
	slice := i % h.outerSlices
	op := int(i / h.outerSlices)
	if op > 0 {
		st.Recv[0] = int32(wrap(node-1, s.k)*s.g + local)
		st.Reduce = op < s.k
		st.Keep = op >= s.k-1
	}
	if op < 2*s.k-2 {
		st.Send[0] = int32(wrap(node+1, s.k)*s.g + local)
	}
	piece := node - 1 - op // modulo k, down to -2k
	if piece < 0 {
		piece += s.k
	}
	piece = wrap(piece, s.k)
	st.Offset, st.Bytes = h.span(sh, local, int64(piece)*h.outer, h.outer, slice, h.outerSlice)
}

// span returns the span of a slice of the chunk at off in a part.
func (h *hierarchicalLoop) span(sh *share, part int, off, chunk, slice, first int64) (units.Bytes, uint32) {
	end := min(off+chunk, h.size)
	if slice == 1 {
		off += first
	} else {
		end = min(end, off+first)
	}
	off, end = min(off, h.size), min(end, h.size)
	base := h.off + int64(part)*h.size
	from, to := min(base+off, sh.len), min(base+max(end, off), sh.len)
	return units.Bytes(sh.off + from), uint32(to - from)
}

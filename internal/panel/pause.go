package panel

import (
	"cmp"
	"slices"
)

// A Pauser is a node that holds others back, with those whom it holds back in
// turn: the branches of the pause tree. The root is where pause begins.
type Pauser struct {
	Node  string
	Share float64   // the largest share of time that its parent was held back by it, or it its children
	Port  string    // the held-back port towards the parent; "" at the root
	Held  []*Pauser // whom it holds back, longest first
	// Loop marks a node that holds itself back over others: a deadlock.
	Loop bool
}

// Pauses returns the trees of who pauses whom, the one that holds back longest
// first. Pauses below floor are left out. A node that pauses and is not paused
// itself is a root; where all are, the one that pauses longest stands for the
// loop.
func Pauses(f *Fabric, s *Snapshot, floor float64) []*Pauser {
	t := pauseTree{f: f, held: map[int32][]pauseEdge{}, paused: map[int32]float64{}, seen: map[int32]bool{}}
	for e := range s.Ends() {
		share := float64(s.Values[PauseRx][e])
		if !(share > floor) || f.Ends[e].Node < 0 {
			continue
		}
		by, whom := f.Ends[Peer(e)].Node, f.Ends[e].Node
		t.held[by] = append(t.held[by], pauseEdge{whom, e, share})
		t.paused[whom] = max(t.paused[whom], share)
	}
	var pausers []int32
	for by, edges := range t.held {
		t.held[by] = longestEach(edges)
		if by >= 0 {
			pausers = append(pausers, by)
		}
	}
	slices.SortFunc(pausers, func(a, b int32) int {
		return cmp.Or(cmp.Compare(t.held[b][0].share, t.held[a][0].share), cmp.Compare(a, b))
	})
	var roots []*Pauser
	for _, free := range [...]bool{true, false} {
		for _, n := range pausers {
			if _, held := t.paused[n]; held == free || t.seen[n] {
				continue
			}
			root := t.grow(n, "", t.held[n][0].share, map[int32]bool{})
			root.Loop = !free
			roots = append(roots, root)
		}
	}
	return roots
}

type pauseEdge struct {
	whom  int32
	end   int // of whom
	share float64
}

// longestEach keeps, of several cables between two nodes, the one paused
// longest, and sorts.
func longestEach(edges []pauseEdge) []pauseEdge {
	slices.SortFunc(edges, func(a, b pauseEdge) int {
		return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.end, b.end))
	})
	var out []pauseEdge
	for _, e := range edges {
		if !slices.ContainsFunc(out, func(o pauseEdge) bool { return o.whom == e.whom }) {
			out = append(out, e)
		}
	}
	return out
}

type pauseTree struct {
	f      *Fabric
	held   map[int32][]pauseEdge // by pauser
	paused map[int32]float64
	seen   map[int32]bool
}

// grow follows pauses away from their root. above holds the nodes on the way.
func (t *pauseTree) grow(n int32, port string, share float64, above map[int32]bool) *Pauser {
	p := &Pauser{Node: t.f.Nodes[n].Name, Port: port, Share: share, Loop: above[n]}
	if above[n] || t.seen[n] {
		return p
	}
	t.seen[n] = true
	above[n] = true
	for _, e := range t.held[n] {
		p.Held = append(p.Held, t.grow(e.whom, t.f.PortName(e.end), e.share, above))
	}
	delete(above, n)
	return p
}

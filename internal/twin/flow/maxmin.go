package flow

import (
	"container/heap"
	"math"
)

// demand is how much of a resource a group takes for each byte of its rate.
type demand struct {
	resource int32
	weight   float32
}

// group is a set of transfers that go at one rate, because each of them waits
// for the others: the pipes of a ring or tree on one channel, or one flow alone.
type group struct {
	demands []demand
	limit   float64 // most bytes a second, by the hosts
	bytes   float64 // left
	rate    float64
	room    float64 // the most that it could have had while its hosts were the limit
	sent    float64 // bytes that it had
	spent   float64 // seconds under way
	done    bool
}

// solver finds max-min fair rates. Its room is used again.
type solver struct {
	capacity []float64 // bytes a second, by resource
	left     []float64 // not taken by groups whose rate is settled
	weight   []float64 // of groups whose rate is open
	all      []float64 // of all groups
	users    [][]int32 // groups by resource
	touched  []int32
	heap     levels
}

func newSolver(capacity []float64) *solver {
	n := len(capacity)
	return &solver{capacity: capacity, left: make([]float64, n), weight: make([]float64, n), all: make([]float64, n), users: make([][]int32, n)}
}

// level is the rate at which a resource fills up; group: at which a group has
// reached its own limit (resource -1).
type level struct {
	rate     float64
	resource int32
	group    int32
}

type levels []level

func (l levels) Len() int { return len(l) }
func (l levels) Less(i, k int) bool {
	if l[i].rate != l[k].rate {
		return l[i].rate < l[k].rate
	}
	if l[i].resource != l[k].resource {
		return l[i].resource < l[k].resource
	}
	return l[i].group < l[k].group
}
func (l levels) Swap(i, k int) { l[i], l[k] = l[k], l[i] }
func (l *levels) Push(x any)   { *l = append(*l, x.(level)) }
func (l *levels) Pop() any {
	old := *l
	x := old[len(old)-1]
	*l = old[:len(old)-1]
	return x
}

// solve sets the rates of the groups that active lists: all rise together, and
// those at a resource that is full, or at their own limit, stay (progressive
// filling; Bertsekas and Gallager, Data Networks, section 6.5.2).
func (s *solver) solve(groups []group, active []int32) {
	for _, r := range s.touched {
		s.users[r] = s.users[r][:0]
	}
	s.touched = s.touched[:0]
	s.heap = s.heap[:0]
	for _, id := range active {
		g := &groups[id]
		g.rate = -1
		for _, d := range g.demands {
			if len(s.users[d.resource]) == 0 {
				s.touched = append(s.touched, d.resource)
				s.left[d.resource], s.weight[d.resource] = s.capacity[d.resource], 0
			}
			s.users[d.resource] = append(s.users[d.resource], id)
			s.weight[d.resource] += float64(d.weight)
		}
		if !math.IsInf(g.limit, 1) {
			s.heap = append(s.heap, level{g.limit, -1, id})
		}
	}
	for _, r := range s.touched {
		s.all[r] = s.weight[r]
		s.heap = append(s.heap, level{s.left[r] / s.weight[r], r, 0})
	}
	heap.Init(&s.heap)
	for s.heap.Len() > 0 {
		top := s.heap[0]
		if top.resource < 0 {
			heap.Pop(&s.heap)
			if g := &groups[top.group]; g.rate < 0 {
				s.settle(g, top.rate)
			}
			continue
		}
		r := top.resource
		if s.weight[r] < 1e-6 { // all its users are settled
			heap.Pop(&s.heap)
			continue
		}
		if now := math.Max(0, s.left[r]) / s.weight[r]; now > top.rate*(1+1e-12) {
			s.heap[0].rate = now // others have settled below it
			heap.Fix(&s.heap, 0)
			continue
		}
		heap.Pop(&s.heap)
		for _, id := range s.users[r] {
			if g := &groups[id]; g.rate < 0 {
				s.settle(g, top.rate)
			}
		}
	}
	for _, id := range active {
		if g := &groups[id]; g.rate < 0 { // crosses nothing that is limited
			g.rate = g.limit
		}
	}
}

func (s *solver) settle(g *group, rate float64) {
	g.rate = rate
	for _, d := range g.demands {
		s.left[d.resource] -= rate * float64(d.weight)
		s.weight[d.resource] -= float64(d.weight)
	}
}

// room returns the rate at which a group's data cross the fabric while it
// sends: its own, and an equal part of what nobody else takes of the tightest
// of its resources.
func (s *solver) room(g *group) float64 {
	best := math.Inf(1)
	for _, d := range g.demands {
		best = math.Min(best, g.rate+math.Max(0, s.left[d.resource])/s.all[d.resource])
	}
	if math.IsInf(best, 1) {
		return g.rate
	}
	return best
}

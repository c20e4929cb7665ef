package flow

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// Three groups on two links by hand: a and b share link 0 (10), b and c link 1
// (16): a and b get 5, c the 11 that are left. With a limit of 2 on a, b gets 8
// and c 8. A group with two pipes on link 0 and one other: a third each.
func TestMaxMin(t *testing.T) {
	inf := math.Inf(1)
	on := func(resources ...int32) (d []demand) {
		for _, r := range resources {
			d = append(d, demand{r, 1})
		}
		return d
	}
	for _, test := range []struct {
		groups []group
		want   []float64
	}{
		{[]group{{demands: on(0), limit: inf}, {demands: on(0, 1), limit: inf}, {demands: on(1), limit: inf}}, []float64{5, 5, 11}},
		{[]group{{demands: on(0), limit: 2}, {demands: on(0, 1), limit: inf}, {demands: on(1), limit: inf}}, []float64{2, 8, 8}},
		{[]group{{demands: []demand{{0, 2}}, limit: inf}, {demands: on(0, 1), limit: inf}}, []float64{10. / 3, 10. / 3}},
	} {
		s := newSolver([]float64{10, 16})
		active := []int32{0, 1, 2}[:len(test.groups)]
		s.solve(test.groups, active)
		for i, want := range test.want {
			if got := test.groups[i].rate; math.Abs(got-want) > 1e-9 {
				t.Errorf("group %d: %v, want %v", i, got, want)
			}
		}
	}
}

// What makes rates max-min fair: no link carries more than it can, and each
// group has its limit or crosses a full link on which nobody has more than it
// (Bertsekas and Gallager, Data Networks, section 6.5.2).
func TestMaxMinProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		links := rapid.IntRange(1, 8).Draw(t, "links")
		capacity := make([]float64, links)
		for i := range capacity {
			capacity[i] = float64(rapid.IntRange(1, 100).Draw(t, "capacity"))
		}
		groups := make([]group, rapid.IntRange(1, 12).Draw(t, "groups"))
		var active []int32
		for i := range groups {
			active = append(active, int32(i))
			groups[i].limit = math.Inf(1)
			if rapid.Bool().Draw(t, "limited") {
				groups[i].limit = float64(rapid.IntRange(1, 50).Draw(t, "limit"))
			}
			first := rapid.IntRange(0, links-1).Draw(t, "first")
			for r := first; r < links; r += rapid.IntRange(1, 3).Draw(t, "stride") {
				groups[i].demands = append(groups[i].demands, demand{int32(r), float32(rapid.IntRange(1, 3).Draw(t, "weight"))})
			}
		}
		s := newSolver(capacity)
		s.solve(groups, active) // twice: its room is used again
		s.solve(groups, active)
		load := make([]float64, links)
		for _, g := range groups {
			for _, d := range g.demands {
				load[d.resource] += g.rate * float64(d.weight)
			}
		}
		const slack = 1e-6
		for r := range load {
			if load[r] > capacity[r]*(1+slack) {
				t.Fatalf("link %d carries %v of %v", r, load[r], capacity[r])
			}
		}
		for i, g := range groups {
			held := g.rate >= g.limit*(1-slack)
			for _, d := range g.demands {
				if load[d.resource] < capacity[d.resource]*(1-slack) {
					continue
				}
				most := true
				for _, o := range groups {
					for _, e := range o.demands {
						most = most && (e.resource != d.resource || o.rate <= g.rate*(1+slack))
					}
				}
				held = held || most
			}
			if !held {
				t.Fatalf("group %d could have more than %v", i, g.rate)
			}
		}
	})
}

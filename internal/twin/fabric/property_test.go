package fabric

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/cluster"
)

// valleyFree returns the length of the shortest path from each node to host
// port dst that goes up, then down, and never up again, by search over (node,
// has turned down), backwards from dst. -1: none. It shares nothing with the
// code under test.
func valleyFree(c *cluster.Cluster, dead map[cluster.LinkID]bool, dst cluster.PortID) []int {
	type state struct {
		node   cluster.NodeID
		rising bool // the path from here may still begin by going up
	}
	dist := map[state]int{}
	goal := c.Ports[dst].Node
	todo := []state{{goal, false}}
	dist[todo[0]] = 0
	for len(todo) > 0 {
		s := todo[0]
		todo = todo[1:]
		for _, p := range c.Nodes[s.node].Ports {
			if dead[c.Ports[p].Link] || s.node == goal && p != dst {
				continue
			}
			from := c.Ports[c.Ports[p].Peer].Node
			if c.Nodes[from].Kind == cluster.HostNode {
				continue
			}
			var prev state
			if c.Nodes[from].Tier > c.Nodes[s.node].Tier { // from goes down to s
				if s.rising {
					continue
				}
				prev = state{from, false}
			} else {
				prev = state{from, true}
			}
			if _, ok := dist[prev]; !ok {
				dist[prev] = dist[s] + 1
				todo = append(todo, prev)
			}
		}
	}
	out := make([]int, len(c.Nodes))
	for i := range out {
		out[i] = -1
		for _, rising := range []bool{false, true} {
			if d, ok := dist[state{cluster.NodeID(i), rising}]; ok && (out[i] < 0 || d < out[i]) {
				out[i] = d
			}
		}
	}
	return out
}

// shortest is the same without tiers: plain breadth-first search.
func shortest(c *cluster.Cluster, dead map[cluster.LinkID]bool, dst cluster.PortID) []int {
	out := make([]int, len(c.Nodes))
	for i := range out {
		out[i] = -1
	}
	goal := c.Ports[dst].Node
	out[goal] = 0
	todo := []cluster.NodeID{goal}
	for len(todo) > 0 {
		n := todo[0]
		todo = todo[1:]
		for _, p := range c.Nodes[n].Ports {
			from := c.Ports[c.Ports[p].Peer].Node
			if dead[c.Ports[p].Link] || n == goal && p != dst || c.Nodes[from].Kind == cluster.HostNode || out[from] >= 0 {
				continue
			}
			out[from] = out[n] + 1
			todo = append(todo, from)
		}
	}
	return out
}

// kill draws dead links.
func kill(t *rapid.T, b *builder) ([]cluster.LinkID, map[cluster.LinkID]bool) {
	var list []cluster.LinkID
	dead := map[cluster.LinkID]bool{}
	for range rapid.IntRange(0, len(b.c.Links)/3).Draw(t, "failures") {
		l := cluster.LinkID(rapid.IntRange(0, len(b.c.Links)-1).Draw(t, "dead"))
		list, dead[l] = append(list, l), true
	}
	return list, dead
}

// verifyRoutes checks every switch's next hops to every host port against the
// distances: exactly those ports whose other end is one hop nearer.
func verifyRoutes(t *rapid.T, b *builder, f *Fabric, dead map[cluster.LinkID]bool, oracle func(*cluster.Cluster, map[cluster.LinkID]bool, cluster.PortID) []int) {
	c := &b.c
	for dst := range c.Ports {
		dst := cluster.PortID(dst)
		if c.Nodes[c.Ports[dst].Node].Kind != cluster.HostNode {
			continue
		}
		dist := oracle(c, dead, dst)
		for n := range c.Nodes {
			if c.Nodes[n].Kind != cluster.SwitchNode {
				continue
			}
			hops := f.NextHops(cluster.NodeID(n), dst)
			if (len(hops) > 0) != (dist[n] > 0) {
				t.Fatalf("%s to %s: next hops %v, distance %d", c.Nodes[n].Name, f.portName(dst), hops, dist[n])
			}
			if err := walk(c, f, cluster.NodeID(n), dst, dist[n], false); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// walk follows every next hop and checks that each way has the given length
// and never goes up after it went down.
func walk(c *cluster.Cluster, f *Fabric, n cluster.NodeID, dst cluster.PortID, left int, turned bool) error {
	for _, k := range f.NextHops(n, dst) {
		p := c.Nodes[n].Ports[k]
		to := c.Ports[c.Ports[p].Peer].Node
		if to == c.Ports[dst].Node {
			if left != 1 {
				return fmt.Errorf("%s reaches %s with %d hops left", c.Nodes[n].Name, f.portName(dst), left)
			}
			continue
		}
		down := c.Nodes[to].Tier < c.Nodes[n].Tier
		if left <= 1 || !f.plain && turned && !down {
			return fmt.Errorf("%s to %s by %s: %d hops left, turned down %v", c.Nodes[n].Name, f.portName(dst), c.Nodes[to].Name, left, turned)
		}
		if err := walk(c, f, to, dst, left-1, turned || down); err != nil {
			return err
		}
	}
	return nil
}

func TestRoutesAreShortestAndValleyFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b *builder
		if rapid.Bool().Draw(t, "three tiers") {
			b = fatTree(4)
		} else {
			b = leafSpine(rapid.IntRange(1, 4).Draw(t, "leaves"), rapid.IntRange(1, 2).Draw(t, "hosts"), rapid.IntRange(1, 3).Draw(t, "spines"), rapid.IntRange(1, 2).Draw(t, "parallel"))
		}
		list, dead := kill(t, b)
		f, err := New(&b.c)
		if err != nil {
			t.Fatal(err)
		}
		verifyRoutes(t, b, f.WithDown(list...), dead, valleyFree)
	})
}

func TestExplicitRoutesAreShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBuilder("explicit")
		n := rapid.IntRange(1, 8).Draw(t, "switches")
		for i := range n {
			b.node(fmt.Sprintf("switch-%d", i), 0)
		}
		for range rapid.IntRange(0, 14).Draw(t, "links") {
			x, y := rapid.IntRange(0, n-1).Draw(t, "x"), rapid.IntRange(0, n-1).Draw(t, "y")
			if x != y {
				b.link(cluster.NodeID(x), cluster.NodeID(y))
			}
		}
		for i := range n {
			b.link(b.host(fmt.Sprintf("host-%d", i)), cluster.NodeID(i))
		}
		list, dead := kill(t, b)
		f, err := New(&b.c)
		if err != nil {
			t.Fatal(err)
		}
		verifyRoutes(t, b, f.WithDown(list...), dead, shortest)
	})
}

// Tables grow with leaves x switches, not with hosts x switches: 16,384 NICs
// share 512 rows of 544 switches (1.1 MB), and few groups are distinct.
func TestTablesAreShared(t *testing.T) {
	b := leafSpine(512, 32, 32, 1)
	f := b.fabric(t)
	if len(f.table) != 512*544 {
		t.Errorf("table of %d entries, want 278528", len(f.table))
	}
	// One group per port number in use as a single next hop, and the uplinks of a leaf.
	if len(f.groups.spans) > 600 {
		t.Errorf("%d groups", len(f.groups.spans))
	}
}

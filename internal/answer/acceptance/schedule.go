package acceptance

import "weir/internal/cluster"

// A Test is a run of a bandwidth or latency tool from one NIC to another.
type Test struct{ From, To cluster.NICRef }

// PairTests lists the tests between hosts, in rounds order: with crossed false
// each NIC with those of the same rail, else every NIC with every other. hosts
// are indexes into the cluster's hosts; most bounds the rounds (see Rounds).
func PairTests(c *cluster.Cluster, hosts []int, most int, crossed bool) []Test {
	var tests []Test
	for _, round := range Rounds(len(hosts), most) {
		for _, pair := range round {
			a, b := hosts[pair[0]], hosts[pair[1]]
			for i := range c.Hosts[a].NICs {
				for k := range c.Hosts[b].NICs {
					if crossed || c.Hosts[a].NICs[i].Rail == c.Hosts[b].NICs[k].Rail {
						tests = append(tests, Test{cluster.NICRef{Host: int32(a), NIC: int32(i)}, cluster.NICRef{Host: int32(b), NIC: int32(k)}})
					}
				}
			}
		}
	}
	return tests
}

// Steps puts tests into steps that run at once. In a step no host is used
// twice, and a switch that hosts attach to carries at most one test to or from
// another such switch, so that no two tests can meet on a link between
// switches, wherever the hash sends them: a slow result is then a slow part, not
// two tests that shared a link.
//
// Each test goes into the first step that has room for it.
func Steps(c *cluster.Cluster, tests []Test) [][]Test {
	var steps [][]Test
	var busy []map[cluster.NodeID]bool // hosts and switches in use, by step
	full := 0                          // steps before this one have been passed over often
	leaf := func(r cluster.NICRef) cluster.NodeID {
		port := &c.Ports[c.Hosts[r.Host].NICs[r.NIC].Ports[0]]
		return c.Ports[port.Peer].Node
	}
	for _, t := range tests {
		nodes := []cluster.NodeID{c.Hosts[t.From.Host].Node, c.Hosts[t.To.Host].Node}
		if a, b := leaf(t.From), leaf(t.To); a != b {
			nodes = append(nodes, a, b)
		}
		at := full
		for ; at < len(steps); at++ {
			free := true
			for _, n := range nodes {
				free = free && !busy[at][n]
			}
			if free {
				break
			}
		}
		if at == len(steps) {
			steps, busy = append(steps, nil), append(busy, map[cluster.NodeID]bool{})
		}
		steps[at] = append(steps[at], t)
		for _, n := range nodes {
			busy[at][n] = true
		}
		// A bounded search: with very many tests the oldest steps are full.
		full = max(full, len(steps)-maxOpenSteps)
	}
	return steps
}

// AtOnce puts tests into steps that load the fabric: in a step no NIC is used
// twice, and tests may share links between switches.
func AtOnce(tests []Test) [][]Test {
	var steps [][]Test
	free := map[cluster.NICRef]int{} // the first step in which a NIC may be used
	for _, t := range tests {
		at := max(free[t.From], free[t.To])
		if at == len(steps) {
			steps = append(steps, nil)
		}
		steps[at] = append(steps[at], t)
		free[t.From], free[t.To] = at+1, at+1
	}
	return steps
}

// maxOpenSteps bounds the steps in which room is sought.
const maxOpenSteps = 2048

// Reversed returns the tests the other way round.
func Reversed(tests []Test) []Test {
	out := make([]Test, len(tests))
	for i, t := range tests {
		out[i] = Test{t.To, t.From}
	}
	return out
}

package live

import (
	"math"

	"weir/internal/cluster"
	"weir/internal/twin"
)

// Factor returns by how much to slow a cluster's fabric: as much as the
// simulator needs when every NIC sends at line rate, and so much that a round
// of the jobs lasts about a minute. It is 1, 2 or 5 times a power of ten.
func Factor(c *cluster.Cluster) int64 {
	hops := hopRate(c)
	want := hops / hopsPerSecond
	if d := roundTime(c, hops); d > 0 {
		want = max(want, cycle.Seconds()/d)
	}
	step := math.Pow(10, math.Floor(math.Log10(max(want, 1))))
	for _, m := range [...]float64{1, 2, 5} {
		if m*step >= want {
			return int64(m * step)
		}
	}
	return int64(10 * step)
}

// hopRate is how many packet-hops a second of fabric time holds when every NIC
// sends at line rate.
func hopRate(c *cluster.Cluster) float64 {
	var packets float64 // a second
	for h := range c.Hosts {
		for n := range c.Hosts[h].NICs {
			for _, p := range c.Hosts[h].NICs[n].Ports {
				packets += float64(c.Ports[p].Rate) / 8 / float64(max(c.QoS.MTU, 1))
			}
		}
	}
	links := 2.0 // under one switch
	for i := range c.Nodes {
		links = max(links, 2*float64(c.Nodes[i].Tier))
	}
	const acks = 1.5 // packets and their acknowledgements
	return max(packets*links*acks, 1)
}

// roundTime estimates how many seconds of fabric time a round takes: flows as
// long as the busiest NIC needs, else all hops at the full rate.
func roundTime(c *cluster.Cluster, hopRate float64) float64 {
	var flows float64
	busy := map[[3]int32]float64{}
	for i := range c.Jobs {
		for _, f := range c.Jobs[i].Flows {
			for way, n := range [...]cluster.NICRef{f.Src, f.Dst} {
				var rate float64
				for _, p := range c.Hosts[n.Host].NICs[n.NIC].Ports {
					rate += float64(c.Ports[p].Rate) / 8
				}
				key := [3]int32{n.Host, n.NIC, int32(way)}
				busy[key] += float64(f.Bytes) / max(rate, 1)
				flows = max(flows, busy[key])
			}
		}
	}
	if flows > 0 {
		return flows
	}
	hops, err := twin.PredictHops(c)
	if err != nil {
		return 0
	}
	return hops / hopRate
}

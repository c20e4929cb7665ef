package sim

import (
	"weir/internal/cluster"
	"weir/internal/twin/fabric"
	"weir/units"
)

// maxHops is how many switches of a path are remembered; behind them each
// packet is routed anew.
const maxHops = 6

const noPort = ^uint16(0)

// A route is what the packets of one direction of a queue pair need to find
// their way: the ports that they take, known by their hash, and the
// destination for what is decided packet by packet.
type route struct {
	out  [maxHops]uint16 // by switches passed; noPort: not known
	dst  cluster.PortID
	hash fabric.Fields
	pick int32  // fixed choice of paths, -1: none
	flow uint64 // hash of the names of both ends and of the queue pair
}

// flowlet is the state of flowlet routing of one route at one hop.
type flowlet struct {
	last units.Time
	node cluster.NodeID
	out  uint16
}

// nextHop returns the port by which a packet leaves a switch.
func (s *Sim) nextHop(u *switchUnit, pk *packet) (uint16, bool) {
	if h := pk.hop; h < maxHops && pk.out[h] != noPort {
		return pk.out[h], true
	}
	return s.decide(u, pk)
}

// decide routes a packet whose way is not remembered.
func (s *Sim) decide(u *switchUnit, pk *packet) (uint16, bool) {
	r := &s.routes[pk.route()]
	hops := s.fabric.NextHops(u.node, r.dst)
	mode := s.cluster.Routing.Mode
	if s.detours != nil {
		if pk.hop >= firstTTL {
			return 0, false
		}
		if d := s.detours[u.node]; d != nil {
			if out, ok := d.wrong[s.leafOf(r.dst)]; ok {
				return out, true
			}
			if d.first && len(hops) > 1 {
				hops = hops[:1]
			}
			if d.sprays {
				mode = cluster.Spray
			}
		}
	}
	switch {
	case len(hops) == 0:
		return 0, false
	case len(hops) == 1:
		return hops[0], true
	case r.pick >= 0:
		return hops[int(r.pick)%len(hops)], true
	}
	switch mode {
	case cluster.Adaptive:
		if pk.kind == dataPacket {
			return s.leastLoaded(u, hops, pk), true
		}
	case cluster.Spray:
		if pk.kind == dataPacket {
			return hops[spray(r.flow, pk, uint32(len(hops)))], true
		}
	case cluster.Flowlet:
		if h := pk.hop; h < maxHops {
			f := &s.flowlets[pk.route()*maxHops+uint32(h)]
			if f.node != u.node || s.now-f.last > s.cluster.Routing.FlowletGap {
				f.node, f.out = u.node, s.leastLoaded(u, hops, pk)
			}
			f.last = s.now
			return f.out, true
		}
	}
	return hops[r.hash.Hash(s.cluster.Routing.HashFields, s.fabric.Seed(u.node))%uint32(len(hops))], true
}

// spray returns which of n next hops a packet takes. Over all choices on its
// way, the packets of a queue pair take every path once before they take one
// again, in an order that is drawn anew for every round: queue pairs in step
// with each other do not stay on the same paths.
func spray(flow uint64, pk *packet, n uint32) uint32 {
	turn := (uint32(pk.PSN) + uint32(pk.attempt)) / pk.paths
	round := turn / n
	shift := scramble(flow ^ uint64(round)<<8 ^ uint64(pk.hop))
	pk.paths = max(1, pk.paths*n)
	return (turn + uint32(shift>>32)%n) % n
}

// loadGrain is the step in which adaptive routing compares queues, as switch
// chips do by grading ports: about a large frame.
const loadGrain = 4096

// leastLoaded returns the port with the shortest queue; among equals, one by a
// hash of the packet, so that neither low numbers nor the moment are favoured.
func (s *Sim) leastLoaded(u *switchUnit, hops []uint16, pk *packet) uint16 {
	n := uint32(len(hops))
	k := uint32(s.draw(uint64(u.node), pk)>>32) % n
	best, least := noPort, ^uint32(0)
	for range n {
		if load := (u.core.PortBytes(hops[k]) + loadGrain - 1) / loadGrain; load < least {
			best, least = hops[k], load
		}
		if k++; k == n {
			k = 0
		}
	}
	return best
}

// setRoute fills in the route from host port src to host port dst, remembering
// as much as does not depend on the moment.
func (s *Sim) setRoute(r *route, src, dst cluster.PortID, h fabric.Fields, pick int32, settled bool) error {
	*r = route{dst: dst, hash: h, pick: pick}
	for i := range r.out {
		r.out[i] = noPort
	}
	mode := s.cluster.Routing.Mode
	fixed := mode == cluster.ECMP || settled && mode != cluster.Flowlet
	c := s.cluster
	node := c.Ports[c.Ports[src].Peer].Node
	for h := range maxHops {
		hops := s.fabric.NextHops(node, dst)
		var sprays bool
		if d := s.detours[node]; d != nil {
			if out, ok := d.wrong[s.leafOf(dst)]; ok {
				hops = []uint16{out}
			}
			if d.first && len(hops) > 1 {
				hops = hops[:1]
			}
			sprays = d.sprays && !settled
		}
		switch {
		case len(hops) == 0:
			return s.fabric.Reachable(src, dst)
		case len(hops) == 1:
			r.out[h] = hops[0]
		case pick >= 0:
			r.out[h] = hops[int(pick)%len(hops)]
		case fixed && !sprays:
			r.out[h] = hops[r.hash.Hash(c.Routing.HashFields, s.fabric.Seed(node))%uint32(len(hops))]
		default:
			return nil // from here on it depends on the moment
		}
		next := c.Ports[c.Nodes[node].Ports[r.out[h]]].Peer
		node = c.Ports[next].Node
		if c.Nodes[node].Kind == cluster.HostNode {
			return nil
		}
	}
	return nil
}

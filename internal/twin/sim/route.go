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
	switch {
	case len(hops) == 0:
		return 0, false
	case len(hops) == 1:
		return hops[0], true
	case r.pick >= 0:
		return hops[int(r.pick)%len(hops)], true
	}
	switch s.cluster.Routing.Mode {
	case cluster.Adaptive:
		if pk.kind == dataPacket {
			return s.leastLoaded(u, hops, pk), true
		}
	case cluster.Spray:
		if pk.kind == dataPacket {
			u.turn++
			return hops[u.turn%uint32(len(hops))], true
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

// leastLoaded returns the port with the fewest bytes waiting; among equals, one
// by a hash of the packet, so that the choice does not favour low numbers.
func (s *Sim) leastLoaded(u *switchUnit, hops []uint16, pk *packet) uint16 {
	start := int(uint32(s.draw(uint64(u.node), pk)) % uint32(len(hops)))
	best, least := noPort, units.Never
	for k := range hops {
		k += start
		if k >= len(hops) {
			k -= len(hops)
		}
		p := u.firstPort + uint32(hops[k])
		load := s.tx[p].pace.Time(u.core.PortBytes(hops[k])) + max(0, s.tx[p].busyUntil-s.now)
		if load < least {
			best, least = hops[k], load
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
		switch {
		case len(hops) == 0:
			return s.fabric.Reachable(src, dst)
		case len(hops) == 1:
			r.out[h] = hops[0]
		case pick >= 0:
			r.out[h] = hops[int(pick)%len(hops)]
		case fixed:
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

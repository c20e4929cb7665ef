package fault

import (
	"fmt"

	"weir/internal/cluster"
	"weir/internal/twin/sim"
	"weir/units"
)

// A site is one fault at its place in one simulation.
type site struct {
	c        *cluster.Cluster
	sim      *sim.Sim
	place    cluster.Place
	severity float64
	end      units.Time // Never: none
	faults   *faults
}

func newSite(c *cluster.Cluster, place cluster.Place, k *Kind, f *cluster.Fault) *site {
	s := &site{c: c, place: place, severity: f.Severity, end: units.Never}
	if s.severity < 0 {
		s.severity = k.Default
	}
	if f.End != 0 {
		s.end = f.End
	}
	return s
}

// switches lists the switches at the place.
func (s *site) switches() []cluster.NodeID {
	var out []cluster.NodeID
	add := func(n cluster.NodeID) {
		if s.c.Nodes[n].Kind == cluster.SwitchNode {
			out = append(out, n)
		}
	}
	switch s.place.Kind {
	case fabricPlace:
		for n := range s.c.Nodes {
			add(cluster.NodeID(n))
		}
	case port:
		add(s.c.Ports[s.place.Port].Node)
	default:
		for _, n := range s.place.Nodes {
			add(n)
		}
	}
	return out
}

// cards lists the NICs at the place.
func (s *site) cards() []cluster.NICRef {
	if s.place.Kind == nic {
		return []cluster.NICRef{s.place.NIC}
	}
	var out []cluster.NICRef
	for h := range s.c.Hosts {
		if s.place.Kind == node && s.c.Hosts[h].Node != s.place.Nodes[0] {
			continue
		}
		for i := range s.c.Hosts[h].NICs {
			out = append(out, cluster.NICRef{Host: int32(h), NIC: int32(i)})
		}
	}
	return out
}

func (s *site) nic(r cluster.NICRef) *cluster.NIC { return &s.c.Hosts[r.Host].NICs[r.NIC] }

// own lists the cabled ports that belong to the place.
func (s *site) own() []cluster.PortID {
	var out []cluster.PortID
	add := func(ports ...cluster.PortID) {
		for _, p := range ports {
			if s.c.Ports[p].Link != cluster.LinkID(cluster.None) {
				out = append(out, p)
			}
		}
	}
	switch s.place.Kind {
	case fabricPlace:
		for p := range s.c.Ports {
			add(cluster.PortID(p))
		}
	case node:
		add(s.c.Nodes[s.place.Nodes[0]].Ports...)
	case nic:
		add(s.nic(s.place.NIC).Ports...)
	case port:
		add(s.place.Port)
	case link:
		for _, l := range s.place.Links {
			add(s.c.Links[l].A, s.c.Links[l].B)
		}
	}
	return out
}

// ends lists the ports at both ends of the cables of the place.
func (s *site) ends() []cluster.PortID {
	var out []cluster.PortID
	seen := map[cluster.PortID]bool{}
	for _, p := range s.own() {
		for _, q := range [...]cluster.PortID{p, s.c.Ports[p].Peer} {
			if !seen[q] {
				seen[q] = true
				out = append(out, q)
			}
		}
	}
	return out
}

// links lists the cables of the place.
func (s *site) links() []cluster.LinkID {
	var out []cluster.LinkID
	seen := map[cluster.LinkID]bool{}
	for _, p := range s.own() {
		if l := s.c.Ports[p].Link; !seen[l] {
			seen[l] = true
			out = append(out, l)
		}
	}
	return out
}

// refusal is why a fault does not fit a cluster.
type refusal struct{ found, allowed string }

func refuse(allowed, format string, args ...any) *refusal {
	return &refusal{fmt.Sprintf(format, args...), allowed}
}

// frameBytes is the frame of a full packet: headers, ICRC and FCS of RoCEv2 and
// the first packet's extension.
func frameBytes(c *cluster.Cluster) uint32 { return uint32(c.QoS.MTU) + sim.RoCEv2Wire().Header }

// fits refuses what would have no effect, or no meaning.
func (s *site) fits(id string) *refusal {
	kind := s.place.Kind
	isSwitch := kind == node && s.c.Nodes[s.place.Nodes[0]].Kind == cluster.SwitchNode
	switch id {
	case "pfc-storm", "receiver-slow-pause", "incast", "pcie-degraded", "gdr-inactive-no-peermem", "congestion-control-off", "cnp-in-wrong-queue", "fixed-source-port", "lag-single-qp", "slow-node":
		if isSwitch || len(s.cards()) == 0 {
			return refuse("a host or one of its NICs", "no NIC at the place")
		}
	case "ecn-threshold-too-low", "ecn-threshold-too-high", "ecn-not-configured", "wred-drops-before-pfc", "ecmp-collision", "reordering":
		if len(s.switches()) == 0 {
			return refuse("a switch or fabric", "no switch at the place")
		}
	}
	switch id {
	case "ecn-threshold-too-low", "ecn-threshold-too-high", "ecn-not-configured":
		if !s.c.QoS.ECN.Enabled {
			return refuse("a cluster with qos.ecn", "ECN off already")
		}
	case "pfc-not-enabled-on-path", "pfc-priority-mismatch", "pfc-on-all-priorities", "headroom-too-small", "global-pause-throttle", "pfc-storm", "pfc-deadlock":
		if !s.c.QoS.PFC {
			return refuse("a cluster with qos.pfc", "PFC off already")
		}
	case "mtu-mismatch":
		if frameBytes(s.c) <= narrowFrame {
			return refuse("qos.mtu of 2048 or more", "an RDMA MTU of %d, which passes 1500 bytes", s.c.QoS.MTU)
		}
	case "dcqcn-recovery-too-slow", "dcqcn-recovery-too-fast", "congestion-control-off":
		if !s.c.DCQCN.Enabled {
			return refuse("a cluster with dcqcn", "congestion control off already")
		}
	case "reordering":
		if s.c.RDMA.OutOfOrder {
			return refuse("rdma.out_of_order: false", "NICs that place packets out of order")
		}
	case "hash-polarisation":
		if s.c.Routing.HashSeed != 0 {
			return refuse("no routing.hash_seed", "one hash seed already")
		}
	case "rail-mismatch":
		if s.partner() == s.place.NIC {
			return refuse("a NIC of a host with two or more", "a single NIC")
		}
	case "cabling-wrong":
		if a, b := swappedPorts(s); a == b {
			return refuse("a port of a node with two cables or more", "a single cable")
		}
	}
	if id == "pfc-deadlock" && s.c.QoS.PFC {
		if a, b := s.place.Nodes[0], s.place.Nodes[1]; s.c.Nodes[a].Kind != cluster.SwitchNode || s.c.Nodes[b].Kind != cluster.SwitchNode {
			return refuse("a link between two switches", "a link of a host")
		}
	}
	if isHost := kind == node && !isSwitch; id == "headroom-too-small" && isHost {
		return refuse("a switch or its ports", "a host")
	}
	return nil
}

// partner is the next NIC of the place's host.
func (s *site) partner() cluster.NICRef {
	r := s.place.NIC
	r.NIC = (r.NIC + 1) % int32(len(s.c.Hosts[r.Host].NICs))
	return r
}

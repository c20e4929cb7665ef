package sim

import (
	"weir/internal/cluster"
	"weir/internal/twin/switchcore"
)

// A detour is what changes routing at a switch.
type detour struct {
	wrong  map[cluster.NodeID]uint16 // next hop by the destination's leaf, whatever the routes say
	first  bool                      // among equal next hops it takes the first
	sprays bool
}

// firstTTL is how many switches a packet may pass: the time to live of the
// usual 64.
const firstTTL = 64

// leafOf returns the switch that a host port hangs on.
func (s *Sim) leafOf(p cluster.PortID) cluster.NodeID {
	if peer := s.cluster.Ports[p].Peer; peer != cluster.PortID(cluster.None) {
		return s.cluster.Ports[peer].Node
	}
	return cluster.NodeID(cluster.None)
}

func (s *Sim) detour(id cluster.NodeID) *detour {
	if s.detours == nil {
		s.detours = map[cluster.NodeID]*detour{}
	}
	if s.detours[id] == nil {
		s.detours[id] = &detour{wrong: map[cluster.NodeID]uint16{}}
	}
	return s.detours[id]
}

// SetFirstHop makes a switch take the first of equal next hops for all packets,
// as a hash that sees no difference between them, or ends that.
func (s *Sim) SetFirstHop(id cluster.NodeID, on bool) {
	s.detour(id).first = on
	s.rerouteAll()
}

// SetSpray makes a switch spray data packets over equal next hops, or ends that.
func (s *Sim) SetSpray(id cluster.NodeID, on bool) {
	s.detour(id).sprays = on
	s.rerouteAll()
}

// SetWrongRoute makes a switch send what is for the hosts of a leaf by a port,
// whatever its routes say; on false ends that.
func (s *Sim) SetWrongRoute(at, leaf cluster.NodeID, port uint16, on bool) {
	d := s.detour(at)
	if on {
		d.wrong[leaf] = port
	} else {
		delete(d.wrong, leaf)
	}
	s.rerouteAll()
}

// Reroute gives all switches the routes for exactly these links being dead.
func (s *Sim) Reroute(down ...cluster.LinkID) {
	s.fabric = s.fabric.WithDown(down...)
	s.rerouteAll()
}

// SetOneHashSeed gives all nodes the same hash seed, or their own again.
func (s *Sim) SetOneHashSeed(on bool) {
	s.fabric = s.fabric.WithOneSeed(on)
	s.rerouteAll()
}

// rerouteAll finds the ways of all queue pairs anew. Packets under way keep
// theirs.
func (s *Sim) rerouteAll() {
	for i := 2; i < len(s.routes); i++ {
		r := &s.routes[i]
		q, a := &s.senders[i/2], &s.receivers[i/2]
		src := s.rare[q.port].id
		if i&1 != 0 {
			src = s.rare[a.port].id
		}
		flow := r.flow
		// Where there is no way left, switches drop what comes.
		_ = s.setRoute(r, src, r.dst, r.hash, r.pick, i&1 != 0)
		r.flow = flow
	}
}

// SwapNICs exchanges two NICs of a host in all connections made from now on, as
// a wrong order of devices does.
func (s *Sim) SwapNICs(a, b cluster.NICRef) {
	if s.swapped == nil {
		s.swapped = map[cluster.NICRef]cluster.NICRef{}
	}
	s.swapped[a], s.swapped[b] = b, a
}

func (s *Sim) swap(r cluster.NICRef) cluster.NICRef {
	if other, ok := s.swapped[r]; ok {
		return other
	}
	return r
}

// switchFaults of a switch: how it misreads packets.
type switchFaults uint8

const (
	untrusting switchFaults = 1 << iota // takes all packets for priority 0
	dropsWRED                           // WRED drops where it should mark
)

func (f switchFaults) misread(e *switchcore.Entry) {
	if f&untrusting != 0 {
		e.Priority = 0
	}
	if f&dropsWRED != 0 {
		e.Flags &^= switchcore.Capable
	}
}

func (s *Sim) setSwitchFault(id cluster.NodeID, f switchFaults, on bool) {
	for i := range s.cluster.Nodes[id].Ports {
		r := &s.rx[s.firstPort[id]+uint32(i)]
		r.faults &^= f
		if on {
			r.faults |= f
		}
	}
}

// SetUntrusting makes a switch treat all packets as of priority 0, or ends that.
func (s *Sim) SetUntrusting(id cluster.NodeID, on bool) { s.setSwitchFault(id, untrusting, on) }

// SetWREDDrops makes a switch's WRED drop RoCE packets where it should mark
// them, or ends that.
func (s *Sim) SetWREDDrops(id cluster.NodeID, on bool) { s.setSwitchFault(id, dropsWRED, on) }

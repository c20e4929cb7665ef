package fault

import (
	"weir/internal/cluster"
	"weir/internal/qos"
	"weir/units"
)

// Each effect makes a fault act at its place and returns what undoes it.

func all[T any](list []T, set func(item T, on bool)) func() {
	for _, x := range list {
		set(x, true)
	}
	return func() {
		for _, x := range list {
			set(x, false)
		}
	}
}

// marking gives the switches of a place other ECN settings.
func (s *site) marking(e qos.ECN) (func(), error) {
	for _, n := range s.switches() {
		if err := s.sim.SetECN(n, e); err != nil {
			return nil, err
		}
	}
	return func() {
		for _, n := range s.switches() {
			_ = s.sim.SetECN(n, s.c.QoS.ECN) // as New took it
		}
	}, nil
}

// ecnOf returns the marking that a fault leaves.
func ecnOf(id string, c *cluster.Cluster, severity float64) qos.ECN {
	e := c.QoS.ECN
	scale := func(b units.Bytes, f float64) units.Bytes { return min(units.Bytes(float64(b)*f), 1<<30) }
	switch id {
	case "ecn-threshold-too-low":
		low := 2 * units.Bytes(frameBytes(c))
		e.Min = max(low, scale(e.Min, 1-severity))
		e.Max, e.Probability = e.Min+low/2, 1
	case "ecn-threshold-too-high":
		e.Min, e.Max = scale(e.Min, 1+99*severity), scale(e.Max, 1+99*severity)
	case "ecn-not-configured":
		e = qos.ECN{}
	case "wred-drops-before-pfc":
		if !e.Enabled {
			e = qos.ECN{Enabled: true, Min: 100 * units.KB, Max: 400 * units.KB}
		}
		e.Probability = severity
	}
	return e
}

func ecnLow(s *site) (func(), error) {
	return s.marking(ecnOf("ecn-threshold-too-low", s.c, s.severity))
}

func ecnHigh(s *site) (func(), error) {
	return s.marking(ecnOf("ecn-threshold-too-high", s.c, s.severity))
}

func ecnOff(s *site) (func(), error) { return s.marking(qos.ECN{}) }

func wred(s *site) (func(), error) {
	undo, err := s.marking(ecnOf("wred-drops-before-pfc", s.c, s.severity))
	if err != nil {
		return nil, err
	}
	mark := all(s.switches(), s.sim.SetWREDDrops)
	return func() { mark(); undo() }, nil
}

// pfcOf sets the masks of ports and returns what puts them back.
func (s *site) pfcOf(ports []cluster.PortID, change func(sends, obeys uint8) (uint8, uint8)) func() {
	type masks struct{ sends, obeys uint8 }
	before := make([]masks, len(ports))
	for i, p := range ports {
		m := &before[i]
		m.sends, m.obeys = s.sim.PFC(p)
		sends, obeys := change(m.sends, m.obeys)
		s.sim.SetPFC(p, sends, obeys)
	}
	return func() {
		for i, p := range ports {
			s.sim.SetPFC(p, before[i].sends, before[i].obeys)
		}
	}
}

func (s *site) roce() uint8 { return 1 << s.c.QoS.RoCE().Priority }

func noPFC(s *site) (func(), error) {
	return s.pfcOf(s.own(), func(sends, obeys uint8) (uint8, uint8) { return sends &^ s.roce(), obeys &^ s.roce() }), nil
}

func pfcMismatch(s *site) (func(), error) {
	return all(s.ends(), func(p cluster.PortID, on bool) {
		mask := uint8(0)
		if on {
			mask = s.roce()
		}
		s.sim.SetDeaf(p, mask)
	}), nil
}

func pfcAll(s *site) (func(), error) { return s.pauseAll(false) }

func globalPause(s *site) (func(), error) { return s.pauseAll(true) }

// pauseAll makes pauses on the links of the place stop everything.
func (s *site) pauseAll(link bool) (func(), error) {
	ends := s.ends()
	masks := s.pfcOf(ends, func(sends, _ uint8) (uint8, uint8) { return sends, 0xff })
	hosts := s.pfcOf(s.hostPorts(ends), func(_, obeys uint8) (uint8, uint8) { return 0xff, obeys })
	form := all(ends, func(p cluster.PortID, on bool) { s.sim.SetPauseForm(p, formOf(on, link)) })
	return func() { form(); hosts(); masks() }, nil
}

func (s *site) hostPorts(ports []cluster.PortID) []cluster.PortID {
	var out []cluster.PortID
	for _, p := range ports {
		if s.c.Nodes[s.c.Ports[p].Node].Kind == cluster.HostNode {
			out = append(out, p)
		}
	}
	return out
}

func headroom(s *site) (func(), error) {
	ports := s.own()
	for _, p := range ports {
		s.sim.SetHeadroom(p, 1-s.severity)
	}
	return func() {
		for _, p := range ports {
			s.sim.SetHeadroom(p, 1)
		}
	}, nil
}

func storm(s *site) (func(), error) {
	for _, r := range s.cards() {
		s.sim.Storm(r, s.severity, s.end)
	}
	return nil, nil // it knows its end
}

func deadlock(s *site) (func(), error) {
	a, b := s.place.Nodes[0], s.place.Nodes[1]
	type wrong struct {
		at, leaf cluster.NodeID
		port     uint16
	}
	var routes []wrong
	seen := map[cluster.NodeID]bool{a: true, b: true}
	ab := s.c.Ports[s.portTo(a, b)].Index
	ba := s.c.Ports[s.portTo(b, a)].Index
	for h := range s.c.Hosts {
		for _, n := range s.c.Hosts[h].NICs {
			for _, p := range n.Ports {
				peer := s.c.Ports[p].Peer
				if peer == cluster.PortID(cluster.None) || seen[s.c.Ports[peer].Node] {
					continue
				}
				leaf := s.c.Ports[peer].Node
				seen[leaf] = true
				routes = append(routes, wrong{a, leaf, ab}, wrong{b, leaf, ba})
			}
		}
	}
	return all(routes, func(w wrong, on bool) { s.sim.SetWrongRoute(w.at, w.leaf, w.port, on) }), nil
}

// portTo returns a port of a switch that leads to another.
func (s *site) portTo(from, to cluster.NodeID) cluster.PortID {
	l := &s.c.Links[s.place.Links[0]]
	if s.c.Ports[l.A].Node == from && s.c.Ports[l.B].Node == to {
		return l.A
	}
	return l.B
}

func incast(s *site) (func(), error) {
	const message = 1 * units.MiB
	dst := s.cards()[0]
	senders := int(s.severity*float64(len(s.c.Hosts)-1) + 0.5)
	for h := range s.c.Hosts {
		if int32(h) == dst.Host || len(s.c.Hosts[h].NICs) == 0 {
			continue
		}
		if senders--; senders < 0 {
			break
		}
		src := cluster.NICRef{Host: int32(h), NIC: dst.NIC % int32(len(s.c.Hosts[h].NICs))}
		if err := s.sim.AddLoad(src, dst, message, s.end); err != nil {
			return nil, err
		}
	}
	return nil, nil // it knows its end
}

func defaultPriority(s *site) (func(), error) {
	if s.place.Kind == node && s.c.Nodes[s.place.Nodes[0]].Kind == cluster.SwitchNode {
		return all(s.switches(), s.sim.SetUntrusting), nil
	}
	return all(s.cards(), s.sim.SetUnmarked), nil
}

func collision(s *site) (func(), error) { return all(s.switches(), s.sim.SetFirstHop), nil }

func polarise(s *site) (func(), error) {
	s.sim.SetOneHashSeed(true)
	return func() { s.sim.SetOneHashSeed(false) }, nil
}

func reorder(s *site) (func(), error) { return all(s.switches(), s.sim.SetSpray), nil }

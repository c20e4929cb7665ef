package fault

import (
	"weir/dcqcn"
	"weir/internal/cluster"
	"weir/units"
)

// line returns the rate of a NIC's ports together.
func (s *site) line(r cluster.NICRef) units.BitRate {
	var sum units.BitRate
	for _, p := range s.nic(r).Ports {
		sum += s.c.Ports[p].Rate
	}
	return sum
}

// pcieOf returns the rate of a NIC's healthy way to memory; 0: no limit.
func (s *site) pcieOf(r cluster.NICRef) units.BitRate {
	rate := s.nic(r).PCIe
	if !s.c.RDMA.GPUDirect {
		rate /= 2
	}
	return rate
}

// widen gives a NIC without a limit one that does not bind: what a share is
// taken of.
func (s *site) widen(r cluster.NICRef) units.BitRate {
	if rate := s.pcieOf(r); rate != 0 {
		return rate
	}
	return 2 * s.line(r)
}

// pcieAs sets the ways of all NICs of the place and returns what restores them.
func (s *site) pcieAs(rates func(cluster.NICRef) (fetch, drain units.BitRate)) func() {
	for _, r := range s.cards() {
		fetch, drain := rates(r)
		s.sim.SetPCIe(r, fetch, drain)
	}
	return func() {
		for _, r := range s.cards() {
			s.sim.SetPCIe(r, s.pcieOf(r), s.pcieOf(r))
		}
	}
}

func slowReceiver(s *site) (func(), error) {
	return s.pcieAs(func(r cluster.NICRef) (fetch, drain units.BitRate) {
		return s.pcieOf(r), slower(s.line(r), s.severity)
	}), nil
}

func pcie(s *site) (func(), error) {
	return s.pcieAs(func(r cluster.NICRef) (fetch, drain units.BitRate) {
		rate := slower(s.widen(r), s.severity)
		return rate, rate
	}), nil
}

func noGDR(s *site) (func(), error) {
	pcie := s.pcieAs(func(r cluster.NICRef) (fetch, drain units.BitRate) {
		rate := s.widen(r) / 2 // each byte crosses PCIe twice
		return rate, rate
	})
	copies := all(s.cards(), s.sim.SetHostCopies)
	return func() { copies(); pcie() }, nil
}

func ccOff(s *site) (func(), error) {
	return all(s.cards(), func(r cluster.NICRef, on bool) { s.sim.SetCongestionControl(r, !on, !on) }), nil
}

func cnpQueue(s *site) (func(), error) {
	return all(s.cards(), func(r cluster.NICRef, on bool) {
		prio := s.c.QoS.CNP().Priority
		if on {
			prio = s.c.QoS.RoCE().Priority
		}
		s.sim.SetCNPPriority(r, prio)
	}), nil
}

func fixedPort(s *site) (func(), error) { return all(s.cards(), s.sim.SetFixedPort), nil }

func singleQP(s *site) (func(), error) { return all(s.cards(), s.sim.SetOneQP), nil }

func rails(s *site) (func(), error) {
	s.sim.SwapNICs(s.place.NIC, s.partner())
	return nil, nil
}

func slowNode(s *site) (func(), error) {
	late := units.Time(s.severity * float64(units.Millisecond))
	return all(s.cards(), func(r cluster.NICRef, on bool) {
		t := units.Time(0)
		if on {
			t = late
		}
		s.sim.SetSlow(r, t)
	}), nil
}

// recovery scales how fast rates rise: the steps by a factor, the times between
// them by its inverse.
func recovery(p *dcqcn.Params, factor float64) {
	p.AIRate = max(1, units.BitRate(float64(p.AIRate)*factor))
	p.HAIRate = max(1, units.BitRate(float64(p.HAIRate)*factor))
	p.TimeReset = units.Time(float64(p.TimeReset) / min(factor, 10)) // as fast as the card allows
	p.ByteReset = units.Bytes(float64(p.ByteReset) / min(factor, 10))
}

func recoveryFactor(id string, severity float64) float64 {
	if id == "dcqcn-recovery-too-slow" {
		return 1 / (1 + 99*severity)
	}
	return 1 + 99*severity
}

func slowRecovery(s *site) (func(), error) {
	return s.sim.EditDCQCN(func(p *dcqcn.Params) { recovery(p, recoveryFactor("dcqcn-recovery-too-slow", s.severity)) }), nil
}

func fastRecovery(s *site) (func(), error) {
	return s.sim.EditDCQCN(func(p *dcqcn.Params) { recovery(p, recoveryFactor("dcqcn-recovery-too-fast", s.severity)) }), nil
}

package sim

import (
	"weir/internal/cluster"
	"weir/internal/twin/switchcore"
	"weir/units"
)

// card of a NIC that exists.
func (s *Sim) card(r cluster.NICRef) *card { return &s.cards[s.firstCard[r.Host]+uint32(r.NIC)] }

func (s *Sim) setCardFlag(r cluster.NICRef, f cardFlags, on bool) {
	d := s.card(r)
	d.flags &^= f
	if on {
		d.flags |= f
	}
}

// SetPCIe changes at what rate a NIC fetches what it sends, and drains what it
// has received; 0: no limit.
func (s *Sim) SetPCIe(r cluster.NICRef, fetch, drain units.BitRate) {
	s.setPCIe(s.card(r), &s.cluster.Hosts[r.Host].NICs[r.NIC], fetch, drain)
}

// SetHostCopies says whether what a NIC sends and receives crosses host memory.
func (s *Sim) SetHostCopies(r cluster.NICRef, on bool) { s.setCardFlag(r, copiesHost, on) }

// SetCongestionControl switches a NIC's reaction point (it obeys CNPs) and
// notification point (it sends them) on or off.
func (s *Sim) SetCongestionControl(r cluster.NICRef, reacts, notifies bool) {
	s.setCardFlag(r, ignoresCNPs, !reacts)
	s.setCardFlag(r, sendsNoCNPs, !notifies)
}

// SetCNPPriority changes the priority that a NIC sends CNPs in.
func (s *Sim) SetCNPPriority(r cluster.NICRef, prio uint8) { s.card(r).cnpPriority = prio }

// SetSlow makes a NIC's host late by so long with every message.
func (s *Sim) SetSlow(r cluster.NICRef, late units.Time) { s.card(r).slow = late }

// SetOneQP makes the connections from a NIC use their first queue pair alone.
func (s *Sim) SetOneQP(r cluster.NICRef, on bool) { s.setCardFlag(r, oneQP, on) }

// SetUnmarked makes a NIC send its packets in priority 0, or ends that.
func (s *Sim) SetUnmarked(r cluster.NICRef, on bool) {
	s.setCardFlag(r, unmarked, on)
	for qp := 1; qp < len(s.senders); qp++ {
		q := &s.senders[qp]
		if s.cardOfQP(uint32(qp)) != s.card(r) {
			continue
		}
		q.prio = 0
		if !on {
			q.prio = s.roce
		}
	}
}

func (s *Sim) cardOfQP(qp uint32) *card { return &s.cards[s.nics[s.tx[s.senders[qp].port].unit].card] }

// SetFixedPort makes all queue pairs of a NIC send from one UDP port, or from
// ports of their own again.
func (s *Sim) SetFixedPort(r cluster.NICRef, on bool) {
	s.setCardFlag(r, fixedPort, on)
	for qp := 1; qp < len(s.senders); qp++ {
		if s.cardOfQP(uint32(qp)) != s.card(r) {
			continue
		}
		there, back := &s.routes[2*qp], &s.routes[2*qp+1]
		udp := uint16(firstSourceUDP)
		if !on && s.cluster.RDMA.SourcePorts != "fixed" {
			udp |= uint16(scramble(there.flow)) & (1<<14 - 1)
		}
		there.hash.SrcPort, back.hash.SrcPort = udp, udp
	}
	s.rerouteAll()
}

// Storm makes the ports of a NIC that hangs ask the network to stop the RoCE
// priority, for a share of the time from 0 to 1, until a time. It sends nothing
// of its own meanwhile.
func (s *Sim) Storm(r cluster.NICRef, share float64, until units.Time) {
	for _, id := range s.cluster.Hosts[r.Host].NICs[r.NIC].Ports {
		p := s.simPort(id)
		if s.tx[p].flags&isCabled != 0 {
			s.tx[p].flags |= isHung
			s.storm(p, share, until)
		}
	}
}

// storm sends XOFF and plans the next, or ends the storm of a port.
func (s *Sim) storm(p uint32, share float64, until units.Time) {
	n := &s.nics[s.tx[p].unit]
	if s.now >= until {
		s.tx[p].flags &^= isHung
		if n.pausing == 0 {
			n.pauses[s.roce].txXON++
			s.sendPause(p, s.roce, 0)
		}
		s.kick(p)
		return
	}
	n.pauses[s.roce].txXOFF++
	s.sendPause(p, s.roce, longestPause)
	// As long as the pause lasts, so that the next comes before it lapses.
	period := switchcore.PauseTime(s.rare[p].rate, longestPause) / 2
	if share < 1 {
		s.At(min(until, s.now+max(1, units.Time(share*float64(period)))), func() {
			n.pauses[s.roce].txXON++
			s.sendPause(p, s.roce, 0)
		})
		s.still.planned--
	}
	s.At(min(until, s.now+period), func() { s.storm(p, share, until) })
	if until == units.Never {
		s.still.planned--
	}
}

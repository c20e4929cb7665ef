package twin

import (
	"sort"

	"weir/internal/cluster"
	"weir/internal/qos"
	"weir/internal/twin/sim"
	"weir/units"
)

// Observe reads what the fabric has counted by now. active is the time that
// rates and shares are over, as a rule while jobs ran; wire gives the time
// between frames.
func Observe(c *cluster.Cluster, s *sim.Sim, active units.Time, wire sim.Wire) Network {
	n := Network{Totals: totals(s)}
	tiers := map[tierKey]*tierSum{}
	for id := range c.Ports {
		p := &c.Ports[id]
		if uint32(p.Link) == cluster.None {
			continue
		}
		e := observeEgress(c, s, cluster.PortID(id), active, wire)
		key := tierOf(c, p)
		sum := tiers[key]
		if sum == nil {
			sum = &tierSum{}
			tiers[key] = sum
		}
		sum.add(&e)
		if e.share > n.BusiestEgress.Share {
			n.BusiestEgress = Egress{Where: portName(c, cluster.PortID(id)), WireBytes: e.wireBytes, Active: active, Share: e.share}
		}
		if e.queueMax > n.DeepestQueue.Bytes {
			n.DeepestQueue = Queue{Where: portName(c, cluster.PortID(id)), Bytes: e.queueMax, XOFF: s.XOFFThreshold(p.Node)}
		}
	}
	setLimits(c, &n.DeepestQueue)
	n.Tiers = tierList(tiers)
	return n
}

// setLimits says from where on the queue of the jobs' class marks; only lossless
// Ethernet pauses.
func setLimits(c *cluster.Cluster, q *Queue) {
	if q.Where == "" {
		return
	}
	ecn := c.QoS.ECN
	q.ECNMin, q.ECNMax = ecn.Min, ecn.Max
	switch c.Transport {
	case cluster.TCP:
		q.XOFF = 0
		q.ECNMin, q.ECNMax = c.TCP.ECNThreshold, c.TCP.ECNThreshold
		ecn.Enabled = c.TCP.Control == cluster.DCTCP
	case cluster.InfiniBand:
		q.XOFF = 0
		ecn.Enabled = ecn.Enabled && c.InfiniBand.Congestion
	}
	if !ecn.Enabled {
		q.ECNMin, q.ECNMax = 0, 0
	}
}

func totals(s *sim.Sim) Totals {
	t := s.Totals()
	return Totals{
		Drops: t.Drops + t.Discards + t.Lost + t.Unroutable, LosslessDrops: t.LosslessDrops,
		PFCPauseFrames: t.XOFF, PFCResumeFrames: t.XON,
		ECNMarkedPackets: t.ECNMarked, CNPs: t.CNPs,
		RetransmittedPackets: t.Retransmitted, DataPackets: t.DataPackets,
	}
}

// egress is one port's sending side over the run.
type egress struct {
	wireBytes   units.Bytes // frames, preamble and gap
	share       float64     // of line rate
	paused      float64     // share of the time that the RoCE priority was held back
	queueMax    units.Bytes
	marks, xoff uint64
}

func observeEgress(c *cluster.Cluster, s *sim.Sim, id cluster.PortID, active units.Time, wire sim.Wire) egress {
	var e egress
	data := c.DataPriority()
	for prio := range uint8(qos.Priorities) {
		n := s.Counters(id, prio)
		pauses := n.TxXOFF + n.TxXON
		e.wireBytes += units.Bytes(n.TxBytes + n.TxFrames*uint64(wire.Gap) + pauses*uint64(wire.PFC+wire.Gap))
		e.marks += n.ECNMarked
		e.xoff += n.RxXOFF
		if prio == data {
			e.queueMax = n.QueueMax
			if active > 0 {
				e.paused = min(1, float64(n.Paused)/float64(active))
			}
		}
	}
	if can := c.Ports[id].Rate.BytesIn(active); can > 0 {
		e.share = float64(e.wireBytes) / float64(can)
	}
	return e
}

// tierKey orders tiers: up from the hosts first, then down to them.
type tierKey struct{ from, to uint8 }

func tierOf(c *cluster.Cluster, p *cluster.Port) tierKey {
	return tierKey{c.Nodes[p.Node].Tier, c.Nodes[c.Ports[p.Peer].Node].Tier}
}

func (k tierKey) name() string {
	names := [...]string{"host", "leaf", "spine", "core"}
	return names[min(k.from, 3)] + " to " + names[min(k.to, 3)]
}

type tierSum struct {
	links         int
	share, paused float64
	most          float64
	marks, xoff   uint64
}

func (t *tierSum) add(e *egress) {
	t.links++
	t.share += e.share
	t.paused += e.paused
	t.most = max(t.most, e.share)
	t.marks += e.marks
	t.xoff += e.xoff
}

func tierList(sums map[tierKey]*tierSum) []Tier {
	keys := make([]tierKey, 0, len(sums))
	for k := range sums {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		a, b := keys[i], keys[j]
		if up, other := a.from < a.to, b.from < b.to; up != other {
			return up
		} else if up {
			return a.from < b.from
		}
		return a.from > b.from
	})
	var list []Tier
	for _, k := range keys {
		t := sums[k]
		links := float64(t.links)
		list = append(list, Tier{
			Name: k.name(), Links: t.links,
			UtilisationMean: t.share / links, UtilisationMax: t.most,
			PauseShare: t.paused / links, ECNMarked: t.marks, PauseFrames: t.xoff,
		})
	}
	return list
}

// portName names a port as places in fault specifications do: "leaf-2/port-5".
func portName(c *cluster.Cluster, id cluster.PortID) string {
	p := &c.Ports[id]
	return c.Nodes[p.Node].Name + "/" + p.Name
}

// NICName names a NIC: "host-7/nic-3".
func NICName(c *cluster.Cluster, r cluster.NICRef) string {
	h := &c.Hosts[r.Host]
	return c.Nodes[h.Node].Name + "/" + h.NICs[r.NIC].Name
}

package sim

import (
	"fmt"
	"slices"

	"weir/dcqcn"
	"weir/internal/cluster"
	"weir/internal/qos"
	"weir/internal/twin/switchcore"
	"weir/units"
)

// build lays out ports, switches, NICs and cards.
func (s *Sim) build() error {
	c := s.cluster
	ports := 0
	s.firstPort = make([]uint32, len(c.Nodes))
	for i := range c.Nodes {
		s.firstPort[i] = uint32(ports)
		ports += len(c.Nodes[i].Ports)
	}
	s.tx = make([]txPort, ports)
	s.rx = make([]rxPort, ports)
	s.rare = make([]rarePort, ports)
	s.refreshSet = make([]uint8, ports)
	s.watchAt = make([]units.Time, ports)
	for i := range s.watchAt {
		s.watchAt[i] = units.Never
	}
	s.firstCard = make([]uint32, len(c.Hosts))
	cards := 0
	for h := range c.Hosts {
		s.firstCard[h] = uint32(cards)
		cards += len(c.Hosts[h].NICs)
	}
	s.cards = make([]card, cards)
	s.nicCounters = make([]NICCounters, cards)
	for i := range c.Nodes {
		if err := s.addNode(cluster.NodeID(i)); err != nil {
			return err
		}
	}
	for h := range c.Hosts {
		for i := range c.Hosts[h].NICs {
			s.addCard(h, i)
		}
	}
	return nil
}

// simPort returns the simulator's number of a cluster's port.
func (s *Sim) simPort(p cluster.PortID) uint32 {
	port := &s.cluster.Ports[p]
	return s.firstPort[port.Node] + uint32(port.Index)
}

// portEntity returns the hash of a port's name: "host-3/nic-0".
func (s *Sim) portEntity(p cluster.PortID) uint64 { return PortHash(s.cluster, p) }

func (s *Sim) addNode(id cluster.NodeID) error {
	c := s.cluster
	n := &c.Nodes[id]
	unit := uint32(len(s.switches))
	if n.Kind == cluster.SwitchNode {
		cfg := s.switchConfig(id)
		if s.cfg.Switch != nil {
			s.cfg.Switch(id, &cfg)
		}
		core, err := switchcore.New(cfg)
		if err != nil {
			return fmt.Errorf("%s: %w", n.Name, err)
		}
		s.switches = append(s.switches, switchUnit{core: core, firstPort: s.firstPort[id], node: id})
	}
	for k, pid := range n.Ports {
		p := s.firstPort[id] + uint32(k)
		port := &c.Ports[pid]
		t := &s.tx[p]
		*t = txPort{node: uint32(id), unit: unit, local: uint16(k), wakeAt: units.Never}
		rate := port.Rate
		s.rare[p] = rarePort{entity: s.portEntity(pid), id: pid}
		if port.Link != cluster.LinkID(cluster.None) {
			s.connectPort(t, &s.rare[p], port)
			rate = c.Links[port.Link].Rate
		}
		rate = max(rate, units.Mbps)
		s.rare[p].rate = rate
		t.pace = rate.Pace()
		if n.Kind == cluster.HostNode {
			t.flags |= isHost
			t.unit = uint32(len(s.nics))
			nic := nicPort{card: noCard, obeys: s.obeys}
			if port.NIC >= 0 && n.Host >= 0 {
				nic.card = s.firstCard[n.Host] + uint32(port.NIC)
			}
			for i := range nic.since {
				nic.since[i] = units.Never
			}
			s.nics = append(s.nics, nic)
		}
		r := &s.rx[p]
		r.node, r.unit, r.local, r.host = t.node, t.unit, t.local, t.flags&isHost != 0
	}
	return nil
}

const noCard = ^uint32(0)

// connectPort sets what a port's link gives it.
func (s *Sim) connectPort(t *txPort, r *rarePort, port *cluster.Port) {
	c := s.cluster
	link := &c.Links[port.Link]
	t.flags |= isCabled
	t.peer, t.peerNode = s.simPort(port.Peer), uint32(c.Ports[port.Peer].Node)
	s.addLane(&t.lane, &s.rx[t.peer].lane)
	t.delay, r.ctlDelay = link.Delay, link.Delay+s.model.PauseReaction
	r.cable = link.Delay
	t.delay += c.SwitchLatency(c.Ports[port.Peer].Node)
	if link.Loss > 0 {
		t.flags |= isLossy
		r.loss = lossOf(link.Loss)
	}
}

func (s *Sim) addCard(h, i int) {
	host := &s.cluster.Hosts[h]
	nic := &host.NICs[i]
	d := &s.cards[s.firstCard[h]+uint32(i)]
	d.node, d.cnpPriority = uint32(host.Node), s.model.CNPPriority
	pcie := nic.PCIe
	if s.cluster.Staged() {
		d.flags |= copiesHost
		if copies := s.cluster.HostCopy.Rate; copies > 0 {
			d.copyPace = copies.Pace()
		} else if pcie > 0 {
			pcie /= 2 // each byte crosses the slot twice
			d.copyPace = pcie.Pace()
		}
	}
	if m := nic.Model; m != nil {
		d.latency = m.Latency
	}
	s.setPCIe(d, nic, pcie, pcie)
}

// setPCIe sets at what rates a card fetches what it sends and drains what it
// has received; 0: no limit.
func (s *Sim) setPCIe(d *card, nic *cluster.NIC, fetch, drain units.BitRate) {
	d.pace, d.drain = 0, 0
	d.full, d.xoff, d.xon = units.Never, units.Never, units.Never
	if fetch > 0 {
		d.pace = fetch.Pace()
	}
	pcie := drain
	if pcie > 0 {
		d.drain = pcie.Pace()
	}
	m := nic.Model
	if d.drain == 0 || m == nil || m.RxBuffer <= 0 || s.cluster.Transport == cluster.InfiniBand {
		return
	}
	// XOFF leaves room for what is under way when the pause is sent.
	var room units.Bytes
	for _, p := range nic.Ports {
		room += s.headroom(p)
	}
	xoff := max(m.RxBuffer-room, m.RxBuffer/4)
	d.full = pcie.TransmitTime(m.RxBuffer)
	d.xoff = pcie.TransmitTime(xoff)
	d.xon = pcie.TransmitTime(max(0, xoff-2*s.frame()))
}

// frame returns the largest frame of RDMA traffic.
func (s *Sim) frame() units.Bytes {
	return units.Bytes(s.rc.MTU + s.wire.Header + s.wire.First)
}

// ratesOf returns the index of the DCQCN settings for a port's line rate.
func (s *Sim) ratesOf(p uint32) uint8 {
	rate := s.rare[p].rate
	i := slices.IndexFunc(s.dcqcn, func(d dcqcn.Params) bool { return d.LineRate == rate })
	if i < 0 {
		d := s.dcqcnBase
		d.LineRate = rate
		if s.cluster.Transport == cluster.InfiniBand {
			d.Enabled = d.Enabled && s.cluster.InfiniBand.Congestion
		}
		i = len(s.dcqcn)
		s.dcqcn = append(s.dcqcn, d)
	}
	return uint8(i)
}

// nicOf returns the card of a NIC.
func (s *Sim) nicOf(r cluster.NICRef) (uint32, error) {
	c := s.cluster
	if r.Host < 0 || int(r.Host) >= len(c.Hosts) || r.NIC < 0 || int(r.NIC) >= len(c.Hosts[r.Host].NICs) {
		return 0, fmt.Errorf("no NIC %d on host %d", r.NIC, r.Host)
	}
	return s.firstCard[r.Host] + uint32(r.NIC), nil
}

// Defaults of switches that the catalogue does not know.
const (
	defaultBuffer = 32 * units.MiB
	// lossyAlpha is how much of the free buffer one lossy egress queue may
	// hold, as a multiple: the usual setting of shared-buffer chips.
	lossyAlpha = 1
)

// switchConfig derives a switch's configuration from the cluster's intent.
func (s *Sim) switchConfig(id cluster.NodeID) switchcore.Config {
	c := s.cluster
	q := &c.QoS
	n := &c.Nodes[id]
	cfg := switchcore.Config{
		Buffer:   defaultBuffer,
		Lossless: q.LosslessMask(), PFC: q.PFC,
		AlphaIngress: q.Alpha, AlphaEgress: lossyAlpha,
		XONOffset:   q.XONOffset,
		Gap:         units.Bytes(s.wire.Gap),
		PauseQuanta: longestPause, Refresh: true,
		Watchdog: q.Watchdog,
	}
	if n.Model != nil && n.Model.Buffer > 0 {
		cfg.Buffer = n.Model.Buffer
	}
	for i := range q.Classes {
		k := &q.Classes[i]
		if k.Strict {
			cfg.Strict |= 1 << k.Priority
		}
		cfg.Weight[k.Priority] = uint32(k.Share*100 + 0.5)
	}
	cfg.ECN[q.RoCE().Priority] = q.ECN
	s.bestEffort(&cfg)
	for _, p := range n.Ports {
		port := switchcore.PortConfig{Rate: max(c.Ports[p].Rate, units.Mbps)}
		if l := c.Ports[p].Link; l != cluster.LinkID(cluster.None) {
			port.Rate = max(c.Links[l].Rate, units.Mbps)
			port.Headroom = q.Headroom
			if port.Headroom == 0 {
				port.Headroom = s.headroom(p)
			}
		}
		cfg.Ports = append(cfg.Ports, port)
	}
	if c.Transport == cluster.InfiniBand {
		s.creditSwitch(&cfg)
	}
	return cfg
}

// longestPause is the most quanta that a pause frame can ask for.
const longestPause = 0xffff

// headroom returns the buffer that a port needs for one lossless priority
// behind XOFF: what arrives while the pause frame waits behind a frame just
// begun, travels, takes effect behind another frame just begun, and what is on
// the cable and in the pipeline by then; or the rule of the NIC drivers, if
// that asks for more. The largest frame is that of RDMA traffic.
func (s *Sim) headroom(p cluster.PortID) units.Bytes {
	c := s.cluster
	l := c.Ports[p].Link
	if l == cluster.LinkID(cluster.None) {
		return 0
	}
	link := &c.Links[l]
	wait := 2*link.Delay + s.model.PauseReaction
	if m := c.Nodes[c.Ports[p].Node].Model; m != nil {
		wait += m.Latency
	}
	frame := s.frame() + units.Bytes(s.wire.Gap)
	need := link.Rate.BytesIn(wait) + 3*frame + units.Bytes(2*(s.wire.PFC+s.wire.Gap))
	metres := units.Metres(link.Delay / (5 * units.Nanosecond)) // of cable with this delay
	return max(need, qos.HeadroomDriver(link.Rate, metres, c.QoS.MTU))
}

// priorities is the number of priorities as an index bound.
const priorities = qos.Priorities

package fault

import (
	"slices"
	"strconv"

	"weir/internal/cluster"
	"weir/internal/fact"
	"weir/internal/qos"
	"weir/units"
)

// Facts returns what the tools of hosts and switches tell of a cluster with its
// faults, as far as that is no counter: links, neighbours, PCIe, pause, marking,
// congestion control and GPUDirect. Faults are told as they are while they act.
// A fault that cannot be injected is passed over.
func Facts(c *cluster.Cluster) []fact.Fact {
	t := &teller{c: Physical(c), changed: map[change]fact.Value{}}
	for i := range c.Faults {
		f := &c.Faults[i]
		if k, place, err := resolve(c, f); err == nil {
			t.fault(f.ID, newSite(c, place, &k, f))
		}
	}
	t.ports()
	t.switches()
	t.cards()
	t.jobs()
	return t.out
}

// A change is a fact that a fault makes differ from the intent: of a port, a
// node or a card.
type change struct {
	of  any // cluster.PortID, cluster.NodeID or cluster.NICRef
	key string
}

type teller struct {
	c       *cluster.Cluster
	changed map[change]fact.Value
	out     []fact.Fact
}

func (t *teller) set(of any, key string, v fact.Value) { t.changed[change{of: of, key: key}] = v }

// tell adds a fact: what a fault makes of it, or v.
func (t *teller) tell(of any, s fact.Subject, key, unit, tool string, v fact.Value) {
	if w, ok := t.changed[change{of: of, key: key}]; ok {
		v = w
	}
	if v.Kind() == fact.Absent {
		return
	}
	t.out = append(t.out, fact.Fact{Subject: s, Key: key, Value: v, Unit: unit, Origin: fact.Origin{Source: "simulation", Tool: tool}})
}

// fault notes what a fault changes.
func (t *teller) fault(id string, s *site) {
	c := s.c
	switch id {
	case "ecn-threshold-too-low", "ecn-threshold-too-high", "ecn-not-configured", "wred-drops-before-pfc":
		for _, n := range s.switches() {
			e := ecnOf(id, c, s.severity)
			t.set(n, "ecn.enabled", fact.OfBool(e.Enabled))
			t.set(n, "ecn.min", fact.Value{})
			t.set(n, "ecn.max", fact.Value{})
			t.set(n, "ecn.probability", fact.Value{})
			if e.Enabled {
				t.set(n, "ecn.min", fact.OfUint(uint64(e.Min)))
				t.set(n, "ecn.max", fact.OfUint(uint64(e.Max)))
				t.set(n, "ecn.probability", fact.OfFloat(100*e.Probability))
			}
			if id == "wred-drops-before-pfc" {
				t.set(n, "ecn.drops", fact.OfBool(true))
				t.set(n, "ecn.enabled", fact.OfBool(false))
			}
		}
	case "pfc-not-enabled-on-path":
		for _, p := range s.own() {
			t.set(p, "qos.pfc.enabled", priorityList(c.QoS.LosslessMask()&^s.roce()))
		}
	case "pfc-priority-mismatch":
		p := s.own()[0] // this end has the wrong priority
		t.set(p, "qos.pfc.enabled", priorityList(c.QoS.LosslessMask()&^s.roce()|s.roce()<<1))
	case "pfc-on-all-priorities":
		for _, p := range s.ends() {
			t.set(p, "qos.pfc.enabled", priorityList(0xff))
		}
	case "headroom-too-small":
		for _, p := range s.own() {
			t.set(p, "pg.headroom", fact.OfFloat(1-s.severity)) // the share: see ports
		}
	case "global-pause-throttle":
		for _, p := range s.ends() {
			t.set(p, "qos.pfc.enabled", priorityList(0))
			t.set(p, "pause.rx", fact.OfBool(true))
			t.set(p, "pause.tx", fact.OfBool(true))
		}
	case "dcqcn-recovery-too-slow", "dcqcn-recovery-too-fast":
		p := c.DCQCN
		recovery(&p, recoveryFactor(id, s.severity))
		for h := range c.Hosts {
			for i := range c.Hosts[h].NICs {
				r := cluster.NICRef{Host: int32(h), NIC: int32(i)}
				t.set(r, "dcqcn.ai_rate", fact.OfUint(uint64(p.AIRate)))
				t.set(r, "dcqcn.hai_rate", fact.OfUint(uint64(p.HAIRate)))
				t.set(r, "dcqcn.time_reset", fact.OfUint(uint64(p.TimeReset/units.Microsecond)))
			}
		}
	case "congestion-control-off":
		prio := strconv.Itoa(int(c.QoS.RoCE().Priority))
		for _, r := range s.cards() {
			t.set(r, "dcqcn.rp.priority."+prio, fact.OfBool(false))
			t.set(r, "dcqcn.np.priority."+prio, fact.OfBool(false))
		}
	case "cnp-in-wrong-queue":
		for _, r := range s.cards() {
			t.set(r, "dcqcn.cnp_priority", fact.OfUint(uint64(c.QoS.RoCE().Priority)))
		}
	case "roce-in-default-priority":
		if s.place.Kind == node && c.Nodes[s.place.Nodes[0]].Kind == cluster.SwitchNode {
			for _, p := range s.own() {
				t.set(p, "qos.trust", fact.OfText("pcp"))
			}
		}
		for _, r := range s.cards() {
			t.set(r, "roce.dscp", fact.OfUint(0))
		}
	case "link-speed-degraded":
		for _, p := range s.ends() {
			t.set(p, "link.speed", fact.OfUint(uint64(slower(c.Links[c.Ports[p].Link].Rate, s.severity))))
		}
	case "mtu-mismatch":
		for _, p := range s.own() {
			t.set(p, "link.mtu", fact.OfUint(1500))
		}
	case "pcie-degraded":
		for _, r := range s.cards() {
			t.set(r, "pcie.bandwidth", fact.OfUint(uint64(slower(s.widen(r), s.severity))))
			t.set(r, "pcie.width", fact.OfUint(lanes(s.severity)))
		}
	case "gdr-inactive-no-peermem":
		for _, r := range s.cards() {
			t.set(r, "nccl.gdrdma", fact.OfBool(false))
			t.set(c.Hosts[r.Host].Node, "host.peermem", fact.OfBool(false))
		}
	case "lag-single-qp":
		for _, r := range s.cards() {
			t.set(r, "nccl.env.NCCL_IB_QPS_PER_CONNECTION", fact.OfUint(1))
		}
	case "rail-mismatch":
		// The device names of two cards change places: NIC n is what n+1 was.
		a, b := s.place.NIC, s.partner()
		t.set(a, "rdma.netdev", fact.OfText(s.nic(b).Name))
		t.set(b, "rdma.netdev", fact.OfText(s.nic(a).Name))
	case "link-down-flap":
		if s.severity >= 1 && s.end == units.Never {
			for _, p := range s.ends() {
				t.set(p, "link.state", fact.OfText("down"))
			}
		}
	}
}

// fullWidth is the width of the slot that cards of this class have.
const fullWidth = 16

// lanes returns the width of a PCIe link of which a share is missing.
func lanes(missing float64) uint64 {
	w := uint64(fullWidth)
	for w > 1 && float64(w) > fullWidth*(1-missing)+1e-9 {
		w /= 2
	}
	return w
}

func priorityList(mask uint8) fact.Value {
	list := []string{}
	for p := range qos.Priorities {
		if mask>>p&1 != 0 {
			list = append(list, strconv.Itoa(p))
		}
	}
	return fact.OfList(list)
}

func (t *teller) portSubject(id cluster.PortID) fact.Subject {
	c := t.c
	p := &c.Ports[id]
	n := &c.Nodes[p.Node]
	if n.Kind == cluster.HostNode {
		if n.Host >= 0 && p.NIC >= 0 {
			return fact.Subject{Kind: fact.NIC, Host: n.Name, Name: c.Hosts[n.Host].NICs[p.NIC].Device}
		}
		return fact.Subject{Kind: fact.NIC, Host: n.Name, Name: p.Name}
	}
	return fact.Subject{Kind: fact.Port, Host: n.Name, Name: p.Name}
}

// ports tells what each port's tools say of its link and queues.
func (t *teller) ports() {
	c := t.c
	mask := uint8(0)
	if c.QoS.PFC {
		mask = c.QoS.LosslessMask()
	}
	for i := range c.Ports {
		id := cluster.PortID(i)
		p := &c.Ports[i]
		if p.Link == cluster.LinkID(cluster.None) {
			continue
		}
		s := t.portSubject(id)
		host := s.Kind == fact.NIC
		link, lldp, dcb := "show interface", "show lldp neighbors", "show priority-flow-control"
		if host {
			link, lldp, dcb = "ethtool", "lldpctl", "mlnx_qos"
		}
		peer := &c.Ports[p.Peer]
		t.tell(id, s, "link.state", "", link, fact.OfText("up"))
		t.tell(id, s, "link.speed", "bits_per_s", link, fact.OfUint(uint64(c.Links[p.Link].Rate)))
		t.tell(id, s, "link.max_speed", "bits_per_s", link, fact.OfUint(uint64(p.Rate)))
		t.tell(id, s, "link.mtu", "bytes", link, fact.OfUint(9216))
		t.tell(id, s, "link.neighbour", "", lldp, fact.OfText(c.Nodes[peer.Node].Name+"/"+peer.Name))
		t.tell(id, s, "pause.rx", "", link, fact.OfBool(false))
		t.tell(id, s, "pause.tx", "", link, fact.OfBool(false))
		t.tell(id, s, "qos.pfc.enabled", "", dcb, priorityList(mask))
		t.tell(id, s, "qos.trust", "", dcb, fact.OfText("dscp"))
		if share, ok := t.changed[change{of: id, key: "pg.headroom"}]; ok && !host {
			// Only a configured headroom, or what is left of the computed one, is known in bytes.
			f, _ := share.Float()
			delete(t.changed, change{of: id, key: "pg.headroom"})
			t.tell(id, t.queue(id), "pg.headroom", "bytes", "show queuing", fact.OfUint(uint64(f*float64(t.headroom(id)))))
		} else if !host {
			t.tell(id, t.queue(id), "pg.headroom", "bytes", "show queuing", fact.OfUint(uint64(t.headroom(id))))
		}
	}
}

func (t *teller) queue(id cluster.PortID) fact.Subject {
	s := t.portSubject(id)
	return fact.Subject{Kind: fact.Queue, Host: s.Host, Name: s.Name + "/PG" + strconv.Itoa(int(t.c.QoS.RoCE().Priority))}
}

// headroom returns what a port's headroom is set to, or the rule of the drivers.
func (t *teller) headroom(id cluster.PortID) units.Bytes {
	if h := t.c.QoS.Headroom; h != 0 {
		return h
	}
	l := &t.c.Links[t.c.Ports[id].Link]
	return qos.HeadroomDriver(l.Rate, units.Metres(l.Delay/(5*units.Nanosecond)), t.c.QoS.MTU)
}

// switches tells how each switch marks, port by port, as its profile is bound.
func (t *teller) switches() {
	for i := range t.c.Nodes {
		n := &t.c.Nodes[i]
		if n.Kind != cluster.SwitchNode {
			continue
		}
		id := cluster.NodeID(i)
		for _, p := range n.Ports {
			if t.c.Ports[p].Link != cluster.LinkID(cluster.None) {
				t.marking(id, fact.Subject{Kind: fact.Queue, Host: n.Name, Name: t.c.Ports[p].Name + "/" + strconv.Itoa(int(t.c.QoS.RoCE().Priority))})
			}
		}
		t.tell(id, fact.Subject{Kind: fact.Switch, Host: n.Name, Name: n.Name}, "watchdog.enabled", "", "show pfcwd", fact.OfBool(t.c.QoS.Watchdog.Enabled))
	}
}

// marking tells how one queue of a switch marks.
func (t *teller) marking(id cluster.NodeID, s fact.Subject) {
	e := t.c.QoS.ECN
	t.tell(id, s, "ecn.enabled", "", "show wred", fact.OfBool(e.Enabled))
	t.tell(id, s, "ecn.drops", "", "show wred", fact.Value{})
	if !e.Enabled && len(t.changed) == 0 {
		return
	}
	min, max, p := fact.Value{}, fact.Value{}, fact.Value{}
	if e.Enabled {
		min, max, p = fact.OfUint(uint64(e.Min)), fact.OfUint(uint64(e.Max)), fact.OfFloat(100*e.Probability)
	}
	t.tell(id, s, "ecn.min", "bytes", "show wred", min)
	t.tell(id, s, "ecn.max", "bytes", "show wred", max)
	t.tell(id, s, "ecn.probability", "percent", "show wred", p)
}

// cards tells what the tools say of each NIC.
func (t *teller) cards() {
	c := t.c
	roce := strconv.Itoa(int(c.QoS.RoCE().Priority))
	for h := range c.Hosts {
		host := &c.Hosts[h]
		name := c.Nodes[host.Node].Name
		for i := range host.NICs {
			r, n := cluster.NICRef{Host: int32(h), NIC: int32(i)}, &host.NICs[i]
			s := fact.Subject{Kind: fact.NIC, Host: name, Name: n.Device}
			t.tell(r, s, "rdma.netdev", "", "rdma link", fact.OfText(n.Name))
			t.tell(r, s, "pcie.width", "", "lspci", fact.OfUint(fullWidth))
			t.tell(r, s, "pcie.max_width", "", "lspci", fact.OfUint(fullWidth))
			if n.PCIe != 0 {
				t.tell(r, s, "pcie.bandwidth", "bits_per_s", "dmesg", fact.OfUint(uint64(n.PCIe)))
				t.tell(r, s, "pcie.max_bandwidth", "bits_per_s", "dmesg", fact.OfUint(uint64(n.PCIe)))
			}
			t.tell(r, s, "dcqcn.rp.priority."+roce, "", "sysfs", fact.OfBool(c.DCQCN.Enabled))
			t.tell(r, s, "dcqcn.np.priority."+roce, "", "sysfs", fact.OfBool(c.DCQCN.Enabled))
			t.tell(r, s, "dcqcn.cnp_priority", "", "sysfs", fact.OfUint(uint64(c.QoS.CNP().Priority)))
			t.tell(r, s, "dcqcn.ai_rate", "bits_per_s", "sysfs", fact.OfUint(uint64(c.DCQCN.AIRate)))
			t.tell(r, s, "dcqcn.hai_rate", "bits_per_s", "sysfs", fact.OfUint(uint64(c.DCQCN.HAIRate)))
			t.tell(r, s, "dcqcn.time_reset", "us", "sysfs", fact.OfUint(uint64(c.DCQCN.TimeReset/units.Microsecond)))
			t.tell(r, s, "roce.dscp", "", "sysfs", fact.Value{})
		}
		t.tell(host.Node, fact.Subject{Kind: fact.Host, Host: name, Name: name}, "host.peermem", "", "lsmod", fact.OfBool(c.RDMA.GPUDirect))
	}
}

// jobs tells what the library's log says of GPUDirect and of queue pairs, one
// process a host.
func (t *teller) jobs() {
	c := t.c
	for i := range c.Jobs {
		for _, h := range hostsOf(&c.Jobs[i]) {
			name := c.Nodes[c.Hosts[h].Node].Name
			s := fact.Subject{Kind: fact.Process, Host: name, Name: c.Jobs[i].Name}
			gdr, qps := c.RDMA.GPUDirect, uint64(max(c.RDMA.QPsPerConnection, 1))
			for n := range c.Hosts[h].NICs {
				r := cluster.NICRef{Host: h, NIC: int32(n)}
				if v, ok := t.changed[change{of: r, key: "nccl.gdrdma"}]; ok {
					on, _ := v.Bool()
					gdr = gdr && on
				}
				if v, ok := t.changed[change{of: r, key: "nccl.env.NCCL_IB_QPS_PER_CONNECTION"}]; ok {
					qps, _ = v.Uint()
				}
			}
			if c.Jobs[i].Kind == cluster.CollectiveJob {
				t.tell(nil, s, "nccl.gdrdma", "", "nccl", fact.OfBool(gdr))
			}
			t.tell(nil, s, "nccl.env.NCCL_IB_QPS_PER_CONNECTION", "", "nccl", fact.OfText(strconv.FormatUint(qps, 10)))
		}
	}
}

// hostsOf returns the hosts on which a job has processes that send.
func hostsOf(j *cluster.Job) []int32 {
	if j.Kind == cluster.CollectiveJob {
		return j.Hosts
	}
	var hosts []int32
	for _, f := range j.Flows {
		if !slices.Contains(hosts, f.Src.Host) {
			hosts = append(hosts, f.Src.Host)
		}
	}
	slices.Sort(hosts)
	return hosts
}

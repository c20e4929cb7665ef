package panel

import (
	"net"
	"slices"
	"strconv"
	"strings"

	"weir/internal/cluster"
	"weir/internal/telemetry"
	"weir/units"
)

// A Fabric is the list of ports. The ends of cable l are 2l and 2l+1, the
// first being the one nearer to the hosts.
type Fabric struct {
	Name  string
	Nodes []Node
	Ends  []End

	grows  bool
	nodes  map[string]int32
	byPort map[string]int32 // "node/port", as labels name it
}

// A Node is a host or a switch; tier 0 are hosts.
type Node struct {
	Name string
	Tier uint8
}

// An End is one port of a cable. Node is an index into Nodes, or -1 for an end
// that is not known. Rate is 0 where it is not known.
type End struct {
	Node int32
	Port string // as the cluster file names it: "nic-3", "port-5"
	// Label is what the port is called in labels: "mlx5_3/1" of a host, the
	// port's name of a switch.
	Label string
	Rate  units.BitRate
	Rail  int32 // of a host's port; -1: none
	Host  bool
}

// Peer returns the other end of an end's cable.
func Peer(end int) int { return end ^ 1 }

func newFabric() *Fabric {
	return &Fabric{nodes: map[string]int32{}, byPort: map[string]int32{}}
}

// NewFabric lists the cabled ports of a cluster.
func NewFabric(c *cluster.Cluster) *Fabric {
	f := newFabric()
	f.Name = c.Name
	for i := range c.Nodes {
		f.nodes[c.Nodes[i].Name] = int32(i)
		f.Nodes = append(f.Nodes, Node{c.Nodes[i].Name, c.Nodes[i].Tier})
	}
	for i := range c.Links {
		l := &c.Links[i]
		a, b := l.A, l.B
		if c.Nodes[c.Ports[a].Node].Tier > c.Nodes[c.Ports[b].Node].Tier {
			a, b = b, a
		}
		for _, id := range [...]cluster.PortID{a, b} {
			f.take(endOf(c, id))
		}
	}
	return f
}

func endOf(c *cluster.Cluster, id cluster.PortID) End {
	p := &c.Ports[id]
	n := &c.Nodes[p.Node]
	e := End{Node: int32(p.Node), Port: p.Name, Label: p.Name, Rate: p.Rate, Rail: -1}
	if n.Kind == cluster.HostNode && p.NIC >= 0 {
		nic := &c.Hosts[n.Host].NICs[p.NIC]
		e.Host, e.Rail = true, nic.Rail
		e.Label = nic.Device + "/" + strconv.Itoa(slices.Index(nic.Ports, id)+1)
	}
	return e
}

func (f *Fabric) take(e End) int32 {
	n := int32(len(f.Ends))
	f.Ends = append(f.Ends, e)
	f.byPort[f.Nodes[e.Node].Name+"/"+e.Label] = n
	return n
}

func (f *Fabric) clone() *Fabric {
	if !f.grows {
		return f
	}
	return &Fabric{Name: f.Name, Nodes: slices.Clone(f.Nodes), Ends: slices.Clone(f.Ends)}
}

// PortName returns "host-7/nic-3", or "" for an end that is not known.
func (f *Fabric) PortName(end int) string {
	e := &f.Ends[end]
	if e.Node < 0 {
		return ""
	}
	return f.Nodes[e.Node].Name + "/" + e.Port
}

// Find returns the end with a name as PortName gives it.
func (f *Fabric) Find(name string) (int, bool) {
	for i := range f.Ends {
		if f.Ends[i].Node >= 0 && f.PortName(i) == name {
			return i, true
		}
	}
	return 0, false
}

// end returns the end that labels name, or -1. A fabric that grows takes up
// those it does not know, each on a cable of its own.
func (f *Fabric) end(node, label string, host bool) int32 {
	if n, ok := f.byPort[node+"/"+label]; ok {
		return n
	}
	if bare, _, err := net.SplitHostPort(node); err == nil {
		if n, ok := f.byPort[bare+"/"+label]; ok {
			return n
		}
		node = bare
	}
	if !f.grows || node == "" || label == "" {
		return -1
	}
	id, ok := f.nodes[node]
	if !ok {
		id = int32(len(f.Nodes))
		tier := uint8(1)
		if host {
			tier = 0
		}
		f.Nodes = append(f.Nodes, Node{node, tier})
		f.nodes[node] = id
	}
	n := f.take(End{Node: id, Port: strings.TrimSuffix(label, "/1"), Label: label, Host: host, Rail: -1})
	f.Ends = append(f.Ends, End{Node: -1, Rail: -1})
	return n
}

// place tells what series n of the registry adds to.
func (p *Panel) place(n uint32) series {
	m := p.reg.Metric(n)
	r := ruleOf(m.Name, p.reg.Label(n, "direction"))
	s := series{slot: r.slot, factor: r.factor, bits: m.Bits, gauge: m.Kind != telemetry.Counter, end: -1}
	node, label := p.reg.Label(n, "instance"), p.reg.Label(n, "device")+"/"+p.reg.Label(n, "port")
	if m.Side == telemetry.SwitchSide {
		node, label = p.reg.Label(n, "switch"), p.reg.Label(n, "port")
	}
	if r.slot != slotNone {
		s.end = p.fabric.end(node, label, m.Side == telemetry.HostSide)
	}
	if prio, err := strconv.Atoi(p.reg.Label(n, "priority")); err == nil && prio >= 0 && prio < len(p.prios) {
		s.prio = uint8(prio)
		if r.slot == slotPauseRx || r.slot == slotPauseTx {
			p.prios[prio] = true
		}
	}
	return s
}

func sourceOf(key string, factor float64) Source {
	name, direction, _ := strings.Cut(key, "/")
	m := &telemetry.Table()[telemetry.MustLookup(name)]
	return Source{Metric: name, Direction: direction, Factor: factor, Bits: m.Bits, Gauge: m.Kind != telemetry.Counter, Side: m.Side}
}

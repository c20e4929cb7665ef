package cluster

import (
	"fmt"
	"strconv"

	"weir/units"
)

// Usual cable lengths by tier.
const (
	hostCable = units.Metres(5)
	leafCable = units.Metres(30)
	coreCable = units.Metres(100)
)

func (b *builder) addNode(n Node, pos position) (NodeID, error) {
	if old, dup := b.byName[n.Name]; dup {
		what := "switch"
		if b.c.Nodes[old].Kind == HostNode {
			what = "host"
			if !pos.known() {
				pos = b.namePosition(n.Name)
			}
		}
		return 0, pos.found(quoted(n.Name)+" twice", "a name of its own for each node; a "+what+" has this one")
	}
	if len(b.c.Nodes) >= maxNodes {
		return 0, pos.found("more nodes than fit", strconv.Itoa(maxNodes)+" hosts and switches")
	}
	id := NodeID(len(b.c.Nodes))
	b.byName[n.Name] = id
	b.c.Nodes = append(b.c.Nodes, n)
	return id, nil
}

// namePosition is where the file names a host.
func (b *builder) namePosition(name string) position {
	for i := range b.classes {
		for j, s := range b.classes[i].names {
			if s == name {
				return b.classes[i].node.at("names").kids[j].pos
			}
		}
	}
	return position{}
}

func (b *builder) addPort(n NodeID, name string, rate units.BitRate, nic int32) PortID {
	node := &b.c.Nodes[n]
	id := PortID(len(b.c.Ports))
	if name == "" {
		name = "port-" + strconv.Itoa(len(node.Ports))
	}
	b.c.Ports = append(b.c.Ports, Port{Node: n, Index: uint16(len(node.Ports)), Name: name, Link: LinkID(None), Peer: PortID(None), LAG: -1, NIC: nic, Rate: rate})
	node.Ports = append(node.Ports, id)
	return id
}

func (b *builder) connect(a, z PortID, l cable) {
	id := LinkID(len(b.c.Links))
	b.c.Links = append(b.c.Links, Link{A: a, B: z, Rate: l.speed, Length: l.length, Delay: l.delay, Loss: l.loss})
	pa, pz := &b.c.Ports[a], &b.c.Ports[z]
	pa.Link, pa.Peer, pz.Link, pz.Peer = id, z, id, a
}

// newLAG returns the next free group number of a node.
func (b *builder) newLAG(n NodeID) int32 {
	if b.nextLAG == nil {
		b.nextLAG = map[NodeID]int32{}
	}
	g := b.nextLAG[n]
	b.nextLAG[n] = g + 1
	return g
}

// A cable is the kind of link that joins two tiers.
type cable struct {
	speed  units.BitRate
	length units.Metres
	delay  units.Time
	loss   float64
}

// readCable reads the kind of link in n. speed is what it runs at unless n,
// where it has that key, says otherwise.
func readCable(n *node, speed units.BitRate, from string, metres units.Metres) cable {
	c := cable{speed: speed}
	if i, _ := n.key.child("speed"); i >= 0 {
		c.speed = units.BitRate(n.intOr("speed", int64(speed), from))
	}
	c.length = units.Metres(n.floatOr("length", float64(metres), "default"))
	c.delay = units.Time(n.intOr("delay", int64(c.length.PropagationDelay()), "computed: 5 ns for each metre"))
	return c
}

// tierModels are the switches of each tier: index 1 leaf, 2 spine, 3 core.
type tierModels [4]struct {
	model *SwitchModel
	os    string
}

var tierNames = [...]string{1: "leaf", 2: "spine", 3: "core"}

// switches reads the switch settings of the tiers in use.
func (b *builder) switches(fastest units.BitRate, tiers int) error {
	n := b.root.at("switch")
	base := n.stringOr("model", usualSwitch(fastest), "default")
	for t := 1; t <= tiers; t++ {
		m, os, err := b.switchModel(n, n.at(tierNames[t]), base)
		if err != nil {
			return err
		}
		b.models[t].model, b.models[t].os = m, os
	}
	return nil
}

// usualSwitch stands in where none is named.
func usualSwitch(speed units.BitRate) string {
	for _, name := range [...]string{"spectrum-3", "spectrum-4"} {
		if m, _ := LookupSwitch(name); speed < m.Speed {
			return name
		}
	}
	return "spectrum-4"
}

// switchModel makes the model of a tier: what the tier's own mapping says,
// else the common one, else the catalogue.
func (b *builder) switchModel(common, tier *node, base string) (*SwitchModel, string, error) {
	name := base
	if v, ok := tier.optional("model"); ok {
		name = v.s
	}
	m, _ := LookupSwitch(name)
	own := name != base
	origin := "catalogue: " + name
	// pick takes a setting of the tier, or the common one where the tier has
	// the same model.
	pick := func(key string, catalogue int64) int64 {
		if v, ok := tier.optional(key); ok {
			return v.i
		}
		if own {
			return tier.intOr(key, catalogue, origin)
		}
		return common.intOr(key, catalogue, origin)
	}
	m.Ports = int(pick("ports", int64(m.Ports)))
	m.MaxPorts = max(m.MaxPorts, m.Ports)
	m.Speed = units.BitRate(pick("speed", int64(m.Speed)))
	m.Buffer = units.Bytes(pick("buffer", int64(m.Buffer)))
	m.Latency = units.Time(pick("latency", int64(m.Latency)))
	var os string
	switch v, ok := tier.optional("os"); {
	case ok:
		os = v.s
	case own:
		os = tier.stringOr("os", m.OS[0], origin)
	default:
		os = common.stringOr("os", m.OS[0], origin)
	}
	for _, o := range m.OS {
		if o == os {
			return m, os, nil
		}
	}
	pos := common.where("os", "model")
	if tier.gave("os") || tier.gave("model") {
		pos = tier.where("os", "model")
	}
	return nil, "", pos.found(os+" on "+name, joinWords(m.OS))
}

func joinWords(w []string) string {
	s := ""
	for i, x := range w {
		if i > 0 {
			s += ", "
		}
		s += x
	}
	return s
}

// fabric reads the fabric and builds switches, ports and links.
func (b *builder) fabric() error {
	f := b.root.at("fabric")
	b.c.Topology = f.string("topology")
	b.c.Planes = 1
	fastest := units.BitRate(0)
	for i := range b.classes {
		fastest = max(fastest, b.classes[i].speed)
	}
	b.leafOf = make([]NodeID, len(b.c.Hosts))
	for i := range b.leafOf {
		b.leafOf[i] = NodeID(None)
	}
	var err error
	switch b.c.Topology {
	case "explicit":
		err = b.explicit(f, fastest)
	default:
		err = b.generated(f, fastest)
	}
	if err != nil {
		return err
	}
	return b.checkPorts(f)
}

// checkPorts compares what each switch carries with what its model has.
func (b *builder) checkPorts(f *node) error {
	if len(b.c.Ports) > maxPorts {
		return f.pos.found(strconv.Itoa(len(b.c.Ports))+" ports", "at most "+strconv.Itoa(maxPorts))
	}
	sw := b.root.at("switch")
	for i := range b.c.Nodes {
		n := &b.c.Nodes[i]
		if n.Kind != SwitchNode {
			continue
		}
		var total units.BitRate
		for _, p := range n.Ports {
			port := &b.c.Ports[p]
			total += port.Rate
			if port.Rate > n.Model.Speed {
				return b.fabricPos(f, sw, n.Tier).found(fmt.Sprintf("a port of %v on %s (%s)", port.Rate, n.Name, n.Model.Name), "at most "+n.Model.Speed.String())
			}
		}
		room := units.BitRate(n.Model.Ports) * n.Model.Speed
		if len(n.Ports) > n.Model.MaxPorts || total > room {
			return b.fabricPos(f, sw, n.Tier).found(
				fmt.Sprintf("%d ports of together %v on %s (%s)", len(n.Ports), total, n.Name, n.Model.Name),
				fmt.Sprintf("%d ports of %v, or up to %d slower ones", n.Model.Ports, n.Model.Speed, n.Model.MaxPorts))
		}
	}
	return nil
}

// fabricPos points at the setting that most likely makes a switch too small.
func (b *builder) fabricPos(f, sw *node, tier uint8) position {
	names := [...][]string{1: {"leaves", "spines", "topology"}, 2: {"spines", "leaves", "topology"}, 3: {"cores", "spines", "topology"}}
	if p := f.where(names[min(max(tier, 1), 3)]...); p.known() {
		return p
	}
	if p := sw.where("model"); p.known() {
		return p
	}
	if len(b.classes) > 0 {
		if p := b.classes[0].node.where("count"); p.known() {
			return p
		}
	}
	return b.root.pos
}

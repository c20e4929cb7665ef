package cluster

import (
	"fmt"
	"strconv"

	"weir/units"
)

// A shape is a generated fabric: the numbers of one plane and how hosts attach.
type shape struct {
	planes, pods          int
	leaves, spines, cores int // of each plane
	byRail                bool
	rails                 int // rails of a plane, with byRail
	mlag                  bool
	host, up, core        cable
	upCount, coreCount    int
	upLAG, coreLAG        bool
}

// An attach is one port of a host on its way to a leaf.
type attach struct {
	host, nic, port int
	plane, leaf     int
}

// generated builds single-switch, leaf-spine, rail-optimised and fat-tree fabrics.
func (b *builder) generated(f *node, fastest units.BitRate) error {
	tiers := map[string]int{"single-switch": 1, "leaf-spine": 2, "rail-optimised": 2, "fat-tree": 3}[b.c.Topology]
	if err := b.switches(fastest, tiers); err != nil {
		return err
	}
	s := shape{pods: 1, byRail: b.c.Topology == "rail-optimised"}
	s.planes = int(f.int("planes"))
	b.c.Planes = s.planes
	s.host = readCable(f.at("host_link"), fastest, "", hostCable)
	if err := b.railsOf(f, &s); err != nil {
		return err
	}
	if err := b.leafCount(f, &s); err != nil {
		return err
	}
	ports := b.attachments(&s)
	if tiers >= 2 {
		if err := b.spineCount(f, &s, ports); err != nil {
			return err
		}
	}
	if tiers == 3 {
		if err := b.coreCount(f, &s); err != nil {
			return err
		}
	}
	return b.raise(f, &s, ports)
}

// railsOf counts the rails of a plane and checks them.
func (b *builder) railsOf(f *node, s *shape) error {
	for i := range b.classes {
		cl := &b.classes[i]
		if s.planes > 1 && cl.ports > 1 && cl.ports != s.planes {
			return f.where("planes").found(plural(s.planes, "plane", "planes")+" for cards with "+strconv.Itoa(cl.ports)+" ports", "as many planes as ports, or cards with 1 port")
		}
		for _, p := range cl.nics {
			r := int(p.rail)
			if s.planes > 1 && cl.ports == 1 {
				r /= s.planes
			}
			s.rails = max(s.rails, r+1)
		}
		if cl.bond && s.planes > 1 {
			return cl.node.at("nic").where("bond").found("a bond across "+strconv.Itoa(s.planes)+" planes", "bond with planes: 1")
		}
	}
	return nil
}

// down returns how many host ports of speed a leaf takes when half of it is
// kept for uplinks.
func down(m *SwitchModel, speed units.BitRate, half bool) int {
	n := min(m.MaxPorts, int(units.BitRate(m.Ports)*m.Speed/speed))
	if half {
		n /= 2
	}
	return max(n, 1)
}

// leafCount reads or computes the number of leaves of a plane.
func (b *builder) leafCount(f *node, s *shape) error {
	hosts := len(b.c.Hosts)
	widest := 1 // ports of one host in one plane
	for i := range b.classes {
		cl := &b.classes[i]
		p := len(cl.nics) * cl.ports
		widest = max(widest, (p+s.planes-1)/s.planes)
	}
	s.mlag = f.bool("mlag")
	if b.c.Topology == "single-switch" {
		s.leaves = 1
		if s.mlag {
			s.leaves = 2
		}
		return b.checkMLAG(f, s)
	}
	room := down(b.models[1].model, s.host.speed, true)
	var want int
	from := "computed: as many as the hosts need"
	if s.byRail {
		perHost := 1 // ports of a host on one leaf
		for i := range b.classes {
			if s.planes == 1 {
				perHost = max(perHost, b.classes[i].ports)
			}
		}
		room = max(room/perHost, 1)
		s.pods = int(f.intOr("pods", int64((hosts+room-1)/room), "computed: up to "+plural(room, "host", "hosts")+" to a leaf"))
		want = s.rails * s.pods
		from = "computed: one for each rail and pod"
	} else {
		if b.c.Topology == "fat-tree" {
			s.pods = int(f.int("pods"))
		}
		perLeaf := max(room/widest, 1)
		if s.mlag {
			perLeaf *= 2
		}
		want = (hosts + perLeaf - 1) / perLeaf
		if s.mlag {
			want *= 2
		}
		want = (want + s.pods - 1) / s.pods * s.pods
	}
	s.leaves = int(f.intOr("leaves", int64(want), from))
	if s.byRail && (s.leaves%s.rails != 0 || s.leaves != s.rails*s.pods) {
		return f.where("leaves").found(plural(s.leaves, "leaf", "leaves")+" with "+plural(s.rails, "rail", "rails")+s.inPods(), fmt.Sprintf("%d, one for each rail and pod", s.rails*s.pods))
	}
	if s.leaves%s.pods != 0 {
		return f.where("leaves", "pods").found(plural(s.leaves, "leaf", "leaves")+" in "+plural(s.pods, "pod", "pods"), "a multiple of the pods")
	}
	return b.checkMLAG(f, s)
}

func (s *shape) inPods() string {
	if s.pods == 1 {
		return ""
	}
	return " in " + strconv.Itoa(s.pods) + " pods"
}

func (b *builder) checkMLAG(f *node, s *shape) error {
	if !s.mlag {
		return nil
	}
	if s.byRail {
		return f.where("mlag").found("MLAG pairs in a rail-optimised fabric", "mlag with single-switch, leaf-spine or fat-tree")
	}
	if s.leaves%2 != 0 || s.leaves/s.pods%2 != 0 {
		return f.where("leaves", "mlag").found(plural(s.leaves, "leaf", "leaves")+" in MLAG pairs"+s.inPods(), "an even number of leaves in each pod")
	}
	for i := range b.classes {
		if cl := &b.classes[i]; cl.ports != 2 {
			return f.where("mlag").found("MLAG pairs for cards with 1 port", "mlag with nic.ports: 2")
		}
	}
	return nil
}

// attachments deals the ports of all hosts to leaves.
func (b *builder) attachments(s *shape) []attach {
	hosts := len(b.c.Hosts)
	out := make([]attach, 0, b.hostPorts)
	for h := range b.c.Hosts {
		cl := &b.classes[b.hostOf[h]]
		for i, plan := range cl.nics {
			for p := 0; p < cl.ports; p++ {
				a := attach{host: h, nic: i, port: p}
				rail := int(plan.rail)
				if s.planes > 1 {
					if cl.ports == s.planes {
						a.plane = p
					} else {
						a.plane, rail = rail%s.planes, rail/s.planes
					}
				}
				switch {
				case s.byRail:
					a.leaf = h*s.pods/hosts*s.rails + rail
				case s.mlag:
					a.leaf = h*(s.leaves/2)/hosts*2 + p
				default:
					a.leaf = h * s.leaves / hosts
				}
				out = append(out, a)
			}
		}
	}
	return out
}

// spineCount reads or computes the spines and the trunks to them.
func (b *builder) spineCount(f *node, s *shape, ports []attach) error {
	spine := b.models[2].model
	n := f.at("uplink")
	s.up = readCable(n, min(spine.Speed, b.models[1].model.Speed), "computed: the switch port's", leafCable)
	// The widest leaf decides how much must go up.
	load := map[[2]int]units.BitRate{}
	var most units.BitRate
	for _, a := range ports {
		k := [2]int{a.plane, a.leaf}
		load[k] += b.classes[b.hostOf[a.host]].speed
		most = max(most, load[k])
	}
	need := int((most + s.up.speed - 1) / s.up.speed)
	perPod := s.leaves / s.pods
	room := down(spine, s.up.speed, b.c.Topology == "fat-tree")
	pods := s.pods
	if b.c.Topology != "fat-tree" {
		perPod, pods = s.leaves, 1
	}
	want := max((need*perPod+room-1)/room, 1)
	s.spines = int(f.intOr("spines", int64(want*pods), "computed: non-blocking"))
	if s.spines%pods != 0 {
		return f.where("spines", "pods").found(plural(s.spines, "spine", "spines")+" in "+plural(pods, "pod", "pods"), "a multiple of the pods")
	}
	perGroup := s.spines / pods
	s.upCount = int(n.intOr("count", int64(max((need+perGroup-1)/perGroup, 1)), "computed: non-blocking"))
	s.upLAG = n.bool("lag")
	return nil
}

// coreCount reads or computes the cores of a fat tree. Aggregation switch j of
// each pod connects to the j-th group of cores.
func (b *builder) coreCount(f *node, s *shape) error {
	n := f.at("core_link")
	s.core = readCable(n, min(b.models[3].model.Speed, b.models[2].model.Speed), "computed: the switch port's", coreCable)
	agg := s.spines / s.pods
	need := int((s.up.speed*units.BitRate(s.upCount*s.leaves/s.pods) + s.core.speed - 1) / s.core.speed)
	room := down(b.models[3].model, s.core.speed, false)
	group := max((need*s.pods+room-1)/room, 1)
	s.cores = int(f.intOr("cores", int64(group*agg), "computed: non-blocking"))
	if s.cores%agg != 0 {
		return f.where("cores", "spines").found(plural(s.cores, "core", "cores")+" for "+plural(agg, "spine", "spines")+" in each pod", "a multiple of the spines of a pod")
	}
	group = s.cores / agg
	s.coreCount = int(n.intOr("count", int64(max((need+group-1)/group, 1)), "computed: non-blocking"))
	s.coreLAG = n.bool("lag")
	return nil
}

// raise makes the switches and plugs the cables in: hosts first, then tier by tier.
func (b *builder) raise(f *node, s *shape, ports []attach) error {
	if total := s.planes * (s.leaves + s.spines + s.cores); total > maxNodes {
		return f.pos.found(strconv.Itoa(total)+" switches", "at most "+strconv.Itoa(maxNodes))
	}
	if trunks := s.trunks(b); trunks > maxPorts/2 {
		return f.where("spines", "leaves", "cores", "planes").found(plural(trunks, "cable between switches", "cables between switches"), "at most "+strconv.Itoa(maxPorts/2))
	}
	var id [4][]NodeID
	for t, n := range [...]int{1: s.leaves, 2: s.spines, 3: s.cores} {
		for p := 0; p < s.planes; p++ {
			for i := 0; i < n; i++ {
				sw := Node{Name: tierNames[t] + "-" + strconv.Itoa(p*n+i), Kind: SwitchNode, Tier: uint8(t), Plane: uint8(p), Host: -1, Model: b.models[t].model, OS: b.models[t].os, MLAGPeer: NodeID(None)}
				x, err := b.addNode(sw, f.pos)
				if err != nil {
					return err
				}
				id[t] = append(id[t], x)
			}
		}
	}
	if s.mlag {
		for i := range id[1] {
			b.c.Nodes[id[1][i]].MLAGPeer = id[1][i^1]
		}
	}
	b.plugHosts(s, ports, id[1])
	groups := s.podGroups(b)
	for p := 0; p < s.planes; p++ {
		for l := 0; l < s.leaves; l++ {
			pod := l * groups / s.leaves
			for j := 0; j < s.spines/groups; j++ {
				b.trunk(id[1][p*s.leaves+l], id[2][p*s.spines+pod*(s.spines/groups)+j], s.up, s.upCount, s.upLAG)
			}
		}
		if s.cores == 0 {
			continue
		}
		agg := s.spines / groups
		group := s.cores / agg
		for a := 0; a < s.spines; a++ {
			for j := 0; j < group; j++ {
				b.trunk(id[2][p*s.spines+a], id[3][p*s.cores+a%agg*group+j], s.core, s.coreCount, s.coreLAG)
			}
		}
	}
	return nil
}

// trunks counts the cables between switches. The factors are bounded, so that
// the product fits 64 bits.
func (s *shape) trunks(b *builder) int {
	up := int64(s.leaves) * int64(s.spines/s.podGroups(b))
	if up > maxPorts {
		return int(up)
	}
	n := up * int64(s.upCount)
	if s.cores > 0 {
		group := int64(s.spines) * int64(s.cores/(s.spines/s.podGroups(b)))
		if group > maxPorts {
			return int(group)
		}
		n += group * int64(s.coreCount)
	}
	return int(n * int64(s.planes))
}

// podGroups is the number of pods that have spines of their own.
func (s *shape) podGroups(b *builder) int {
	if b.c.Topology == "fat-tree" {
		return s.pods
	}
	return 1
}

// plugHosts cables the hosts; the two ports of a bond form a LAG at the host
// and, where both end on one switch, there as well.
func (b *builder) plugHosts(s *shape, ports []attach, leaves []NodeID) {
	var first PortID // the switch port of port 0 of a bonded card
	for _, a := range ports {
		host := &b.c.Hosts[a.host]
		cl := &b.classes[b.hostOf[a.host]]
		nic := &host.NICs[a.nic]
		name := nic.Name
		if cl.ports > 1 {
			name += "." + strconv.Itoa(a.port)
		}
		leaf := leaves[a.plane*s.leaves+a.leaf]
		hp := b.addPort(host.Node, name, cl.speed, int32(a.nic))
		sp := b.addPort(leaf, "", cl.speed, -1)
		nic.Ports = append(nic.Ports, hp)
		l := s.host
		l.speed = cl.speed
		b.connect(hp, sp, l)
		if b.leafOf[a.host] == NodeID(None) {
			b.leafOf[a.host] = leaf
		}
		if !cl.bond {
			continue
		}
		if a.port == 0 {
			b.c.Ports[hp].LAG = b.newLAG(host.Node)
			first = sp
			continue
		}
		b.c.Ports[hp].LAG = b.c.Ports[nic.Ports[0]].LAG
		if b.c.Ports[first].Node == leaf {
			g := b.newLAG(leaf)
			b.c.Ports[first].LAG, b.c.Ports[sp].LAG = g, g
		}
	}
}

func (b *builder) trunk(x, y NodeID, l cable, n int, lag bool) {
	gx, gy := int32(-1), int32(-1)
	if lag && n > 1 {
		gx, gy = b.newLAG(x), b.newLAG(y)
	}
	for i := 0; i < n; i++ {
		px, py := b.addPort(x, "", l.speed, -1), b.addPort(y, "", l.speed, -1)
		b.c.Ports[px].LAG, b.c.Ports[py].LAG = gx, gy
		b.connect(px, py, l)
	}
}

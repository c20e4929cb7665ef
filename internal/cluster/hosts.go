package cluster

import (
	"fmt"
	"net/netip"
	"strconv"

	"weir/units"
)

// A class is one entry of hosts, resolved.
type class struct {
	node    *node
	name    string
	count   int
	names   []string
	gpus    int
	gpu     *GPUModel
	nvlink  units.BitRate
	cpu     CPU
	nics    []nicPlan
	ports   int
	bond    bool
	speed   units.BitRate
	model   *NICModel
	pcie    units.BitRate
	address []string
}

// A nicPlan is one card of a class.
type nicPlan struct {
	device    string
	rail, gpu int32
	vlan      uint16
}

func (b *builder) hosts() error {
	list := b.root.at("hosts")
	if len(list.kids) == 0 {
		list.kids = append(list.kids, newNode(&list.key.keys[0], position{}))
	}
	total, ports := 0, 0
	for i, n := range b.root.items("hosts") {
		cl, err := b.class(n, i, len(list.kids))
		if err != nil {
			return err
		}
		if total += cl.count; total > maxNodes {
			return n.where("count").found(strconv.Itoa(total)+" hosts", "at most "+strconv.Itoa(maxNodes))
		}
		if ports += cl.count * len(cl.nics) * cl.ports; ports > maxPorts/2 {
			return n.where("count", "nic").found(strconv.Itoa(ports)+" host ports", "at most "+strconv.Itoa(maxPorts/2))
		}
		b.classes = append(b.classes, cl)
	}
	b.hostPorts = ports
	b.c.Hosts = make([]Host, 0, total)
	for i := range b.classes {
		if err := b.placeClass(&b.classes[i], i); err != nil {
			return err
		}
	}
	return nil
}

// class reads one class of hosts.
func (b *builder) class(n *node, i, of int) (class, error) {
	def := "host"
	if of > 1 {
		def = "class-" + strconv.Itoa(i)
	}
	cl := class{node: n, name: n.stringOr("class", def, "default")}
	cl.count = int(n.int("count"))
	if n.gave("names") {
		cl.names = n.strings("names")
		if len(cl.names) != cl.count {
			return cl, n.where("names", "count").found(plural(len(cl.names), "name", "names")+" for "+countOf(cl.count, "host"), "one name for each host")
		}
	}
	cl.gpus = int(n.int("gpus"))
	if cl.gpus > 0 {
		cl.gpu, _ = LookupGPU(n.string("gpu"))
		// Rounded to Mb/s so that it reads well.
		usable := units.BitRate(float64(cl.gpu.NVLink)*cl.gpu.NVLinkEfficiency/1e9+0.5) * units.Gbps
		cl.nvlink = units.BitRate(n.intOr("nvlink", int64(usable), fmt.Sprintf("catalogue: %s, %v x %g", cl.gpu.Name, cl.gpu.NVLink, cl.gpu.NVLinkEfficiency)))
	}
	cpu := n.at("cpu")
	cl.cpu = CPU{Cores: int(cpu.int("cores")), Hertz: cpu.float("clock")}
	return cl, b.nics(n, &cl)
}

// usualNIC is the card that stands in where none is named: the oldest of the
// catalogue's mlx5 cards that reaches the speed.
func usualNIC(speed units.BitRate) string {
	for _, name := range [...]string{"connectx-6-dx", "connectx-7", "connectx-8"} {
		if m, _ := LookupNIC(name); speed <= m.Speeds[len(m.Speeds)-1] {
			return name
		}
	}
	return "connectx-8"
}

func (b *builder) nics(host *node, cl *class) error {
	n := host.at("nic")
	nics := int(n.intOr("count", int64(max(cl.gpus, 1)), "computed: one for each GPU"))
	model := "connectx-7"
	if v, ok := n.optional("speed"); ok {
		model = usualNIC(units.BitRate(v.i))
	}
	model = n.stringOr("model", model, "default")
	cl.model, _ = LookupNIC(model)
	origin := "catalogue: " + model
	cl.speed = units.BitRate(n.intOr("speed", int64(cl.model.Speeds[len(cl.model.Speeds)-1]), origin))
	if !cl.model.runs(cl.speed) {
		return n.where("speed", "model").found(cl.speed.String()+" on "+model, speedList(cl.model.Speeds))
	}
	cl.ports = int(n.int("ports"))
	if cl.ports > cl.model.Ports {
		return n.where("ports", "model").found(plural(cl.ports, "port", "ports")+" on "+model, "at most "+strconv.Itoa(cl.model.Ports))
	}
	cl.bond = n.bool("bond")
	if cl.bond && cl.ports < 2 {
		return n.where("bond").found("a bond of one port", "bond with ports: 2")
	}
	cl.pcie = units.BitRate(n.intOr("pcie", int64(cl.model.PCIe), origin))
	cl.model.Latency = units.Time(n.intOr("latency", int64(cl.model.Latency), origin))
	return b.devices(n, cl, nics)
}

func (m *NICModel) runs(speed units.BitRate) bool {
	for _, s := range m.Speeds {
		if s == speed {
			return true
		}
	}
	return false
}

func speedList(speeds []units.BitRate) string {
	s := ""
	for i, v := range speeds {
		if i > 0 {
			s += ", "
		}
		s += v.String()
	}
	return s
}

// deviceName returns the usual name of the n-th device of a driver.
func deviceName(driver string, n int) string {
	switch driver {
	case "bnxt_re", "irdma", "ionic":
		return driver + "_" + strconv.Itoa(n)
	}
	return "mlx5_" + strconv.Itoa(n)
}

// devices reads the names of the cards and their rails, GPUs, VLANs and addresses.
func (b *builder) devices(n *node, cl *class, nics int) error {
	names := make([]string, nics)
	for i := range names {
		names[i] = deviceName(cl.model.Driver, i)
	}
	switch {
	case n.gave("devices"):
		names = n.strings("devices")
	case n.gave("rails"):
		names = append([]string(nil), n.at("rails").names...)
	}
	if len(names) != nics {
		return n.where("devices", "rails").found(plural(len(names), "device", "devices")+" for "+plural(nics, "card", "cards"), "one device for each card (nic.count)")
	}
	index := map[string]int{}
	for i, d := range names {
		if _, dup := index[d]; dup {
			return n.where("devices", "rails").found("device "+quoted(d)+" twice", "each device once")
		}
		index[d] = i
	}
	names = n.stringsOr("devices", names, "default")
	rails, err := deviceTable(n, "rails", names, index, func(i int) int64 { return int64(i) })
	if err != nil {
		return err
	}
	gpus, err := deviceTable(n, "gpus", names, index, func(i int) int64 {
		if cl.gpus == 0 {
			return -1
		}
		return int64(i * cl.gpus / nics)
	})
	if err != nil {
		return err
	}
	vlan, perRail := n.int("vlan"), n.bool("vlan_per_rail")
	for i := range names {
		if gpus[i] >= int64(cl.gpus) {
			return n.where("gpus").found("GPU "+strconv.FormatInt(gpus[i], 10), "0 to "+strconv.Itoa(cl.gpus-1)+", or -1")
		}
		v := vlan
		if perRail {
			v += rails[i]
		}
		if v > 4094 {
			return n.where("vlan").found("VLAN "+strconv.FormatInt(v, 10), "0 to 4094")
		}
		cl.nics = append(cl.nics, nicPlan{device: names[i], rail: int32(rails[i]), gpu: int32(gpus[i]), vlan: uint16(v)})
	}
	return cl.addresses(n, nics)
}

// deviceTable reads a mapping from device to number, or makes it.
func deviceTable(n *node, name string, devices []string, index map[string]int, def func(int) int64) ([]int64, error) {
	t := n.at(name)
	out := make([]int64, len(devices))
	if !t.given {
		t.from = "default"
		for i, d := range devices {
			out[i] = def(i)
			t.names = append(t.names, d)
			t.kids = append(t.kids, &node{key: &t.key.keys[0], has: true, used: true, from: "default", val: value{i: out[i]}})
		}
		return out, nil
	}
	for j, d := range t.names {
		i, ok := index[d]
		if !ok {
			return nil, t.kids[j].pos.found("device "+quoted(d), "the class's devices"+Nearest(d, devices))
		}
		out[i] = t.kids[j].value().i
	}
	if len(t.names) != len(devices) {
		return nil, t.pos.found(plural(len(t.names), "device", "devices")+" of "+strconv.Itoa(len(devices)), "all devices of the class")
	}
	return out, nil
}

func (cl *class) addresses(n *node, nics int) error {
	if !n.gave("addresses") {
		return nil
	}
	items := n.items("addresses")
	if len(items) != nics*cl.count {
		return n.where("addresses").found(plural(len(items), "address", "addresses")+" for "+plural(nics*cl.count, "card", "cards"), "one address for each card, host by host")
	}
	for _, it := range items {
		a, err := netip.ParseAddr(it.val.s)
		if err != nil || !a.Is4() {
			return it.pos.found(quoted(it.val.s), "an IPv4 address, as in 10.0.0.1")
		}
		cl.address = append(cl.address, a.String())
	}
	return nil
}

// placeClass makes the hosts of a class; their ports come with the fabric.
func (b *builder) placeClass(cl *class, index int) error {
	for i := 0; i < cl.count; i++ {
		h := len(b.c.Hosts)
		name := "host-" + strconv.Itoa(h)
		pos := cl.node.pos
		if cl.names != nil {
			name = cl.names[i]
			pos = cl.node.at("names").kids[i].pos
		}
		id, err := b.addNode(Node{Name: name, Kind: HostNode, Host: int32(h), MLAGPeer: NodeID(None)}, pos)
		if err != nil {
			return err
		}
		host := Host{Node: id, Class: cl.name, GPUs: cl.gpus, GPU: cl.gpu, NVLink: cl.nvlink, CPU: cl.cpu}
		host.NICs = make([]NIC, len(cl.nics))
		for j, p := range cl.nics {
			addr := generatedAddress(p.rail, h)
			if cl.address != nil {
				addr = cl.address[i*len(cl.nics)+j]
			}
			host.NICs[j] = NIC{Name: "nic-" + strconv.Itoa(j), Device: p.device, Rail: p.rail, GPU: p.gpu, Bond: cl.bond, Model: cl.model, PCIe: cl.pcie, Address: addr, VLAN: p.vlan}
		}
		b.c.Hosts = append(b.c.Hosts, host)
		b.hostOf = append(b.hostOf, index)
	}
	return nil
}

// generatedAddress gives rail r the network 10.r.0.0/16, and 11.r.0.0/16 and so
// on beyond 62,500 hosts.
func generatedAddress(rail int32, host int) string {
	const perRail = 250 * 250
	group, h := host/perRail, host%perRail
	return strconv.Itoa(10+group) + "." + strconv.Itoa(int(rail)) + "." + strconv.Itoa(h/250) + "." + strconv.Itoa(h%250+1)
}

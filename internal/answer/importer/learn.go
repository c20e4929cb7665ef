package importer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"weir/internal/field/dialect"

	"weir/internal/answer/audit"
	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
	"weir/internal/field/inventory"
	"weir/internal/qos"
	"weir/units"
)

// A device is a host or switch as far as it is known.
type device struct {
	name   string
	kind   inventory.Kind
	sure   bool // of the kind
	system string
	model  string // as the sources write it
	gpus   int
	cards  map[string]*card
	alias  map[string]string        // network interface -> RDMA device
	speed  map[string]units.BitRate // of ports
	told   bool                     // its own outputs were read
	lldp   bool                     // it told of its neighbours
}

// A card is an RDMA device of a host.
type card struct {
	speed   units.BitRate
	model   string
	address string
	rdma    bool // it is known as an RDMA device
}

type end struct{ node, port string }

func (e end) String() string { return strings.TrimSuffix(e.node+"/"+e.port, "/") }

// A link is one cable, as told by its sources.
type link struct {
	a, b   end
	length units.Metres
	speed  units.BitRate
	from   string
	seen   bool // told by the neighbour itself (LLDP), not by a plan
}

type knowledge struct {
	s         *Sources
	devices   map[string]*device
	links     []link
	qos       []qosSeen
	conflicts []Conflict
	unknown   []string
	leftOut   []string
	findings  []audit.Finding
}

// qosSeen is the behaviour of one switch.
type qosSeen struct {
	device string
	source string
	port   *qos.Port
}

func learn(s *Sources) *knowledge {
	k := &knowledge{s: s, devices: map[string]*device{}}
	k.fromGraphs()
	k.fromFacts()
	k.fromConfigs()
	k.settleNames()
	k.settleKinds()
	k.settlePorts()
	k.settleLinks()
	return k
}

// notName are characters that a name in a cluster file cannot hold.
var notName = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// hardware addresses name no port or device; IPv4 addresses none either.
var (
	hardware = regexp.MustCompile(`^(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$|^(?:[0-9a-fA-F]{4}[.-]){2}[0-9a-fA-F]{4}$`)
	ipv4     = regexp.MustCompile(`^\d+(?:\.\d+){3}$`)
)

// shortName is a device's name without its domain, in characters that the file
// allows; "" for addresses, which name no device.
func shortName(s string) string {
	s = strings.TrimSpace(s)
	if s == "" || hardware.MatchString(s) || ipv4.MatchString(s) {
		return ""
	}
	s, _, _ = strings.Cut(s, ".")
	s, _, _ = strings.Cut(s, "(") // "leaf(FOC123...)" of NX-OS
	return strings.Trim(notName.ReplaceAllString(s, "-"), "-")
}

func (k *knowledge) device(name string) *device {
	name = shortName(name)
	if name == "" {
		return nil
	}
	d := k.devices[name]
	if d == nil {
		d = &device{name: name, cards: map[string]*card{}, alias: map[string]string{}, speed: map[string]units.BitRate{}}
		k.devices[name] = d
	}
	return d
}

func (d *device) is(kind inventory.Kind, sure bool) {
	if kind != inventory.Unknown && (d.kind == inventory.Unknown || sure && !d.sure) {
		d.kind, d.sure = kind, sure
	}
}

func (k *knowledge) fromGraphs() {
	for _, g := range k.s.Graphs {
		for _, n := range g.Nodes {
			if d := k.device(n.Name); d != nil {
				d.is(n.Kind, n.Kind != inventory.Unknown)
				d.system = cmp.Or(d.system, n.System)
				d.model = cmp.Or(d.model, n.Model)
			}
		}
		for _, l := range g.Links {
			k.link(l.A.Node, l.A.Port, l.B.Node, l.B.Port, link{length: l.Length, speed: l.Speed, from: g.Source})
		}
		for _, n := range g.Notes {
			k.leftOut = append(k.leftOut, fmt.Sprintf("%s:%d: %s", g.Source, n.Line, n.Text))
		}
	}
}

func (k *knowledge) link(aNode, aPort, bNode, bPort string, l link) {
	a, b := k.device(aNode), k.device(bNode)
	if a == nil || b == nil || a == b {
		return
	}
	if hardware.MatchString(aPort) {
		aPort = ""
	}
	if hardware.MatchString(bPort) {
		bPort = ""
	}
	l.a, l.b = end{a.name, aPort}, end{b.name, bPort}
	k.links = append(k.links, l)
}

// fromFacts reads what hosts and switches print.
func (k *knowledge) fromFacts() {
	named := map[string]string{} // source -> the switch that it names
	for i := range k.s.Facts {
		if f := &k.s.Facts[i]; f.Key == "switch.system" && f.Subject.Host != "" {
			named[f.Origin.Source] = f.Subject.Host
		}
	}
	for i := range k.s.Facts {
		f := &k.s.Facts[i]
		host := cmp.Or(f.Subject.Host, named[f.Origin.Source], k.s.deviceOf(f.Origin.Source))
		d := k.device(host)
		if d == nil {
			continue
		}
		text, number := f.Value.String(), uint64(0)
		if f.Value.Kind() == fact.Absent {
			continue
		}
		number, _ = f.Value.Uint()
		name := f.Subject.Name
		switch {
		case f.Key == "switch.system":
			d.is(inventory.Switch, true)
			d.system, d.told = cmp.Or(d.system, text), true
		case f.Key == "switch.hwsku" || f.Key == "switch.platform":
			d.is(inventory.Switch, true)
			d.model = cmp.Or(d.model, text)
		case f.Key == "link.neighbour":
			node, port, _ := strings.Cut(text, "/")
			seen := !planned(f.Origin.Tool)
			d.told, d.lldp = true, d.lldp || seen
			if f.Subject.Kind == fact.NIC && f.Origin.Tool == "lldpctl" && !switchPort(name) {
				d.is(inventory.Host, false)
			}
			k.link(host, name, node, port, link{from: f.Origin.Source, seen: seen})
		case f.Key == "link.speed" && number > 0:
			d.speed[name] = units.BitRate(number)
		case f.Key == "topo.gpus" && number <= 64:
			d.is(inventory.Host, true)
			d.gpus, d.told = int(number), true
		case f.Subject.Kind == fact.NIC && (strings.HasPrefix(f.Key, "rdma.") || strings.HasPrefix(f.Key, "gid.") || f.Key == "link.address" || f.Key == "link.driver"):
			k.cardFact(d, f, text, number)
		}
	}
}

// planned reports whether a tool tells neighbours as configured, not as seen.
func planned(tool string) bool {
	return tool == "switch configuration" || tool == "sonic minigraph.xml" || tool == "sonic config_db.json" || strings.HasPrefix(tool, "nv config")
}

// cardFact reads what a host says about a card.
func (k *knowledge) cardFact(d *device, f *fact.Fact, text string, number uint64) {
	name := f.Subject.Name
	if name == "" {
		return
	}
	if f.Key == "rdma.netdev" || strings.HasSuffix(f.Key, ".netdev") {
		d.alias[text] = name
	}
	c := d.cards[name]
	if c == nil {
		if len(d.cards) > 1024 {
			return
		}
		c = &card{}
		d.cards[name] = c
	}
	d.told = true
	switch {
	case f.Key == "link.address":
		if address, _, _ := strings.Cut(text, "/"); strings.Count(address, ".") == 3 {
			c.address = address
		}
		return
	case f.Key == "link.driver":
		return
	case strings.HasSuffix(f.Key, ".ipv4"):
		c.address = text
	case f.Key == "rdma.rate":
		c.speed = units.BitRate(number)
	case f.Key == "rdma.model":
		c.model = text
	}
	c.rdma = true
	d.is(inventory.Host, true)
}

// ownerOf is the switch that a configuration is of.
func (k *knowledge) ownerOf(c *tool.Config) string { return cmp.Or(c.Host, k.s.deviceOf(c.Source)) }

// fromConfigs keeps how switches treat RoCE.
func (k *knowledge) fromConfigs() {
	for i := range k.s.Configs {
		c := &k.s.Configs[i]
		d := k.device(k.ownerOf(c))
		if d == nil {
			continue
		}
		d.is(inventory.Switch, true)
		d.told = true
		d.system = cmp.Or(d.system, c.Reading.Device.System)
		for p := range c.Reading.Device.Ports {
			port := &c.Reading.Device.Ports[p]
			if port.Speed > 0 && d.speed[port.Name] == 0 {
				d.speed[port.Name] = port.Speed
			}
			if port.Peer != "" {
				node, at, _ := strings.Cut(port.Peer, "/")
				k.link(d.name, port.Name, node, at, link{from: c.Source})
			}
			if port.PFC == qos.On && port.PFCMask != 0 {
				k.qos = append(k.qos, qosSeen{d.name, c.Source, port})
			}
		}
	}
}

var switchPortName = regexp.MustCompile(`(?i)^(?:ethernet\d|eth\d+/|swp\d|et-\d|xe-\d|ge-\d|\d*(?:\d+GE|HundredGigE|FourHundredGigE|TwoHundredGigE|EightHundredGigE|Twenty-FiveGigE)\d|\d+/\d+)`)

// switchPort reports whether a port's name is one that switches give.
func switchPort(name string) bool { return switchPortName.MatchString(name) }

var switchWord = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:leaf|spine|tor|core|agg|sw|switch|fabric)\d*(?:[^a-z]|$)`)

// settleKinds decides on devices that only their neighbours tell of.
func (k *knowledge) settleKinds() {
	ports := map[string][]string{}
	for _, l := range k.links {
		ports[l.a.node] = append(ports[l.a.node], l.a.port)
		ports[l.b.node] = append(ports[l.b.node], l.b.port)
	}
	for _, d := range k.sorted() {
		if d.kind != inventory.Unknown {
			continue
		}
		d.kind = inventory.Host
		if slices.ContainsFunc(ports[d.name], switchPort) || switchWord.MatchString(d.name) {
			d.kind = inventory.Switch
		}
		if d.kind == inventory.Host {
			k.unknown = append(k.unknown, d.name+" tells nothing of itself: taken for a host, by its name and ports")
		} else {
			k.unknown = append(k.unknown, d.name+" tells nothing of itself: taken for a switch, by its name and ports")
		}
	}
}

func (k *knowledge) sorted() []*device {
	out := make([]*device, 0, len(k.devices))
	for _, d := range k.devices {
		out = append(out, d)
	}
	slices.SortFunc(out, func(x, y *device) int { return dialect.CompareNames(x.name, y.name) })
	return out
}

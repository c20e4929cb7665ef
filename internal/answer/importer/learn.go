package importer

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"

	"weir/internal/answer/audit"
	"weir/internal/fact"
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

// fromConfigs keeps how switches treat RoCE.
func (k *knowledge) fromConfigs() {
	for i := range k.s.Configs {
		c := &k.s.Configs[i]
		d := k.device(cmp.Or(c.Host, k.s.deviceOf(c.Source)))
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
	slices.SortFunc(out, func(x, y *device) int { return compareNames(x.name, y.name) })
	return out
}

var digits = regexp.MustCompile(`\d+`)

// compareNames orders names by the numbers in them.
func compareNames(x, y string) int {
	nx, ny := digits.FindAllString(x, -1), digits.FindAllString(y, -1)
	if c := strings.Compare(digits.ReplaceAllString(x, "#"), digits.ReplaceAllString(y, "#")); c != 0 {
		return c
	}
	for i := range nx {
		a, b := strings.TrimLeft(nx[i], "0"), strings.TrimLeft(ny[i], "0")
		if c := cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)); c != 0 {
			return c
		}
	}
	return strings.Compare(x, y)
}

// settlePorts names host ports by their RDMA devices, and makes cards of ports
// where a host tells nothing of its own.
func (k *knowledge) settlePorts() {
	dropped := map[string]int{}
	kept := k.links[:0]
	for _, l := range k.links {
		ok := true
		for _, e := range []*end{&l.a, &l.b} {
			d := k.devices[e.node]
			if d.kind != inventory.Host {
				continue
			}
			if dev, known := d.alias[e.port]; known {
				if s := d.speed[e.port]; s > 0 && d.cards[dev] != nil && d.cards[dev].speed == 0 {
					d.cards[dev].speed = s
				}
				e.port = dev
			}
			if d.hasRDMA() && d.cards[e.port] != nil && !d.cards[e.port].rdma || d.hasRDMA() && d.cards[e.port] == nil && e.port != "" && !strings.HasPrefix(e.port, "nic-") {
				dropped[d.name]++
				ok = false
			}
		}
		if ok {
			kept = append(kept, l)
		}
	}
	k.links = kept
	for _, d := range k.sorted() {
		if n := dropped[d.name]; n > 0 {
			k.leftOut = append(k.leftOut, fmt.Sprintf("%s: %d cables of ports that are no RDMA devices", d.name, n))
		}
		if d.kind == inventory.Host {
			d.dropOthers()
		}
	}
}

func (d *device) hasRDMA() bool {
	for _, c := range d.cards {
		if c.rdma {
			return true
		}
	}
	return false
}

// dropOthers forgets network interfaces beside RDMA devices, whose addresses go
// to the device.
func (d *device) dropOthers() {
	for name, c := range d.cards {
		if dev, ok := d.alias[name]; ok && d.cards[dev] != nil && dev != name {
			if d.cards[dev].address == "" {
				d.cards[dev].address = c.address
			}
			if d.cards[dev].speed == 0 {
				d.cards[dev].speed = d.speed[name]
			}
			delete(d.cards, name)
			continue
		}
		if !c.rdma {
			delete(d.cards, name)
		}
	}
}

// settleLinks joins what both ends of a cable say, and lists where they differ.
func (k *knowledge) settleLinks() {
	sort.SliceStable(k.links, func(i, j int) bool { return rank(k.links[i]) > rank(k.links[j]) })
	byEnd := map[end]int{}
	var out []link
	unnamed := map[[2]string]int{} // links between two devices that name both ports
	for _, l := range k.links {
		if k.devices[l.a.node].kind == inventory.Switch && k.devices[l.b.node].kind == inventory.Host {
			l.a, l.b = l.b, l.a
		}
		if k.devices[l.a.node].kind == inventory.Host && k.devices[l.b.node].kind == inventory.Host {
			k.leftOut = append(k.leftOut, fmt.Sprintf("a cable between the hosts %s and %s", l.a, l.b))
			continue
		}
		at := -1
		for _, e := range []end{l.a, l.b} {
			if i, ok := byEnd[e]; ok && e.port != "" {
				at = i
			}
		}
		pair := [2]string{min(l.a.node, l.b.node), max(l.a.node, l.b.node)}
		if at < 0 {
			if (l.a.port == "" || l.b.port == "") && unnamed[pair] > 0 {
				unnamed[pair]-- // told better already
				continue
			}
			byEnd[l.a], byEnd[l.b] = len(out), len(out)
			out = append(out, l)
			if l.a.port != "" && l.b.port != "" {
				unnamed[pair]++
			}
			continue
		}
		old := &out[at]
		same := old.a.node == l.a.node && old.b.node == l.b.node && compatible(old.a.port, l.a.port) && compatible(old.b.port, l.b.port) ||
			old.a.node == l.b.node && old.b.node == l.a.node && compatible(old.a.port, l.b.port) && compatible(old.b.port, l.a.port)
		switch {
		case !same && old.seen && !l.seen:
			f := k.misplaced(old, l)
			if !slices.ContainsFunc(k.findings, func(g audit.Finding) bool { return g.Summary == f.Summary }) {
				k.findings = append(k.findings, f)
			}
			continue
		case !same:
			k.conflicts = append(k.conflicts, Conflict{Where: "fabric.links: " + l.b.String(), Kept: old.a.String() + " to " + old.b.String(), Other: l.a.String() + " to " + l.b.String(), From: l.from})
			continue
		}
		old.length = max(old.length, l.length)
		old.speed = max(old.speed, l.speed)
	}
	k.links = out
	slices.SortFunc(k.links, func(x, y link) int {
		return cmp.Or(compareNames(x.a.node, y.a.node), compareNames(x.a.port, y.a.port), compareNames(x.b.node, y.b.node), compareNames(x.b.port, y.b.port))
	})
}

// misplaced says that a planned cable was seen elsewhere.
func (k *knowledge) misplaced(old *link, l link) audit.Finding {
	e, want, got := l.b, l.a, old.a
	switch {
	case old.b == l.b:
	case old.a == l.b:
		got = old.b
	case old.b == l.a:
		e, want, got = l.a, l.b, old.a
	default:
		e, want, got = l.a, l.b, old.b
	}
	return miscabled(e, want, got.String(), old.from)
}

// rank says how much a link tells.
func rank(l link) int {
	n := 0
	if l.seen {
		n = 4
	}
	if l.a.port != "" {
		n++
	}
	if l.b.port != "" {
		n++
	}
	return n
}

// compatible reports whether two names can be of one port: LLDP gives what it
// likes where no name is set.
func compatible(x, y string) bool {
	return x == "" || y == "" || strings.EqualFold(x, y) || switchPort(x) != switchPort(y) || !switchPort(x)
}

package importer

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"weir/internal/field/dialect"

	"weir/internal/cluster"
	"weir/internal/field/inventory"
	"weir/internal/input"
	"weir/units"
)

// A hostClass is hosts that look alike.
type hostClass struct {
	name  string
	hosts []*device
	cards []string // names of the RDMA devices; "" where none is known
	gpus  int
	speed units.BitRate
	model string
}

// write makes the text of a new file.
func (k *knowledge) write() ([]byte, error) {
	classes := k.classes()
	if len(classes) == 0 {
		return nil, &input.Error{File: strings.Join(k.s.roots, ", "), Found: "no host: none tells of itself, and none is a neighbour", Allowed: "outputs of hosts, or neighbour tables, plans or configurations of switches that name hosts"}
	}
	var b bytes.Buffer
	b.WriteString("# Written by weir import. A later import keeps what you change and add.\nname: cluster\n\nhosts:\n")
	for i := range classes {
		k.writeClass(&b, &classes[i])
	}
	tiers := k.tiers()
	b.WriteString("\nfabric:\n  topology: explicit\n  switches:\n")
	switches := 0
	for _, d := range k.sorted() {
		if d.kind == inventory.Switch {
			if tiers[d.name] == 0 {
				k.leftOut = append(k.leftOut, "switch "+d.name+": no cable of it is known")
				continue
			}
			switches++
			fmt.Fprintf(&b, "    - %s\n", k.switchLine(d, tiers[d.name]))
		}
	}
	if switches == 0 {
		return nil, &input.Error{File: strings.Join(k.s.roots, ", "), Found: "no cable between a host and a switch", Allowed: "neighbours (LLDP), a cabling plan, or configurations that name neighbours"}
	}
	b.WriteString("  links:\n")
	for _, l := range k.links {
		if tiers[l.b.node] > 0 || tiers[l.a.node] > 0 {
			fmt.Fprintf(&b, "    - %s\n", k.linkLine(l))
		}
	}
	k.writeQoS(&b)
	b.WriteString("\n# What weir simulate runs; change it to what you train.\njob:\n  collective: all_reduce\n  size: 64M\n")
	return b.Bytes(), nil
}

// classes groups hosts that have a cable.
func (k *knowledge) classes() []hostClass {
	ports := map[string][]string{}
	speeds := map[string][]units.BitRate{}
	for _, l := range k.links {
		if k.devices[l.a.node].kind != inventory.Host {
			continue
		}
		ports[l.a.node] = append(ports[l.a.node], l.a.port)
		if s := max(k.devices[l.b.node].speed[l.b.port], l.speed); s > 0 {
			speeds[l.a.node] = append(speeds[l.a.node], s)
		}
	}
	var all []units.BitRate
	for _, list := range speeds {
		all = append(all, list...)
	}
	usual := commonest(all)
	var out []hostClass
	index := map[string]int{}
	for _, d := range k.sorted() {
		if d.kind != inventory.Host {
			continue
		}
		if len(ports[d.name]) == 0 {
			k.leftOut = append(k.leftOut, "host "+d.name+": no cable of it is known")
			continue
		}
		c := k.classOf(d, ports[d.name], speeds[d.name])
		if c.speed == 0 && usual > 0 {
			c.speed = usual
			k.unknown = append(k.unknown, d.name+": the speed of its cards: that of most others, "+usual.String()+", stands for it")
		}
		key := fmt.Sprint(c.cards, c.gpus, c.speed, c.model, len(ports[d.name]))
		i, ok := index[key]
		if !ok {
			i = len(out)
			index[key] = i
			out = append(out, c)
		}
		out[i].hosts = append(out[i].hosts, d)
	}
	for i := range out {
		out[i].name = "host"
		if len(out) > 1 {
			out[i].name = "class-" + strconv.Itoa(i)
		}
	}
	return out
}

func (k *knowledge) classOf(d *device, ports []string, speeds []units.BitRate) hostClass {
	c := hostClass{gpus: d.gpus}
	for name := range d.cards {
		c.cards = append(c.cards, name)
	}
	unnamed := 0
	for _, p := range ports {
		if p == "" {
			unnamed++
		} else if !slices.Contains(c.cards, p) {
			c.cards = append(c.cards, p)
		}
	}
	slices.SortFunc(c.cards, dialect.CompareNames)
	for range unnamed {
		c.cards = append(c.cards, "")
	}
	if len(d.cards) > 0 {
		speeds = nil
		for _, card := range d.cards {
			if card.speed > 0 {
				speeds = append(speeds, card.speed)
			}
			if m := cardModel(card.model); m != "" {
				c.model = m
			}
		}
	}
	c.speed = commonest(speeds)
	if slices.ContainsFunc(speeds, func(s units.BitRate) bool { return s != c.speed }) {
		k.unknown = append(k.unknown, d.name+": its cards run at different speeds; the file has the commonest, "+c.speed.String())
	}
	if m, ok := cluster.LookupNIC(c.model); ok && c.speed > 0 && !slices.Contains(m.Speeds, c.speed) {
		c.model = ""
	}
	return c
}

func commonest[T comparable](list []T) (best T) {
	n := map[T]int{}
	for _, v := range list {
		if n[v]++; n[v] > n[best] {
			best = v
		}
	}
	return best
}

func (k *knowledge) writeClass(b *bytes.Buffer, c *hostClass) {
	fmt.Fprintf(b, "  - class: %s\n    count: %d\n    names:\n", c.name, len(c.hosts))
	for _, d := range c.hosts {
		fmt.Fprintf(b, "      - %s\n", quoted(d.name))
	}
	gpus := c.gpus
	if gpus == 0 {
		gpus = len(c.cards)
		k.unknown = append(k.unknown, fmt.Sprintf("GPUs of class %s (hosts.gpus, hosts.gpu): %d of the default model stand for them, one for each card; nvidia-smi topo -m tells how many there are", c.name, gpus))
	} else {
		k.unknown = append(k.unknown, fmt.Sprintf("GPU model of class %s (hosts.gpu): the default stands for it", c.name))
	}
	fmt.Fprintf(b, "    gpus: %d\n    nic:\n      count: %d\n", min(gpus, 64), len(c.cards))
	if c.model != "" {
		fmt.Fprintf(b, "      model: %s\n", c.model)
	}
	if c.speed > 0 {
		fmt.Fprintf(b, "      speed: %s\n", rateText(c.speed))
	} else if limit := k.slowestLeaf(c); limit < usualSpeed {
		fmt.Fprintf(b, "      speed: %s\n", rateText(limit))
		k.unknown = append(k.unknown, "speed of the cards of class "+c.name+" (hosts.nic.speed): what their switches can")
	} else {
		k.unknown = append(k.unknown, "speed of the cards of class "+c.name+" (hosts.nic.speed): the default card's")
	}
	if !slices.Contains(c.cards, "") && !slices.ContainsFunc(c.cards, func(s string) bool { return strings.HasPrefix(s, "nic-") }) {
		fmt.Fprintf(b, "      devices: [%s]\n", strings.Join(quotedAll(c.cards), ", "))
	}
	k.writeAddresses(b, c)
}

// writeAddresses lists addresses if all are known.
func (k *knowledge) writeAddresses(b *bytes.Buffer, c *hostClass) {
	var list []string
	for _, d := range c.hosts {
		for _, name := range c.cards {
			card := d.cards[name]
			if card == nil || card.address == "" || slices.Contains(list, card.address) {
				k.unknown = append(k.unknown, "addresses of the cards of class "+c.name+" (hosts.nic.addresses): not all are known, so rail r gets 10.r.0.0/16")
				return
			}
			list = append(list, card.address)
		}
	}
	b.WriteString("      addresses:\n")
	for _, a := range list {
		fmt.Fprintf(b, "        - %s\n", a)
	}
}

// tiers counts the steps from a switch to the nearest host, at most 3; 0 is a
// switch without cables.
func (k *knowledge) tiers() map[string]int {
	tier := map[string]int{}
	for _, l := range k.links {
		if k.devices[l.a.node].kind == inventory.Host {
			tier[l.b.node] = 1
		}
	}
	for t := 2; t <= 3; t++ {
		for _, l := range k.links {
			for _, e := range [2][2]string{{l.a.node, l.b.node}, {l.b.node, l.a.node}} {
				if k.devices[e[1]].kind == inventory.Switch && tier[e[1]] == 0 && tier[e[0]] == t-1 {
					tier[e[1]] = t
				}
			}
		}
	}
	return tier
}

func (k *knowledge) switchLine(d *device, tier int) string {
	model := hardwareModel(d)
	if model == "" {
		model = k.standIn(d)
	}
	s := fmt.Sprintf("{name: %s, tier: %d", quoted(d.name), tier)
	if model != "" {
		s += ", model: " + model
	}
	if d.system != "" {
		s += ", os: " + d.system
	} else {
		k.unknown = append(k.unknown, d.name+": its operating system (fabric.switches.os): the model's first stands for it")
	}
	return s + "}"
}

func (k *knowledge) linkLine(l link) string {
	port := func(e end) string {
		if e.port == "" || strings.HasPrefix(e.port, "nic-") && k.devices[e.node].kind == inventory.Switch {
			return quoted(e.node)
		}
		return quoted(e.node + "/" + notPort.ReplaceAllString(e.port, "-"))
	}
	s := "{a: " + port(l.a) + ", b: " + port(l.b)
	if l.length > 0 {
		s += ", length: " + strconv.FormatFloat(float64(l.length), 'f', -1, 64) + "m"
	}
	if k.devices[l.a.node].kind == inventory.Switch {
		if speed := max(l.speed, k.devices[l.a.node].speed[l.a.port], k.devices[l.b.node].speed[l.b.port]); speed > 0 {
			s += ", speed: " + rateText(speed)
		}
	}
	return s + "}"
}

var (
	notPort = regexp.MustCompile(`[^A-Za-z0-9._/:-]+`)
	plain   = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._/-]*$`)
	words   = []string{"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
)

// quoted writes a text so that YAML reads it as one.
func quoted(s string) string {
	if plain.MatchString(s) && !slices.Contains(words, strings.ToLower(s)) {
		return s
	}
	return strconv.Quote(s)
}

func quotedAll(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = quoted(s)
	}
	return out
}

func rateText(r units.BitRate) string {
	if r%units.Gbps == 0 {
		return strconv.FormatInt(int64(r/units.Gbps), 10) + "Gbps"
	}
	return strconv.FormatInt(int64(r/units.Mbps), 10) + "Mbps"
}

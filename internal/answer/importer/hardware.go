package importer

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir/internal/cluster"
	"weir/internal/field/inventory"
	"weir/units"
)

// cardModels are the catalogue's names of what drivers call a board (PCI device
// ids of the mlx5 driver), and of what sysfs calls others.
var cardModels = []struct{ pattern, model string }{
	{`MT4119`, "connectx-5"}, {`MT4123`, "connectx-6"}, {`MT4125`, "connectx-6-dx"}, {`MT4129`, "connectx-7"}, {`MT4131`, "connectx-8"}, {`MT41692`, "bluefield-3"},
}

func cardModel(s string) string {
	for _, m := range cardModels {
		if strings.HasPrefix(s, m.pattern) {
			return m.model
		}
	}
	return ""
}

// usualSpeed is that of the card which the cluster file has by default.
const usualSpeed = 400 * units.Gbps

// slowestLeaf is the highest rate that all switches of a class offer.
func (k *knowledge) slowestLeaf(c *hostClass) units.BitRate {
	limit := usualSpeed
	for _, l := range k.links {
		if slices.ContainsFunc(c.hosts, func(d *device) bool { return d.name == l.a.node }) {
			if m, ok := cluster.LookupSwitch(hardwareModel(k.devices[l.b.node])); ok {
				limit = min(limit, m.Speed)
			}
		}
	}
	return limit
}

// hardwareModel is the catalogue's name of a switch's hardware, "" where it has
// none that runs the switch's system.
func hardwareModel(d *device) string {
	for _, m := range switchModels {
		if c, ok := cluster.LookupSwitch(m.model); ok && m.pattern.MatchString(d.model) && (d.system == "" || slices.Contains(c.OS, d.system)) {
			return m.model
		}
	}
	return ""
}

// switchModels are the catalogue's names of hardware as switches call it.
var switchModels = []struct {
	pattern *regexp.Regexp
	model   string
}{
	{regexp.MustCompile(`(?i)\bM?SN2\d{3}`), "spectrum-1"}, {regexp.MustCompile(`(?i)\bM?SN3\d{3}`), "spectrum-2"},
	{regexp.MustCompile(`(?i)\bM?SN4\d{3}`), "spectrum-3"}, {regexp.MustCompile(`(?i)\bM?SN5\d{3}`), "spectrum-4"},
	{regexp.MustCompile(`(?i)msn2\d{3}`), "spectrum-1"}, {regexp.MustCompile(`(?i)msn3\d{3}`), "spectrum-2"}, {regexp.MustCompile(`(?i)msn4\d{3}`), "spectrum-3"},
}

// standIn is a model that runs the system at the fastest port's speed.
func (k *knowledge) standIn(d *device) string {
	var fastest units.BitRate
	for _, s := range d.speed {
		fastest = max(fastest, s)
	}
	stated := fastest > 0
	fastest = max(fastest, k.usedSpeed(d))
	if d.system == "" && !stated {
		k.unknown = append(k.unknown, d.name+": its model (fabric.switches.model): the usual one for the speed stands for it")
		return ""
	}
	best := ""
	var speed units.BitRate
	for _, m := range cluster.Switches() {
		if (d.system == "" || slices.Contains(m.OS, d.system)) && m.Speed >= fastest && (best == "" || m.Speed < speed) {
			best, speed = m.Name, m.Speed
		}
	}
	said := ""
	if d.model != "" {
		said = " " + strconv.Quote(d.model)
	}
	k.unknown = append(k.unknown, fmt.Sprintf("%s: its model%s (fabric.switches.model): %s stands for it, which runs its system at its speed", d.name, said, best))
	return best
}

// usedSpeed is the rate that the cards of a switch's hosts need of it.
func (k *knowledge) usedSpeed(d *device) units.BitRate {
	for _, l := range k.links {
		if l.b.node == d.name && k.devices[l.a.node].kind == inventory.Host {
			for _, c := range k.devices[l.a.node].cards {
				if c.speed > 0 {
					return c.speed
				}
			}
		}
	}
	if len(d.speed) > 0 {
		return 0
	}
	return usualSpeed
}

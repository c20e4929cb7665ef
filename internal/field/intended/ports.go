package intended

import (
	"fmt"
	"regexp"
	"strconv"

	"weir/internal/cluster"
	"weir/units"
)

// A slot is where a port sits on the front panel. A cage that is split has
// several.
type slot struct {
	cage  int // from 0
	sub   int // from 0, below ways
	ways  int // 1: not split
	lanes int // of the cage
	rate  units.BitRate
}

// system is what a switch operating system does with port names and frame
// lengths.
type system struct {
	name   func(slot) string
	maxMTU units.Bytes // largest layer-2 payload of a port
	limit  string      // why that is the largest

	certain bool // marks every packet at the maximum: there is no probability to set
}

// systems by the names of switch.os. The forms of names are those of the
// vendors' interface guides, which the tables of the dialects name; frame
// limits are those that the guides give for current data centre switches.
var systems = map[string]system{
	"nxos": {name: func(s slot) string { return "Ethernet1/" + strconv.Itoa(s.cage+1) + s.after("/", 1) }, maxMTU: 9216, limit: "NX-OS takes up to 9216"},
	// All subports are numbered by the first of their lanes, unsplit cages too.
	"eos": {name: func(s slot) string {
		return "Ethernet" + strconv.Itoa(s.cage+1) + "/" + strconv.Itoa(s.sub*s.lanes/s.ways+1)
	}, maxMTU: 9214, limit: "EOS takes up to 9214"},
	"nvue":    {name: func(s slot) string { return "swp" + strconv.Itoa(s.cage+1) + s.after("s", 0) }, maxMTU: 9216, limit: "Cumulus takes up to 9216"},
	"onyx":    {name: func(s slot) string { return "Eth1/" + strconv.Itoa(s.cage+1) + s.after("/", 1) }, maxMTU: 9216, limit: "Onyx takes up to 9216", certain: true},
	"sonic":   {name: func(s slot) string { return "Ethernet" + strconv.Itoa(s.cage*s.lanes+s.sub*s.lanes/s.ways) }, maxMTU: 9216, limit: "SONiC takes up to 9216"},
	"vrp":     {name: func(s slot) string { return gigabits(s.rate) + "GE1/0/" + strconv.Itoa(s.cage+1) + s.after(":", 1) }, maxMTU: 12270, limit: "VRP takes frames up to 12288"},
	"comware": {name: func(s slot) string { return comwareSpeed(s.rate) + "1/0/" + strconv.Itoa(s.cage+1) + s.after(":", 1) }, maxMTU: 9398, limit: "Comware takes frames up to 9416"},
	"junos":   {name: func(s slot) string { return "et-0/0/" + strconv.Itoa(s.cage) + s.after(":", 0) }, maxMTU: 9202, limit: "Junos takes frames up to 9216, header included"},
}

func (s slot) after(mark string, first int) string {
	if s.ways == 1 {
		return ""
	}
	return mark + strconv.Itoa(s.sub+first)
}

func gigabits(r units.BitRate) string { return strconv.FormatInt(int64(r/units.Gbps), 10) }

func comwareSpeed(r units.BitRate) string {
	names := map[units.BitRate]string{10: "Ten-GigabitEthernet", 25: "Twenty-FiveGigE", 40: "FortyGigE", 50: "FiftyGigE", 100: "HundredGigE", 200: "TwoHundredGigE", 400: "FourHundredGigE", 800: "EightHundredGigE"}
	if n, ok := names[r/units.Gbps]; ok {
		return n
	}
	return gigabits(r) + "GE"
}

// numbered are the names that the model gives to ports which the cluster file
// does not name.
var numbered = regexp.MustCompile(`^port-[0-9]+$`)

// PortNames returns the names of a switch's ports as its operating system
// writes them, in the order of Node.Ports. A port that the cluster file names
// keeps that name; the others take the cages of the front panel in order,
// which are split only if there are more ports than cages.
func PortNames(c *cluster.Cluster, id cluster.NodeID) ([]string, error) {
	n := &c.Nodes[id]
	sys, ok := systems[n.OS]
	if n.Kind != cluster.SwitchNode || !ok {
		return nil, fmt.Errorf("%s: no switch with an operating system that has port names", n.Name)
	}
	taken := make(map[string]bool)
	free := 0
	for _, p := range n.Ports {
		if name := c.Ports[p].Name; numbered.MatchString(name) {
			free++
		} else {
			taken[name] = true
		}
	}
	names := make([]string, len(n.Ports))
	panel := panel{model: n.Model, split: len(n.Ports) > n.Model.Ports}
	for i, p := range n.Ports {
		port := &c.Ports[p]
		if !numbered.MatchString(port.Name) {
			names[i] = port.Name
			continue
		}
		for names[i] == "" || taken[names[i]] {
			s := panel.next(port.Rate)
			if s.cage >= n.Model.Ports {
				return nil, fmt.Errorf("%s: %d ports do not fit the %d cages of %s in this order: name the ports of its links in the cluster file", n.Name, len(n.Ports), n.Model.Ports, n.Model.Name)
			}
			names[i] = sys.name(s)
		}
	}
	return names, nil
}

// A panel hands out the front panel's slots.
type panel struct {
	model *cluster.SwitchModel
	split bool
	cage  int
	used  int // subports of the cage that are given out
	rate  units.BitRate
}

func (p *panel) next(rate units.BitRate) slot {
	ways, lanes := 1, 4
	if p.model.Speed >= 400*units.Gbps {
		lanes = 8
	}
	if p.split {
		most := max(1, min(lanes, p.model.MaxPorts/p.model.Ports))
		for 2*ways <= most && units.BitRate(2*ways)*rate <= p.model.Speed {
			ways *= 2
		}
	}
	if p.used > 0 && (rate != p.rate || p.used == ways) {
		p.cage, p.used = p.cage+1, 0
	}
	s := slot{cage: p.cage, sub: p.used, ways: ways, lanes: lanes, rate: rate}
	p.used, p.rate = p.used+1, rate
	return s
}

package audit

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir/internal/cluster"
	"weir/internal/field/dialect"
	"weir/internal/field/dialect/systems"
	"weir/internal/field/evidence/tool"
	"weir/internal/field/intended"
	"weir/internal/qos"
	"weir/units"
)

// A repairer writes the change that one finding needs on one device, against
// what runs there: the statement that is wrong, in the block it stands in.
type repairer struct {
	in      *qos.Intent
	setting string // without its number
	number  int    // of the setting: a code point, priority or queue
	port    *qos.Port
	names   []string // of all ports that need it
	config  *tool.Config
	grammar *dialect.Grammar
	system  string
	cell    units.Bytes
	length  units.Metres
	frame   units.Bytes
	room    units.Bytes // headroom that the plan needs
	hostMTU units.Bytes
	fill    units.Bytes // what a queue holds at 100 percent

	do, undo          []string
	disruption, scope string
	text              string
	failed            bool // a statement could not be written
}

// repair writes the commands for the deviations of one finding.
func (a *auditor) repair(list []int) (repair, undo []Step) {
	d := &a.found[list[0]]
	repair, undo = []Step{}, []Step{}
	byHand := Step{Commands: []string{}, Text: a.byHand(d), Disruption: a.catalogueDisruption(d.cause)}
	if d.device != "" || !d.onPort && a.c.Nodes[d.node].Kind == cluster.SwitchNode {
		return append(repair, byHand), undo
	}
	f := &repairer{in: &a.c.QoS, disruption: "none", scope: "port", frame: a.mtu}
	head, n, _ := strings.Cut(d.setting, ".")
	f.setting = head
	f.number, _ = strconv.Atoi(n)
	for _, i := range list {
		if name := a.found[i].name; !slices.Contains(f.names, name) {
			f.names = append(f.names, name)
		}
	}
	if a.c.Nodes[d.node].Kind == cluster.HostNode {
		f.hostMTU = 9000
		if host := &a.c.Hosts[a.c.Nodes[d.node].Host]; len(host.NICs) > 0 {
			f.hostMTU = intended.HostMTU(f.in, host.NICs[0].Model)
		}
		f.host(d)
	} else if s := a.ports[d.port]; s != nil && a.nodes[d.node].config != nil {
		f.port = &s.qos
		f.config = a.nodes[d.node].config
		f.system = f.config.Reading.Device.System
		m := a.c.Nodes[d.node].Model
		f.cell, f.fill = m.Cell, a.fillOf(d.node)
		if l := a.c.Ports[d.port].Link; l != cluster.LinkID(cluster.None) {
			link := &a.c.Links[l]
			f.length = link.Length
			f.room, _ = intended.Headroom(f.in, link.Rate, link.Length)
		}
		f.write()
	}
	if len(f.do) == 0 || f.failed {
		return append(repair, byHand), undo
	}
	text := f.text
	repair = append(repair, Step{f.do, text, f.disruption, f.scope})
	if len(f.undo) > 0 {
		undo = append(undo, Step{f.undo, "", f.disruption, f.scope})
	}
	return repair, undo
}

// byHand says what to do where no command is known.
func (a *auditor) byHand(d *deviation) string {
	switch d.setting {
	case "cable":
		return "Move the cable, or correct the plan if the cabling is what is wanted."
	case "speed":
		return "Set the port to the planned speed, and look at cable and optics."
	case "system":
		return "Give the file of this device, or correct switch.os in the cluster file."
	case "fec":
		return "Set both ends of the cable to the same FEC mode."
	}
	if c, ok := a.catalogue.Find(d.cause); ok && len(c.Fixes) > 0 && d.device == "" {
		return c.Fixes[0].En
	}
	return "Use " + d.expected + "."
}

func (a *auditor) catalogueDisruption(id string) string {
	if c, ok := a.catalogue.Find(id); ok && len(c.Fixes) > 0 {
		return c.Fixes[0].Disruption
	}
	return "none"
}

// disruptions of a change to a port, by setting. What is left out disturbs nothing.
var disruptions = map[string]string{"trust": "pause", "dscp": "pause", "queue": "pause", "pfc": "pause", "mtu": "flap", "pause": "flap", "ingress": "pause", "cable_length": "pause"}

// write fills in the change of a switch.
func (f *repairer) write() {
	f.disruption = disruptions[f.setting]
	if f.disruption == "" {
		f.disruption = "none"
	}
	if s, ok := systems.Named(f.system); ok && s.Statements != nil {
		f.grammar = s.Statements()
	}
	switch f.system {
	case "nxos":
		f.nxos()
	case "eos":
		f.eos()
	case "comware":
		f.comware()
	case "vrp":
		f.vrp()
	case "onyx":
		f.onyx()
	case "nvue":
		f.nvue()
	case "sonic":
		f.sonic()
	case "junos":
		f.junos()
	}
}

// line writes a statement of the system's table.
func (f *repairer) line(in, id string, args ...string) string {
	form := f.grammar.Form(in, id)
	if form == nil {
		f.failed = true
		return ""
	}
	values := dialect.Args{}
	for i := 0; i+1 < len(args); i += 2 {
		if args[i+1] != "" {
			values[args[i]] = args[i+1]
		}
	}
	s, err := form.Line(values)
	if err != nil {
		f.failed = true
	}
	return s
}

// change adds statements below the openers of a block to the repair, and others to
// the undo.
func (f *repairer) change(block []string, do, undo []string) {
	f.do = appendBlock(f.do, block, do)
	f.undo = appendBlock(f.undo, block, undo)
}

func appendBlock(to, block, lines []string) []string {
	if len(lines) == 0 {
		return to
	}
	for i, b := range block {
		to = append(to, strings.Repeat("  ", i)+b)
	}
	for _, l := range lines {
		to = append(to, strings.Repeat("  ", len(block))+l)
	}
	return to
}

// eachPort makes the change in the block of every port.
func (f *repairer) eachPort(do, undo []string) {
	for _, n := range f.names {
		f.change([]string{"interface " + n}, do, undo)
	}
}

// at returns the line of a setting's statement in the text, "" where there is none.
func (f *repairer) at(setting string) (n int, text string) {
	n = f.port.Lines[setting]
	if n == 0 || f.config.Text == "" {
		return 0, ""
	}
	return n, textLine(f.config.Text, n)
}

// around returns the openers of the blocks that a line stands in.
func (f *repairer) around(n int) []string {
	lines := strings.Split(f.config.Text, "\n")
	if n < 1 || n > len(lines) {
		return nil
	}
	indent := indentOf(lines[n-1])
	var out []string
	for i := n - 2; i >= 0 && indent > 0; i-- {
		if t := strings.TrimSpace(lines[i]); t == "" || t == "!" || t == "#" {
			continue
		}
		if in := indentOf(lines[i]); in < indent {
			indent = in
			out = append(out, strings.TrimSpace(lines[i]))
		}
	}
	slices.Reverse(out)
	return out
}

func indentOf(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }

// find returns the first group that is set of the first line that a pattern takes.
func (f *repairer) find(pattern string) string {
	for i, g := range regexp.MustCompile(`(?m)` + pattern).FindStringSubmatch(f.config.Text) {
		if i > 0 && g != "" {
			return g
		}
	}
	return ""
}

// class is the plan's class that a setting is about: that of a code point, else
// the one whose priority or queue it is, else RoCE.
func (f *repairer) class() *qos.Class {
	for i := range f.in.Classes {
		if c := &f.in.Classes[i]; f.setting == "dscp" && int(c.DSCP) == f.number {
			return c
		}
	}
	if f.setting == "schedule" && f.port != nil {
		for i := range f.in.Classes {
			if c := &f.in.Classes[i]; int(f.queueOf(c)) == f.number {
				return c
			}
		}
	}
	return f.in.RoCE()
}

// queueOf is the queue of a class on this device.
func (f *repairer) queueOf(c *qos.Class) uint8 {
	if q := f.port.PriorityToQueue[c.Priority]; q < qos.Priorities {
		return q
	}
	return c.Priority
}

// extra are the priorities that pause and should not; missing the other way.
func (f *repairer) priorities() (missing, extra []int) {
	mask := f.port.PFCMask
	want := f.in.LosslessMask()
	if !f.in.PFC {
		want = 0
	}
	return dialect.Bits(want &^ mask), dialect.Bits(mask &^ want)
}

func itoa[N ~int | ~int64 | ~uint8](n N) string { return strconv.FormatInt(int64(n), 10) }

func percentOf(share float64) string { return strconv.Itoa(int(math.Round(100 * share))) }

func kilobytes(b units.Bytes) string { return itoa((b + 500) / 1000) }

// restShare is what the default queue needs for the shares to add up, and the
// queue; false where the others already take all.
func (f *repairer) restShare() (queue int, share float64, ok bool) {
	if q := f.port.Queue(0); q < qos.Priorities {
		queue = int(q)
	}
	share = 1
	for i := range f.port.Queues {
		if q := &f.port.Queues[i]; i != queue && q.Strict != qos.On {
			share -= q.Share
		}
	}
	return queue, share, share > 0.005
}

var bare = regexp.MustCompile(`\s+`)

// words splits a line at blanks.
func words(s string) []string { return bare.Split(strings.TrimSpace(s), -1) }

func last(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[len(list)-1]
}

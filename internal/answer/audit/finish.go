package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weir/internal/cause"
	"weir/internal/cluster"
	"weir/internal/field/dialect"
	"weir/internal/finding"
)

type (
	nodeID = cluster.NodeID
	portID = cluster.PortID
)

// A catalogueFinder is cause.Catalogue.
type catalogueFinder interface {
	Find(id string) (*cause.Cause, bool)
}

// likeness is what deviations of one finding have in common.
type likeness struct {
	node                                    cluster.NodeID
	device, setting, cause, expected, found string
	consequence, reason                     string
}

// finish puts deviations that are alike into findings, the worst first.
func (a *auditor) finish() {
	groups := map[likeness][]int{}
	var order []likeness
	for i := range a.found {
		d := &a.found[i]
		k := likeness{d.node, d.device, d.setting, d.cause, d.expected, d.found, d.consequence, d.reason}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], i)
	}
	slices.SortStableFunc(order, func(x, y likeness) int {
		dx, dy := &a.found[groups[x][0]], &a.found[groups[y][0]]
		return cmp.Or(cmp.Compare(dy.severity, dx.severity), cmp.Compare(x.node, y.node), strings.Compare(x.device, y.device), cmp.Compare(dx.port, dy.port), strings.Compare(x.setting, y.setting))
	})
	alike := map[likeness]bool{}
	for _, k := range order {
		list := groups[k]
		slices.SortStableFunc(list, func(x, y int) int { return cmp.Compare(a.found[x].port, a.found[y].port) })
		f := a.finding(list)
		k.node, k.device, k.reason = 0, "", ""
		f.Canary = !alike[k]
		alike[k] = true
		a.r.Findings = append(a.r.Findings, f)
	}
}

// maxEvidence is how many places a finding shows.
const maxEvidence = 5

func (a *auditor) finding(list []int) Finding {
	d := &a.found[list[0]]
	f := Finding{Device: d.device, Setting: d.setting, Expected: d.expected, Found: d.found, Consequence: d.consequence, Repair: []Step{}, Undo: []Step{}}
	if f.Device == "" {
		f.Device = a.c.Nodes[d.node].Name
	}
	var ports []string
	for _, i := range list {
		if n := a.found[i].name; n != "" && !slices.Contains(ports, n) {
			ports = append(ports, n)
		}
	}
	f.Port = strings.Join(ports, ",")
	f.Cause, f.Severity, f.Confidence = d.cause, d.severity, 1
	f.Where = f.Device
	switch {
	case len(ports) == 1:
		f.Where += "/" + ports[0]
	case len(ports) > 1:
		f.Where += fmt.Sprintf("/%s and %d more", ports[0], len(ports)-1)
	}
	f.Summary = fmt.Sprintf("%s: %s is %s, the plan has %s.", f.Where, settingText(d.setting), d.found, d.expected)
	seen := map[string]bool{}
	for _, i := range list {
		e := finding.Evidence{Source: a.found[i].source, Line: a.found[i].line, Text: a.lineOf(&a.found[i])}
		if key := fmt.Sprint(e.Source, e.Line, e.Text); !seen[key] && len(f.Evidence) < maxEvidence {
			seen[key] = true
			f.Evidence = append(f.Evidence, e)
		}
	}
	if c, ok := a.catalogue.Find(d.cause); ok {
		f.RefutedBy, f.DecidingTest = c.RefutedBy.En, c.DecidingTest
	}
	f.Repair, f.Undo = a.repair(list)
	f.Fix = []finding.Fix{}
	for _, s := range f.Repair {
		f.Fix = append(f.Fix, finding.Fix{Command: strings.Join(s.Commands, "\n"), Text: s.Text, Disruption: s.Disruption})
	}
	return f
}

// lineOf returns what the evidence says, as it stands there where that is known.
func (a *auditor) lineOf(d *deviation) string {
	if d.text != "" {
		return dialect.Excerpt(d.text)
	}
	if dev := a.nodes[d.node]; d.device == "" && dev != nil && dev.config != nil && dev.config.Text != "" && dev.config.Source == d.source && d.line > dev.config.Offset {
		if line := textLine(dev.config.Text, d.line-dev.config.Offset); line != "" {
			if d.reason != "" {
				return dialect.Excerpt(line) + " (" + d.reason + ")"
			}
			return dialect.Excerpt(line)
		}
	}
	return cmp.Or(d.reason, settingText(d.setting)+": "+d.found)
}

// textLine returns a line of a text by its number, without blanks around it.
func textLine(text string, n int) string {
	for ; n > 1; n-- {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			return ""
		}
		text = text[i+1:]
	}
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimSpace(line)
}

// settingText is how a sentence calls a setting.
func settingText(setting string) string {
	head, n, _ := strings.Cut(setting, ".")
	switch head {
	case "trust":
		return "trust"
	case "dscp":
		return "DSCP " + n
	case "pfc":
		return "PFC"
	case "pause":
		return "link-level pause"
	case "ecn":
		return "ECN of queue " + n
	case "queue":
		return "the queue of priority " + n
	case "schedule":
		return "the scheduling of queue " + n
	case "ets":
		return "the sum of shares"
	case "ingress":
		return "the headroom of priority " + n
	case "mtu":
		if n != "" {
			return "the MTU of priority " + n
		}
		return "the MTU"
	case "watchdog":
		return "the PFC watchdog"
	case "cable_length":
		return "the cable length"
	case "cable":
		return "the neighbour"
	case "speed":
		return "the speed"
	case "system":
		return "the system of the file"
	}
	return setting
}

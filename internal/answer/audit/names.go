package audit

import (
	"strings"

	"weir/internal/cluster"
	"weir/internal/field/intended"
)

// deviceName is a port's name as its device writes it, by the plan.
func (a *auditor) deviceName(id portID) string {
	p := &a.c.Ports[id]
	if a.c.Nodes[p.Node].Kind != cluster.SwitchNode {
		return p.Name
	}
	if a.portNames == nil {
		a.portNames = map[nodeID][]string{}
	}
	names, ok := a.portNames[p.Node]
	if !ok {
		names, _ = intended.PortNames(a.c, p.Node)
		a.portNames[p.Node] = names
	}
	if int(p.Index) < len(names) {
		return names[p.Index]
	}
	return p.Name
}

// plainName is a port's name without case and without the letters that one
// system prints in some places and not in others ("Eth1/1", "1/1").
func plainName(s string) string {
	s = strings.ToLower(s)
	if rest, ok := strings.CutPrefix(s, "eth"); ok && rest != "" && rest[0] >= '0' && rest[0] <= '9' {
		return rest
	}
	return s
}

// Package render writes the configuration of every device of a cluster: each
// switch in its operating system's language, each host's cards, and what NCCL
// and Kubernetes need. The same cluster gives the same bytes.
package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/internal/cluster"
	"weir/internal/field/dialect"
	"weir/internal/field/dialect/systems"
	"weir/internal/field/hostconf"
	"weir/internal/field/intended"
	"weir/internal/qos"
	"weir/units"
)

// A File is one rendered file.
type File struct {
	Name       string // path below the output directory, with slashes
	Body       string
	Executable bool
}

// Files returns all files of a cluster, in the order of its nodes. What a
// device cannot express comes back as an error, and no file with it.
func Files(c *cluster.Cluster) ([]File, error) {
	var out []File
	for i := range c.Nodes {
		if c.Nodes[i].Kind != cluster.SwitchNode || len(c.Nodes[i].Ports) == 0 {
			continue
		}
		texts, err := Switch(c, cluster.NodeID(i))
		if err != nil {
			return nil, err
		}
		for _, t := range texts {
			out = append(out, File{Name: "switches/" + c.Nodes[i].Name + t.Suffix, Body: t.Body, Executable: strings.HasSuffix(t.Suffix, ".sh")})
		}
	}
	hosts, err := hostconf.New(c)
	if err != nil {
		return nil, err
	}
	for h := range c.Hosts {
		dev, err := intended.Host(c, h)
		if err != nil {
			return nil, err
		}
		files, err := hosts.Host(h, dev)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			out = append(out, File{Name: "hosts/" + dev.Name + "/" + f.Name, Body: f.Body, Executable: f.Executable})
		}
	}
	return out, nil
}

// Switch returns the configuration of one switch.
func Switch(c *cluster.Cluster, id cluster.NodeID) ([]dialect.Text, error) {
	t, err := Target(c, id)
	if err != nil {
		return nil, err
	}
	s, ok := systems.Named(c.Nodes[id].OS)
	if !ok {
		var names []string
		for _, s := range systems.All() {
			names = append(names, s.Name)
		}
		return nil, fmt.Errorf("%s: switch.os %q: allowed: %s", c.Nodes[id].Name, c.Nodes[id].OS, strings.Join(names, ", "))
	}
	return s.Write(t)
}

// Target returns what a renderer needs to know about a switch.
func Target(c *cluster.Cluster, id cluster.NodeID) (*dialect.Target, error) {
	dev, err := intended.Switch(c, id)
	if err != nil {
		return nil, err
	}
	n := &c.Nodes[id]
	t := &dialect.Target{Device: dev, Model: n.Model.Name, Cell: n.Model.Cell, Buffer: n.Model.Buffer, XONOffset: c.QoS.XONOffset}
	rest, err := intended.RestPriority(&c.QoS)
	if err != nil {
		return nil, err
	}
	t.Names[rest] = "rest"
	for _, cl := range slices.Backward(c.QoS.Classes) { // the first class of a priority names it
		t.Names[cl.Priority] = cl.Name
	}
	for _, p := range n.Ports {
		t.Roles = append(t.Roles, role(c, p))
	}
	return t, nil
}

// role says what a switch port is for.
func role(c *cluster.Cluster, id cluster.PortID) string {
	p := &c.Ports[id]
	if p.Link == cluster.LinkID(cluster.None) {
		return "free"
	}
	peer := &c.Ports[p.Peer]
	node := &c.Nodes[peer.Node]
	switch {
	case node.Kind == cluster.HostNode && peer.NIC >= 0:
		return fmt.Sprintf("rail %d", c.Hosts[node.Host].NICs[peer.NIC].Rail)
	case node.Tier > c.Nodes[p.Node].Tier:
		return "uplink"
	case node.Tier < c.Nodes[p.Node].Tier:
		return "downlink"
	}
	return "peer link"
}

// Explain returns the arithmetic behind what the cluster file left out, a line
// each, without repeats.
func Explain(c *cluster.Cluster) ([]string, error) {
	var out []string
	seen := make(map[string]bool)
	say := func(s string) {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Kind != cluster.SwitchNode || len(n.Ports) == 0 {
			continue
		}
		dev, err := intended.Switch(c, cluster.NodeID(i))
		if err != nil {
			return nil, err
		}
		total := headroom(dev)
		for k := range dev.Ports {
			p := &dev.Ports[k]
			for _, key := range sortedKeys(p.Reasons) {
				say(fmt.Sprintf("%s on %s: %s", key, n.OS, p.Reasons[key]))
			}
		}
		// Headroom differs from port to port: the rules see the buffer without it.
		bound := qos.ThresholdRules{Buffer: n.Model.Buffer - total, Ports: len(dev.Ports), Priorities: max(1, len(dialect.Bits(dev.Ports[0].PFCMask)))}
		say(fmt.Sprintf("%s: headroom of %d ports is %d bytes of %d (%.0f%%)", n.Model.Name, len(dev.Ports), total, n.Model.Buffer, 100*float64(total)/float64(n.Model.Buffer)))
		say(fmt.Sprintf("%s: with %d ports congested at once and alpha %g, ECN marks before pause up to a threshold of %d bytes (DCQCN's rule); qos.ecn.min is %d",
			n.Model.Name, len(dev.Ports), c.QoS.Alpha, bound.DynamicECN(c.QoS.Alpha*float64(bound.Priorities)), c.QoS.ECN.Min))
	}
	return out, nil
}

func headroom(d *qos.Device) (total units.Bytes) {
	for i := range d.Ports {
		for p := range d.Ports[i].Ingress {
			total += d.Ports[i].Ingress[p].Headroom
		}
	}
	return total
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

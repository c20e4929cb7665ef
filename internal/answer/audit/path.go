package audit

import (
	"fmt"
	"strings"

	"weir/internal/cluster"
	"weir/internal/input"
	"weir/internal/qos"
	"weir/internal/twin/fabric"
)

// countPaths counts the shortest ways between cards of different hosts, and
// those on which every port has evidence.
func (a *auditor) countPaths() {
	f, err := fabric.New(a.c)
	if err != nil {
		return
	}
	a.fabric = f
	type leaf struct {
		node  cluster.NodeID
		any   cluster.PortID // a host port behind it
		hosts map[int32][2]uint64
		all   [2]uint64
	}
	var leaves []*leaf
	byNode := map[cluster.NodeID]*leaf{}
	for id := range a.c.Ports {
		p := &a.c.Ports[id]
		h := a.c.Nodes[p.Node].Host
		if h < 0 || p.Link == cluster.LinkID(cluster.None) || a.c.Nodes[a.c.Ports[p.Peer].Node].Kind != cluster.SwitchNode {
			continue
		}
		sw := a.c.Ports[p.Peer].Node
		l := byNode[sw]
		if l == nil {
			l = &leaf{node: sw, any: cluster.PortID(id), hosts: map[int32][2]uint64{}}
			byNode[sw] = l
			leaves = append(leaves, l)
		}
		n := l.hosts[h]
		n[0]++
		l.all[0]++
		if a.ports[id] != nil && a.ports[p.Peer] != nil {
			n[1]++
			l.all[1]++
		}
		l.hosts[h] = n
	}
	for _, to := range leaves {
		ways := a.ways(f, to.node, to.any)
		for _, from := range leaves {
			w := ways(from.node)
			for k := range 2 {
				pairs := from.all[k] * to.all[k]
				for h, n := range from.hosts {
					pairs -= n[k] * to.hosts[h][k]
				}
				if k == 0 {
					a.r.PathsTotal += pairs * w[0]
				} else {
					a.r.PathsChecked += pairs * w[1]
				}
			}
		}
	}
}

// ways returns a function that counts the ways from a switch to the one that
// dst hangs on: all, and those with evidence throughout.
func (a *auditor) ways(f *fabric.Fabric, at cluster.NodeID, dst cluster.PortID) func(cluster.NodeID) [2]uint64 {
	known := map[cluster.NodeID][2]uint64{at: {1, 1}}
	var count func(n cluster.NodeID, depth int) [2]uint64
	count = func(n cluster.NodeID, depth int) [2]uint64 {
		if w, ok := known[n]; ok || depth > 16 {
			return w
		}
		var w [2]uint64
		for _, i := range f.NextHops(n, dst) {
			out := a.c.Nodes[n].Ports[i]
			in := a.c.Ports[out].Peer
			next := count(a.c.Ports[in].Node, depth+1)
			w[0] += next[0]
			if a.ports[out] != nil && a.ports[in] != nil {
				w[1] += next[1]
			}
		}
		known[n] = w
		return w
	}
	return func(n cluster.NodeID) [2]uint64 { return count(n, 0) }
}

// showPath describes one way hop by hop: the one asked for, else one that
// passes the first port with a finding, else from the first host to the last.
func (a *auditor) showPath(way string) error {
	if a.fabric == nil || len(a.c.Hosts) < 2 {
		if way != "" {
			return &input.Error{File: "--path " + way, Found: "a path in a cluster without routes between two hosts", Allowed: "two hosts with cards"}
		}
		return nil
	}
	src, dst := a.c.Hosts[0].NICs[0].Ports[0], a.c.Hosts[len(a.c.Hosts)-1].NICs[0].Ports[0]
	if way != "" {
		x, y, ok := strings.Cut(way, ",")
		var err error
		if src, err = a.hostPort(x, way); err != nil {
			return err
		}
		if dst, err = a.hostPort(y, way); err != nil {
			return err
		}
		if !ok || a.c.Ports[src].Node == a.c.Ports[dst].Node {
			return &input.Error{File: "--path " + way, Found: "one host", Allowed: "two cards of different hosts, as in host-0/nic-0,host-1/nic-0"}
		}
	} else {
		for i := range a.found {
			d := &a.found[i]
			if !d.onPort || d.device != "" {
				continue
			}
			p := d.port
			if a.c.Nodes[a.c.Ports[p].Node].Kind == cluster.SwitchNode {
				p = a.c.Ports[p].Peer
			}
			if uint32(p) != cluster.None && a.c.Nodes[a.c.Ports[p].Node].Host >= 0 {
				if src = p; a.c.Ports[src].Node == a.c.Ports[dst].Node {
					dst = a.c.Hosts[0].NICs[0].Ports[0]
				}
				break
			}
		}
	}
	a.walk(src, dst)
	return nil
}

func (a *auditor) hostPort(place, way string) (cluster.PortID, error) {
	host, card, _ := strings.Cut(place, "/")
	for i := range a.c.Hosts {
		h := &a.c.Hosts[i]
		if a.c.Nodes[h.Node].Name != host {
			continue
		}
		for k := range h.NICs {
			if n := &h.NICs[k]; card == "" || card == n.Name || card == n.Device {
				return n.Ports[0], nil
			}
		}
	}
	return 0, &input.Error{File: "--path " + way, Found: fmt.Sprintf("%q", place), Allowed: "a card of a host of the plan, as in host-0/nic-0"}
}

// walk follows the first of equal ways.
func (a *auditor) walk(src, dst cluster.PortID) {
	a.hop(src, "send")
	at := src
	for range 16 {
		in := a.c.Ports[at].Peer
		if uint32(in) == cluster.None {
			return
		}
		if in == dst {
			a.hop(in, "receive")
			return
		}
		node := a.c.Ports[in].Node
		next := a.fabric.NextHops(node, dst)
		if len(next) == 0 || a.c.Nodes[node].Kind != cluster.SwitchNode {
			return
		}
		a.hop(in, "in")
		at = a.c.Nodes[node].Ports[next[0]]
		a.hop(at, "out")
	}
}

func (a *auditor) hop(id cluster.PortID, role string) {
	p := &a.c.Ports[id]
	h := Hop{Device: a.c.Nodes[p.Node].Name, Port: a.nameOf(id), Role: role}
	const none = "not known"
	h.DSCP, h.Priority, h.Queue, h.Lossless, h.ECN, h.MTU = none, none, none, none, none, none
	if s := a.ports[id]; s != nil {
		roce := a.c.QoS.RoCE()
		h.DSCP = number(roce.DSCP)
		k := &check{in: &a.c.QoS, p: &s.qos, rate: p.Rate}
		if n := &a.c.Nodes[p.Node]; n.Model != nil {
			k.cell, k.fill = n.Model.Cell, a.fillOf(p.Node)
		}
		if v := s.qos.Priority(roce.DSCP); v < qos.Priorities {
			h.Priority = number(v)
			h.Lossless = yesNo(s.qos.Lossless(roce.DSCP))
			if s.qos.PFC == qos.Unset && s.qos.PFCMask == 0 && s.qos.PFCMode == "" {
				h.Lossless = none
			}
		} else if s.qos.Trust == qos.TrustPCP || s.qos.Trust == qos.TrustNone || k.mapped() {
			h.Priority, h.Lossless = "none", "no"
		}
		q := s.qos.Queue(roce.DSCP)
		if q == qos.Undefined && h.Priority != none && h.Priority != "none" {
			q = s.qos.Priority(roce.DSCP)
		}
		if q < qos.Priorities {
			h.Queue = number(q)
			h.ECN = a.hopECN(k, &s.qos.Queues[q], s.stated, role)
		}
		if m := s.qos.FrameLimit(roce.DSCP); m > 0 {
			h.MTU = fmt.Sprint(int64(m))
		}
	}
	a.r.Path = append(a.r.Path, h)
}

func (a *auditor) hopECN(k *check, q *qos.Queue, stated bool, role string) string {
	switch {
	case role == "send" || role == "receive":
		return "-"
	case q.ECN == qos.On:
		low, high, ok := k.thresholds(q)
		if !ok {
			return fmt.Sprintf("%g to %g %s", q.Raw.Min, q.Raw.Max, q.Raw.Unit)
		}
		return strings.TrimPrefix(ramp(low, high, q.Probability), "ECN from ")
	case q.WRED == qos.On:
		return "drops"
	case q.ECN == qos.Off || stated:
		return "none"
	}
	return "not known"
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

package alert

import (
	"fmt"
	"time"

	"weir/internal/cluster"
)

// LeafDown is the name of the alert that stands for all links of a leaf.
const LeafDown = "RoCELeafDown"

// leafRule judges 1 for a failed leaf and 0 for another. It waits as long as
// the rules of its links.
var leafRule = Rule{Name: LeafDown, Severity: Critical, By: []string{"switch"}, Keep: 30 * time.Second, Above: 0.5, Clear: 0.5, Cause: "link-down-flap", Summary: "{switch} has failed: most of its host links are down"}

// A leaf has failed when at least leafShare of its host links are down, and
// leafLinks of them.
const (
	leafShare = 0.5
	leafLinks = 2
)

// leaves knows which leaf each port of a host or switch is cabled to.
type leaves struct {
	ofCard map[[2]string]string // host, device: leaf
	ofPort map[[2]string]string // switch, port: the leaf that it is on or cabled to
	links  map[string]int       // host links of a leaf
}

func newLeaves(c *cluster.Cluster) leaves {
	l := leaves{ofCard: map[[2]string]string{}, ofPort: map[[2]string]string{}, links: map[string]int{}}
	if c == nil {
		return l
	}
	leaf := func(n *cluster.Node) bool { return n.Kind == cluster.SwitchNode && n.Tier == 1 }
	for i := range c.Ports {
		p := &c.Ports[i]
		if uint32(p.Peer) == cluster.None {
			continue
		}
		here, peer := &c.Nodes[p.Node], &c.Nodes[c.Ports[p.Peer].Node]
		switch {
		case leaf(here):
			l.ofPort[[2]string{here.Name, p.Name}] = here.Name
			if peer.Kind == cluster.HostNode {
				l.links[here.Name]++
			}
		case here.Kind == cluster.SwitchNode && leaf(peer):
			l.ofPort[[2]string{here.Name, p.Name}] = peer.Name
		case here.Kind == cluster.HostNode && leaf(peer) && here.Host >= 0 && p.NIC >= 0:
			nic := &c.Hosts[here.Host].NICs[p.NIC]
			l.ofCard[[2]string{here.Name, nic.Device}] = peer.Name
			l.ofCard[[2]string{here.Name, nic.Name}] = peer.Name
		}
	}
	return l
}

// leafOf returns the leaf whose failure would explain an alert, "" without one.
func (l leaves) leafOf(a *Alert) string {
	if s := a.Labels["switch"]; s != "" {
		return l.ofPort[[2]string{s, a.Labels["port"]}]
	}
	return l.ofCard[[2]string{a.Labels["instance"], a.Labels["device"]}]
}

// foldLeaves makes one alert for each leaf whose host links are down and
// silences those of its links.
func (e *Engine) foldLeaves(now time.Time) {
	link := map[string]bool{}
	longest := time.Duration(0)
	for _, r := range e.o.Rules {
		if r.Link {
			link[r.Name] = true
			longest = max(longest, r.For)
		}
	}
	down := map[string]map[[2]string]bool{} // leaf: host links
	byLeaf := map[string][]*Alert{}
	for _, a := range e.alerts {
		if !link[a.Rule] {
			continue
		}
		leaf := e.leaves.leafOf(a)
		if leaf == "" {
			continue
		}
		byLeaf[leaf] = append(byLeaf[leaf], a)
		if a.State != Resolved && a.Labels["instance"] != "" {
			if down[leaf] == nil {
				down[leaf] = map[[2]string]bool{}
			}
			down[leaf][[2]string{a.Labels["instance"], a.Labels["device"]}] = true
		}
	}
	rule := leafRule
	rule.For = longest
	failed := func(leaf string) bool {
		n := len(down[leaf])
		return n >= leafLinks && float64(n) >= leafShare*float64(e.leaves.links[leaf])
	}
	for leaf := range e.leaves.links {
		labels := map[string]string{"switch": leaf}
		key := LeafDown + "\x00" + labelText(labels)
		a, bad := e.alerts[key], failed(leaf)
		if a == nil && !bad {
			continue
		}
		if a == nil {
			a = &Alert{Rule: rule.Name, Severity: rule.Severity, Cause: rule.Cause, Labels: labels, State: Pending, Since: now}
			e.alerts[key] = a
		} else if a.State == Resolved {
			if !bad {
				continue
			}
			a.State, a.Since, a.below = Pending, now, time.Time{}
		}
		value := 0.0
		if bad {
			value = 1
			a.Summary = fmt.Sprintf("%s has failed: %d of its %d host links are down", leaf, len(down[leaf]), e.leaves.links[leaf])
		}
		a.seen, a.Value = now, value
		e.step(key, a, &rule, value, now)
	}
	for leaf, alerts := range byLeaf {
		a := e.alerts[LeafDown+"\x00"+labelText(map[string]string{"switch": leaf})]
		for _, l := range alerts {
			l.Silenced = ""
			if a != nil && a.State != Resolved {
				l.Silenced = "leaf: " + leaf + " failed"
			}
		}
	}
}

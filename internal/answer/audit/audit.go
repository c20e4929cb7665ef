// Package audit compares what devices say they run with what the cluster file
// intends, by effect and not by text: at every port on a path between two
// hosts, which priority and queue a packet gets, whether that is lossless, at
// how many bytes it is marked, and how large it may be; at both ends of every
// cable, NIC against switch port. What differs becomes a finding with its
// consequence and the commands that repair and undo it.
package audit

import (
	"weir/internal/cause"
	"weir/internal/cluster"
	"weir/internal/fact"
	"weir/internal/field/evidence"
	"weir/internal/finding"
)

// A Finding is one difference at one device. Ports that differ alike share it.
type Finding struct {
	finding.Finding
	Device      string `json:"device"`
	Port        string `json:"port"`    // as the device names it; several are separated by commas; "" the device as a whole
	Setting     string `json:"setting"` // "pfc", "ecn", "mtu", "dscp.26" ...
	Expected    string `json:"expected"`
	Found       string `json:"found"`
	Consequence string `json:"consequence"`
	Repair      []Step `json:"repair"`
	Undo        []Step `json:"undo"`
	// Canary is true on the one device of those that differ alike which
	// should be repaired, and looked at, first.
	Canary bool `json:"canary"`
}

// A Step is a group of commands that are entered together.
type Step struct {
	Commands   []string `json:"commands"`
	Text       string   `json:"text"`
	Disruption string   `json:"disruption"` // "none", "pause", "flap" or "reload"
	Scope      string   `json:"scope"`      // what the disruption reaches: "port", "device", "host"
}

// A Gap is something that could not be checked for want of evidence.
type Gap struct {
	Device string `json:"device"`
	Port   string `json:"port,omitempty"`
	What   string `json:"what"` // "everything", or the settings that nothing tells about
}

// A Hop is one port on a way, and what it does with a RoCE packet.
type Hop struct {
	Device   string `json:"device"`
	Port     string `json:"port"`
	Role     string `json:"role"` // "send", "in", "out" or "receive"
	DSCP     string `json:"dscp"`
	Priority string `json:"priority"`
	Queue    string `json:"queue"`
	Lossless string `json:"lossless"`
	ECN      string `json:"ecn"`
	MTU      string `json:"mtu"`
}

// A Result is the answer. Paths are shortest ways between two NICs, each
// direction and each of several equal ways counted.
type Result struct {
	Cluster       string               `json:"cluster"`
	Findings      []Finding            `json:"findings"`
	DevicesFound  int                  `json:"devices_checked"`
	Snippets      int                  `json:"snippets_checked"` // set-up commands that belong to no device
	PathsChecked  uint64               `json:"paths_checked"`
	PathsTotal    uint64               `json:"paths_total"`
	Path          []Hop                `json:"path"` // one way, hop by hop
	NotChecked    []Gap                `json:"not_checked"`
	NotUnderstood []fact.NotUnderstood `json:"-"`
	Refused       []evidence.Refusal   `json:"-"`
}

// Run compares evidence with the plan. way names the two NICs whose path is
// shown ("host-0/nic-0,host-9/nic-0"); "" picks one.
func Run(c *cluster.Cluster, e *Evidence, catalogue *cause.Catalogue, way string) (*Result, error) {
	r := &Result{Cluster: c.Name, Findings: []Finding{}, NotChecked: []Gap{}, NotUnderstood: e.NotUnderstood, Refused: e.Refused}
	a := &auditor{c: c, e: e, r: r, ports: make([]*portState, len(c.Ports)), nodes: make([]*device, len(c.Nodes)), catalogue: catalogue}
	a.match()
	a.mtu = a.largestFrame()
	a.checkSwitches()
	a.checkHosts()
	a.checkCables()
	a.snippets()
	a.countPaths()
	if err := a.showPath(way); err != nil {
		return nil, err
	}
	a.finish()
	return r, nil
}

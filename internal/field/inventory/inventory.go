// Package inventory reads what plans and tools of a site say about its devices
// and cables: Slurm's topology.conf, containerlab topologies and exports of
// NetBox. Unlike the outputs that package evidence reads, these describe what
// should be there.
package inventory

import (
	"bytes"
	"strings"

	"weir/units"
)

// Limits: a larger source is refused, more of anything is left out and said in
// Graph.Notes.
const (
	MaxText  = 64 << 20
	MaxNodes = 1 << 17
	MaxLinks = 1 << 18
)

// Kind says what a node is.
type Kind uint8

// The kinds of node.
const (
	Unknown Kind = iota
	Host
	Switch
)

// A Node is one device.
type Node struct {
	Name   string
	Kind   Kind
	System string // as switch.os, "" unknown
	Model  string // as the source writes it
	Line   int
}

// An End is one end of a cable. Port is "" where the source names none.
type End struct{ Node, Port string }

// A Link is one cable.
type Link struct {
	A, B   End
	Length units.Metres // 0: not stated
	Speed  units.BitRate
	Line   int
}

// A Graph is what one source says.
type Graph struct {
	Source string
	Format string // "slurm topology.conf", "containerlab", "netbox"
	Nodes  []Node
	Links  []Link
	Notes  []Note // what was not understood, or left out
}

// A Note is a remark on a line.
type Note struct {
	Line int
	Text string
}

func (g *Graph) note(line int, text string) {
	if len(g.Notes) < 1000 {
		if len(text) > 200 {
			text = strings.ToValidUTF8(text[:200], "")
		}
		g.Notes = append(g.Notes, Note{line, text})
	}
}

func (g *Graph) link(l Link) {
	switch {
	case len(g.Links) < MaxLinks:
		g.Links = append(g.Links, l)
	case len(g.Links) == MaxLinks:
		g.note(l.Line, "more cables than are read")
	}
}

// node adds a device, or fills in what an earlier mention left open.
func (b *builder) node(n Node) {
	if n.Name == "" {
		return
	}
	if i, ok := b.index[n.Name]; ok {
		old := &b.g.Nodes[i]
		if old.Kind == Unknown {
			old.Kind = n.Kind
		}
		if old.System == "" {
			old.System = n.System
		}
		if old.Model == "" {
			old.Model = n.Model
		}
		return
	}
	if len(b.g.Nodes) >= MaxNodes {
		b.g.note(n.Line, "more devices than are read")
		return
	}
	b.index[n.Name] = len(b.g.Nodes)
	b.g.Nodes = append(b.g.Nodes, n)
}

type builder struct {
	g     *Graph
	index map[string]int
}

func newBuilder(source, format string) *builder {
	return &builder{&Graph{Source: source, Format: format}, map[string]int{}}
}

// Read reads a text in one of the formats; nil where it is in none of them.
func Read(text []byte, source string) *Graph {
	if len(text) > MaxText {
		return nil
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for _, f := range []func([]byte, string) *Graph{readNetBoxJSON, readNetBoxCSV, readContainerlab, readSlurm} {
		if g := f(text, source); g != nil {
			return g
		}
	}
	return nil
}

// system names the switch system that a word of another tool stands for.
func system(word string) string {
	w := strings.ToLower(word)
	for _, s := range []struct{ part, system string }{
		{"sonic", "sonic"}, {"ceos", "eos"}, {"arista", "eos"}, {"eos", "eos"}, {"n9kv", "nxos"}, {"nxos", "nxos"}, {"nx-os", "nxos"},
		{"cvx", "nvue"}, {"cumulus", "nvue"}, {"onyx", "onyx"}, {"mlnx-os", "onyx"}, {"crpd", "junos"}, {"vjunos", "junos"}, {"junos", "junos"}, {"vqfx", "junos"},
		{"huawei", "vrp"}, {"vrp", "vrp"}, {"comware", "comware"}, {"h3c", "comware"},
	} {
		if strings.Contains(w, s.part) {
			return s.system
		}
	}
	return ""
}

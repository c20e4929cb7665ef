// Package importer builds a cluster file from what exists: neighbour tables,
// configurations, inventories and the trees of hosts. It refreshes a file that is
// there without touching what people wrote, and says what it could not learn.
package importer

import (
	"weir/internal/answer/audit"
	"weir/internal/cluster"
	"weir/internal/fact"
	"weir/internal/field/evidence"
)

// A Conflict is a value on which two sources, or a source and the file, differ.
// What was kept stands in Kept.
type Conflict struct {
	Where string `json:"where"` // "fabric.links: h1/mlx5_0", "qos.ecn.min"
	Kept  string `json:"kept"`
	Other string `json:"other"`
	From  string `json:"from"` // source of the other value
}

// A Result is a cluster file and how it came about.
type Result struct {
	Text      []byte          `json:"-"` // the whole file
	Hosts     int             `json:"hosts"`
	Switches  int             `json:"switches"`
	Links     int             `json:"links"`
	Added     []string        `json:"added"`       // to a file that was there
	Conflicts []Conflict      `json:"conflicts"`   //
	Unknown   []string        `json:"not_learned"` // what no source says, and what stands for it
	LeftOut   []string        `json:"left_out"`    // what was seen and is not in the file
	Findings  []audit.Finding `json:"findings"`    // cables that differ from the plan

	NotUnderstood []fact.NotUnderstood `json:"-"`
	Refused       []evidence.Refusal   `json:"-"`
}

// Build makes a new cluster file. The error is of a plan that does not hold
// together, such as a cluster without hosts.
func Build(s *Sources) (*Result, error) {
	k := learn(s)
	text, err := k.write()
	if err != nil {
		return nil, err
	}
	r := k.result()
	f, err := cluster.Parse("the imported file", text, nil)
	if err != nil {
		return nil, err
	}
	r.Text = text
	count(r, f.Cluster)
	r.Findings = append(r.Findings, k.outliers()...)
	return r, nil
}

func count(r *Result, c *cluster.Cluster) {
	r.Hosts, r.Links = len(c.Hosts), len(c.Links)
	for i := range c.Nodes {
		if c.Nodes[i].Kind == cluster.SwitchNode {
			r.Switches++
		}
	}
}

func (k *knowledge) result() *Result {
	return &Result{Added: []string{}, Conflicts: append([]Conflict{}, k.conflicts...), Unknown: append([]string{}, k.unknown...), LeftOut: append([]string{}, k.leftOut...),
		Findings: append([]audit.Finding{}, k.findings...), NotUnderstood: k.s.NotUnderstood, Refused: k.s.Refused}
}

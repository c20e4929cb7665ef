package simulated

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"weir/internal/answer/diagnosis"
	"weir/internal/cause"
	"weir/internal/cluster"
	"weir/internal/finding"
	"weir/internal/twin/fault"
)

// accept are further ids that are right answers, by fault.
var accept = map[string][]string{
	"ecn-not-configured":    {"ecn-threshold-too-high"},
	"pfc-priority-mismatch": {"pfc-not-enabled-on-path"},
	"receiver-slow-pause":   {"pcie-degraded", "pcie-bottleneck"},
	"hash-polarisation":     {"ecmp-collision"},
	"fixed-source-port":     {"ecmp-collision", "lag-single-qp"},
	"lag-single-qp":         {"fixed-source-port"},
	"path-loss":             {"link-errors"},
	"link-errors":           {"path-loss"},
	"udp4791-blocked":       {"path-unreachable"},
	"pcie-degraded":         {"receiver-slow-pause"},
	"gdr-inactive-no-peermem": {
		"gdr-inactive-distance",
	},
	"cabling-wrong": {"rail-mismatch"},
}

// A Row is what a fault's trials gave.
type Row struct {
	ID                          string
	Trials, First, Named, Place int // right cause first; anywhere; right device among those that named it
	InRange, InRangeFirst       int // trials whose fault cost 5 to 50 %; of these, right cause first
	Instead                     map[string]int
}

// Others lists what was named first in place of the right cause, most often
// first.
func (r *Row) Others() string {
	ids := slices.SortedFunc(maps.Keys(r.Instead), func(a, b string) int { return cmp.Or(r.Instead[b]-r.Instead[a], strings.Compare(a, b)) })
	var s []string
	for _, id := range ids {
		s = append(s, fmt.Sprintf("%s %d", id, r.Instead[id]))
	}
	return strings.Join(s, ", ")
}

// right reports whether a cause answers a fault.
func right(id, cause string) bool { return id == cause || slices.Contains(accept[id], cause) }

// Kinds runs trials of one kind of fault. Verbose, if set, is told of every one
// that went wrong.
func Kinds(ctx context.Context, id string, trials int, seed uint64, catalogue *cause.Catalogue, verbose func(string)) (Row, error) {
	k, ok := fault.Lookup(id)
	if !ok {
		return Row{}, fmt.Errorf("no fault %q", id)
	}
	row := Row{ID: id, Instead: map[string]int{}}
	for n := range trials {
		r := rand.New(rand.NewPCG(seed+uint64(n), uint64(len(id))<<8|uint64(id[0])))
		b, err := newBed(ctx, r)
		if err != nil {
			return row, err
		}
		f, o, drop, err := b.draw(ctx, r, &k)
		if err != nil {
			if ctx.Err() != nil {
				return row, ctx.Err()
			}
			if verbose != nil {
				verbose(err.Error())
			}
			continue
		}
		c := b.with(f)
		found := diagnose(r, c, o, catalogue)
		row.Trials++
		inRange := drop >= 0.05 && drop <= 0.5
		if inRange {
			row.InRange++
		}
		first := "nothing"
		if len(found) > 0 {
			first = found[0].Cause
		}
		at := slices.IndexFunc(found, func(x diagnosis.Finding) bool { return right(id, x.Cause) })
		if at >= 0 {
			row.Named++
			if placed(c, &f, &found[at]) {
				row.Place++
			}
		}
		if at == 0 {
			row.First++
			if inRange {
				row.InRangeFirst++
			}
			continue
		}
		row.Instead[first]++
		if verbose != nil {
			verbose(fmt.Sprintf("%s@%s severity %.2f costs %.0f %%: %s", id, f.Place, f.Severity, 100*drop, list(found)))
		}
	}
	return row, nil
}

func list(found []diagnosis.Finding) string {
	var s []string
	for i := range found {
		s = append(s, fmt.Sprintf("%s %.2f at %s", found[i].Cause, found[i].Confidence, found[i].Where))
	}
	return strings.Join(s, "; ")
}

// placed reports whether a finding names the fault's device or link: the node
// of the place, or the node at the other end of its cable.
func placed(c *cluster.Cluster, f *cluster.Fault, x *diagnosis.Finding) bool {
	if f.Place == "fabric" {
		return true
	}
	p, err := c.Place(f.Place)
	if err != nil {
		return false
	}
	names := map[string]bool{}
	node := func(id cluster.NodeID) { names[c.Nodes[id].Name] = true }
	port := func(id cluster.PortID) {
		node(c.Ports[id].Node)
		if q := c.Ports[id].Peer; q != cluster.PortID(cluster.None) {
			node(c.Ports[q].Node)
		}
	}
	switch p.Kind {
	case cluster.PortPlace:
		port(p.Port)
	case cluster.NICPlace:
		for _, id := range c.Hosts[p.NIC.Host].NICs[p.NIC.NIC].Ports {
			port(id)
		}
	default:
		for _, id := range p.Nodes {
			node(id)
			for _, q := range c.Nodes[id].Ports {
				if c.Nodes[id].Kind == cluster.HostNode {
					port(q)
				}
			}
		}
		for _, l := range p.Links {
			port(c.Links[l].A)
		}
	}
	where := x.Where
	for _, e := range x.Evidence {
		where += " " + e.Text
	}
	for name := range names {
		if mentions(where, name) {
			return true
		}
	}
	return false
}

// mentions reports whether a text has a name as a word.
func mentions(text, name string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], name)
		if i < 0 {
			return false
		}
		i += from
		end := i + len(name)
		if end == len(text) || text[end] < '0' || text[end] > '9' {
			return true
		}
		from = end
	}
}

// Healthy runs healthy clusters and returns those with a finding of severity
// warning or above.
func Healthy(ctx context.Context, trials int, seed uint64, catalogue *cause.Catalogue) (wrong []string, err error) {
	for n := range trials {
		r := rand.New(rand.NewPCG(seed+uint64(n), 77))
		b, err := newBed(ctx, r)
		if err != nil {
			return wrong, err
		}
		o, err := observeHealthy(ctx, b)
		if err != nil {
			return wrong, err
		}
		for _, f := range diagnose(r, b.c, o, catalogue) {
			if f.Severity >= finding.Warning {
				wrong = append(wrong, fmt.Sprintf("run %d: %s %.2f at %s: %s", n, f.Cause, f.Confidence, f.Where, f.Summary))
			}
		}
	}
	return wrong, nil
}

// Two runs clusters with two faults at once and returns how many runs there
// were and in how many both were named.
func Two(ctx context.Context, trials int, seed uint64, catalogue *cause.Catalogue) (runs, both int, err error) {
	kinds := fault.Table()
	for n := range trials {
		r := rand.New(rand.NewPCG(seed+uint64(n), 99))
		b, err := newBed(ctx, r)
		if err != nil {
			return runs, both, err
		}
		k1 := &kinds[r.IntN(len(kinds))]
		k2 := &kinds[r.IntN(len(kinds))]
		for right(k1.ID, k2.ID) || right(k2.ID, k1.ID) {
			k2 = &kinds[r.IntN(len(kinds))]
		}
		f1, _, _, err1 := b.draw(ctx, r, k1)
		f2, _, _, err2 := b.draw(ctx, r, k2)
		if ctx.Err() != nil {
			return runs, both, ctx.Err()
		}
		if err1 != nil || err2 != nil {
			continue
		}
		c := b.with(f1, f2)
		o, err := b.observe(ctx, c)
		if err != nil {
			continue
		}
		found := diagnose(r, c, o, catalogue)
		runs++
		named := func(id string) bool {
			return slices.ContainsFunc(found, func(x diagnosis.Finding) bool { return right(id, x.Cause) })
		}
		if named(k1.ID) && named(k2.ID) {
			both++
		}
	}
	return runs, both, nil
}

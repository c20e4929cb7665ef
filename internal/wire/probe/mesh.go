package probe

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"

	"weir/internal/cluster"
)

// Pair is a way to probe: from a NIC of one host to a NIC of another, as the
// cluster file names them.
type Pair struct {
	From, To   string // "host-3/nic-0"
	Local, Dst netip.Addr
}

// An Edge is what probing a pair found. Without a report, Error says why.
type Edge struct {
	From   string  `json:"from"`
	To     string  `json:"to"`
	Report *Report `json:"report,omitempty"`
	Error  string  `json:"error,omitempty"`
}

// Faulty reports whether the pair was not probed, or has a finding that is an
// error.
func (e *Edge) Faulty() bool { return e.Report == nil || e.Report.Faulty() }

// Pairs returns the ways from the named host to all others: from each NIC to
// the NIC of the same rail, or with crossed to every NIC.
func Pairs(c *cluster.Cluster, self string, crossed bool) ([]Pair, error) {
	me := -1
	for h := range c.Hosts {
		if c.Nodes[c.Hosts[h].Node].Name == self {
			me = h
		}
	}
	if me < 0 {
		return nil, fmt.Errorf("no host %q in the cluster file", self)
	}
	var out []Pair
	for h := range c.Hosts {
		if h == me {
			continue
		}
		for i := range c.Hosts[me].NICs {
			from := &c.Hosts[me].NICs[i]
			for k := range c.Hosts[h].NICs {
				to := &c.Hosts[h].NICs[k]
				if !crossed && from.Rail != to.Rail {
					continue
				}
				local, err := netip.ParseAddr(from.Address)
				if err != nil {
					return nil, fmt.Errorf("%s/%s: %w", self, from.Name, err)
				}
				dst, err := netip.ParseAddr(to.Address)
				if err != nil {
					return nil, err
				}
				out = append(out, Pair{self + "/" + from.Name, c.Nodes[c.Hosts[h].Node].Name + "/" + to.Name, local, dst})
			}
		}
	}
	return out, nil
}

// Self returns the name of the host whose NICs have most of the given
// addresses of this machine; "" if it has none.
func Self(c *cluster.Cluster, addrs []netip.Addr) string {
	best, name := 0, ""
	for h := range c.Hosts {
		n := 0
		for i := range c.Hosts[h].NICs {
			if a, err := netip.ParseAddr(c.Hosts[h].NICs[i].Address); err == nil && slices.Contains(addrs, a) {
				n++
			}
		}
		if n > best {
			best, name = n, c.Nodes[c.Hosts[h].Node].Name
		}
	}
	return name
}

// Mesh probes pairs, up to parallel of them at a time but never two that share
// a NIC, so that probes do not queue behind each other. It returns an edge for
// each pair, in the pairs' order; when ctx ends, those done so far.
func Mesh(ctx context.Context, o Options, pairs []Pair, parallel int) []Edge {
	edges := make([]Edge, len(pairs))
	busy := map[string]*sync.Mutex{}
	for _, p := range pairs {
		busy[p.From], busy[p.To] = &sync.Mutex{}, &sync.Mutex{}
	}
	queue := make(chan int)
	var wg sync.WaitGroup
	for range max(1, parallel) {
		wg.Go(func() {
			for i := range queue {
				p := &pairs[i]
				// All run on this host, so the own NIC is taken first: no cycle.
				busy[p.From].Lock()
				busy[p.To].Lock()
				o := o
				o.Host, o.Local = p.Dst.String(), p.Local
				r, err := Run(ctx, o)
				busy[p.To].Unlock()
				busy[p.From].Unlock()
				e := Edge{From: p.From, To: p.To, Report: r}
				if err != nil {
					e.Report, e.Error = nil, err.Error()
				}
				edges[i] = e
			}
		})
	}
	for i := range pairs {
		select {
		case queue <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(queue)
	wg.Wait()
	return slices.DeleteFunc(edges, func(e Edge) bool { return e.From == "" || e.Error != "" && ctx.Err() != nil })
}

// Cell is the matrix's text for an edge: the median round trip in microseconds,
// or the cause of its worst finding.
func (e *Edge) Cell() string {
	switch {
	case e.Report == nil:
		return "not probed"
	case e.Report.Faulty():
		worst := 0
		for i := range e.Report.Findings {
			if e.Report.Findings[i].Severity > e.Report.Findings[worst].Severity {
				worst = i
			}
		}
		return e.Report.Findings[worst].Cause
	case e.Report.State != Open:
		return string(e.Report.State)
	case e.Report.RTT == nil:
		return "open"
	}
	return fmt.Sprintf("%.1f", e.Report.RTT.Median)
}

// WriteMatrix writes the edges as a matrix, a row for each sender: the median
// round trip in microseconds where all is well, else the cause. A pair that no
// edge tells of is ".".
func WriteMatrix(w io.Writer, edges []Edge) error {
	var from, to []string
	cell := map[[2]string]string{}
	for i := range edges {
		e := &edges[i]
		if !slices.Contains(from, e.From) {
			from = append(from, e.From)
		}
		if !slices.Contains(to, e.To) {
			to = append(to, e.To)
		}
		cell[[2]string{e.From, e.To}] = e.Cell()
	}
	slices.SortFunc(from, natural)
	slices.SortFunc(to, natural)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "median us\t%s\n", strings.Join(to, "\t"))
	for _, f := range from {
		fmt.Fprint(t, f)
		for _, x := range to {
			c := cell[[2]string{f, x}]
			if c == "" {
				c = "."
			}
			fmt.Fprint(t, "\t", c)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

// natural orders host-2 before host-10.
func natural(a, b string) int {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da > 0 && db > 0 {
			x, y := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
			if len(x) != len(y) {
				return len(x) - len(y)
			}
			if x != y {
				return strings.Compare(x, y)
			}
			a, b = a[da:], b[db:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// digits returns how many digits a text starts with.
func digits(s string) int { return len(s) - len(strings.TrimLeft(s, "0123456789")) }

package capture

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weir/internal/cause"
	"weir/internal/finding"
	"weir/roce"
)

// Bounds of what is reported.
const (
	maxEvidence = 6
	maxProblems = 256
)

// A problem is one finding in the making: the same thing seen on some
// connections between two addresses.
type problem struct {
	kind     string // of rule
	src, dst roce.GID
	qpn      roce.QPN // of the first connection
	conns    int
	first    uint64 // packet number, for the order

	cause      string
	severity   finding.Severity
	confidence float64
	where      string
	summary    func(*problem) string
	sums       [7]uint64
	evidence   []finding.Evidence
}

// see adds a packet of the capture as evidence. n 0 is no packet.
func (p *problem) see(n uint64, format string, args ...any) {
	if n == 0 {
		return
	}
	if p.first == 0 || n < p.first {
		p.first = n
	}
	if len(p.evidence) < maxEvidence {
		p.evidence = append(p.evidence, finding.Evidence{Source: "packet", Line: int(n), Text: fmt.Sprintf(format, args...)})
	}
}

// say adds evidence that is no single packet.
func (p *problem) say(format string, args ...any) {
	if len(p.evidence) < maxEvidence {
		p.evidence = append(p.evidence, finding.Evidence{Text: fmt.Sprintf(format, args...)})
	}
}

// add sums up numbers for the summary.
func (p *problem) add(n ...uint64) {
	for i, v := range n {
		p.sums[i] += v
	}
}

type problemKey struct {
	kind     string
	src, dst roce.GID
}

// problems collects findings.
type problems struct {
	list  []*problem
	index map[problemKey]*problem
	spare problem // takes what is beyond maxProblems
}

// on returns the problem of a kind between the addresses of a flow.
func (ps *problems) on(kind string, f *flow) *problem {
	p := ps.get(kind, f.src, f.dst)
	if p.conns++; p.conns == 1 {
		p.qpn = f.qpn
	}
	return p
}

// get returns the problem of a kind between two addresses.
func (ps *problems) get(kind string, src, dst roce.GID) *problem {
	if ps.index == nil {
		ps.index = map[problemKey]*problem{}
	}
	k := problemKey{kind, src, dst}
	if p := ps.index[k]; p != nil {
		return p
	}
	if len(ps.list) == maxProblems {
		ps.spare = problem{}
		return &ps.spare
	}
	p := &problem{kind: kind, src: src, dst: dst}
	ps.index[k] = p
	ps.list = append(ps.list, p)
	return p
}

// findings words the problems: the worst first, then in the order of the capture.
// What refutes and decides them and the fixes come from the catalogue that load
// returns; without one they are left out.
func (ps *problems) findings(load func() (*cause.Catalogue, error)) []finding.Finding {
	var catalogue *cause.Catalogue
	if load != nil && len(ps.list) > 0 {
		catalogue, _ = load() // it is built into the program, and has a test of its own
	}
	slices.SortStableFunc(ps.list, func(p, q *problem) int {
		return cmp.Or(cmp.Compare(q.severity, p.severity), cmp.Compare(p.first, q.first))
	})
	var out []finding.Finding
	for _, p := range ps.list {
		f := finding.Finding{
			Cause: p.cause, Severity: p.severity, Confidence: p.confidence, Where: p.where,
			Summary: p.summary(p), Evidence: p.evidence, Fix: []finding.Fix{},
		}
		if f.Where == "" {
			f.Where = p.place()
		}
		if f.Evidence == nil {
			f.Evidence = []finding.Evidence{}
		}
		if catalogue != nil {
			fromCatalogue(&f, catalogue)
		}
		out = append(out, f)
	}
	return out
}

// place names the connections.
func (p *problem) place() string {
	s := p.src.String() + " to " + p.dst.String()
	switch {
	case p.conns == 1:
		s += fmt.Sprintf(", queue pair 0x%06x", uint32(p.qpn))
	case p.conns > 1:
		s += fmt.Sprintf(", %d queue pairs", p.conns)
	}
	return s
}

func fromCatalogue(f *finding.Finding, c *cause.Catalogue) {
	entry, ok := c.Find(f.Cause)
	if !ok {
		return
	}
	f.RefutedBy, f.DecidingTest = entry.RefutedBy.En, entry.DecidingTest
	for _, fix := range entry.Fixes {
		f.Fix = append(f.Fix, finding.Fix{Command: fix.Command, Text: fix.En, Disruption: fix.Disruption})
	}
}

// many words a count: "1 packet", "3 packets".
func many(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// list joins the clauses that are not empty.
func list(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	return strings.Join(parts, "; ")
}

// when returns the text if n is not 0.
func when(n uint64, format string, args ...any) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

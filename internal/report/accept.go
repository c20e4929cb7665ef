package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"weir/internal/answer/acceptance"
)

// AcceptText writes an acceptance for people.
func AcceptText(w io.Writer, r *acceptance.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", r.Cluster, r.Verdict)
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i := range r.Steps {
		s := &r.Steps[i]
		fmt.Fprintf(t, "  %s\t%s\t%s\n", s.Name, s.Verdict, s.Summary)
	}
	t.Flush()
	for i := range r.Suspects {
		s := &r.Suspects[i]
		fmt.Fprintf(&b, "\nsuspect: %s %s", s.Kind, s.Name)
		if s.Share > 0 {
			fmt.Fprintf(&b, " (gives %.0f %% of what it should)", 100*s.Share)
		}
		b.WriteByte('\n')
		if len(s.Alternatives) > 0 {
			fmt.Fprintf(&b, "  not told apart from: %s\n", strings.Join(s.Alternatives, ", "))
		}
		for _, e := range s.Evidence {
			fmt.Fprintf(&b, "  %s\n", e.Text)
		}
	}
	for i := range r.Steps {
		for _, f := range r.Steps[i].Findings {
			fmt.Fprintf(&b, "\n%s: %s: %s: %s\n", f.Severity, f.Cause, f.Where, f.Summary)
			for _, e := range f.Evidence {
				fmt.Fprintf(&b, "  %s\n", e.Text)
			}
		}
	}
	worst := 0
	for i := range r.Pairs {
		p := &r.Pairs[i]
		if p.Verdict != acceptance.Fail && p.Verdict != acceptance.Warn {
			continue
		}
		if worst == 0 {
			b.WriteString("\npairs:\n")
		}
		if worst++; worst > 40 {
			continue
		}
		if p.Error != "" {
			fmt.Fprintf(&b, "  %s to %s: %s: %s\n", p.From, p.To, p.Verdict, p.Error)
			continue
		}
		fmt.Fprintf(&b, "  %s to %s: %s: %.2f of %.2f Gbit/s\n", p.From, p.To, p.Verdict, p.Gbps, p.Expected)
	}
	if worst > 40 {
		fmt.Fprintf(&b, "  and %d more (--json has all)\n", worst-40)
	}
	fell := 0
	for _, d := range r.Drift {
		if d.Verdict != acceptance.Pass {
			fell++
			if fell <= 20 {
				fmt.Fprintf(&b, "\nfell since the earlier acceptance: %s: %.2f %s, was %.2f", d.What, d.Now, d.Unit, d.Before)
			}
		}
	}
	if len(r.Drift) > 0 {
		fmt.Fprintf(&b, "\n%d of %d measurements fell by more than 5 %% since the earlier acceptance\n", fell, len(r.Drift))
	}
	headed := false
	for i := range r.Collectives {
		c := &r.Collectives[i]
		if c.Verdict == acceptance.Pass {
			continue
		}
		if !headed {
			b.WriteString("\ncollectives:\n")
			headed = true
		}
		fmt.Fprintf(&b, "  %s on %d nodes, %s: %s: %.2f of %.2f GB/s %s\n", c.Op, c.Nodes, sizeText(float64(c.Bytes)), c.Verdict, c.BusBW, c.Expected, c.Error)
	}
	for _, u := range r.Unplaced {
		fmt.Fprintf(&b, "\nnot used: %s: no pair of the cluster's NICs is named in it", u)
	}
	for _, u := range r.NotRead {
		fmt.Fprintf(&b, "\nnot read: %s", u)
	}
	if len(r.Unplaced)+len(r.NotRead) > 0 {
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

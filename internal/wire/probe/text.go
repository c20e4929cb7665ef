package probe

import (
	"fmt"
	"io"
	"strings"
)

// Text writes the report for people.
func (r *Report) Text(w io.Writer) error {
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("%s (%s) from %s: UDP port 4791 %s\n", r.Host, r.Addr, r.Local, r.State)
	if r.Control != "" {
		p("  responder       not asked: %s\n", r.Control)
	}
	arrived := "not known"
	if r.Arrived >= 0 {
		arrived = fmt.Sprint(r.Arrived)
	}
	p("  probes          %d sent on %d source ports, %s arrived, %d answered, %d reordered\n", r.Sent, len(r.Ports), arrived, r.Answered, r.Reordered)
	if t := r.RTT; t != nil {
		p("  round trip [us] min %.1f  median %.1f  90%% %.1f  99%% %.1f  max %.1f\n", t.Min, t.Median, t.P90, t.P99, t.Max)
	}
	if r.State == Open {
		p("  path MTU        %d to the host, %d back (interfaces: %d here, %s there)\n", r.PathMTUTo, r.PathMTUFrom, r.LocalMTU, known(r.RemoteMTU))
		for _, c := range r.Classes {
			p("  traffic class   %3d arrives as %3d, its answer as %3d\n", c.Sent, c.To, c.From)
		}
		if r.Paths > 0 {
			p("  paths           %d seen by TTL\n", r.Paths)
			for i, h := range r.Hops {
				p("    hop %d         %s\n", i+1, strings.Join(h, " "))
			}
		} else {
			p("  paths           not told: no router answered\n")
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		p("%s: %s: %s\n", f.Severity, f.Cause, f.Summary)
		for _, e := range f.Evidence {
			p("    %s\n", e.Text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

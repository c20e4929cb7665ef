package acceptance

import (
	"fmt"
	"slices"
	"strings"

	"weir/internal/answer/audit"
	"weir/internal/answer/diagnosis"
	"weir/internal/cause"
	"weir/internal/cluster"
	"weir/internal/fact"
	"weir/internal/finding"
)

// alike are the facts that hosts should have in common, and the cause that a
// difference speaks for.
var alike = map[string]string{
	"host.kernel":         "driver-mismatch",
	"link.driver":         "driver-mismatch",
	"link.driver_version": "driver-mismatch",
	"link.firmware":       "driver-mismatch",
	"rdma.firmware":       "driver-mismatch",
	"nccl.version":        "driver-mismatch",
	"link.fec.active":     "link-errors",
	"host.memlock":        "memlock-limit",
}

// tests are the families of facts that tests print: they say nothing about how
// hosts are set up.
var tests = []string{"perftest", "nccl_tests", "nccl"}

// judgePreflight judges what hosts and switches say of themselves: against the
// plan (audit), against each other, and by itself (diagnosis).
func judgePreflight(c *cluster.Cluster, e *audit.Evidence, diagnosed []diagnosis.Finding, catalogue *cause.Catalogue) (StepReport, error) {
	step := StepReport{Name: StepPreflight, Verdict: Skipped, Summary: "no output of a host or switch."}
	hosts := map[string]bool{}
	for i := range e.Facts {
		f := &e.Facts[i]
		family, _, _ := strings.Cut(f.Key, ".")
		if id, ok := c.FindNode(hostOf(f)); ok && c.Nodes[id].Kind == cluster.HostNode && !slices.Contains(tests, family) {
			hosts[hostOf(f)] = true
		}
	}
	if len(hosts) == 0 && len(e.Configs) == 0 {
		return step, nil
	}
	audited, err := audit.Run(c, e, catalogue, "")
	if err != nil {
		return step, err
	}
	step.Verdict = Pass
	for i := range audited.Findings {
		f := audited.Findings[i].Finding
		if c := audited.Findings[i].Consequence; c != "" && !strings.Contains(f.Summary, c) {
			f.Summary += " " + c
		}
		step.Findings = append(step.Findings, f)
	}
	step.Findings = append(step.Findings, different(e.Facts)...)
	for i := range diagnosed {
		d := diagnosed[i].Finding
		// The audit and the comparison say the same with the plan's names.
		if !slices.ContainsFunc(step.Findings, func(f finding.Finding) bool { return f.Cause == d.Cause }) {
			step.Findings = append(step.Findings, d)
		}
	}
	step.Verdict = worse(step.Verdict, verdictOf(step.Findings))
	gaps := 0
	for i := range c.Hosts {
		if !hosts[c.Nodes[c.Hosts[i].Node].Name] {
			gaps++
		}
	}
	step.Summary = fmt.Sprintf("%d of %d hosts and switches told about themselves, %d findings.", audited.DevicesFound, len(c.Nodes), len(step.Findings))
	if gaps > 0 {
		step.Verdict = worse(step.Verdict, Incomplete)
		step.Summary = fmt.Sprintf("%d hosts told nothing; %s", gaps, step.Summary)
	}
	step.Measured = map[string]float64{"devices": float64(audited.DevicesFound), "findings": float64(len(step.Findings))}
	return step, nil
}

// verdictOf is what findings make of a step.
func verdictOf(list []finding.Finding) Verdict {
	v := Pass
	for i := range list {
		switch {
		case list[i].Severity >= finding.Error:
			v = worse(v, Fail)
		case list[i].Severity == finding.Warning:
			v = worse(v, Warn)
		}
	}
	return v
}

// hostOf is the host that a fact is about.
func hostOf(f *fact.Fact) string {
	if f.Subject.Host == "" && f.Subject.Kind == fact.Host {
		return f.Subject.Name
	}
	return f.Subject.Host
}

// different finds hosts that differ from most others in what all should have
// alike: the same key of the host, or of its device of the same name.
func different(facts []fact.Fact) []finding.Finding {
	type place struct{ key, device string }
	values := map[place]map[string]*fact.Fact{} // by host
	var order []place
	for i := range facts {
		f := &facts[i]
		host := hostOf(f)
		if _, ok := alike[f.Key]; !ok || host == "" || f.Value.Kind() == fact.Absent {
			continue
		}
		at := place{f.Key, ""}
		if f.Subject.Kind == fact.NIC {
			at.device = f.Subject.Name
		}
		if values[at] == nil {
			values[at] = map[string]*fact.Fact{}
			order = append(order, at)
		}
		values[at][host] = f
	}
	var out []finding.Finding
	for _, at := range order {
		byValue := map[string][]string{}
		for host, f := range values[at] {
			byValue[f.Value.String()] = append(byValue[f.Value.String()], host)
		}
		if len(byValue) < 2 {
			continue
		}
		list := make([]string, 0, len(byValue))
		for v := range byValue {
			slices.Sort(byValue[v])
			list = append(list, v)
		}
		slices.SortFunc(list, func(a, b string) int {
			if d := len(byValue[b]) - len(byValue[a]); d != 0 {
				return d
			}
			return strings.Compare(a, b)
		})
		usual := list[0]
		what := at.key
		if at.device != "" {
			what += " of " + at.device
		}
		for _, v := range list[1:] {
			hosts := byValue[v]
			f := finding.Finding{Cause: alike[at.key], Severity: finding.Warning, Confidence: 0.85, Where: strings.Join(hosts, ", "),
				Summary: fmt.Sprintf("%s is %s on %d hosts, %s on %d.", what, v, len(hosts), usual, len(byValue[usual]))}
			for _, h := range []string{hosts[0], byValue[usual][0]} {
				o := values[at][h]
				f.Evidence = append(f.Evidence, finding.Evidence{Source: o.Origin.Source, Line: o.Origin.Line, Text: fmt.Sprintf("%s: %s %s", h, what, o.Value)})
			}
			out = append(out, f)
		}
	}
	return out
}

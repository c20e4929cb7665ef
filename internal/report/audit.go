package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"weir/internal/answer/audit"
	"weir/internal/finding"
)

// An Audit is what an audit prints.
type Audit struct {
	Result *audit.Result
}

// notUnderstood is a line that nobody read, as JSON shows it.
type notUnderstoodLine struct {
	Source string `json:"source"`
	Line   int    `json:"line,omitempty"`
	Text   string `json:"text"`
}

// JSON writes the answer as one document, keys as in "weir.audit/1".
func (a *Audit) JSON(w io.Writer) error {
	lines := []notUnderstoodLine{}
	for _, n := range a.Result.NotUnderstood {
		lines = append(lines, notUnderstoodLine{n.Origin.Source, n.Origin.Line, n.Text})
	}
	return indented(w, struct {
		Schema string `json:"schema"`
		*audit.Result
		NotUnderstood []notUnderstoodLine `json:"not_understood"`
	}{"weir.audit/1", a.Result, lines})
}

func indented(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// shownLines is how many lines that were not understood the text lists.
const shownLines = 10

// Text writes the answer for people.
func (a *Audit) Text(w io.Writer) error {
	out := bufio.NewWriter(w)
	r := a.Result
	if len(r.Findings) == 0 {
		fmt.Fprintf(out, "No difference found.\n\n")
	}
	for i := range r.Findings {
		auditFinding(out, i+1, &r.Findings[i])
	}
	auditPath(out, r.Path)
	if len(r.NotChecked) > 0 {
		fmt.Fprintln(out, "Not checked, for want of evidence:")
		for _, g := range gaps(r.NotChecked) {
			wrapped(out, "  ", "    ", g)
		}
		fmt.Fprintln(out)
	}
	if n := len(r.NotUnderstood); n > 0 {
		fmt.Fprintf(out, "Not understood, %s:\n", lineCount(n))
		for i, l := range r.NotUnderstood {
			if i == shownLines {
				fmt.Fprintf(out, "  ... and %d more (--json lists all)\n", n-shownLines)
				break
			}
			fmt.Fprintf(out, "  %s  %s\n", placeOf(finding.Evidence{Source: l.Origin.Source, Line: l.Origin.Line}), strings.TrimSpace(l.Text))
		}
		fmt.Fprintln(out)
	}
	fmt.Fprintf(out, "%s; %d of %d paths between cards of different hosts checked from end to end, %d devices with evidence.\n",
		findingCount(len(r.Findings)), r.PathsChecked, r.PathsTotal, r.DevicesFound)
	return out.Flush()
}

func lineCount(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

func findingCount(n int) string {
	if n == 1 {
		return "1 finding"
	}
	return fmt.Sprintf("%d findings", n)
}

// gaps puts ports that lack the same into one line, and devices that lack all.
func gaps(list []audit.Gap) []string {
	type key struct{ device, what string }
	ports := map[key][]string{}
	var order []key
	for _, g := range list {
		k := key{g.Device, g.What}
		if _, ok := ports[k]; !ok {
			order = append(order, k)
		}
		ports[k] = append(ports[k], g.Port)
	}
	alone := map[string][]string{}
	var out []string
	for _, k := range order {
		if p := ports[k]; len(p) > 1 || p[0] != "" {
			shown := p[0]
			if len(p) > 1 {
				shown += fmt.Sprintf(" and %d more ports", len(p)-1)
			}
			out = append(out, fmt.Sprintf("%s %s: %s", k.device, shown, k.what))
			continue
		}
		if alone[k.what] == nil {
			out = append(out, "\x00"+k.what)
		}
		alone[k.what] = append(alone[k.what], k.device)
	}
	for i, line := range out {
		if what, ok := strings.CutPrefix(line, "\x00"); ok {
			out[i] = strings.Join(alone[what], ", ") + ": " + what
		}
	}
	return out
}

func auditFinding(out *bufio.Writer, n int, f *audit.Finding) {
	fmt.Fprintf(out, "%d. %s  [%s]  %s\n", n, f.Cause, f.Severity, f.Where)
	wrapped(out, "   ", "   ", f.Summary+" "+f.Consequence)
	if ports := strings.Split(f.Port, ","); len(ports) > 1 {
		wrapped(out, "   Ports: ", "     ", strings.Join(ports, ", "))
	}
	for _, e := range f.Evidence {
		fmt.Fprintf(out, "     %s  %s\n", placeOf(e), e.Text)
	}
	steps := func(label string, list []audit.Step) {
		for _, s := range list {
			fmt.Fprintf(out, "   %s (%s", label, cmp.Or(english.disruption[s.Disruption], s.Disruption))
			if s.Scope != "" && s.Disruption != "none" {
				fmt.Fprintf(out, ", on the %s", s.Scope)
			}
			fmt.Fprintln(out, ")")
			if s.Text != "" {
				wrapped(out, "     ", "     ", s.Text)
			}
			for _, c := range s.Commands {
				fmt.Fprintf(out, "     $ %s\n", c)
			}
		}
	}
	if f.Canary {
		steps("Repair", f.Repair)
	} else {
		steps("Repair, after the first device of this kind has shown that it helps", f.Repair)
	}
	steps("Undo", f.Undo)
	fmt.Fprintln(out)
}

// auditPath writes one way as a table.
func auditPath(out *bufio.Writer, path []audit.Hop) {
	if len(path) == 0 {
		return
	}
	fmt.Fprintln(out, "One way, hop by hop:")
	rows := [][]string{{"device", "port", "", "DSCP", "priority", "queue", "lossless", "ECN", "MTU"}}
	for _, h := range path {
		rows = append(rows, []string{h.Device, h.Port, h.Role, h.DSCP, h.Priority, h.Queue, h.Lossless, h.ECN, h.MTU})
	}
	width := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, cell := range r {
			width[i] = max(width[i], columns(cell))
		}
	}
	for _, r := range rows {
		line := " "
		for i, cell := range r {
			line += " " + cell + strings.Repeat(" ", width[i]-columns(cell)) + " "
		}
		fmt.Fprintln(out, strings.TrimRight(line, " "))
	}
	fmt.Fprintln(out)
}

// SARIF writes the findings as a static analysis log, version 2.1.0 (OASIS), for
// code-review pipelines.
func (a *Audit) SARIF(w io.Writer) error {
	type text struct {
		Text string `json:"text"`
	}
	type rule struct {
		ID string `json:"id"`
	}
	type region struct {
		StartLine int `json:"startLine"`
	}
	type artifact struct {
		URI string `json:"uri"`
	}
	type physical struct {
		Artifact artifact `json:"artifactLocation"`
		Region   *region  `json:"region,omitempty"`
	}
	type logical struct {
		Name string `json:"fullyQualifiedName"`
	}
	type location struct {
		Physical *physical `json:"physicalLocation,omitempty"`
		Logical  []logical `json:"logicalLocations"`
	}
	type result struct {
		Rule      string     `json:"ruleId"`
		Level     string     `json:"level"`
		Message   text       `json:"message"`
		Locations []location `json:"locations"`
	}
	rules, results := []rule{}, []result{}
	seen := map[string]bool{}
	for i := range a.Result.Findings {
		f := &a.Result.Findings[i]
		if !seen[f.Cause] {
			seen[f.Cause] = true
			rules = append(rules, rule{f.Cause})
		}
		level := "error"
		switch f.Severity {
		case finding.Warning:
			level = "warning"
		case finding.Info:
			level = "note"
		}
		l := location{Logical: []logical{{f.Where}}}
		if len(f.Evidence) > 0 && f.Evidence[0].Source != "" {
			e := f.Evidence[0]
			l.Physical = &physical{Artifact: artifact{e.Source}}
			if e.Line > 0 {
				l.Physical.Region = &region{e.Line}
			}
		}
		results = append(results, result{f.Cause, level, text{f.Summary + " " + f.Consequence}, []location{l}})
	}
	return indented(w, map[string]any{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json",
		"version": "2.1.0",
		"runs": []any{map[string]any{
			"tool":    map[string]any{"driver": map[string]any{"name": "weir audit", "rules": rules}},
			"results": results,
		}},
	})
}

// JUnit writes a test suite with a case for every finding, or one case that
// passed, for build servers.
func (a *Audit) JUnit(w io.Writer) error {
	s := junitSuite{Name: "weir audit " + a.Result.Cluster, Failures: len(a.Result.Findings)}
	for i := range a.Result.Findings {
		f := &a.Result.Findings[i]
		var b strings.Builder
		fmt.Fprintln(&b, f.Consequence)
		for _, e := range f.Evidence {
			fmt.Fprintf(&b, "%s  %s\n", placeOf(e), e.Text)
		}
		for _, r := range f.Repair {
			for _, c := range r.Commands {
				fmt.Fprintf(&b, "$ %s\n", c)
			}
		}
		s.Cases = append(s.Cases, junitCase{Class: f.Device, Name: f.Cause + " " + f.Setting + " " + f.Where,
			Failure: &junitFailure{Message: f.Summary, Type: f.Cause, Text: b.String()}})
	}
	if len(s.Cases) == 0 {
		s.Cases = []junitCase{{Class: a.Result.Cluster, Name: fmt.Sprintf("%d devices, %d paths", a.Result.DevicesFound, a.Result.PathsChecked)}}
	}
	s.Tests = len(s.Cases)
	return writeJUnit(w, s)
}

package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"

	"weir/internal/answer/acceptance"
	"weir/internal/finding"
)

// AcceptJSON writes an acceptance with all its measurements.
func AcceptJSON(w io.Writer, r *acceptance.Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// AcceptHTML writes one page that needs nothing else: verdicts, suspects, the
// pairs as a heat map, bus bandwidth over size, findings and commands.
func AcceptHTML(w io.Writer, r *acceptance.Report) error {
	b := bufio.NewWriter(w)
	title := html.EscapeString(fmt.Sprintf("weir accept: %s: %s", r.Cluster, r.Verdict))
	fmt.Fprintf(b, pageHead, title, title)
	steps := [][]string{{"step", "verdict", "summary"}}
	for i := range r.Steps {
		steps = append(steps, []string{r.Steps[i].Name, string(r.Steps[i].Verdict), r.Steps[i].Summary})
	}
	htmlTable(b, steps)
	for i := range r.Suspects {
		s := &r.Suspects[i]
		fmt.Fprintf(b, "<h2>Suspect: %s %s</h2>\n", html.EscapeString(s.Kind), html.EscapeString(s.Name))
		if len(s.Alternatives) > 0 {
			fmt.Fprintf(b, "<p>Not told apart from: %s.</p>\n", html.EscapeString(strings.Join(s.Alternatives, ", ")))
		}
		htmlEvidence(b, s.Evidence)
	}
	heatMap(b, r.Pairs)
	for _, c := range acceptCharts(r.Collectives) {
		b.WriteString(c)
	}
	if len(r.Collectives) > 0 {
		b.WriteString("<h2>Collectives</h2>\n")
		htmlTable(b, collectiveTable(r.Collectives))
	}
	if len(r.GPUDirect) > 0 {
		table := [][]string{{"from", "to", "GPU buffers (Gbit/s)", "host buffers (Gbit/s)", "ratio", "path", "verdict"}}
		for i := range r.GPUDirect {
			p := &r.GPUDirect[i]
			table = append(table, []string{p.From, p.To, rateText(p.GPU), rateText(p.Host), rateText(p.Ratio), p.Path, verdictText(p.Verdict, p.Error)})
		}
		b.WriteString("<h2>GPUDirect RDMA</h2>\n")
		htmlTable(b, table)
	}
	if len(r.Drift) > 0 {
		b.WriteString("<h2>Against the earlier acceptance</h2>\n")
		htmlTable(b, driftTable(r.Drift))
	}
	htmlSteps(b, r.Steps)
	fmt.Fprintln(b, "</body></html>")
	return b.Flush()
}

func htmlEvidence(b *bufio.Writer, list []finding.Evidence) {
	b.WriteString("<ul>\n")
	for _, e := range list {
		text := e.Text
		if e.Source != "" {
			text = placeOf(e) + "  " + text
		}
		fmt.Fprintf(b, "<li>%s</li>\n", html.EscapeString(text))
	}
	b.WriteString("</ul>\n")
}

// htmlSteps writes the findings and the commands of each step.
func htmlSteps(b *bufio.Writer, steps []acceptance.StepReport) {
	for i := range steps {
		s := &steps[i]
		if len(s.Findings)+len(s.Commands) == 0 {
			continue
		}
		fmt.Fprintf(b, "<h2>Step %s</h2>\n", html.EscapeString(s.Name))
		for _, f := range s.Findings {
			fmt.Fprintf(b, "<p><b>%s: %s</b> %s: %s</p>\n", f.Severity, html.EscapeString(f.Cause), html.EscapeString(f.Where), html.EscapeString(f.Summary))
			htmlEvidence(b, f.Evidence)
		}
		if len(s.Commands) > 0 {
			fmt.Fprintf(b, "<details><summary>%d commands</summary><pre>%s</pre></details>\n", len(s.Commands), html.EscapeString(strings.Join(s.Commands, "\n")))
		}
	}
}

func rateText(x float64) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", x)
}

func verdictText(v acceptance.Verdict, reason string) string {
	if reason == "" {
		return string(v)
	}
	return string(v) + ": " + reason
}

// heatMap draws the pairs tested alone: sender down, receiver across, the
// colour by the share of what is expected. Passes of all at once are left out.
func heatMap(b *bufio.Writer, pairs []acceptance.PairReport) {
	type cell struct{ from, to string }
	cells := map[cell]*acceptance.PairReport{}
	var names []string
	for i := range pairs {
		p := &pairs[i]
		if p.Pass == acceptance.Together || p.Expected == 0 && p.Error == "" {
			continue
		}
		cells[cell{p.From, p.To}] = p
		for _, n := range []string{p.From, p.To} {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	if len(names) == 0 {
		return
	}
	slices.SortFunc(names, naturally)
	const left, top = 110, 60
	size := math.Max(3, math.Min(40, float64(chartWidth-left)/float64(len(names))))
	width := float64(left) + size*float64(len(names))
	fmt.Fprintf(b, `<h2>Pairs</h2><svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %.0f" role="img" font-family="sans-serif" font-size="11">`, chartWidth, float64(top)+size*float64(len(names))+10)
	fmt.Fprintf(b, `<text x="0" y="14">Bandwidth as a share of what is expected; sender down, receiver across.</text>`)
	for i, l := range [...]struct{ text, colour string }{{"95 % and more", shade(1)}, {"80 to 95 %", shade(0.9)}, {"50 to 80 %", shade(0.6)}, {"less", shade(0.1)}, {"failed", "#000"}} {
		fmt.Fprintf(b, `<rect x="%d" y="22" width="11" height="11" fill="%s"/><text x="%d" y="32">%s</text>`, i*120, l.colour, i*120+16, l.text)
	}
	every := max(1, int(math.Ceil(13/size)))
	for y, from := range names {
		if y%every == 0 {
			fmt.Fprintf(b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`, left-5, float64(top)+size*float64(y)+math.Min(size, 12), html.EscapeString(from))
		}
		for x, to := range names {
			p := cells[cell{from, to}]
			if p == nil {
				continue
			}
			colour, text := "#000", p.Error
			if p.Error == "" {
				colour, text = shade(p.Gbps/p.Expected), fmt.Sprintf("%.2f of %.2f Gbit/s", p.Gbps, p.Expected)
			}
			fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>%s to %s: %s</title></rect>`,
				left+size*float64(x), top+size*float64(y), size*0.94, size*0.94, colour, html.EscapeString(from), html.EscapeString(to), html.EscapeString(text))
		}
	}
	fmt.Fprintf(b, `<rect x="%d" y="%d" width="%.1f" height="%.1f" fill="none" stroke="#ccc"/></svg>`+"\n", left, top, width-left, size*float64(len(names)))
}

// shade is the colour of a share of what is expected.
func shade(share float64) string {
	switch {
	case share >= 0.95:
		return "#9fd3c7"
	case share >= 0.80:
		return "#ffe08a"
	case share >= 0.50:
		return "#f4a259"
	}
	return "#d1495b"
}

// naturally orders host-2 before host-10.
func naturally(a, b string) int {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if len(x) != len(y) {
				return len(x) - len(y)
			}
			if c := strings.Compare(x, y); c != 0 {
				return c
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// digits counts the digits that a text begins with.
func digits(s string) int {
	return len(s) - len(strings.TrimLeft(s, "0123456789"))
}

// acceptCharts plots each collective: bus bandwidth over size, with the curve
// that is expected.
func acceptCharts(rows []acceptance.CollectiveReport) []string {
	byOp := map[string][]series{}
	var ops []string
	index := map[string]int{}
	for i := range rows {
		r := &rows[i]
		if r.Bytes == 0 {
			continue
		}
		key := fmt.Sprintf("%s %d %s %s", r.Op, r.Nodes, r.Pass, r.Source)
		k, ok := index[key]
		if !ok {
			if byOp[r.Op] == nil {
				ops = append(ops, r.Op)
			}
			name := fmt.Sprintf("%d nodes %s", r.Nodes, r.Pass)
			k = len(byOp[r.Op])
			index[key] = k
			byOp[r.Op] = append(byOp[r.Op], series{name: name + " measured"}, series{name: name + " expected"})
		}
		all := byOp[r.Op]
		all[k].x, all[k].y = append(all[k].x, float64(r.Bytes)), append(all[k].y, r.BusBW)
		if r.Expected > 0 {
			all[k+1].x, all[k+1].y = append(all[k+1].x, float64(r.Bytes)), append(all[k+1].y, r.Expected)
		}
	}
	var out []string
	for _, op := range ops {
		c := chart{title: op + ": bus bandwidth over size", xName: "size", yName: "GB/s", logX: true, xText: sizeText}
		out = append(out, c.lines(slices.DeleteFunc(byOp[op], func(s series) bool { return len(s.x) == 0 })))
	}
	return out
}

func collectiveTable(rows []acceptance.CollectiveReport) [][]string {
	table := [][]string{{"collective", "nodes", "part", "size", "busbw (GB/s)", "expected", "fails below", "verdict"}}
	for i := range rows {
		r := &rows[i]
		table = append(table, []string{r.Op, fmt.Sprint(r.Nodes), r.Pass, sizeText(float64(r.Bytes)), rateText(r.BusBW), rateText(r.Expected), rateText(r.Fail), verdictText(r.Verdict, r.Error)})
	}
	return table
}

func driftTable(list []acceptance.Drift) [][]string {
	table := [][]string{{"step", "what", "before", "now", "unit", "change", "verdict"}}
	for _, d := range list {
		table = append(table, []string{d.Step, d.What, rateText(d.Before), rateText(d.Now), d.Unit, fmt.Sprintf("%+.1f %%", 100*(d.Ratio-1)), string(d.Verdict)})
	}
	return table
}

package report

import (
	"bufio"
	"fmt"
	"html"
	"io"

	"weir/units"
)

const pageHead = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>%s</title>
<style>
body{font-family:sans-serif;margin:2em auto;max-width:1100px;padding:0 1em;color:#222}
table{border-collapse:collapse;font-size:13px;margin:1em 0;display:block;overflow-x:auto}
th,td{border-bottom:1px solid #ddd;padding:3px 9px;text-align:right;white-space:nowrap}
th{background:#f4f4f4}svg{width:100%%;height:auto;margin:1em 0}
</style></head><body>
<h1>%s</h1>
`

// WriteComparisonHTML writes one page that needs nothing else: tables, and
// plots of bus bandwidth over size, step, CPU share and queue depth over time.
func WriteComparisonHTML(w io.Writer, c *Comparison) error {
	b := bufio.NewWriter(w)
	title := html.EscapeString(fmt.Sprintf("weir compare: %s, seed %d, %d variants", c.Cluster, c.Seed, len(c.Variants)))
	fmt.Fprintf(b, pageHead, title, title)
	rows := c.rows()
	b.WriteString(busBWChart(rows))
	b.WriteString(timeChart(rows))
	b.WriteString(stepChart(rows))
	b.WriteString(cpuChart(rows))
	b.WriteString(c.queueChart())
	htmlTable(b, c.table(rows))
	if d := c.designs(); len(d) > 0 {
		fmt.Fprintf(b, "<h2>Designs</h2>\n<p>%s.</p>\n", html.EscapeString(rankedBy(d)))
		htmlTable(b, designTable(d))
	}
	fmt.Fprintln(b, "</body></html>")
	return b.Flush()
}

func htmlTable(b *bufio.Writer, table [][]string) {
	fmt.Fprintln(b, "<table>")
	for i, row := range table {
		cell := "td"
		if i == 0 {
			cell = "th"
		}
		b.WriteString("<tr>")
		for _, text := range row {
			fmt.Fprintf(b, "<%s>%s</%s>", cell, html.EscapeString(text), cell)
		}
		b.WriteString("</tr>\n")
	}
	fmt.Fprintln(b, "</table>")
}

// bySize gathers what rows have over size, a series a label.
func bySize(rows []compareRow, y func(*compareRow) *float64) []series {
	var out []series
	index := map[string]int{}
	for i := range rows {
		r := &rows[i]
		v := y(r)
		if r.SizeBytes == nil || v == nil || r.StepTimeS != nil {
			continue
		}
		k, ok := index[r.Label]
		if !ok {
			k = len(out)
			index[r.Label] = k
			out = append(out, series{name: r.Label})
		}
		out[k].x, out[k].y = append(out[k].x, float64(*r.SizeBytes)), append(out[k].y, *v)
	}
	return out
}

func sizeText(x float64) string { return units.Bytes(x).String() }

func busBWChart(rows []compareRow) string {
	c := chart{title: "Bus bandwidth over size", xName: "size", yName: "GB/s", logX: true, xText: sizeText}
	return c.lines(bySize(rows, func(r *compareRow) *float64 { return r.BusBW }))
}

func timeChart(rows []compareRow) string {
	c := chart{title: "Time over size", xName: "size", yName: "us", logX: true, xText: sizeText}
	all := bySize(rows, func(r *compareRow) *float64 { return r.CollectiveTimeS })
	for k := range all {
		for i := range all[k].y {
			all[k].y[i] *= 1e6
		}
	}
	return c.lines(all)
}

func stepChart(rows []compareRow) string {
	var labels []string
	parts := []series{{name: "compute"}, {name: "exposed communication"}, {name: "idle (pipeline)"}}
	for i := range rows {
		r := &rows[i]
		if r.StepTimeS == nil {
			continue
		}
		labels = append(labels, r.Label)
		parts[0].y = append(parts[0].y, *r.ComputeS)
		parts[1].y = append(parts[1].y, *r.ExposedS)
		parts[2].y = append(parts[2].y, max(0, *r.StepTimeS-*r.ComputeS-*r.ExposedS))
	}
	c := chart{title: "One step"}
	return c.bars(labels, parts, func(v float64) string { return fmt.Sprintf("%.4g ms", v*1e3) })
}

func cpuChart(rows []compareRow) string {
	var labels []string
	share := series{name: "CPU share of the transport"}
	any := false
	last := ""
	for i := range rows {
		r := &rows[i]
		if r.Error != "" {
			continue
		}
		v := 0.
		if r.CPUShare != nil {
			v, any = *r.CPUShare, true
		}
		if r.Label != last { // the largest of a variant's sizes
			labels, share.y, last = append(labels, r.Label), append(share.y, v), r.Label
		}
		n := len(share.y) - 1
		share.y[n] = max(share.y[n], v)
	}
	if !any {
		return ""
	}
	c := chart{title: "CPU share of the transport, busiest host"}
	return c.bars(labels, []series{share}, func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) })
}

func (c *Comparison) queueChart() string {
	var all []series
	for i := range c.Variants {
		v := &c.Variants[i]
		s := series{name: c.Label(v)}
		for _, d := range v.Queue {
			s.x, s.y = append(s.x, d.At.Microseconds()), append(s.y, float64(d.Bytes)/1e3)
		}
		if len(s.x) > 0 {
			all = append(all, s)
		}
	}
	frame := chart{title: "Deepest switch queue of the RoCE class over time", xName: "us", yName: "KB", xText: func(x float64) string { return fmt.Sprintf("%.6g", x) }}
	return frame.lines(all)
}

package report

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// series is one line of a chart, or one segment of its bars.
type series struct {
	name string
	x, y []float64
}

// palette is that of Okabe and Ito, distinguishable for most kinds of colour
// blindness; further series repeat it with other dashes.
var palette = [...]string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"}

// chart is the frame of a plot in SVG.
type chart struct {
	title, xName, yName string
	logX                bool
	xText               func(float64) string
}

const (
	chartWidth, chartHeight = 860, 360
	plotLeft, plotRight     = 80, 20
	plotTop, plotBottom     = 40, 50
)

// niceStep returns a step of 1, 2 or 5 times a power of ten that divides a
// range into about five.
func niceStep(span float64) float64 {
	if span <= 0 {
		return 1
	}
	p := math.Pow(10, math.Floor(math.Log10(span/5)))
	for _, k := range [...]float64{1, 2, 5, 10} {
		if span/(k*p) <= 6 {
			return k * p
		}
	}
	return 10 * p
}

// lines draws series as lines with points, from 0 up.
func (c *chart) lines(all []series) string {
	var b strings.Builder
	low, high, top := math.Inf(1), math.Inf(-1), 0.
	for _, s := range all {
		for i := range s.x {
			low, high, top = math.Min(low, s.x[i]), math.Max(high, s.x[i]), math.Max(top, s.y[i])
		}
	}
	if low > high {
		return ""
	}
	scale := func(x float64) float64 {
		if c.logX {
			return math.Log(math.Max(x, 1e-300))
		}
		return x
	}
	from, to := scale(low), scale(high)
	if from == to {
		to = from + 1
	}
	height := chartHeight + 18*((len(all)+1)/2)
	c.open(&b, height)
	step := niceStep(top)
	if top == 0 {
		top = 1
	}
	atX := func(x float64) float64 {
		return plotLeft + (scale(x)-from)/(to-from)*(chartWidth-plotLeft-plotRight)
	}
	atY := func(y float64) float64 {
		return chartHeight - plotBottom - y/(top*1.05)*(chartHeight-plotTop-plotBottom)
	}
	for y := 0.; y <= top*1.05; y += step {
		fmt.Fprintf(&b, `<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%.6g</text>`, plotLeft, atY(y), chartWidth-plotRight, atY(y), plotLeft-6, atY(y)+4, y)
	}
	for _, x := range c.ticks(all, low, high) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`, atX(x), chartHeight-plotBottom+18, html.EscapeString(c.xText(x)))
	}
	for k, s := range all {
		colour := palette[k%len(palette)]
		var points []string
		for i := range s.x {
			points = append(points, fmt.Sprintf("%.1f,%.1f", atX(s.x[i]), atY(s.y[i])))
		}
		dash := ""
		if k >= len(palette) {
			dash = fmt.Sprintf(` stroke-dasharray="%d 3"`, 2+2*(k/len(palette)))
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s><title>%s</title></polyline>`, strings.Join(points, " "), colour, dash, html.EscapeString(s.name))
		if len(s.x) <= 32 {
			for i := range s.x {
				fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s: %s, %.5g</title></circle>`, atX(s.x[i]), atY(s.y[i]), colour, html.EscapeString(s.name), html.EscapeString(c.xText(s.x[i])), s.y[i])
			}
		}
	}
	legend(&b, all)
	b.WriteString("</svg>\n")
	return b.String()
}

// ticks returns where the x axis has figures: at the points of a logarithmic
// axis, else at round steps.
func (c *chart) ticks(all []series, low, high float64) []float64 {
	var out []float64
	if !c.logX {
		for x := 0.; x <= high; x += niceStep(high - low) {
			if x >= low {
				out = append(out, x)
			}
		}
		return out
	}
	longest := 0
	for k := range all {
		if len(all[k].x) > len(all[longest].x) {
			longest = k
		}
	}
	every := (len(all[longest].x) + 11) / 12
	for i := 0; i < len(all[longest].x); i += max(every, 1) {
		out = append(out, all[longest].x[i])
	}
	return out
}

func (c *chart) open(b *strings.Builder, height int) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="12">`, chartWidth, height)
	fmt.Fprintf(b, `<text x="%d" y="20" font-size="15">%s</text>`, plotLeft, html.EscapeString(c.title))
	fmt.Fprintf(b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`, (chartWidth+plotLeft)/2, chartHeight-12, html.EscapeString(c.xName))
	fmt.Fprintf(b, `<text x="16" y="%d" transform="rotate(-90 16 %d)" text-anchor="middle">%s</text>`, chartHeight/2, chartHeight/2, html.EscapeString(c.yName))
}

func legend(b *strings.Builder, all []series) {
	for k, s := range all {
		x, y := plotLeft+(k%2)*(chartWidth-plotLeft)/2, chartHeight+14+18*(k/2)
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="12" height="12" fill="%s"/><text x="%d" y="%d">%s</text>`, x, y-10, palette[k%len(palette)], x+18, y, html.EscapeString(s.name))
	}
}

// bars draws one horizontal bar a label, made of the series' segments: y[i] of
// each series belongs to label i.
func (c *chart) bars(labels []string, all []series, text func(float64) string) string {
	if len(labels) == 0 {
		return ""
	}
	const row, left = 26, 300
	top := 0.
	for i := range labels {
		sum := 0.
		for _, s := range all {
			sum += s.y[i]
		}
		top = math.Max(top, sum)
	}
	if top == 0 {
		return ""
	}
	var b strings.Builder
	height := 60 + row*len(labels) + 24
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" font-family="sans-serif" font-size="12">`, chartWidth, height)
	fmt.Fprintf(&b, `<text x="%d" y="20" font-size="15">%s</text>`, plotLeft, html.EscapeString(c.title))
	for i, label := range labels {
		x, y := float64(left), 34+row*i
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`, left-6, y+14, html.EscapeString(label))
		sum := 0.
		for k, s := range all {
			w := s.y[i] / top * (chartWidth - left - 100)
			fmt.Fprintf(&b, `<rect x="%.1f" y="%d" width="%.1f" height="18" fill="%s"><title>%s: %s</title></rect>`, x, y, w, palette[k%len(palette)], html.EscapeString(s.name), html.EscapeString(text(s.y[i])))
			x += w
			sum += s.y[i]
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="%d">%s</text>`, x+6, y+14, html.EscapeString(text(sum)))
	}
	for k, s := range all {
		x, y := left+k*160, 34+row*len(labels)+24
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="12" height="12" fill="%s"/><text x="%d" y="%d">%s</text>`, x, y-10, palette[k%len(palette)], x+18, y, html.EscapeString(s.name))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"html"
	"io"

	"weir/internal/twin"
	"weir/units"
)

// traceEvent is an event of the trace-event format that browser trace viewers
// (chrome://tracing, Perfetto) read: complete events ("X") and names ("M").
// Times are in microseconds.
type traceEvent struct {
	Name  string         `json:"name"`
	Phase string         `json:"ph"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	TS    float64        `json:"ts"`
	Dur   float64        `json:"dur,omitempty"`
	Args  map[string]any `json:"args,omitempty"`
}

// WriteTimelineTrace writes the timeline of a step as trace events.
func WriteTimelineTrace(w io.Writer, s *twin.Step) error {
	tracks := tracksOf(s)
	number := map[string]int{}
	events := []traceEvent{{Name: "process_name", Phase: "M", PID: 1, Args: map[string]any{"name": "step of " + s.Job}}}
	for i, t := range tracks {
		number[t] = i + 1
		events = append(events, traceEvent{Name: "thread_name", Phase: "M", PID: 1, TID: i + 1, Args: map[string]any{"name": t}})
	}
	for i := range s.Timeline {
		span := &s.Timeline[i]
		e := traceEvent{Name: span.Name, Phase: "X", PID: 1, TID: number[span.Track], TS: span.Start.Microseconds(), Dur: (span.End - span.Start).Microseconds()}
		if span.Bytes > 0 {
			e.Args = map[string]any{"bytes": int64(span.Bytes)}
		}
		events = append(events, e)
	}
	return json.NewEncoder(w).Encode(struct {
		Unit   string       `json:"displayTimeUnit"`
		Events []traceEvent `json:"traceEvents"`
	}{"ns", events})
}

// Sizes of the SVG in pixels.
const (
	svgWidth, svgLeft  = 1000, 90
	svgRow, svgTop     = 34, 40
	svgBar, svgPadding = 24, 16
)

// colours of the tracks, distinguishable for most kinds of colour blindness
// (Okabe and Ito).
var colours = map[string]string{
	"compute": "#009e73", "tensor": "#0072b2", "expert": "#cc79a7", "data": "#d55e00", "pipeline": "#e69f00", bubbleName: "#bbbbbb",
}

// WriteTimelineSVG draws the timeline of a step.
func WriteTimelineSVG(w io.Writer, s *twin.Step) error {
	b := bufio.NewWriter(w)
	tracks := tracksOf(s)
	end := endOf(s)
	height := svgTop + svgRow*len(tracks) + 2*svgPadding
	x := func(t float64) float64 { return svgLeft + t/float64(end)*(svgWidth-svgLeft-svgPadding) }
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", svgWidth, height, svgWidth, height)
	fmt.Fprintf(b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", svgWidth, height)
	fmt.Fprintf(b, `<text x="%d" y="20">%s</text>`+"\n", svgPadding, html.EscapeString(fmt.Sprintf("one step of %s: %s, GPU utilisation %.1f %%", s.Job, short(s.Time), 100*s.GPUUtilisation)))
	for row, track := range tracks {
		y := svgTop + row*svgRow
		fmt.Fprintf(b, `<text x="%d" y="%d">%s</text>`+"\n", svgPadding, y+svgBar-8, html.EscapeString(track))
		for i := range s.Timeline {
			span := &s.Timeline[i]
			if span.Track != track || span.End <= span.Start {
				continue
			}
			colour, ok := colours[span.Name]
			if !ok {
				colour = colours[track]
			}
			from, to := x(float64(span.Start)), x(float64(span.End))
			fmt.Fprintf(b, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s" stroke="#fff" stroke-width="0.3"><title>%s, %s to %s</title></rect>`+"\n",
				from, y, max(to-from, 0.2), svgBar, colour, html.EscapeString(span.Name), short(span.Start), short(span.End))
		}
	}
	y := svgTop + svgRow*len(tracks) + svgPadding/2
	for i := range 5 {
		t := float64(end) * float64(i) / 4
		anchor := [...]string{"start", "middle", "middle", "middle", "end"}[i]
		fmt.Fprintf(b, `<text x="%.2f" y="%d" text-anchor="%s" fill="#555">%s</text>`+"\n", x(t), y+8, anchor, short(end*units.Time(i)/4))
	}
	fmt.Fprintln(b, `</svg>`)
	return b.Flush()
}

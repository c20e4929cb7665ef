package report

import (
	"bufio"
	"fmt"
	"strings"

	"weir/internal/answer/expect"
	"weir/internal/twin"
	"weir/units"
)

type stepJSON struct {
	Job                string         `json:"job"`
	Fidelity           string         `json:"fidelity"`
	TimeS              float64        `json:"time_s"`
	JitterS            float64        `json:"jitter_s"`
	ComputeS           float64        `json:"compute_s"`
	BubbleS            float64        `json:"bubble_s"`
	ExposedS           float64        `json:"exposed_communication_s"`
	CommunicationShare float64        `json:"communication_share"`
	GPUUtilisation     float64        `json:"gpu_utilisation"`
	CPUShare           float64        `json:"transport_cpu_share"`
	ComputeInflation   float64        `json:"compute_inflation"`
	EpochS             *float64       `json:"epoch_s"` // null: the data set is not given
	Communication      []stepPartJSON `json:"communication"`
}

type stepPartJSON struct {
	Dimension string  `json:"dimension"`
	Op        string  `json:"op"`
	SizeBytes int64   `json:"size_bytes"`
	Ranks     int     `json:"ranks"`
	Groups    int     `json:"groups"`
	Count     int     `json:"count"`
	TimeS     float64 `json:"time_s"`
	ExposedS  float64 `json:"exposed_s"`
	BusBW     float64 `json:"busbw_gbytes_per_s"`
	How       string  `json:"how"`
}

func stepOf(s *twin.Step) *stepJSON {
	out := &stepJSON{
		Job: s.Job, Fidelity: s.Fidelity, TimeS: s.Time.Seconds(), JitterS: s.Jitter.Seconds(), ComputeS: s.Compute.Seconds(),
		BubbleS: s.Bubble.Seconds(), ExposedS: s.ExposedCommunication.Seconds(), CommunicationShare: s.CommunicationShare,
		GPUUtilisation: s.GPUUtilisation, CPUShare: s.CPUShare, ComputeInflation: s.Inflation, Communication: []stepPartJSON{},
	}
	if s.Epoch > 0 {
		epoch := s.Epoch.Seconds()
		out.EpochS = &epoch
	}
	for i := range s.Parts {
		p := &s.Parts[i]
		out.Communication = append(out.Communication, stepPartJSON{
			p.Dimension.String(), partName(p), int64(p.Bytes), p.Ranks, p.Groups, p.Count, p.Time.Seconds(), p.Exposed.Seconds(), partBusBW(p), p.How,
		})
	}
	return out
}

func partName(p *twin.StepPart) string {
	if p.Transfer {
		return "send"
	}
	return p.Op.String()
}

// partBusBW is the bus bandwidth in GB/s by nccl-tests' factors; of a transfer,
// its rate.
func partBusBW(p *twin.StepPart) float64 {
	if p.Time <= 0 {
		return 0
	}
	bw := float64(p.Bytes) / p.Time.Seconds() / 1e9
	if !p.Transfer {
		bw *= expect.BusFactor(p.Op, p.Ranks)
	}
	return bw
}

func writeStep(b *bufio.Writer, s *twin.Step) {
	fmt.Fprintf(b, "# step of %s, fidelity %s\n", s.Job, s.Fidelity)
	fmt.Fprintf(b, "step time              %v", s.Time)
	if s.Jitter > 0 {
		fmt.Fprintf(b, ", jitter %v", s.Jitter)
	}
	fmt.Fprintf(b, "\ncompute                %v", s.Compute)
	if s.Inflation != 0 && s.Inflation != 1 {
		fmt.Fprintf(b, " (with compute_inflation %g, as the file says)", s.Inflation)
	}
	fmt.Fprintln(b)
	if s.Bubble > 0 {
		fmt.Fprintf(b, "pipeline bubble        %v\n", s.Bubble)
	}
	fmt.Fprintf(b, "exposed communication  %v, %.1f %% of the step\n", s.ExposedCommunication, 100*s.CommunicationShare)
	fmt.Fprintf(b, "GPU utilisation        %.1f %%\n", 100*s.GPUUtilisation)
	if s.CPUShare > 0 {
		fmt.Fprintf(b, "CPU share of transport %.1f %%\n", 100*s.CPUShare)
	}
	if s.Epoch > 0 {
		fmt.Fprintf(b, "epoch                  %s\n", long(s.Epoch))
	}
	if len(s.Parts) > 0 {
		fmt.Fprintln(b, "\ndimension  operation        size (B)  ranks groups  count  time each      busbw    exposed  how")
		for i := range s.Parts {
			p := &s.Parts[i]
			fmt.Fprintf(b, "%-9s  %-14s %10d %6d %6d %6d %10s %5.1f GB/s %10s  %s\n", p.Dimension, partName(p), p.Bytes, p.Ranks, p.Groups, p.Count,
				short(p.Time), partBusBW(p), short(p.Exposed), p.How)
		}
	}
	writeTimeline(b, s)
}

// short prints a time with three or four digits.
func short(t units.Time) string {
	switch {
	case t >= units.Second:
		return fmt.Sprintf("%.3fs", t.Seconds())
	case t >= units.Millisecond:
		return fmt.Sprintf("%.3fms", t.Seconds()*1e3)
	}
	return fmt.Sprintf("%.1fus", t.Microseconds())
}

// long prints minutes and hours.
func long(t units.Time) string {
	s := t.Seconds()
	switch {
	case s >= 7200:
		return fmt.Sprintf("%.2f h", s/3600)
	case s >= 120:
		return fmt.Sprintf("%.1f min", s/60)
	}
	return fmt.Sprintf("%.3f s", s)
}

// timelineWidth is the width of the text timeline in characters.
const timelineWidth = 72

// writeTimeline draws the tracks of a step: a mark where a track is busy for
// more than half of a column, a dot where it is busy at all.
func writeTimeline(b *bufio.Writer, s *twin.Step) {
	if len(s.Timeline) == 0 || s.Time <= 0 {
		return
	}
	fmt.Fprintf(b, "\ntimeline of one step, %s a column\n", short(s.Time/timelineWidth))
	tracks := tracksOf(s)
	end := endOf(s)
	for _, track := range tracks {
		var busy [timelineWidth]units.Time
		var idle [timelineWidth]bool
		for i := range s.Timeline {
			span := &s.Timeline[i]
			if span.Track != track || span.End <= span.Start {
				continue
			}
			for c := int(int64(span.Start) * timelineWidth / int64(end)); c < timelineWidth; c++ {
				from, to := end/timelineWidth*units.Time(c), end/timelineWidth*units.Time(c+1)
				if from >= span.End {
					break
				}
				busy[c] += min(to, span.End) - max(from, span.Start)
				idle[c] = idle[c] || span.Name == bubbleName
			}
		}
		var line strings.Builder
		for c := range busy {
			mark := " "
			switch {
			case idle[c]:
				mark = "o"
			case 2*busy[c] >= end/timelineWidth:
				mark = "#"
			case busy[c] > 0:
				mark = "."
			}
			line.WriteString(mark)
		}
		fmt.Fprintf(b, "%-9s |%s|\n", track, line.String())
	}
}

const bubbleName = "bubble"

// tracksOf lists the tracks of a timeline, compute first.
func tracksOf(s *twin.Step) []string {
	out := []string{"compute"}
	seen := map[string]bool{"compute": true}
	for i := range s.Timeline {
		if t := s.Timeline[i].Track; !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

// endOf is the end of the last span.
func endOf(s *twin.Step) units.Time {
	end := units.Time(1)
	for i := range s.Timeline {
		end = max(end, s.Timeline[i].End)
	}
	return end
}

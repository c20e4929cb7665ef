package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"weir/internal/twin"
	"weir/units"
)

// step is 60 us of compute and 40 us of one collective after it.
var step = twin.Step{
	Job: "a <b> & c", Time: 100 * units.Microsecond, Compute: 60 * units.Microsecond, GPUUtilisation: 0.6,
	Timeline: []twin.Span{
		{Track: "compute", Name: "forward <0>", End: 60 * units.Microsecond},
		{Track: "data", Name: "gradients 0", Start: 60 * units.Microsecond, End: 100 * units.Microsecond, Bytes: 1000},
	},
}

// The SVG is well-formed XML whatever things are called, with a bar for each span.
func TestTimelineSVG(t *testing.T) {
	var b bytes.Buffer
	if err := WriteTimelineSVG(&b, &step); err != nil {
		t.Fatal(err)
	}
	bars := 0
	for d := xml.NewDecoder(&b); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == "title" {
			bars++
		}
	}
	if bars != 2 {
		t.Errorf("%d bars, want 2", bars)
	}
}

// Trace events as their viewers define them: ph X with ts and dur in microseconds.
func TestTimelineTrace(t *testing.T) {
	var b bytes.Buffer
	if err := WriteTimelineTrace(&b, &step); err != nil {
		t.Fatal(err)
	}
	var trace struct {
		TraceEvents []struct {
			Name, Ph string
			TS, Dur  float64
			TID      int
		}
	}
	if err := json.Unmarshal(b.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	last := trace.TraceEvents[len(trace.TraceEvents)-1]
	if last.Name != "gradients 0" || last.Ph != "X" || last.TS != 60 || last.Dur != 40 || last.TID != 2 {
		t.Errorf("%+v", last)
	}
}

// The text timeline has 72 columns: 43 of them busy with compute.
func TestTimelineText(t *testing.T) {
	var b bytes.Buffer
	if err := WriteSimulation(&b, &Simulation{Result: &twin.Result{Steps: []twin.Step{step}}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"compute   |" + strings.Repeat("#", 43) + "." + strings.Repeat(" ", 28) + "|",
		"data      |" + strings.Repeat(" ", 43) + strings.Repeat("#", 29) + "|",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no line %q in\n%s", want, b.String())
		}
	}
}

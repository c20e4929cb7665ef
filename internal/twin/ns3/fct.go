package ns3

import (
	"bufio"
	"fmt"
	"io"

	"weir/units"
)

// Completion is one finished flow for the completion file.
type Completion struct {
	Flow       Flow
	SourcePort uint16
	FCT        units.Time
	Alone      units.Time // what the flow would take on an idle network
}

// WriteCompletions writes the completion file of the ns-3 tools: a line per
// flow with source and destination address in hex, the two ports, bytes, start,
// completion time and stand-alone completion time in nanoseconds.
func WriteCompletions(w io.Writer, flows []Completion) error {
	b := bufio.NewWriter(w)
	for _, c := range flows {
		fmt.Fprintf(b, "%08x %08x %d %d %d %d %d %d\n",
			addressBits(c.Flow.Src), addressBits(c.Flow.Dst), c.SourcePort, c.Flow.DstPort,
			int64(c.Flow.Bytes), c.Flow.Start/units.Nanosecond, nanoseconds(c.FCT), nanoseconds(c.Alone))
	}
	return b.Flush()
}

func nanoseconds(t units.Time) int64 {
	return int64((t + units.Nanosecond/2) / units.Nanosecond)
}

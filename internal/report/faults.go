package report

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"weir/internal/twin/fault"
)

type faultsJSON struct {
	Schema string      `json:"schema"`
	Faults []faultJSON `json:"faults"`
}

type faultJSON struct {
	ID              string   `json:"id"`
	Places          []string `json:"places"`
	Effect          string   `json:"effect"`
	Severity        string   `json:"severity,omitempty"` // what it scales
	SeverityDefault *float64 `json:"severity_default,omitempty"`
	WholeRun        bool     `json:"whole_run,omitempty"` // takes no start and no end
	Moves           []string `json:"moves"`
}

// WriteFaultsJSON writes the table of faults as JSON.
func WriteFaultsJSON(w io.Writer, table []fault.Kind) error {
	out := faultsJSON{Schema: "weir.faults/1"}
	for i := range table {
		k := &table[i]
		j := faultJSON{ID: k.ID, Effect: k.Effect, Severity: k.Severity, WholeRun: k.Static, Moves: k.Moves}
		for _, p := range k.Places {
			j.Places = append(j.Places, fault.PlaceName(p))
		}
		if k.Severity != "" {
			j.SeverityDefault = &k.Default
		}
		out.Faults = append(out.Faults, j)
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

// WriteFaults writes the table of faults for people.
func WriteFaults(w io.Writer, table []fault.Kind) error {
	b := bufio.NewWriter(w)
	for i := range table {
		k := &table[i]
		fmt.Fprintf(b, "%s\n    %s\n    place: %s\n", k.ID, k.Effect, k.PlaceNames())
		if k.Severity != "" {
			fmt.Fprintf(b, "    severity: %s (default %g)\n", k.Severity, k.Default)
		}
		if k.Static {
			fmt.Fprintln(b, "    lasts for the whole run: no start, no end")
		}
		for j, m := range k.Moves {
			lead := "    moves:"
			if j > 0 {
				lead = "          "
			}
			fmt.Fprintln(b, lead, m)
		}
	}
	return b.Flush()
}

package cli

import (
	"io"
	"slices"

	"weir/internal/cluster"
	"weir/internal/report"
	"weir/internal/twin/fault"
)

// withFaults returns a cluster with the faults of --fault besides its own.
func (f *simulateFlags) withFaults(c *cluster.Cluster) (*cluster.Cluster, error) {
	if len(f.faults) == 0 {
		return c, nil
	}
	out := *c
	out.Faults = slices.Clone(c.Faults)
	for _, text := range f.faults {
		one, err := c.ParseFault(text)
		if err != nil {
			return nil, refused(err)
		}
		out.Faults = append(out.Faults, one)
	}
	return &out, nil
}

// listFaults prints what --fault takes.
func listFaults(s *Streams, f *simulateFlags) error {
	return writeReport(s, f.output, func(w io.Writer) error {
		if f.format == "json" {
			return report.WriteFaultsJSON(w, fault.Table())
		}
		return report.WriteFaults(w, fault.Table())
	})
}

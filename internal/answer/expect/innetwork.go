package expect

import (
	"fmt"
	"math"

	"weir/internal/twin/plan"
)

// inNetwork fills in what plan.Reduce says. Without a tree there is nothing to
// expect, and the run is refused.
func inNetwork(p *plan.Plan, e Collective) Collective {
	ideal, err := p.Reduce(e.Bytes, true)
	if err != nil {
		e.TimeUS = math.Inf(1)
		return e
	}
	r, _ := p.Reduce(e.Bytes, false)
	e.IdealBusBW = busBW(p, e.Bytes, ideal.Transfer())
	_, e.IdealLimit = longest(reductionTransfers(&ideal))
	all := reductionTransfers(&r)
	transfer, limit := longest(all)
	for _, t := range all {
		e.Transfers = append(e.Transfers, t.Term)
	}
	e.Latency = []Term{
		{"library", r.Library, "NCCL's figures for collective networks"},
		{"tree", float64(r.Pieces) * r.Fabric, fmt.Sprintf("%d x %.3g us beyond the %v that these have, %d switches up", r.Pieces, r.Fabric, plan.FabricShare, r.Depth)},
	}
	e.TimeUS = r.Time()
	e.BusBW = busBW(p, e.Bytes, e.TimeUS)
	e.TransferShare = transfer / e.TimeUS
	if e.Limit = limit; e.TransferShare < 0.5 {
		e.Limit = ByLatency
	}
	return e
}

func reductionTransfers(r *plan.Reduction) []resource {
	var all []resource
	for _, t := range []resource{
		{Term{"NIC", r.NIC, "each card's share, once up and once down"}, ByNIC},
		{Term{"PCIe", r.PCIe, "the same"}, ByPCIe},
		{Term{"NVLink", r.Local, "reduced and spread inside the node"}, ByLocal},
		{Term{"uplinks", r.Uplinks, "the trees of a leaf over its links upwards"}, ByUplinks},
	} {
		if t.US > 0 {
			all = append(all, t)
		}
	}
	return all
}

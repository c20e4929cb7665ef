package plan

import (
	"math"

	"weir/internal/collective"
	"weir/internal/collective/nccl"
	"weir/units"
)

// NVLSRamp returns how much longer than NCCL's constant (25 us) an operation
// by NVLS inside one node takes before it runs at full rate, in microseconds;
// 0 for other algorithms. Fitted to the measured sweep of validation row V54
// (eight H200, 1 MiB to 16 GiB) within 7 %: 17 us at 1 MiB, 8.2 us more for
// each doubling, up to 1 GiB.
func (p *Plan) NVLSRamp(c nccl.Choice, bytes units.Bytes) float64 {
	const at1MiB, perDoubling = 17, 8.2
	if c.Algorithm != collective.NVLS || p.Job.Op != collective.AllReduce {
		return 0
	}
	doublings := math.Log2(float64(max(min(bytes, units.GiB), units.MiB)) / float64(units.MiB))
	return at1MiB + perDoubling*doublings
}

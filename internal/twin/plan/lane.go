package plan

import (
	"weir/internal/collective"
	"weir/internal/collective/nccl"
	"weir/units"
)

// LanePace returns the paces at which one lane works, per byte with flags, when
// active channels run: its share of the links
// between GPUs, for which the library chose the number of channels. Where the
// library's tables say that GPUs reach less, a lane is busy for longer than it
// copies: what it lacks is not the speed of a slice but that of the next one.
func (p *Plan) LanePace(choice nccl.Choice, active int) (busy, copying units.Pace) {
	share := max(p.LocalRate/units.BitRate(p.System.Channels), units.Mbps)
	copying = share.Pace()
	bus := p.System.BusCap(choice.Algorithm, choice.Protocol)
	if choice.Algorithm == collective.Tree {
		bus /= 2 // a lane goes one way
	}
	if bus > 0 && choice.Algorithm != collective.NVLSTree {
		flags := float64(choice.Protocol.WireBytes(1<<20)) / (1 << 20)
		share = min(share, max(units.BitRate(bus*8e9*flags)/units.BitRate(active), units.Mbps))
	}
	return share.Pace(), copying
}

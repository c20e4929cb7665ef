package sim

import (
	"math/bits"

	"weir/internal/cluster"
	"weir/internal/qos"
)

// nicShares are what a NIC serves its priorities by, as switches do: strict
// ones first, the others in deficit round robin by their ETS shares.
type nicShares struct {
	strict  uint8
	quantum [qos.Priorities]int32 // bytes of a turn
}

// fullQuantum is what a share of the whole link would get in a turn.
const fullQuantum = 64 << 10

func newNICShares(c *cluster.Cluster) (n nicShares) {
	for i := range n.quantum {
		n.quantum[i] = fullQuantum / 100
	}
	left := 1.0
	for i := range c.QoS.Classes {
		k := &c.QoS.Classes[i]
		if left -= k.Share; k.Strict {
			n.strict |= 1 << k.Priority
		}
	}
	n.quantum[c.TCP.Priority] = max(n.quantum[c.TCP.Priority], int32(left*fullQuantum))
	for i := range c.QoS.Classes {
		k := &c.QoS.Classes[i]
		n.quantum[k.Priority] = max(int32(k.Share*fullQuantum), fullQuantum/100)
	}
	return n
}

// nextPriority returns which of the priorities that may send is served.
func (s *Sim) nextPriority(n *nicPort) uint8 {
	mask := n.ready &^ n.stopped()
	if mask&(mask-1) == 0 {
		n.turn = uint8(bits.TrailingZeros8(mask))
		n.deficit[n.turn] = 0
		return n.turn
	}
	if m := mask & s.nicShares.strict; m != 0 {
		return uint8(7 - bits.LeadingZeros8(m))
	}
	for mask>>n.turn&1 == 0 || n.deficit[n.turn] <= 0 {
		above := mask &^ (2<<n.turn - 1)
		if above == 0 {
			above = mask
		}
		n.turn = uint8(bits.TrailingZeros8(above))
		n.deficit[n.turn] = min(n.deficit[n.turn]+s.nicShares.quantum[n.turn], fullQuantum)
	}
	return n.turn
}

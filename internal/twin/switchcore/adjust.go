package switchcore

import (
	"fmt"
	"math"

	"weir/internal/qos"
	"weir/units"
)

// The settings below may change while packets are in the switch, as an
// operator or a fault changes them. What is queued stays; what was decided
// stays decided.

// SetECN changes the marking of a priority's egress queues. The settings must
// be such as New takes.
func (s *Switch) SetECN(prio uint8, e qos.ECN) error {
	if e.Enabled && (e.Min < 0 || e.Max < e.Min || e.Max > math.MaxInt32 || !(e.Probability >= 0 && e.Probability <= 1)) {
		return fmt.Errorf("ECN with min %v, max %v, probability %v: min must not exceed max, probability is 0 to 1", e.Min, e.Max, e.Probability)
	}
	s.cfg.ECN[prio] = e
	s.atEnqueue[prio], s.atDequeue[prio] = noRamp, noRamp
	if e.MarkAt == qos.MarkAtDequeue {
		s.atDequeue[prio] = newRamp(e)
	} else {
		s.atEnqueue[prio] = newRamp(e)
	}
	return nil
}

// PFC returns the priorities for which a port sends XOFF, and those for which
// it obeys it.
func (s *Switch) PFC(port uint16) (sends, obeys uint8) {
	p := &s.ports[port]
	return p.sends, p.obeys
}

// SetPFC changes them. A pause in force for a priority that is no longer
// obeyed ends; an XOFF in force at the peer is resumed as its packets leave.
// The caller lets the port send afterwards. sends is cut to the lossless
// priorities.
func (s *Switch) SetPFC(now units.Time, port uint16, sends, obeys uint8) {
	p := &s.ports[port]
	s.settle(now, p)
	p.sends, p.obeys = sends&s.lossless, obeys
	for prio := range qos.Priorities {
		if bit := uint8(1) << prio; p.paused&bit&^obeys != 0 {
			p.paused &^= bit
			p.rare[prio].total += now - p.rare[prio].since
			p.rare[prio].until = now
		}
	}
	p.hold()
}

// Headroom returns a port's headroom per lossless priority.
func (s *Switch) Headroom(port uint16) units.Bytes { return units.Bytes(s.ports[port].headroom) }

// SetHeadroom changes how much of a port's headroom may be used, per lossless
// priority. What it falls short of the configured headroom lies idle; more
// than that is not possible.
func (s *Switch) SetHeadroom(port uint16, h units.Bytes) {
	s.ports[port].headroom = uint32(min(max(0, h), s.cfg.Ports[port].Headroom))
}

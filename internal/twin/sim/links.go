package sim

import (
	"fmt"

	"weir/internal/cluster"
	"weir/units"
)

// SetLoss makes the link behind a port lose frames at random, in the direction
// away from the port; 0 mends it. Pause frames are not lost.
func (s *Sim) SetLoss(id cluster.PortID, p float64) error {
	if !(p >= 0 && p <= 1) {
		return fmt.Errorf("loss of %v: allowed is 0 to 1", p)
	}
	i := s.simPort(id)
	s.tx[i].flags &^= isLossy
	if p > 0 {
		s.tx[i].flags |= isLossy
	}
	s.rare[i].loss, s.rare[i].every = lossOf(p), 0
	return nil
}

// SetDropEvery makes the link behind a port lose every n-th frame, pause frames
// aside, in the direction away from the port; 0 mends it.
func (s *Sim) SetDropEvery(id cluster.PortID, n uint32) {
	i := s.simPort(id)
	s.tx[i].flags &^= isLossy
	if n != 0 {
		s.tx[i].flags |= isLossy
	}
	s.rare[i].every, s.rare[i].passed = n, 0
}

// SetDown makes the link behind a port lose everything, pause frames too, in
// the direction away from the port, or ends that. Routes stay as they are.
func (s *Sim) SetDown(id cluster.PortID, down bool) {
	i := s.simPort(id)
	s.tx[i].flags &^= isDown
	if down {
		s.tx[i].flags |= isDown
	}
}

// SetRate changes the rate at which a port sends, from its next frame on, as a
// link that trains down does. The rate must be positive.
func (s *Sim) SetRate(id cluster.PortID, rate units.BitRate) {
	i := s.simPort(id)
	s.tx[i].pace = rate.Pace()
	s.rare[i].rate = rate
	if s.tx[i].flags&isHost == 0 {
		s.switches[s.tx[i].unit].core.SetRate(s.tx[i].local, rate)
	}
}

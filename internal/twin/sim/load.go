package sim

import (
	"weir/internal/cluster"
	"weir/units"
)

// A load is traffic that goes on beside the jobs: messages of one size, two
// under way at a time.
type load struct {
	conn  ConnID
	bytes units.Bytes
	until units.Time
}

// AddLoad starts traffic from one NIC to another now, in messages of so many
// bytes, until a time or until all flows and collectives are done. It fails
// when there is no path.
func (s *Sim) AddLoad(src, dst cluster.NICRef, bytes units.Bytes, until units.Time) error {
	c, err := s.connect(src, dst, Options{Ring: 2}, ownerLoad)
	if err != nil {
		return err
	}
	id := uint32(len(s.loads))
	s.loads = append(s.loads, load{conn: c, bytes: bytes, until: until})
	for range 2 {
		s.goOn(id)
	}
	return nil
}

// goOn posts the next message of a load.
func (s *Sim) goOn(id uint32) {
	if l := &s.loads[id]; s.open != 0 && s.now < l.until {
		s.Post(l.conn, l.bytes, uint64(id))
	}
}

package sim

// warm reads what the events of a bucket will need, without effect. In a large
// fabric hardly anything is in the near caches, and events follow each other
// too closely for the processor to look ahead; here its loads overlap.
func (s *Sim) warm(bucket []event) {
	if len(bucket) < 2 {
		return
	}
	sum := s.warmth
	for i := range bucket[:min(len(bucket), 32)] {
		index := bucket[i].key.index()
		switch bucket[i].key.kind() {
		case kindArrive:
			r := &s.rx[index]
			f := &s.flights[r.lane.base+r.lane.first&r.lane.mask]
			pk := &s.pool.all[f.packet]
			sum += pk.bytes
			if r.host {
				continue
			}
			u := &s.switches[r.unit]
			if h := pk.hop; h < maxHops && pk.out[h] != noPort {
				out := pk.out[h]
				sum += u.core.Touch(r.local, out, pk.prio) + uint32(s.tx[u.firstPort+uint32(out)].flags)
			}
		case kindWake:
			sum += uint32(s.tx[index].flags)
		}
	}
	s.warmth = sum
}

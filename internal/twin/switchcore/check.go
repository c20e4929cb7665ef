package switchcore

import (
	"fmt"

	"weir/internal/qos"
	"weir/units"
)

// Check proves the invariants that hold between any two calls and returns the
// first that does not: queues, ports, ingress accounting and the shared buffer
// all add up to the packets that are there; no part exceeds its size; XOFF and
// XON come in turns. It walks all packets, so it is for tests and the
// checking mode.
func (s *Switch) Check() error {
	sums := make([]uint64, len(s.ports)*qos.Priorities) // bytes by ingress port and priority
	var lossy uint64
	for i := range s.ports {
		p := &s.ports[i]
		var inPort uint64
		for prio := range qos.Priorities {
			q := &p.out[prio]
			var inQueue uint64
			for k := range q.n {
				v := q.at(k)
				inQueue += uint64(packedBytes(v))
				sums[int(packedIn(v))*qos.Priorities+prio] += uint64(packedBytes(v))
			}
			if inQueue != uint64(q.bytes) {
				return fmt.Errorf("port %d priority %d: queue holds %d bytes, accounted %d", i, prio, inQueue, q.bytes)
			}
			if q.n != 0 != (p.ready>>prio&1 != 0) {
				return fmt.Errorf("port %d priority %d: %d packets, ready mask %08b", i, prio, q.n, p.ready)
			}
			inPort += inQueue
			if s.lossless>>prio&1 == 0 {
				lossy += inQueue
			}
		}
		if inPort != uint64(p.bytes) {
			return fmt.Errorf("port %d: queues hold %d bytes, accounted %d", i, inPort, p.bytes)
		}
	}
	used, room := int64(lossy), int64(0)
	for i := range sums {
		port, prio := i/qos.Priorities, i%qos.Priorities
		if s.lossless>>prio&1 == 0 {
			continue
		}
		if err := s.checkIngress(port, prio, sums[i]); err != nil {
			return err
		}
		in := &s.ports[port].in[prio]
		used += max(0, int64(in.bytes)-s.reserve)
		room += int64(in.headroom)
	}
	switch {
	case s.free < 0 || s.free > s.shared:
		return fmt.Errorf("free shared buffer %d of %d", s.free, s.shared)
	case used != s.shared-s.free:
		return fmt.Errorf("shared buffer: packets use %d bytes, accounted %d", used, s.shared-s.free)
	case room != s.room:
		return fmt.Errorf("headroom: packets use %d bytes, accounted %d", room, s.room)
	}
	return nil
}

func (s *Switch) checkIngress(port, prio int, packets uint64) error {
	p := &s.ports[port]
	in := &p.in[prio]
	if packets != uint64(in.bytes)+uint64(in.headroom) {
		return fmt.Errorf("ingress port %d priority %d: packets of %d bytes, accounted %d and %d in headroom", port, prio, packets, in.bytes, in.headroom)
	}
	if most := uint64(s.cfg.Ports[port].Headroom); uint64(in.headroom) > most {
		return fmt.Errorf("ingress port %d priority %d: %d bytes in a headroom of %d", port, prio, in.headroom, most)
	}
	if p.rare == nil {
		if in.xoff != 0 {
			return fmt.Errorf("ingress port %d priority %d: XOFF in force and never sent", port, prio)
		}
		return nil
	}
	r := &p.rare[prio]
	if r.xoffs != r.resumeTx+uint64(in.xoff) {
		return fmt.Errorf("ingress port %d priority %d: %d XOFF, %d XON, in force %d", port, prio, r.xoffs, r.resumeTx, in.xoff)
	}
	if in.xoff != 0 && packets == 0 {
		return fmt.Errorf("ingress port %d priority %d: XOFF in force without a packet", port, prio)
	}
	return nil
}

// CheckLossless returns an error that names the first port and priority where
// a lossless packet was dropped for lack of buffer. Where headroom is as
// computed, there is none.
func (s *Switch) CheckLossless(now units.Time) error {
	for i := range s.ports {
		if s.ports[i].rare == nil {
			continue
		}
		for prio := range qos.Priorities {
			if n := s.ports[i].rare[prio].losslessDrops; n != 0 {
				return fmt.Errorf("port %d priority %d: %d lossless packets dropped by %v", i, prio, n, now)
			}
		}
	}
	return nil
}

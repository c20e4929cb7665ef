package sim

import (
	"math"
	"math/bits"

	"weir/internal/cluster"
	"weir/internal/qos"
	"weir/internal/twin/switchcore"
	"weir/units"
)

// switchUnit is a switch node: its pipeline and what picks next hops.
type switchUnit struct {
	core      *switchcore.Switch
	firstPort uint32
	node      cluster.NodeID
}

// arriveSwitch takes a frame that has passed the pipeline of a switch.
func (s *Sim) arriveSwitch(r *rxPort, i uint32) {
	u := &s.switches[r.unit]
	pk := &s.pool.all[i]
	out, ok := s.nextHop(u, pk)
	if !ok {
		s.unroutable++
		s.leaveSwitch(u, r.local, pk.prio, pk.bytes)
		s.pool.put(i)
		return
	}
	pk.hop++
	e := switchcore.Entry{Packet: i, Bytes: pk.bytes, In: r.local, Out: out, Priority: pk.prio}
	if pk.kind != cnpPacket && (pk.kind < segmentPacket || s.tcp.marks) {
		e.Flags = switchcore.Capable
	}
	if r.faults != 0 {
		r.faults.misread(&e)
	}
	o := u.core.Enqueue(s.now, &e)
	if o.Flags != 0 && !s.heed(u, i, &e, &o) {
		return
	}
	if o.Mark != 0 {
		s.mark(u, out, i, e.Priority, o)
	}
	s.serveSwitch(u.firstPort + uint32(out))
}

// heed acts on what Enqueue said besides marking. It reports false when the
// packet is gone.
func (s *Sim) heed(u *switchUnit, i uint32, e *switchcore.Entry, o *switchcore.Outcome) bool {
	in, prio := u.firstPort+uint32(e.In), e.Priority
	if o.Flags&switchcore.Dropped != 0 {
		s.leaveSwitch(u, e.In, prio, e.Bytes)
		s.pool.put(i)
		return false
	}
	if o.Flags&switchcore.XOFF != 0 {
		s.sendPause(in, prio, u.core.PauseQuanta())
		s.planRefresh(u, in, e.In, prio)
	}
	if o.Flags&switchcore.WRED != 0 {
		if !o.Marks(uint32(s.draw(s.rare[u.firstPort+uint32(e.Out)].entity, &s.pool.all[i]))) {
			o.Mark = 0
			return true
		}
		var dropped switchcore.Entry
		u.core.DropLast(e.Out, prio, &dropped, o)
		if o.Flags&switchcore.XON != 0 {
			s.sendPause(in, prio, 0)
		}
		s.leaveSwitch(u, dropped.In, prio, dropped.Bytes)
		s.pool.put(i)
		return false
	}
	return true
}

// mark draws whether a packet gets congestion experienced.
func (s *Sim) mark(u *switchUnit, out uint16, i uint32, prio uint8, o switchcore.Outcome) {
	pk := &s.pool.all[i]
	if o.Mark != math.MaxUint32 && !o.Marks(uint32(s.draw(s.rare[u.firstPort+uint32(out)].entity, pk))) {
		return
	}
	pk.flags |= marked
	u.core.CountMark(out, prio)
}

// serveSwitch sends the next packet of a switch's port, if it is idle and there
// is one, and sees to it that the port wakes up when there may be another.
func (s *Sim) serveSwitch(p uint32) {
	t := &s.tx[p]
	if t.busyUntil > s.now {
		s.wakeAt(p, t.busyUntil)
		return
	}
	u := &s.switches[t.unit]
	var e switchcore.Entry
	var o switchcore.Outcome
	if !u.core.Dequeue(s.now, t.local, &e, &o) {
		if at := u.core.WakeAt(s.now, t.local); at != units.Never {
			s.wakeAt(p, at)
		}
		return
	}
	if o.Mark != 0 {
		s.mark(u, t.local, e.Packet, e.Priority, o)
	}
	s.transmit(p, e.Packet, e.Bytes)
	s.leaveSwitch(u, e.In, e.Priority, e.Bytes)
	if u.core.PortBytes(t.local) != 0 {
		s.wakeAt(p, t.busyUntil)
	}
	if o.Flags&switchcore.XON != 0 {
		s.sendPause(u.firstPort+uint32(e.In), e.Priority, 0)
	}
}

// pauseSwitch takes a pause frame for a switch's port.
func (s *Sim) pauseSwitch(p uint32, prio uint8, quanta uint16) {
	t := &s.rx[p]
	u := &s.switches[t.unit]
	u.core.Pause(s.now, t.local, prio, quanta)
	if s.watchdog {
		s.watch(p)
	}
	s.serveSwitch(p)
}

// planRefresh puts the event in the queue that renews the XOFF of an ingress
// port, if the switch renews them and it is not there yet.
func (s *Sim) planRefresh(u *switchUnit, p uint32, local uint16, prio uint8) {
	at := u.core.NextRefresh(local, prio)
	bit := uint8(1) << prio
	if at == units.Never || s.refreshSet[p]&bit != 0 {
		return
	}
	s.refreshSet[p] |= bit
	s.queue.push(at, makeKey(s.tx[p].node, kindRefresh, p*qos.Priorities+uint32(prio)))
}

// refresh is the event that planRefresh sets.
func (s *Sim) refresh(index uint32) {
	p, prio := index/qos.Priorities, uint8(index%qos.Priorities)
	t := &s.tx[p]
	u := &s.switches[t.unit]
	s.refreshSet[p] &^= 1 << prio
	if u.core.Refresh(s.now, t.local, prio) {
		s.sendPause(p, prio, u.core.PauseQuanta())
	}
	s.planRefresh(u, p, t.local, prio)
}

// watch lets the watchdog of a switch's port look, and empties queues that it
// has found stormed.
func (s *Sim) watch(p uint32) {
	t := &s.tx[p]
	u := &s.switches[t.unit]
	next, detected, _ := u.core.Watchdog(s.now, t.local)
	if next < s.watchAt[p] {
		s.watchAt[p] = next
		s.queue.push(next, makeKey(t.node, kindWatchdog, p))
	}
	if s.watchdogDrops {
		for ; detected != 0; detected &= detected - 1 {
			s.empty(u, t.local, uint8(bits.TrailingZeros8(detected)))
		}
	}
	s.serveSwitch(p)
}

// empty throws away all packets of an egress queue.
func (s *Sim) empty(u *switchUnit, out uint16, prio uint8) {
	var e switchcore.Entry
	var o switchcore.Outcome
	for u.core.Drain(out, prio, &e, &o) {
		if o.Flags&switchcore.XON != 0 {
			s.sendPause(u.firstPort+uint32(e.In), prio, 0)
		}
		s.leaveSwitch(u, e.In, prio, e.Bytes)
		s.pool.put(e.Packet)
	}
}

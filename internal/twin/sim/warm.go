package sim

// In a fabric of thousands of ports hardly anything that an event needs is in
// the near caches, and events depend on each other too closely for the processor
// to run ahead. So the lines that the events of a bucket need are read together
// first, in steps of which each needs the one before: the loads of one step
// overlap. This has no effect but on time.

// manyPorts is from how many ports on it pays.
const manyPorts = 256

// warmBatch is how many events are looked at.
const warmBatch = 32

// warm reads what the events of a bucket will need.
func (s *Sim) warm(bucket []event) {
	if len(s.tx) < manyPorts || len(bucket) < 3 {
		return
	}
	bucket = bucket[:min(len(bucket), warmBatch)]
	var packets, outs [warmBatch]uint32
	sum := s.warmth

	for i := range bucket {
		switch index := bucket[i].key.index(); bucket[i].key.kind() {
		case kindArrive:
			r := &s.rx[index]
			sum += s.flights[r.lane.base+r.lane.first&r.lane.mask].packet
		case kindWake:
			sum += s.tx[index].peer
		}
	}
	for i := range bucket {
		switch index := bucket[i].key.index(); bucket[i].key.kind() {
		case kindArrive:
			r := &s.rx[index]
			packets[i] = s.flights[r.lane.base+r.lane.first&r.lane.mask].packet
			sum += s.pool.all[packets[i]].bytes
		case kindWake:
			t := &s.tx[index]
			outs[i] = index
			sum += s.flights[t.lane.base+t.lane.next&t.lane.mask].packet
			if t.flags&isHost == 0 {
				sum += s.switches[t.unit].core.TouchPort(t.local, s.roce)
			} else {
				n := &s.nics[t.unit]
				sum += n.card + n.rings[s.roce].head + uint32(n.count[s.roce].txFrames)
			}
		}
	}
	for i := range bucket {
		if packets[i] == 0 {
			continue
		}
		r := &s.rx[bucket[i].key.index()]
		pk := &s.pool.all[packets[i]]
		if r.host {
			n := &s.nics[r.unit]
			sum += n.card + uint32(n.count[pk.prio].rxFrames)
			if pk.kind == dataPacket {
				v := &s.receivers[pk.qp]
				sum += uint32(v.resp.Expected) + v.port
			} else {
				q := &s.senders[pk.qp]
				sum += uint32(q.req.Unacknowledged()) + uint32(q.nextAt) + q.port
			}
			continue
		}
		if pk.hop >= maxHops || pk.out[pk.hop] == noPort {
			continue
		}
		u := &s.switches[r.unit]
		out := pk.out[pk.hop]
		outs[i] = u.firstPort + uint32(out)
		sum += s.tx[outs[i]].peer + u.core.TouchPort(out, pk.prio) + u.core.TouchIngress(r.local, pk.prio)
	}
	for i := range bucket {
		if outs[i] == 0 {
			continue
		}
		t := &s.tx[outs[i]]
		sum += s.flights[t.lane.base+t.lane.next&t.lane.mask].packet
		if t.flags&isHost != 0 {
			q := &s.senders[s.nics[t.unit].rings[s.roce].head] // of 0, too
			sum += uint32(q.req.Unacknowledged()) + uint32(q.nextAt) + q.port
			continue
		}
		core := s.switches[t.unit].core
		if packets[i] != 0 {
			sum += core.TouchTail(t.local, s.pool.all[packets[i]].prio)
		} else {
			sum += core.TouchHead(t.local, s.roce)
		}
	}
	s.warmth = sum
}

package flow

import (
	"weir/internal/collective"
	"weir/internal/twin/sim"
	"weir/units"
)

// pipeline computes when the steps of one channel of a schedule happen if data
// between nodes go at a constant pace: the packet simulator's executor without
// events, for every time follows from earlier ones. Resources that channels
// share (links inside the node, the NVLink switch) are taken as divided evenly.
type pipeline struct {
	s      *collective.Schedule
	t      sim.HostTiming
	proto  collective.Protocol
	first  int // first lane of the channel
	per    int // lanes of the channel
	depth  uint32
	wire   units.Pace // of a byte between nodes; a slice of a tree takes half, for it goes up or down while the other way is idle or between slices
	delay  units.Time // of the fabric
	grant  units.Time // of a cleared slot, back to the sender
	shared units.Time // how many channels use the NVLink switch
	lanes  []lane
	pipes  []pipe
	list   []peer
	ready  []uint32
	end    units.Time
}

type lane struct {
	free      units.Time
	taken     int
	out, in   uint32
	outs, ins uint16
	over      bool
}

type peer struct {
	rank int32
	pipe uint32
}

type pipe struct {
	remote             bool
	sent, consumed     uint32
	visible            [collective.Slots]units.Time // of slices to the receiving GPU
	taken              [collective.Slots]units.Time // when the receiver consumed a slot
	acked              [collective.Slots]units.Time
	busy               units.Time // until when the wire, or the link, is taken
	sendLane, recvLane uint32     // that wait, plus 1
	sender, receiver   int32
}

type pipeKey struct{ src, dst int32 }

// run returns when the last rank ends, counted from the first step.
func (p *pipeline) run() units.Time {
	p.build()
	for i := range p.lanes {
		p.ready = append(p.ready, uint32(i))
	}
	for len(p.ready) > 0 {
		id := p.ready[len(p.ready)-1]
		p.ready = p.ready[:len(p.ready)-1]
		for p.step(id) {
		}
	}
	return p.end
}

func (p *pipeline) build() {
	s := p.s
	p.lanes = make([]lane, s.Ranks()*p.per)
	index := map[pipeKey]uint32{}
	var buf []int32
	for r := range s.Ranks() {
		for k := range p.per {
			l := &p.lanes[r*p.per+k]
			add := func(other int32, key pipeKey) {
				id, ok := index[key]
				if !ok {
					id = uint32(len(p.pipes))
					index[key] = id
					p.pipes = append(p.pipes, pipe{remote: int(key.src)/s.RanksPerNode() != int(key.dst)/s.RanksPerNode(), sender: key.src, receiver: key.dst})
				}
				p.list = append(p.list, peer{other, id})
			}
			buf = s.AppendPeers(buf[:0], r, p.first+k)
			l.out, l.outs = uint32(len(p.list)), uint16(len(buf))
			for _, other := range buf {
				add(other, pipeKey{int32(r), other})
			}
			buf = s.AppendSources(buf[:0], r, p.first+k)
			l.in, l.ins = uint32(len(p.list)), uint16(len(buf))
			for _, other := range buf {
				add(other, pipeKey{other, int32(r)})
			}
		}
	}
}

func (p *pipeline) find(first uint32, n uint16, rank int32) uint32 {
	for i := first; i < first+uint32(n); i++ {
		if p.list[i].rank == rank {
			return p.list[i].pipe
		}
	}
	panic("a step without a pipe")
}

// step takes a lane's next step, and reports false when it must wait or ends.
func (p *pipeline) step(id uint32) bool {
	l := &p.lanes[id]
	if l.over {
		return false
	}
	rank, half := int(id)/p.per, int(id)%p.per
	st, ok := p.s.Step(rank, p.first+half, l.taken)
	if !ok {
		l.over = true
		p.end = max(p.end, l.free)
		return false
	}
	now := l.free
	var recv, send [collective.MaxPeers]uint32
	for k := 0; k < collective.MaxPeers && st.Recv[k] != collective.NoPeer; k++ {
		recv[k] = p.find(l.in, l.ins, st.Recv[k])
		q := &p.pipes[recv[k]]
		if q.sent == q.consumed {
			q.recvLane = id + 1
			return false
		}
		now = max(now, q.visible[q.consumed%p.depth])
	}
	for k := 0; k < collective.MaxPeers && st.Send[k] != collective.NoPeer; k++ {
		send[k] = p.find(l.out, l.outs, st.Send[k])
		q := &p.pipes[send[k]]
		if q.sent >= p.depth {
			if q.consumed+p.depth <= q.sent { // the slot's last use is not over
				q.sendLane = id + 1
				return false
			}
			slot := q.sent % p.depth
			if q.remote {
				now = max(now, q.acked[slot])
			} else {
				now = max(now, q.taken[slot])
			}
		}
	}
	l.taken++
	if st.Gather || st.Spread {
		now += p.t.NVLS.Time(st.Bytes) * p.shared
	}
	for k := 0; k < collective.MaxPeers && st.Recv[k] != collective.NoPeer; k++ {
		q := &p.pipes[recv[k]]
		q.taken[q.consumed%p.depth] = now
		q.consumed++
		if q.sendLane != 0 {
			p.ready = append(p.ready, q.sendLane-1)
			q.sendLane = 0
		}
	}
	bytes := uint32(p.proto.WireBytes(units.Bytes(st.Bytes)))
	start := now + p.t.Fence
	l.free = start
	if p.t.Along || st.Send[0] != collective.NoPeer {
		l.free += p.t.Busy.Time(bytes)
	}
	for k := 0; k < collective.MaxPeers && st.Send[k] != collective.NoPeer; k++ {
		p.push(&p.pipes[send[k]], bytes, now, start)
	}
	return true
}

// push hands a slice to a pipe.
func (p *pipeline) push(q *pipe, bytes uint32, now, start units.Time) {
	slot := q.sent % p.depth
	done := start + p.t.Copy.Time(bytes)
	if q.remote {
		post := done + p.t.Send + p.t.Post + p.t.Stage
		if q.sent >= p.depth { // the receiver must have cleared the slot
			post = max(post, q.taken[slot]+p.grant)
		}
		begin := max(post, q.busy)
		sent := p.wire.Time(max(bytes, 1))
		q.busy = begin + sent
		if p.per == 2 {
			sent /= 2
		}
		arrived := begin + sent + p.delay
		q.acked[slot] = arrived + p.delay
		q.visible[slot] = arrived + p.t.Recv + p.t.Stage
	} else {
		head := max(now, q.busy)
		q.busy = head + p.t.Links.Time(bytes)
		at := max(done, q.busy)
		if p.t.Along {
			at = max(start, head)
		}
		q.visible[slot] = at + p.t.Local
	}
	q.sent++
	if q.recvLane != 0 {
		p.ready = append(p.ready, q.recvLane-1)
		q.recvLane = 0
	}
}

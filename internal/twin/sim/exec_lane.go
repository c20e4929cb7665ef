package sim

import (
	"weir/internal/collective"
	"weir/units"
)

// wakeLane puts a lane on the list of those that may be able to go on.
func (s *Sim) wakeLane(id uint32) {
	l := &s.exec.lanes[id]
	if !l.queued {
		l.queued = true
		s.exec.ready = append(s.exec.ready, id)
	}
}

// wakeWaiting wakes the lane that waits at an end of a pipe.
func (s *Sim) wakeWaiting(lane *uint32) {
	if *lane != 0 {
		s.wakeLane(*lane - 1)
		*lane = 0
	}
}

// runLanes lets lanes go on until all are blocked.
func (s *Sim) runLanes() {
	x := &s.exec
	for x.next < len(x.ready) {
		id := x.ready[x.next]
		x.next++
		x.lanes[id].queued = false
		for s.stepLane(id) {
		}
	}
	x.ready, x.next = x.ready[:0], 0
}

// stepLane takes the next step of a lane. It reports false when the lane is
// blocked or has ended.
func (s *Sim) stepLane(id uint32) bool {
	l := &s.exec.lanes[id]
	j := &s.exec.jobs[s.exec.ranks[l.rank].job]
	if !l.hasStep {
		var ok bool
		if l.step, ok = j.schedule.Step(int(s.exec.ranks[l.rank].index), int(l.number), int(l.taken)); !ok {
			if !s.busy(id, l) {
				s.laneEnds(id)
			}
			return false
		}
		l.hasStep = true
		l.recv = s.find(l.in, l.ins, &l.inTurn, &l.step.Recv)
		l.send = s.find(l.out, l.outs, &l.outTurn, &l.step.Send)
	}
	st := &l.step
	for k := 0; k < collective.MaxPeers && st.Recv[k] != collective.NoPeer; k++ {
		in := &s.exec.ins[l.recv[k]]
		if in.remote && in.granted == 0 {
			s.grant(l.recv[k])
			in = &s.exec.ins[l.recv[k]]
		}
		if in.visible == in.consumed {
			in.lane = id + 1
			return false
		}
	}
	for k := 0; k < collective.MaxPeers && st.Send[k] != collective.NoPeer; k++ {
		if s.full(l.send[k]) {
			s.exec.outs[l.send[k]].lane = id + 1
			return false
		}
	}
	if s.busy(id, l) {
		return false
	}
	if (st.Gather || st.Spread) && !l.served {
		s.serveNVLS(id)
		return true
	}
	l.served = false
	l.hasStep = false
	l.taken++
	for k := 0; k < collective.MaxPeers && st.Recv[k] != collective.NoPeer; k++ {
		s.consume(l.recv[k])
	}
	t := &j.timing
	start := s.now + t.fence
	bytes := uint32(j.run.Choice.Protocol.WireBytes(units.Bytes(st.Bytes)))
	l.freeAt = start
	if t.along || st.Send[0] != collective.NoPeer { // else the data are where they belong
		l.freeAt += t.busy.Time(bytes)
	}
	for k := 0; k < collective.MaxPeers && st.Send[k] != collective.NoPeer; k++ {
		s.push(t, l.send[k], bytes, start)
	}
	return true
}

// busy tells whether a lane still works on its last step, and then has it woken
// when it is done.
func (s *Sim) busy(id uint32, l *execLane) bool {
	if l.freeAt <= s.now {
		return false
	}
	if !l.planned {
		l.planned = true
		s.planExec(l.rank, execLaneWake, id, l.freeAt)
	}
	return true
}

// serveNVLS occupies the NVLink switch of a lane's node for the lane's step,
// and keeps the lane busy until it is done.
func (s *Sim) serveNVLS(id uint32) {
	l := &s.exec.lanes[id]
	k := &s.exec.ranks[l.rank]
	j := &s.exec.jobs[k.job]
	n := &j.nodes[int(k.index)/j.plan.PerNode]
	d := j.timing.nvls.Time(l.step.Bytes)
	done := s.now
	if l.step.Gather {
		n.gather = max(n.gather, done) + d
		done = n.gather
	}
	if l.step.Spread {
		n.spread = max(n.spread, done) + d
		done = n.spread
	}
	l.served = true
	l.freeAt = done
}

// find returns the pipes to the peers of a step. Peers come in turn, so the
// search starts where the last one ended.
func (s *Sim) find(first uint32, n uint16, turn *uint16, want *[collective.MaxPeers]int32) (pipes [collective.MaxPeers]uint32) {
	peers := s.exec.peers[first : first+uint32(n)]
	for k, rank := range want {
		if rank == collective.NoPeer {
			break
		}
		i := int(*turn)
		for peers[i].rank != rank {
			if i++; i == len(peers) {
				i = 0
			}
		}
		*turn = uint16(i)
		pipes[k] = peers[i].pipe
	}
	return pipes
}

// planExec sets an event of the executor at a rank's node.
func (s *Sim) planExec(rank, what, id uint32, at units.Time) {
	s.queue.push(at, makeKey(s.exec.ranks[rank].node, kindExec, execIndex(what, id)))
}

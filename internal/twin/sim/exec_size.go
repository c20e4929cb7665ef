package sim

import "weir/units"

// startSize prepares the next size of a job and starts its ranks.
func (s *Sim) startSize(id uint32) {
	x := &s.exec
	j := &x.jobs[id]
	bytes := j.sizes[j.current]
	choice, err := j.plan.Choose(bytes)
	if err == nil {
		j.schedule, err = j.plan.Schedule(choice, bytes)
	}
	if err != nil { // AddCollective has seen that there is none
		s.broken("job %s: %v", j.plan.Job.Name, err)
		return
	}
	j.run = CollectiveRun{
		Bytes: j.schedule.Bytes(), Choice: choice, Channels: j.schedule.Channels(),
		Iterations: j.iterations, Start: s.now, Ends: make([]units.Time, j.iterations),
	}
	j.timing = timingOf(j.plan, choice, j.schedule)
	j.working = j.plan.Ranks
	s.startCPU(j)
	j.gen++
	if err := s.buildSize(id); err != nil {
		s.err = err
		return
	}
	for r := range uint32(j.plan.Ranks) {
		k := &x.ranks[j.firstRank+r]
		k.iteration = 0
		s.queue.push(s.now+j.timing.launch, makeKey(k.node, kindExec, execIndex(execRankStart, j.firstRank+r)))
	}
}

// pair of ranks on a channel.
type pipeKey struct {
	src, dst int32
	channel  int32
}

// buildSize makes the lanes and pipes of a job's current schedule. Their room
// is taken again from size to size as far as it suffices.
func (s *Sim) buildSize(id uint32) error {
	x := &s.exec
	j := &x.jobs[id]
	sch := j.schedule
	lanes := uint32(sch.Ranks() * sch.Lanes())
	if lanes > j.capLanes {
		j.firstLane, j.capLanes = uint32(len(x.lanes)), lanes
		x.lanes = append(x.lanes, make([]execLane, lanes)...)
	}
	var list []peer
	pipes := map[pipeKey]uint32{}
	var keys []pipeKey
	var buf []int32
	collect := func(rank, lane int, out bool) (first uint32, n uint16) {
		first = uint32(len(list))
		if out {
			buf = sch.AppendPeers(buf[:0], rank, lane)
		} else {
			buf = sch.AppendSources(buf[:0], rank, lane)
		}
		for _, other := range buf {
			k := pipeKey{int32(rank), other, int32(sch.Channel(lane))}
			if !out {
				k.src, k.dst = other, int32(rank)
			}
			p, ok := pipes[k]
			if !ok {
				p = uint32(len(keys))
				pipes[k] = p
				keys = append(keys, k)
			}
			list = append(list, peer{other, p})
		}
		return first, uint16(len(buf))
	}
	for r := range sch.Ranks() {
		for l := range sch.Lanes() {
			lane := &x.lanes[j.firstLane+uint32(r*sch.Lanes()+l)]
			*lane = execLane{rank: j.firstRank + uint32(r), number: uint16(l)}
			lane.out, lane.outs = collect(r, l, true)
			lane.in, lane.ins = collect(r, l, false)
		}
	}
	if err := s.checkExecRoom(len(keys)); err != nil {
		return err
	}
	if n := uint32(len(keys)); n > j.capPipes {
		j.firstPipe, j.capPipes = uint32(len(x.outs)), n
		x.outs = append(x.outs, make([]pipeOut, n)...)
		x.ins = append(x.ins, make([]pipeIn, n)...)
	}
	if n := uint32(len(list)); n > j.capPeers {
		j.firstPeer, j.capPeers = uint32(len(x.peers)), n
		x.peers = append(x.peers, make([]peer, n)...)
	}
	for i := range list {
		list[i].pipe += j.firstPipe
	}
	copy(x.peers[j.firstPeer:], list)
	for i := range lanes {
		x.lanes[j.firstLane+i].out += j.firstPeer
		x.lanes[j.firstLane+i].in += j.firstPeer
	}
	for i, k := range keys {
		if err := s.makePipe(j, j.firstPipe+uint32(i), k); err != nil {
			return err
		}
	}
	return nil
}

// makePipe sets up the pipe between two ranks, with its connection if they are
// on two nodes.
func (s *Sim) makePipe(j *execJob, id uint32, k pipeKey) error {
	pl := j.plan
	from, to := int(k.src)/pl.PerNode, int(k.dst)/pl.PerNode
	p, q := &s.exec.outs[id], &s.exec.ins[id]
	*p = pipeOut{gen: j.gen, rank: j.firstRank + uint32(k.src), depth: uint32(j.schedule.Depth()), remote: from != to}
	*q = pipeIn{gen: j.gen, rank: j.firstRank + uint32(k.dst), remote: from != to, most: uint32(j.schedule.SlicesPerPeer() * j.iterations)}
	p.proxy = p.rank
	if from == to {
		return nil
	}
	a, b := j.schedule.NICs(k.src, k.dst, int(k.channel), pl.PXN())
	if pl.PXN() {
		p.proxy = j.firstRank + uint32(from*pl.PerNode+j.schedule.NearGPU(a))
	}
	key := linkKey{pl.NICs[from][a], pl.NICs[to][b], k.channel}
	if q.most != 0 {
		key.channel = k.dst // the proxy sends for all ranks of its node over one connection
	}
	l, ok := j.links[key]
	if !ok {
		var err error
		o := Options{SrcThread: int(p.proxy-j.firstRank)%pl.PerNode + 1, DstThread: int(k.dst)%pl.PerNode + 1}
		if l.data, err = s.connect(key.src, key.dst, o, ownerSlice); err != nil {
			return err
		}
		if pl.ClearsByWrite() {
			if l.clear, err = s.connect(key.dst, key.src, Options{QueuePairs: 1}, ownerClear); err != nil {
				return err
			}
		}
		j.links[key] = l
	}
	p.data, q.clear, q.writes = l.data, l.clear, pl.ClearsByWrite()
	return nil
}

// startRank is the event that a rank's kernel begins an iteration.
func (s *Sim) startRank(id uint32) {
	k := &s.exec.ranks[id]
	j := &s.exec.jobs[k.job]
	n := uint32(j.schedule.Lanes())
	k.lanesLeft = int32(n)
	first := j.firstLane + uint32(k.index)*n
	for l := first; l < first+n; l++ {
		lane := &s.exec.lanes[l]
		lane.taken, lane.hasStep, lane.served, lane.freeAt = 0, false, false, 0
		lane.outTurn, lane.inTurn = 0, 0
		s.wakeLane(l)
	}
}

// laneEnds notes that a lane has no more steps in this iteration.
func (s *Sim) laneEnds(id uint32) {
	x := &s.exec
	k := &x.ranks[x.lanes[id].rank]
	if k.lanesLeft--; k.lanesLeft != 0 {
		return
	}
	j := &x.jobs[k.job]
	j.run.Ends[k.iteration] = s.now
	if k.iteration++; int(k.iteration) < j.iterations {
		s.queue.push(s.now+j.timing.launch, makeKey(k.node, kindExec, execIndex(execRankStart, x.lanes[id].rank)))
		return
	}
	if j.working--; j.working != 0 {
		return
	}
	j.run.End = s.now
	j.run.CPUShare = s.cpuShare(j)
	if s.cfg.Check {
		s.checkPipes(j)
	}
	j.runs = append(j.runs, j.run)
	if j.current++; j.current < len(j.sizes) {
		s.queue.push(s.now, makeKey(x.ranks[j.firstRank].node, kindExec, execIndex(execJobStart, k.job)))
		return
	}
	s.open--
}

// checkPipes proves, when a size has ended, that every slice has passed its
// pipe exactly once (Config.Check). Acknowledgements may still be under way.
func (s *Sim) checkPipes(j *execJob) {
	for id := j.firstPipe; id < j.firstPipe+j.capPipes; id++ {
		out, in := &s.exec.outs[id], &s.exec.ins[id]
		if out.gen != j.gen {
			continue // room of a larger size before
		}
		if out.remote && out.posted != out.sent || in.delivered != out.sent || in.visible != out.sent || in.consumed != out.sent || in.ahead != 0 {
			s.broken("job %s: between ranks %d and %d, %d slices sent, %d posted, %d delivered, %d visible, %d consumed",
				j.plan.Job.Name, out.rank-j.firstRank, in.rank-j.firstRank, out.sent, out.posted, in.delivered, in.visible, in.consumed)
			return
		}
	}
}

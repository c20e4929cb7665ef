package sim

// checkEvery is how many events lie between two looks at all packets.
const checkEvery = 1 << 20

// checkSwitches proves the invariants of all switches (Config.Check).
func (s *Sim) checkSwitches() {
	for i := range s.switches {
		u := &s.switches[i]
		if err := u.core.Check(); err != nil {
			s.broken("%s: %v", s.cluster.Nodes[u.node].Name, err)
			return
		}
		if len(s.cluster.Faults) != 0 {
			continue // they make lossless priorities lose
		}
		if err := u.core.CheckLossless(s.now); err != nil {
			s.broken("%s: %v", s.cluster.Nodes[u.node].Name, err)
			return
		}
	}
	s.checkPackets()
}

// checkPackets proves that each packet of the pool is in one place: free, on a
// link, in a switch or waiting in a NIC.
func (s *Sim) checkPackets() {
	found := 0
	count := func(f *fifo) {
		for i := f.head; i != 0; i = s.pool.all[i].next {
			found++
		}
	}
	for i := range s.rx {
		found += int(s.inFlight(uint32(i)))
		count(&s.rx[i].control)
	}
	for i := range s.nics {
		count(&s.nics[i].acks)
		count(&s.nics[i].cnps)
		count(&s.nics[i].answers)
	}
	for i := range s.tcp.all {
		k := &s.tcp.all[i]
		count(&k.inbox)
		count(&k.served)
		count(&k.answers)
	}
	for i := range s.switches {
		core := s.switches[i].core
		for p := range core.Ports() {
			for prio := range uint8(priorities) {
				found += int(core.QueuePackets(uint16(p), prio))
			}
		}
	}
	s.checkCredits(found == 0)
	if found != s.pool.used {
		s.broken("%d packets are somewhere, %d exist", found, s.pool.used)
	}
}

// finish proves what must hold when all work is done. Packets may still be
// under way: repeated ones, and acknowledgements of them.
func (s *Sim) finish() error {
	if !s.cfg.Check || s.err != nil {
		return s.err
	}
	s.checkSwitches()
	for i := 1; i < len(s.senders); i++ {
		q := &s.senders[i]
		if done := q.req.Completed(); s.receivers[i].resp.Delivered != done {
			s.broken("queue pair %d: %d messages delivered, %d acknowledged", i, s.receivers[i].resp.Delivered, done)
		}
	}
	return s.err
}

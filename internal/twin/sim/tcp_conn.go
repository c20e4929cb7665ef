package sim

import (
	"fmt"

	"weir/internal/cluster"
	"weir/internal/twin/fabric"
	"weir/units"
)

// connectTCP makes a connection of sockets, as many as threads have.
func (s *Sim) connectTCP(src, dst cluster.NICRef, from, to uint32, pairs [][2]cluster.PortID, o Options, by owner) (ConnID, error) {
	if len(s.tcp.all) == 0 {
		s.buildTCP()
	}
	t, m := &s.tcp, &s.cluster.TCP
	threads, each := 1, 1
	if by != ownerFlow {
		threads, each = max(m.Threads, 1), max(m.Sockets, 1)
	}
	n := threads * each
	if len(t.all)+n >= maxSockets || len(s.senders)+n >= maxIndexes {
		return 0, fmt.Errorf("too many sockets: allowed are %d", maxSockets-1)
	}
	if s.cluster.QoS.PortMTU != 0 && m.MTU > s.cluster.QoS.PortMTU {
		return 0, fmt.Errorf("transports.tcp.mtu of %d above qos.port_mtu of %d", m.MTU, s.cluster.QoS.PortMTU)
	}
	id := ConnID(len(s.conns))
	c := conn{src: from, dst: to, firstQP: uint32(len(s.senders)), qps: uint16(n), owner: by, firstSocket: uint32(len(t.all))}
	var sender, reader uint32
	for k := range n {
		if k%each == 0 {
			mine, theirs := o.SrcThread-1, o.DstThread-1 // 0: one of its own
			if threads > 1 {
				mine, theirs = -1, -1
			}
			sender, reader = t.threadCore(uint32(src.Host), mine), t.threadCore(uint32(dst.Host), theirs)
		}
		if err := s.addSocket(id, pairs[k%len(pairs)], o.Priority, sender, reader); err != nil {
			return 0, err
		}
		k := &t.all[len(t.all)-1]
		k.from, k.to = uint32(src.Host), uint32(dst.Host)
		k.irq, k.rirq = sender, reader
		if !m.SameCore {
			k.irq, k.rirq = t.interruptCore(k.from), t.interruptCore(k.to)
		}
		if by == ownerSlice || by == ownerClear { // the library has run its warm-up
			k.snd.Window.Reset(t.params.Control, t.params.MSS, max(t.params.InitialWindow, uint32(m.WarmWindow)/t.params.MSS))
		}
		k.early = by == ownerSlice || by == ownerClear // NCCL: a send is done when the kernel has it
		k.sleeps = !k.early
	}
	s.conns = append(s.conns, c)
	return id, nil
}

// Ports of TCP, as far as hashes see them: the range of Linux's clients, and
// any listener's.
const (
	firstTCPPort = 32768
	tcpPorts     = 28232
	tcpListener  = 50000
	protocolTCP  = 6
)

func (s *Sim) addSocket(id ConnID, ports [2]cluster.PortID, prio uint8, sender, reader uint32) error {
	qp := s.allocQP(1)
	pair := uint64(ports[0])<<32 | uint64(ports[1])
	flow := QueuePairHash(s.seed, s.portEntity(ports[0]), s.portEntity(ports[1]), uint32(s.pairs[pair]))
	s.pairs[pair]++
	there := fabric.Fields{
		SrcIP: s.fabric.Address(ports[0]), DstIP: s.fabric.Address(ports[1]),
		SrcPort: firstTCPPort + uint16(scramble(flow)%tcpPorts), DstPort: tcpListener, Protocol: protocolTCP,
	}
	back := there
	back.SrcIP, back.DstIP = there.DstIP, there.SrcIP
	back.SrcPort, back.DstPort = there.DstPort, there.SrcPort
	q, r := &s.senders[qp], &s.receivers[qp]
	q.port, r.port = s.egress(ports[0], &there), s.egress(ports[1], &back)
	q.conn, q.prio, q.rates = id, prio, s.ratesOf(q.port)
	r.rates = q.rates
	q.reaction.Reset(&s.dcqcn[q.rates])
	q.socket = uint32(len(s.tcp.all))
	// Switches spread TCP by its hash whatever they do with RDMA.
	if err := s.setRoute(&s.routes[2*qp], s.rare[q.port].id, ports[1], there, -1, true); err != nil {
		return err
	}
	if err := s.setRoute(&s.routes[2*qp+1], s.rare[r.port].id, ports[0], back, -1, true); err != nil {
		return err
	}
	s.routes[2*qp].flow, s.routes[2*qp+1].flow = flow, scramble(flow)
	s.tcp.all = append(s.tcp.all, socket{qp: qp, conn: id, thread: sender, rthread: reader})
	k := &s.tcp.all[q.socket]
	window := uint64(s.cluster.TCP.ReceiveBuffer)
	k.snd.Reset(&s.tcp.params, window)
	k.rcv.Reset()
	k.edge = window
	return nil
}

// postTCP gives a message to the sockets of a connection: in equal shares, but
// none below the least task.
func (s *Sim) postTCP(id ConnID, c *conn, bytes units.Bytes, cookie uint64) {
	n := units.Bytes(c.qps)
	each := max(s.cluster.TCP.MinTask, (bytes+n-1)/n)
	parts := (bytes + each - 1) / each
	t := s.newTransfer(id, cookie, uint32(parts))
	first := c.firstSocket
	for k := range uint32(parts) {
		at := first + (uint32(c.turn)+k)%uint32(c.qps)
		sock := &s.tcp.all[at]
		sock.posted += uint64(min(each, bytes))
		bytes -= min(each, bytes)
		sock.tasks = append(sock.tasks, task{sock.posted, t})
		s.startCopy(at)
	}
	c = &s.conns[id]
	c.turn = uint16((uint32(c.turn) + uint32(parts)) % uint32(c.qps))
}

// startCopy lets the sender's thread copy the next batch into the socket
// buffer, if it has room.
func (s *Sim) startCopy(id uint32) {
	k := &s.tcp.all[id]
	if k.copying {
		return
	}
	waits := k.posted - k.snd.Written()
	kept := k.snd.Written() - k.snd.Acknowledged()
	if waits == 0 || kept >= uint64(s.cluster.TCP.SendBuffer) {
		return
	}
	k.copying = true
	k.copied = uint32(min(waits, uint64(s.tcp.batch)))
	cost := &s.tcp.costs[k.from]
	d := cost.sendCall + units.Time(cost.sendByte*float64(k.copied))
	s.planTCP(k.from, id, tcpCopied, s.work(k.from, k.thread, d))
}

// tcpCopied is the event that a batch is in the socket buffer.
func (s *Sim) tcpCopied(id uint32) {
	k := &s.tcp.all[id]
	k.copying = false
	k.snd.Write(uint64(k.copied))
	s.startCopy(id)
	s.resumeSocket(id)
	if k = &s.tcp.all[id]; k.early {
		s.tasksDone(id, k.snd.Written())
	}
}

// tasksDone notes at the sender that all tasks up to a place in the stream are
// complete for it.
func (s *Sim) tasksDone(id uint32, upTo uint64) {
	for {
		k := &s.tcp.all[id]
		i := k.firstTask + k.doneTasks
		if i >= len(k.tasks) || k.tasks[i].end > upTo {
			s.forget(k)
			return
		}
		k.doneTasks++
		t := &s.transfers[k.tasks[i].transfer]
		t.incomplete--
		if t.incomplete == 0 {
			if !k.early {
				s.latency.add(s.now - t.first)
			}
			conn, cookie, first := t.conn, t.cookie, t.first
			s.release(k.tasks[i].transfer)
			s.completedAt(conn, cookie, first)
		}
	}
}

// release frees a transfer once it is delivered and complete at the sender.
func (s *Sim) release(id uint32) {
	t := &s.transfers[id]
	if t.incomplete != 0 || t.undelivered != 0 {
		return
	}
	t.next = s.freeTransfer
	s.freeTransfer = id
	s.completed++
}

// forget drops the tasks that both ends are done with.
func (s *Sim) forget(k *socket) {
	n := min(k.doneTasks, k.readTasks)
	k.firstTask += n
	k.doneTasks -= n
	k.readTasks -= n
	if k.firstTask == len(k.tasks) {
		k.tasks, k.firstTask = k.tasks[:0], 0
	} else if k.firstTask > 64 && k.firstTask*2 > len(k.tasks) {
		k.tasks = append(k.tasks[:0], k.tasks[k.firstTask:]...)
		k.firstTask = 0
	}
}

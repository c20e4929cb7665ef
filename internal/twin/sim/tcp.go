package sim

import (
	"math"

	"weir/internal/cluster"
	"weir/internal/twin/tcp"
	"weir/units"
)

// TCP runs over sockets: one direction of a connection each. A socket takes
// the number of a queue pair, under which NICs schedule it and routes are
// kept; its machinery is in package tcp. What distinguishes it from RDMA is
// that the hosts' cores do the work: a call copies up to a batch into the
// socket buffer, an interrupt takes what has arrived through the stack,
// another call copies it out. Each of these occupies a core for its cycles.
type sockets struct {
	all    []socket // 0: none
	cores  []core
	first  []uint32 // core by host
	costs  []costs  // by host
	busy   []units.Time
	spread []hostCores
	params tcp.Params
	batch  uint32 // bytes of one pass, a multiple of the MSS
	header uint32 // of a frame around the payload
	marks  bool   // its packets are capable of ECN
}

// core is one core of a host: it takes work in order.
type core struct{ free units.Time }

// hostCores deals out a host's cores: to threads from the first on, to
// interrupts from the last on.
type hostCores struct{ threads, interrupts uint32 }

// costs are a host's cycles as times.
type costs struct {
	sendByte, receiveByte          float64 // picoseconds
	sendCall, receiveCall, segment units.Time
	ack, interrupt                 units.Time
}

// A socket is one direction of a TCP connection, both ends.
type socket struct {
	snd tcp.Sender
	rcv tcp.Receiver

	qp             uint32
	conn           ConnID
	thread, irq    uint32 // cores: of the sending side, for calls and acknowledgements
	rthread, rirq  uint32 // of the receiving side
	from, to       uint32 // hosts
	copying        bool   // a call that sends is under way
	polling        bool   // the receiver's interrupt is set or served
	reading        bool   // a call that receives is under way
	heeding        bool   // the sender's interrupt for acknowledgements is set or served
	timerSet       bool
	sleeps         bool // its reader sleeps until data come
	early          bool // messages are complete for the sender once in the socket buffer
	posted         uint64
	read           uint64
	edge           uint64 // right edge of the window told last
	copied, taking uint32 // bytes of the calls under way
	acks           uint32 // sent
	inbox          fifo   // segments that wait for the receiver's interrupt
	served         fifo   // segments that it serves
	answers        fifo   // acknowledgements that wait for the sender's
	tasks          []task // messages, from first on
	firstTask      int
	doneTasks      int // of tasks from firstTask on: complete for the sender
	readTasks      int // delivered
	urgent         tcp.Segment
	hasUrgent      bool // a probe to send before all else
}

// A task is the part of a message that goes over one socket.
type task struct {
	end      uint64 // in the stream
	transfer uint32
}

// What the index of kindTCP means, with the socket in the upper bits.
const (
	tcpCopied    = iota // a call that sends has ended
	tcpInterrupt        // the receiver's interrupt comes
	tcpServed           // the receiver's stack has taken what had come
	tcpRead             // a call that receives has ended
	tcpHeed             // the sender's interrupt for acknowledgements comes
	tcpHeeded           // the sender's stack has taken them
	tcpTimer            // retransmission
	tcpWoken            // the reader, who has slept, runs

	tcpBits    = 3
	maxSockets = 1 << (indexBits - tcpBits)
)

// Bytes of TCP over IPv4 with the timestamp option.
const tcpHeaders = ipv4Bytes + 20 + 12

// buildTCP lays out the cores of all hosts.
func (s *Sim) buildTCP() {
	c := s.cluster
	t := &s.tcp
	m := &c.TCP
	mss := uint32(max(m.MTU, tcpHeaders+64)) - tcpHeaders
	t.all = make([]socket, 1)
	t.params = tcp.Params{MSS: mss, Control: tcp.Control(m.Control), InitialWindow: uint32(max(m.InitialWindow, 1)), MinRTO: m.MinRTO}
	t.batch = max(uint32(m.Batch)/mss, 1) * mss
	t.header = ethernetBytes + tcpHeaders + fcsBytes
	t.marks = m.Control == cluster.DCTCP
	t.first = make([]uint32, len(c.Hosts))
	t.costs = make([]costs, len(c.Hosts))
	t.busy = make([]units.Time, len(c.Hosts))
	t.spread = make([]hostCores, len(c.Hosts))
	for h := range c.Hosts {
		t.first[h] = uint32(len(t.cores))
		cpu := &c.Hosts[h].CPU
		t.cores = append(t.cores, make([]core, max(cpu.Cores, 1))...)
		cycle := 1e12 / max(cpu.Hertz, 1e6)
		at := func(cycles float64) units.Time { return units.Time(math.Round(cycles * cycle)) }
		t.costs[h] = costs{
			sendByte: m.SendByte * cycle, receiveByte: m.ReceiveByte * cycle,
			sendCall: at(m.SendCall), receiveCall: at(m.ReceiveCall), segment: at(m.Segment),
			ack: at(m.Ack), interrupt: at(m.Interrupt),
		}
	}
}

// coreOf returns a core of a host by number; numbers beyond its cores share.
func (t *sockets) coreOf(host, n uint32) uint32 {
	return t.first[host] + n%t.count(host)
}

// interruptCore deals out the next core for interrupts of a host.
func (t *sockets) interruptCore(host uint32) uint32 {
	n, count := t.spread[host].interrupts, t.count(host)
	t.spread[host].interrupts++
	return t.first[host] + count - 1 - n%count
}

func (t *sockets) count(host uint32) uint32 {
	if int(host)+1 < len(t.first) {
		return t.first[host+1] - t.first[host]
	}
	return uint32(len(t.cores)) - t.first[host]
}

// threadCore returns the core of a thread: of that number, or the next one.
func (t *sockets) threadCore(host uint32, thread int) uint32 {
	if thread >= 0 {
		return t.coreOf(host, uint32(thread))
	}
	n := t.spread[host].threads
	t.spread[host].threads++
	return t.coreOf(host, n)
}

// work occupies a core of a host and returns when it is done.
func (s *Sim) work(host, id uint32, d units.Time) units.Time {
	c := &s.tcp.cores[id]
	c.free = max(c.free, s.now) + d
	s.tcp.busy[host] += d
	return c.free
}

// CPUTime returns how long the cores of a host have worked for its transport.
func (s *Sim) CPUTime(host int32) units.Time {
	if len(s.tcp.busy) == 0 {
		return 0
	}
	return s.tcp.busy[host]
}

// planTCP sets an event of a socket at its sending or receiving host.
func (s *Sim) planTCP(host, id, what uint32, at units.Time) {
	s.queue.push(at, makeKey(uint32(s.cluster.Hosts[host].Node), kindTCP, id<<tcpBits|what))
}

// runTCP is the event of a socket.
func (s *Sim) runTCP(index uint32) {
	id := index >> tcpBits
	switch index & (1<<tcpBits - 1) {
	case tcpCopied:
		s.tcpCopied(id)
	case tcpInterrupt:
		s.serveSegments(id)
	case tcpServed:
		s.tcpServed(id)
	case tcpRead:
		s.tcpRead(id)
	case tcpHeed:
		s.heedAnswers(id)
	case tcpHeeded:
		s.tcpHeeded(id)
	case tcpWoken:
		s.takeRead(id)
	case tcpTimer:
		s.tcpExpire(id)
	}
}

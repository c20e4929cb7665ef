package sim

import (
	"context"
	"fmt"
	"math"

	"weir/dcqcn"
	"weir/internal/cluster"
	"weir/internal/twin/fabric"
	"weir/rc"
	"weir/units"
)

// Sim is one run of a fabric. It is not safe for concurrent use.
type Sim struct {
	now   units.Time
	queue *queue
	pool  pool
	hops  uint64

	tx        []txPort // by port
	rx        []rxPort // by port
	flights   []flight
	switches  []switchUnit
	nics      []nicPort
	cards     []card
	senders   []sender
	receivers []receiver
	routes    []route // by 2 x queue pair: requests, and responses after them

	wire      Wire
	rc        rc.Params
	dcqcn     []dcqcn.Params // by line rate
	dcqcnBase dcqcn.Params
	model     Model
	seed      uint64
	cnpOnAck  bool
	roce      uint8 // priority of the RoCE class
	obeys     uint8 // priorities that NICs obey pause for

	nicShares nicShares

	watchdog, watchdogDrops bool
	watchAt                 []units.Time // by port: when its watchdog looks; Never: not planned

	flowlets    []flowlet
	rare        []rarePort
	refreshSet  []uint8 // by port: priorities whose XOFF has a renewal planned
	nicCounters []NICCounters
	transfers   []transfer
	messages    slab[rc.Message]
	slots       slab[uint32]
	conns       []conn
	flows       []Flow
	handlers    Handlers
	exec        executor
	tcp         sockets
	credits     []creditPort      // by port; nil: no InfiniBand
	lane        int32             // receive buffer of a virtual lane
	largest     int32             // credits of the largest frame
	pairs       map[uint64]uint32 // queue pairs made by pair of host ports
	taps        map[uint32]func(*Frame)
	latency     Histogram

	freeTransfer              uint32
	events, posted, completed uint64
	open, stranded, failures  int
	unroutable, checkAt       uint64
	pausing                   int // (NIC port, priority) pairs that pause the network

	warmth uint32

	actions []action
	detours map[cluster.NodeID]*detour // what changes routing at a node; nil: nothing
	swapped map[cluster.NICRef]cluster.NICRef
	loads   []load
	still   standstill

	cfg     Config
	cluster *cluster.Cluster
	fabric  *fabric.Fabric

	firstPort []uint32 // by node
	firstCard []uint32 // by host
	err       error
}

// New makes a simulator of a cluster's fabric at time 0.
func New(cfg Config) (*Sim, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := cfg.Cluster
	f, err := cfg.Fabric, error(nil)
	if f == nil {
		if f, err = fabric.New(c); err != nil {
			return nil, err
		}
	}
	seed := cfg.Seed
	if seed == 0 {
		seed = c.Seed
	}
	s := &Sim{
		cfg: cfg, cluster: c, fabric: f,
		queue: newQueue(cfg.HeapQueue),
		pool:  newPool(1024),
		wire:  cfg.Wire, model: cfg.Model,
		seed:      SeedOf(seed),
		cnpOnAck:  c.RDMA.CNPOnAck,
		transfers: make([]transfer, 1),
		senders:   make([]sender, 1), receivers: make([]receiver, 1), routes: make([]route, 2),
		pairs:         map[uint64]uint32{},
		watchdog:      c.QoS.Watchdog.Enabled,
		watchdogDrops: c.QoS.Watchdog.Action == 0,
	}
	if s.wire == (Wire{}) {
		s.wire = RoCEv2Wire()
		switch c.Transport {
		case cluster.RoCEv1:
			s.wire = RoCEv1Wire()
		case cluster.InfiniBand:
			s.wire = InfiniBandWire()
		}
	}
	if s.model == (Model{}) {
		s.model = DefaultModel(c)
	}
	s.dcqcnBase = c.DCQCN
	s.roce = c.QoS.RoCE().Priority
	s.nicShares = newNICShares(c)
	if c.QoS.PFC && c.Transport != cluster.InfiniBand {
		s.obeys = c.QoS.LosslessMask()
	}
	if s.rc, err = connectionParams(c); err != nil {
		return nil, err
	}
	if c.Routing.Mode == cluster.Flowlet {
		s.flowlets = make([]flowlet, 2*maxHops)
	}
	if err := s.build(); err != nil {
		return nil, err
	}
	if c.Transport == cluster.InfiniBand {
		s.buildCredits()
	}
	return s, nil
}

// connectionParams derives the settings of connections.
func connectionParams(c *cluster.Cluster) (rc.Params, error) {
	r := &c.RDMA
	p := rc.Params{
		MTU: uint32(c.QoS.MTU), AckEvery: r.AckEvery,
		OutOfOrder: r.OutOfOrder,
		Timeout:    rc.Timeout(r.Timeout), RetryCount: r.RetryCount, RNRRetry: r.RNRRetry,
		NakInterval: r.NakInterval,
	}
	if r.Window > 0 {
		p.Window = uint32(max(1, r.Window/c.QoS.MTU))
	}
	switch r.Recovery {
	case "go-back-n", "":
	case "selective-repeat":
		p.Recovery = rc.SelectiveRepeat
	case "go-back-0":
		p.Recovery = rc.GoBack0
	default:
		return p, fmt.Errorf("recovery %q: allowed are go-back-n, selective-repeat and go-back-0", r.Recovery)
	}
	return p, nil
}

// Handle sets who is told of messages on connections made by Connect.
func (s *Sim) Handle(h Handlers) { s.handlers = h }

// Now returns the current time.
func (s *Sim) Now() units.Time { return s.now }

// Run takes events until the given time has passed (they may lie at it), until
// all flows are done, all messages acknowledged and all packets out of the
// fabric, or until ctx ends, and returns nil, nil or ctx's error. It may be
// called again to go on. It returns
// ErrStalled when work is open and nothing can happen any more, and with
// Config.Check an error that wraps ErrInvariant when the simulator is wrong.
func (s *Sim) Run(ctx context.Context, until units.Time) error {
	every := s.cfg.ProgressEvery
	if every == 0 {
		every = 1 << 20
	}
	const look = 1 << 16 // events between two looks at the context
	for !s.done() {
		n := uint64(look)
		if s.cfg.Progress != nil {
			n = min(n, every-s.events%every)
		}
		more := s.step(until, n)
		if s.cfg.Progress != nil && s.events%every == 0 {
			s.cfg.Progress(Progress{Now: s.now, Events: s.events, PacketHops: s.hops, Messages: s.posted, Completed: s.completed})
		}
		if s.err == nil && s.cfg.Check && s.events >= s.checkAt {
			s.checkAt = s.events + checkEvery
			s.checkSwitches()
		}
		if s.err != nil {
			return s.err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if !more {
			if s.queue.len() == 0 && s.working() {
				return s.stalled()
			}
			s.now = max(s.now, until)
			return nil
		}
	}
	return s.finish()
}

// Wire returns the sizes of frames in use.
func (s *Sim) Wire() Wire { return s.wire }

// Working reports whether flows, collectives or messages are not done.
func (s *Sim) Working() bool { return s.working() }

// working reports whether work is open.
func (s *Sim) working() bool { return s.open != 0 || s.posted != s.completed }

// done reports whether no work is open and all traces of it have gone.
func (s *Sim) done() bool {
	return !s.working() && (s.pool.used == 0 && s.pausing == 0 || s.still.over)
}

// step takes up to n events. It reports false when none is left that is due.
func (s *Sim) step(until units.Time, n uint64) bool {
	q := s.queue
	for range n {
		e, ok := q.next()
		if !ok || e.at > until {
			return false
		}
		if q.head == 0 {
			s.warm(q.open)
		}
		q.drop()
		s.now = e.at
		s.events++
		index := e.key.index()
		switch e.key.kind() {
		case kindArrive:
			s.arrive(index)
		case kindControl:
			s.arriveControl(index)
		case kindWake:
			s.wake(index)
		case kindDrain:
			s.drain(index)
		case kindTimer:
			s.expire(index)
		case kindDoorbell:
			s.doorbell(index)
		case kindDeliver:
			s.deliver(index)
		case kindFlow:
			s.startFlow(FlowID(index))
		case kindExec:
			s.runExec(index)
		case kindCredits:
			s.takeCredits(index)
		case kindTCP:
			s.runTCP(index)
		case kindRefresh:
			s.refresh(index)
		case kindWatchdog:
			if s.watchAt[index] == s.now {
				s.watchAt[index] = units.Never
				s.watch(index)
			}
		case kindAction:
			if s.act(index); s.err != nil {
				return true
			}
		}
		if s.pool.used == 0 && s.done() {
			return true
		}
	}
	return true
}

// wake is the event that a port looks for something to send.
func (s *Sim) wake(p uint32) {
	t := &s.tx[p]
	if t.wakeAt != s.now {
		return // an earlier wake-up took its place
	}
	t.wakeAt = units.Never
	if t.flags&isHost != 0 {
		s.serveNIC(p)
	} else {
		s.serveSwitch(p)
	}
}

// stalled says what is left undone.
func (s *Sim) stalled() error {
	paused := 0
	for i := range s.nics {
		if s.nics[i].paused != 0 {
			paused++
		}
	}
	return fmt.Errorf("%w at %v: %d of %d messages are not acknowledged, %d queue pairs have failed, %d flows found no path, %d NIC ports are paused",
		ErrStalled, s.now, s.posted-s.completed, s.posted, s.failures, s.stranded, paused)
}

// broken records that an invariant does not hold.
func (s *Sim) broken(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("%w at %v: %s", ErrInvariant, s.now, fmt.Sprintf(format, args...))
	}
}

// lossOf scales a probability to 2^32.
func lossOf(p float64) uint32 { return uint32(math.Round(min(p, 1) * math.MaxUint32)) }

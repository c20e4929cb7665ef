package sim

import (
	"fmt"

	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/collective/nccl"
	"weir/internal/twin/plan"
	"weir/units"
)

// The executor runs collectives: ranks are GPUs whose lanes take the steps of
// a collective.Schedule in order. A step waits until its slices have arrived
// and until the buffers towards the next ranks have a free slot. Data inside a
// node cross NVLink, modelled as a server for each GPU and direction. Data
// between nodes are RDMA messages, posted by a proxy once the receiver has
// cleared a slot for them.
//
// Everything that one node does touches only its own state; nodes affect each
// other through messages alone.
type executor struct {
	jobs  []execJob
	ranks []execRank
	lanes []execLane
	outs  []pipeOut
	ins   []pipeIn // the other end of outs, by the same number
	peers []peer   // of lanes: those that they send to and receive from
	ready []uint32 // lanes that may be able to go on, in the order in which they were woken
	next  int      // first of ready
}

// execJob is one collective job: all its sizes, one after the other.
type execJob struct {
	plan       *plan.Plan
	sizes      []units.Bytes
	iterations int
	start      units.Time

	current  int // index of the size that runs
	schedule *collective.Schedule
	run      CollectiveRun
	runs     []CollectiveRun
	timing   timing
	working  int // ranks that have not finished the current size
	gen      uint16
	nodes    []execNode
	links    map[linkKey]link
	cpuStart []units.Time // of each node, when the size began

	firstRank, firstLane, firstPipe, firstPeer uint32
	capLanes, capPipes, capPeers               uint32
}

// CollectiveRun is what one size of a collective job took.
type CollectiveRun struct {
	Bytes      units.Bytes // as run: rounded down to a multiple of the ranks where each has a block
	Choice     nccl.Choice
	Channels   int
	Iterations int
	CPUShare   float64      // of the busiest host's cores, for TCP
	Start, End units.Time   // first launch, last rank's end; End 0: not finished
	Ends       []units.Time // of each iteration: the last rank's end
}

// Time returns the mean time of an iteration, launch included.
func (r *CollectiveRun) Time() units.Time {
	if r.End == 0 {
		return 0
	}
	return (r.End - r.Start) / units.Time(r.Iterations)
}

// timing holds the host's latencies for one size: those of NCCL's cost model,
// less what the simulated fabric adds itself.
type timing struct {
	launch units.Time // from the start of an iteration to the first step
	fence  units.Time // that a lane is busy with a slice beyond copying it
	busy   units.Pace // of one byte, flags included, that keeps a lane busy
	copy   units.Pace // of one byte until its slice is copied
	along  bool       // the next GPU reads a slice while it is written (LL, LL128)
	local  units.Time // of a step inside the node, beyond fence and transfer
	send   units.Time // of a step between nodes: from the GPU to the proxy
	recv   units.Time // from memory to the GPU: completion, flush, flag
	post   units.Time // proxy's work for one message
	stage  units.Time // latency of a copy between GPU and host memory; 0: none
	pace   units.Pace // of one byte over a GPU's links inside the node, each way
	nvls   units.Pace // of one byte of data in the NVLink switch, each way
}

// leastHost is what a network step costs the host at least on each side.
const leastHost = 100 * units.Nanosecond

// execNode is what the ranks of one node share.
type execNode struct {
	gather, spread units.Time // until when the NVLink switch is busy adding, multicasting
}

// execRank is one GPU with its proxy.
type execRank struct {
	job       uint32
	node      uint32 // cluster.NodeID of its host
	index     int32  // rank in the job
	egress    units.Time
	ingress   units.Time // until when NVLink is busy, out and in
	proxy     units.Time // until when its proxy thread is busy
	lanesLeft int32
	iteration int32
}

// execLane is one lane of one rank.
type execLane struct {
	step       collective.Step
	recv, send [collective.MaxPeers]uint32 // pipes of the step
	taken      int32                       // steps of this iteration
	rank       uint32
	out, in    uint32 // first of its peers in executor.peers
	outs, ins  uint16 // how many they are
	outTurn    uint16 // where the last search ended
	inTurn     uint16
	number     uint16     // lane of the schedule
	freeAt     units.Time // until when it is busy with the last step
	hasStep    bool
	planned    bool // an event is set for freeAt
	served     bool // the NVLink switch has done its part of the step
	queued     bool // in executor.ready
}

// peer is a rank that a lane sends to or receives from, and the pipe between.
type peer struct {
	rank int32
	pipe uint32
}

// AddCollective adds the job of a plan. It runs the plan's sizes one after the
// other, each as many times as the job says, from start on.
func (s *Sim) AddCollective(p *plan.Plan, start units.Time) (int, error) {
	x := &s.exec
	sizes := p.Sizes()
	if len(sizes) == 0 {
		return 0, fmt.Errorf("job %s has no size to run", p.Job.Name)
	}
	for _, b := range sizes { // refuse before anything runs
		choice, err := p.Choose(b)
		if err != nil {
			return 0, err
		}
		if _, err := p.Schedule(choice, b); err != nil {
			return 0, fmt.Errorf("job %s: %w", p.Job.Name, err)
		}
	}
	id := len(x.jobs)
	j := execJob{
		plan: p, sizes: sizes, iterations: max(p.Job.Iterations, 1), start: max(start, s.now),
		nodes: make([]execNode, p.Nodes), links: map[linkKey]link{},
		firstRank: uint32(len(x.ranks)),
	}
	if len(x.ranks)+p.Ranks > maxExecIndex {
		return 0, fmt.Errorf("too many ranks: allowed are %d in all jobs", maxExecIndex)
	}
	for r := range p.Ranks {
		host := p.Job.Hosts[r/p.PerNode]
		x.ranks = append(x.ranks, execRank{job: uint32(id), node: uint32(p.Cluster.Hosts[host].Node), index: int32(r)})
	}
	x.jobs = append(x.jobs, j)
	s.open++
	s.queue.push(j.start, makeKey(x.ranks[j.firstRank].node, kindExec, execIndex(execJobStart, uint32(id))))
	return id, nil
}

// CollectiveRuns returns the sizes that a job has finished so far.
func (s *Sim) CollectiveRuns(job int) []CollectiveRun { return s.exec.jobs[job].runs }

// Events of the executor: what the index of kindExec means.
const (
	execArrive   = iota // the next slice of a pipe becomes visible to the GPU
	execPost            // the next message of a pipe may be posted
	execClear           // a slot of a pipe has been cleared, without a write
	execLaneWake        // a lane is free for its next step
	execRankStart
	execJobStart

	execBits     = 3
	maxExecIndex = 1 << (indexBits - execBits)
)

func execIndex(what, id uint32) uint32 { return id<<execBits | what }

// runExec is the event of the executor.
func (s *Sim) runExec(index uint32) {
	id := index >> execBits
	switch index & (1<<execBits - 1) {
	case execArrive:
		s.pipeArrive(id)
	case execPost:
		s.pipePost(id)
	case execClear:
		s.slotCleared(id)
	case execLaneWake:
		s.exec.lanes[id].planned = false
		s.wakeLane(id)
	case execRankStart:
		s.startRank(id)
	case execJobStart:
		s.startSize(id)
	}
	s.runLanes()
}

// linkKey identifies a connection between two NICs for the ranks of a job.
type linkKey struct {
	src, dst cluster.NICRef
	channel  int32
}

// link is a connection and the one back, for clear-to-send writes.
type link struct{ data, clear ConnID }

func microseconds(us float64) units.Time { return units.Time(us*float64(units.Microsecond) + 0.5) }

// timingOf derives the latencies of a size.
func timingOf(p *plan.Plan, choice nccl.Choice, sch *collective.Schedule) timing {
	var t timing
	sys := &p.System
	var launch, local, net float64
	switch choice.Algorithm {
	case collective.Hierarchical, collective.Direct:
		launch = nccl.Base(collective.Ring, choice.Protocol)
		local = nccl.Step(sys.Local, collective.Ring, choice.Protocol)
		net = nccl.Step(nccl.Network, collective.Ring, choice.Protocol)
	default:
		parts := sys.Parts(p.Job.Op, choice.Algorithm, choice.Protocol)
		launch, local, net = parts[0].Each, parts[1].Each, parts[2].Each
		if choice.Algorithm == collective.NVLS || choice.Algorithm == collective.NVLSTree {
			launch += local + p.NVLSRamp(choice, sch.Settings().Bytes)
			local = 0
		}
	}
	t.launch, t.local = microseconds(launch), microseconds(local)
	t.fence = t.local / 2
	t.local -= t.fence
	t.busy, t.copy = p.LanePace(choice, sch.Channels())
	t.along = choice.Protocol != collective.Simple
	t.post = microseconds(sys.PostOverhead(collective.LL)) // of one message: Simple counts three
	host := microseconds(net) - plan.FabricShare - t.fence - t.post
	t.send = max(host/2, leastHost)
	t.recv = max(host/2, leastHost)
	if p.Cluster.NCCL.NoOverhead {
		t.post, t.send, t.recv = 0, leastHost, leastHost
		if p.Nodes > 1 {
			t.local, t.fence = leastHost, 0
		}
	}
	if p.Cluster.Staged() {
		t.stage = p.Cluster.HostCopy.Latency
	}
	if p.LinkRate > 0 {
		t.pace = p.LinkRate.Pace()
	}
	if p.NVLSRate > 0 {
		// The rate is the bus bandwidth of eight GPUs: 7/4 of the data's.
		rate := p.NVLSRate / 7 * 4
		if bus := sys.BusCap(choice.Algorithm, choice.Protocol); bus > 0 {
			n := float64(p.Ranks)
			rate = min(rate, units.BitRate(bus*8e9*n/(2*(n-1))))
		}
		t.nvls = rate.Pace()
	}
	return t
}

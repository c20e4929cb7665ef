// Package flow is the fluid model of a fabric: data flow at rates that are
// max-min fair on the links, over the same routes, with the same five-tuples and
// hash decisions as the packets of package sim have. It knows no packets, so it
// knows no queues, marks, pauses or losses; what it gives is time.
//
// A collective is taken apart by channel. All pipes of a channel's ring or tree
// wait for each other, so they have one rate, which the fluid network decides;
// then the steps of the channel's schedule are timed at that rate with the hosts'
// latencies (pipeline). The pairs of an all_to_all go at rates of their own.
package flow

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sort"
	"sync"

	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/collective/nccl"
	"weir/internal/twin/fabric"
	"weir/internal/twin/plan"
	"weir/internal/twin/sim"
	"weir/units"
)

// Config is what a run depends on.
type Config struct {
	Cluster *cluster.Cluster
	Fabric  *fabric.Fabric                   // its routes, without links that are dead
	Seed    uint64                           // 0: the cluster's
	Rate    map[cluster.PortID]units.BitRate // ports that are slower than their links
	Workers int                              // 0: all processors
}

// Collective is one size of a collective job.
type Collective struct {
	Job        int
	Choice     nccl.Choice
	Channels   int
	Bytes      units.Bytes
	Ranks      int
	Iterations int
	Time       units.Time // of one iteration
}

// Flow is one flow of a flow job.
type Flow struct {
	Job, Index int
	Start, FCT units.Time
}

// Result is what a run tells.
type Result struct {
	Collectives []Collective
	Flows       []Flow
	Bytes       []float64  // payload that each port sent, by port
	Payload     float64    // share of line rate that payload takes
	Transfers   int        // connections between NICs
	End         units.Time // of the last job
}

// Bounds of a run.
const (
	maxPipes = 6_000_000
	maxSteps = 3e9
)

// phase is one size of a collective job, or one flow.
type phase struct {
	job         int
	flow        int // index of the flow, -1: a collective
	start       units.Time
	next        int // phase of the same job that follows; -1: none
	first, last int // groups
	channels    []int
	plan        *plan.Plan
	choice      nccl.Choice
	schedule    *collective.Schedule
	latency     units.Time
	left        int
	duration    units.Time
}

type run struct {
	cfg    Config
	net    *network
	groups []group
	delays []units.Time // of the fabric, by group
	phases []phase
	links  int
}

// Run times all jobs of a cluster. It refuses what it cannot know.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	c := cfg.Cluster
	if c.Transport != cluster.RoCEv2 && c.Transport != cluster.RoCEv1 {
		return nil, fmt.Errorf("transport %s: the fluid model has rocev2 and rocev1; others need packets", c.Transport)
	}
	if cfg.Seed == 0 {
		cfg.Seed = c.Seed
	}
	r := &run{cfg: cfg, net: newNetwork(c, cfg.Fabric, sim.SeedOf(cfg.Seed), cfg.Rate)}
	if err := r.add(); err != nil {
		return nil, err
	}
	if err := r.fluid(ctx); err != nil {
		return nil, err
	}
	if err := r.pipelines(ctx); err != nil {
		return nil, err
	}
	return r.result(), nil
}

// starter is something that makes connections at its start time. The packet
// simulator runs events of one time by node, flows before collectives.
type starter struct {
	at        units.Time
	node      cluster.NodeID
	flow      bool
	job, item int
	order     int
}

func (r *run) add() error {
	c := r.cfg.Cluster
	var list []starter
	for j := range c.Jobs {
		job := &c.Jobs[j]
		switch job.Kind {
		case cluster.CollectiveJob:
			list = append(list, starter{at: job.Start, node: c.Hosts[job.Hosts[0]].Node, job: j, order: len(list)})
		case cluster.FlowJob:
			for i, f := range job.Flows {
				list = append(list, starter{at: job.Start + f.Start, node: c.Hosts[f.Src.Host].Node, flow: true, job: j, item: i, order: len(list)})
			}
		default:
			return fmt.Errorf("job %s: neither a collective nor flows", job.Name)
		}
	}
	sort.Slice(list, func(i, k int) bool {
		a, b := &list[i], &list[k]
		switch {
		case a.at != b.at:
			return a.at < b.at
		case a.node != b.node:
			return a.node < b.node
		case a.flow != b.flow:
			return a.flow
		}
		return a.order < b.order
	})
	for i := range list {
		var err error
		if s := &list[i]; s.flow {
			err = r.addFlow(s)
		} else {
			err = r.addCollective(s.job)
		}
		if err != nil {
			return fmt.Errorf("job %s: %w", c.Jobs[list[i].job].Name, err)
		}
	}
	return nil
}

func (r *run) qps() int { return max(1, r.cfg.Cluster.RDMA.QPsPerConnection) }

func (r *run) addFlow(s *starter) error {
	f := &r.cfg.Cluster.Jobs[s.job].Flows[s.item]
	link, err := r.net.connect(f.Src, f.Dst, r.qps(), true)
	if err != nil {
		return err
	}
	r.links++
	first := len(r.groups)
	r.group(merged(link.demands), float64(f.Bytes), math.Inf(1), link.latency)
	r.phases = append(r.phases, phase{job: s.job, flow: s.item, start: s.at, next: -1, first: first, last: first + 1, latency: link.latency})
	return nil
}

func (r *run) group(demands []demand, bytes, limit float64, delay units.Time) {
	r.groups = append(r.groups, group{demands: demands, bytes: bytes, sent: bytes, limit: limit})
	r.delays = append(r.delays, delay)
}

// linkKey identifies a connection as the packet simulator's executor does.
type linkKey struct {
	src, dst cluster.NICRef
	channel  int32
}

func (r *run) addCollective(job int) error {
	c := r.cfg.Cluster
	p, err := plan.New(c, &c.Jobs[job])
	if err != nil {
		return err
	}
	links := map[linkKey]connection{}
	before := -1
	for _, size := range p.Sizes() {
		choice, err := p.Choose(size)
		if err != nil {
			return err
		}
		sch, err := p.Schedule(choice, size)
		if err != nil {
			return err
		}
		ph := phase{job: job, flow: -1, start: p.Job.Start, next: -1, plan: p, choice: choice, schedule: sch}
		ph.first = len(r.groups)
		if err := r.connectAll(&ph, links); err != nil {
			return err
		}
		ph.last = len(r.groups)
		if before >= 0 {
			r.phases[before].next = len(r.phases)
			ph.start = units.Never
		}
		before = len(r.phases)
		r.phases = append(r.phases, ph)
	}
	return nil
}

// between is a connection of a phase with what it carries.
type between struct {
	key   linkKey
	pipes int
}

// connectAll makes a schedule's connections in the packet simulator's order, and
// groups of them.
func (r *run) connectAll(ph *phase, links map[linkKey]connection) error {
	sch, p := ph.schedule, ph.plan
	direct := sch.SlicesPerPeer() > 0
	type pipeID struct{ src, dst, channel int32 }
	seen := map[pipeID]bool{}
	index := map[linkKey]int{}
	byChannel := make([][]between, sch.Channels())
	var all []between
	var buf []int32
	visit := func(src, dst int32, channel int) error {
		from, to := int(src)/p.PerNode, int(dst)/p.PerNode
		id := pipeID{src, dst, int32(channel)}
		if from == to || seen[id] {
			return nil
		}
		if len(seen) >= maxPipes {
			return fmt.Errorf("%s of %d ranks: more than %d pairs, which the fluid model does not hold", p.Job.Op, p.Ranks, maxPipes)
		}
		seen[id] = true
		a, b := sch.NICs(src, dst, channel, p.PXN())
		key := linkKey{p.NICs[from][a], p.NICs[to][b], int32(channel)}
		if direct {
			key.channel = dst
		}
		k, ok := index[key]
		if !ok {
			k = len(all)
			index[key] = k
			all = append(all, between{key: key})
			if _, ok := links[key]; !ok {
				link, err := r.net.connect(key.src, key.dst, r.qps(), true)
				if err != nil {
					return err
				}
				if p.ClearsByWrite() {
					if _, err := r.net.connect(key.dst, key.src, 1, false); err != nil {
						return err
					}
				}
				links[key] = link
				r.links++
			}
			if !direct {
				byChannel[channel] = append(byChannel[channel], all[k])
			}
		}
		all[k].pipes++
		return nil
	}
	for rank := range sch.Ranks() {
		for lane := range sch.Lanes() {
			buf = sch.AppendPeers(buf[:0], rank, lane)
			for _, q := range buf {
				if err := visit(int32(rank), q, sch.Channel(lane)); err != nil {
					return err
				}
			}
			buf = sch.AppendSources(buf[:0], rank, lane)
			for _, q := range buf {
				if err := visit(q, int32(rank), sch.Channel(lane)); err != nil {
					return err
				}
			}
		}
	}
	if direct {
		bytes, _ := sch.Traffic(0)
		for i := range all {
			link := links[all[i].key]
			r.group(merged(append([]demand(nil), link.demands...)), float64(all[i].pipes)*float64(bytes), math.Inf(1), link.latency)
			ph.latency = max(ph.latency, link.latency)
		}
		return nil
	}
	per := sch.Lanes() / sch.Channels()
	const some = 1 << 20
	t := sim.TimingOf(p, ph.choice, sch)
	limit := math.Inf(1)
	if d := t.Busy.Time(some); d > 0 {
		limit = some / d.Seconds()
	}
	for channel, list := range byChannel {
		var demands []demand
		var delay units.Time
		for _, b := range list {
			link := links[b.key]
			demands = append(demands, link.demands...)
			delay += link.latency
		}
		if len(list) > 0 {
			delay /= units.Time(len(list))
		}
		bytes, _ := sch.Traffic(channel * per)
		wire := float64(ph.choice.Protocol.WireBytes(bytes))
		if len(list) == 0 {
			wire = 0
		}
		ph.channels = append(ph.channels, channel)
		r.group(merged(demands), wire*float64(max(p.Job.Iterations, 1)), limit, delay)
	}
	return nil
}

// together is within what part of the time that has passed groups count as done
// at the same moment.
const together = 2e-3

// fluid lets all groups flow until they are done: rates are constant between two
// moments at which something starts or ends.
func (r *run) fluid(ctx context.Context) error {
	s := newSolver(r.net.capacity)
	now := 0.
	var active []int32
	owner := make([]int, len(r.groups))
	open := 0
	for i := range r.phases {
		ph := &r.phases[i]
		ph.left = ph.last - ph.first
		for g := ph.first; g < ph.last; g++ {
			owner[g] = i
		}
		open++
	}
	started := make([]bool, len(r.phases))
	finish := func(i int) {
		open--
		if n := r.phases[i].next; n >= 0 {
			r.phases[n].start = units.Time(now * float64(units.Second))
		}
	}
	for open > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := math.Inf(1)
		for i := range r.phases {
			ph := &r.phases[i]
			if started[i] || ph.start == units.Never {
				continue
			}
			if at := ph.start.Seconds(); at > now+1e-12 {
				next = math.Min(next, at)
				continue
			}
			started[i] = true
			for g := ph.first; g < ph.last; g++ {
				if r.groups[g].bytes <= 0 {
					r.groups[g].done = true
					ph.left--
					continue
				}
				active = append(active, int32(g))
			}
			if ph.left == 0 {
				finish(i)
				next = now // what follows starts at once
			}
		}
		if len(active) == 0 {
			if math.IsInf(next, 1) {
				break
			}
			now = next
			continue
		}
		s.solve(r.groups, active)
		step := math.Inf(1)
		for _, id := range active {
			g := &r.groups[id]
			if g.rate <= 0 {
				return fmt.Errorf("a transfer that gets no bandwidth")
			}
			g.room = math.Max(g.room, s.room(g))
			step = math.Min(step, g.bytes/g.rate)
		}
		step = math.Min(step+together*now, next-now)
		now += step
		kept := active[:0]
		for _, id := range active {
			g := &r.groups[id]
			took := math.Min(step, g.bytes/g.rate)
			g.spent += took
			g.bytes -= g.rate * took
			if took < step || g.bytes <= g.sent*1e-9 {
				g.done = true
				ph := &r.phases[owner[id]]
				if ph.left--; ph.left == 0 {
					finish(owner[id])
				}
				continue
			}
			kept = append(kept, id)
		}
		active = kept
	}
	return nil
}

// shape is what the timing of a channel depends on: groups of the same shape
// are timed once.
type shape struct {
	ranks, perNode, nics, channel, channels int
	op                                      collective.Op
	choice                                  collective.Algorithm
	protocol                                collective.Protocol
	bytes                                   units.Bytes
	depth                                   int
	timing                                  sim.HostTiming
	wire                                    units.Pace
	delay, grant                            units.Time
}

// pipelines times the channels of all collectives and the flows.
func (r *run) pipelines(ctx context.Context) error {
	type job struct {
		key shape
		sch *collective.Schedule
	}
	var todo []job
	known := map[shape]int{}
	uses := map[int][]int{} // phase -> numbers of its jobs
	for i := range r.phases {
		ph := &r.phases[i]
		if ph.flow >= 0 {
			g := &r.groups[ph.first]
			ph.duration = units.Time(g.spent*float64(units.Second)) + 2*ph.latency
			continue
		}
		t := sim.TimingOf(ph.plan, ph.choice, ph.schedule)
		if ph.schedule.SlicesPerPeer() > 0 {
			r.direct(ph, &t)
			continue
		}
		if err := bounded(ph); err != nil {
			return err
		}
		for k, channel := range ph.channels {
			g := &r.groups[ph.first+k]
			key := shape{
				ranks: ph.plan.Ranks, perNode: ph.plan.PerNode, nics: len(ph.plan.NICs[0]), channel: channel, channels: ph.schedule.Channels(),
				op: ph.plan.Job.Op, choice: ph.choice.Algorithm, protocol: ph.choice.Protocol, bytes: ph.schedule.Bytes(), depth: ph.schedule.Depth(), timing: t,
			}
			if g.spent > 0 {
				rate := g.sent / g.spent
				if rate > 0.999*g.limit {
					rate = g.room // the hosts are slower than the network
				}
				key.wire = units.BitRate(rate * 8).Pace()
				key.delay = r.delays[ph.first+k] / units.Nanosecond * units.Nanosecond
				key.grant = plan.FabricShare
				if ph.plan.ClearsByWrite() {
					key.grant = key.delay
				}
			}
			n, ok := known[key]
			if !ok {
				n = len(todo)
				known[key] = n
				todo = append(todo, job{key, ph.schedule})
			}
			uses[i] = append(uses[i], n)
		}
	}
	ends := make([]units.Time, len(todo))
	workers := r.cfg.Workers
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	next := make(chan int, len(todo))
	for i := range todo {
		next <- i
	}
	close(next)
	var all sync.WaitGroup
	for range min(workers, max(len(todo), 1)) {
		all.Go(func() {
			for i := range next {
				if ctx.Err() != nil {
					continue
				}
				k := &todo[i].key
				per := todo[i].sch.Lanes() / todo[i].sch.Channels()
				p := pipeline{
					s: todo[i].sch, t: k.timing, proto: k.protocol, first: k.channel * per, per: per, depth: uint32(k.depth),
					wire: k.wire, delay: k.delay, grant: k.grant, shared: units.Time(k.channels),
				}
				ends[i] = p.run()
			}
		})
	}
	all.Wait()
	for i, list := range uses {
		ph := &r.phases[i]
		for _, n := range list {
			ph.duration = max(ph.duration, ends[n])
		}
		t := sim.TimingOf(ph.plan, ph.choice, ph.schedule)
		ph.duration += t.Launch
	}
	return ctx.Err()
}

// bounded refuses a schedule that would take too long to time.
func bounded(ph *phase) error {
	s := ph.schedule
	steps := 0.
	for lane := range s.Lanes() {
		_, slices := s.Traffic(lane)
		steps += slices
	}
	if steps *= float64(s.Ranks()); steps > maxSteps {
		return fmt.Errorf("%s of %v by %s on %d ranks: %.2g steps, allowed are %.2g", ph.plan.Job.Op, s.Bytes(), ph.choice.Algorithm, s.Ranks(), steps, float64(maxSteps))
	}
	return nil
}

// direct times an all_to_all: one launch and one step, the proxy's posts, and
// all pairs at once.
func (r *run) direct(ph *phase, t *sim.HostTiming) {
	longest := 0.
	for g := ph.first; g < ph.last; g++ {
		longest = math.Max(longest, r.groups[g].spent)
	}
	p := ph.plan
	posts := units.Time((p.Nodes - 1) * p.PerNode / max(ph.schedule.Channels(), 1))
	ph.duration = t.Launch + t.Fence + t.Send + t.Recv + ph.latency + posts*t.Post + units.Time(longest*float64(units.Second))
	if p.Nodes == 1 {
		bytes, _ := ph.schedule.Traffic(0)
		ph.duration = t.Launch + t.Fence + t.Local + t.Links.Time(1<<20)*units.Time(bytes)*units.Time(p.Ranks-1)/(1<<20)
	}
}

func (r *run) result() *Result {
	out := &Result{Bytes: make([]float64, len(r.cfg.Cluster.Ports)), Payload: r.net.payload, Transfers: r.links}
	for i := range r.groups {
		g := &r.groups[i]
		for _, d := range g.demands {
			if int(d.resource) < len(out.Bytes) {
				out.Bytes[d.resource] += g.sent * float64(d.weight)
			}
		}
	}
	begin := map[int]units.Time{}
	for i := range r.phases {
		ph := &r.phases[i]
		if ph.flow >= 0 {
			out.Flows = append(out.Flows, Flow{ph.job, ph.flow, ph.start, ph.duration})
			out.End = max(out.End, ph.start+ph.duration)
			continue
		}
		n := max(ph.plan.Job.Iterations, 1)
		if _, ok := begin[ph.job]; !ok {
			begin[ph.job] = ph.plan.Job.Start
		}
		begin[ph.job] += ph.duration * units.Time(n)
		out.End = max(out.End, begin[ph.job])
		out.Collectives = append(out.Collectives, Collective{
			Job: ph.job, Choice: ph.choice, Channels: ph.schedule.Channels(), Bytes: ph.schedule.Bytes(), Ranks: ph.plan.Ranks, Iterations: n, Time: ph.duration,
		})
	}
	sort.SliceStable(out.Flows, func(i, k int) bool {
		a, b := &out.Flows[i], &out.Flows[k]
		return a.Job < b.Job || a.Job == b.Job && a.Index < b.Index
	})
	sort.SliceStable(out.Collectives, func(i, k int) bool { return out.Collectives[i].Job < out.Collectives[k].Job })
	return out
}

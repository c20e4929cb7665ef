package twin

import (
	"context"
	"fmt"
	"time"

	"weir/internal/cluster"
	"weir/internal/twin/fabric"
	"weir/internal/twin/fault"
	"weir/internal/twin/flow"
	"weir/internal/twin/sim"
	"weir/units"
)

// Fidelity is how finely a run is simulated.
type Fidelity string

// The fidelities. Auto takes packets for the parts of a run (sizes, kinds of
// communication) whose predicted packet-hops fit PacketBudget together, the
// smallest first, and flows for the others; the largest part that fits is run
// both ways (Result.Compared). What the fluid model does not have is run by
// packets.
const (
	Packets Fidelity = "packet"
	Flows   Fidelity = "flow"
	Auto    Fidelity = "auto"
)

// PacketBudget is how many packet-hops Auto simulates.
const PacketBudget = 50e6

// Compared is a part of a run that was run both ways.
type Compared struct {
	What          string
	Packets, Flow units.Time
}

// Off returns by how much the fluid model's time differs, as a share.
func (c *Compared) Off() float64 { return float64(c.Flow)/float64(c.Packets) - 1 }

// choose returns the fidelity of each part, and the part to run both ways, -1:
// none.
func choose(parts []*cluster.Cluster, o *Options) ([]Fidelity, int, error) {
	out := make([]Fidelity, len(parts))
	for i := range out {
		out[i] = Packets
		if o.Fidelity == Flows {
			out[i] = Flows
		}
	}
	if o.Fidelity != Auto || o.Sample != nil || o.Prepare != nil || NeedsPackets(parts[0]) != nil {
		return out, -1, nil
	}
	hops := make([]float64, len(parts))
	sum := 0.
	for i, c := range parts {
		h, err := PredictHops(c)
		if err != nil {
			return nil, -1, err
		}
		hops[i] = h
		sum += h
	}
	if sum < PacketBudget {
		return out, -1, nil
	}
	for i := range out {
		out[i] = Flows
	}
	both := -1
	for left := PacketBudget; ; {
		least := -1
		for i := range parts {
			if out[i] == Flows && (least < 0 || hops[i] < hops[least]) {
				least = i
			}
		}
		if least < 0 || hops[least] > left {
			return out, both, nil
		}
		left -= hops[least]
		out[least], both = Packets, least
	}
}

// NeedsPackets says why a cluster needs packets; nil: it does not.
func NeedsPackets(c *cluster.Cluster) error {
	for i := range c.Jobs {
		if c.Jobs[i].Transport != c.Transport {
			return fmt.Errorf("job %s: transport %s beside %s needs packets", c.Jobs[i].Name, c.Jobs[i].Transport, c.Transport)
		}
	}
	if c.Transport != cluster.RoCEv2 && c.Transport != cluster.RoCEv1 {
		return fmt.Errorf("transport %s needs packets: the fluid model has rocev2 and rocev1", c.Transport)
	}
	_, err := fault.SteadyOf(fault.Physical(c))
	return err
}

// fluid runs the jobs of a cluster on the fluid model.
func fluid(ctx context.Context, c *cluster.Cluster, o *Options) (*Result, error) {
	if err := NeedsPackets(c); err != nil {
		return nil, err
	}
	c = fault.Physical(c)
	steady, err := fault.SteadyOf(c)
	if err != nil {
		return nil, err
	}
	var cfg sim.Config
	if o.Configure != nil {
		o.Configure(&cfg)
	}
	routes := cfg.Fabric
	if routes == nil {
		if routes, err = fabric.New(c); err != nil {
			return nil, err
		}
	}
	if len(steady.Down) > 0 {
		routes = routes.WithDown(steady.Down...)
	}
	r, err := flow.Run(ctx, flow.Config{Cluster: c, Fabric: routes, Seed: o.Seed, Rate: steady.Rate, Workers: o.Workers})
	if err != nil {
		if ctx.Err() != nil {
			return &Result{Interrupted: true}, nil
		}
		return nil, err
	}
	out := &Result{Simulated: r.End}
	for _, k := range r.Collectives {
		job := &c.Jobs[k.Job]
		out.Collectives = append(out.Collectives, Collective{
			Job: job.Name, Op: job.Op, Algorithm: k.Choice.Algorithm, Protocol: k.Choice.Protocol,
			Channels: k.Channels, Bytes: k.Bytes, Ranks: k.Ranks, Time: k.Time, Fidelity: string(Flows),
		})
		out.Iterations = append(out.Iterations, nil)
	}
	for i, f := range r.Flows {
		spec := &c.Jobs[f.Job].Flows[f.Index]
		out.Flows = append(out.Flows, Flow{ID: i, Src: NICName(c, spec.Src), Dst: NICName(c, spec.Dst), Bytes: spec.Bytes, Start: f.Start, FCT: f.FCT})
	}
	out.Network = fluidNetwork(c, r, &steady)
	return out, nil
}

// fluidNetwork is what Observe tells, of which the fluid model knows loads alone.
func fluidNetwork(c *cluster.Cluster, r *flow.Result, steady *fault.Steady) Network {
	var n Network
	tiers := map[tierKey]*tierSum{}
	for id := range c.Ports {
		p := &c.Ports[id]
		if uint32(p.Link) == cluster.None {
			continue
		}
		rate := c.Links[p.Link].Rate
		if slow, ok := steady.Rate[cluster.PortID(id)]; ok {
			rate = slow
		}
		e := egress{wireBytes: units.Bytes(r.Bytes[id] / r.Payload)}
		if can := rate.BytesIn(r.End); can > 0 {
			e.share = float64(e.wireBytes) / float64(can)
		}
		key := tierOf(c, p)
		if tiers[key] == nil {
			tiers[key] = &tierSum{}
		}
		tiers[key].add(&e)
		if e.share > n.BusiestEgress.Share {
			n.BusiestEgress = Egress{Where: portName(c, cluster.PortID(id)), WireBytes: e.wireBytes, Active: r.End, Share: e.share}
		}
	}
	n.Tiers = tierList(tiers)
	return n
}

// both runs a part on the fluid model as well and notes the difference.
func both(ctx context.Context, c *cluster.Cluster, o *Options, packets *Result) ([]Compared, error) {
	r, err := fluid(ctx, c, o)
	if err != nil || r.Interrupted || packets.Interrupted || packets.Stalled != "" {
		return nil, err
	}
	var out []Compared
	var a, b units.Time
	what := ""
	for i := range packets.Collectives {
		if p := &packets.Collectives[i]; p.Time > a && i < len(r.Collectives) {
			a, b = p.Time, r.Collectives[i].Time
			what = fmt.Sprintf("%s of %v on %d ranks", p.Op, p.Bytes, p.Ranks)
		}
	}
	if a == 0 {
		for i := range packets.Flows {
			a, b = max(a, packets.Flows[i].FCT), max(b, r.Flows[i].FCT)
		}
		what = fmt.Sprintf("%d flows, the last one's end", len(packets.Flows))
	}
	if a > 0 {
		out = append(out, Compared{what, a, b})
	}
	return out, nil
}

// runTraining runs a training job's kinds of communication, each at the
// fidelity that it gets.
func runTraining(ctx context.Context, c *cluster.Cluster, o Options) (*Result, error) {
	if o.Fidelity == "" || o.Fidelity == Packets {
		return RunTraining(ctx, c, o, runJobs)
	}
	parts, err := StepClusters(c)
	if err != nil {
		return nil, err
	}
	if len(parts) == 0 {
		return RunTraining(ctx, c, o, runJobs)
	}
	how, twice, err := choose(parts, &o)
	if err != nil {
		return nil, err
	}
	var compared []Compared
	next := 0
	r, err := RunTraining(ctx, c, o, func(ctx context.Context, part *cluster.Cluster, o Options) (*Result, error) {
		i := next
		next++
		o.Fidelity = how[i]
		r, err := runJobs(ctx, part, o)
		if err == nil && i == twice {
			compared, err = both(ctx, part, &o, r)
		}
		return r, err
	})
	if err != nil {
		return nil, err
	}
	r.Compared = compared
	return r, nil
}

// since returns the seconds from begin on; 0 without a clock.
func since(now func() time.Time, begin time.Time) float64 {
	if now == nil {
		return 0
	}
	return now().Sub(begin).Seconds()
}

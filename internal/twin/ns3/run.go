package ns3

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weir/internal/cluster"
	"weir/internal/input"
	"weir/internal/twin"
	"weir/internal/twin/sim"
	"weir/units"
)

// Preset is a parameter set with which results can be compared.
type Preset string

// The presets: parameter set P1 and what the public ns-3 models do otherwise,
// and the same with marking off, so that pause alone is at work.
const (
	HPCC    Preset = "ns3-hpcc"
	HPCCPFC Preset = "ns3-hpcc-pfc"
)

// Presets lists the names that ParsePreset takes.
const Presets = "ns3-hpcc or ns3-hpcc-pfc"

// ParsePreset reads the name of a preset.
func ParsePreset(name string) (Preset, error) {
	switch p := Preset(name); p {
	case HPCC, HPCCPFC:
		return p, nil
	}
	return "", fmt.Errorf("%q is not a preset: %s", name, Presets)
}

// Case is one run: the parsed files and the parameter set.
type Case struct {
	File      string // of the flows, for messages
	Topology  *Topology
	Cluster   *cluster.Cluster // of the topology
	Workload  *Workload
	Paths     map[[2]int]int // nil: by hash
	Preset    Preset
	Seed      uint64
	Check     bool
	Now       func() time.Time
	Progress  func(sim.Progress)
	Configure func(*sim.Config) // may change settings; may be nil
}

// Run simulates the case until every flow is done or ctx ends, in which case
// what is known so far comes back with Interrupted set.
func (c *Case) Run(ctx context.Context) (*twin.Result, []Completion, error) {
	cfg := sim.NS3(c.Cluster, c.Preset == HPCC)
	cfg.Seed, cfg.Check, cfg.Progress = max(c.Seed, 1), c.Check, c.Progress
	if c.Configure != nil {
		c.Configure(&cfg)
	}
	if err := c.setPaths(&cfg); err != nil {
		return nil, nil, err
	}
	s, err := sim.New(cfg)
	if err != nil {
		return nil, nil, err
	}
	flows, err := c.add(s)
	if err != nil {
		return nil, nil, err
	}
	begin := c.Now()
	err = s.Run(ctx, units.Never)
	wall := c.Now().Sub(begin).Seconds()
	stalled := errors.Is(err, sim.ErrStalled)
	if err != nil && !stalled && !errors.Is(err, context.Canceled) {
		return nil, nil, err
	}
	result, done := c.collect(s, flows, cfg.Wire)
	if stalled {
		result.Stalled = err.Error()
	} else {
		result.Interrupted = err != nil
	}
	result.Engine.Wall = wall
	return result, done, nil
}

// nic returns the first NIC of a node, or an error that names where the node
// was asked for.
func (c *Case) nic(node int, what string) (cluster.NICRef, error) {
	host := c.Cluster.Nodes[node].Host
	if host < 0 {
		return cluster.NICRef{}, &input.Error{File: c.File, Found: fmt.Sprintf("node %d as %s is a switch", node, what), Allowed: "a host"}
	}
	if len(c.Cluster.Hosts[host].NICs) == 0 {
		return cluster.NICRef{}, &input.Error{File: c.File, Found: fmt.Sprintf("node %d as %s has no link", node, what), Allowed: "a connected host"}
	}
	return cluster.NICRef{Host: host}, nil
}

func (c *Case) setPaths(cfg *sim.Config) error {
	if c.Paths == nil {
		return nil
	}
	cfg.Paths = make(map[sim.Pair]int, len(c.Paths))
	for pair, spine := range c.Paths {
		src, err := c.nic(pair[0], "source of a path")
		if err != nil {
			return err
		}
		dst, err := c.nic(pair[1], "destination of a path")
		if err != nil {
			return err
		}
		cfg.Paths[sim.Pair{Src: src, Dst: dst}] = spine
	}
	return nil
}

// add gives the simulator the workload, and returns the flows in the order of
// their numbers there.
func (c *Case) add(s *sim.Sim) ([]Flow, error) {
	var flows []Flow
	for _, f := range c.Workload.Flows {
		sf, err := c.flow(f)
		if err != nil {
			return nil, err
		}
		if _, err := s.AddFlow(sf); err != nil {
			return nil, err
		}
		flows = append(flows, f)
	}
	for _, chain := range c.Workload.Chains {
		hops := make([]sim.Flow, 0, len(chain.Ranks)-1)
		for k := range len(chain.Ranks) - 1 {
			f := Flow{Src: chain.Ranks[k], Dst: chain.Ranks[k+1], Priority: 3, DstPort: 100, Bytes: chain.Bytes}
			sf, err := c.flow(f)
			if err != nil {
				return nil, err
			}
			hops = append(hops, sf)
			flows = append(flows, f)
		}
		if len(hops) == 0 {
			continue
		}
		if _, err := s.AddChain(hops); err != nil {
			return nil, err
		}
	}
	return flows, nil
}

func (c *Case) flow(f Flow) (sim.Flow, error) {
	src, err := c.nic(f.Src, "source of a flow")
	if err != nil {
		return sim.Flow{}, err
	}
	dst, err := c.nic(f.Dst, "destination of a flow")
	if err != nil {
		return sim.Flow{}, err
	}
	return sim.Flow{Src: src, Dst: dst, Bytes: f.Bytes, Start: f.Start}, nil
}

func (c *Case) collect(s *sim.Sim, flows []Flow, wire sim.Wire) (*twin.Result, []Completion) {
	engine := s.Engine()
	r := &twin.Result{
		Simulated: s.Now(),
		Engine:    twin.Engine{PacketHops: engine.PacketHops, Events: engine.Events},
	}
	var done []Completion
	firstStart, lastEnd := units.Never, units.Time(0)
	ports := map[[2]int]uint16{}
	for i, f := range flows {
		sf := s.Flow(sim.FlowID(i))
		out := twin.Flow{ID: i, Src: twin.NICName(c.Cluster, sf.Src), Dst: twin.NICName(c.Cluster, sf.Dst), Bytes: f.Bytes, Start: f.Start}
		port := 10000 + ports[[2]int{f.Src, f.Dst}]
		ports[[2]int{f.Src, f.Dst}]++
		if sf.Sent != units.Never {
			out.Start = sf.Sent
			firstStart = min(firstStart, sf.Sent)
		}
		if sf.Done != units.Never {
			out.FCT = sf.Done - sf.Sent
			lastEnd = max(lastEnd, sf.Done)
			f.Start = out.Start
			done = append(done, Completion{Flow: f, SourcePort: port, FCT: out.FCT, Alone: c.alone(f)})
		}
		r.Flows = append(r.Flows, out)
	}
	if len(done) < len(flows) {
		lastEnd = s.Now()
	}
	r.Network = twin.Observe(c.Cluster, s, max(0, lastEnd-min(firstStart, lastEnd)), wire)
	latency := s.Latency()
	r.Messages = twin.Latency{P50: latency.Quantile(0.5), P99: latency.Quantile(0.99), Count: engine.Completed}
	return r, done
}

// alone is the ns-3 tools' stand-alone completion time: the base round trip of
// the longest path between the hosts plus the flow's wire bytes at the rate of
// the source's link. They take one packet header for each payload of 1000 B.
func (c *Case) alone(f Flow) units.Time {
	host := &c.Cluster.Hosts[c.Cluster.Nodes[f.Src].Host]
	port := &c.Cluster.Ports[host.NICs[0].Ports[0]]
	const payload, header = 1000, 48
	packets := (f.Bytes + payload - 1) / payload
	hops := 2 * units.Time(max(1, c.tierOfMeeting(f)))
	delay := c.Cluster.Links[port.Link].Delay
	return 2*hops*delay + (hops-1)*port.Rate.TransmitTime(payload+header) + port.Rate.TransmitTime(f.Bytes+packets*header)
}

// tierOfMeeting is 1 where both hosts share a leaf, else 2: the tools' own
// figure for trees of two tiers.
func (c *Case) tierOfMeeting(f Flow) int {
	leaf := func(node int) cluster.NodeID {
		p := c.Cluster.Hosts[c.Cluster.Nodes[node].Host].NICs[0].Ports[0]
		return c.Cluster.Ports[c.Cluster.Ports[p].Peer].Node
	}
	if leaf(f.Src) == leaf(f.Dst) {
		return 1
	}
	return 2
}

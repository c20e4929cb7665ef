package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"runtime"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weir/internal/input"
	"weir/internal/report"
	"weir/internal/twin"
	"weir/internal/twin/ns3"
	"weir/internal/twin/sim"
)

// simulateFlags are the flags of `weir simulate`.
type simulateFlags struct {
	set                  []string
	seed                 uint64
	collective           string
	begin, end, factor   string
	algorithm, transport string
	output, format       string
	json                 bool
	topology, flows      string
	paths, preset        string
	fct                  string
	record, recordEvery  string
	pcap                 string
	workers              int
	fidelity             string
	check                bool
	require              []string
	faults               []string
	list                 bool
	timeline             string
}

func newSimulate(s *Streams) *cobra.Command {
	f := &simulateFlags{}
	cmd := &cobra.Command{
		Use:   "simulate [CLUSTER.yaml]",
		Short: "Run a collective or flows on the packet-level twin of the fabric",
		Long: `Run the cluster file's job, a collective of your choice, or the flow files of the ns-3 RoCE
simulators on a packet-level twin of the fabric, and say what limits it.`,
		Example: `  weir simulate examples/pod-64x8.yaml
  weir simulate examples/incast-8to1.yaml --set qos.ecn.min=10KB --set qos.ecn.max=12KB
  weir simulate examples/incast-8to1.yaml --fault pfc-storm@host-3/nic-0,start=1ms,end=3ms
  weir simulate --topology fat.topology.txt --flows load.flows.txt --preset ns3-hpcc --fct fct.txt`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.fit(cmd.Flags(), args); err != nil {
				return err
			}
			return simulate(cmd.Context(), s, f, args)
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "change a value of the cluster file: PATH=VALUE, as in qos.ecn.min=10KB (repeatable)")
	flags.StringVar(&f.collective, "collective", "", "run this collective: all_reduce, all_gather, reduce_scatter, all_to_all or broadcast")
	flags.StringVarP(&f.begin, "begin", "b", "", "smallest size, as in nccl-tests: 16M is 16 MiB")
	flags.StringVarP(&f.end, "end", "e", "", "largest size")
	flags.StringVarP(&f.factor, "factor", "f", "", "factor from one size to the next")
	flags.StringVar(&f.algorithm, "algorithm", "", "auto, ring, tree, nvls, nvls_tree or hierarchical")
	flags.StringVar(&f.transport, "transport", "", "rocev2, rocev1, tcp or infiniband")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of everything that chance decides (default: the file's)")
	flags.StringVarP(&f.output, "output", "o", "", "write the report to a file instead of standard output")
	flags.StringVar(&f.format, "format", "text", "form of the report: text or json")
	flags.BoolVar(&f.json, "json", false, "short for --format json")
	flags.StringArrayVar(&f.faults, "fault", nil, "inject a fault: ID@PLACE,start=TIME,end=TIME,severity=0..1, as in pfc-storm@host-7/nic-3,start=1ms (repeatable)")
	flags.BoolVar(&f.list, "list-faults", false, "say which faults there are, where they act and what they do, and simulate nothing")
	flags.StringVar(&f.topology, "topology", "", "topology file of the ns-3 RoCE simulators; no cluster file then")
	flags.StringVar(&f.flows, "flows", "", "flow file of the ns-3 RoCE simulators, or a .ring file of chains")
	flags.StringVar(&f.paths, "paths", "", "CSV of path choices: src,dst,spine_index")
	flags.StringVar(&f.preset, "preset", string(ns3.HPCC), "parameter set for --topology: "+ns3.Presets)
	flags.StringVar(&f.fct, "fct", "", "write flow completion times to a file in the ns-3 simulators' form")
	flags.StringVar(&f.record, "record", "", "write the counters of every port and NIC over simulated time into a new directory")
	flags.StringVar(&f.recordEvery, "record-every", "100us", "simulated time between two readings of --record")
	flags.StringVar(&f.pcap, "pcap", "", "write what passes a NIC or port, both ways, as packets: FILE or FILE:PLACE, as in x.pcap:leaf-0/port-8")
	flags.StringVar(&f.fidelity, "fidelity", "auto", "packet, flow (max-min fair rates, no queues), or auto: packets while they are few enough")
	flags.IntVar(&f.workers, "workers", runtime.NumCPU(), "how many sizes are simulated at once; the result does not depend on it")
	flags.BoolVar(&f.check, "check", false, "prove the simulator's invariants while it runs (slower)")
	flags.StringArrayVar(&f.require, "require", nil, "fail (exit status 1) unless a value holds, as in share_of_expected=0.9")
	flags.StringVar(&f.timeline, "timeline", "", "draw one step of a training job: FILE.svg, or FILE.json with trace events for browser trace viewers")
	return cmd
}

func simulate(ctx context.Context, s *Streams, f *simulateFlags, args []string) error {
	if f.json {
		f.format = "json"
	}
	if f.format != "text" && f.format != "json" {
		return refused(fmt.Errorf("--format %q: allowed are text and json", f.format))
	}
	if f.list {
		if len(args) > 0 || f.topology != "" {
			return refused(errors.New("--list-faults stands alone: it simulates nothing"))
		}
		return listFaults(s, f)
	}
	if err := checkFidelity(f.fidelity); err != nil {
		return err
	}
	if f.fidelity == "flow" && (f.record != "" || f.pcap != "" || f.check) {
		return refused(errors.New("--fidelity flow: there are no packets to record, capture or check"))
	}
	if f.workers < 1 {
		return refused(fmt.Errorf("--workers %d: allowed is 1 or more", f.workers))
	}
	if err := f.fitTimeline(); err != nil {
		return err
	}
	required, err := parseRequirements(f.require)
	if err != nil {
		return err
	}
	var result *report.Simulation
	switch {
	case f.topology != "" && len(args) == 1:
		return refused(errors.New("--topology and a cluster file: one of them"))
	case f.topology != "":
		result, err = simulateNS3(ctx, s, f)
	case f.flows != "" || f.paths != "":
		return refused(errors.New("--flows and --paths go with --topology"))
	case len(args) == 0:
		return refused(errors.New("no cluster file: weir simulate CLUSTER.yaml, or --topology with --flows"))
	default:
		result, err = simulateCluster(ctx, s, f, args[0])
	}
	if err != nil {
		return err
	}
	if err := writeReport(s, f.output, func(w io.Writer) error {
		if f.format == "json" {
			return report.WriteSimulationJSON(w, result)
		}
		return report.WriteSimulation(w, result)
	}); err != nil {
		return err
	}
	if err := f.writeTimeline(result.Result); err != nil {
		return err
	}
	report.WriteSpeed(s.Err, result.Result)
	return judge(s, result, required)
}

// checkFidelity refuses an unknown --fidelity.
func checkFidelity(name string) error {
	switch twin.Fidelity(name) {
	case twin.Packets, twin.Flows, twin.Auto:
		return nil
	}
	return refused(fmt.Errorf("--fidelity %q: allowed are packet, flow and auto", name))
}

// fit refuses flags that would have no effect.
func (f *simulateFlags) fit(flags *pflag.FlagSet, args []string) error {
	with := func(set string, others ...string) error {
		for _, name := range others {
			if flags.Changed(name) {
				return refused(fmt.Errorf("--%s has no effect %s", name, set))
			}
		}
		return nil
	}
	if len(args) > 0 && f.topology == "" {
		if err := with("with a cluster file", "fct", "preset"); err != nil {
			return err
		}
	}
	if f.topology != "" {
		if err := with("with --topology", "collective", "begin", "end", "factor", "algorithm", "transport", "workers", "fault", "fidelity"); err != nil {
			return err
		}
	}
	if f.record == "" {
		return with("without --record", "record-every")
	}
	return nil
}

// judge returns the exit status of a finished simulation.
func judge(s *Streams, run *report.Simulation, required []requirement) error {
	if run.Result.Interrupted {
		return interrupted()
	}
	bad := run.Result.Network.Totals.LosslessDrops > 0 || run.Result.Stalled != ""
	for _, r := range required {
		if got := r.value(run); !(got >= r.least) {
			fmt.Fprintf(s.Err, "weir: %s is %.3f, required %g\n", r.name, got, r.least)
			bad = true
		}
	}
	if bad {
		return judged()
	}
	return nil
}

func simulateNS3(ctx context.Context, s *Streams, f *simulateFlags) (*report.Simulation, error) {
	if f.flows == "" {
		return nil, refused(errors.New("--topology needs --flows"))
	}
	if f.record != "" || f.pcap != "" {
		return nil, refused(errors.New("--record and --pcap go with a cluster file"))
	}
	if len(f.set) > 0 {
		return nil, refused(errors.New("--set goes with a cluster file; --preset has the settings of --topology"))
	}
	preset, err := ns3.ParsePreset(f.preset)
	if err != nil {
		return nil, refused(fmt.Errorf("--preset %w", err))
	}
	bar := newProgress(s)
	c := &ns3.Case{File: f.flows, Preset: preset, Seed: f.seed, Check: f.check, Now: s.Now, Progress: func(p sim.Progress) {
		bar.update(p, float64(p.Completed)/float64(max(1, p.Messages)))
	}}
	if err := readNS3(c, f); err != nil {
		return nil, err
	}
	result, done, err := c.Run(ctx)
	bar.done()
	if err != nil {
		return nil, asRefusal(err)
	}
	if f.fct != "" {
		if err := writeFile(f.fct, func(w io.Writer) error { return ns3.WriteCompletions(w, done) }); err != nil {
			return nil, err
		}
	}
	share := result.Network.BusiestEgress.Share
	return &report.Simulation{
		Cluster: f.topology, Preset: string(preset), Seed: max(f.seed, 1), Result: result,
		Summary: fmt.Sprintf("%d flows on %d hosts and %d switches", len(result.Flows), len(c.Cluster.Hosts), len(c.Topology.Switches)),
		Verdict: report.Verdict{Share: share, LimitedBy: "network", Sentence: flowSentence(result)},
	}, nil
}

func flowSentence(r *twin.Result) string {
	e := r.Network.BusiestEgress
	return fmt.Sprintf("The busiest egress, %s, ran at %.1f %% of line rate; %d packets were dropped.", e.Where, 100*e.Share, r.Network.Totals.Drops)
}

func readNS3(c *ns3.Case, f *simulateFlags) error {
	err := readFile(f.topology, func(r io.Reader) (err error) {
		if c.Topology, err = ns3.ReadTopology(f.topology, r); err == nil {
			c.Cluster, err = c.Topology.Cluster(f.topology)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = readFile(f.flows, func(r io.Reader) (err error) {
		c.Workload, err = ns3.ReadFlows(f.flows, r, c.Topology.Nodes)
		return err
	})
	if err != nil || f.paths == "" {
		return err
	}
	return readFile(f.paths, func(r io.Reader) (err error) {
		c.Paths, err = ns3.ReadPaths(f.paths, r, c.Topology.Nodes)
		return err
	})
}

// A requirement is one --require NAME=LEAST.
type requirement struct {
	name  string
	least float64
}

func (r requirement) value(s *report.Simulation) float64 {
	if r.name == "share_of_line" {
		return s.Result.Network.BusiestEgress.Share
	}
	return s.Verdict.Share
}

func parseRequirements(texts []string) ([]requirement, error) {
	var out []requirement
	for _, text := range texts {
		var r requirement
		if n, err := fmt.Sscanf(text, "share_of_expected=%f", &r.least); n == 1 && err == nil {
			r.name = "share_of_expected"
		} else if n, err := fmt.Sscanf(text, "share_of_line=%f", &r.least); n == 1 && err == nil {
			r.name = "share_of_line"
		}
		if r.name == "" || math.IsNaN(r.least) || r.least < 0 || r.least > 2 {
			return nil, refused(fmt.Errorf("--require %q: share_of_expected=NUMBER or share_of_line=NUMBER, from 0 to 2", text))
		}
		out = append(out, r)
	}
	return out, nil
}

// asRefusal maps an error of input to status 2 and any other to 3.
func asRefusal(err error) error {
	if input.IsRefusal(err) {
		return refused(err)
	}
	return failed(err)
}

// readFile opens a file of the user's and hands it to parse.
func readFile(name string, parse func(io.Reader) error) error {
	file, err := os.Open(name)
	if err != nil {
		return inputError(name, err)
	}
	defer file.Close()
	if err := parse(file); err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			return inputError(name, err)
		}
		return asRefusal(err)
	}
	return nil
}

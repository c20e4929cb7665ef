package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"weir/internal/cluster"
	"weir/internal/report"
	"weir/internal/twin"
	"weir/internal/twin/fault"
	"weir/internal/twin/sim"
)

// compareFlags are the flags of `weir compare`.
type compareFlags struct {
	set, vary, transports []string
	faults                []string
	collective            string
	begin, end, factor    string
	algorithm             string
	seed                  uint64
	workers               int
	format, output        string
	fidelity              string
	json                  bool
}

// maxVariants is how many runs one comparison may have.
const maxVariants = 4096

func newCompare(s *Streams) *cobra.Command {
	f := &compareFlags{}
	cmd := &cobra.Command{
		Use:   "compare CLUSTER.yaml",
		Short: "Run variants of a cluster side by side: transports, settings, sizes, designs",
		Long: `Run the cluster file's job once for each transport and each value of --vary (several make a grid) and
put the results into one table, or into one HTML page with plots. Designs, variants that differ in hardware, are ranked
by switches, ports and optics, or by the file's prices.`,
		Example: `  weir compare examples/two-nodes.yaml --transports tcp,rocev2,infiniband
  weir compare examples/pod-64x8.yaml --vary fabric.spines=2,4,8 --vary routing.mode=ecmp,adaptive
  weir compare examples/two-nodes.yaml --vary host.count=2,4,8 --format html -o growth.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return compare(cmd.Context(), s, f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.transports, "transports", nil, "transports to compare: tcp, rocev1, rocev2, infiniband")
	flags.StringArrayVar(&f.vary, "vary", nil, "values to compare: PATH=V1,V2,... (repeatable: a grid)")
	flags.StringArrayVar(&f.set, "set", nil, "change a value of the cluster file in all variants: PATH=VALUE (repeatable)")
	flags.StringArrayVar(&f.faults, "fault", nil, "inject a fault in all variants, as in weir simulate (repeatable)")
	flags.StringVar(&f.collective, "collective", "", "run this collective instead of the file's job")
	flags.StringVarP(&f.begin, "begin", "b", "", "smallest size, as in nccl-tests")
	flags.StringVarP(&f.end, "end", "e", "", "largest size")
	flags.StringVarP(&f.factor, "factor", "f", "", "factor from one size to the next")
	flags.StringVar(&f.algorithm, "algorithm", "", "auto, ring, tree, nvls, nvls_tree or hierarchical")
	flags.Uint64Var(&f.seed, "seed", 0, "seed of everything that chance decides (default: the file's)")
	flags.StringVar(&f.fidelity, "fidelity", "auto", "packet, flow or auto, as in weir simulate")
	flags.IntVar(&f.workers, "workers", runtime.NumCPU(), "how many variants are simulated at once; the result does not depend on it")
	flags.StringVarP(&f.output, "output", "o", "", "write the report to a file instead of standard output")
	flags.StringVar(&f.format, "format", "text", "form of the report: text, json or html")
	flags.BoolVar(&f.json, "json", false, "short for --format json")
	return cmd
}

func compare(ctx context.Context, s *Streams, f *compareFlags, name string) error {
	if f.json {
		f.format = "json"
	}
	write, ok := map[string]func(io.Writer, *report.Comparison) error{
		"text": report.WriteComparison, "json": report.WriteComparisonJSON, "html": report.WriteComparisonHTML,
	}[f.format]
	switch {
	case !ok:
		return refused(fmt.Errorf("--format %q: allowed are text, json and html", f.format))
	case f.workers < 1:
		return refused(fmt.Errorf("--workers %d: allowed is 1 or more", f.workers))
	}
	if err := checkFidelity(f.fidelity); err != nil {
		return err
	}
	axes, err := f.axes()
	if err != nil {
		return err
	}
	variants, err := f.load(name, axes)
	if err != nil {
		return err
	}
	c := &report.Comparison{Cluster: variants[0].cluster.Name, Seed: variants[0].cluster.Seed}
	for _, a := range axes {
		c.Axes = append(c.Axes, a.path)
	}
	c.Variants = runVariants(ctx, s, variants, f)
	if err := writeReport(s, f.output, func(w io.Writer) error { return write(w, c) }); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return interrupted()
	}
	for i := range c.Variants {
		v := &c.Variants[i]
		if v.Err != "" || v.Simulation.Result.Stalled != "" || v.Simulation.Result.Network.Totals.LosslessDrops > 0 {
			return judged()
		}
	}
	return nil
}

// An axis is one dimension of the grid.
type axis struct {
	path, flag string
	values     []string
}

func (f *compareFlags) axes() ([]axis, error) {
	var axes []axis
	if len(f.transports) > 0 {
		axes = append(axes, axis{"transport", "--transports", f.transports})
	}
	for _, text := range f.vary {
		path, list, ok := strings.Cut(text, "=")
		if !ok || path == "" || list == "" {
			return nil, refused(fmt.Errorf("--vary %q: allowed is PATH=V1,V2,..., as in fabric.spines=4,8", text))
		}
		axes = append(axes, axis{path, "--vary", strings.Split(list, ",")})
	}
	n := 1
	for i, a := range axes {
		for _, b := range axes[:i] {
			if a.path == b.path {
				return nil, refused(fmt.Errorf("%s varies twice", a.path))
			}
		}
		if n *= len(a.values); n > maxVariants {
			return nil, refused(fmt.Errorf("more than %d variants", maxVariants))
		}
	}
	if n < 2 {
		return nil, refused(errors.New("nothing to compare: give --transports a,b or --vary PATH=V1,V2"))
	}
	return axes, nil
}

// variant is one point of the grid before it is run.
type variant struct {
	values  []string
	cluster *cluster.Cluster
}

// load reads the file once for each point of the grid, the last axis fastest.
func (f *compareFlags) load(name string, axes []axis) ([]variant, error) {
	common := simulateFlags{set: f.set, collective: f.collective, begin: f.begin, end: f.end, factor: f.factor, algorithm: f.algorithm, seed: f.seed, faults: f.faults}
	set, err := common.overrides()
	if err != nil {
		return nil, err
	}
	n := 1
	for _, a := range axes {
		n *= len(a.values)
	}
	variants := make([]variant, n)
	for i := range variants {
		v := &variants[i]
		v.values = make([]string, len(axes))
		own := append([]cluster.Override(nil), set...)
		for rest, k := i, len(axes)-1; k >= 0; k-- {
			a := &axes[k]
			v.values[k] = a.values[rest%len(a.values)]
			rest /= len(a.values)
		}
		for k, a := range axes {
			flag := a.flag + " " + v.values[k]
			if a.flag == "--vary" {
				flag = a.flag + " " + a.path + "=" + v.values[k]
			}
			own = append(own, cluster.Override{Path: a.path, Value: v.values[k], Flag: flag})
		}
		file, err := loadCluster(name, own)
		if err != nil {
			return nil, err
		}
		if v.cluster, err = common.withFaults(file.Cluster); err != nil {
			return nil, err
		}
		if len(v.cluster.Jobs) == 0 {
			return nil, refused(fmt.Errorf("%s: no job to run: give the file a job, or --collective", name))
		}
		if err := simulated(v.cluster, name); err != nil {
			return nil, err
		}
	}
	return variants, nil
}

// runVariants runs the variants on so many workers. Each stands alone, so the
// result does not depend on them. Those that ctx cuts off are left out.
func runVariants(ctx context.Context, s *Streams, variants []variant, f *compareFlags) []report.Variant {
	bar := newProgress(s)
	var mu sync.Mutex
	shares := make([]float64, len(variants))
	done := make([]report.Variant, len(variants))
	todo := make(chan int, len(variants))
	for i := range variants {
		todo <- i
	}
	close(todo)
	var all sync.WaitGroup
	for range min(f.workers, len(variants)) {
		all.Go(func() {
			for i := range todo {
				if ctx.Err() != nil {
					continue
				}
				done[i] = runVariant(ctx, &variants[i], f, func(p twin.Progress) {
					mu.Lock()
					defer mu.Unlock()
					shares[i] = p.Share
					sum := 0.
					for _, share := range shares {
						sum += share
					}
					bar.update(p.Progress, sum/float64(len(shares)))
				})
			}
		})
	}
	all.Wait()
	bar.done()
	var out []report.Variant
	for i := range done {
		if done[i].Values != nil {
			out = append(out, done[i])
		}
	}
	return out
}

// runVariant runs one. What does not fit its transport or its size is told in
// its row.
func runVariant(ctx context.Context, v *variant, f *compareFlags, progress func(twin.Progress)) report.Variant {
	c := v.cluster
	out := report.Variant{Values: v.values, Transport: c.Transport.String(), Design: report.DesignOf(c)}
	fail := func(err error) report.Variant {
		if ctx.Err() != nil {
			return report.Variant{}
		}
		out.Err = oneLine(err)
		return out
	}
	routes, err := runnable(fault.Physical(c))
	if err != nil {
		return fail(err)
	}
	o := twin.Options{Fidelity: twin.Fidelity(f.fidelity), Progress: progress, Configure: func(cfg *sim.Config) { cfg.Fabric = routes }}
	var depths *twin.Depths
	if hops, err := twin.PredictHops(c); f.format == "html" && f.fidelity != "flow" && err == nil && (f.fidelity == "packet" || hops < twin.PacketBudget) {
		depths = twin.NewDepths(c)
		o.Sample, o.SampleEvery = depths.Sample, twin.DepthsEvery
	}
	r, err := twin.Run(ctx, c, o)
	if err != nil {
		return fail(err)
	}
	if r.Interrupted && len(r.Collectives) == 0 && len(r.Steps) == 0 {
		return report.Variant{}
	}
	sim := &report.Simulation{Cluster: c.Name, Seed: c.Seed, Summary: describe(c), Result: r}
	if err := addVerdict(sim, c, r); err != nil {
		return fail(err)
	}
	out.Simulation = sim
	if depths != nil {
		out.Queue = depths.Points()
	}
	return out
}

package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"weir/internal/answer/expect"
	"weir/internal/cluster"
	"weir/internal/report"
	"weir/internal/twin"
	"weir/units"
)

// expectFlags are the flags of `weir expect`.
type expectFlags struct {
	set                []string
	begin, end, factor string
	nodes, gpus        int
	explain, json      bool
	format, output     string
}

func newExpect(s *Streams) *cobra.Command {
	f := &expectFlags{}
	cmd := &cobra.Command{
		Use:   "expect CLUSTER.yaml",
		Short: "Say what perftest and nccl-tests should show on this cluster, and why",
		Long: `Compute from the cluster's description what a healthy one shows: bandwidth and latency between two
cards, bus bandwidth of each collective over size, and the limits below which a measurement is worth a
warning or is a failure. Nothing is simulated: the figures are closed forms, and --explain shows them.`,
		Example: `  weir expect examples/pod-64x8.yaml
  weir expect examples/two-nodes.yaml -b 1G -e 1G --explain
  weir expect examples/pod-64x8.yaml --nodes 4 --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runExpect(s, f, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "change a value of the cluster file: PATH=VALUE (repeatable)")
	flags.StringVarP(&f.begin, "begin", "b", "1M", "smallest size, as in nccl-tests: 16M is 16 MiB")
	flags.StringVarP(&f.end, "end", "e", "8G", "largest size")
	flags.StringVarP(&f.factor, "factor", "f", "4", "factor from one size to the next")
	flags.IntVar(&f.nodes, "nodes", 0, "how many hosts the collectives run on, the first ones of the file (default: all)")
	flags.IntVar(&f.gpus, "gpus-per-host", 0, "GPUs used in each host (default: all)")
	flags.BoolVar(&f.explain, "explain", false, "show the arithmetic of every figure")
	flags.StringVarP(&f.output, "output", "o", "", "write the report to a file instead of standard output")
	flags.StringVar(&f.format, "format", "text", "form of the report: text or json")
	flags.BoolVar(&f.json, "json", false, "short for --format json")
	return cmd
}

func runExpect(s *Streams, f *expectFlags, name string) error {
	if f.json {
		f.format = "json"
	}
	if f.format != "text" && f.format != "json" {
		return refused(fmt.Errorf("--format %q: allowed are text and json", f.format))
	}
	if f.nodes < 0 || f.gpus < 0 {
		return refused(fmt.Errorf("--nodes and --gpus-per-host: allowed is 1 or more"))
	}
	sizes, err := sizeRange(f.begin, f.end, f.factor)
	if err != nil {
		return err
	}
	set, err := cluster.Sets(f.set)
	if err != nil {
		return refused(err)
	}
	file, err := loadCluster(name, set)
	if err != nil {
		return err
	}
	c := file.Cluster
	sheet, err := expect.Tests(c, f.nodes, f.gpus, sizes)
	if err != nil {
		return refused(fmt.Errorf("%s: %w", name, err))
	}
	x := &report.Expectation{Cluster: c.Name, Summary: describe(c), Sheet: sheet, Explain: f.explain}
	if sheet.Pair != nil {
		x.Src, x.Dst = twin.NICName(c, sheet.Src), twin.NICName(c, sheet.Dst)
	}
	return writeReport(s, f.output, func(w io.Writer) error {
		if f.format == "json" {
			return report.WriteExpectationJSON(w, x)
		}
		return report.WriteExpectation(w, x)
	})
}

// sizeRange reads sizes as nccl-tests' -b, -e and -f give them.
func sizeRange(begin, end, factor string) ([]units.Bytes, error) {
	var b [2]units.Bytes
	for i, text := range []string{begin, end} {
		v, err := units.ParseTestSize(text)
		if err != nil || v <= 0 {
			return nil, refused(fmt.Errorf("-%c %q: allowed are sizes such as 16M, up to 64 TiB", "be"[i], text))
		}
		b[i] = v
	}
	var k units.Bytes
	if n, err := fmt.Sscanf(factor, "%d", &k); n != 1 || err != nil || k < 2 || k > 1<<20 {
		return nil, refused(fmt.Errorf("-f %q: allowed is a whole number from 2", factor))
	}
	if b[1] < b[0] {
		return nil, refused(fmt.Errorf("-e %s: below -b %s", end, begin))
	}
	var sizes []units.Bytes
	for v := b[0]; v <= b[1]; v *= k {
		sizes = append(sizes, v)
		if v > b[1]/k {
			break
		}
	}
	return sizes, nil
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weir/internal/collective"
	"weir/internal/wire/perf"
	"weir/units"
)

// collectiveFlags are the flags of weir perf --collective.
type collectiveFlags struct {
	ranks, factor, iterations int
	begin, end, algorithm     string
}

func (f *collectiveFlags) add(fs *pflag.FlagSet) {
	fs.IntVar(&f.ranks, "ranks", 4, "with --collective: processes, 2 to 16")
	fs.StringVarP(&f.begin, "begin", "b", "1K", "with --collective: smallest size, as in nccl-tests")
	fs.StringVarP(&f.end, "end", "e", "4M", "with --collective: largest size")
	fs.IntVarP(&f.factor, "factor", "f", 4, "with --collective: factor between sizes")
	fs.StringVar(&f.algorithm, "algorithm", "auto", "with --collective: auto, ring or tree")
	fs.IntVar(&f.iterations, "iters", 10, "with --collective: timed runs of each size")
}

// sizes lists the sizes from begin to end.
func (f *collectiveFlags) sizes() ([]units.Bytes, error) {
	begin, err := units.ParseTestSize(f.begin)
	if err != nil {
		return nil, fmt.Errorf("--begin: %w", err)
	}
	end, err := units.ParseTestSize(f.end)
	if err != nil {
		return nil, fmt.Errorf("--end: %w", err)
	}
	if begin < 1 || end < begin || end > perf.MaxCollective || f.factor < 2 {
		return nil, fmt.Errorf("sizes from %v to %v, factor %d: allowed are 1 byte to 256 MiB, factor 2 and up", begin, end, f.factor)
	}
	var all []units.Bytes
	for n := begin; n <= end; n *= units.Bytes(f.factor) {
		all = append(all, n)
	}
	return all, nil
}

func runCollective(ctx context.Context, s *Streams, f *collectiveFlags, operation string, args []string) error {
	if len(args) > 0 {
		return refused(errors.New("--collective runs between processes on this host and takes no HOST"))
	}
	c := perf.Collective{Ranks: f.ranks, Iterations: f.iterations, Addr: netip.AddrFrom4([4]byte{127, 86, 0, 1})}
	found := false
	for op := collective.AllReduce; op <= collective.Broadcast; op++ {
		if op.String() == operation {
			c.Op, found = op, true
		}
	}
	if !found {
		return refused(fmt.Errorf("--collective %q: allowed are all_reduce, all_gather, reduce_scatter, all_to_all and broadcast", operation))
	}
	switch f.algorithm {
	case "auto":
	case "ring":
		c.Algorithm = collective.Ring
	case "tree":
		c.Algorithm = collective.Tree
	default:
		return refused(fmt.Errorf("--algorithm %q: allowed are auto, ring and tree", f.algorithm))
	}
	if f.ranks < 2 || f.ranks > perf.MaxRanks || f.iterations < 1 {
		return refused(fmt.Errorf("%d ranks, %d runs: allowed are 2 to %d ranks, 1 run and up", f.ranks, f.iterations, perf.MaxRanks))
	}
	var err error
	if c.Sizes, err = f.sizes(); err != nil {
		return refused(err)
	}
	program, err := os.Executable()
	if err != nil {
		return failed(err)
	}
	var started []*exec.Cmd
	c.Start = func(int) (io.WriteCloser, io.Reader, error) {
		p := exec.CommandContext(ctx, program, "perf", "rank")
		p.Stderr = s.Err
		in, err := p.StdinPipe()
		if err != nil {
			return nil, nil, err
		}
		out, err := p.StdoutPipe()
		if err != nil {
			return nil, nil, err
		}
		if err := p.Start(); err != nil {
			return nil, nil, err
		}
		started = append(started, p)
		return in, out, nil
	}
	wrong := 0
	fmt.Fprint(s.Out, perf.Header)
	err = c.Run(func(r perf.Row) error {
		wrong += r.Wrong
		_, err := fmt.Fprintln(s.Out, r)
		return err
	})
	for _, p := range started {
		_ = p.Wait() // their input has ended
	}
	switch {
	case ctx.Err() != nil:
		return interrupted()
	case err != nil:
		return failed(err)
	case wrong > 0:
		fmt.Fprintf(s.Out, "# %d wrong bytes\n", wrong)
		return judged()
	}
	fmt.Fprintln(s.Out, "# Out of bounds values : 0 OK")
	return nil
}

// newPerfRank is one process of a collective, which the command itself starts.
func newPerfRank(s *Streams) *cobra.Command {
	return &cobra.Command{
		Use: "rank", Hidden: true, Args: cobra.NoArgs,
		Short: "One process of weir perf --collective",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := perf.ServeRank(cmd.Context(), s.In, s.Out); err != nil {
				return failed(err)
			}
			return nil
		},
	}
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weir/internal/answer/acceptance"
	"weir/internal/answer/audit"
	"weir/internal/cause"
	"weir/internal/cluster"
	"weir/internal/field/bundle"
	"weir/internal/field/remote"
	"weir/internal/report"
)

// acceptFlags are the flags of weir accept.
type acceptFlags struct {
	set, steps              []string
	results, dir, baseline  string
	to                      runnerFlags
	tool, weir              string
	duration, limit, budget time.Duration
	rounds, gid             int
	crossed, reverse        bool
	latency, together       bool
	asJSON                  bool
	format, output          string
}

func (f *acceptFlags) add(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.set, "set", nil, "change a value of the cluster file: PATH=VALUE (repeatable)")
	fs.StringVar(&f.results, "results", "", "judge the results in this directory instead of running tests")
	fs.StringSliceVar(&f.steps, "steps", nil, "steps that must have passed: preflight, pairs, gpudirect, collectives (default: those with results)")
	fs.StringVar(&f.dir, "dir", "weir-accept", "keep results here; a run that was interrupted goes on with what is missing")
	fs.StringVar(&f.baseline, "baseline", "", "compare with the results of an earlier acceptance in this directory")
	f.to.add(fs)
	fs.StringVar(&f.tool, "tool", "perftest", "perftest, or weir for hosts without RDMA cards")
	fs.StringVar(&f.weir, "weir", "weir", "the weir program on the hosts")
	fs.DurationVar(&f.duration, "duration", 3*time.Second, "of each bandwidth test")
	fs.DurationVar(&f.limit, "limit", 0, "after which a test is ended and counts as failed (default: four times --duration and 20s)")
	fs.DurationVar(&f.budget, "budget", 0, "start no further test after this time; the verdict is then incomplete")
	fs.IntVar(&f.rounds, "rounds", 0, "rounds of pairs, each host in every one with another partner (default: all pairs up to 32 hosts, else 32 rounds)")
	fs.IntVar(&f.gid, "gid-index", -1, "GID index for perftest (default: its own choice)")
	fs.BoolVar(&f.crossed, "crossed", false, "test across rails, too")
	fs.BoolVar(&f.reverse, "both-ways", false, "test each pair in both directions")
	fs.BoolVar(&f.latency, "latency", false, "test the latency of each pair, too")
	fs.BoolVar(&f.together, "together", false, "a further pass with all cards at once, which loads the fabric")
	fs.BoolVar(&f.asJSON, "json", false, "print JSON (short for --format json)")
	fs.StringVar(&f.format, "format", "text", "text, json, html or junit")
	fs.StringVarP(&f.output, "output", "o", "", "write to this file")
}

func newAccept(s *Streams) *cobra.Command {
	var f acceptFlags
	cmd := &cobra.Command{
		Use:   "accept CLUSTER.yaml",
		Short: "Prove a network by tests between all pairs, and find what is slow",
		Long: `Run bandwidth and latency tests between the hosts of a cluster file, judge them against what
the cluster should give, and find the node, NIC, cable or switch that explains slow pairs.
Tests are scheduled so that no host is used twice at once and no two tests can share a link
between switches.

Results are kept in --dir as the tools printed them, and a run that was interrupted goes on.
--results judges results that exist: outputs of perftest and nccl-tests of any version.
Exit status 1 unless everything that was asked for has passed.`,
		Example: `  weir accept cluster.yaml                                     # perftest, over ssh
  weir accept cluster.yaml --runner slurm --budget 30m
  weir accept cluster.yaml --tool weir                         # without RDMA cards
  weir accept cluster.yaml --results outputs/ --steps preflight,pairs,collectives
  weir accept cluster.yaml --results outputs/ --baseline march/ --format html -o acceptance.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := f.accept(cmd.Context(), s, args[0])
			if err != nil {
				return err
			}
			if err := writeReport(s, f.output, func(w io.Writer) error {
				return acceptWriters[f.format](w, r)
			}); err != nil {
				return err
			}
			switch {
			case cmd.Context().Err() != nil:
				return interrupted()
			case !r.Accepted():
				return judged()
			}
			return nil
		},
	}
	f.add(cmd.Flags())
	return cmd
}

func (f *acceptFlags) accept(ctx context.Context, s *Streams, name string) (*acceptance.Report, error) {
	over, err := cluster.Sets(f.set)
	if err != nil {
		return nil, refused(err)
	}
	file, err := loadCluster(name, over)
	if err != nil {
		return nil, err
	}
	c := file.Cluster
	if f.asJSON {
		f.format = "json"
	}
	if acceptWriters[f.format] == nil {
		return nil, refused(fmt.Errorf("--format %s: text, json, html or junit", f.format))
	}
	tool, err := f.toolOf()
	if err != nil {
		return nil, err
	}
	for _, step := range f.steps {
		if !slices.Contains(acceptance.StepNames(), step) {
			return nil, refused(fmt.Errorf("--steps %s: %s", step, strings.Join(acceptance.StepNames(), ", ")))
		}
	}
	dir := f.results
	planned := map[string]int{}
	if dir == "" {
		dir = f.dir
		if planned[acceptance.StepPairs], err = f.run(ctx, s, c, tool); err != nil {
			return nil, err
		}
	} else if _, err := os.Stat(dir); err != nil {
		return nil, inputError(dir, err)
	}
	r, err := f.judge(context.WithoutCancel(ctx), c, dir, acceptance.Options{Asked: f.steps, Absolute: tool.Absolute(), Planned: planned})
	if err != nil || f.baseline == "" {
		return r, err
	}
	if _, err := os.Stat(f.baseline); err != nil {
		return nil, inputError(f.baseline, err)
	}
	before, err := f.judge(context.WithoutCancel(ctx), c, f.baseline, acceptance.Options{Absolute: tool.Absolute()})
	if err != nil {
		return nil, err
	}
	r.Against(before)
	return r, nil
}

// acceptWriters are the formats of the report.
var acceptWriters = map[string]func(io.Writer, *acceptance.Report) error{
	"text": report.AcceptText, "json": report.AcceptJSON, "html": report.AcceptHTML, "junit": report.AcceptJUnit,
}

// judge reads a directory of results and judges them.
func (f *acceptFlags) judge(ctx context.Context, c *cluster.Cluster, dir string, o acceptance.Options) (*acceptance.Report, error) {
	results, err := acceptance.ReadResults(ctx, c, dir)
	if err != nil {
		return nil, refused(err)
	}
	evidence, err := audit.Gather(ctx, []string{dir}, nil)
	if err != nil {
		return nil, failed(err)
	}
	catalogue, err := cause.Load()
	if err != nil {
		return nil, failed(err)
	}
	r, err := acceptance.Judge(c, results, evidence, catalogue, o)
	if err != nil {
		return nil, refused(err)
	}
	return r, nil
}

func (f *acceptFlags) toolOf() (acceptance.Tool, error) {
	switch f.tool {
	case "perftest":
		return acceptance.Perftest{GIDIndex: f.gid}, nil
	case "weir":
		return acceptance.Weir{Path: f.weir}, nil
	}
	return nil, refused(fmt.Errorf("--tool %s: perftest or weir", f.tool))
}

// run runs the tests and returns how many there are in all.
func (f *acceptFlags) run(ctx context.Context, s *Streams, c *cluster.Cluster, tool acceptance.Tool) (planned int, err error) {
	runner, err := f.to.open()
	if err != nil {
		return 0, err
	}
	if closer, ok := runner.(io.Closer); ok {
		defer closer.Close()
	}
	hosts := make([]int, len(c.Hosts))
	for i := range hosts {
		hosts[i] = i
	}
	rounds := f.rounds
	if rounds == 0 && len(hosts) > 32 {
		rounds = 32
	}
	tests := acceptance.PairTests(c, hosts, rounds, f.crossed)
	if f.reverse {
		tests = append(tests, acceptance.Reversed(tests)...)
	}
	if len(tests) == 0 {
		return 0, refused(errors.New("nothing to test: the cluster file has one host"))
	}
	log, err := acceptance.OpenLog(f.dir)
	if err != nil {
		return 0, failed(err)
	}
	defer log.Close()
	limit := f.limit
	if limit == 0 {
		limit = 4*f.duration + 20*time.Second
	}
	p := &acceptance.Pairs{Cluster: c, Runner: runner, Tool: tool, Log: log, Duration: f.duration, Limit: limit, Now: s.Now}
	if f.budget > 0 {
		p.Until = s.Now().Add(f.budget)
	}
	p.Progress = func(done, total int) { fmt.Fprintf(s.Err, "step %d of %d\n", done, total) }
	passes := []acceptPass{{acceptance.Steps(c, tests), acceptance.Alone, acceptance.Bandwidth}}
	if f.latency {
		passes = append(passes, acceptPass{acceptance.Steps(c, tests), acceptance.Alone, acceptance.Latency})
	}
	if f.together {
		passes = append(passes, acceptPass{acceptance.AtOnce(tests), acceptance.Together, acceptance.Bandwidth})
	}
	planned = len(passes) * len(tests)
	if slices.Contains(f.steps, acceptance.StepPreflight) {
		if err := f.preflight(ctx, s, c, runner); err != nil {
			return planned, err
		}
	}
	for _, pass := range passes {
		err = p.Run(ctx, pass.steps, pass.pass, pass.what)
		switch {
		case errors.Is(err, acceptance.ErrBudget), ctx.Err() != nil:
			return planned, nil
		case err != nil:
			return 0, failed(err)
		}
	}
	return planned, nil
}

// acceptPass is one pass over the pairs.
type acceptPass struct {
	steps      [][]acceptance.Test
	pass, what string
}

// preflight gathers what hosts say of themselves into the results, once.
func (f *acceptFlags) preflight(ctx context.Context, s *Streams, c *cluster.Cluster, runner remote.Runner) error {
	name := filepath.Join(f.dir, "preflight.tar.zst")
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	o := bundle.Options{Runner: runner, Parallel: 64, Now: time.Now, Progress: func(what string) { fmt.Fprintln(s.Err, what) }}
	if err := collectFrom(&o, c, nil, true); err != nil {
		return err
	}
	part := name + ".part"
	file, err := os.Create(part)
	if err != nil {
		return failed(err)
	}
	_, err = bundle.Gather(ctx, o, file)
	if err = errors.Join(err, file.Close()); err != nil || ctx.Err() != nil {
		return errors.Join(err, os.Remove(part))
	}
	return os.Rename(part, name)
}

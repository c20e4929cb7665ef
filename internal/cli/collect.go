package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/cluster"
	"weir/internal/field/bundle"
	"weir/internal/field/remote"
)

func newCollect(s *Streams) *cobra.Command {
	var to runnerFlags
	var set, only []string
	var output string
	var interval, limit time.Duration
	var parallel int
	var dry, noSwitches bool
	cmd := &cobra.Command{
		Use:   "collect [CLUSTER.yaml]",
		Short: "Gather the evidence of hosts and switches at one moment into a bundle",
		Long: `Ask all hosts and switches of a cluster file for counters (two readings, an interval apart), settings
and state, and write one compressed archive that weir diagnose, audit, import and facts read.
Without a cluster file, this host alone is asked. Every command only reads; --dry-run
prints them all with the right each needs. Secrets are replaced before anything is written. A
host that does not answer is recorded as such.`,
		Example: `  weir collect cluster.yaml -o bundle.tar.zst
  weir collect cluster.yaml --runner slurm --interval 30s
  weir collect --dry-run cluster.yaml
  weir collect -o here.tar.zst && weir diagnose here.tar.zst`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o := bundle.Options{Interval: interval, Limit: limit, Parallel: parallel, Now: time.Now, Progress: func(what string) { fmt.Fprintln(s.Err, what) }}
			if len(args) == 1 {
				over, err := cluster.Sets(set)
				if err != nil {
					return refused(err)
				}
				file, err := loadCluster(args[0], over)
				if err != nil {
					return err
				}
				if err := collectFrom(&o, file.Cluster, only, noSwitches); err != nil {
					return err
				}
			} else {
				host, err := os.Hostname()
				if err != nil {
					return failed(err)
				}
				to.runner, o.Hosts = "local", []string{host}
			}
			if dry {
				var systems []string
				for _, sw := range o.Switches {
					systems = append(systems, sw.OS)
				}
				_, err := io.WriteString(s.Out, bundle.Listing(systems))
				return err
			}
			if interval < 0 || limit < 0 || parallel < 1 {
				return refused(errors.New("--interval and --limit are times of 0 and up, --parallel a number of 1 and up"))
			}
			runner, err := to.open()
			if err != nil {
				return err
			}
			if c, ok := runner.(io.Closer); ok {
				defer c.Close()
			}
			o.Runner = runner
			if len(o.Switches) > 0 {
				console, ok := runner.(*remote.SSH)
				if !ok {
					if console, err = to.ssh(); err != nil {
						return err
					}
					defer console.Close()
				}
				o.Console = console
			}
			var m *bundle.Manifest
			if err := writeReport(s, output, func(w io.Writer) error {
				var err error
				m, err = bundle.Gather(cmd.Context(), o, w)
				return err
			}); err != nil {
				return err
			}
			if cmd.Context().Err() != nil {
				return interrupted()
			}
			return collected(s, m, output)
		},
	}
	f := cmd.Flags()
	to.add(f)
	f.StringArrayVar(&set, "set", nil, "change a value of the cluster file: PATH=VALUE (repeatable)")
	f.StringSliceVar(&only, "only", nil, "ask these hosts and switches alone")
	f.DurationVar(&interval, "interval", 10*time.Second, "between the two readings of counters; 0: one reading")
	f.DurationVar(&limit, "limit", 2*time.Minute, "for the script on each host, and for each command on a switch")
	f.IntVar(&parallel, "parallel", 64, "hosts and switches at a time")
	f.BoolVar(&dry, "dry-run", false, "print the commands with the right each needs, and run nothing")
	f.BoolVar(&noSwitches, "no-switches", false, "ask hosts alone")
	f.StringVarP(&output, "output", "o", "weir-bundle.tar.zst", "write the bundle to this file")
	return cmd
}

// collectFrom takes hosts and switches of a cluster.
func collectFrom(o *bundle.Options, c *cluster.Cluster, only []string, noSwitches bool) error {
	o.Cluster = c.Name
	for _, name := range only {
		if _, ok := c.FindNode(name); !ok {
			return refused(fmt.Errorf("--only %s: the cluster file has no such host or switch", name))
		}
	}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		switch {
		case len(only) > 0 && !slices.Contains(only, n.Name):
		case n.Kind == cluster.HostNode:
			o.Hosts = append(o.Hosts, n.Name)
		case !noSwitches:
			o.Switches = append(o.Switches, bundle.Switch{Name: n.Name, OS: n.OS})
		}
	}
	return nil
}

// collected tells who is missing; nobody's answer is a failure of the
// environment.
func collected(s *Streams, m *bundle.Manifest, output string) error {
	missing, files := 0, 0
	for i := range m.Sources {
		files += len(m.Sources[i].Files)
		if e := m.Sources[i].Error; e != "" {
			missing++
			fmt.Fprintf(s.Err, "%s: %s\n", m.Sources[i].Name, oneLine(errors.New(e)))
		}
	}
	fmt.Fprintf(s.Err, "%s: %d of %d sources, %d texts\n", output, len(m.Sources)-missing, len(m.Sources), files)
	if files == 0 {
		return failed(errors.New("nobody answered"))
	}
	return nil
}

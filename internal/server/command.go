// Package server is the program weir-server: it joins the store, the sources
// that fill it, the alert rules and the dashboard behind one listener.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/cli"
	"weir/internal/cluster"
	"weir/internal/input"
	"weir/internal/listen"
	"weir/internal/twin/fault"
	"weir/units"
)

type flags struct {
	listen    listen.Options
	dir       string
	source    string
	config    string
	remote    string // URL
	retention time.Duration
	maxSize   string
	set       []string
	faults    []string
	verbose   bool
}

const defaultDir = "weir-data"

// NewCommand returns the command line of weir-server.
func NewCommand(s *cli.Streams) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "weir-server CLUSTER.yaml",
		Short: "Keep and show the counters of every RoCE port of a live or simulated cluster",
		Long: `Weir-server scrapes the agents of a cluster's hosts, keeps the samples in an embedded
time-series store, answers PromQL through the Prometheus HTTP API (so that Grafana can
read it) and serves the dashboard. It listens on loopback unless --listen says
otherwise; beyond loopback it wants authentication, and TLS unless --insecure.`,
		Example: `  weir-server examples/pod-64x8.yaml --source sim
  weir-server examples/pod-64x8.yaml --source sim --fault pfc-storm@host-7
  weir-server cluster.yaml --listen 10.0.0.1:8080 --web-config web.yml --data /var/lib/weir
  weir-server cluster.yaml --store http://victoria:8428`,
		Args:          cobra.ExactArgs(1),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd.Context(), s, &f, args[0])
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.listen.Address, "listen", "127.0.0.1:8080", "address to listen on")
	fs.StringVar(&f.listen.WebConfig, "web-config", "", "TLS and authentication: a web configuration file of Prometheus' exporter-toolkit")
	fs.BoolVar(&f.listen.Insecure, "insecure", false, "allow plain text beyond loopback")
	fs.StringVar(&f.config, "config", "", "configuration file: where the agents are, and more (docs/live.md)")
	fs.StringVar(&f.dir, "data", defaultDir, "directory of the store; a simulation without it keeps nothing")
	fs.StringVar(&f.source, "source", "agents", "where samples come from: "+sourceNames())
	fs.StringArrayVar(&f.faults, "fault", nil, "inject a fault into a simulated fabric: ID@PLACE,start=TIME,end=TIME,severity=0..1 (repeatable; weir simulate --list-faults)")
	fs.StringVar(&f.remote, "store", "", "URL of a Prometheus-compatible engine to keep the samples instead")
	fs.DurationVar(&f.retention, "retention", 15*24*time.Hour, "how long samples are kept")
	fs.StringVar(&f.maxSize, "retention-size", "", "size of the store above which the oldest samples go, as in 100GiB (default: no limit)")
	fs.StringArrayVar(&f.set, "set", nil, "change a value of the cluster file: PATH=VALUE (repeatable)")
	fs.BoolVar(&f.verbose, "verbose", false, "log more")
	return cmd
}

func run(ctx context.Context, s *cli.Streams, f *flags, name string) error {
	c, err := cli.LoadCluster(name, f.set)
	if err != nil {
		return err
	}
	if c, err = withFaults(c, f); err != nil {
		return err
	}
	cfg, err := readConfig(f.config)
	if err != nil {
		return cli.Refused(err)
	}
	level := slog.LevelWarn // the engine and the listener tell of every step
	if f.verbose {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(s.Err, &slog.HandlerOptions{Level: level}))
	var maxBytes int64
	if f.maxSize != "" {
		b, err := units.ParseBytes(f.maxSize)
		if err != nil {
			return cli.Refused(fmt.Errorf("--retention-size: %w", err))
		}
		maxBytes = int64(b)
	}
	if f.retention < time.Hour {
		return cli.Refused(fmt.Errorf("--retention %v: at least 1h", f.retention))
	}
	fill, err := newSource(f.source)
	if err != nil {
		return cli.Refused(err)
	}
	l, err := listen.Open(ctx, f.listen)
	if err != nil {
		if input.IsRefusal(err) {
			return cli.Refused(err)
		}
		return cli.Failed(err)
	}
	defer l.Close()
	if f.source == "sim" && f.remote == "" && f.dir == defaultDir {
		// Simulated samples are not worth keeping, and must not mix with real ones.
		if f.dir, err = os.MkdirTemp("", "weir-sim-"); err != nil {
			return cli.Failed(err)
		}
		defer os.RemoveAll(f.dir)
	}
	st, err := openStore(f, cfg, maxBytes, s.Now, log.With("part", "store"))
	if err != nil {
		if input.IsRefusal(err) || f.remote != "" {
			return cli.Refused(err)
		}
		return cli.Failed(err)
	}
	live := &Live{Store: st, Cluster: c, File: name, Source: f.source, Now: s.Now, Log: log, Config: cfg}
	if live.Dashboard, err = newDashboard(live); err != nil {
		return cli.Failed(errors.Join(err, st.Close()))
	}
	live.Store = live.Dashboard.Store()
	live.Alerts = live.newAlerts()
	fmt.Fprintf(s.Err, "listening on %v\n", l.Addr())
	err = live.run(ctx, fill, func(ctx context.Context) error {
		return listen.Serve(ctx, l, live.handler(), f.listen, log.With("part", "http"))
	})
	if err := errors.Join(err, st.Close()); err != nil {
		return cli.Failed(err)
	}
	return nil
}

// newSource returns what fills the store.
func newSource(name string) (source, error) {
	kind, dir, _ := strings.Cut(name, ":")
	if s, ok := sources[kind]; ok && (kind == "record") == (dir != "") {
		return s, nil
	}
	return nil, fmt.Errorf("--source %s: %s", name, sourceNames())
}

func sourceNames() string {
	names := slices.Sorted(maps.Keys(sources))
	for i, n := range names {
		if n == "record" {
			names[i] = "record:DIR"
		}
	}
	return strings.Join(names, ", ")
}

// withFaults returns the cluster with the faults of the flags, each checked.
func withFaults(c *cluster.Cluster, f *flags) (*cluster.Cluster, error) {
	if len(f.faults) == 0 {
		return c, nil
	}
	if f.source != "sim" {
		return nil, cli.Refused(fmt.Errorf("--fault with --source %s: only a simulated fabric (--source sim) takes faults", f.source))
	}
	sick := *c
	sick.Faults = append([]cluster.Fault(nil), c.Faults...)
	for _, text := range f.faults {
		one, err := c.ParseFault(text)
		if err != nil {
			return nil, cli.Refused(err)
		}
		if err := fault.Check(c, &one); err != nil {
			return nil, cli.Refused(err)
		}
		sick.Faults = append(sick.Faults, one)
	}
	return &sick, nil
}

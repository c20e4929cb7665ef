package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"weir/internal/wire/perf"
	"weir/units"
)

// perfFlags are the flags of a test that client and server share.
type perfFlags struct {
	op, size, transport string
	spec                perf.Spec
	port                int
	perftest            bool
	asJSON              bool
	output              string
}

func (f *perfFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.op, "op", "write", "operation: write, read, send or atomic")
	fs.StringVar(&f.size, "size", "64K", "bytes of a message (K is 1024)")
	fs.IntVarP(&f.spec.Iterations, "iterations", "n", 0, "messages of each queue pair (default: as many as fit into --duration)")
	fs.IntVar(&f.spec.QPs, "qps", 1, "queue pairs, or TCP connections")
	fs.BoolVar(&f.spec.Latency, "latency", false, "one message at a time: measure latency")
	fs.IntVar(&f.spec.MTU, "mtu", 0, "path MTU: 256, 512, 1024, 2048 or 4096 (default: the largest that fits the interfaces)")
	fs.IntVar(&f.port, "port", perf.DefaultPort, "TCP port of the control connection")
	fs.BoolVar(&f.perftest, "perftest", false, "speak the handshake of ib_write_bw, ib_read_bw, ib_send_bw and their _lat forms")
	fs.BoolVar(&f.asJSON, "json", false, "print JSON")
	fs.StringVarP(&f.output, "output", "o", "", "write to this file")
}

// finish turns the texts into the spec.
func (f *perfFlags) finish() error {
	size, err := units.ParseTestSize(f.size)
	if err != nil {
		return refused(fmt.Errorf("--size: %w", err))
	}
	f.spec.Op, f.spec.Transport, f.spec.Size = perf.Op(f.op), perf.Transport(f.transport), int(size)
	if f.spec.Op == perf.Atomic {
		f.spec.Size = 8
	}
	if err := f.spec.Check(); err != nil {
		return refused(err)
	}
	return nil
}

func (f *perfFlags) print(s *Streams, r *perf.Result) error {
	return writeReport(s, f.output, func(w io.Writer) error {
		if !f.asJSON {
			return r.Text(w)
		}
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	})
}

func newPerf(s *Streams) *cobra.Command {
	var f perfFlags
	var coll collectiveFlags
	var local, class, operation string
	var duration time.Duration
	cmd := &cobra.Command{
		Use:   "perf HOST",
		Short: "Measure bandwidth and latency between two hosts with RoCEv2 packets, without RDMA hardware",
		Long: `Measure bandwidth and latency to a host that runs "weir perf server", with RoCEv2
packets of a software RNIC on UDP port 4791, or with the kernel's TCP between the
same hosts. With --perftest the other end is a tool of the perftest package, so it can
be a real RDMA card.`,
		Example: `  weir perf server --listen 10.0.0.2                       # on one host
  weir perf 10.0.0.2 --op write --size 64K --duration 3s   # on the other
  weir perf 10.0.0.2 --transport tcp
  weir perf 10.0.0.2 --op send --latency --size 64 -n 1000
  weir perf 10.0.0.2 --perftest --op write -n 1000         # against ib_write_bw
  weir perf --collective all_reduce --ranks 4 -b 1K -e 16M # between processes on this host`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if operation != "" {
				return runCollective(cmd.Context(), s, &coll, operation, args)
			}
			if len(args) == 0 {
				return refused(errors.New("weir perf needs a HOST, or --collective"))
			}
			if f.spec.Iterations == 0 {
				f.spec.Duration = duration
			}
			tc, err := strconv.ParseUint(class, 0, 8)
			if err != nil {
				return refused(fmt.Errorf("--tclass %q: a number from 0 to 255", class))
			}
			f.spec.TrafficClass = uint8(tc)
			if err := f.finish(); err != nil {
				return err
			}
			c := perf.Client{Host: args[0], Port: f.port, Spec: f.spec}
			if local != "" {
				if c.Local, err = netip.ParseAddr(local); err != nil {
					return refused(fmt.Errorf("--local: %w", err))
				}
			}
			run := c.Run
			if f.perftest {
				run = c.RunPerftest
			}
			r, err := run(cmd.Context())
			if err != nil {
				return perfError(cmd.Context(), err)
			}
			return f.print(s, r)
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&f.transport, "transport", "rocev2", "rocev2, or tcp for the kernel's TCP")
	cmd.Flags().DurationVar(&duration, "duration", 3*time.Second, "how long to measure")
	cmd.Flags().BoolVar(&f.spec.Both, "both", false, "both directions at a time")
	cmd.Flags().BoolVar(&f.spec.Segmentation, "segmentation", true, "let the kernel cut large sends into packets (off with --perftest)")
	cmd.Flags().StringVar(&local, "local", "", "address to send from (default: that of the route to HOST)")
	cmd.Flags().StringVar(&class, "tclass", "106", "traffic class: DSCP x 4 + ECN; 106 is DSCP 26 with ECT(0)")
	cmd.PreRun = func(*cobra.Command, []string) {
		if f.perftest {
			f.spec.Segmentation = false
		}
	}
	cmd.Flags().StringVar(&operation, "collective", "", "run a collective between processes on this host: all_reduce, all_gather, reduce_scatter, all_to_all or broadcast")
	coll.add(cmd.Flags())
	cmd.AddCommand(newPerfServer(s), newPerfRank(s))
	return cmd
}

func newPerfServer(s *Streams) *cobra.Command {
	var f perfFlags
	var listen string
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Serve weir perf, or one client of perftest",
		Long: `Serve weir perf until interrupted, one test at a time. The server listens on loopback unless
--listen names another address: whoever reaches it can make it send and receive test
traffic (at most 256 MiB of memory and 10 minutes a test). With --perftest it serves
one client of ib_write_bw, ib_read_bw, ib_send_bw or a _lat form, with the options that
the client was given, and prints what it received.`,
		Example: `  weir perf server --listen 10.0.0.2
  weir perf server --listen 10.0.0.2 --perftest --op write -n 1000 --size 64K`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.transport = string(perf.RoCEv2)
			f.spec.TrafficClass = 106
			if f.spec.Iterations == 0 && !f.perftest {
				f.spec.Iterations = 1
			}
			if err := f.finish(); err != nil {
				return err
			}
			l, err := net.Listen("tcp", net.JoinHostPort(listen, strconv.Itoa(f.port)))
			if err != nil {
				return failed(err)
			}
			defer l.Close()
			fmt.Fprintf(s.Err, "listening on %v\n", l.Addr())
			if !f.perftest {
				server := perf.Server{Listener: l, Log: s.Err}
				if err := server.Serve(cmd.Context()); err != nil {
					return failed(err)
				}
				return nil
			}
			r, err := perf.ServePerftest(cmd.Context(), l, f.spec)
			if err != nil {
				return perfError(cmd.Context(), err)
			}
			return f.print(s, r)
		},
	}
	f.add(cmd.Flags())
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1", "address to listen on, and to receive packets at")
	return cmd
}

// perfError words a failed measurement.
func perfError(ctx context.Context, err error) error {
	if ctx.Err() != nil || errors.Is(err, context.Canceled) {
		return interrupted()
	}
	return failed(err)
}

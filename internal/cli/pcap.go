package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"weir/internal/cause"
	"weir/internal/cluster"
	"weir/internal/finding"
	"weir/internal/input"
	"weir/internal/report"
	"weir/internal/wire/capture"
	"weir/roce"
	"weir/roce/pcapfile"
	"weir/units"
)

type pcapFlags struct {
	json      bool
	format    string
	output    string
	speed     string
	cluster   string
	set       []string
	filter    string
	packets   bool
	follow    uint32
	iface     string
	duration  time.Duration
	following bool
}

func newPcap(s *Streams) *cobra.Command {
	var f pcapFlags
	cmd := &cobra.Command{
		Use:   "pcap FILE",
		Short: "Say what went wrong in a capture of RoCE traffic",
		Long: `Pcap decodes a capture of RoCEv2 (or RoCEv1) traffic, checks every ICRC, follows
every connection, and says what went wrong: losses and how they were repaired,
reordering, doubled packets, refusals, receivers that are not ready, timeouts, damaged or rewritten
packets, congestion marks and notices, pauses, and connections that were rejected.

FILE is pcap or pcapng, of Ethernet, VLAN, Linux cooked or raw IP, plain or
compressed with gzip or zstd; "-" is standard input. With --interface packets
come from a network interface until Ctrl-C or for --duration. The exit status is 1
if there is a finding above "info".

A filter is made of ` + capture.FilterHelp + `. It restricts
the listing of --packets; without that, what is analysed at all.`,
		Example: `  weir pcap trace.pcap
  weir pcap --json trace.pcapng.zst | jq '.findings[] | {cause, where, summary}'
  weir pcap --packets --filter 'qp 0x11 and time 10ms-20ms' trace.pcap
  weir pcap --cluster cluster.yaml --speed 400Gbps trace.pcap
  weir pcap --interface eth2 --duration 10s --filter 'host 10.0.0.7'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.following = cmd.Flags().Changed("follow")
			return runPcap(cmd.Context(), s, &f, args)
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.json, "json", false, "print JSON (short for --format json)")
	fl.StringVar(&f.format, "format", "text", "text or json")
	fl.StringVarP(&f.output, "output", "o", "", "write to a file instead of standard output")
	fl.StringVar(&f.speed, "speed", "", "speed of the link, such as 400Gbps: turns pause quanta into time")
	fl.StringVar(&f.cluster, "cluster", "", "cluster file: compare DSCP, ECN and path MTU with its intent")
	fl.StringArrayVar(&f.set, "set", nil, "PATH=VALUE: change the cluster file's value (repeatable)")
	fl.StringVar(&f.filter, "filter", "", "which packets, see above")
	fl.BoolVar(&f.packets, "packets", false, "print one line a packet instead of the summary")
	fl.Uint32Var(&f.follow, "follow", 0, "print the packets of one queue pair, both ways, then what became of it")
	fl.StringVarP(&f.iface, "interface", "i", "", "capture from this network interface")
	fl.DurationVar(&f.duration, "duration", 0, "how long to capture, such as 10s; 0: until Ctrl-C")
	return cmd
}

func runPcap(ctx context.Context, s *Streams, f *pcapFlags, args []string) (err error) {
	o, err := f.options()
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			return inputError(f.cluster, err)
		}
		return refused(err)
	}
	if (len(args) == 0) == (f.iface == "") {
		return refused(errors.New("pcap: give a FILE (or \"-\"), or --interface NAME"))
	}
	if !f.packets && !f.following {
		a := capture.New(o)
		if err := f.read(ctx, s, a, args); err != nil {
			return err
		}
		return f.finish(ctx, s, a.Report())
	}
	var r *capture.Report
	var readErr error
	err = writeReport(s, f.output, func(out io.Writer) error {
		w := bufio.NewWriterSize(out, 1<<16)
		o.Packet, o.Filter = lister(w, o.Filter), nil
		a := capture.New(o)
		if readErr = f.read(ctx, s, a, args); readErr != nil {
			return w.Flush()
		}
		if r = a.Report(); f.following {
			fmt.Fprintln(w)
			return errors.Join(w.Flush(), report.WriteCapture(out, about(r, f.follow)))
		}
		return w.Flush()
	})
	if err != nil || readErr != nil {
		return cmp.Or(readErr, err)
	}
	return f.status(ctx, r)
}

// finish prints the report and gives its exit status.
func (f *pcapFlags) finish(ctx context.Context, s *Streams, r *capture.Report) error {
	err := writeReport(s, f.output, func(w io.Writer) error {
		if f.format == "json" {
			return report.WriteCaptureJSON(w, r)
		}
		return report.WriteCapture(w, r)
	})
	if err != nil {
		return err
	}
	return f.status(ctx, r)
}

// status is the exit status of a report that was printed.
func (f *pcapFlags) status(ctx context.Context, r *capture.Report) error {
	if ctx.Err() != nil && f.iface == "" {
		return interrupted()
	}
	for _, x := range r.Findings {
		if x.Severity > finding.Info {
			return judged()
		}
	}
	return nil
}

// options turns flags into those of the analysis.
func (f *pcapFlags) options() (o capture.Options, err error) {
	if f.json {
		f.format = "json"
	}
	switch {
	case f.format != "text" && f.format != "json":
		return o, fmt.Errorf("--format %s: text or json", f.format)
	case f.format == "json" && (f.packets || f.following):
		return o, errors.New("--packets and --follow print text, not JSON")
	case f.following && (f.follow == 0 || f.follow > 0xffffff):
		return o, fmt.Errorf("--follow %d: a queue pair number, 1 to 16777215", f.follow)
	case f.duration < 0:
		return o, fmt.Errorf("--duration %v: not below 0", f.duration)
	}
	if f.speed != "" {
		if o.LinkSpeed, err = units.ParseBitRate(f.speed); err != nil || o.LinkSpeed <= 0 {
			return o, fmt.Errorf("--speed %q: a rate such as 400Gbps", f.speed)
		}
	}
	if f.filter != "" {
		if o.Filter, err = capture.ParseFilter(f.filter); err != nil {
			return o, err
		}
		if o.Filter.NeedsAnalysis() && !f.packets && !f.following {
			return o, &input.Error{File: "--filter", Found: "\"again\" in what is analysed", Allowed: "together with --packets"}
		}
	}
	if f.following {
		o.Filter = capture.OfQueuePair(roce.QPN(f.follow), o.Filter)
	}
	if f.cluster != "" {
		c, err := cluster.Load(hostFS{}, f.cluster, f.set)
		if err != nil {
			return o, err
		}
		o.Intent = &c.QoS
	}
	o.Causes = cause.Load
	return o, nil
}

// read feeds the analysis from the file, standard input or the interface.
func (f *pcapFlags) read(ctx context.Context, s *Streams, a *capture.Analyser, args []string) error {
	if f.iface != "" {
		live, err := capture.Listen(ctx, f.iface, f.duration)
		if err != nil {
			return failed(err)
		}
		defer live.Close()
		if err := a.Drain(ctx, live); err != nil && ctx.Err() == nil {
			return failed(err)
		}
		a.CaptureDropped(live.Dropped())
		return nil
	}
	name, in := args[0], s.In
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return inputError(name, err)
		}
		defer file.Close()
		in = file
	} else {
		name = "standard input"
	}
	err := a.Read(ctx, in)
	var format *pcapfile.FormatError
	switch {
	case err == nil, ctx.Err() != nil:
		return nil
	case errors.As(err, &format), errors.Is(err, capture.ErrCompression):
		return refused(fmt.Errorf("%s: %w", name, err))
	}
	return inputError(name, err)
}

// lister prints the packets that match, one a line.
func lister(w io.Writer, filter *capture.Filter) func(*capture.Sighting) {
	var line []byte
	return func(s *capture.Sighting) {
		if filter.Match(s) {
			line = report.AppendPacket(line[:0], s)
			_, _ = w.Write(line) // bufio keeps the error for Flush
		}
	}
}

// about keeps of a report what concerns one queue pair.
func about(r *capture.Report, qpn uint32) *capture.Report {
	kept := *r
	kept.Connections, kept.QueuePairs, kept.RoCEv1QueuePairs = nil, nil, nil
	for _, c := range r.Connections {
		if c.DestQPN == qpn || c.SrcQPN == qpn {
			kept.Connections = append(kept.Connections, c)
		}
	}
	for _, q := range r.QueuePairs {
		if q.DestQPN == qpn {
			kept.QueuePairs = append(kept.QueuePairs, q)
		}
	}
	return &kept
}

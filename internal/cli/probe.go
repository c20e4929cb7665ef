package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"weir/internal/wire/probe"
)

func newProbe(s *Streams) *cobra.Command {
	var o probe.Options
	var local, class, output string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "probe HOST...",
		Short: "Check what the path to hosts does to RoCEv2 packets on UDP port 4791",
		Long: `Check the path to hosts that run "weir probe server": whether UDP port 4791 passes in both
directions, DSCP and ECN as they arrive, the largest path MTU, loss on each of many UDP
source ports, round-trip times, rewritten addresses, and how many ways the packets take.
Exit status 1 when a fault is found; it is named by its cause (weir explain CAUSE).`,
		Example: `  weir probe server --listen 10.0.0.2          # on one host
  weir probe 10.0.0.2                          # on the other
  weir probe 10.0.0.2 10.0.0.3 --json`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			tc, err := strconv.ParseUint(class, 0, 8)
			if err != nil {
				return refused(fmt.Errorf("--tclass %q: a number from 0 to 255", class))
			}
			o.Class = uint8(tc)
			if local != "" {
				if o.Local, err = netip.ParseAddr(local); err != nil {
					return refused(fmt.Errorf("--local: %w", err))
				}
			}
			var reports []*probe.Report
			var failures []error
			for _, host := range args {
				o := o
				o.Host = host
				r, err := probe.Run(cmd.Context(), o)
				if r != nil {
					reports = append(reports, r)
				}
				if err != nil && cmd.Context().Err() == nil {
					failures = append(failures, fmt.Errorf("%s: %w", host, err))
				}
			}
			if len(reports) > 0 {
				if err := writeReport(s, output, func(w io.Writer) error { return printProbes(w, reports, asJSON) }); err != nil {
					return err
				}
			}
			switch {
			case cmd.Context().Err() != nil:
				return interrupted()
			case len(failures) > 0:
				return failed(errors.Join(failures...))
			}
			for _, r := range reports {
				if r.Faulty() {
					return judged()
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.Ports, "ports", 32, "UDP source ports, over which ECMP spreads the probes: 1 to 256")
	f.IntVar(&o.Rounds, "rounds", 10, "probes on each source port")
	f.IntVar(&o.MaxHops, "max-hops", 5, "how far to look for routers; -1: not at all")
	f.DurationVar(&o.Timeout, "timeout", 0, "how long an answer may take (default 500ms)")
	f.IntVar(&o.Port, "port", probe.DefaultPort, "TCP port of the responder")
	f.StringVar(&local, "local", "", "address to send from (default: that of the route)")
	f.StringVar(&class, "tclass", "106", "traffic class: DSCP x 4 + ECN; 106 is DSCP 26 with ECT(0)")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVarP(&output, "output", "o", "", "write to this file")
	cmd.AddCommand(newProbeServer(s), newProbeMesh(s))
	return cmd
}

// printProbes prints the reports, and a table of all when there are several.
func printProbes(w io.Writer, reports []*probe.Report, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Schema string          `json:"schema"`
			Hosts  []*probe.Report `json:"hosts"`
		}{"weir.probe/1", reports})
	}
	for _, r := range reports {
		if err := r.Text(w); err != nil {
			return err
		}
	}
	if len(reports) < 2 {
		return nil
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "\nhost\tport 4791\tanswered\tmedian us\tpath MTU\tfindings")
	for _, r := range reports {
		median := "-"
		if r.RTT != nil {
			median = fmt.Sprintf("%.1f", r.RTT.Median)
		}
		fmt.Fprintf(t, "%s\t%s\t%d/%d\t%s\t%d\t", r.Host, r.State, r.Answered, r.Sent, median, min(r.PathMTUTo, r.PathMTUFrom))
		for i := range r.Findings {
			if i > 0 {
				fmt.Fprint(t, ", ")
			}
			fmt.Fprint(t, r.Findings[i].Cause)
		}
		fmt.Fprintln(t)
	}
	return t.Flush()
}

func newProbeServer(s *Streams) *cobra.Command {
	var listen string
	var port int
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Answer probes until interrupted",
		Long: `Answer probes on UDP port 4791 of an address, and tell probers over TCP what arrived, until
interrupted. It listens on loopback unless --listen names another address. An answer is
never larger than what was received, unless the prober also has a TCP connection.`,
		Example: `  weir probe server --listen 10.0.0.2`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			addr, err := netip.ParseAddr(listen)
			if err != nil {
				return refused(fmt.Errorf("--listen: %w", err))
			}
			server := probe.Server{Addr: addr, Port: port}
			if err := server.Run(cmd.Context(), func() { fmt.Fprintf(s.Err, "answering on %v\n", addr) }); err != nil {
				return failed(err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1", "address to answer on")
	cmd.Flags().IntVar(&port, "port", probe.DefaultPort, "TCP port")
	return cmd
}

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"weir/internal/cluster"
	"weir/internal/wire/probe"
)

// meshOutput is the JSON of weir probe mesh.
type meshOutput struct {
	Schema string       `json:"schema"`
	Edges  []probe.Edge `json:"edges"`
}

const meshSchema = "weir.probe_mesh/1"

func newProbeMesh(s *Streams) *cobra.Command {
	var o probe.Options
	var self, class, output string
	var set, results []string
	var crossed, asJSON bool
	parallel := 8
	cmd := &cobra.Command{
		Use:   "mesh CLUSTER.yaml",
		Short: "Probe from this host to all others of a cluster file, and print a matrix",
		Long: `Probe from each NIC of this host to the NIC of the same rail of every other host of the
cluster file (--crossed: to every NIC). The hosts run "weir probe server" on their NICs'
addresses. This host is told by its addresses, or named with --self. The matrix shows the
median round trip in microseconds, or the cause of what is wrong.

The JSON of several hosts makes one matrix with --results. Exit status 1 when a pair has a
fault or could not be probed.`,
		Example: `  weir probe mesh cluster.yaml                               # this host's row
  weir probe mesh cluster.yaml --json -o host-3.json         # on every host, then anywhere:
  weir probe mesh cluster.yaml --results host-0.json,host-3.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			over, err := cluster.Sets(set)
			if err != nil {
				return refused(err)
			}
			file, err := loadCluster(args[0], over)
			if err != nil {
				return err
			}
			var edges []probe.Edge
			if len(results) > 0 {
				edges, err = meshResults(results)
			} else {
				tc, parse := strconv.ParseUint(class, 0, 8)
				if parse != nil {
					return refused(fmt.Errorf("--tclass %q: a number from 0 to 255", class))
				}
				o.Class = uint8(tc)
				edges, err = meshProbe(cmd, file.Cluster, o, self, crossed, parallel)
			}
			if err != nil {
				return err
			}
			err = writeReport(s, output, func(w io.Writer) error {
				if asJSON {
					e := json.NewEncoder(w)
					e.SetIndent("", "  ")
					return e.Encode(meshOutput{meshSchema, edges})
				}
				return printMesh(w, edges)
			})
			switch {
			case err != nil:
				return err
			case cmd.Context().Err() != nil:
				return interrupted()
			}
			for i := range edges {
				if edges[i].Faulty() {
					return judged()
				}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVar(&self, "self", "", "name of this host in the cluster file (default: told by its addresses)")
	f.BoolVar(&crossed, "crossed", false, "probe across rails, too")
	f.IntVar(&parallel, "parallel", parallel, "pairs at a time, 1 to 256; never two that share a NIC")
	f.StringSliceVar(&results, "results", nil, "make the matrix of these JSON files instead of probing")
	f.IntVar(&o.Ports, "ports", 32, "UDP source ports, over which ECMP spreads the probes: 1 to 256")
	f.IntVar(&o.Rounds, "rounds", 10, "probes on each source port")
	f.IntVar(&o.MaxHops, "max-hops", -1, "how far to look for routers; -1: not at all")
	f.DurationVar(&o.Timeout, "timeout", 0, "how long an answer may take (default 500ms)")
	f.IntVar(&o.Port, "port", probe.DefaultPort, "TCP port of the responders")
	f.StringVar(&class, "tclass", "106", "traffic class: DSCP x 4 + ECN; 106 is DSCP 26 with ECT(0)")
	f.StringArrayVar(&set, "set", nil, "change a value of the file: PATH=VALUE")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.StringVarP(&output, "output", "o", "", "write to this file")
	return cmd
}

func meshProbe(cmd *cobra.Command, c *cluster.Cluster, o probe.Options, self string, crossed bool, parallel int) ([]probe.Edge, error) {
	if parallel < 1 || parallel > 256 {
		return nil, refused(fmt.Errorf("--parallel %d: 1 to 256", parallel))
	}
	if self == "" {
		addrs, err := localAddrs()
		if err != nil {
			return nil, failed(err)
		}
		if self = probe.Self(c, addrs); self == "" {
			return nil, refused(errors.New("no address of this machine is one of a NIC in the cluster file (host.nic.addresses): name this host with --self"))
		}
	}
	pairs, err := probe.Pairs(c, self, crossed)
	switch {
	case err != nil:
		return nil, refused(err)
	case len(pairs) == 0:
		return nil, refused(errors.New("nothing to probe: the cluster file has no other host with NICs of the same rails"))
	}
	return probe.Mesh(cmd.Context(), o, pairs, parallel), nil
}

// maxMeshFile bounds a results file.
const maxMeshFile = 256 << 20

func meshResults(names []string) ([]probe.Edge, error) {
	var all []probe.Edge
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, inputError(name, err)
		}
		var m meshOutput
		err = json.NewDecoder(io.LimitReader(f, maxMeshFile)).Decode(&m)
		f.Close()
		if err != nil || m.Schema != meshSchema {
			return nil, refused(fmt.Errorf("%s: not the JSON of weir probe mesh (schema %q)", name, meshSchema))
		}
		all = append(all, m.Edges...)
	}
	return all, nil
}

func localAddrs() ([]netip.Addr, error) {
	list, err := net.InterfaceAddrs()
	var out []netip.Addr
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok {
				out = append(out, ip.Unmap())
			}
		}
	}
	return out, err
}

// printMesh prints the matrix, then what is wrong, pair by pair.
func printMesh(w io.Writer, edges []probe.Edge) error {
	if err := probe.WriteMatrix(w, edges); err != nil {
		return err
	}
	bad := 0
	for i := range edges {
		e := &edges[i]
		if !e.Faulty() {
			continue
		}
		bad++
		if e.Report == nil {
			fmt.Fprintf(w, "%s to %s: not probed: %s\n", e.From, e.To, e.Error)
			continue
		}
		for _, f := range e.Report.Findings {
			fmt.Fprintf(w, "%s to %s: %s: %s: %s\n", e.From, e.To, f.Severity, f.Cause, f.Summary)
		}
	}
	_, err := fmt.Fprintf(w, "\n%d pairs, %d with a fault\n", len(edges), bad)
	return err
}

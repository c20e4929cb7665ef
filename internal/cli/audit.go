package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"weir/internal/answer/audit"
	"weir/internal/cause"
	"weir/internal/cluster"
	"weir/internal/report"
)

func newAudit(s *Streams) *cobra.Command {
	var format, output, path string
	var asJSON bool
	var set []string
	cmd := &cobra.Command{
		Use:   "audit CLUSTER.yaml INPUT...",
		Short: "Compare what switches and hosts run with what the cluster file intends",
		Long: `Audit reads configurations, state outputs and set-up scripts of switches and
hosts (files, directories, archives, "-") and compares by effect: on every port
between two hosts, which priority and queue RoCE and its congestion
notifications get, whether that is lossless, where marking starts, and how large
packets may be; both ends of each cable; and what hosts set. For each difference
it prints the consequence, and commands that repair and undo it with what they
disturb. Files belong to the device that they name, or to the one that their
name or directory begins with.

Exit status: 0 no difference, 1 a difference, 2 bad input.`,
		Example: `  weir audit cluster.yaml configs/
  weir audit cluster.yaml leaf-0.cfg host-0/mlnx_qos.txt
  weir audit cluster.yaml bundle.tar.zst --path host-0/nic-0,host-9/nic-0
  weir audit cluster.yaml configs/ --format junit -o audit.xml`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON {
				format = "json"
			}
			var write func(*report.Audit, io.Writer) error
			switch format {
			case "text":
				write = (*report.Audit).Text
			case "json":
				write = (*report.Audit).JSON
			case "sarif":
				write = (*report.Audit).SARIF
			case "junit":
				write = (*report.Audit).JUnit
			default:
				return refused(fmt.Errorf("--format %s: text, json, sarif or junit", format))
			}
			overrides, err := cluster.Sets(set)
			if err != nil {
				return refused(err)
			}
			file, err := loadCluster(args[0], overrides)
			if err != nil {
				return err
			}
			catalogue, err := cause.Load()
			if err != nil {
				return failed(err)
			}
			e, err := audit.Gather(cmd.Context(), args[1:], s.In)
			switch {
			case cmd.Context().Err() != nil:
				return interrupted()
			case err != nil:
				return failed(err)
			}
			for _, r := range e.Refused {
				if !r.Minor {
					return refused(fmt.Errorf("%s: %s", r.Source, r.Reason))
				}
			}
			result, err := audit.Run(file.Cluster, e, catalogue, path)
			if err != nil {
				return refused(err)
			}
			if result.DevicesFound+result.Snippets+len(result.Findings) == 0 {
				return refused(fmt.Errorf("nothing to compare: no input belongs to a device of %s: name files or their directories after its hosts and switches", args[0]))
			}
			r := &report.Audit{Result: result}
			if err := writeReport(s, output, func(w io.Writer) error { return write(r, w) }); err != nil {
				return err
			}
			if len(result.Findings) > 0 {
				return judged()
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, json, sarif or junit")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (short for --format json)")
	cmd.Flags().StringArrayVar(&set, "set", nil, "change a value of the cluster file: PATH=VALUE (repeatable)")
	cmd.Flags().StringVar(&path, "path", "", "show the way between two cards: host-0/nic-0,host-9/nic-0")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to a file instead of standard output")
	return cmd
}

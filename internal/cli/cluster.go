package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"weir/internal/cluster"
)

func newCluster(s *Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster",
		Short: "Check a cluster file, show its effective values, or print the file's schema",
		RunE: func(*cobra.Command, []string) error {
			return refused(errors.New("cluster: show or schema"))
		},
	}
	var set []string
	show := &cobra.Command{
		Use:     "show CLUSTER.yaml",
		Short:   "Check a cluster file and print it with every default filled in, and where each comes from",
		Example: "  weir cluster show examples/pod-64x8.yaml --set host.nic.speed=400Gbps",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			overrides, err := cluster.Sets(set)
			if err != nil {
				return refused(err)
			}
			file, err := loadCluster(args[0], overrides)
			if err != nil {
				return err
			}
			_, err = s.Out.Write(file.Effective())
			return err
		},
	}
	show.Flags().StringArrayVar(&set, "set", nil, "change a value: PATH=VALUE (repeatable)")
	schema := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of cluster files, for editors",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := s.Out.Write(cluster.Schema())
			return err
		},
	}
	cmd.AddCommand(show, schema)
	return cmd
}

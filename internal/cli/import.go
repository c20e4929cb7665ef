package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"weir/internal/answer/importer"
	"weir/internal/report"
)

func newImport(s *Streams) *cobra.Command {
	var output string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import SOURCE...",
		Short: "Write or refresh a cluster file from what exists",
		Long: `Import reads neighbour tables (lldpctl, show lldp of switches), SONiC's
config_db.json and minigraph.xml, other switch configurations, NetBox exports of
devices and cables (JSON or CSV), Slurm's topology.conf, containerlab topologies,
and outputs or /sys trees of hosts, in files, directories, archives and "-". It
writes a cluster file that weir simulate runs, and says on standard error what no
source told and what stands for it.

With -o FILE of a file that is there, the file is refreshed: new hosts, switches,
cables and settings are added, everything else, comments included, stays as it is,
and cables that differ from the file are named.

A source belongs to the device that it names, else to the one that its directory
or the beginning of its name does: leaf-0/lldp.txt, leaf-0.lldp.txt.

Exit status: 0 done, 1 done with conflicts or wrong cables, 2 bad input.`,
		Example: `  weir import lldp/ configs/*.json > cluster.yaml
  weir import bundle.tar.zst -o cluster.yaml
  weir import netbox-cables.json netbox-devices.json topology.conf`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sources, err := importer.Gather(cmd.Context(), args, s.In)
			switch {
			case cmd.Context().Err() != nil:
				return interrupted()
			case err != nil:
				return failed(err)
			}
			for _, r := range sources.Refused {
				if !r.Minor {
					return refused(fmt.Errorf("%s: %s", r.Source, r.Reason))
				}
			}
			result, err := importInto(sources, output)
			if err != nil {
				return err
			}
			r := &report.Import{Result: result, File: output}
			if output != "" {
				if err := writeFile(output, func(w io.Writer) error { _, err := w.Write(result.Text); return err }); err != nil {
					return err
				}
			}
			switch {
			case asJSON:
				err = r.JSON(s.Out)
			case output == "":
				if _, err = s.Out.Write(result.Text); err == nil {
					err = r.Text(s.Err)
				}
			default:
				err = r.Text(s.Err)
			}
			if err != nil {
				return failed(err)
			}
			if len(result.Conflicts)+len(result.Findings) > 0 {
				return judged()
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file, or refresh it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was done, and the file, as JSON")
	return cmd
}

// importInto refreshes the file of that name where there is one.
func importInto(sources *importer.Sources, name string) (*importer.Result, error) {
	if name == "" {
		result, err := importer.Build(sources)
		if err != nil {
			return nil, refused(err)
		}
		return result, nil
	}
	text, err := os.ReadFile(name)
	var result *importer.Result
	switch {
	case errors.Is(err, fs.ErrNotExist):
		result, err = importer.Build(sources)
	case err != nil:
		return nil, inputError(name, err)
	default:
		result, err = importer.Refresh(sources, name, text)
	}
	if err != nil {
		return nil, refused(err)
	}
	return result, nil
}

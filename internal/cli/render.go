package cli

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"weir/internal/answer/render"
	"weir/internal/cluster"
)

func newRender(s *Streams) *cobra.Command {
	var set []string
	var dir string
	var explain, asJSON bool
	cmd := &cobra.Command{
		Use:   "render CLUSTER.yaml --out DIR",
		Short: "Write the configuration of every switch and host",
		Long: `Render writes a file for each device of a cluster: switches in the language of
their switch.os (nxos, eos, nvue, onyx, sonic, vrp, comware, junos; Centec as
sonic), and for each host a script that sets its cards, a systemd unit, the
environment of NCCL and a pod. What the cluster file leaves out is computed;
--explain prints the arithmetic. Thresholds are converted to the switch's own
units. A setting that a system cannot express is an error, and nothing is
written then. The same cluster gives the same bytes.`,
		Example: `  weir render examples/pod-64x8.yaml --out configs
  weir render cluster.yaml --set switch.os=eos --set switch.model=tomahawk-4 --out configs --explain`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if dir == "" && !explain {
				return refused(errors.New("--out DIR is missing: where the files go"))
			}
			overrides, err := cluster.Sets(set)
			if err != nil {
				return refused(err)
			}
			file, err := loadCluster(args[0], overrides)
			if err != nil {
				return err
			}
			files, err := render.Files(file.Cluster)
			if err != nil {
				return refused(fmt.Errorf("%s: %w", args[0], err))
			}
			why, err := render.Explain(file.Cluster)
			if err != nil {
				return refused(fmt.Errorf("%s: %w", args[0], err))
			}
			if dir != "" {
				if err := writeTree(dir, files); err != nil {
					return failed(err)
				}
			}
			return printRendered(s, dir, files, why, explain, asJSON)
		},
	}
	cmd.Flags().StringArrayVar(&set, "set", nil, "change a value: PATH=VALUE (repeatable)")
	cmd.Flags().StringVar(&dir, "out", "", "directory for the files, made if it is not there")
	cmd.Flags().BoolVar(&explain, "explain", false, "print how computed values came about (alone: without writing)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the list of files as JSON")
	return cmd
}

func printRendered(s *Streams, dir string, files []render.File, why []string, explain, asJSON bool) error {
	var err error
	if asJSON {
		names := []string{}
		for i := range files {
			names = append(names, files[i].Name)
		}
		e := json.NewEncoder(s.Out)
		e.SetIndent("", "  ")
		err = e.Encode(struct {
			Schema  string   `json:"schema"`
			Out     string   `json:"out"`
			Files   []string `json:"files"`
			Explain []string `json:"explain"`
		}{"weir.render/1", dir, names, why})
	} else {
		if explain {
			_, err = fmt.Fprintln(s.Out, strings.Join(why, "\n"))
		}
		if dir != "" && err == nil {
			_, err = fmt.Fprintf(s.Out, "%d files in %s\n", len(files), dir)
		}
	}
	if err != nil {
		return failed(fmt.Errorf("standard output: %w", err))
	}
	return nil
}

// writeTree writes files below a directory and nowhere else, not through
// links either. First all are written beside their names; only when that
// worked do they take their names.
func writeTree(dir string, files []render.File) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	suffix := ".weir-" + rand.Text()[:8]
	written := 0
	defer func() {
		if err != nil {
			for _, f := range files[:written] {
				root.Remove(f.Name + suffix)
			}
		}
	}()
	for i, f := range files {
		if path.Clean(f.Name) != f.Name || !fs.ValidPath(f.Name) {
			return fmt.Errorf("%s: no name for a file in %s", f.Name, dir)
		}
		if err := root.MkdirAll(path.Dir(f.Name), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		written = i + 1
		if err := root.WriteFile(f.Name+suffix, []byte(f.Body), mode); err != nil {
			return err
		}
	}
	for _, f := range files {
		if err := root.Rename(f.Name+suffix, f.Name); err != nil {
			return err
		}
	}
	return nil
}

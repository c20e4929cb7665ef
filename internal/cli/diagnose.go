package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"weir/internal/answer/diagnosis"
	"weir/internal/cause"
	"weir/internal/field/evidence"
	"weir/internal/finding"
	"weir/internal/report"
	"weir/internal/telemetry"
)

func newDiagnose(s *Streams) *cobra.Command {
	var lang, format, output string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diagnose INPUT...",
		Short: "Name the cause of a failure or slowness, with evidence, the deciding test and the repair",
		Long: `Diagnose reads whatever there is: NCCL logs, outputs of host and switch tools,
counters (two readings of a device tell far more than one), perftest and
nccl-tests tables, configurations, in files, directories, archives or standard
input ("-"), and directories that weir simulate --record wrote. It names causes, most sure first, each with the lines that show it,
what would refute it, one test that decides, and how to repair it. Where the
facts do not decide, it names the output that would.

Exit status: 0 no finding of severity warning or above, 1 such a finding,
2 bad input.`,
		Example: `  weir diagnose - < nccl.log
  weir diagnose nccl.log show_gids.txt lspci.txt
  weir diagnose --json bundle.tar.zst | jq '.findings[0]'
  weir diagnose --lang zh evidence/`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			language, err := parseLanguage(lang)
			switch {
			case err != nil:
				return err
			case asJSON:
				format = "json"
			case format != "text" && format != "json":
				return refused(fmt.Errorf("--format %s: text or json", format))
			}
			catalogue, err := cause.Load()
			if err != nil {
				return failed(err)
			}
			inputs, recordings, err := splitRecords(args)
			if err != nil {
				return err
			}
			read, err := evidence.ReadPaths(cmd.Context(), inputs, s.In)
			switch {
			case cmd.Context().Err() != nil:
				return interrupted()
			case err != nil:
				return failed(err)
			}
			if err := unread(read); err != nil {
				return err
			}
			result, err := diagnosis.RunRecorded(read.Facts, recordings, catalogue, language)
			if err != nil {
				return refused(err)
			}
			d := report.Diagnosis{
				Result: result, Language: language,
				Facts: len(read.Facts), Sources: len(read.Sources), NotUnderstood: notUnderstood(read),
			}
			write := d.Text
			if format == "json" {
				write = d.JSON
			}
			if err := writeReport(s, output, func(w io.Writer) error { return write(w) }); err != nil {
				return err
			}
			for i := range d.Result.Findings {
				if d.Result.Findings[i].Severity >= finding.Warning {
					return judged()
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&lang, "lang", "en", "language of the text: en or zh")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (short for --format json)")
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to a file instead of standard output")
	return cmd
}

// splitRecords takes the directories that hold a record out of the inputs.
func splitRecords(args []string) (inputs []string, recordings []diagnosis.Recording, err error) {
	for _, name := range args {
		if _, err := os.Stat(filepath.Join(name, "series.json")); name == "-" || err != nil {
			inputs = append(inputs, name)
			continue
		}
		record, err := telemetry.OpenRecord(os.DirFS(name))
		if err != nil {
			return nil, nil, refused(fmt.Errorf("%s: %w", name, err))
		}
		recordings = append(recordings, diagnosis.Recording{Name: name, Record: record})
	}
	return inputs, recordings, nil
}

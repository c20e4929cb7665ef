package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"weir/internal/fact"
	"weir/internal/field/evidence"
)

func newFacts(s *Streams) *cobra.Command {
	var asJSON bool
	var format string
	cmd := &cobra.Command{
		Use:   "facts INPUT...",
		Short: "Print what tool outputs, logs and configurations say, as facts",
		Long: `Facts reads outputs of host and switch tools, NCCL logs, perftest and nccl-tests
tables, configurations and trees of /sys, in files, directories, archives (tar,
gz, zst, bz2, zip) or standard input ("-"), and prints what they say: one value
of one key of one subject a line. The tool is recognised by content; names of
files do not matter, and several outputs may stand in one file. Lines that
nobody understands are listed with their place.`,
		Example: `  weir facts nccl.log ethtool.txt
  ethtool -S eth2 | weir facts -
  weir facts --json bundle.tar.gz | jq '.facts[] | select(.key == "qos.pfc.enabled")'`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case asJSON:
				format = "json"
			case format != "text" && format != "json":
				return refused(fmt.Errorf("--format %s: text or json", format))
			}
			report, err := evidence.ReadPaths(cmd.Context(), args, s.In)
			if err != nil && cmd.Context().Err() == nil {
				return failed(err)
			}
			out := bufio.NewWriter(s.Out)
			if format == "json" {
				err = writeFactsJSON(out, report)
			} else {
				err = writeFactsText(out, report)
			}
			if err := errors.Join(err, out.Flush()); err != nil {
				return failed(err)
			}
			if cmd.Context().Err() != nil {
				return interrupted()
			}
			return unread(report)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON (short for --format json)")
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	return cmd
}

// unread returns the refusal of the first input that could not be read at all.
func unread(report *evidence.Report) error {
	for _, r := range report.Refused {
		if !r.Minor {
			return refused(fmt.Errorf("%s: %s", r.Source, r.Reason))
		}
	}
	return nil
}

type jsonFact struct {
	Subject     string `json:"subject"`
	SubjectKind string `json:"subject_kind"`
	Host        string `json:"host,omitempty"`
	Key         string `json:"key"`
	Value       any    `json:"value"`
	Unit        string `json:"unit"`
	Source      string `json:"source"`
	Line        int    `json:"line"`
	Tool        string `json:"tool,omitempty"`
	Metric      string `json:"metric,omitempty"`
}

type jsonLine struct {
	Source string `json:"source"`
	Line   int    `json:"line,omitempty"`
	Text   string `json:"text"`
}

type jsonRefusal struct {
	Source string `json:"source"`
	Reason string `json:"reason"`
}

type jsonSource struct {
	Source        string   `json:"source"`
	Tools         []string `json:"tools"`
	Lines         int      `json:"lines"`
	Facts         int      `json:"facts"`
	NotUnderstood int      `json:"not_understood"`
}

// writeFactsJSON writes the report as one document, a fact at a time: a bundle
// of a cluster has millions of them.
func writeFactsJSON(w io.Writer, report *evidence.Report) error {
	j := jsonList{w: w, enc: json.NewEncoder(w)}
	j.raw("{\n\"schema\": \"weir.facts/1\",\n\"facts\": [\n")
	for _, f := range report.Facts {
		j.item(jsonFact{
			Subject: f.Subject.String(), SubjectKind: f.Subject.Kind.String(), Host: f.Subject.Host,
			Key: f.Key, Value: f.Value.Any(), Unit: f.Unit,
			Source: f.Origin.Source, Line: f.Origin.Line, Tool: f.Origin.Tool, Metric: f.Origin.Metric,
		})
	}
	j.next("not_understood")
	for _, n := range report.NotUnderstood {
		j.item(jsonLine{n.Origin.Source, n.Origin.Line, n.Text})
	}
	j.next("not_read")
	for _, r := range report.Refused {
		j.item(jsonRefusal{r.Source, r.Reason})
	}
	j.next("sources")
	for _, s := range report.Sources {
		if s.Tools == nil {
			s.Tools = []string{}
		}
		j.item(jsonSource{s.Name, s.Tools, s.Lines, s.Facts, s.NotUnderstood})
	}
	j.raw("]\n}\n")
	return j.err
}

type jsonList struct {
	w    io.Writer
	enc  *json.Encoder
	some bool
	err  error
}

func (j *jsonList) raw(text string) {
	if j.err == nil {
		_, j.err = io.WriteString(j.w, text)
	}
}

func (j *jsonList) item(v any) {
	if j.some {
		j.raw(",")
	}
	j.some = true
	if j.err == nil {
		j.err = j.enc.Encode(v)
	}
}

func (j *jsonList) next(name string) {
	j.raw("],\n\"" + name + "\": [\n")
	j.some = false
}

// writeFactsText writes a table, values last since some are long, then what
// was not understood and not read.
func writeFactsText(w io.Writer, report *evidence.Report) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "SUBJECT\tKEY\tPLACE\tVALUE")
	for _, f := range report.Facts {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", subjectText(f.Subject), f.Key, place(f.Origin), valueText(f))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(report.NotUnderstood) > 0 {
		fmt.Fprintf(w, "\nnot understood:\n")
		for _, n := range report.NotUnderstood {
			fmt.Fprintf(w, "  %s: %s\n", place(n.Origin), strings.TrimSpace(n.Text))
		}
	}
	if len(report.Refused) > 0 {
		fmt.Fprintf(w, "\nnot read:\n")
		for _, r := range report.Refused {
			fmt.Fprintf(w, "  %s: %s\n", r.Source, r.Reason)
		}
	}
	_, err := fmt.Fprintf(w, "\n%d facts from %d sources, %d lines not understood\n", len(report.Facts), len(report.Sources), notUnderstood(report))
	return err
}

func notUnderstood(report *evidence.Report) int {
	n := 0
	for _, s := range report.Sources {
		n += s.NotUnderstood
	}
	return n
}

func subjectText(s fact.Subject) string {
	text := s.String()
	if text == "" {
		return s.Kind.String()
	}
	return s.Kind.String() + " " + text
}

func valueText(f fact.Fact) string {
	v := strings.ReplaceAll(f.Value.String(), "\t", " ")
	if f.Unit != "" && f.Value.Kind() != fact.Absent {
		v += " " + f.Unit
	}
	return v
}

func place(o fact.Origin) string {
	if o.Line == 0 {
		return o.Source
	}
	return fmt.Sprintf("%s:%d", o.Source, o.Line)
}

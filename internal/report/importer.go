package report

import (
	"bufio"
	"fmt"
	"io"

	"weir/internal/answer/importer"
)

// An Import is what an import prints beside the file.
type Import struct {
	Result *importer.Result
	File   string // that was written; "" standard output
}

// Text says how the file came about and what is missing in it.
func (i *Import) Text(w io.Writer) error {
	out := bufio.NewWriter(w)
	r := i.Result
	name := i.File
	if name == "" {
		name = "The file"
	}
	fmt.Fprintf(out, "%s has %d hosts, %d switches and %d cables.\n", name, r.Hosts, r.Switches, r.Links)
	block := func(title string, list []string) {
		if len(list) == 0 {
			return
		}
		fmt.Fprintf(out, "\n%s\n", title)
		for _, s := range list {
			wrapped(out, "  - ", "    ", s)
		}
	}
	block("Added:", r.Added)
	var conflicts []string
	for _, c := range r.Conflicts {
		conflicts = append(conflicts, fmt.Sprintf("%s: kept %s; %s says %s", c.Where, c.Kept, c.From, c.Other))
	}
	block("Conflicts:", conflicts)
	var cables []string
	for k := range r.Findings {
		cables = append(cables, r.Findings[k].Cause+": "+r.Findings[k].Summary)
	}
	block("Cables that differ from the plan:", cables)
	block("Not learned:", r.Unknown)
	block("Left out:", r.LeftOut)
	if n := len(r.NotUnderstood); n > 0 {
		fmt.Fprintf(out, "\n%s not understood (--json lists them).\n", lineCount(n))
	}
	return out.Flush()
}

// JSON writes the answer as one document, keys as in "weir.import/1".
func (i *Import) JSON(w io.Writer) error {
	lines := []notUnderstoodLine{}
	for _, n := range i.Result.NotUnderstood {
		lines = append(lines, notUnderstoodLine{n.Origin.Source, n.Origin.Line, n.Text})
	}
	return indented(w, struct {
		Schema string `json:"schema"`
		*importer.Result
		Cluster       string              `json:"cluster_yaml"`
		NotUnderstood []notUnderstoodLine `json:"not_understood"`
	}{"weir.import/1", i.Result, string(i.Result.Text), lines})
}

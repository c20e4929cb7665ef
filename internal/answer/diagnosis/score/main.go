// Command score diagnoses recorded cases and prints how often the named cause
// is the right one, as the table that docs/diagnosis.md keeps.
//
//	go run ./internal/answer/diagnosis/score ../shared/cases
//	go run ./internal/answer/diagnosis/score simulated        (faults that the simulator injects: 20 trials each)
//
// A case is a directory with case.yaml (expect.cause, also_acceptable, not;
// confidence.level) and input/. The exit status is 1 if a target is missed.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"weir/internal/answer/diagnosis"
	"weir/internal/cause"
	"weir/internal/field/evidence"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: score DIRECTORY")
		os.Exit(2)
	}
	work := func() (bool, error) { return run(os.Args[1], os.Stdout) }
	if os.Args[1] == "simulated" {
		work = func() (bool, error) { return onSimulator(context.Background(), os.Stdout, simulatedTrials) }
	}
	met, err := work()
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "score:", err)
		os.Exit(2)
	case !met:
		os.Exit(1)
	}
}

// A caseFile is what case.yaml holds of interest here.
type caseFile struct {
	Expect struct {
		Cause string   `yaml:"cause"`
		Also  []string `yaml:"also_acceptable"`
		Not   []string `yaml:"not"`
	} `yaml:"expect"`
	Confidence struct {
		Level string `yaml:"level"`
	} `yaml:"confidence"`
}

// run scores all cases below dir and reports whether the targets are met.
func run(dir string, w io.Writer) (met bool, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*", "case.yaml"))
	if err != nil || len(names) == 0 {
		return false, fmt.Errorf("%s: no */case.yaml", dir)
	}
	catalogue, err := cause.Load()
	if err != nil {
		return false, err
	}
	out := bufio.NewWriter(w)
	defer out.Flush()
	fmt.Fprintf(out, "| case | known by | expected | first | second | right | asks for |\n|---|---|---|---|---|---|---|\n")
	var t tally
	for _, name := range names {
		if err := score(out, name, catalogue, &t); err != nil {
			return false, err
		}
	}
	return t.print(out), nil
}

func score(out io.Writer, name string, catalogue *cause.Catalogue, t *tally) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var c caseFile
	if err := yaml.Unmarshal(text, &c); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	dir := filepath.Dir(name)
	report, err := evidence.ReadPaths(context.Background(), []string{filepath.Join(dir, "input")}, strings.NewReader(""))
	if err != nil {
		return err
	}
	r := diagnosis.Run(report.Facts, catalogue, cause.English)
	place := t.add(&c, r)
	first, second := named(r, 0), named(r, 1)
	fmt.Fprintf(out, "| %s | %s | %s | %s | %s | %s | %d |\n", filepath.Base(dir), c.Confidence.Level, c.Expect.Cause, first, second, place, len(r.Missing))
	return nil
}

func named(r *diagnosis.Result, i int) string {
	if i >= len(r.Findings) {
		return "-"
	}
	return fmt.Sprintf("%s %.2f", r.Findings[i].Cause, r.Findings[i].Confidence)
}

// A tally counts. Sure cases are those whose cause was confirmed or stated by
// a maintainer; the rest are reported beside them.
type tally struct {
	sure, sureFirst, sureTwo int
	rest, restFirst, restTwo int
	wrongAbove               []string
}

// add counts a result and returns how the case came out.
func (t *tally) add(c *caseFile, r *diagnosis.Result) string {
	right := append([]string{c.Expect.Cause}, c.Expect.Also...)
	at := slices.IndexFunc(r.Findings, func(f diagnosis.Finding) bool { return slices.Contains(right, f.Cause) })
	for i, f := range r.Findings {
		if slices.Contains(c.Expect.Not, f.Cause) && (at < 0 || i < at) {
			t.wrongAbove = append(t.wrongAbove, c.Expect.Cause+" below "+f.Cause)
		}
	}
	all, first, two := &t.rest, &t.restFirst, &t.restTwo
	if c.Confidence.Level == "confirmed" || c.Confidence.Level == "maintainer-stated" {
		all, first, two = &t.sure, &t.sureFirst, &t.sureTwo
	}
	*all++
	switch {
	case at == 0:
		*first++
		*two++
		return "first"
	case at == 1:
		*two++
		return "second"
	case at > 1:
		return fmt.Sprintf("place %d", at+1)
	}
	return "no"
}

// print writes the figures and reports whether the targets are met.
func (t *tally) print(out io.Writer) bool {
	first := t.sureFirst*10 >= t.sure*9
	two := t.sureTwo == t.sure
	above := len(t.wrongAbove) == 0
	fmt.Fprintf(out, "\n| target | measured | met |\n|---|---|---|\n")
	fmt.Fprintf(out, "| right cause first in 90 %% of the cases confirmed or stated by a maintainer | %d of %d | %s |\n", t.sureFirst, t.sure, yes(first))
	fmt.Fprintf(out, "| among the first two in all of them | %d of %d | %s |\n", t.sureTwo, t.sure, yes(two))
	fmt.Fprintf(out, "| no cause that is known to be wrong above the right one | %d | %s |\n", len(t.wrongAbove), yes(above))
	fmt.Fprintf(out, "| the other cases (no target): first, first two | %d, %d of %d | |\n", t.restFirst, t.restTwo, t.rest)
	for _, w := range t.wrongAbove {
		fmt.Fprintf(out, "\nwrong: %s\n", w)
	}
	return first && two && above
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

package main

import (
	"context"
	"fmt"
	"io"

	"weir/internal/answer/diagnosis/simulated"
	"weir/internal/cause"
	"weir/internal/twin/fault"
)

// How many runs the targets ask for.
const (
	simulatedTrials = 20  // of each fault
	healthyRuns     = 200 // for 20 trials; fewer in proportion
	doubleRuns      = 50
)

// onSimulator prints the table of faults that the simulator injects and reports
// whether the targets are met: the right cause first in 95 %, the right device
// in 90 %, both of two faults in 80 %, nothing of severity warning in healthy runs.
func onSimulator(ctx context.Context, w io.Writer, trials int) (met bool, err error) {
	catalogue, err := cause.Load()
	if err != nil {
		return false, err
	}
	fmt.Fprintf(w, "| fault | trials | right cause first | of those that cost 5 to 50 %% | named at all | right device, where named | first instead |\n|---|---|---|---|---|---|---|\n")
	var all, first, named, place, inRange, inRangeFirst int
	for _, k := range fault.Table() {
		row, err := simulated.Kinds(ctx, k.ID, trials, 1, catalogue, nil)
		if err != nil {
			return false, err
		}
		all, first, named, place = all+row.Trials, first+row.First, named+row.Named, place+row.Place
		inRange, inRangeFirst = inRange+row.InRange, inRangeFirst+row.InRangeFirst
		fmt.Fprintf(w, "| %s | %d | %d | %d of %d | %d | %d | %s |\n", row.ID, row.Trials, row.First, row.InRangeFirst, row.InRange, row.Named, row.Place, row.Others())
	}
	healthy, two := healthyRuns*trials/simulatedTrials, doubleRuns*trials/simulatedTrials
	wrong, err := simulated.Healthy(ctx, healthy, 1000, catalogue)
	if err != nil {
		return false, err
	}
	runs, both, err := simulated.Two(ctx, two, 2000, catalogue)
	if err != nil {
		return false, err
	}
	fmt.Fprintf(w, "\n| measure | got | target | |\n|---|---|---|---|\n")
	met = true
	line := func(what string, got, of int, least float64, ok bool) {
		verdict := "met"
		if !ok {
			met, verdict = false, "**missed**"
		}
		fmt.Fprintf(w, "| %s | %d of %d (%.0f %%) | %.0f %% | %s |\n", what, got, of, 100*float64(got)/float64(max(of, 1)), 100*least, verdict)
	}
	line("right cause first, of all trials", first, all, 0.95, first*100 >= all*95)
	line("right cause first, of faults that cost the job 5 to 50 %", inRangeFirst, inRange, 0.95, inRangeFirst*100 >= inRange*95)
	line("right device or link, where the cause is named", place, named, 0.90, place*100 >= named*90)
	line("both of two faults named", both, runs, 0.80, both*100 >= runs*80)
	line("healthy runs without a warning", healthy-len(wrong), healthy, 1, len(wrong) == 0)
	for _, x := range wrong {
		fmt.Fprintf(w, "\n- %s\n", x)
	}
	return met, nil
}

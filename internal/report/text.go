package report

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"strings"

	"weir/internal/twin"
	"weir/units"
)

// WriteSimulation writes the report for people. The table of collectives has
// nccl-tests' columns, then what was expected; the network's part follows, and
// one sentence of verdict. It holds nothing that depends on the machine.
func WriteSimulation(w io.Writer, s *Simulation) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# %s: %s\n", s.Cluster, s.Summary)
	if s.Preset != "" {
		fmt.Fprintf(b, "# parameter set %s\n", s.Preset)
	}
	if len(s.Rows) > 0 {
		writeCollectives(b, s.Rows)
	}
	for i := range s.Result.Steps {
		writeStep(b, &s.Result.Steps[i])
	}
	if len(s.Result.Flows) > 0 {
		writeFlows(b, s.Result)
	}
	writeNetwork(b, s.Result)
	fmt.Fprintln(b)
	for i := range s.Result.Compared {
		k := &s.Result.Compared[i]
		fmt.Fprintf(b, "%s, run both ways: %v by packets, %v by flows (%+.1f %%).\n", k.What, k.Packets, k.Flow, 100*k.Off())
	}
	if s.Result.Interrupted {
		fmt.Fprintf(b, "Interrupted after %v of simulated time: what is above is what was known by then.\n", s.Result.Simulated)
	}
	if s.Result.Stalled != "" {
		fmt.Fprintf(b, "%s.\n", s.Result.Stalled)
	}
	fmt.Fprintln(b, s.Verdict.Sentence)
	for _, f := range s.Verdict.Findings {
		fmt.Fprintf(b, "%s: %s at %s: %s\n", f.Severity, f.Cause, f.Where, f.Summary)
		for _, fix := range f.Fix {
			fmt.Fprintf(b, "  fix: %s\n", fix.Text)
		}
	}
	return b.Flush()
}

func writeCollectives(b *bufio.Writer, rows []Row) {
	fmt.Fprintf(b, "# %s on %d ranks; expected: closed form with latency; ideal: bandwidth alone\n", rows[0].Op, rows[0].Ranks)
	fmt.Fprintln(b, "#       size         count      type   redop    root     time   algbw   busbw #wrong   ideal expected  share  how")
	fmt.Fprintln(b, "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)        (GB/s)   (GB/s)")
	for _, r := range rows {
		redop, root := "none", "-1"
		switch r.Op.String() {
		case "all_reduce", "reduce_scatter":
			redop = "sum"
		case "broadcast":
			root = "0"
		}
		cpu := ""
		if r.CPUShare > 0 {
			cpu = fmt.Sprintf(", cpu %.1f%%", 100*r.CPUShare)
		}
		fmt.Fprintf(b, "%12d  %12d     float  %6s  %6s %8s %7.2f %7.2f    N/A %7.2f  %7.2f %5.1f%%  %s/%s x%d%s\n",
			r.Bytes, r.Bytes/4, redop, root, testTime(r.Time), r.AlgBW, r.BusBW, r.IdealBusBW, r.ExpectedBusBW,
			100*r.BusBW/r.ExpectedBusBW, r.Algorithm, r.Protocol, r.Channels, cpu+byFlow(r.Fidelity))
	}
}

// byFlow marks what was not simulated packet by packet.
func byFlow(fidelity string) string {
	if fidelity != "" && fidelity != string(twin.Packets) {
		return ", " + fidelity
	}
	return ""
}

// testTime prints microseconds as nccl-tests does: fewer decimals as they grow.
func testTime(t units.Time) string {
	us := t.Microseconds()
	switch {
	case us >= 10000:
		return fmt.Sprintf("%.0f", us)
	case us >= 100:
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprintf("%.2f", us)
}

// shownFlows is how many flows the text lists; JSON and the completion file
// hold all.
const shownFlows = 16

func writeFlows(b *bufio.Writer, r *twin.Result) {
	s := summarise(r)
	fmt.Fprintln(b, "#  flow  from                 to                          size     start       fct     rate")
	fmt.Fprintln(b, "#                                                          (B)      (us)      (us)   (Gb/s)")
	for i, f := range r.Flows {
		if i == shownFlows {
			fmt.Fprintf(b, "#  ... and %d more (--json lists all)\n", len(r.Flows)-shownFlows)
			break
		}
		if f.FCT <= 0 {
			fmt.Fprintf(b, "%7d  %-20s %-20s %12d %9.2f unfinished\n", f.ID, f.Src, f.Dst, f.Bytes, f.Start.Microseconds())
			continue
		}
		fmt.Fprintf(b, "%7d  %-20s %-20s %12d %9.2f %9.2f %8.2f\n", f.ID, f.Src, f.Dst, f.Bytes,
			f.Start.Microseconds(), f.FCT.Microseconds(), float64(f.Bytes)*8/f.FCT.Seconds()/1e9)
	}
	if s.finished == 0 {
		fmt.Fprintf(b, "# none of %d flows finished\n", len(r.Flows))
		return
	}
	fmt.Fprintf(b, "# %d of %d flows finished; completion time mean %.3f us, p99 %.3f us, max %.3f us; goodput %.2f Gb/s\n",
		s.finished, len(r.Flows), s.mean, s.p99, s.max, s.goodput)
	if e := r.Network.BusiestEgress; e.Where != "" {
		fmt.Fprintf(b, "# busiest egress %s: %.1f %% of line rate\n", e.Where, 100*e.Share)
	}
}

func writeNetwork(b *bufio.Writer, r *twin.Result) {
	if len(r.Network.Tiers) == 0 && r.Network.Totals.DataPackets == 0 { // a closed form counts nothing
		return
	}
	t := r.Network.Totals
	fmt.Fprintln(b)
	width := len("links")
	for _, tier := range r.Network.Tiers {
		width = max(width, len(tier.Name))
	}
	fmt.Fprintf(b, "%-*s  links  util mean   max  paused  marks      pauses\n", width, "tier")
	for _, tier := range r.Network.Tiers {
		fmt.Fprintf(b, "%-*s  %5d  %8.1f%% %4.0f%%  %5.2f%%  %-9d  %d\n", width, tier.Name, tier.Links,
			100*tier.UtilisationMean, 100*tier.UtilisationMax, 100*tier.PauseShare, tier.ECNMarked, tier.PauseFrames)
	}
	fmt.Fprintf(b, "drops %d (lossless %d), retransmitted %d, PFC pauses %d, ECN marks %d (%s of %d data packets), CNPs %d\n",
		t.Drops, t.LosslessDrops, t.RetransmittedPackets, t.PFCPauseFrames, t.ECNMarkedPackets,
		percent(t.ECNMarkedPackets, t.DataPackets), t.DataPackets, t.CNPs)
	if q := r.Network.DeepestQueue; q.Where != "" {
		var limits []string
		if q.ECNMax > 0 {
			limits = append(limits, fmt.Sprintf("ECN %v to %v", q.ECNMin, q.ECNMax))
		}
		if q.XOFF > 0 {
			limits = append(limits, fmt.Sprintf("XOFF near %v", q.XOFF))
		}
		in := ""
		if len(limits) > 0 {
			in = " (" + strings.Join(limits, ", ") + ")"
		}
		fmt.Fprintf(b, "deepest queue %s at %s%s\n", q.Bytes, q.Where, in)
	}
	if r.Messages.Count > 0 {
		fmt.Fprintf(b, "message latency p50 %v, p99 %v over %d messages\n", r.Messages.P50, r.Messages.P99, r.Messages.Count)
	}
}

func percent(part, whole uint64) string {
	if whole == 0 {
		return "0 %"
	}
	p := 100 * float64(part) / float64(whole)
	if p > 0 && p < 0.01 {
		return "below 0.01 %"
	}
	return fmt.Sprintf("%.*f %%", int(math.Max(0, 2-math.Floor(math.Log10(math.Max(p, 1))))), p)
}

// WriteSpeed writes one line on the cost of the run.
func WriteSpeed(w io.Writer, r *twin.Result) {
	fmt.Fprintf(w, "simulated %v in %.1f s: %.1f M packet-hops, %.1f M hops/s\n",
		r.Simulated, r.Engine.Wall, float64(r.Engine.PacketHops)/1e6, hopRate(r)/1e6)
}

package report

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"weir/internal/finding"
	"weir/internal/wire/capture"
	"weir/units"
)

// WriteCaptureJSON writes the report of a capture as one JSON document.
func WriteCaptureJSON(w io.Writer, r *capture.Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// captureRows is how many rows a table of the text report has at most.
const captureRows = 40

// WriteCapture writes the report of a capture for people: what it holds, its
// connections, and what went wrong.
func WriteCapture(w io.Writer, r *capture.Report) error {
	b := bufio.NewWriter(w)
	captureTotals(b, r)
	captureOpcodes(b, r)
	captureConnections(b, r)
	captureDatagrams(b, r)
	capturePauses(b, r)
	captureExchanges(b, r)
	captureFindings(b, r)
	return b.Flush()
}

func captureTotals(b *bufio.Writer, r *capture.Report) {
	fmt.Fprintf(b, "%d frames, %v on the wire, %v\n", r.Frames, units.Bytes(r.WireBytes), seconds(r.DurationS))
	fmt.Fprintf(b, "%d RoCEv2 packets", r.RoCEPackets)
	for _, n := range []struct {
		count uint64
		what  string
	}{
		{r.RoCEv1Packets, "RoCEv1"}, {r.PFCFrames, "PFC frames"}, {r.PauseFrames, "PAUSE frames"}, {r.VLANPackets, "with VLAN tag"},
		{r.VXLANPackets, "in VXLAN"}, {r.Malformed, "malformed"}, {r.Fragments, "IP fragments"},
	} {
		if n.count > 0 {
			fmt.Fprintf(b, ", %d %s", n.count, n.what)
		}
	}
	fmt.Fprintf(b, "\nICRC: %d valid, %d wrong, %d not captured whole\n", r.ICRC.Valid, r.ICRC.Wrong, r.ICRC.Unchecked)
	if n := r.RoCEv1ICRC; r.RoCEv1Packets > 0 {
		fmt.Fprintf(b, "ICRC of RoCEv1: %d valid, %d wrong, %d not captured whole\n", n.Valid, n.Wrong, n.Unchecked)
	}
	fmt.Fprintf(b, "ECN: %s; CNPs: %d\n", ecnText(r.ECN), r.CNPs)
}

func ecnText(e capture.ECNCounts) string {
	return fmt.Sprintf("%d not-ECT, %d ECT(0), %d ECT(1), %d CE", e.NotECT, e.ECT0, e.ECT1, e.CE)
}

func seconds(s float64) time.Duration { return time.Duration(s * 1e9).Round(time.Microsecond) }

func captureOpcodes(b *bufio.Writer, r *capture.Report) {
	if len(r.Opcodes) == 0 {
		return
	}
	names := slices.SortedFunc(maps.Keys(r.Opcodes), func(x, y string) int {
		return cmp.Or(cmp.Compare(r.Opcodes[y], r.Opcodes[x]), strings.Compare(x, y))
	})
	fmt.Fprintln(b, "\nOpcodes")
	for _, n := range names {
		fmt.Fprintf(b, "  %-22s %9d\n", n, r.Opcodes[n])
	}
}

// captureConnections shows the connections, those with trouble first.
func captureConnections(b *bufio.Writer, r *capture.Report) {
	if len(r.Connections) == 0 {
		return
	}
	trouble := func(c *capture.Connection) uint64 {
		return c.Retransmissions + c.Duplicates + c.OutOfOrder + c.Damaged + c.RNRNAKs + uint64(len(c.NAKs))
	}
	list := slices.Clone(r.Connections)
	slices.SortStableFunc(list, func(x, y capture.Connection) int {
		return cmp.Or(cmp.Compare(trouble(&y), trouble(&x)), cmp.Compare(y.SentBytes+y.ReadBytes, x.SentBytes+x.ReadBytes))
	})
	fmt.Fprintf(b, "\nConnections (requester, responder; %d)\n", len(list))
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  from\tto\tQP\tMTU\tmessages\tpayload\tgoodput\tsent again\tout of order\tdoubled\tNAK\tRNR\tACK p50\tp99")
	for _, c := range list[:min(len(list), captureRows)] {
		naks := uint64(0)
		for _, n := range c.NAKs {
			naks += n
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%d\t%v\t%v\t%s\t%d\t%d\t%d\t%d\t%s\t%s\n",
			c.Src, c.Dst, queuePairs(&c), orDash(c.PathMTU != 0, c.PathMTU), c.Messages, units.Bytes(c.SentBytes+c.ReadBytes), units.BitRate(c.GoodputBPS),
			againText(&c), c.OutOfOrder, c.Duplicates, naks, c.RNRNAKs,
			latencyText(c.AckLatency.Count, c.AckLatency.P50US), latencyText(c.AckLatency.Count, c.AckLatency.P99US))
	}
	t.Flush()
	if n := len(list) - captureRows; n > 0 {
		fmt.Fprintf(b, "  and %d more (all with --json)\n", n)
	}
	captureCongestion(b, list)
}

// queuePairs names the responder's queue pair, and the requester's where known.
func queuePairs(c *capture.Connection) string {
	if c.SrcQPN == 0 {
		return fmt.Sprintf("0x%x", c.DestQPN)
	}
	return fmt.Sprintf("0x%x>0x%x", c.SrcQPN, c.DestQPN)
}

func againText(c *capture.Connection) string {
	if c.Retransmissions == 0 {
		return "0"
	}
	return fmt.Sprintf("%d in %d rounds", c.Retransmissions, c.GoBackN+c.Single)
}

func orDash(ok bool, v any) string {
	if !ok {
		return "-"
	}
	return fmt.Sprint(v)
}

func latencyText(n uint64, us float64) string {
	return orDash(n > 0, units.Time(us*float64(units.Microsecond)))
}

func captureCongestion(b *bufio.Writer, list []capture.Connection) {
	head := false
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, c := range list {
		if c.RequestECN.CE+c.ResponseECN.CE+c.CNPs == 0 {
			continue
		}
		if !head {
			fmt.Fprintln(b, "\nCongestion")
			fmt.Fprintln(t, "  from\tto\tQP\tCE requests\tCE responses\tCNPs\tCE to CNP p50\tp99\tCNP to slower p50\tp99\tslower after CNP")
			head = true
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%d of %d\n", c.Src, c.Dst, queuePairs(&c), c.RequestECN.CE, c.ResponseECN.CE, c.CNPs,
			latencyText(c.CEToCNP.Count, c.CEToCNP.P50US), latencyText(c.CEToCNP.Count, c.CEToCNP.P99US),
			latencyText(c.CNPToSlow.Count, c.CNPToSlow.P50US), latencyText(c.CNPToSlow.Count, c.CNPToSlow.P99US),
			c.CNPsObeyed, c.CNPsObeyed+c.CNPsIgnored)
	}
	t.Flush()
}

// captureDatagrams shows the rows that belong to no connection.
func captureDatagrams(b *bufio.Writer, r *capture.Report) {
	type row struct {
		src, dst string
		qpn      uint32
	}
	conns := map[row]bool{}
	for _, c := range r.Connections {
		conns[row{c.Src, c.Dst, c.DestQPN}] = true
		conns[row{c.Dst, c.Src, c.SrcQPN}] = true
	}
	head, n := false, 0
	for _, q := range append(slices.Clone(r.QueuePairs), r.RoCEv1QueuePairs...) {
		if conns[row{q.Src, q.Dst, q.DestQPN}] {
			continue
		}
		if !head {
			fmt.Fprintln(b, "\nOther queue pairs (datagrams, and answers to requests that are not in the capture)")
			head = true
		}
		if n++; n <= captureRows {
			fmt.Fprintf(b, "  %s to %s QP 0x%x: %s, %d packets, %v, PSN %d to %d\n", q.Src, q.Dst, q.DestQPN, q.Kind, q.Packets, units.Bytes(q.PayloadBytes), q.FirstPSN, q.LastPSN)
		}
	}
	if n > captureRows {
		fmt.Fprintf(b, "  and %d more (all with --json)\n", n-captureRows)
	}
}

func capturePauses(b *bufio.Writer, r *capture.Report) {
	if len(r.Pauses) == 0 {
		return
	}
	fmt.Fprintln(b, "\nPauses")
	for _, p := range r.Pauses {
		class := fmt.Sprintf("class %d", p.Class)
		if p.Class < 0 {
			class = "whole link"
		}
		fmt.Fprintf(b, "  from %s, %s: %d pauses, %d resumes, %d quanta (up to %d)", p.Sender, class, p.Frames, p.Resumes, p.Quanta, p.MaxQuanta)
		if r.LinkSpeedBitsPerS > 0 {
			fmt.Fprintf(b, ", paused for %.3f us at %v", p.PausedUS, units.BitRate(r.LinkSpeedBitsPerS))
		}
		fmt.Fprintln(b)
	}
	if r.LinkSpeedBitsPerS == 0 {
		fmt.Fprintln(b, "  (give --speed for times)")
	}
}

func captureExchanges(b *bufio.Writer, r *capture.Report) {
	if len(r.Exchanges) == 0 {
		return
	}
	fmt.Fprintln(b, "\nConnection manager")
	for _, e := range r.Exchanges[:min(len(r.Exchanges), captureRows)] {
		fmt.Fprintf(b, "  %s QP 0x%x to %s QP 0x%x", e.Client, e.ClientQPN, e.Server, e.ServerQPN)
		if e.Port > 0 {
			fmt.Fprintf(b, ", port %d", e.Port)
		}
		fmt.Fprintf(b, ": %s", e.State)
		if e.Reject != "" {
			fmt.Fprintf(b, " (%s)", e.Reject)
		}
		fmt.Fprintf(b, ", packets %d to %d\n", e.FirstPacket, e.LastPacket)
	}
	if n := len(r.Exchanges) - captureRows; n > 0 {
		fmt.Fprintf(b, "  and %d more (all with --json)\n", n)
	}
}

func captureFindings(b *bufio.Writer, r *capture.Report) {
	fmt.Fprintln(b)
	if len(r.Findings) == 0 {
		fmt.Fprintln(b, "No finding.")
		return
	}
	for _, f := range r.Findings {
		writeFinding(b, &f)
	}
}

// writeFinding writes one finding with its evidence and fixes.
func writeFinding(b *bufio.Writer, f *finding.Finding) {
	fmt.Fprintf(b, "%s: %s at %s: %s\n", f.Severity, f.Cause, f.Where, f.Summary)
	for _, e := range f.Evidence {
		place := e.Source
		if e.Line > 0 {
			place = strings.TrimSpace(fmt.Sprintf("%s %d", e.Source, e.Line))
		}
		if place != "" {
			place += ": "
		}
		fmt.Fprintf(b, "  %s%s\n", place, e.Text)
	}
	if f.DecidingTest != "" {
		fmt.Fprintf(b, "  decide: %s\n", f.DecidingTest)
	}
	for _, fix := range f.Fix {
		fmt.Fprintf(b, "  fix: %s\n", fix.Text)
	}
}

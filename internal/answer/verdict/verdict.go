// Package verdict judges a simulated run: how much of the expected it
// reached, what limits it, and which causes the network's counters name.
package verdict

import (
	"fmt"
	"math"

	"weir/internal/answer/expect"
	"weir/internal/cluster"
	"weir/internal/finding"
	"weir/internal/twin"
)

// Verdict is the judgement. Share is of the expected bus bandwidth at the
// largest size; of flows to one receiver, of its line rate; of other flows, of
// what their NICs alone would allow. It is NaN where nothing finished.
// LimitedBy is "NIC", "NVLink", "PCIe", "latency", "library", "CPU", "line rate",
// "uplinks", "other jobs", or the id of a cause.
type Verdict struct {
	Share     float64
	LimitedBy string
	Sentence  string
	Findings  []finding.Finding
}

// healthy is the share of the expected from which a run counts as being at
// its expectation; below it a cause is looked for.
const healthy = 0.9

// healthyLatency is the same where latency decides: closed forms and
// measurements of small operations differ by a factor of 1.5 (validation row V55).
const healthyLatency = 1 / 1.5

// healthyCPU is the same where cores decide: a thread that copies in turn for
// several peers idles between slices, which the closed form leaves out.
const healthyCPU = 0.5

// Collectives judges a run of collectives. expected has one entry for each of
// r.Collectives.
func Collectives(c *cluster.Cluster, r *twin.Result, expected []expect.Collective) Verdict {
	v := Verdict{Share: math.NaN(), LimitedBy: "nothing that finished"}
	last := -1
	for i, row := range r.Collectives {
		if row.Time > 0 && (last < 0 || row.Bytes >= r.Collectives[last].Bytes) {
			last = i
		}
	}
	if last < 0 {
		v.Sentence = "No collective finished, so there is nothing to judge."
		return v
	}
	row, e := &r.Collectives[last], &expected[last]
	bus := BusBW(row)
	v.Share = bus / e.BusBW
	other := othersOf(c, r, last)
	v.Findings = findings(c, r, v.Share/other.left())
	at := fmt.Sprintf("%s of %v reaches %.1f GB/s bus bandwidth, %.0f %% of the %.1f expected on this cluster", row.Op, row.Bytes, bus, 100*v.Share, e.BusBW)
	switch {
	case row.Fidelity == string(twin.ClosedForm):
		v.LimitedBy = string(e.Limit)
		v.Sentence = fmt.Sprintf("%s of %v takes %.1f us by the closed form of in-network reduction, %.1f GB/s bus bandwidth: %s sets the limit. No packet was simulated.", row.Op, row.Bytes, row.Time.Microseconds(), bus, limitWords(e.Limit))
	case v.Share >= healthy, e.Limit == expect.ByLatency && v.Share >= healthyLatency && len(v.Findings) == 0:
		v.LimitedBy = string(e.Limit)
		v.Sentence = fmt.Sprintf("%s: the network carries it, and %s sets the limit.", at, limitWords(e.Limit))
	case e.Limit == expect.ByCPU && len(v.Findings) == 0 && v.Share >= healthyCPU:
		v.LimitedBy = string(e.Limit)
		v.Sentence = fmt.Sprintf("%s: %s sets the limit, not the network.", at, limitWords(e.Limit))
	case len(v.Findings) == 0 && other.Jobs > 0 && v.Share/other.left() >= healthy:
		v.LimitedBy = ByOthers
		v.Sentence = fmt.Sprintf("%s: %s, and the network carries what they leave.", at, other.text())
	case len(v.Findings) == 0 && uplinksFull(r):
		v.LimitedBy = "uplinks"
		v.Sentence = at + ": the links between switches are full, so the fabric is oversubscribed for this job."
	case len(v.Findings) == 0 && other.Jobs > 0:
		v.LimitedBy = ByOthers
		v.Sentence = fmt.Sprintf("%s: %s, and no counter names another cause.", at, other.text())
	case len(v.Findings) > 0:
		v.LimitedBy = v.Findings[0].Cause
		v.Sentence = fmt.Sprintf("%s: limited by %s at %s.", at, v.LimitedBy, v.Findings[0].Where)
	default:
		v.LimitedBy = "unknown"
		v.Sentence = at + ": no counter of the network says why."
	}
	return v
}

// BusBW is the bus bandwidth of a row in GB/s, by nccl-tests' factor.
func BusBW(row *twin.Collective) float64 {
	return AlgBW(row) * expect.BusFactor(row.Op, row.Ranks)
}

// AlgBW is the size over the time in GB/s.
func AlgBW(row *twin.Collective) float64 {
	if row.Time <= 0 {
		return 0
	}
	return float64(row.Bytes) / row.Time.Seconds() / 1e9
}

func limitWords(l expect.Limit) string {
	switch l {
	case expect.ByLatency:
		return "latency, not bandwidth,"
	case expect.ByNIC:
		return "the rate of the NICs"
	case expect.ByPCIe:
		return "PCIe"
	case expect.ByCPU:
		return "the work of the hosts' cores for TCP"
	case expect.ByUplinks:
		return "the links between switches"
	case expect.ByLocal:
		return "NVLink inside the nodes"
	}
	return "the library's own cost"
}

// Flows judges a run of flows: several to one receiver by the busiest egress,
// others by what their NICs alone would allow.
func Flows(c *cluster.Cluster, r *twin.Result) Verdict {
	e := r.Network.BusiestEgress
	if e.Where == "" {
		return Verdict{Share: math.NaN(), LimitedBy: "nothing that was sent", Sentence: "Nothing was sent, so there is nothing to judge."}
	}
	v := Verdict{Share: e.Share}
	at := fmt.Sprintf("The busiest egress, %s, runs at %.1f %% of line rate", e.Where, 100*e.Share)
	limit, limited := "line rate", "the link itself is the limit"
	if nic, ok := nicShare(c, r); ok && !oneReceiver(r) {
		v.Share = nic
		at = fmt.Sprintf("The flows run at %.1f %% of what their NICs alone would allow", 100*nic)
		limit, limited = string(expect.ByNIC), "the network carries them"
	}
	v.Findings = findings(c, r, v.Share)
	switch {
	case v.Share >= healthy:
		v.LimitedBy = limit
		v.Sentence = fmt.Sprintf("%s: %s.", at, limited)
	case len(v.Findings) > 0:
		v.LimitedBy = v.Findings[0].Cause
		v.Sentence = fmt.Sprintf("%s: limited by %s.", at, v.LimitedBy)
	case uplinksFull(r):
		v.LimitedBy = "uplinks"
		v.Sentence = at + ": the links between switches are full, so the fabric is oversubscribed for them."
	default:
		v.LimitedBy = "senders"
		v.Sentence = at + ": the senders offer no more, and nothing in the network holds them back."
	}
	return v
}

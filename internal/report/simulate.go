// Package report turns results and findings into text, JSON and pages.
package report

import (
	"encoding/json"
	"io"
	"math"
	"sort"

	"weir/internal/finding"
	"weir/internal/twin"
	"weir/units"
)

// Simulation is what `weir simulate` reports.
type Simulation struct {
	Cluster string // name of the cluster, or of the topology file
	Summary string // one line on what was simulated
	Preset  string // parameter set of another simulator, if one is in use
	Seed    uint64
	Result  *twin.Result
	Rows    []Row // one per Result.Collectives
	Verdict Verdict
}

// Row is one size of a collective with the rates that nccl-tests prints, in
// GB/s (1e9 bytes), and what the cluster should show.
type Row struct {
	twin.Collective
	AlgBW, BusBW, IdealBusBW, ExpectedBusBW float64
}

// Verdict is the judgement of a run. Share is of the expected bus bandwidth,
// or of line rate for flows; NaN where there is nothing to judge.
type Verdict struct {
	Share     float64
	LimitedBy string
	Sentence  string
	Findings  []finding.Finding
}

// Schema names the form of the JSON output.
const simulateSchema = "weir.simulate/1"

type simulateJSON struct {
	Schema      string            `json:"schema"`
	Cluster     string            `json:"cluster"`
	Preset      string            `json:"preset,omitempty"`
	Seed        uint64            `json:"seed"`
	Interrupted bool              `json:"interrupted,omitempty"`
	Stalled     string            `json:"stalled,omitempty"`
	SimulatedS  float64           `json:"simulated_s"`
	Results     []resultJSON      `json:"results"`
	Compared    []comparedJSON    `json:"fidelity_check,omitempty"`
	Step        *stepJSON         `json:"step,omitempty"`
	Flows       []flowJSON        `json:"flows,omitempty"`
	FlowSummary *flowSummaryJSON  `json:"flow_summary,omitempty"`
	Network     networkJSON       `json:"network"`
	Latency     latencyJSON       `json:"latency"`
	Engine      engineJSON        `json:"engine"`
	Verdict     verdictJSON       `json:"verdict"`
	Findings    []finding.Finding `json:"findings"`
}

// comparedJSON is a part that was run both ways.
type comparedJSON struct {
	What    string  `json:"what"`
	PacketS float64 `json:"packet_s"`
	FlowS   float64 `json:"flow_s"`
	Off     float64 `json:"flow_off_by"`
}

type resultJSON struct {
	Job           string  `json:"job,omitempty"`
	Op            string  `json:"op"`
	Algorithm     string  `json:"algorithm"`
	Protocol      string  `json:"protocol"`
	Channels      int     `json:"channels"`
	Ranks         int     `json:"ranks"`
	Fidelity      string  `json:"fidelity"`
	SizeBytes     int64   `json:"size_bytes"`
	TimeS         float64 `json:"time_s"`
	AlgBW         float64 `json:"algbw_gbytes_per_s"`
	BusBW         float64 `json:"busbw_gbytes_per_s"`
	IdealBusBW    float64 `json:"ideal_busbw_gbytes_per_s"`
	ExpectedBusBW float64 `json:"expected_busbw_gbytes_per_s"`
	// Of transports that the hosts' cores carry.
	CPUShare float64 `json:"cpu_share,omitempty"`
}

type flowJSON struct {
	ID        int      `json:"id"`
	Src       string   `json:"src"`
	Dst       string   `json:"dst"`
	SizeBytes int64    `json:"size_bytes"`
	StartUS   float64  `json:"start_us"`
	FCTUS     *float64 `json:"fct_us"` // null: not finished
}

type flowSummaryJSON struct {
	Goodput     float64     `json:"goodput_gbits_per_s"`
	ShareOfLine float64     `json:"share_of_line"`
	FCT         fctStatJSON `json:"fct_us"`
}

type fctStatJSON struct {
	Mean float64 `json:"mean"`
	P99  float64 `json:"p99"`
	Max  float64 `json:"max"`
}

type networkJSON struct {
	Tiers        []tierJSON `json:"tiers"`
	Totals       totalsJSON `json:"totals"`
	DeepestQueue queueJSON  `json:"deepest_queue"`
}

type tierJSON struct {
	Name            string  `json:"name"`
	Links           int     `json:"links"`
	UtilisationMean float64 `json:"utilisation_mean"`
	UtilisationMax  float64 `json:"utilisation_max"`
	PauseShare      float64 `json:"pause_share"`
	ECNMarked       uint64  `json:"ecn_marked_packets"`
	PauseFrames     uint64  `json:"pfc_pause_frames"`
}

type totalsJSON struct {
	DataPackets   uint64 `json:"data_packets"`
	Drops         uint64 `json:"drops"`
	LosslessDrops uint64 `json:"lossless_drops"`
	PauseFrames   uint64 `json:"pfc_pause_frames"`
	ResumeFrames  uint64 `json:"pfc_resume_frames"`
	ECNMarked     uint64 `json:"ecn_marked_packets"`
	CNPs          uint64 `json:"cnps"`
	Retransmitted uint64 `json:"retransmitted_packets"`
}

type queueJSON struct {
	Where     string `json:"where"`
	Bytes     int64  `json:"bytes"`
	ECNMin    int64  `json:"ecn_min_bytes"`
	ECNMax    int64  `json:"ecn_max_bytes"`
	XOFFBytes int64  `json:"xoff_bytes"`
}

type latencyJSON struct {
	P50   float64 `json:"p50_us"`
	P99   float64 `json:"p99_us"`
	Count uint64  `json:"messages"`
}

type engineJSON struct {
	PacketHops uint64  `json:"packet_hops"`
	Events     uint64  `json:"events"`
	WallS      float64 `json:"wall_s"`
	HopsPerS   float64 `json:"packet_hops_per_s"`
}

type verdictJSON struct {
	ShareOfExpected *float64 `json:"share_of_expected"`
	LimitedBy       string   `json:"limited_by"`
	Sentence        string   `json:"sentence"`
}

// WriteSimulationJSON writes the report as JSON. Everything but the wall time
// and the rate derived from it is the same for the same input and seed.
func WriteSimulationJSON(w io.Writer, s *Simulation) error {
	r := s.Result
	out := simulateJSON{
		Schema: simulateSchema, Cluster: s.Cluster, Preset: s.Preset, Seed: s.Seed,
		Interrupted: r.Interrupted, Stalled: r.Stalled, SimulatedS: r.Simulated.Seconds(),
		Results: []resultJSON{}, Findings: s.Verdict.Findings,
		Network: networkOf(r),
		Latency: latencyJSON{r.Messages.P50.Microseconds(), r.Messages.P99.Microseconds(), r.Messages.Count},
		Engine:  engineJSON{r.Engine.PacketHops, r.Engine.Events, r.Engine.Wall, hopRate(r)},
		Verdict: verdictJSON{nil, s.Verdict.LimitedBy, s.Verdict.Sentence},
	}
	if out.Findings == nil {
		out.Findings = []finding.Finding{}
	}
	if !math.IsNaN(s.Verdict.Share) {
		out.Verdict.ShareOfExpected = &s.Verdict.Share
	}
	for _, row := range s.Rows {
		out.Results = append(out.Results, resultJSON{
			row.Job, row.Op.String(), row.Algorithm.String(), row.Protocol.String(), row.Channels, row.Ranks, row.Fidelity,
			int64(row.Bytes), row.Time.Seconds(), row.AlgBW, row.BusBW, row.IdealBusBW, row.ExpectedBusBW, row.CPUShare,
		})
	}
	if len(r.Steps) > 0 {
		out.Step = stepOf(&r.Steps[0])
	}
	for i := range r.Compared {
		k := &r.Compared[i]
		out.Compared = append(out.Compared, comparedJSON{k.What, k.Packets.Seconds(), k.Flow.Seconds(), k.Off()})
	}
	for _, f := range r.Flows {
		j := flowJSON{ID: f.ID, Src: f.Src, Dst: f.Dst, SizeBytes: int64(f.Bytes), StartUS: f.Start.Microseconds()}
		if f.FCT > 0 {
			us := f.FCT.Microseconds()
			j.FCTUS = &us
		}
		out.Flows = append(out.Flows, j)
	}
	if len(r.Flows) > 0 {
		sum := summarise(r)
		out.FlowSummary = &flowSummaryJSON{sum.goodput, r.Network.BusiestEgress.Share, fctStatJSON{sum.mean, sum.p99, sum.max}}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(out)
}

func networkOf(r *twin.Result) networkJSON {
	t, q := r.Network.Totals, r.Network.DeepestQueue
	n := networkJSON{
		Tiers: []tierJSON{},
		Totals: totalsJSON{
			t.DataPackets, t.Drops, t.LosslessDrops, t.PFCPauseFrames, t.PFCResumeFrames,
			t.ECNMarkedPackets, t.CNPs, t.RetransmittedPackets,
		},
		DeepestQueue: queueJSON{q.Where, int64(q.Bytes), int64(q.ECNMin), int64(q.ECNMax), int64(q.XOFF)},
	}
	for _, tier := range r.Network.Tiers {
		n.Tiers = append(n.Tiers, tierJSON(tier))
	}
	return n
}

func hopRate(r *twin.Result) float64 {
	if r.Engine.Wall <= 0 {
		return 0
	}
	return float64(r.Engine.PacketHops) / r.Engine.Wall
}

// flowSummary is over the finished flows: completion times in microseconds,
// goodput in Gb/s of all payload over the time from first start to last end.
type flowSummary struct {
	finished                int
	goodput, mean, p99, max float64
}

func summarise(r *twin.Result) flowSummary {
	var s flowSummary
	var times []float64
	var bytes units.Bytes
	first, last := units.Never, units.Time(0)
	for _, f := range r.Flows {
		if f.FCT <= 0 {
			continue
		}
		times = append(times, f.FCT.Microseconds())
		bytes += f.Bytes
		first, last = min(first, f.Start), max(last, f.Start+f.FCT)
	}
	s.finished = len(times)
	if s.finished == 0 {
		return s
	}
	sort.Float64s(times)
	for _, t := range times {
		s.mean += t
	}
	s.mean /= float64(s.finished)
	// Nearest rank, as the peers' tables are computed.
	s.p99 = times[int(math.Ceil(0.99*float64(s.finished)))-1]
	s.max = times[s.finished-1]
	s.goodput = float64(bytes) * 8 / (last - first).Seconds() / 1e9
	return s
}

package verdict

import (
	"fmt"

	"weir/internal/cluster"
	"weir/internal/finding"
	"weir/internal/twin"
	"weir/units"
)

// The signs that the totals of a run show. The figures are starting values, to
// be tuned on recorded data: healthy fabrics mark up to some permille of their
// packets and pause for well below a percent of the time.
const (
	manyMarks   = 0.05 // share of data packets that carry a mark
	longPause   = 0.02 // share of the time that a tier's links are held back, mean
	unevenLinks = 1.3  // busiest link of a tier over the mean
	busyLink    = 0.9  // utilisation at which a link counts as full
)

// findings names what the counters show, the weightiest first. share is what
// the run reached of its expectation: without a shortfall only loss is worth
// a word.
func findings(c *cluster.Cluster, r *twin.Result, share float64) []finding.Finding {
	var out []finding.Finding
	for _, sign := range []func(*cluster.Cluster, *twin.Result, float64) (finding.Finding, bool){
		losslessDrops, otherDrops, outOfOrder, marksTooEarly, unevenTier, pausedWithoutMarks, narrowSlot,
	} {
		if f, ok := sign(c, r, share); ok {
			out = append(out, f)
		}
	}
	if len(out) == 0 && !uplinksFull(r) { // else the cuts are a consequence
		if f, ok := slowRecovery(c, r, share); ok {
			out = append(out, f)
		}
	}
	return out
}

// hasTCP tells whether jobs of the cluster use TCP.
func hasTCP(c *cluster.Cluster) bool {
	for i := range c.Jobs {
		if c.Jobs[i].Transport == cluster.TCP {
			return true
		}
	}
	return c.Transport == cluster.TCP
}

func evidence(format string, args ...any) finding.Evidence {
	return finding.Evidence{Source: "simulation", Text: fmt.Sprintf(format, args...)}
}

func losslessDrops(c *cluster.Cluster, r *twin.Result, _ float64) (finding.Finding, bool) {
	t := r.Network.Totals
	if t.LosslessDrops == 0 {
		return finding.Finding{}, false
	}
	f := finding.Finding{
		Cause: "headroom-too-small", Severity: finding.Critical, Confidence: 0.8, Where: "fabric",
		Summary:   fmt.Sprintf("%d packets of the lossless class were dropped while it paused", t.LosslessDrops),
		Evidence:  []finding.Evidence{evidence("lossless drops %d, PFC pauses %d", t.LosslessDrops, t.PFCPauseFrames)},
		RefutedBy: "no drop remains with headroom left to be computed",
		Fix:       []finding.Fix{{Text: "leave switch.headroom on auto, or raise it for the speed and length of the cables"}},
	}
	if !c.QoS.PFC {
		f.Cause, f.Confidence = "pfc-not-enabled-on-path", 0.95
		f.Summary = fmt.Sprintf("%d packets of the RoCE class were dropped; PFC is off", t.LosslessDrops)
		f.RefutedBy = "drops remain with PFC on"
		f.Fix = []finding.Fix{{Text: "enable PFC for the RoCE priority (qos.pfc: true)"}}
	}
	return f, true
}

func otherDrops(c *cluster.Cluster, r *twin.Result, _ float64) (finding.Finding, bool) {
	t := r.Network.Totals
	if hasTCP(c) && t.Drops*100 < t.DataPackets { // TCP finds its rate by losses
		return finding.Finding{}, false
	}
	if t.Drops <= t.LosslessDrops || t.RetransmittedPackets == 0 {
		return finding.Finding{}, false
	}
	return finding.Finding{
		Cause: "path-loss", Severity: finding.Error, Confidence: 0.7, Where: "fabric",
		Summary:   fmt.Sprintf("%d packets were lost and %d sent again", t.Drops, t.RetransmittedPackets),
		Evidence:  []finding.Evidence{evidence("drops %d, retransmitted %d of %d data packets", t.Drops, t.RetransmittedPackets, t.DataPackets)},
		RefutedBy: "sequence errors without a lost packet: reordering",
		Fix:       []finding.Fix{{Text: "find the link or queue that loses packets"}},
	}, true
}

// marksTooEarly: many marks although no link that marks is full. A threshold
// below what coincidence puts into a queue marks an uncongested link.
func marksTooEarly(c *cluster.Cluster, r *twin.Result, share float64) (finding.Finding, bool) {
	t := r.Network.Totals
	if share >= healthy || !c.QoS.ECN.Enabled || c.Transport == cluster.TCP || t.DataPackets == 0 {
		return finding.Finding{}, false
	}
	marks := float64(t.ECNMarkedPackets) / float64(t.DataPackets)
	if marks < manyMarks && !(marks > 0 && c.QoS.ECN.Max < coincidence(c)) || commonStart(c) > 0 && c.QoS.ECN.Max >= commonStart(c) {
		return finding.Finding{}, false
	}
	for _, tier := range r.Network.Tiers {
		if tier.ECNMarked*2 > t.ECNMarkedPackets && tier.UtilisationMax >= busyLink {
			return finding.Finding{}, false
		}
	}
	return finding.Finding{
		Cause: "ecn-threshold-too-low", Severity: finding.Error, Confidence: 0.9, Where: markingTier(r),
		Summary: fmt.Sprintf("%.1f %% of packets are marked at %v to %v although no marking link is full: chance alone reaches the threshold, and each mark costs up to half a sender's rate", 100*marks, c.QoS.ECN.Min, c.QoS.ECN.Max),
		Evidence: []finding.Evidence{
			evidence("ECN marks %d of %d data packets, CNPs %d, PFC pauses %d", t.ECNMarkedPackets, t.DataPackets, t.CNPs, t.PFCPauseFrames),
			evidence("busiest egress %s at %.1f %% of line rate", r.Network.BusiestEgress.Where, 100*r.Network.BusiestEgress.Share),
		},
		RefutedBy:    "the same rate with thresholds ten times as high",
		DecidingTest: "--set qos.ecn.min=400KB --set qos.ecn.max=1600KB --set qos.ecn.probability=20%",
		Fix:          []finding.Fix{{Text: "raise qos.ecn.min and qos.ecn.max: 100 KB and 400 KB for each 25 Gb/s is a common start"}},
	}, true
}

// coincidence is a queue that some flows reach by meeting at one port: eight
// full packets.
func coincidence(c *cluster.Cluster) units.Bytes { return 8 * (c.QoS.MTU + 80) }

// commonStart is the upper threshold that is common at the rate of the slowest
// NIC: 400 KB for each 25 Gb/s. From there on, marks are not early.
func commonStart(c *cluster.Cluster) units.Bytes {
	slowest := units.BitRate(0)
	for i := range c.Ports {
		if p := &c.Ports[i]; p.NIC >= 0 && (slowest == 0 || p.Rate < slowest) {
			slowest = p.Rate
		}
	}
	return units.Bytes(slowest/(25*units.Gbps)) * 400 * units.KB
}

func markingTier(r *twin.Result) string {
	where, most := "fabric", uint64(0)
	for _, tier := range r.Network.Tiers {
		if tier.ECNMarked > most {
			where, most = tier.Name, tier.ECNMarked
		}
	}
	return where
}

// pausedWithoutMarks: pause does what marking should.
func pausedWithoutMarks(c *cluster.Cluster, r *twin.Result, share float64) (finding.Finding, bool) {
	t := r.Network.Totals
	paused := 0.0
	for _, tier := range r.Network.Tiers {
		paused = max(paused, tier.PauseShare)
	}
	if share >= healthy || c.Transport == cluster.InfiniBand || paused < longPause || t.ECNMarkedPackets*1000 > t.DataPackets {
		return finding.Finding{}, false
	}
	f := finding.Finding{
		Cause: "ecn-threshold-too-high", Severity: finding.Warning, Confidence: 0.6, Where: "fabric",
		Summary:   fmt.Sprintf("links are paused for up to %.1f %% of the time with next to no marks", 100*paused),
		Evidence:  []finding.Evidence{evidence("PFC pauses %d, ECN marks %d of %d data packets", t.PFCPauseFrames, t.ECNMarkedPackets, t.DataPackets)},
		RefutedBy: "marks before pauses",
		Fix:       []finding.Fix{{Text: "lower qos.ecn.min and qos.ecn.max below the XOFF threshold"}},
	}
	if !c.QoS.ECN.Enabled {
		f.Cause, f.Confidence = "ecn-not-configured", 0.9
		f.Fix = []finding.Fix{{Text: "enable marking on the RoCE queue (qos.ecn.enabled: true)"}}
	}
	return f, true
}

// slowRecovery: some marks, and long after them rates below what the links
// would carry. With several jobs the counters do not tell whose rates were cut,
// and a job that ends early leaves links idle.
func slowRecovery(c *cluster.Cluster, r *twin.Result, share float64) (finding.Finding, bool) {
	t := r.Network.Totals
	marks := float64(t.ECNMarkedPackets) / float64(max(1, t.DataPackets))
	if share >= healthy || len(c.Jobs) > 1 || !c.DCQCN.Enabled || t.CNPs == 0 || marks >= manyMarks || r.Network.BusiestEgress.Share >= busyLink {
		return finding.Finding{}, false
	}
	return finding.Finding{
		Cause: "dcqcn-recovery-too-slow", Severity: finding.Warning, Confidence: 0.4, Where: "fabric",
		Summary:      fmt.Sprintf("%d CNPs cut the senders, and no link is full afterwards", t.CNPs),
		Evidence:     []finding.Evidence{evidence("CNPs %d, marks on %.2f %% of packets, busiest egress at %.1f %%", t.CNPs, 100*marks, 100*r.Network.BusiestEgress.Share)},
		RefutedBy:    "the same rate with congestion control off",
		DecidingTest: "--set dcqcn.enabled=false",
		Fix:          []finding.Fix{{Text: "raise dcqcn.rp_ai_rate and rp_hai_rate, or shorten rp_time_reset"}},
	}, true
}

package verdict

import (
	"math"
	"strings"
	"testing"

	"weir/internal/answer/expect"
	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/qos"
	"weir/internal/twin"
	"weir/units"
)

func lossless() *cluster.Cluster {
	c := &cluster.Cluster{}
	c.QoS.MTU = 4096
	c.QoS.PFC = true
	c.QoS.ECN = qos.ECN{Enabled: true, Min: 400 * units.KB, Max: 1600 * units.KB, Probability: 0.2}
	c.DCQCN.Enabled = true
	return c
}

// one is an all_reduce of 1 GB on 2 ranks (factor 1) that takes a second per
// 1/rate.
func one(rate float64) *twin.Result {
	return &twin.Result{Collectives: []twin.Collective{{Op: collective.AllReduce, Bytes: units.GB, Ranks: 2, Time: units.Time(1e12 / rate)}}}
}

func TestCollectives(t *testing.T) {
	expected := []expect.Collective{{BusBW: 10, Limit: expect.ByNIC}}
	for _, test := range []struct {
		name     string
		rate     float64
		change   func(*cluster.Cluster, *twin.Result)
		limit    string
		findings string
	}{
		{"at the expectation", 9.8, nil, "NIC", ""},
		{"healthy marks and pauses", 9.8, func(_ *cluster.Cluster, r *twin.Result) {
			r.Network.Totals = twin.Totals{DataPackets: 1e6, ECNMarkedPackets: 2000, CNPs: 500, PFCPauseFrames: 40}
			r.Network.Tiers = []twin.Tier{{Name: "leaf to spine", Links: 8, UtilisationMean: 0.5, UtilisationMax: 0.9, PauseShare: 0.001}}
		}, "NIC", ""},
		{"slow without a sign", 5, nil, "unknown", ""},
		{"threshold too low", 3, func(c *cluster.Cluster, r *twin.Result) {
			c.QoS.ECN.Min, c.QoS.ECN.Max = 10*units.KB, 12*units.KB
			r.Network.Totals = twin.Totals{DataPackets: 1000, ECNMarkedPackets: 100, CNPs: 80}
			r.Network.Tiers = []twin.Tier{{Name: "leaf to host", Links: 9, UtilisationMean: 0.03, UtilisationMax: 0.28, ECNMarked: 100}}
		}, "ecn-threshold-too-low", "ecn-threshold-too-low"},
		{"marks before a full link are right", 3, func(c *cluster.Cluster, r *twin.Result) {
			r.Network.Totals = twin.Totals{DataPackets: 1000, ECNMarkedPackets: 100, CNPs: 80}
			r.Network.Tiers = []twin.Tier{{Name: "leaf to host", Links: 9, UtilisationMean: 0.1, UtilisationMax: 0.99, ECNMarked: 100}}
			r.Network.BusiestEgress.Share = 0.99
		}, "unknown", ""},
		{"collision", 5, func(_ *cluster.Cluster, r *twin.Result) {
			r.Network.Tiers = []twin.Tier{{Name: "leaf to spine", Links: 8, UtilisationMean: 0.4, UtilisationMax: 0.95}}
			r.Network.BusiestEgress.Share = 0.95
		}, "ecmp-collision", "ecmp-collision"},
		{"hosts in other parts of the fabric are no collision", 5, func(_ *cluster.Cluster, r *twin.Result) {
			r.Network.Tiers = []twin.Tier{{Name: "host to leaf", Links: 8, UtilisationMean: 0.1, UtilisationMax: 0.95}}
			r.Network.BusiestEgress.Share = 0.95
		}, "unknown", ""},
		{"pause without marks", 5, func(_ *cluster.Cluster, r *twin.Result) {
			r.Network.Totals = twin.Totals{DataPackets: 1e6, PFCPauseFrames: 900}
			r.Network.Tiers = []twin.Tier{{Name: "host to leaf", Links: 8, PauseShare: 0.2}}
		}, "ecn-threshold-too-high", "ecn-threshold-too-high"},
		{"marking off", 5, func(c *cluster.Cluster, r *twin.Result) {
			c.QoS.ECN.Enabled = false
			r.Network.Totals = twin.Totals{DataPackets: 1e6, PFCPauseFrames: 900}
			r.Network.Tiers = []twin.Tier{{Name: "host to leaf", Links: 8, PauseShare: 0.2}}
		}, "ecn-not-configured", "ecn-not-configured"},
		{"loss is named even at full speed", 9.9, func(_ *cluster.Cluster, r *twin.Result) {
			r.Network.Totals = twin.Totals{DataPackets: 1e6, Drops: 3, LosslessDrops: 3, RetransmittedPackets: 40}
		}, "NIC", "headroom-too-small"},
		{"without PFC", 5, func(c *cluster.Cluster, r *twin.Result) {
			c.QoS.PFC = false
			r.Network.Totals = twin.Totals{DataPackets: 1e6, Drops: 3, LosslessDrops: 3, RetransmittedPackets: 40}
		}, "pfc-not-enabled-on-path", "pfc-not-enabled-on-path"},
		{"loss on a link", 5, func(_ *cluster.Cluster, r *twin.Result) {
			r.Network.Totals = twin.Totals{DataPackets: 1e6, Drops: 300, RetransmittedPackets: 9000}
		}, "path-loss", "path-loss"},
	} {
		c, r := lossless(), one(test.rate)
		if test.change != nil {
			test.change(c, r)
		}
		v := Collectives(c, r, expected)
		var ids []string
		for _, f := range v.Findings {
			ids = append(ids, f.Cause)
			if len(f.Evidence) == 0 || len(f.Fix) == 0 || f.RefutedBy == "" {
				t.Errorf("%s: %s lacks evidence, fix or refutation", test.name, f.Cause)
			}
		}
		if got := strings.Join(ids, " "); v.LimitedBy != test.limit || got != test.findings {
			t.Errorf("%s: limited by %q, findings %q; want %q, %q", test.name, v.LimitedBy, got, test.limit, test.findings)
		}
		if math.Abs(v.Share-test.rate/10) > 1e-9 {
			t.Errorf("%s: share %v, want %v", test.name, v.Share, test.rate/10)
		}
	}
}

func TestNothingToJudge(t *testing.T) {
	if v := Collectives(lossless(), &twin.Result{}, nil); !math.IsNaN(v.Share) || v.Sentence == "" {
		t.Errorf("got %+v", v)
	}
	if v := Flows(lossless(), &twin.Result{}); !math.IsNaN(v.Share) || v.Sentence == "" {
		t.Errorf("got %+v", v)
	}
}

func TestFlows(t *testing.T) {
	r := &twin.Result{}
	r.Network.BusiestEgress = twin.Egress{Where: "leaf-0/port-8", Share: 0.99}
	if v := Flows(lossless(), r); v.LimitedBy != "line rate" || len(v.Findings) != 0 {
		t.Errorf("a full link: %+v", v)
	}
	r.Network.BusiestEgress.Share = 0.3
	if v := Flows(lossless(), r); v.LimitedBy != "senders" {
		t.Errorf("an idle link: limited by %s", v.LimitedBy)
	}
}

package verdict

import (
	"fmt"
	"strings"

	"weir/internal/cluster"
	"weir/internal/finding"
	"weir/internal/twin"
)

// hot is the utilisation from which an uneven link can hold something back.
const hot = 0.5

// between tells whether a tier lies between switches.
func between(t *twin.Tier) bool { return !strings.Contains(t.Name, "host") }

// unevenTier: between switches, one link is busy while its sisters idle.
// Adaptive routing and spraying put packets where there is room, so what they
// leave uneven is not of their making.
func unevenTier(c *cluster.Cluster, r *twin.Result, share float64) (finding.Finding, bool) {
	if share >= healthy || c.Routing.Mode == cluster.Adaptive || c.Routing.Mode == cluster.Spray {
		return finding.Finding{}, false
	}
	inner := 0
	var worst *twin.Tier
	for i := range r.Network.Tiers {
		tier := &r.Network.Tiers[i]
		if !between(tier) {
			continue
		}
		inner++
		if tier.Links < 2 || tier.UtilisationMax < hot || tier.UtilisationMax <= unevenLinks*tier.UtilisationMean {
			continue
		}
		if worst == nil || tier.UtilisationMax > worst.UtilisationMax {
			worst = tier
		}
	}
	if worst == nil {
		return finding.Finding{}, false
	}
	f := finding.Finding{
		Cause: "ecmp-collision", Severity: finding.Warning, Confidence: 0.8, Where: worst.Name,
		Summary:      fmt.Sprintf("links from %s are loaded unevenly: the busiest carries %.1f times the mean", worst.Name, worst.UtilisationMax/worst.UtilisationMean),
		Evidence:     []finding.Evidence{evidence("%s: utilisation %.0f %% mean, %.0f %% at most", worst.Name, 100*worst.UtilisationMean, 100*worst.UtilisationMax)},
		RefutedBy:    "even uplinks, or a hot link that is slower than its sisters",
		DecidingTest: "--set routing.mode=adaptive, or --set rdma.qps_per_connection=4",
		Fix:          []finding.Fix{{Text: "use adaptive routing where switch and NIC have it, more queue pairs a connection, or fixed paths for each rail"}},
	}
	switch {
	case c.RDMA.SourcePorts == "fixed" && c.Routing.HashFields&cluster.HashDstQP == 0:
		f.Cause = "fixed-source-port"
		f.Evidence = append(f.Evidence, evidence("all queue pairs use one UDP source port, so the hash sees one flow a pair of NICs"))
		f.DecidingTest = "--set rdma.source_ports=per-qp"
		f.Fix = []finding.Fix{{Text: "let each queue pair have a source port of its own (driver and firmware), or hash over the queue pair"}}
	case c.Routing.HashSeed != 0 && inner > 2:
		f.Cause = "hash-polarisation"
		f.Evidence = append(f.Evidence, evidence("all switches hash with seed %d, so a tier sees only flows that the one before has sorted already", c.Routing.HashSeed))
		f.DecidingTest = "--set routing.hash_seed=per-switch"
		f.Fix = []finding.Fix{{Text: "give each tier a hash seed of its own"}}
	}
	return f, true
}

// outOfOrder: packets are sent again although none was lost.
func outOfOrder(c *cluster.Cluster, r *twin.Result, _ float64) (finding.Finding, bool) {
	t := r.Network.Totals
	if t.RetransmittedPackets == 0 || t.Drops > 0 || c.Routing.Mode == cluster.ECMP || c.RDMA.OutOfOrder {
		return finding.Finding{}, false
	}
	return finding.Finding{
		Cause: "reordering", Severity: finding.Error, Confidence: 0.9, Where: "fabric",
		Summary:      fmt.Sprintf("%s routing brings packets out of order, and the NICs answer with NAKs", c.Routing.Mode),
		Evidence:     []finding.Evidence{evidence("retransmitted %d of %d data packets, no drop", t.RetransmittedPackets, t.DataPackets)},
		RefutedBy:    "a lost packet",
		DecidingTest: "--set rdma.out_of_order=true",
		Fix:          []finding.Fix{{Text: "let the NICs place packets that arrive out of order, or keep each flow on one path"}},
	}, true
}

// narrowSlot: a NIC of the jobs sits in a slot that is slower than its link.
func narrowSlot(c *cluster.Cluster, r *twin.Result, _ float64) (finding.Finding, bool) {
	for h := range c.Hosts {
		for n := range c.Hosts[h].NICs {
			nic := &c.Hosts[h].NICs[n]
			if len(nic.Ports) == 0 || nic.PCIe <= 0 || nic.PCIe >= c.Ports[nic.Ports[0]].Rate {
				continue
			}
			rate := c.Ports[nic.Ports[0]].Rate
			return finding.Finding{
				Cause: "pcie-bottleneck", Severity: finding.Warning, Confidence: 0.9,
				Where:        twin.NICName(c, cluster.NICRef{Host: int32(h), NIC: int32(n)}),
				Summary:      fmt.Sprintf("the PCIe slot carries %v where the link has %v", nic.PCIe, rate),
				Evidence:     []finding.Evidence{evidence("%s: PCIe %v usable, link %v", nic.Name, nic.PCIe, rate)},
				RefutedBy:    "the same rate with a wider slot",
				DecidingTest: fmt.Sprintf("--set host.nic.pcie=%v", 2*rate),
				Fix:          []finding.Fix{{Text: "move the NIC to a wider or faster slot"}},
			}, true
		}
	}
	return finding.Finding{}, false
}

// uplinksFull tells whether links between switches carry all they can while
// those of the hosts do not: the fabric has fewer of them than the job needs.
func uplinksFull(r *twin.Result) bool {
	var hosts, most float64
	for i := range r.Network.Tiers {
		t := &r.Network.Tiers[i]
		if between(t) {
			most = max(most, t.UtilisationMean)
		} else {
			hosts = max(hosts, t.UtilisationMean)
		}
	}
	return most > 0.8 && most > 1.1*hosts
}

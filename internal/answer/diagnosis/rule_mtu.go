package diagnosis

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/cause"
	"weir/internal/fact"
	"weir/internal/finding"
)

// rdmaMTU returns the largest RDMA path MTU that fits an interface MTU: RoCEv2
// adds up to 58 bytes of headers (GRH or IP and UDP, BTH, RETH, ICRC).
func rdmaMTU(netdev uint64) uint64 {
	for _, m := range []uint64{4096, 2048, 1024, 512} {
		if netdev >= m+64 {
			return m
		}
	}
	return 256
}

// mtu: the ends differ, a hop is smaller, frames are too long for a port, or
// all agree on less than they could.
func mtu(x *index, v *verdict) {
	c := claim{cause: "mtu-mismatch", severity: finding.Error, explains: []symptom{access, noAnswer, lost, hang, slow}}
	for _, f := range x.is(saidMTUEqual, false) {
		c.confidence, c.where = 0.88, places(f)
		c.evidence = append(c.evidence, seen(f, "stated: the MTU differs between the ends"))
	}
	for _, key := range []string{"rdma.active_mtu", "nccl.qp.mtu", "perftest.mtu", "link.mtu"} {
		if a, b := differing(x, key); a != nil {
			c.confidence = max(c.confidence, map[string]float64{"rdma.active_mtu": 0.82, "nccl.qp.mtu": 0.85, "perftest.mtu": 0.5, "link.mtu": 0.75}[key])
			c.where = unite(c.where, places(a, b))
			c.evidence = append(c.evidence, quotes(a, b)...)
		}
	}
	neighbourMTU(x, &c)
	if long := x.counters.rose("rdma_netdev_rx_oversize_pkts_phy_total", "rdma_netdev_rx_out_of_range_len_phy_total", "rdma_mtu_discards_total"); len(long) > 0 {
		c.confidence = max(c.confidence, 0.85)
		c.evidence = append(c.evidence, movedEvidence(long)...)
		c.where = unite(c.where, placesOf(long))
	} else if long := x.counters.ever("rdma_netdev_rx_oversize_pkts_phy_total", "rdma_mtu_discards_total"); len(long) > 0 && !x.counters.windows {
		c.evidence = append(c.evidence, standEvidence(long)...)
		if c.confidence > 0 {
			c.confidence = min(c.confidence+0.05, 0.95)
		} else {
			v.lack("mtu-mismatch", setting, "whether the count of frames that are too long rises during a run", "运行期间超长帧计数是否增长", "ethtool -S IF | grep -E 'oversize|out_of_range'; sleep 30; again")
		}
	}
	if c.confidence > 0 {
		if failing := x.any(func(e *event) bool { return e.access() || e.noAnswer() }); len(failing) > 0 {
			c.confidence = min(c.confidence+0.07, 0.95)
			c.evidence = append(c.evidence, quoteEvents(failing)...)
		} else {
			c.severity = finding.Warning
		}
		c.summary = say("The MTU differs along the path: small messages pass, and packets of full size are dropped or refused at the smaller hop.", "路径上的 MTU 不一致：小消息可通过，满尺寸报文在较小的一跳被丢弃或拒绝。")
		v.claim(c)
	}
	mtuSmall(x, v)
}

// differing returns two facts of one key on fabric ports that do not agree.
// NICs of a host may differ by role, so that only NICs in use, or of the same
// name on different hosts, count.
func differing(x *index, key string) (a, b *fact.Fact) {
	used := x.usedDevices()
	byName := map[string]*fact.Fact{}
	for _, f := range x.all(key) {
		if whole(f) == 0 || f.Subject.Kind == fact.NIC && (virtual(f.Subject.Name) || len(used) > 0 && key == "rdma.active_mtu" && x.usedAs(f.Subject) == nil && f.Subject.Name != "") {
			continue
		}
		group := f.Subject.Name
		switch {
		case f.Subject.Kind != fact.NIC, key == "rdma.active_mtu" && len(used) > 0:
			group = "" // queue pairs, tests and devices of one job
		}
		other := byName[group]
		if other == nil {
			byName[group] = f
			continue
		}
		if whole(other) != whole(f) && (other.Subject != f.Subject || f.Subject.Kind != fact.NIC || f.Origin.Source != other.Origin.Source) {
			return other, f
		}
	}
	return nil, nil
}

// neighbourMTU: the switch says over LLDP that it takes less than the NIC sends.
func neighbourMTU(x *index, c *claim) {
	for _, f := range x.all("link.neighbour.mtu") {
		own := x.about(f.Subject, "link.mtu")
		if own != nil && whole(f) > 0 && whole(f) < whole(own) {
			c.confidence = max(c.confidence, 0.8)
			c.where = unite(c.where, places(f))
			c.evidence = append(c.evidence, quotes(own, f)...)
		}
	}
}

// mtuSmall: RDMA runs with 1024 bytes because the interface has 1500.
func mtuSmall(x *index, v *verdict) {
	var small []*fact.Fact
	for _, key := range []string{"rdma.active_mtu", "perftest.mtu", "nccl.qp.mtu"} {
		for _, f := range x.all(key) {
			layer := text(x.about(f.Subject, "rdma.layer"))
			if n := whole(f); n > 0 && n <= 1024 && layer != "InfiniBand" && (key != "rdma.active_mtu" || x.inUse(f.Subject)) && !reachedLess(x, f) {
				small = append(small, f)
			}
		}
	}
	if len(small) == 0 {
		return
	}
	c := claim{
		cause: "mtu-small", confidence: 0.6, severity: finding.Warning, where: places(small...), evidence: quotes(small[:min(len(small), 3)]...), explains: []symptom{slow},
		summary: sayf("The RDMA path MTU is %d bytes, which an interface MTU of 1500 gives: four times as many packets and headers as with 4096.", "RDMA 路径 MTU 为 %d 字节（接口 MTU 1500 所致）：报文与头部数量是 4096 时的四倍。", whole(small[0])),
	}
	for _, f := range x.all("link.mtu") {
		if rdmaMTU(whole(f)) <= 1024 && !virtual(f.Subject.Name) {
			c.confidence = 0.7
			c.evidence = append(c.evidence, quote(f))
			break
		}
	}
	c.fix = append(c.fix, cause.Fix{Disruption: "flap", Command: "ip link set IF mtu 9000", Text: say("Raise the interface MTU to 4200 or more at both ends, and the switch ports first.", "先调大交换机端口，再将两端接口 MTU 调至 4200 以上。")})
	v.claim(c)
}

// reachedLess reports a connection test over a device that failed for another
// reason: then its MTU is not what matters.
func reachedLess(x *index, f *fact.Fact) bool {
	return f.Key == "perftest.mtu" && x.about(f.Subject, "perftest.error") != nil
}

// movedEvidence tells the differences of series.
func movedEvidence(list []*series) []finding.Evidence {
	var out []finding.Evidence
	for _, s := range list[:min(len(list), 4)] {
		d, _ := s.moved()
		text := who(s.subject) + s.name + ": +" + strconv.FormatUint(d, 10)
		if s.recorded != nil {
			out = append(out, finding.Evidence{Source: s.recorded.source, Text: text + " in the window"})
			continue
		}
		out = append(out, seen(s.readings[len(s.readings)-1], "%s between two readings", text))
	}
	return out
}

// standEvidence tells readings of series, of unknown age.
func standEvidence(list []*series) []finding.Evidence {
	var out []finding.Evidence
	for _, s := range list[:min(len(list), 5)] {
		if s.recorded != nil {
			out = append(out, finding.Evidence{Source: s.recorded.source, Text: who(s.subject) + s.name + ": " + strconv.FormatUint(s.last(), 10)})
			continue
		}
		out = append(out, quote(s.readings[len(s.readings)-1]))
	}
	return out
}

func who(s fact.Subject) string {
	if n := s.String(); n != "" {
		return n + ": "
	}
	return ""
}

func placesOf(list []*series) string {
	var names []string
	seen := map[fact.Subject]bool{}
	for _, s := range list {
		if n := s.subject.String(); n != "" && !seen[s.subject] {
			seen[s.subject] = true
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return unite("", strings.Join(slices.Compact(names), ", "))
}

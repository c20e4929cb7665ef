package diagnosis

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/cause"
	"weir/internal/fact"
	"weir/internal/finding"
)

// wantedDSCP returns the code points that RoCE traffic is given, with the fact
// that says so.
func (x *index) wantedDSCP() map[int]*fact.Fact {
	out := map[int]*fact.Fact{}
	for _, key := range []string{"nccl.tc.dscp", "roce.dscp", "roce.cma.dscp"} {
		for _, f := range x.all(key) {
			if n := whole(f); n < 64 && (n > 0 || key == "nccl.tc.dscp") {
				out[int(n)] = f
			}
		}
	}
	return out
}

func sortedInts(m map[int]*fact.Fact) []int {
	var out []int
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// lossless reports whether a port or NIC has PFC on a priority, and the fact.
func (x *index) lossless(s fact.Subject, priority int) (on, known bool, f *fact.Fact) {
	f = x.about(s, "qos.pfc.enabled")
	if f == nil {
		return false, false, nil
	}
	return slices.Contains(f.Value.List(), strconv.Itoa(priority)), true, f
}

// defaultPriority: RoCE packets are in a class without PFC: by the counters of
// the priorities, or by the way from code point to priority.
func defaultPriority(x *index, v *verdict) {
	byBytes(x, v)
	byMap(x, v)
	shiftedTC(x, v)
}

// byBytes: all bytes of a NIC that speaks RDMA are in priority 0.
func byBytes(x *index, v *verdict) {
	for _, n := range x.counters.nodes() {
		all := n.of(hostBytes)
		if !n.isHost || len(all) == 0 {
			continue
		}
		zero, others := n.of(hostBytes, "priority", "0"), []*series{}
		for _, s := range all {
			if s.labels["priority"] != "0" {
				others = append(others, s)
			}
		}
		value := func(list []*series) uint64 {
			sum := uint64(0)
			for _, s := range list {
				if d, ok := s.moved(); ok {
					sum += d
				} else {
					sum += s.last()
				}
			}
			return sum
		}
		low, high := value(zero), value(others)
		if low < 1<<30 || len(others) < 7 || high > low/1000 || !rdmaSeen(n) {
			continue
		}
		c := claim{
			cause: "roce-in-default-priority", confidence: 0.72, severity: finding.Warning, where: placesOf(zero), evidence: append(standEvidence(zero[:min(len(zero), 2)]), zeroEvidence(others)...), explains: []symptom{slow, lost},
			summary: say("Everything that this NIC sent or received is in priority 0, RDMA too: it is not marked or not mapped into a lossless class. Alone it runs well; when several senders meet, the switch drops, and go-back-N makes it slower than TCP.",
				"该网卡收发的全部数据都在优先级 0，RDMA 也不例外：未标记或未映射到无损类别。单流时正常；多个发送者汇聚时交换机丢包，回退重传使其比 TCP 还慢。"),
			test: "mlnx_qos -i IF; ethtool -S IF | grep prio during a run with NCCL_IB_TC set",
		}
		if marks := n.of(hostMarks); len(marks) > 0 && value(marks) == 0 {
			c.confidence += 0.04
			c.evidence = append(c.evidence, zeroEvidence(marks)...)
		}
		if t := standing(n.of(hostTimeout)); len(t) > 0 {
			c.confidence += 0.04
			c.evidence = append(c.evidence, standEvidence(t)...)
		}
		for _, f := range x.pfcOn() {
			if f.Subject.Host == n.name {
				c.confidence += 0.06
				c.evidence = append(c.evidence, quote(f))
				break
			}
		}
		v.claim(c)
	}
	if len(x.counters.byMetric[hostTimeout]) > 0 && len(x.counters.byMetric[hostBytes]) == 0 {
		v.lack("roce-in-default-priority", lost, "in which priority the RDMA bytes are", "RDMA 字节所在的优先级", "ethtool -S IF | grep -E 'prio[0-7]_bytes'; mlnx_qos -i IF")
	}
}

// zeroEvidence tells in one line that counters stand at zero: that holds at
// any time, unlike a total.
func zeroEvidence(list []*series) []finding.Evidence {
	for _, s := range list {
		if len(s.readings) > 0 {
			return []finding.Evidence{seen(s.readings[0], "%s%s and %d more like it: %d", who(s.subject), s.name, len(list)-1, s.last())}
		}
	}
	return nil
}

// rdmaSeen reports that the host counts RDMA traffic at all.
func rdmaSeen(n *node) bool {
	for m := range n.byKind {
		if strings.HasPrefix(m, "rdma_np_") || strings.HasPrefix(m, "rdma_rp_") || m == hostTimeout || m == hostGap || strings.HasPrefix(m, "rdma_netdev_vport_rdma") || strings.HasPrefix(m, "rdma_rx_") {
			return true
		}
	}
	return false
}

// byMap follows a code point to its priority on every NIC and port, and asks
// whether PFC is on there.
func byMap(x *index, v *verdict) {
	wanted := x.wantedDSCP()
	for _, trust := range x.all("qos.trust") {
		if t := trust.Value.String(); t == "pcp" && trust.Subject.Kind == fact.NIC && len(x.pfcOn()) > 0 && len(wanted) > 0 {
			v.claim(claim{
				cause: "roce-in-default-priority", confidence: 0.82, severity: finding.Warning, where: places(trust), evidence: append(quotes(trust), quotes(wanted[sortedInts(wanted)[0]])...), explains: []symptom{slow, lost},
				summary: say("The NIC trusts the VLAN priority (pcp) while RoCE is marked by DSCP: untagged packets then all go to priority 0, whatever their DSCP.", "网卡信任 VLAN 优先级（pcp），而 RoCE 以 DSCP 标记：不带标签的报文无论 DSCP 为何都进入优先级 0。"),
				fix:     []cause.Fix{{Disruption: "pause", Command: "mlnx_qos -i IF --trust dscp", Text: say("Let the NIC trust DSCP.", "让网卡信任 DSCP。")}},
			})
		}
	}
	for _, dscp := range sortedInts(wanted) {
		for _, f := range x.all("qos.dscp." + strconv.Itoa(dscp) + ".priority") {
			priority := int(whole(f))
			on, known, pfc := x.lossless(f.Subject, priority)
			if !known || on || len(pfc.Value.List()) == 0 {
				continue
			}
			c := claim{
				cause: "roce-in-default-priority", confidence: 0.85, severity: finding.Warning, where: places(f), evidence: quotes(wanted[dscp], f, pfc), explains: []symptom{slow, lost},
				summary: sayf("RoCE is marked with DSCP %d, which %s puts into priority %d; PFC is on for %s only. The traffic runs in a lossy class there.", "RoCE 标记为 DSCP %d，%s 将其映射到优先级 %d，而 PFC 仅在 %s 上启用：流量在此处于有损类别。", dscp, nameOr(f.Subject.String(), "the port"), priority, pfc.Value),
			}
			v.claim(c)
		}
	}
}

// shiftedTC: NCCL_IB_TC takes the whole byte, DSCP and two ECN bits. A value
// that is a usual DSCP itself was probably not shifted.
func shiftedTC(x *index, v *verdict) {
	for _, f := range slices.Concat(x.env("NCCL_IB_TC"), x.env("NVSHMEM_IB_TRAFFIC_CLASS"), x.env("UCX_IB_TRAFFIC_CLASS"), x.env("MC_IB_TC")) {
		n, err := strconv.Atoi(f.Value.String())
		if err != nil || n != 24 && n != 26 && n != 34 && n != 46 && n != 3 && n != 4 {
			continue
		}
		c := claim{
			cause: "roce-in-default-priority", confidence: 0.55, severity: finding.Warning, where: places(f), evidence: quotes(f), explains: []symptom{slow, lost},
			summary: sayf("Traffic class %d is the whole byte: it means DSCP %d. If DSCP %d was meant, the value is %d, and the traffic now runs in another class.", "流量类别 %d 是整个字节，即 DSCP %d。若本意为 DSCP %d，应写 %d；当前流量处于另一类别。", n, n>>2, n, n<<2),
			fix:     []cause.Fix{repair(f.Key[strings.Index(f.Key, "env.")+4:]+"="+strconv.Itoa(n<<2), "Give the whole byte: DSCP times four.", "应填整个字节：DSCP 乘以 4。")},
		}
		if maps := x.all("qos.dscp." + strconv.Itoa(n) + ".priority"); len(maps) > 0 {
			if on, known, _ := x.lossless(maps[0].Subject, int(whole(maps[0]))); known && on {
				c.confidence = 0.8
				c.evidence = append(c.evidence, quote(maps[0]))
			}
		}
		v.claim(c)
	}
}

// pfcSettings compares what NICs and ports say of PFC.
func pfcSettings(x *index, v *verdict) {
	var masks = map[string][]*fact.Fact{}
	var none, all []*fact.Fact
	for _, f := range x.all("qos.pfc.enabled") {
		if strings.HasPrefix(f.Subject.Name, "profile:") {
			continue
		}
		switch list := f.Value.List(); {
		case len(list) == 0:
			none = append(none, f)
		case len(list) >= 7:
			all = append(all, f)
		default:
			sorted := slices.Sorted(slices.Values(list))
			masks[strings.Join(sorted, ",")] = append(masks[strings.Join(sorted, ",")], f)
		}
	}
	if len(all) > 0 {
		v.claim(claim{
			cause: "pfc-on-all-priorities", confidence: 0.85, severity: finding.Warning, where: places(all...), evidence: quotes(all[:min(len(all), 3)]...), explains: []symptom{slow, paused},
			summary: say("PFC is on for every priority: pauses of RoCE stop all other traffic, and the other way round.", "所有优先级都启用了 PFC：RoCE 的暂停会停止其他流量，反之亦然。"),
		})
	}
	switch {
	case holes(x, v):
	case len(masks) > 1:
		var facts []*fact.Fact
		for _, k := range sortedKeys(masks) {
			facts = append(facts, masks[k][0])
		}
		confidence := 0.8
		if sameDevice(facts) {
			confidence = 0.62 // ports of one switch may serve different purposes
		}
		v.claim(claim{
			cause: "pfc-priority-mismatch", confidence: confidence, severity: finding.Warning, where: places(facts...), evidence: quotes(facts...), explains: []symptom{lost, paused, slow},
			summary: sayf("PFC is on for different priorities: %s. What one end sends as pause the other does not honour, and drops follow.", "PFC 启用的优先级不一致：%s。一端发出的暂停另一端不响应，随即丢包。", strings.Join(sortedKeys(masks), " / ")),
		})
	case len(masks) == 1 && len(none) > 0:
		on := masks[sortedKeys(masks)[0]]
		v.claim(claim{
			cause: "pfc-not-enabled-on-path", confidence: 0.75, severity: finding.Warning, where: places(none...), evidence: quotes(append(none[:min(len(none), 3)], on[0])...), explains: []symptom{lost, slow},
			summary: sayf("PFC is off on %s and on elsewhere (priority %s): the lossless class has a hole there.", "%s 未启用 PFC，而其他位置已启用（优先级 %s）：无损类别在此存在缺口。", nameOr(places(none...), "one end"), on[0].Value),
		})
	case len(none) > 0 && len(all) == 0:
		v.claim(claim{
			cause: "pfc-not-enabled-on-path", confidence: 0.55, severity: finding.Warning, where: places(none...), evidence: quotes(none[:min(len(none), 3)]...), explains: []symptom{lost, slow},
			summary: say("PFC is off on all priorities: under congestion packets of RoCE are dropped, and each drop costs a window.", "所有优先级均未启用 PFC：拥塞时 RoCE 报文会被丢弃，每次丢弃都需重传一个窗口。"),
		})
	}
	negotiated(x, v)
}

// sameDevice reports that all facts are of ports of one switch.
func sameDevice(facts []*fact.Fact) bool {
	for _, f := range facts {
		if f.Subject.Kind != fact.Port || f.Subject.Host != facts[0].Subject.Host || f.Origin.Source != facts[0].Origin.Source {
			return false
		}
	}
	return true
}

// negotiated: PFC was left to DCBX and is not on.
func negotiated(x *index, v *verdict) {
	for _, f := range x.all("pfc.mode") {
		active := x.about(f.Subject, "pfc.active")
		if f.Value.String() != "auto" || active == nil || boolOf(active) {
			continue
		}
		v.claim(claim{
			cause: "dcbx-not-converged", confidence: 0.88, severity: finding.Warning, where: places(f), evidence: quotes(f, active), explains: []symptom{lost, slow},
			summary: say("PFC is left to negotiation (auto) and is off in operation: the neighbour did not agree over DCBX.", "PFC 设为协商（auto），但实际未生效：未与邻居通过 DCBX 达成一致。"),
		})
	}
	for _, f := range x.all("qos.lldpad_running") {
		if boolOf(f) && slices.ContainsFunc(x.all("qos.dcbx.owner"), func(o *fact.Fact) bool {
			return o.Value.String() == "firmware" && sameHost(o.Subject, f.Subject)
		}) {
			v.claim(claim{
				cause: "dcbx-not-converged", confidence: 0.5, severity: finding.Warning, where: places(f), evidence: quotes(f),
				summary: say("Two LLDP agents run on one port, that of the card's firmware and one of the system: each may overwrite what the other negotiated.", "同一端口上有两个 LLDP 代理（网卡固件与操作系统）：会互相覆盖协商结果。"),
			})
		}
	}
}

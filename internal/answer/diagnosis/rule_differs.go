package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"weir/internal/fact"
	"weir/internal/finding"
)

// leastPorts is how many ports must tell a setting before the usual one among
// them means something.
const leastPorts = 4

// usual returns the value that most facts have, and those that differ; ok is
// false where there is no clear majority.
func usual(facts []*fact.Fact) (value string, differ []*fact.Fact, ok bool) {
	count := map[string]int{}
	for _, f := range facts {
		count[f.Value.String()]++
	}
	for _, k := range sortedKeys(count) {
		if count[k] > count[value] {
			value = k
		}
	}
	if len(facts) < leastPorts || count[value]*10 < len(facts)*6 {
		return value, nil, false
	}
	for _, f := range facts {
		if f.Value.String() != value {
			differ = append(differ, f)
		}
	}
	return value, differ, true
}

// holes: a few ports whose PFC differs from the rest of the fabric.
func holes(x *index, v *verdict) (handled bool) {
	var ports []*fact.Fact
	for _, f := range x.all("qos.pfc.enabled") {
		if !strings.HasPrefix(f.Subject.Name, "profile:") {
			ports = append(ports, f)
		}
	}
	value, differ, ok := usual(ports)
	if !ok || value == "" || len(strings.Split(value, ",")) >= 7 {
		return false
	}
	want := strings.Split(value, ",")
	t := x.topologyOf()
	for _, f := range differ {
		list := f.Value.List()
		if len(list) >= 7 {
			continue // every priority: another cause
		}
		missing := slices.DeleteFunc(slices.Clone(want), func(p string) bool { return slices.Contains(list, p) })
		extra := slices.DeleteFunc(slices.Clone(list), func(p string) bool { return slices.Contains(want, p) })
		c := claim{severity: finding.Warning, where: places(f), evidence: quotes(f), explains: []symptom{lost, paused, slow}, after: []string{"global-pause-throttle"}}
		switch {
		case len(missing) > 0 && len(extra) > 0:
			c.cause, c.confidence = "pfc-priority-mismatch", 0.84
			c.summary = sayf("PFC is on for other priorities here (%s) than in the rest of the fabric (%s): what one end sends as pause the other does not honour.", "此处启用 PFC 的优先级（%s）与网络其余部分（%s）不同：一端发出的暂停另一端不响应。", strings.Join(list, ","), value)
		case len(missing) > 0:
			c.cause, c.confidence = "pfc-not-enabled-on-path", 0.82
			c.summary = sayf("PFC is off here for priority %s, which is lossless in the rest of the fabric: the lossless class has a hole.", "此处优先级 %s 未启用 PFC，而网络其余部分对其无损：无损类别存在缺口。", strings.Join(missing, ","))
		default:
			continue
		}
		// Drops at this port or the other end of its cable make the hole felt.
		peer := t.peer[end{f.Subject.Host, f.Subject.Name}]
		for _, s := range x.counters.rose(swGroupDrops) {
			if s.subject.Host == f.Subject.Host && s.labels["port"] == f.Subject.Name || endOf(s) == peer {
				c.confidence = 0.91
				c.evidence = append(c.evidence, movedEvidence([]*series{s})...)
				break
			}
		}
		v.claim(c)
	}
	return true
}

// headroomDiffers: ports whose headroom is below that of their peers.
func headroomDiffers(x *index, v *verdict) {
	all := x.all("pg.headroom")
	if len(all) < leastPorts {
		return
	}
	sizes := make([]uint64, 0, len(all))
	for _, f := range all {
		sizes = append(sizes, whole(f))
	}
	slices.Sort(sizes)
	usual := sizes[len(sizes)*3/4]
	for _, f := range all {
		if whole(f)*100 >= usual*85 {
			continue
		}
		c := claim{cause: "headroom-too-small", confidence: 0.66, severity: finding.Warning, where: places(f), evidence: quotes(f), explains: []symptom{lost, slow},
			summary: sayf("The headroom is %d bytes here and %d on other ports: what still arrives after a pause was sent may find no room.", "此处 headroom 为 %d 字节，其他端口为 %d：暂停发出后仍到达的数据可能没有空间。", whole(f), usual)}
		for _, s := range x.counters.rose(swGroupDrops) {
			if s.subject.Host == f.Subject.Host {
				c.confidence = 0.9
				c.evidence = append(c.evidence, movedEvidence([]*series{s})...)
				break
			}
		}
		v.claim(c)
	}
}

// Bounds of DCQCN's increase beyond which recovery is far from any default:
// the adapters' 5 Mb/s steps every 300 us.
const (
	fastestStep  = 60e6   // bits per second of an additive step
	slowestTimer = 5000.0 // microseconds between steps
	slowestStep  = 500e3
	lowStep      = 4e6
)

// recoverySettings: rates rise far more slowly or faster than any default.
func recoverySettings(x *index, v *verdict) {
	for _, f := range x.all("dcqcn.ai_rate") {
		timer := x.about(f.Subject, "dcqcn.time_reset")
		switch {
		case number(f) >= fastestStep:
			v.claim(claim{cause: "dcqcn-recovery-too-fast", confidence: 0.74, severity: finding.Warning, where: places(f), evidence: quotes(f, timer), explains: []symptom{slow, paused},
				summary: sayf("Rates rise by %.0f Mbit/s a step, far above any default: after each cut senders are back at once, and queues saw-tooth into marks and pauses.", "速率每步增加 %.0f Mbit/s，远高于默认值：每次降速后发送端立即恢复，队列锯齿状地触发标记与暂停。", number(f)/1e6)})
		case number(f) > 0 && number(f) < lowStep && number(f) > slowestStep:
			v.claim(claim{cause: "dcqcn-recovery-too-slow", confidence: 0.6, severity: finding.Warning, where: places(f), evidence: quotes(f, timer), explains: []symptom{slow},
				summary: sayf("Rates rise by %.2f Mbit/s a step, below the adapters' default of 5: after a burst of CNPs senders stay below their share for longer.", "速率每步增加 %.2f Mbit/s，低于网卡默认值 5：一阵 CNP 之后发送端更久地低于应得份额。", number(f)/1e6)})
		case number(f) > 0 && number(f) <= slowestStep, timer != nil && number(timer) >= slowestTimer:
			v.claim(claim{cause: "dcqcn-recovery-too-slow", confidence: 0.74, severity: finding.Warning, where: places(f), evidence: quotes(f, timer), explains: []symptom{slow},
				summary: sayf("Rates rise by %.2f Mbit/s a step, far below any default: after a burst of CNPs senders stay below their share for long.", "速率每步增加 %.2f Mbit/s，远低于默认值：一阵 CNP 之后发送端长时间低于应得份额。", number(f)/1e6)})
		}
	}
}

// cnpPriority: notifications leave the NIC in the priority of the data.
func cnpPriority(x *index, v *verdict) {
	for _, f := range x.all("dcqcn.cnp_priority") {
		on, known, pfc := x.lossless(f.Subject, int(whole(f)))
		if !known { // the port's PFC is not told: what most ports have
			for _, p := range x.pfcOn() {
				if known = true; slices.Contains(p.Value.List(), fmt.Sprint(whole(f))) {
					on, pfc = true, p
				}
				break
			}
		}
		if !known || !on || pfc != nil && len(pfc.Value.List()) >= 7 {
			continue // PFC on every priority is a cause of its own
		}
		v.claim(claim{cause: "cnp-in-wrong-queue", confidence: 0.86, severity: finding.Warning, where: places(f), evidence: quotes(f, pfc), explains: []symptom{slow, paused},
			summary: sayf("Congestion notifications leave in priority %d, the lossless class of the data: they wait behind the queue that they report on, and are paused with it.", "拥塞通知使用优先级 %d 发送，即数据所在的无损类别：它们排在自己所报告的队列之后，并随之被暂停。", whole(f))})
	}
}

// unmarked: RDMA leaves a NIC without its code point, or a switch does not
// trust it.
func unmarked(x *index, v *verdict) {
	for _, f := range x.all("roce.dscp") {
		if whole(f) != 0 {
			continue
		}
		c := claim{cause: "roce-in-default-priority", confidence: 0.86, severity: finding.Warning, where: places(f), evidence: quotes(f), explains: []symptom{lost, slow},
			summary: say("RDMA leaves this NIC with DSCP 0: it rides in the default, lossy class.", "该网卡的 RDMA 报文 DSCP 为 0：处于默认的有损类别。")}
		for _, s := range x.counters.rose(hostBytes) {
			if s.subject.Host == f.Subject.Host && s.labels["priority"] == "0" {
				c.confidence = 0.9
				c.evidence = append(c.evidence, movedEvidence([]*series{s})...)
			}
		}
		v.claim(c)
	}
	trust := x.all("qos.trust")
	value, differ, ok := usual(trust)
	if !ok || value != "dscp" {
		return
	}
	for _, f := range differ {
		v.claim(claim{cause: "roce-in-default-priority", confidence: 0.87, severity: finding.Warning, where: places(f), evidence: quotes(f), explains: []symptom{lost, slow},
			summary: sayf("This port trusts %s, the others the code point (DSCP): RoCE packets without a tag are put into the default, lossy class here.", "该端口信任 %s，其他端口信任 DSCP：未带标签的 RoCE 报文在此进入默认的有损类别。", f.Value)})
	}
}

// copied: data takes the way through host memory.
func copied(x *index, v *verdict) {
	for _, s := range x.counters.rose("rdma_host_copied_bytes_total") {
		c := claim{cause: "gdr-inactive-no-peermem", confidence: 0.74, severity: finding.Warning, where: s.subject.Host, evidence: movedEvidence([]*series{s}), explains: []symptom{gdrOff, slow},
			summary: say("Data of the GPUs crosses host memory on its way to the NIC: GPUDirect RDMA is not in use.", "GPU 数据经主机内存到达网卡：未使用 GPUDirect RDMA。")}
		for _, f := range x.is("host.peermem", false) {
			if f.Subject.Host == s.subject.Host {
				c.confidence = 0.92
				c.evidence = append(c.evidence, quote(f))
			}
		}
		v.claim(c)
	}
}

// Marking thresholds against the rate of the port: the usual rule is 4 KB for
// each Gbit/s to begin with (100 KB for each 25 Gbit/s).
const (
	usualMin = 4e3 // bytes for each Gbit/s
	muchLow  = 8
	muchHigh = 4
)

// thresholdsDiffer: queues that begin to mark far earlier or later than the
// rest of the fabric, or than their rate asks for.
func thresholdsDiffer(x *index, v *verdict) {
	all := x.all("ecn.min")
	var sizes []float64
	for _, f := range all {
		sizes = append(sizes, number(f))
	}
	if len(sizes) == 0 {
		return
	}
	slices.Sort(sizes)
	middle := sizes[len(sizes)/2]
	_, odd, most := usual(all)
	for _, f := range all {
		port, priority, _ := queueOf(f.Subject)
		if on, known, _ := x.lossless(port, priority); known && !on {
			continue
		}
		if e := x.about(f.Subject, "ecn.enabled"); e != nil && !boolOf(e) {
			continue
		}
		want, text := middle, "other queues"
		if speed := x.about(port, "link.speed"); speed != nil && number(speed) > 0 {
			if w := usualMin * number(speed) / 1e9; len(sizes) < leastPorts || middle > w*muchHigh || middle < w/muchLow {
				want, text = w, "the usual rule for its rate"
			}
		} else if len(sizes) < leastPorts {
			continue
		}
		c := claim{severity: finding.Warning, where: places(f), evidence: quotes(f, x.about(f.Subject, "ecn.max")), explains: []symptom{slow, paused}}
		switch {
		case number(f)*2.5 < want, most && slices.Contains(odd, f) && number(f) < middle:
			c.cause, c.confidence = "ecn-threshold-too-low", 0.68
			c.summary = sayf("Marking starts at %d bytes; by %s it would be %.0f: senders are slowed where there is no congestion.", "%[1]d 字节即开始标记；按%[2]s应为 %.0[3]f：没有拥塞时发送端也会被降速。", whole(f), text, want)
			if low := x.counters.rose(swMarks); total(low) > 0 {
				c.confidence = 0.76
				c.evidence = append(c.evidence, movedEvidence(low[:1])...)
			}
		case number(f) > 2.5*want, most && slices.Contains(odd, f) && number(f) > middle:
			c.cause, c.confidence = "ecn-threshold-too-high", 0.68
			c.summary = sayf("Marking starts at %d bytes; by %s it would be %.0f: pause acts before senders learn of congestion.", "%[1]d 字节才开始标记；按%[2]s应为 %.0[3]f：发送端得知拥塞之前暂停已先动作。", whole(f), text, want)
		default:
			continue
		}
		v.claim(c)
	}
}

// fewPairs: some processes use one queue pair a connection where the others
// use several.
func fewPairs(x *index, v *verdict) {
	all := x.env("NCCL_IB_QPS_PER_CONNECTION")
	value, differ, ok := usual(all)
	if !ok || value == "1" {
		return
	}
	for _, f := range differ {
		if f.Value.String() != "1" {
			continue
		}
		v.claim(claim{cause: "lag-single-qp", confidence: 0.64, severity: finding.Warning, where: f.Subject.Host, evidence: quotes(f), explains: []symptom{slow},
			summary: sayf("%s uses one queue pair a connection, the others %s: one hash, so one member of a bond or one path carries it.", "%s 每连接使用一个队列对，其他主机为 %s：只有一个哈希值，因此只走 bond 的一个成员口或一条路径。", nameOr(f.Subject.Host, "A process"), value)})
	}
}

// oddPeermem: the peer memory module is missing on some hosts and loaded on
// the rest.
func oddPeermem(x *index, v *verdict) {
	value, differ, ok := usual(x.all("host.peermem"))
	if !ok || value != "true" {
		return
	}
	for _, f := range differ {
		v.claim(claim{cause: "gdr-inactive-no-peermem", confidence: 0.66, severity: finding.Warning, where: f.Subject.Host, evidence: quotes(f), explains: []symptom{gdrOff, slow},
			summary: sayf("The peer memory module is missing on %s and loaded on the other hosts: unless DMA-BUF serves there, GPU data crosses host memory.", "%s 未加载 peer memory 模块，而其他主机已加载：若未使用 DMA-BUF，GPU 数据会经过主机内存。", nameOr(f.Subject.Host, "one host"))})
	}
}

// movedNames: on most hosts an RDMA device has one network interface, on a few
// another: names or cables have changed places, and pairs cross rails.
func movedNames(x *index, v *verdict) {
	byDevice := map[string][]*fact.Fact{}
	for _, f := range x.all("rdma.netdev") {
		if f.Subject.Host != "" {
			byDevice[f.Subject.Name] = append(byDevice[f.Subject.Name], f)
		}
	}
	for _, name := range sortedKeys(byDevice) {
		value, differ, ok := usual(byDevice[name])
		if !ok || len(differ)*5 > len(byDevice[name]) {
			continue
		}
		for _, f := range differ {
			v.claim(claim{cause: "rail-mismatch", confidence: 0.62, severity: finding.Warning, where: places(f), evidence: quotes(f), explains: []symptom{slow, noAnswer},
				summary: sayf("%s is %s on %s and %s on the other hosts: connections that are made by name join cards of two rails.", "%[1]s 在 %[3]s 上是 %[2]s，在其他主机上是 %[4]s：按名称建立的连接会跨越两条轨道。", name, f.Value, f.Subject.Host, value)})
		}
	}
}

package diagnosis

import (
	"slices"
	"strconv"

	"weir/internal/fact"
	"weir/internal/finding"
)

// Names of the metric table that the rules use most.
const (
	hostPause       = "rdma_roce_pfc_pause_frames_total"
	hostPauseTime   = "rdma_roce_pfc_pause_duration_total"
	hostPauseChange = "rdma_roce_pfc_pause_transitions_total"
	hostGlobal      = "rdma_netdev_global_pause_frames_total"
	hostGlobalTime  = "rdma_netdev_global_pause_duration_total"
	hostStorm       = "rdma_netdev_pause_storm_events_total"
	hostMarks       = "rdma_np_ecn_marked_roce_packets_total"
	hostCNPSent     = "rdma_np_cnp_sent_total"
	hostCNPObeyed   = "rdma_rp_cnp_handled_total"
	hostCNPIgnored  = "rdma_rp_cnp_ignored_total"
	hostGap         = "rdma_out_of_sequence_total"
	hostNAK         = "rdma_packet_seq_err_total"
	hostDuplicates  = "rdma_duplicate_request_total"
	hostTimeout     = "rdma_local_ack_timeout_err_total"
	hostRNR         = "rdma_rnr_nak_retry_err_total"
	hostNoBuffer    = "rdma_out_of_buffer_total"
	hostBytes       = "rdma_netdev_prio_bytes_total"
	stallSeconds    = "rdma_pcie_outbound_stalled_seconds_total"
	stallPercent    = "rdma_pcie_outbound_stalled_percent"
	stallOverflow   = "rdma_pcie_outbound_buffer_overflow_total"
	bufferThreshold = "rdma_netdev_rx_buffer_passed_thres_phy_total"
	swPause         = "roce_switch_pfc_pause_frames_total"
	swPauseTime     = "roce_switch_pfc_pause_duration_total"
	swGlobal        = "roce_switch_global_pause_frames_total"
	swMarks         = "roce_switch_queue_ecn_marked_packets_total"
	swQueuePackets  = "roce_switch_queue_packets_total"
	swQueueDrops    = "roce_switch_queue_dropped_packets_total"
	swWREDDrops     = "roce_switch_queue_wred_dropped_packets_total"
	swGroupDrops    = "roce_switch_pg_dropped_packets_total"
	swPortBytes     = "roce_switch_port_bytes_total"
	swErrors        = "roce_switch_port_errors_total"
	swUncorrected   = "roce_switch_fec_uncorrected_frames_total"
)

// moving is a number of pause frames between two readings that is worth a
// word: a healthy fabric pauses now and then.
const moving = 1000

// slowReceiver: a host asks the network to stop, because it does not take the
// data: PCIe stalls, or its receive buffer fills.
func slowReceiver(x *index, v *verdict) {
	for _, n := range x.counters.nodes() {
		if !n.isHost {
			continue
		}
		sent := rising(n.of(hostPause, "direction", "tx"))
		stalls := rising(slices.Concat(n.of(stallSeconds), n.of(stallOverflow)))
		fills := rising(n.of(bufferThreshold))
		costs, at := share(directed(x.counters.byMetric[swPauseTime], "rx"))
		if timed := slices.ContainsFunc(sent, func(s *series) bool { return s.recorded != nil }); timed && (at == nil || costs < pausedShare) {
			continue // frames alone, over milliseconds: every fabric pauses now and then
		}
		if total(sent) < moving && total(stalls) == 0 {
			stalledNow(n, v)
			continue
		}
		c := claim{
			cause: "receiver-slow-pause", confidence: 0.65, severity: finding.Warning, where: placesOf(slices.Concat(sent, stalls)), evidence: movedEvidence(slices.Concat(sent, stalls, fills)), explains: []symptom{slow, paused},
			summary: say("The host asks the network to stop (tx pause of its NIC): it does not take the data as fast as they come. The network is not the cause; its pauses spread from here.",
				"主机要求网络暂停（其网卡的 tx pause）：接收数据的速度跟不上。网络不是原因，暂停从这里扩散。"),
			test: "ethtool -S IF | grep -E 'tx_prio._pause|outbound_pci_stalled|passed_thres'; sleep 30; again; lspci -vv -s BDF | grep LnkSta",
		}
		switch {
		case len(stalls) > 0 && total(sent) > 0:
			c.confidence = 0.88
			c.summary.En += " PCIe stalled at the same time."
			c.summary.Zh += " 同时 PCIe 出现停顿。"
		case len(stalls) > 0:
			c.confidence = 0.6
		case len(fills) > 0:
			c.confidence = 0.75
		}
		if marks := rising(n.of(hostMarks)); total(marks) > 100*total(sent) {
			c.confidence -= 0.15
			c.against = append(c.against, movedEvidence(marks)...)
		}
		v.claim(c)
	}
}

// stalledNow: a gauge of PCIe stall in a single reading.
func stalledNow(n *node, v *verdict) {
	high := slices.DeleteFunc(slices.Clone(n.of(stallPercent)), func(s *series) bool { return s.last() < 30 })
	overflow, stalls := standing(n.of(stallOverflow)), standing(n.of(stallSeconds))
	sent := standing(n.of(hostPause, "direction", "tx"))
	if len(high) == 0 && (len(overflow) == 0 || len(sent) == 0) {
		return
	}
	c := claim{
		cause: "receiver-slow-pause", confidence: 0.6, severity: finding.Warning, where: placesOf(slices.Concat(high, overflow)), evidence: standEvidence(slices.Concat(high, overflow, stalls, sent)), explains: []symptom{slow, paused},
		summary: say("PCIe did not take the data of this NIC during the second before the reading: the host is slower than its port, and pauses the network.", "读取前的一秒内 PCIe 未能接收该网卡的数据：主机慢于端口，并使网络暂停。"),
	}
	if len(high) > 0 && len(overflow) > 0 {
		c.confidence = 0.72
	}
	if len(high) == 0 {
		c.confidence, c.severity = 0.5, finding.Info
	}
	v.claim(c)
	v.lack("receiver-slow-pause", slow, "whether the host's pause frames and PCIe stalls rise while it is slow", "变慢时主机的暂停帧与 PCIe 停顿是否增长", "ethtool -S IF | grep -E 'tx_prio._pause|outbound_pci'; sleep 30; again")
}

// globalPause: link-level pause (802.3x) is in use where PFC should be.
func globalPause(x *index, v *verdict) {
	c := claim{cause: "global-pause-throttle", severity: finding.Warning, explains: []symptom{slow, paused}}
	share := x.all(saidPauseShare)
	said := x.is(saidGlobalPause, true)
	rose := x.counters.rose(hostGlobal, hostGlobalTime, swGlobal)
	on := slices.Concat(x.is("pause.rx", true), x.is("pause.tx", true))
	for _, f := range share {
		if number(f) >= 1 {
			c.confidence = max(c.confidence, 0.5)
			c.evidence = append(c.evidence, quote(f))
		}
	}
	switch {
	case len(said) > 0 && c.confidence > 0:
		c.confidence = 0.92
		c.evidence = append(c.evidence, quotes(said...)...)
	case total(rose) >= moving:
		c.confidence = 0.85
		c.evidence = append(c.evidence, movedEvidence(rose)...)
		c.where = placesOf(rose)
	case len(on) > 0:
		c.confidence = max(c.confidence, 0.55)
		if _, differ, ok := usual(slices.Concat(x.all("pause.rx"), x.all("pause.tx"))); ok && len(differ) > 0 {
			c.confidence = 0.84 // a few ports, where the rest of the fabric has it off
		}
		if len(x.pfcOn()) == 0 && (len(share) > 0 || x.has("qos.pfc.enabled")) {
			c.confidence = max(c.confidence, 0.65)
		}
	case c.confidence > 0: // pause of unknown kind
		v.lack("global-pause-throttle", slow, "whether the pause is link-level (802.3x) or PFC", "暂停是链路级（802.3x）还是 PFC", "ethtool -a IF; ethtool -S IF | grep pause")
		return
	default:
		if g := x.counters.ever(hostGlobal, swGlobal); len(g) > 0 && !x.counters.windows {
			v.lack("global-pause-throttle", setting, "whether link-level pause rises during a run: its lifetime count is never zero", "运行期间链路级暂停是否增长：其累计值从不为零", "ethtool -S IF | grep global_pause; sleep 30; again")
		}
		return
	}
	if len(on) > 0 {
		c.confidence = min(c.confidence+0.05, 0.95)
		c.evidence = append(c.evidence, quotes(on[:min(len(on), 3)]...)...)
		c.where = unite(c.where, places(on...))
	}
	rate, got := x.all(saidLinkRate), x.all(saidMeasured)
	if len(rate) > 0 && len(got) > 0 && number(got[0]) < 0.9*number(rate[0]) {
		c.evidence = append(c.evidence, quotes(rate[0], got[0])...)
	}
	c.summary = say("Link-level pause (802.3x) stops all traffic of the link, without a drop anywhere: bandwidth is lost and every drop counter stays at zero. Read pause counters as differences over the run.",
		"链路级暂停（802.3x）会停止链路上的所有流量，且不产生任何丢包：带宽下降而丢包计数全为零。应以运行期间的差值读取暂停计数。")
	v.claim(c)
}

// pfcOn returns the PFC facts of NICs with at least one priority on.
func (x *index) pfcOn() []*fact.Fact {
	var out []*fact.Fact
	for _, f := range x.all("qos.pfc.enabled") {
		if len(f.Value.List()) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// storm: a device pauses without end; the watchdog or the NIC's own guard says so.
func storm(x *index, v *verdict) {
	c := claim{cause: "pfc-storm", severity: finding.Error, explains: []symptom{slow, paused, hang}}
	guard := x.counters.rose(hostStorm)
	for _, f := range x.all("watchdog.state") {
		if f.Value.String() == "stormed" {
			c.confidence = 0.85
			c.evidence = append(c.evidence, quotes(f, x.about(f.Subject, "watchdog.tx_drops"), x.about(f.Subject, "watchdog.storms"))...)
			c.where = unite(c.where, places(f))
		}
	}
	if total(guard) > 0 {
		c.confidence = 0.88
		c.evidence = append(c.evidence, movedEvidence(guard)...)
		c.where = unite(c.where, placesOf(guard))
	} else if g := x.counters.ever(hostStorm); len(g) > 0 && c.confidence == 0 && !x.counters.windows {
		c.confidence, c.severity = 0.45, finding.Info
		c.evidence, c.where = standEvidence(g), placesOf(g)
		v.lack("pfc-storm", setting, "whether the NIC's storm guard acts now", "网卡的暂停风暴保护当前是否动作", "ethtool -S IF | grep pause_storm; sleep 30; again")
	}
	if c.confidence == 0 {
		return
	}
	c.summary = say("A port is paused without end: the device behind it sends pause and takes nothing. The watchdog or the NIC's guard acted; what waited in the queue may have been dropped.",
		"某端口被无休止地暂停：其后的设备持续发送暂停帧而不接收数据。看门狗或网卡保护已动作，队列中等待的报文可能已被丢弃。")
	c.test = "show pfcwd stats; show pfc counters, twice 10 s apart: which port receives pause and sends nothing"
	v.claim(c)
}

// flappingCount is a number of storms that restored themselves from which the
// watchdog itself is the suspect: real storms are rare events.
const flappingCount = 20

// watchdog: it flaps, or two readings of one switch contradict.
func watchdog(x *index, v *verdict) {
	for _, f := range x.all("watchdog.storms") {
		restored := x.about(f.Subject, "watchdog.restores")
		if whole(f) < flappingCount || whole(restored)+2 < whole(f) {
			continue
		}
		v.claim(claim{
			cause: "pfc-watchdog-flapping", confidence: 0.85, severity: finding.Error, where: places(f), evidence: quotes(f, restored, x.about(f.Subject, "watchdog.tx_drops")), explains: []symptom{slow, paused, lost},
			summary: sayf("The watchdog detected %d storms on this queue and restored as many, with traffic in between: its own drops do the harm. Lengthen the detection time; false alarms of this kind are known.", "看门狗在该队列检测到 %d 次风暴并全部恢复，其间有流量：造成损害的是它自己的丢弃。应加长检测时间；此类误报是已知的。", whole(f)),
		})
	}
	// Configured, and its table is empty while pause comes in.
	configured := x.is("watchdog.enabled", true)
	if len(configured) > 0 && !x.has("watchdog.state") {
		got := rising(x.counters.byMetric[swPause])
		got = slices.DeleteFunc(got, func(s *series) bool { return s.labels["direction"] != "rx" })
		if total(got) >= 100*moving {
			v.claim(claim{
				cause: "switch-software-defect", confidence: 0.7, severity: finding.Error, where: placesOf(got), evidence: append(quotes(configured[0]), movedEvidence(got)...), explains: []symptom{paused},
				summary: say("The watchdog is configured and has detected nothing, while pause frames pour in: an empty table then means blind, not calm.", "看门狗已配置但未检测到任何风暴，而暂停帧大量涌入：此时空表意味着失效，而非平静。"),
			})
		}
		v.lack("switch-software-defect", setting, "what the watchdog has detected, and whether PFC frames arrive at the port", "看门狗检测到了什么，端口是否收到 PFC 帧", "show pfcwd stats; show pfc counters (twice, 10 s apart)")
	}
}

// receiverNotReady: the receiver posts no buffers in time.
func receiverNotReady(x *index, v *verdict) {
	events := x.any(func(e *event) bool { return e.status == statusRNR })
	rose := x.counters.rose(hostRNR, hostNoBuffer, "rdma_req_rnr_retries_exceeded_total")
	c := claim{cause: "receiver-not-ready", severity: finding.Warning, explains: []symptom{slow, lost}}
	switch {
	case total(rose) > 0:
		c.confidence, c.evidence, c.where = 0.82, movedEvidence(rose), placesOf(rose)
	case len(events) > 0:
		c.confidence, c.where = 0.75, events[0].subject.String()
	default:
		return
	}
	if len(events) > 0 {
		c.severity = finding.Error
		c.confidence = min(c.confidence+0.08, 0.95)
		c.evidence = append(c.evidence, quoteEvents(events)...)
	}
	c.summary = say("The receiver had no buffers posted when data came (receiver not ready): its process is late or its queue too short; the network is not at fault.", "数据到达时接收端没有已提交的缓冲区（receiver not ready）：其进程过慢或队列过短，与网络无关。")
	v.claim(c)
}

func percent(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) }

package diagnosis

import (
	"slices"
	"strconv"

	"weir/internal/fact"
	"weir/internal/finding"
)

// loss: sequence counters moved. Where drops, errors or pause of the same time
// explain it, the cause is theirs.
func loss(x *index, v *verdict) {
	gaps, naks, late := x.counters.rose(hostGap), x.counters.rose(hostNAK), x.counters.rose(hostTimeout)
	switchDrops(x, v)
	hostDrops(x, v)
	errors := x.counters.rose(hostRNR)
	switch {
	case total(gaps)+total(naks) > 0:
		reorderedOrLost(x, v, gaps, naks, late)
	case total(late) > 0 && len(errors) == 0 && x.counters.quiet(hostGap, hostNAK):
		onlyTimeouts(x, v, late)
	default:
		lifetimeLoss(x, v)
	}
}

// quiet reports that counters were read twice and did not move.
func (c *counters) quiet(metrics ...string) bool {
	return slices.ContainsFunc(metrics, func(m string) bool { return measured(c.byMetric[m]) }) && len(c.rose(metrics...)) == 0
}

func reorderedOrLost(x *index, v *verdict, gaps, naks, late []*series) {
	all := slices.Concat(gaps, naks, late)
	c := claim{
		cause: "path-loss", confidence: 0.7, severity: finding.Warning, where: placesOf(all), evidence: movedEvidence(all), explains: []symptom{lost, slow, noAnswer},
		after:   []string{"link-errors", "headroom-too-small", "wred-drops-before-pfc", "roce-in-default-priority", "pfc-not-enabled-on-path", "pfc-priority-mismatch", "mtu-mismatch", "link-down-flap", "pfc-watchdog-flapping", "pfc-storm"},
		summary: say("Packets get lost or reordered on the path: sequence counters rise. Each loss makes the sender go back a window, so bandwidth falls far more than the loss rate.", "路径上有丢包或乱序：序号计数在增长。每次丢失都使发送端回退一个窗口，带宽下降远大于丢包率。"),
	}
	drops := x.counters.byMetric[swQueueDrops]
	sprayed := x.spraying()
	if total(late) == 0 && (sprayed != nil || measured(drops) && len(rising(drops)) == 0) {
		r := c
		r.cause, r.confidence = "reordering", 0.6
		r.summary = say("Packets arrive out of order and none is missing: no timeout, no drop. Spraying or adaptive routing reorders them, and the NIC answers each gap with a NAK.", "报文乱序到达但没有缺失：无超时、无丢弃。逐包喷洒或自适应路由造成乱序，网卡对每个空洞回应 NAK。")
		r.evidence = append(slices.Clone(r.evidence), zeroEvidence(drops)...)
		if sprayed != nil {
			r.confidence = 0.78
			r.evidence = append(r.evidence, quote(sprayed))
		}
		links, all := x.conserved()
		late := x.counters.rose(hostDuplicates)
		switch at, known := x.sprayedEvenly(); {
		case links >= leastPorts && !all:
			r.confidence = 0.4 // packets are missing on a link: see there
		case total(late) > 0 && total(late)*4 >= total(naks):
			r.confidence = max(r.confidence, 0.82)
			r.evidence = append(r.evidence, movedEvidence(late)...)
			r.summary.En += " What was asked for again had been under way: it arrived twice."
			r.summary.Zh += " 被要求重传的报文其实仍在途中：它们到达了两次。"
		case measured(x.counters.byMetric[hostDuplicates]) && total(naks) >= 4:
			r.confidence = 0.42 // nothing arrived twice, so what was asked for again had been lost
		case at != "":
			r.confidence = max(r.confidence, 0.8)
			r.evidence = append(r.evidence, finding.Evidence{Text: "the uplinks of " + at + " carry the same to a few percent, as only a choice for each packet makes it"})
		case known:
			r.confidence = 0.42 // no switch shares its uplinks packet by packet
		case links >= leastPorts:
			r.confidence = max(r.confidence, 0.7)
			r.evidence = append(r.evidence, finding.Evidence{Text: strconv.Itoa(links) + " links were compared at both ends: what one end sent the other got"})
		}
		if at, _ := x.sprayedEvenly(); at != "" {
			r.where = unite(at, r.where)
		}
		v.claim(r)
		c.confidence = min(c.confidence, max(0.5, 1.07-r.confidence))
	}
	v.claim(c)
	v.lack("path-loss", lost, "which hop drops: the counters of every switch port on the path, twice", "哪一跳丢包：路径上每个交换机端口的两次计数", "show interfaces counters; show queue counters; show priority-group drop counters; sleep 30; again")
}

// spraying returns a setting that turns adaptive routing or spraying on.
func (x *index) spraying() *fact.Fact {
	for _, f := range slices.Concat(x.envIs("NCCL_IB_ADAPTIVE_ROUTING", "1"), x.envIs("UCX_IB_AR_ENABLE", "YES", "Y", "1", "TRY")) {
		return f
	}
	return nil
}

func onlyTimeouts(x *index, v *verdict, late []*series) {
	if top, _ := share(x.pauseTimes()); top > 0.1 {
		return // what waits behind a pause comes late
	}
	c := claim{
		cause: "udp4791-blocked", confidence: 0.5, after: []string{"pfc-storm", "pfc-deadlock", "mtu-mismatch", "link-down-flap", "gid-index-wrong", "cabling-wrong"}, severity: finding.Warning, where: placesOf(late), evidence: append(movedEvidence(late), zeroEvidence(x.counters.byMetric[hostGap])...), explains: []symptom{lost, noAnswer},
		summary: say("Nothing comes back at all: timeouts rise and sequence errors do not. A filter on UDP port 4791, a dead peer or a black hole looks like this, congestion does not.", "完全没有应答：超时增长而序号错误不动。UDP 4791 被过滤、对端失效或黑洞会如此，拥塞不会。"),
	}
	// Where the counters of many cards are there, the ones that hear nothing
	// stand out.
	heard, silent := 0, 0
	for _, n := range x.counters.nodes() {
		in, out := n.of(hostBytes, "direction", "rx"), n.of(hostBytes, "direction", "tx")
		if !n.isHost || !slices.ContainsFunc(in, func(s *series) bool { return s.recorded != nil && s.recorded.known }) {
			continue
		}
		heard++
		if got, sent := total(rising(in)), total(rising(out)); sent > 1<<16 && got == 0 {
			silent++
			c.where = unite(n.name, c.where)
			c.evidence = append(c.evidence, movedEvidence(rising(out)[:1])...)
		}
	}
	switch {
	case silent > 0:
		c.confidence = 0.7
	case heard >= leastPorts:
		c.confidence = 0.45 // all that are seen hear something: more likely the answers are late
	}
	v.claim(c)
	v.lack("udp4791-blocked", lost, "whether UDP 4791 passes, and the peer's receive counters at the same time", "UDP 4791 是否可通，以及同一时间对端的接收计数", "weir probe HOST; ping -I IF HOST; nft list ruleset | grep -n 4791; rdma statistic on the peer")
}

// lifetimeLoss: a single reading with large counts: of what time is unknown.
func lifetimeLoss(x *index, v *verdict) {
	if x.counters.windows {
		return
	}
	gaps, late := x.counters.ever(hostGap, hostNAK), x.counters.ever(hostTimeout)
	if sumLast(gaps) < moving && sumLast(late) < moving/10 {
		return
	}
	c := claim{
		cause: "path-loss", confidence: 0.42, severity: finding.Info, where: placesOf(slices.Concat(gaps, late)), evidence: standEvidence(slices.Concat(gaps, late)),
		summary: say("Since the driver was loaded this NIC has seen packets lost or reordered on the path. When that was is unknown: totals are never zero, and only a difference over the trouble tells.", "自驱动加载以来，该网卡曾遇到路径丢包或乱序。发生时间未知：累计值从不为零，只有故障期间的差值才有意义。"),
	}
	if buffers := x.counters.byMetric[hostNoBuffer]; len(buffers) > 0 && len(standing(buffers)) == 0 {
		c.evidence = append(c.evidence, zeroEvidence(buffers)...)
		c.summary.En += " The receiver was never out of buffers, so that it was the network that lost them."
		c.summary.Zh += " 接收端从未缺少缓冲区，因此是网络丢失的。"
		c.confidence += 0.05
	}
	v.claim(c)
	v.lack("path-loss", lost, "whether the sequence counters rise while it is slow", "变慢期间序号计数是否增长", "rdma statistic; ethtool -S IF; sleep 30; rdma statistic; ethtool -S IF")
	v.lack("gid-index-moved", lost, "whether the GID table changed: its contents before and after", "GID 表是否变化：前后的内容", "show_gids (now, and after the next restart or flap)")
}

// hostDrops: the NIC dropped for lack of buffer.
func hostDrops(x *index, v *verdict) {
	pfc := x.pfcOn()
	for _, s := range x.counters.rose("rdma_netdev_prio_buf_discard_total", "rdma_netdev_prio_discards_total", "rdma_netdev_prio_cong_discard_total") {
		d, _ := s.moved()
		on := slices.ContainsFunc(pfc, func(f *fact.Fact) bool {
			return sameHost(f.Subject, s.subject) && slices.Contains(f.Value.List(), s.labels["priority"])
		})
		paused := len(rising(slices.DeleteFunc(slices.Clone(x.counters.at(hostPause, s.subject)), func(p *series) bool {
			return p.labels["priority"] != s.labels["priority"]
		}))) > 0
		c := claim{severity: finding.Warning, where: placesOf([]*series{s}), evidence: movedEvidence([]*series{s}), explains: []symptom{lost, slow}}
		switch {
		case on || paused:
			c.cause, c.confidence = "headroom-too-small", 0.78
			c.summary = sayf("Priority %s is lossless and lost %d packets in the receive buffer while pause was active: headroom does not cover cable and reaction time.", "优先级 %s 为无损，却在暂停生效时在接收缓冲区丢失 %d 个报文：headroom 不足以覆盖线缆与反应时间。", s.labels["priority"], d)
		default:
			c.cause, c.confidence = "pfc-not-enabled-on-path", 0.6
			c.summary = sayf("The NIC dropped %[2]d packets of priority %[1]s for lack of buffer: that priority has no PFC here.", "网卡因缓冲区不足丢弃了优先级 %s 的 %d 个报文：此处该优先级没有 PFC。", s.labels["priority"], d)
		}
		v.claim(c)
	}
	pinned := x.counters.rose("rdma_rx_icrc_encapsulated_total")
	if total(pinned) > 0 {
		v.claim(claim{
			cause: "link-errors", confidence: 0.8, severity: finding.Warning, where: placesOf(pinned), evidence: movedEvidence(pinned), explains: []symptom{lost, slow},
			summary: say("Packets arrive with a wrong invariant checksum: bits flip behind the frame check, in a cable, a buffer or a card.", "收到不变校验和（ICRC）错误的报文：位翻转发生在帧校验之后的线缆、缓冲区或网卡中。"),
		})
	}
}

// switchDrops: drops of a queue or priority group between two readings.
func switchDrops(x *index, v *verdict) {
	for _, s := range x.counters.rose(swWREDDrops) {
		v.claim(claim{
			cause: "wred-drops-before-pfc", confidence: 0.82, severity: finding.Warning, where: placesOf([]*series{s}), evidence: movedEvidence([]*series{s}), explains: []symptom{lost, slow},
			summary: sayf("WRED drops packets of queue %s instead of marking them.", "WRED 在队列 %s 丢弃报文而不是标记。", s.labels["queue"]),
		})
	}
	for _, s := range x.counters.rose(swGroupDrops) {
		pause := x.pausesOf(s, "tx")
		c := claim{cause: "headroom-too-small", confidence: 0.55, severity: finding.Warning, where: placesOf([]*series{s}), evidence: movedEvidence([]*series{s}), explains: []symptom{lost, slow}}
		if len(pause) > 0 {
			c.confidence = 0.85
			c.evidence = append(c.evidence, movedEvidence(pause)...)
			c.summary = sayf("Priority group %s drops although the port sends pause: what is still under way after the pause does not fit into the headroom.", "优先级组 %s 在端口发送暂停时仍丢包：暂停发出后仍在途的数据超出 headroom。", s.labels["priority"])
		} else {
			c.cause, c.confidence = "pfc-not-enabled-on-path", 0.6
			c.summary = sayf("Priority group %s drops and the port sends no pause for it: the class is not lossless here.", "优先级组 %s 丢包且端口未为其发送暂停：该类别在此不是无损的。", s.labels["priority"])
		}
		v.claim(c)
	}
	for _, s := range x.counters.rose(swQueueDrops) {
		priority, err := strconv.Atoi(s.labels["queue"])
		if err != nil {
			continue
		}
		port := fact.Subject{Kind: fact.Port, Host: s.subject.Host, Name: s.labels["port"]}
		lossless, known, pfc := x.lossless(port, priority)
		if !known {
			continue
		}
		c := claim{severity: finding.Warning, where: placesOf([]*series{s}), evidence: append(movedEvidence([]*series{s}), quotes(pfc)...), explains: []symptom{lost, slow}}
		switch {
		case lossless:
			c.cause, c.confidence = "headroom-too-small", 0.6
			c.summary = sayf("Queue %d is lossless and drops.", "队列 %d 为无损却在丢包。", priority)
		case priority != 0 && len(pfc.Value.List()) > 0:
			continue // a lossy class may drop
		default:
			c.cause, c.confidence = "pfc-not-enabled-on-path", 0.5
			c.summary = sayf("Queue %d drops, and PFC is off for it on this port.", "队列 %d 丢包，该端口未为其启用 PFC。", priority)
		}
		v.claim(c)
	}
}

// pausesOf returns the pause counters of the port and priority of a series
// that rose.
func (x *index) pausesOf(s *series, direction string) []*series {
	return rising(slices.DeleteFunc(slices.Clone(x.counters.byMetric[swPause]), func(p *series) bool {
		return p.labels["port"] != s.labels["port"] || p.labels["direction"] != direction || p.subject.Host != s.subject.Host ||
			p.labels["priority"] != "" && p.labels["priority"] != s.labels["priority"]
	}))
}

// marksAndPause: what marks and pauses of one window say of the thresholds.
func marksAndPause(x *index, v *verdict) {
	marks, pauses := x.counters.byMetric[swMarks], x.counters.byMetric[swPause]
	hostSaw := x.counters.byMetric[hostMarks]
	sent := slices.DeleteFunc(rising(pauses), func(s *series) bool { return s.labels["direction"] != "tx" })
	switch {
	case total(sent) >= moving && x.pauseCosts() && (measured(marks) && total(rising(marks)) == 0 || len(marks) == 0 && measured(hostSaw) && total(rising(hostSaw)) == 0):
		cause, confidence := "ecn-not-configured", 0.7
		for _, f := range x.all("ecn.enabled") {
			if boolOf(f) {
				cause = "ecn-threshold-too-high"
			}
		}
		v.claim(claim{
			cause: cause, confidence: confidence, severity: finding.Warning, where: placesOf(sent), evidence: append(movedEvidence(sent), zeroEvidence(slices.Concat(marks, hostSaw))...), explains: []symptom{slow, paused},
			summary: say("The switch pauses and marks nothing: ECN is off on this queue, or starts above the level at which pause is sent.", "交换机只暂停不标记：该队列的 ECN 未启用，或标记门限高于发送暂停的水位。"),
		})
		v.lack("ecn-not-configured", paused, "whether the queue has ECN, and its thresholds", "该队列是否启用 ECN 及其门限", "show the WRED/ECN profile of the queue; on SONiC: counterpoll wredqueue enable first")
	case measured(marks) && !(total(sent) >= moving && x.pauseCosts()):
		manyMarks(x, v, rising(marks))
	}
}

// manyMarks: a large part of the packets is marked in queues that are nearly
// empty, or, where queue lengths are not known, without any pause.
func manyMarks(x *index, v *verdict, marks []*series) {
	if flat, known := shallowQueues(x, marks); known {
		marks = flat
	}
	m, p := total(marks), total(sameQueues(rising(x.counters.byMetric[swQueuePackets]), marks))
	if m < moving || p == 0 || m*25 < p {
		return
	}
	c := claim{
		cause: "ecn-threshold-too-low", confidence: 0.68, severity: finding.Warning, where: placesOf(marks), evidence: movedEvidence(marks), explains: []symptom{slow},
		summary: sayf("%s %% of the packets of these queues are marked though they are nearly empty: marking starts too early, and senders stay slow.", "这些队列 %s %% 的报文被标记，而队列几乎为空：标记过早，发送端持续偏慢。", percent(float64(m)/float64(p))),
	}
	if _, known := shallowQueues(x, marks); known {
		c.confidence = 0.78
	} else {
		c.summary = sayf("%s %% of the packets of these queues are marked and nothing is paused: marking starts too early, and senders stay slow.", "这些队列 %s %% 的报文被标记而没有暂停：标记过早，发送端持续偏慢。", percent(float64(m)/float64(p)))
	}
	v.claim(c)
}

// pauseCosts reports that pause takes a part of the window that matters, or
// that the length of the window is not known.
func (x *index) pauseCosts() bool {
	times := x.pauseTimes()
	if !slices.ContainsFunc(times, func(s *series) bool { return s.recorded != nil }) {
		return true
	}
	top, _ := share(times)
	return top >= pausedShare
}

// sameQueues keeps the series whose subject is one of the others'.
func sameQueues(list, others []*series) []*series {
	return slices.DeleteFunc(list, func(s *series) bool {
		return !slices.ContainsFunc(others, func(o *series) bool { return o.subject == s.subject })
	})
}

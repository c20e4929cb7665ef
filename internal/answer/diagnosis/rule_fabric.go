package diagnosis

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/finding"
)

const (
	swQueueWatermark = "roce_switch_queue_watermark_bytes"
	swQueueLength    = "roce_switch_queue_length_bytes"
	hostReceived     = "rdma_port_rcv_data_total"

	// pausedShare is the part of a window from which pause costs bandwidth
	// that a job notices.
	pausedShare = 0.02
	// stormShare is the part of a window from which a queue hardly moves.
	stormShare = 0.9
	// shallow is a mean length that no congestion made: a few packets of 4 KB.
	shallow = 48 << 10
)

// incast: one host receives most of what the network carries, and the queue in
// front of it holds most of the marks.
func incast(x *index, v *verdict) {
	manyToOne(x, v)
	received := rising(x.counters.byMetric[hostReceived])
	marks := rising(x.counters.byMetric[swMarks])
	if len(received) == 0 || len(marks) == 0 || len(x.counters.byMetric[hostReceived]) < 3 {
		return
	}
	target, hot := highest(received), highest(marks)
	in, _ := target.moved()
	here, _ := hot.moved()
	if in*2 < total(received) || here*10 < total(marks)*6 || here < moving {
		return
	}
	c := claim{
		cause: "incast", confidence: 0.7, severity: finding.Info, where: unite(target.subject.Host, hot.subject.Host+"/"+hot.labels["port"]),
		evidence: append(movedEvidence([]*series{target, hot}), standEvidence(queueOfPort(x, hot))...), explains: []symptom{slow, paused},
		summary: sayf("%s receives %s %% of all data, and %s %% of the marks are set in the queue before it: many senders meet at one port. The fabric does what it should.",
			"%s 接收了全部数据的 %s %%，%s %% 的标记出现在其前方的队列：多个发送者汇聚到一个端口。网络行为符合预期。", target.subject.Host, percent(float64(in)/float64(total(received))), percent(float64(here)/float64(total(marks)))),
	}
	if top, at := share(x.pauseTimes()); top > pausedShare {
		c.severity, c.confidence = finding.Warning, 0.74
		c.evidence = append(c.evidence, movedEvidence([]*series{at})...)
	}
	if own := directed(x.counters.byMetric[hostPause], "tx"); total(rising(onHost(own, target.subject.Host))) > moving {
		c.confidence -= 0.2
		c.against = append(c.against, movedEvidence(rising(onHost(own, target.subject.Host)))...)
	}
	v.claim(c)
}

// highest returns the series that rose most.
func highest(list []*series) *series {
	return slices.MaxFunc(list, func(a, b *series) int {
		p, _ := a.moved()
		q, _ := b.moved()
		switch {
		case p < q:
			return -1
		case p > q:
			return 1
		}
		return 0
	})
}

func directed(list []*series, direction string) []*series {
	return slices.DeleteFunc(slices.Clone(list), func(s *series) bool { return s.labels["direction"] != direction })
}

func onHost(list []*series, host string) []*series {
	return slices.DeleteFunc(slices.Clone(list), func(s *series) bool { return s.subject.Host != host })
}

// queueOfPort returns the high-water marks of the queue that a series counts in.
func queueOfPort(x *index, q *series) []*series {
	return slices.DeleteFunc(slices.Clone(x.counters.byMetric[swQueueWatermark]), func(s *series) bool { return s.subject != q.subject })
}

// shallowQueues returns the marked queues that were nearly empty on the mean,
// and false where queue lengths were not recorded.
func shallowQueues(x *index, marked []*series) (list []*series, known bool) {
	for _, m := range marked {
		for _, w := range x.counters.byMetric[swQueueLength] {
			if w.subject == m.subject && w.recorded != nil {
				if known = true; w.recorded.mean < shallow {
					list = append(list, m)
				}
			}
		}
	}
	return list, known
}

// pauseTimes returns the durations for which ports and cards were paused.
func (x *index) pauseTimes() []*series {
	return directed(slices.Concat(x.counters.byMetric[swPauseTime], x.counters.byMetric[hostPauseTime]), "rx")
}

// pausedWithoutEnd: a port at the edge is paused for nearly all of the window.
func pausedWithoutEnd(x *index, v *verdict) {
	top, at := share(directed(x.counters.byMetric[swPauseTime], "rx"))
	if top < stormShare || at == nil || x.topologyOf().toSwitch(endOf(at)) {
		return // between switches: the root is elsewhere
	}
	v.claim(claim{
		cause: "pfc-storm", confidence: 0.75, severity: finding.Error, where: at.subject.Host + "/" + at.labels["port"], evidence: movedEvidence([]*series{at}), explains: []symptom{slow, paused, hang},
		summary: sayf("The port was paused for %s %% of the window: the device behind it sends pause without end.", "该端口在窗口内有 %s %% 的时间被暂停：其后的设备无休止地发送暂停帧。", percent(top)),
	})
}

// manyToOne: one host gets several times what the others get, and the queue in
// front of it is the one that marks or pauses.
func manyToOne(x *index, v *verdict) {
	t := x.topologyOf()
	got := map[string]uint64{}
	at := map[string]end{}
	for _, s := range directed(x.counters.byMetric[swPortBytes], "tx") {
		if d, ok := s.moved(); ok && t.toHost(endOf(s)) {
			host := t.peer[endOf(s)].node + "/" + t.peer[endOf(s)].port
			got[host] = max(got[host], d)
			at[host] = endOf(s)
		}
	}
	for _, s := range directed(x.counters.byMetric[hostBytes], "rx") {
		if d, ok := s.moved(); ok {
			name := s.subject.Host + "/" + s.labels["netdev"]
			got[name] = max(got[name], d)
		}
	}
	if len(got) < leastPorts {
		return
	}
	var sizes []uint64
	top := ""
	for _, h := range sortedKeys(got) {
		sizes = append(sizes, got[h])
		if got[h] > got[top] {
			top = h
		}
	}
	slices.Sort(sizes)
	middle := sizes[len(sizes)/2]
	if got[top] < 2*middle || got[top]*10 < 18*sizes[len(sizes)-2] {
		return
	}
	host, _, _ := strings.Cut(top, "/")
	marks := map[end]uint64{}
	sum := uint64(0)
	for _, s := range x.counters.rose(swMarks) {
		d, _ := s.moved()
		marks[endOf(s)] += d
		sum += d
	}
	c := claim{cause: "incast", confidence: 0.58, after: []string{"pfc-storm", "pfc-deadlock", "udp4791-blocked", "receiver-slow-pause", "mtu-mismatch"}, severity: finding.Warning, where: host, explains: []symptom{slow, paused},
		evidence: []finding.Evidence{{Text: top + " got " + strconv.FormatUint(got[top], 10) + " bytes, the median of " + strconv.Itoa(len(got)) + " cards is " + strconv.FormatUint(middle, 10)}},
		summary:  sayf("%s gets %.1f times what the median card gets: many senders meet at one port, and the fabric can only queue, mark and pause.", "%s 接收的数据是各网卡中位数的 %.1f 倍：多个发送者汇聚到一个端口，网络只能排队、标记与暂停。", host, float64(got[top])/float64(max(middle, 1)))}
	if e, ok := at[top]; ok {
		c.where = unite(c.where, e.node+"/"+e.port)
		if sum > 0 && marks[e]*10 >= sum*3 {
			c.confidence = 0.76
			c.evidence = append(c.evidence, finding.Evidence{Text: e.node + "/" + e.port + " set " + percent(float64(marks[e])/float64(sum)) + " % of all marks"})
		}
	}
	if sum == 0 {
		c.severity = finding.Info
	}
	v.claim(c)
}

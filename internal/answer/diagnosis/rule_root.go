package diagnosis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"weir/internal/finding"
)

// deadShare is the part of a window from which a queue is taken to be stopped
// rather than slowed.
const deadShare = 0.6

// paused returns for each switch port the largest share of the window that a
// priority of it was kept from sending, and its series.
func (x *index) paused() map[end]float64 {
	out := map[end]float64{}
	for _, s := range directed(x.counters.byMetric[swPauseTime], "rx") {
		if s.recorded == nil || s.recorded.seconds <= 0 {
			continue
		}
		d, _ := s.moved()
		if v := float64(d) / 1e6 / s.recorded.seconds; v > out[endOf(s)] {
			out[endOf(s)] = v
		}
	}
	return out
}

// pauseRoot follows pause through the topology. A switch is kept from sending
// at a port by what is behind it; where that is a switch, it passes on what
// holds its own ports. A root is a host that pauses its switch; a circle of
// stopped ports between switches, with no such host, is a deadlock.
func pauseRoot(x *index, v *verdict) {
	shares := x.paused()
	t := x.topologyOf()
	var edge []end // ports to hosts that pause
	var inner []end
	for _, e := range slices.SortedFunc(maps.Keys(shares), func(a, b end) int {
		return cmp.Or(cmp.Compare(shares[b], shares[a]), cmp.Compare(a.node, b.node), cmp.Compare(a.port, b.port))
	}) {
		switch {
		case shares[e] < pausedShare:
		case t.toHost(e):
			edge = append(edge, e)
		case t.toSwitch(e):
			inner = append(inner, e)
		}
	}
	if ring := circle(t, shares, inner); len(ring) > 0 {
		top := 0.0
		if len(edge) > 0 {
			top = shares[edge[0]]
		}
		if top < deadShare {
			c := claim{cause: "pfc-deadlock", confidence: 0.86, severity: finding.Critical, explains: []symptom{slow, paused, hang, lost, noAnswer},
				summary: sayf("Ports between switches wait for each other in a circle (%s), and no host pauses at the end of it: nothing in this circle can move any more.",
					"交换机之间的端口互相等待并成环（%s），环的尽头没有主机在暂停：环内的流量不再移动。", names(ring))}
			for _, e := range ring {
				c.where = unite(c.where, e.node+"/"+e.port)
				c.evidence = append(c.evidence, x.pauseEvidence(e, shares[e]))
			}
			v.claim(c)
			return
		}
	}
	hosts := x.pausingHosts(t, shares)
	x.silentPausers(v, hosts)
	for _, h := range hosts {
		h.claim(v, inner, x, shares)
	}
	if len(hosts) > 0 || len(inner) == 0 || shares[inner[0]] < 0.8*deadShare {
		return
	}
	if shares[inner[0]] >= stormShare {
		e := inner[0]
		v.claim(claim{cause: "pfc-deadlock", confidence: 0.68, severity: finding.Critical, where: e.node + "/" + e.port + ", " + t.peer[e].node, evidence: []finding.Evidence{x.pauseEvidence(e, shares[e])}, explains: []symptom{slow, paused, hang, lost, noAnswer},
			summary: sayf("%s/%s, which leads to the switch %s, is stopped for %s %% of the time, and no host that is visible pauses: queues between switches wait for each other, or the host at the root is not seen.", "通往交换机 %[3]s 的 %[1]s/%[2]s 在 %[4]s %% 的时间内停止，而可见的主机都没有暂停：交换机之间的队列互相等待，或根源主机未被采集。", e.node, e.port, t.peer[e].node, percent(shares[e]))})
		return
	}
	// Pause comes from a switch none of whose visible ports is paused by a host.
	from := t.peer[inner[0]].node
	v.claim(claim{cause: "pfc-storm", confidence: 0.6, severity: finding.Error, where: from + ", " + inner[0].node + "/" + inner[0].port, evidence: []finding.Evidence{x.pauseEvidence(inner[0], shares[inner[0]])}, explains: []symptom{slow, paused, hang, lost, noAnswer},
		summary: sayf("%s keeps %s/%s from sending for %s %% of the time, and no port that is visible tells why: the host that pauses it is behind a port of %[1]s whose counters are not here.", "%[1]s 在 %[4]s %% 的时间内使 %[2]s/%[3]s 不能发送，可见端口无法说明原因：暂停它的主机位于 %[1]s 的某个未采集端口之后。", from, inner[0].node, inner[0].port, percent(shares[inner[0]]))})
	v.lack("pfc-storm", paused, "the pause counters of every port of "+from, from+" 所有端口的暂停计数", "show pfc counters; sleep 10; show pfc counters")
}

// A pausing host asks its switch to stop.
type pausing struct {
	host     string
	share    float64
	evidence []finding.Evidence
	at       end // the switch's port, if it is known
	stalls   []*series
	seen     bool // the host's own counters are there
}

// pausingHosts joins what switch ports and hosts say of the hosts that pause,
// most paused first.
func (x *index) pausingHosts(t *topology, shares map[end]float64) []*pausing {
	by := map[string]*pausing{}
	get := func(host string) *pausing {
		if by[host] == nil {
			by[host] = &pausing{host: host}
		}
		return by[host]
	}
	for e, v := range shares {
		if v >= pausedShare && t.toHost(e) {
			p := get(t.peer[e].node)
			if v > p.share {
				p.share, p.at = v, e
			}
			p.evidence = append(p.evidence, x.pauseEvidence(e, v))
		}
	}
	for _, n := range x.counters.nodes() {
		if !n.isHost {
			continue
		}
		if top, at := share(n.of(hostPauseTime, "direction", "tx")); at != nil && top >= pausedShare {
			p := get(n.name)
			p.share = max(p.share, top)
			p.evidence = append(p.evidence, movedEvidence([]*series{at})...)
		}
		if frames := rising(n.of(hostPause, "direction", "tx")); len(frames) > 0 && slices.ContainsFunc(n.of(stallPercent), func(s *series) bool { return s.last() >= 3 }) {
			p := get(n.name) // its switch's port may not be visible
			p.evidence = append(p.evidence, movedEvidence(frames)...)
		}
		if p := by[n.name]; p != nil {
			p.seen = len(n.of(hostBytes)) > 0
			p.stalls = slices.DeleteFunc(slices.Clone(n.of(stallPercent)), func(s *series) bool { return s.last() < 3 })
			p.stalls = append(p.stalls, rising(slices.Concat(n.of(stallSeconds), n.of(stallOverflow)))...)
		}
	}
	return slices.SortedFunc(maps.Values(by), func(a, b *pausing) int { return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.host, b.host)) })
}

// claim tells a host that takes too slowly from one that hangs: PCIe stalls, or
// a pause that leaves room for data, speak for the former.
func (p *pausing) claim(v *verdict, inner []end, x *index, shares map[end]float64) {
	c := claim{cause: "pfc-storm", confidence: 0.8, severity: finding.Error, where: p.host, evidence: p.evidence, explains: []symptom{slow, paused, hang, lost, noAnswer},
		summary: sayf("%s keeps its switch from sending for %s %% of the time and its PCIe does not stall: it sends pause without need and takes next to nothing. Pauses elsewhere spread from there.",
			"%s 在 %s %% 的时间内使交换机不能发送，而其 PCIe 没有停顿：它无端地发送暂停帧，几乎不接收数据。其他位置的暂停由此扩散。", p.host, percent(p.share))}
	switch {
	case len(p.stalls) > 0:
		c.cause, c.confidence, c.severity = "receiver-slow-pause", 0.86, finding.Warning
		c.evidence = append(slices.Clone(c.evidence), standEvidence(p.stalls[:1])...)
		if p.share == 0 {
			c.summary = sayf("%s asks its switch to stop while its PCIe stalls: it does not take the data as fast as they come. Pauses elsewhere spread from there.", "%s 在其 PCIe 停顿时要求交换机停止：接收数据的速度跟不上。其他位置的暂停由此扩散。", p.host)
			break
		}
		c.summary = sayf("%s keeps its switch from sending for %s %% of the time while its PCIe stalls: it does not take the data as fast as they come. Pauses elsewhere spread from there.", "%s 在 %s %% 的时间内使交换机不能发送，同时其 PCIe 停顿：接收数据的速度跟不上。其他位置的暂停由此扩散。", p.host, percent(p.share))
	case !p.seen && p.share < stormShare:
		c.cause, c.confidence, c.severity = "receiver-slow-pause", 0.62, finding.Warning
		c.summary = sayf("%s keeps its switch from sending for %s %% of the time: it does not take the data as fast as they come. Its own counters are not here, which would tell a slow host from one that hangs.", "%s 在 %s %% 的时间内使交换机不能发送：接收数据的速度跟不上。缺少其自身的计数，无法区分缓慢的主机与挂死的主机。", p.host, percent(p.share))
	}
	if p.at != (end{}) {
		c.where = unite(c.where, p.at.node+"/"+p.at.port)
	}
	for _, o := range inner[:min(len(inner), 2)] {
		c.evidence = append(c.evidence, x.pauseEvidence(o, shares[o]))
	}
	v.claim(c)
}

// circle finds a circle among stopped ports between switches: each waits for
// the switch behind it, which is stopped at a port to the next.
func circle(t *topology, paused map[end]float64, inner []end) []end {
	stopped := map[string][]end{}
	for _, e := range inner {
		if paused[e] >= deadShare {
			stopped[e.node] = append(stopped[e.node], e)
		}
	}
	for _, start := range inner {
		if paused[start] < deadShare {
			continue
		}
		path, seen := []end{start}, map[string]int{start.node: 0}
		for at := t.peer[start].node; ; {
			if from, ok := seen[at]; ok {
				return path[from:]
			}
			next := stopped[at]
			if len(next) == 0 {
				break
			}
			seen[at] = len(path)
			path = append(path, next[0])
			at = t.peer[next[0]].node
		}
	}
	return nil
}

func names(ring []end) string {
	s := ""
	for i, e := range ring {
		if i > 0 {
			s += ", "
		}
		s += e.node + "/" + e.port
	}
	return s
}

func (x *index) pauseEvidence(e end, share float64) finding.Evidence {
	return finding.Evidence{Text: fmt.Sprintf("%s/%s was kept from sending for %s %% of the window (received pause)", e.node, e.port, strconv.FormatFloat(100*share, 'f', 1, 64))}
}

// silentPausers: hosts that pause a little and send next to nothing, while the
// others send: a card that hangs.
func (x *index) silentPausers(v *verdict, known []*pausing) {
	sent := map[string]uint64{}
	pauses := map[string][]*series{}
	for _, n := range x.counters.nodes() {
		if n.isHost && measured(n.of(hostBytes, "direction", "tx")) {
			sent[n.name] = total(rising(n.of(hostBytes, "direction", "tx")))
			pauses[n.name] = rising(n.of(hostPause, "direction", "tx"))
		}
	}
	if len(sent) < leastPorts {
		return
	}
	all := slices.Sorted(maps.Values(sent))
	usual := all[len(all)/2]
	for _, h := range sortedKeys(sent) {
		if len(pauses[h]) == 0 || sent[h]*10 > usual || slices.ContainsFunc(known, func(p *pausing) bool { return p.host == h && p.share >= pausedShare }) {
			continue
		}
		v.claim(claim{cause: "pfc-storm", confidence: 0.76, severity: finding.Error, where: h, evidence: movedEvidence(pauses[h]), explains: []symptom{slow, paused, hang, lost, noAnswer},
			summary: sayf("%s sends pause and %d bytes of data, where the median host sends %d: its card hangs, and what is meant for it waits in the fabric.", "%s 发送暂停帧，而只发送了 %d 字节数据（主机中位数为 %d）：其网卡挂死，发往它的数据滞留在网络中。", h, sent[h], usual)})
	}
}

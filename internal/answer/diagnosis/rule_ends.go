package diagnosis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"weir/internal/fact"
	"weir/internal/finding"
)

// Metrics that count what goes over a link.
const (
	swPortPackets = "roce_switch_port_packets_total"
	hostPackets   = "rdma_netdev_prio_packets_total"
)

// flow is what the counters of one end of a link say.
type flow struct {
	tx, rx uint64
	known  bool
}

// linkFlows sums the packets of each end of each link.
func (x *index) linkFlows() map[end]*flow {
	out := map[end]*flow{}
	add := func(e end, s *series) {
		d, ok := s.moved()
		if !ok {
			return
		}
		f := out[e]
		if f == nil {
			f = &flow{}
			out[e] = f
		}
		f.known = true
		if s.labels["direction"] == "tx" {
			f.tx += d
		} else {
			f.rx += d
		}
	}
	for _, s := range x.counters.byMetric[swPortPackets] {
		add(endOf(s), s)
	}
	for _, s := range x.counters.byMetric[hostPackets] {
		add(end{s.subject.Host, s.labels["netdev"]}, s)
	}
	return out
}

const (
	// leastVanished is the share of packets that must be missing at the far end:
	// what is in flight at the window's edges is less.
	leastVanished = 0.0008
	// mostVanished: when more is missing, a counter was reset in the window.
	mostVanished = 0.25
	leastPackets = 200
)

// restarted returns the nodes whose counters sent less than the far ends got,
// which only a restart of counters in the window makes so.
func restarted(t *topology, flows map[end]*flow) map[string]bool {
	out := map[string]bool{}
	for e, f := range flows {
		if far := flows[t.peer[e]]; far != nil && far.rx > f.tx+2+f.tx/500 {
			out[e.node] = true
		}
	}
	return out
}

// vanished compares both ends of each link: what one sent and the other did
// not get was lost on the cable, counted nowhere.
func vanished(x *index, v *verdict) {
	flows := x.linkFlows()
	t := x.topologyOf()
	type loss struct {
		from, to end
		share    float64
		missing  uint64
	}
	var found []loss
	whole := 0
	again := restarted(t, flows)
	for _, e := range slices.SortedFunc(maps.Keys(flows), func(a, b end) int { return cmp.Or(cmp.Compare(a.node, b.node), cmp.Compare(a.port, b.port)) }) {
		p, ok := t.peer[e]
		far := flows[p]
		if !ok || far == nil || flows[e].tx < leastPackets || again[e.node] || again[p.node] {
			continue
		}
		if far.rx+1 >= flows[e].tx {
			whole++
			continue
		}
		l := loss{e, p, float64(flows[e].tx-far.rx) / float64(flows[e].tx), flows[e].tx - far.rx}
		switch {
		case l.share < leastVanished:
			whole++
		case l.share <= mostVanished:
			found = append(found, l)
		}
	}
	gaps := x.counters.rose(hostGap, hostNAK, hostTimeout)
	if total(gaps) == 0 || len(found) == 0 {
		return
	}
	slices.SortStableFunc(found, func(a, b loss) int { return cmp.Compare(b.share, a.share) })
	c := claim{cause: "path-loss", confidence: 0.82, severity: finding.Warning, explains: []symptom{lost, slow, noAnswer},
		after: []string{"link-errors", "link-down-flap", "mtu-mismatch", "udp4791-blocked", "pfc-storm"},
		summary: sayf("%s/%s sends what %s/%s does not get: %s %% of the packets vanish on that link, and no counter has them.", "%s/%s 发出的报文 %s/%s 没有收到：该链路上有 %s %% 的报文消失，且没有任何计数。",
			found[0].from.node, found[0].from.port, found[0].to.node, found[0].to.port, percent(found[0].share))}
	for _, l := range found[:min(len(found), 4)] {
		c.where = unite(c.where, l.from.node+"/"+l.from.port+"~"+l.to.node+"/"+l.to.port)
		c.evidence = append(c.evidence, finding.Evidence{Text: fmt.Sprintf("%s/%s sent %d packets, %s/%s got %d fewer", l.from.node, l.from.port, flows[l.from].tx, l.to.node, l.to.port, l.missing)})
	}
	if whole > 0 {
		c.evidence = append(c.evidence, finding.Evidence{Text: fmt.Sprintf("%d other links lost nothing", whole)})
	}
	c.evidence = append(c.evidence, movedEvidence(gaps[:min(len(gaps), 3)])...)
	v.claim(c)
}

// conserved reports whether at least some links were compared at both ends and
// none of them lost packets.
func (x *index) conserved() (links int, all bool) {
	flows := x.linkFlows()
	t := x.topologyOf()
	all = true
	again := restarted(t, flows)
	for e, f := range flows {
		p, ok := t.peer[e]
		if far := flows[p]; ok && far != nil && f.tx >= leastPackets && !again[e.node] && !again[p.node] {
			links++
			if far.rx+1 < f.tx && float64(f.tx-far.rx)/float64(f.tx) >= leastVanished && float64(f.tx-far.rx)/float64(f.tx) <= mostVanished {
				all = false
			}
		}
	}
	return links, all
}

// sisters: the ports of one switch to others of the tier above, which a hash
// should load alike.
func sisters(x *index, v *verdict) {
	t := x.topologyOf()
	sent := map[end]uint64{}
	for _, s := range directed(x.counters.byMetric[swPortBytes], "tx") {
		if d, ok := s.moved(); ok {
			sent[endOf(s)] += d
		}
	}
	ups := map[string][]end{}
	for e := range sent {
		if t.toSwitch(e) {
			ups[e.node] = append(ups[e.node], e)
		}
	}
	hosts := map[string]bool{} // switches with hosts below
	for e := range t.peer {
		if t.toHost(e) {
			hosts[e.node] = true
		}
	}
	type uneven struct {
		node      string
		top       end
		share     float64
		idle, all int
		bytes     uint64
	}
	var found []uneven
	checked := 0
	for _, n := range slices.Sorted(maps.Keys(ups)) {
		list := ups[n]
		if !hosts[n] || len(list) < 2 {
			continue
		}
		slices.SortFunc(list, func(a, b end) int { return cmp.Or(cmp.Compare(sent[b], sent[a]), cmp.Compare(a.port, b.port)) })
		u := uneven{node: n, top: list[0], all: len(list)}
		for _, e := range list {
			u.bytes += sent[e]
		}
		for _, e := range list {
			if sent[e]*20*uint64(len(list)) < u.bytes {
				u.idle++
			}
		}
		if u.bytes < 1<<20 {
			continue
		}
		checked++
		u.share = float64(sent[list[0]]) / float64(u.bytes)
		if u.share*float64(len(list)) > 1.35 || u.idle*2 >= u.all {
			found = append(found, u)
		}
	}
	if len(found) == 0 {
		return
	}
	slices.SortStableFunc(found, func(a, b uneven) int { return cmp.Compare(b.share*float64(b.all), a.share*float64(a.all)) })
	worst := found[0]
	c := claim{cause: "ecmp-collision", confidence: 0.6, after: []string{"pfc-storm", "pfc-deadlock", "udp4791-blocked", "link-down-flap", "link-speed-degraded", "mtu-mismatch", "path-loss"}, severity: finding.Warning, explains: []symptom{slow, paused},
		summary: sayf("The uplinks of %s are loaded unevenly: %s of %d carries %s %% of what goes up, and %d are idle. Several heavy flows share one path while others are free.",
			"%s 的上行链路负载不均：%[3]d 条中的 %[2]s 承载了 %[4]s %% 的上行流量，%[5]d 条空闲。多条大流共用一条路径，而其他路径空闲。", worst.node, worst.top.port, worst.all, percent(worst.share), worst.idle)}
	for _, u := range found[:min(len(found), 4)] {
		c.where = unite(c.where, u.node)
		c.evidence = append(c.evidence, finding.Evidence{Text: fmt.Sprintf("%s: %s sent %s %% of %d bytes over %d uplinks, %d of them idle", u.node, u.top.port, percent(u.share), u.bytes, u.all, u.idle)})
	}
	switch {
	case worst.idle*2 >= worst.all && len(found) == checked && checked >= 2:
		c.confidence = 0.61
	case worst.idle*2 >= worst.all:
		c.confidence = 0.58
	case worst.share*float64(worst.all) > 1.8:
		c.confidence, c.severity = 0.45, finding.Info
	default:
		c.confidence, c.severity = 0.35, finding.Info // chance makes as much
	}
	if !x.congested() || x.rate(worst.top, sent[worst.top]) < busy {
		c.severity = finding.Info // uneven, but nothing suffers from it
	}
	v.claim(c)
}

// busy is the share of an uplink's rate from which flows that share it hold each
// other up.
const busy = 0.75

// rate returns which share of a port's speed an amount of bytes over the window
// is; 1 where either is not known.
func (x *index) rate(e end, bytes uint64) float64 {
	for _, s := range x.counters.byMetric[swPortBytes] {
		if endOf(s) != e || s.recorded == nil || s.recorded.seconds <= 0 {
			continue
		}
		if f := x.about(fact.Subject{Kind: fact.Port, Host: e.node, Name: e.port}, "link.speed"); f != nil && number(f) > 0 {
			return float64(bytes) * 8 / s.recorded.seconds / number(f)
		}
	}
	return 1
}

// congested reports whether marks or pauses of the window say that some queue
// was full.
func (x *index) congested() bool {
	return total(x.counters.rose(swMarks)) >= moving || total(x.counters.rose(hostMarks)) >= moving || x.pauseCosts()
}

// sprayedEvenly names the switch that loads its uplinks so evenly as only a
// choice for each packet does, if there is one; known is false where no switch
// with several uplinks is seen.
func (x *index) sprayedEvenly() (at string, known bool) {
	t := x.topologyOf()
	sent := map[string][]uint64{}
	by := map[end]uint64{}
	for _, s := range directed(x.counters.byMetric[swPortBytes], "tx") {
		if d, ok := s.moved(); ok && t.toSwitch(endOf(s)) {
			by[endOf(s)] += d
		}
	}
	for e, d := range by {
		sent[e.node] = append(sent[e.node], d)
	}
	best := 0.96
	for _, node := range slices.Sorted(maps.Keys(sent)) {
		list := sent[node]
		if len(list) < 2 || slices.Max(list) < 1<<20 {
			continue
		}
		known = true
		if even := float64(slices.Min(list)) / float64(slices.Max(list)); even >= best {
			at, best = node, even
		}
	}
	return at, known
}

// unheard: a port sends pause and the far end counts none: the two ends use it
// for different priorities, or one does not use it.
func unheard(x *index, v *verdict) {
	t := x.topologyOf()
	got := map[end]uint64{}
	counted := map[end]bool{}
	for _, s := range directed(x.counters.byMetric[swPause], "rx") {
		if d, ok := s.moved(); ok {
			got[endOf(s)] += d
			counted[endOf(s)] = true
		}
	}
	for _, s := range directed(x.counters.byMetric[hostPause], "rx") {
		if d, ok := s.moved(); ok {
			e := end{s.subject.Host, s.labels["netdev"]}
			got[e] += d
			counted[e] = true
		}
	}
	drops := x.counters.rose(swGroupDrops)
	for _, s := range directed(x.counters.byMetric[swPause], "tx") {
		d, ok := s.moved()
		p, known := t.peer[endOf(s)]
		if !ok || d < 20 || !known || !counted[p] || got[p] > 0 {
			continue
		}
		c := claim{cause: "pfc-priority-mismatch", confidence: 0.72, severity: finding.Warning, where: s.subject.Host + "/" + s.labels["port"] + ", " + p.node + "/" + p.port, evidence: movedEvidence([]*series{s}), explains: []symptom{lost, paused, slow},
			summary: sayf("%s/%s sends pause and %s/%s counts none: the two ends use PFC for different priorities, or one end not at all.", "%s/%s 发送暂停，而 %s/%s 计数为零：两端的 PFC 优先级不同，或一端未启用。", s.subject.Host, s.labels["port"], p.node, p.port)}
		for _, g := range drops {
			if g.subject.Host == s.subject.Host && g.labels["port"] == s.labels["port"] {
				c.confidence = 0.88
				c.evidence = append(c.evidence, movedEvidence([]*series{g})...)
			}
		}
		v.claim(c)
	}
}

package diagnosis

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/finding"
)

// linkFlap: a port went down or reported an error under the job.
func linkFlap(x *index, v *verdict) {
	events := x.any((*event).portDown)
	moved := x.counters.rose("rdma_link_downed_total", "rdma_phy_link_down_events_total", "rdma_link_error_recovery_total", "roce_switch_link_changes_total")
	var kernel []*fact.Fact
	for _, f := range x.all("kernel.event") {
		if f.Value.String() == "link_down" {
			kernel = append(kernel, f)
		}
	}
	c := claim{cause: "link-down-flap", severity: finding.Error, explains: []symptom{portEvent, noAnswer, lost, slow}}
	switch {
	case len(events) > 0:
		c.confidence, c.evidence, c.where = 0.86, quoteEvents(events), events[0].subject.String()
		if d := events[0].device; d != "" {
			c.where = unite(c.where, d)
		}
	case total(moved) > 0:
		c.confidence, c.evidence, c.where = 0.85, movedEvidence(moved), placesOf(moved)
	case len(kernel) > 0:
		c.confidence, c.where = 0.6, places(kernel...)
		if len(kernel) > 2 || len(x.any((*event).noAnswer)) > 0 {
			c.confidence = 0.75
		}
	default:
		return
	}
	if len(events) > 0 && (len(kernel) > 0 || total(moved) > 0) {
		c.confidence = 0.95
	}
	for _, f := range kernel[:min(len(kernel), 3)] {
		c.evidence = append(c.evidence, quotes(messageOf(x, f))...)
	}
	c.summary = say("A link went down under the job: what the library reports afterwards (status 12) follows from it. Where several nodes report it, look first at what they share: a switch, a line card, a bundle of cables, a push of configuration.",
		"作业运行中链路中断：库随后报告的错误（状态 12）由此引起。若多个节点同时报告，先检查其共同点：交换机、线卡、线缆束或配置下发。")
	v.claim(c)
}

// messageOf returns the text of the kernel message that an event was read from.
func messageOf(x *index, f *fact.Fact) *fact.Fact {
	for _, m := range x.all("kernel.message") {
		if m.Origin.Source == f.Origin.Source && m.Origin.Line == f.Origin.Line {
			return m
		}
	}
	return f
}

// linkSpeed: a link runs below what the port can, or below its like.
func linkSpeed(x *index, v *verdict) {
	for _, f := range x.all("link.speed") {
		limit := x.about(f.Subject, "link.max_speed")
		if limit == nil || whole(f) == 0 || whole(limit) <= whole(f) || text(x.about(f.Subject, "link.state")) == "down" {
			continue
		}
		c := claim{
			cause: "link-speed-degraded", confidence: 0.75, severity: finding.Warning, where: places(f), evidence: quotes(f, limit, x.about(f.Subject, "link.lanes"), x.about(f.Subject, "link.medium")), explains: []symptom{slow},
			summary: sayf("%s runs at %s Gb/s and the port can %s.", "%s 以 %s Gb/s 运行，而端口支持 %s。", nameOr(f.Subject.String(), "The link"), gbit(number(f)), gbit(number(limit))),
		}
		v.claim(c)
	}
	slowerThanItsLike(x, v)
}

// slowerThanItsLike compares ports of one name on several hosts: clusters are
// alike, so that one against many is a finding.
func slowerThanItsLike(x *index, v *verdict) {
	groups := map[string][]*fact.Fact{}
	for _, f := range slices.Concat(x.all("rdma.rate"), x.all("link.speed")) {
		if f.Subject.Kind == fact.NIC && f.Subject.Name != "" && whole(f) > 0 && f.Origin.Tool != toolTopologyFile && !virtual(f.Subject.Name) {
			groups[f.Key+" "+f.Subject.Name] = append(groups[f.Key+" "+f.Subject.Name], f)
		}
	}
	for _, k := range sortedKeys(groups) {
		list := groups[k]
		slices.SortStableFunc(list, func(a, b *fact.Fact) int { return int(min(max(int64(whole(a))-int64(whole(b)), -1), 1)) })
		low, usual := list[0], list[len(list)/2]
		if len(list) >= 3 && whole(low) < whole(usual) {
			v.claim(claim{
				cause: "link-speed-degraded", confidence: 0.7, severity: finding.Warning, where: places(low), evidence: quotes(low, usual), explains: []symptom{slow},
				summary: sayf("%s runs at %s Gb/s, and the same port of other hosts at %s.", "%s 以 %s Gb/s 运行，其他主机的同名端口为 %s。", low.Subject, gbit(number(low)), gbit(number(usual))),
			})
		}
	}
}

// linkErrors: the link corrupts or corrects bits beyond the usual.
func linkErrors(x *index, v *verdict) {
	c := claim{cause: "link-errors", severity: finding.Warning, explains: []symptom{lost, slow}}
	rose := x.counters.rose("rdma_phy_rx_symbol_err_total", "rdma_phy_rx_pcs_symbol_err_total", "rdma_phy_rx_crc_errors_total", "rdma_symbol_error_total", swUncorrected, swErrors)
	if total(rose) > 0 {
		c.confidence, c.evidence, c.where = 0.82, movedEvidence(rose), placesOf(rose)
	} else if ever := x.counters.ever("rdma_phy_rx_symbol_err_total", "rdma_phy_rx_pcs_symbol_err_total", swUncorrected); len(ever) > 0 && !x.counters.windows {
		c.confidence, c.severity, c.evidence, c.where = 0.5, finding.Info, standEvidence(ever), placesOf(ever)
		v.lack("link-errors", lost, "whether the error counters of the link rise now", "链路误码计数当前是否增长", "ethtool -S IF | grep -E 'symbol|crc|fec|lane'; sleep 30; again; ethtool -m IF")
	}
	badLane(x, &c)
	optics(x, &c)
	fecDiffers(x, &c)
	if c.confidence == 0 {
		return
	}
	c.summary = say("The link corrupts or corrects bits beyond the usual: a lane, the optics or the cable is bad, or the two ends use different FEC. FEC hides it until it no longer can.", "链路的误码或纠错超出正常范围：某一通道、光模块或线缆有问题，或两端 FEC 不同。FEC 会掩盖问题直至无法纠正。")
	v.claim(c)
}

// badLane: one lane has nearly all raw errors.
func badLane(x *index, c *claim) {
	for _, n := range x.counters.nodes() {
		byPort := map[fact.Subject][]*series{}
		for _, s := range n.of("rdma_phy_rx_err_lane_total") {
			byPort[s.subject] = append(byPort[s.subject], s)
		}
		for _, lanes := range byPort {
			var worst *series
			sum, top := uint64(0), uint64(0)
			for _, s := range lanes {
				d, ok := s.moved()
				if !ok {
					d = s.last()
				}
				if sum += d; d > top {
					worst, top = s, d
				}
			}
			if len(lanes) < 2 || sum < moving || top*10 < sum*9 {
				continue
			}
			c.evidence = append(c.evidence, standEvidence([]*series{worst})...)
			c.where = unite(c.where, placesOf([]*series{worst}))
			if _, ok := worst.moved(); ok || c.confidence > 0 {
				c.confidence = max(c.confidence+0.06, 0.75)
			} else {
				c.confidence = 0.6
			}
		}
	}
}

// darkest is the light, in dBm, below which a receiver of the usual short
// reach modules gets none: their sensitivity ends between -8 and -12.
const darkest = -10.0

// optics: alarms of the module, or a lane without light.
func optics(x *index, c *claim) {
	for _, f := range x.all("module.alarm") {
		c.confidence = max(c.confidence, 0.7)
		c.evidence = append(c.evidence, quote(f))
		c.where = unite(c.where, places(f))
	}
	for _, f := range x.under("module.lane.") {
		if strings.HasSuffix(f.Key, ".rx_power") && f.Value.Kind() != fact.Absent && number(f) < darkest && !boolOf(x.about(f.Subject, "module.copper")) {
			c.confidence = max(c.confidence, 0.75)
			c.evidence = append(c.evidence, quote(f))
			c.where = unite(c.where, places(f))
		}
	}
	for _, f := range x.under("fec.codewords.") {
		symbols, err := strconv.Atoi(strings.TrimPrefix(strings.TrimPrefix(f.Key, "fec.codewords."), "S"))
		if err == nil && symbols >= 8 && number(f) > 0 {
			c.confidence = max(c.confidence, 0.6)
			c.evidence = append(c.evidence, quote(f))
			c.where = unite(c.where, places(f))
		}
	}
}

// fecDiffers: the two ends of a link name different FEC modes.
func fecDiffers(x *index, c *claim) {
	modes := map[string]*fact.Fact{}
	for _, f := range x.all("link.fec.active") {
		if m := strings.ToLower(f.Value.String()); f.Subject.Name != "" && m != "" {
			modes[m] = f
		}
	}
	if len(modes) < 2 {
		return
	}
	var facts []*fact.Fact
	for _, k := range sortedKeys(modes) {
		facts = append(facts, modes[k])
	}
	if joined(x, facts) {
		c.confidence = max(c.confidence, 0.75)
		c.evidence = append(c.evidence, quotes(facts...)...)
		c.where = unite(c.where, places(facts...))
	}
}

// joined reports whether LLDP says that two of the facts' ports are one link.
func joined(x *index, facts []*fact.Fact) bool {
	for _, f := range facts {
		peer := text(x.about(f.Subject, "link.neighbour"))
		for _, g := range facts {
			if g != f && peer != "" && peer == g.Subject.String() {
				return true
			}
		}
	}
	return false
}

// cabling: of NICs that have one name on many hosts nearly all lead to one
// switch, and this one leads elsewhere; or two NICs of a host are swapped.
func cabling(x *index, v *verdict) {
	groups := map[string][]*fact.Fact{}
	for _, f := range x.all("link.neighbour") {
		if f.Subject.Kind == fact.NIC && f.Subject.Host != "" {
			groups[f.Subject.Name] = append(groups[f.Subject.Name], f)
		}
	}
	if !railed(groups) {
		return
	}
	for _, name := range sortedKeys(groups) {
		count := map[string][]*fact.Fact{}
		for _, f := range groups[name] {
			device, _, _ := strings.Cut(f.Value.String(), "/")
			count[device] = append(count[device], f)
		}
		usual := ""
		for _, d := range sortedKeys(count) {
			if len(count[d]) > len(count[usual]) {
				usual = d
			}
		}
		for _, d := range sortedKeys(count) {
			if d == usual || len(count[usual]) < 3 || len(count[d])*4 > len(count[usual]) {
				continue
			}
			v.claim(claim{
				cause: "cabling-wrong", confidence: 0.75, severity: finding.Warning, where: places(count[d]...), evidence: quotes(append(count[d], count[usual][0])...), explains: []symptom{slow, noAnswer},
				summary: sayf("%s leads to %s on %s, and to %s on the other hosts: a cable is in another port than the plan says.", "%[3]s 上的 %[1]s 连接到 %[2]s，而其他主机上连接到 %[4]s：有线缆插错端口。", name, d, places(count[d]...), usual),
			})
		}
	}
}

// leastCards is how many cards must lead to one leaf before another leaf means
// something where hosts have one card each.
const leastCards = 6

// railed reports whether cards of one name lead to one leaf, and those of
// another name to another: only then is an odd one out of place. Hosts with one
// card under one leaf are taken so, too, if they are many.
func railed(groups map[string][]*fact.Fact) bool {
	leaves := map[string]bool{}
	for _, list := range groups {
		count, top := map[string]int{}, ""
		for _, f := range list {
			device, _, _ := strings.Cut(f.Value.String(), "/")
			if count[device]++; count[device] > count[top] || count[device] == count[top] && device < top {
				top = device
			}
		}
		if count[top]*10 < len(list)*8 || len(groups) == 1 && count[top] < leastCards {
			return false
		}
		leaves[top] = true
	}
	return len(leaves) == len(groups)
}

// A seat is a port of a switch and whom it leads to.
type seat struct {
	port string
	n    int
	peer end
}

func (s seat) key() int { return lastNumber(s.peer.node)*64 + max(lastNumber(s.peer.port), 0) }

// crossed: a switch's ports lead to hosts, or to switches of one tier, in the
// order of their numbers, but for two neighbours that have changed places.
func crossed(x *index, v *verdict) {
	t := x.topologyOf()
	for _, node := range sortedKeys(t.ports) {
		groups := map[string][]seat{}
		for _, p := range t.ports[node] {
			peer := t.peer[end{node, p}]
			if stem := strings.TrimRight(peer.node, "0123456789"); stem != peer.node && !t.isHost[node] {
				groups[stem] = append(groups[stem], seat{p, lastNumber(p), peer})
			}
		}
		for _, stem := range sortedKeys(groups) {
			swapped(v, node, groups[stem])
		}
	}
}

func swapped(v *verdict, node string, seats []seat) {
	if len(seats) < leastPorts {
		return
	}
	slices.SortStableFunc(seats, func(a, b seat) int { return a.n - b.n })
	back, at := 0, 0
	for i := 1; i < len(seats); i++ {
		if seats[i].key() < seats[i-1].key() {
			back, at = back+1, i
		}
	}
	if back != 1 {
		return
	}
	a, b := seats[at-1], seats[at]
	// Two neighbours that change places leave the rest in order.
	if at > 1 && b.key() < seats[at-2].key() || at+1 < len(seats) && a.key() > seats[at+1].key() {
		return
	}
	v.claim(claim{cause: "cabling-wrong", confidence: 0.72, severity: finding.Warning, where: node + "/" + a.port + ", " + node + "/" + b.port, explains: []symptom{slow, noAnswer},
		evidence: []finding.Evidence{{Text: node + "/" + a.port + " leads to " + a.peer.node + "/" + a.peer.port}, {Text: node + "/" + b.port + " leads to " + b.peer.node + "/" + b.peer.port}},
		summary:  sayf("The ports of %s lead to their neighbours in the order of their numbers, but for %s and %s, which have changed places: two cables are swapped.", "%s 的端口按编号顺序连接邻居，只有 %s 与 %s 对调：两根线缆插反。", node, a.port, b.port)})
}

// lastNumber returns the number that a name ends with, -1 without one.
func lastNumber(name string) int {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	n, err := strconv.Atoi(name[i:])
	if err != nil {
		return -1
	}
	return n
}

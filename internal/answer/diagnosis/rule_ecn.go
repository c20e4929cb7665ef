package diagnosis

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/finding"
)

// queueOf splits the subject of a queue into its port and number; a profile
// gives no number that means a priority.
func queueOf(s fact.Subject) (port fact.Subject, number int, profile bool) {
	i := strings.LastIndexByte(s.Name, '/')
	if i < 0 {
		return s, none, false
	}
	n, err := strconv.Atoi(s.Name[i+1:])
	if err != nil {
		n = none
	}
	return fact.Subject{Kind: fact.Port, Host: s.Host, Name: s.Name[:i]}, n, strings.HasPrefix(s.Name, "profile:")
}

// ecnSettings: the lossless queue does not mark, drops instead, or marks at a
// length that cannot be meant.
func ecnSettings(x *index, v *verdict) {
	bound := slices.ContainsFunc(x.all("ecn.enabled"), func(f *fact.Fact) bool { _, _, profile := queueOf(f.Subject); return !profile })
	for _, f := range x.all("ecn.enabled") {
		port, number, profile := queueOf(f.Subject)
		on := boolOf(f)
		_, min0 := x.about(f.Subject, "ecn.min"), x.about(f.Subject, "ecn.drops")
		drops := boolOf(min0)
		lossless, known, pfc := x.lossless(port, number)
		switch {
		case on || profile && bound:
		case drops && (lossless || profile):
			v.claim(claim{
				cause: "wred-drops-before-pfc", confidence: 0.82, severity: finding.Warning, where: places(f), evidence: append(quotes(f, min0, pfc), notes(x, port)...), explains: []symptom{lost, slow},
				summary: say("The thresholds of the RoCE queue drop packets instead of marking them: WRED is on, ECN is not.", "RoCE 队列的门限会丢弃而不是标记报文：WRED 已启用，ECN 未启用。"),
			})
		case profile && (len(notes(x, port)) > 0 || !drops):
			v.claim(claim{
				cause: "ecn-not-configured", confidence: 0.85, severity: finding.Warning, where: places(f), evidence: append(quotes(f, min0), notes(x, port)...), explains: []symptom{slow, paused},
				summary: say("The profile has thresholds, and what makes them act is missing: nothing is marked. The command was accepted and changed nothing that marks; check a marking counter, not its exit status.",
					"该 profile 有门限，但缺少使其生效的开关：不会标记任何报文。命令被接受却未改变标记行为；应检查标记计数，而不是命令的返回值。"),
				test: "show queue wredcounters (after counterpoll wredqueue enable), twice under load",
			})
		case known && lossless:
			v.claim(claim{
				cause: "ecn-not-configured", confidence: 0.82, severity: finding.Warning, where: places(f), evidence: append(quotes(f, pfc), notes(x, port)...), explains: []symptom{slow, paused},
				summary: sayf("Queue %d is lossless (PFC) and does not mark: congestion is answered by pause alone, which spreads.", "队列 %d 为无损（PFC）但不标记：拥塞只能靠暂停应对，并会扩散。", number),
			})
		}
	}
	ecnThresholds(x, v)
	if x.has("switch.system") && !x.has("ecn.enabled") && !x.has("ecn.min") {
		v.lack("ecn-not-configured", setting, "the ECN settings of the RoCE queue", "RoCE 队列的 ECN 配置", "sonic-cfggen -d --var-json WRED_PROFILE; sonic-cfggen -d --var-json QUEUE (or the vendor's show of the queueing policy)")
	}
	for _, f := range x.all("command.line") {
		if strings.HasPrefix(f.Value.String(), "ecnconfig") {
			v.lack("ecn-not-configured", setting, "whether the profile marks: its mode and its enables", "该 profile 是否标记：其模式与启用开关", "sonic-cfggen -d --var-json WRED_PROFILE; ecnconfig -l")
			break
		}
	}
}

// notes returns what the configuration's reader says of effects that differ
// from the text.
func notes(x *index, port fact.Subject) []finding.Evidence {
	var out []finding.Evidence
	for _, f := range x.under("config.note.ecn") {
		if f.Subject == port {
			out = append(out, seen(f, "%s", f.Value))
		}
	}
	return out
}

// Bounds of thresholds that are plainly not meant: below four packets of 4 KB
// every burst is marked; a lower one above the pause level comes too late.
const leastMin = 16 << 10

func ecnThresholds(x *index, v *verdict) {
	for _, f := range x.all("ecn.min") {
		port, number, _ := queueOf(f.Subject)
		if e := x.about(f.Subject, "ecn.enabled"); e != nil && !boolOf(e) {
			continue
		}
		lossless, known, pfc := x.lossless(port, number)
		if known && !lossless {
			continue
		}
		var xoff *fact.Fact
		for _, name := range []string{port.Name + "/PG" + strconv.Itoa(number), port.Name + "/" + strconv.Itoa(number)} {
			if g := x.about(fact.Subject{Kind: fact.Queue, Host: port.Host, Name: name}, "pg.xoff"); g != nil {
				xoff = g
			}
		}
		switch {
		case whole(f) < leastMin:
			v.claim(claim{
				cause: "ecn-threshold-too-low", confidence: 0.6, severity: finding.Warning, where: places(f), evidence: quotes(f, x.about(f.Subject, "ecn.max"), pfc), explains: []symptom{slow},
				summary: sayf("Marking starts at %d bytes, a few packets: ordinary bursts are marked, and senders stay slow without congestion.", "%d 字节（仅几个报文）即开始标记：普通突发也会被标记，发送端在没有拥塞时也会变慢。", whole(f)),
			})
		case xoff != nil && whole(xoff) > 0 && whole(f) > whole(xoff):
			v.claim(claim{
				cause: "ecn-threshold-too-high", confidence: 0.8, severity: finding.Warning, where: places(f), evidence: quotes(f, xoff, pfc), explains: []symptom{slow, paused},
				summary: sayf("Marking starts at %d bytes and pause at %d: pause acts first, and senders learn of congestion only by being stopped.", "%d 字节才开始标记，而 %d 字节即发送暂停：暂停先动作，发送端只能通过被停止得知拥塞。", whole(f), whole(xoff)),
			})
		}
	}
}

// congestionControl: the reaction or notification point is off, by settings or
// by counters.
func congestionControl(x *index, v *verdict) {
	c := claim{cause: "congestion-control-off", severity: finding.Warning, explains: []symptom{slow, paused}}
	for _, n := range x.counters.nodes() {
		if !n.isHost {
			continue
		}
		marks, sent, ignored := n.of(hostMarks), n.of(hostCNPSent), rising(n.of(hostCNPIgnored))
		switch {
		case total(rising(marks)) >= moving && measured(sent) && total(rising(sent)) == 0:
			c.confidence = max(c.confidence, 0.88)
			c.evidence = append(append(c.evidence, movedEvidence(rising(marks))...), zeroEvidence(sent)...)
			c.where = unite(c.where, placesOf(marks))
		case len(sent) > 0 && len(standing(sent)) == 0 && sumLast(marks) > 100*moving:
			c.confidence = max(c.confidence, 0.75) // never sent one: that holds at any time
			c.evidence = append(append(c.evidence, standEvidence(marks)...), zeroEvidence(sent)...)
			c.where = unite(c.where, placesOf(marks))
		}
		if total(ignored) >= moving/10 {
			c.confidence = max(c.confidence, 0.88)
			c.evidence = append(c.evidence, movedEvidence(ignored)...)
			c.where = unite(c.where, placesOf(ignored))
		}
	}
	ccSettings(x, &c)
	if c.confidence == 0 {
		return
	}
	c.summary = say("Congestion control does not act on this NIC: marked packets arrive and no notification is sent, notifications are ignored, or it is switched off for the priority. Then only pause holds the queues.",
		"该网卡的拥塞控制不起作用：收到被标记的报文却不发送通知、忽略通知，或在该优先级上被关闭。此时只能靠暂停控制队列。")
	v.claim(c)
}

func sumLast(list []*series) uint64 {
	sum := uint64(0)
	for _, s := range list {
		sum += s.last()
	}
	return sum
}

// ccSettings looks at the switches of DCQCN for the priorities with PFC.
func ccSettings(x *index, c *claim) {
	for _, f := range x.is("dcqcn.enabled", false) {
		c.confidence = max(c.confidence, 0.8)
		c.evidence = append(c.evidence, quote(f))
		c.where = unite(c.where, places(f))
	}
	for _, f := range x.all("dcqcn.priority_mask") {
		for _, pfc := range x.pfcOn() {
			if !sameHost(f.Subject, pfc.Subject) {
				continue
			}
			for _, p := range pfc.Value.List() {
				if n, err := strconv.Atoi(p); err == nil && whole(f)>>n&1 == 0 {
					c.confidence = max(c.confidence, 0.82)
					c.evidence = append(c.evidence, quotes(f, pfc)...)
					c.where = unite(c.where, places(f))
				}
			}
		}
		if whole(f) == 0 && len(x.pfcOn()) == 0 {
			c.confidence = max(c.confidence, 0.6)
			c.evidence = append(c.evidence, quote(f))
			c.where = unite(c.where, places(f))
		}
	}
	for _, side := range []string{"dcqcn.rp.priority.", "dcqcn.np.priority."} {
		for _, f := range x.under(side) {
			on, known, pfc := false, false, (*fact.Fact)(nil)
			if n, err := strconv.Atoi(strings.TrimPrefix(f.Key, side)); err == nil {
				on, known, pfc = x.lossless(f.Subject, n)
			}
			if b, ok := f.Value.Bool(); ok && !b && known && on {
				c.confidence = max(c.confidence, 0.85)
				c.evidence = append(c.evidence, quotes(f, pfc)...)
				c.where = unite(c.where, places(f))
			}
		}
	}
}

// cnpQueue: congestion notifications ride the class of the data, or the
// default one.
func cnpQueue(x *index, v *verdict) {
	for _, f := range x.all("dcqcn.cnp_dscp") {
		for _, m := range x.all("qos.dscp." + strconv.FormatUint(whole(f), 10) + ".priority") {
			on, known, pfc := x.lossless(m.Subject, int(whole(m)))
			if !sameHost(f.Subject, m.Subject) && m.Subject.Kind == fact.NIC {
				continue
			}
			c := claim{cause: "cnp-in-wrong-queue", severity: finding.Warning, where: places(f, m), evidence: quotes(f, m, pfc), explains: []symptom{slow, paused}}
			switch {
			case known && on:
				c.confidence = 0.82
				c.summary = sayf("Congestion notifications carry DSCP %d, which goes to priority %d, the lossless class of the data: they wait behind the queue that they report on, and are paused with it.", "拥塞通知的 DSCP 为 %d，进入优先级 %d，即数据所在的无损类别：它们排在自己所报告的队列之后，并随之被暂停。", whole(f), whole(m))
			case whole(m) == 0 && known:
				c.confidence = 0.55
				c.summary = sayf("Congestion notifications carry DSCP %d, which goes to the default priority 0: they compete with everything else and come late or not at all.", "拥塞通知的 DSCP 为 %d，进入默认优先级 0：与其他流量竞争，会延迟或丢失。", whole(f))
			default:
				continue
			}
			v.claim(c)
		}
	}
}

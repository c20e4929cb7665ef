package capture

import (
	"fmt"

	"weir/internal/finding"
	"weir/roce"
	"weir/units"
)

const (
	// enoughMarks is how many CE marks without a CNP make a finding.
	enoughMarks = 3
	// enoughCNPs is how many CNPs without effect make one.
	enoughCNPs = 8
	// fewObeyed: less than one in so many CNPs was followed by slower sending.
	fewObeyed = 20
	// cnpPatience is how long after a mark the answers must have gone on: a
	// notification point sends the first CNP within microseconds.
	cnpPatience = 100 * units.Microsecond
)

// judgeCongestion looks at whether marks are answered and notices obeyed.
func (a *Analyser) judgeCongestion(f *flow, ps *problems) {
	g, w := &f.conn.congest, &f.conn.answers
	back := a.flows.reverse(f)
	if g.marked >= enoughMarks && f.peer != nil && back != nil && !back.notifies() && w.lastAt-g.firstMarkedAt >= cnpPatience {
		p := ps.on("no CNP", f)
		p.cause, p.severity, p.confidence = "congestion-control-off", finding.Warning, 0.8
		p.summary = func(p *problem) string {
			return fmt.Sprintf("%s arrived with a CE mark and no congestion notification came back, although acknowledgements did: the notification point is off at %s, so its senders never slow down.", many(p.sums[0], "packet"), f.dst)
		}
		p.add(g.marked)
		p.see(g.firstMarked, "first packet with CE")
	}
	if g.kept >= enoughCNPs && g.slowed*fewObeyed <= g.kept {
		p := ps.on("CNP ignored", f)
		p.cause, p.severity, p.confidence = "congestion-control-off", finding.Warning, 0.6
		p.summary = func(p *problem) string {
			return fmt.Sprintf("%s reached the sender and its rate did not fall behind them: the reaction point is off at %s.", many(p.sums[0], "congestion notification"), f.src)
		}
		p.add(g.cnps)
		p.see(g.firstCNP, "first congestion notification")
	}
}

// notifies reports whether CNPs pass between the two addresses of p.
func (p *pair) notifies() bool {
	for _, f := range p.flows {
		if f.streams[Notification] != nil {
			return true
		}
	}
	return false
}

// judgeIntent compares marking and MTU with the cluster file.
func (a *Analyser) judgeIntent(f *flow, ps *problems) {
	in := a.options.Intent
	if in == nil {
		return
	}
	s, c := f.streams[Request], f.conn
	if want := in.RoCE().DSCP; s.otherThan(want) > 0 {
		p := ps.on("DSCP", f)
		p.cause, p.severity, p.confidence = "roce-in-default-priority", finding.Error, 0.9
		p.summary = func(p *problem) string {
			return fmt.Sprintf("%d of %s with another DSCP than the cluster file's %d for RoCE: switches put them in another class, which may drop.", p.sums[0], many(p.sums[1], "request"), want)
		}
		p.add(s.otherThan(want), s.packets)
		p.see(s.firstPacket, "DSCP %s", s.dscps())
	}
	if in.ECN.Enabled && s.ecn[roce.NotECT] > 0 {
		p := ps.on("not ECT", f)
		p.cause, p.severity, p.confidence = "ecn-not-configured", finding.Warning, 0.8
		p.summary = func(p *problem) string {
			return fmt.Sprintf("%s sent as not ECN-capable although the cluster file enables ECN: switches cannot mark them, and drop or pause instead.", many(p.sums[0], "request"))
		}
		p.add(s.ecn[roce.NotECT])
		p.see(s.firstPacket, "first request of the queue pair")
	}
	if n := f.peer; n != nil && n.streams[Notification] != nil {
		if want, cnp := in.CNP().DSCP, n.streams[Notification]; cnp.otherThan(want) > 0 {
			p := ps.on("CNP DSCP", n)
			p.cause, p.severity, p.confidence = "cnp-in-wrong-queue", finding.Warning, 0.9
			p.summary = func(p *problem) string {
				return fmt.Sprintf("%s with another DSCP than the cluster file's %d for them: they wait in another queue.", many(p.sums[0], "congestion notification"), want)
			}
			p.add(cnp.otherThan(want))
			p.see(cnp.firstPacket, "DSCP %s", cnp.dscps())
		}
	}
	a.judgeMTU(f, c.mtu, uint32(in.MTU), ps)
}

func (a *Analyser) judgeMTU(f *flow, found, want uint32, ps *problems) {
	if found == 0 || want == 0 || found == want {
		return
	}
	p := ps.on("MTU", f)
	p.cause, p.severity, p.confidence = "mtu-small", finding.Warning, 0.9
	if found > want {
		p.cause = "mtu-mismatch"
	}
	p.summary = func(*problem) string {
		return fmt.Sprintf("Path MTU %d where the cluster file says %d.", found, want)
	}
	p.see(f.streams[Request].firstPacket, "first request of the queue pair")
}

// otherThan returns how many packets have another DSCP than want.
func (s *stream) otherThan(want uint8) uint64 {
	n := s.packets
	for i, d := range s.dscp[:s.ndscp] {
		if d == want {
			n -= s.dscpPackets[i]
		}
	}
	return n
}

// dscps lists the DSCPs of a stream with their packets.
func (s *stream) dscps() string {
	t := ""
	for i, d := range s.dscp[:s.ndscp] {
		if i > 0 {
			t += ", "
		}
		t += fmt.Sprintf("%d in %s", d, many(s.dscpPackets[i], "packet"))
	}
	return t
}

// manyQueuePairs is how many queue pairs on one source port make a finding.
const manyQueuePairs = 3

// judgePorts looks for queue pairs that share one UDP source port, so that no hash
// can spread them.
func (a *Analyser) judgePorts(ps *problems) {
	type onePort struct {
		src, dst roce.GID
		port     uint16
	}
	counts := map[onePort]uint64{}
	others := map[pairKey]bool{}
	firsts := map[pairKey]onePort{}
	packets := map[onePort]uint64{}
	for _, f := range a.flows.order {
		s := f.streams[Request]
		if f.conn == nil || s == nil || f.v1 || s.nports != 1 || s.packets == s.wrong {
			continue
		}
		k := pairKey{src: f.src, dst: f.dst}
		o := onePort{f.src, f.dst, s.ports[0]}
		if first, ok := firsts[k]; ok && first != o {
			others[k] = true
		} else if !ok {
			firsts[k] = o
			packets[o] = s.firstPacket
		}
		counts[o]++
	}
	for _, f := range a.flows.order {
		k := pairKey{src: f.src, dst: f.dst}
		o, ok := firsts[k]
		if n := counts[o]; ok && n >= manyQueuePairs && !others[k] {
			p := ps.get("port", f.src, f.dst)
			p.cause, p.severity, p.confidence = "fixed-source-port", finding.Warning, 0.9
			p.summary = func(*problem) string {
				return fmt.Sprintf("All %s use UDP source port %d: ECMP and LAG hashes see one flow and put it on one path.", many(n, "queue pair"), o.port)
			}
			p.see(packets[o], "first packet with this source port")
		}
		delete(firsts, k)
	}
}

// stormFrames is how many pause frames in a row without a resume look like a storm.
const stormFrames = 8

func (a *Analyser) judgePauses(ps *problems) {
	for _, s := range a.pausers {
		sender := roce.GIDFromMAC(s.mac)
		for i := range s.classes {
			c := &s.classes[i]
			if i < wholeLink && c.longestRun >= stormFrames {
				p := ps.get(fmt.Sprintf("storm %d", i), sender, roce.GID{})
				p.cause, p.severity, p.confidence, p.where = "pfc-storm", finding.Error, 0.5, s.mac.String()
				p.summary = func(*problem) string {
					return fmt.Sprintf("Class %d was paused %s in a row without a resume%s: the sender cannot take data at all, by a defect or because its own way out is blocked.",
						i, many(c.longestRun, "time"), a.pausedText(c))
				}
				p.see(c.firstPacket, "first pause of the class; up to %d quanta", c.maxQuanta)
			}
		}
		if c := &s.classes[wholeLink]; c.frames > 0 {
			p := ps.get("global pause", sender, roce.GID{})
			p.cause, p.severity, p.confidence, p.where = "global-pause-throttle", finding.Warning, 0.8, s.mac.String()
			p.summary = func(*problem) string {
				return fmt.Sprintf("%s of the whole link (802.3x)%s: they stop all classes, where PFC would stop one.", many(c.frames, "pause frame"), a.pausedText(c))
			}
			p.see(c.firstPacket, "first pause of the whole link; up to %d quanta", c.maxQuanta)
		}
	}
}

// pausedText says how long a class was paused, if the link speed is known.
func (a *Analyser) pausedText(c *pauseClass) string {
	if a.options.LinkSpeed <= 0 {
		return fmt.Sprintf(", %d quanta in all", c.quanta)
	}
	return fmt.Sprintf(", %v in all at %v", c.paused, a.options.LinkSpeed)
}

// rejectCause maps the reasons that point at the network's set-up. The others are
// the application's affair: no listener, no resources, its own refusal.
func rejectCause(r roce.CMReason) string {
	switch r {
	case 12, 13, 18, 19:
		return "gid-index-wrong"
	case 26:
		return "mtu-mismatch"
	}
	return "unknown"
}

func (a *Analyser) judgeExchanges(ps *problems) {
	for _, e := range a.exchanges {
		port := fmt.Sprintf("service id 0x%x", e.serviceID)
		if e.hasPort {
			port = fmt.Sprintf("port %d", e.port)
		}
		switch {
		case e.rejected || e.service && e.replied && e.status != 0:
			reason := fmt.Sprintf("status %d", e.status)
			if e.rejected {
				reason = e.reason.String()
			}
			p := ps.get("reject "+reason, e.client, e.server)
			p.cause, p.severity, p.confidence = rejectCause(e.reason), finding.Error, 0.5
			p.add(1)
			p.summary = func(p *problem) string {
				return fmt.Sprintf("%s rejected %s to %s: %s.", e.server, many(p.sums[0], "connection"), port, reason)
			}
			p.see(e.firstPacket, "request for %s", port)
			p.see(e.lastPacket, "answer: %s", reason)
		case !e.replied && e.requests >= 2:
			p := ps.get("unanswered", e.client, e.server)
			p.cause, p.severity, p.confidence = "path-unreachable", finding.Error, 0.7
			p.add(e.requests)
			p.summary = func(p *problem) string {
				return fmt.Sprintf("%s of the connection manager to %s (%s) and no answer.", many(p.sums[0], "request"), e.server, port)
			}
			p.see(e.firstPacket, "first request")
		}
	}
}

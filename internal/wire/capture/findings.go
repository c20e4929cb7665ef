package capture

import (
	"fmt"

	"weir/internal/finding"
	"weir/roce"
)

// findings judges the whole capture.
func (a *Analyser) findings() []finding.Finding {
	var ps problems
	a.judgeFile(&ps)
	for _, f := range a.flows.order {
		a.judgeDamage(f, &ps)
		if f.conn != nil {
			a.judgeConn(f, &ps)
			a.judgeCongestion(f, &ps)
			a.judgeIntent(f, &ps)
		}
	}
	a.judgePorts(&ps)
	a.judgePauses(&ps)
	a.judgeExchanges(&ps)
	return ps.findings(a.options.Causes)
}

// judgeFile says where the capture ended early and what could not be read.
func (a *Analyser) judgeFile(ps *problems) {
	if s := a.stopped; s != nil {
		p := ps.get("stopped", roce.GID{}, roce.GID{})
		p.cause, p.severity, p.confidence = "unknown", finding.Warning, 1
		p.where = fmt.Sprintf("byte %d of the capture", s.Offset)
		p.summary = func(*problem) string {
			how := "is corrupt"
			if s.Cut {
				how = "is cut"
			}
			return fmt.Sprintf("The capture %s at byte %d, after %s: %s. What was read before it counts.", how, s.Offset, many(a.frames, "frame"), s.Reason)
		}
		p.see(max(a.frames, 1), "last frame that was read, wholly or in part")
	}
	if a.dropped > 0 {
		p := ps.get("dropped", roce.GID{}, roce.GID{})
		p.cause, p.severity, p.confidence, p.where = "not-a-fault", finding.Info, 1, "the capture"
		p.summary = func(*problem) string {
			return fmt.Sprintf("The kernel dropped %s because this program was too slow: what looks lost below may have passed.", many(a.dropped, "frame"))
		}
	}
	if a.empty > 0 {
		p := ps.get("empty", roce.GID{}, roce.GID{})
		p.cause, p.severity, p.confidence, p.where = "unknown", finding.Warning, 1, "the capture"
		p.summary = func(*problem) string {
			return many(a.empty, "frame") + " of 0 bytes: the file is filled with zeros there, as after a lost write."
		}
		p.see(a.firstEmpty, "the first of them")
	}
	if a.otherLinks > 0 {
		p := ps.get("link type", roce.GID{}, roce.GID{})
		p.cause, p.severity, p.confidence, p.where = "unknown", finding.Warning, 1, "the capture"
		p.summary = func(*problem) string {
			return fmt.Sprintf("%s of link type %d not decoded; Ethernet, VLAN, Linux cooked (SLL, SLL2), BSD loopback and raw IP are.", many(a.otherLinks, "frame"), a.otherLink)
		}
	}
	if a.malformed > a.icrc[roce.ICRCWrong] {
		p := ps.get("malformed", roce.GID{}, roce.GID{})
		p.cause, p.severity, p.confidence, p.where = "unknown", finding.Warning, 0.5, "the capture"
		p.summary = func(*problem) string {
			return many(a.malformed, "packet") + " to UDP port 4791 whose lengths or headers contradict each other: damaged, or no RoCE."
		}
		p.see(a.firstError, "the first of them")
	}
	if a.fragments > 0 {
		p := ps.get("fragments", roce.GID{}, roce.GID{})
		p.cause, p.severity, p.confidence, p.where = "mtu-mismatch", finding.Error, 0.7, "the capture"
		p.summary = func(*problem) string {
			return many(a.fragments, "packet") + " to UDP port 4791 in IP fragments: adapters drop fragments, so the path MTU of the connections is larger than the network's."
		}
	}
	if a.untracked > 0 {
		p := ps.get("untracked", roce.GID{}, roce.GID{})
		p.cause, p.severity, p.confidence, p.where = "unknown", finding.Info, 1, "the capture"
		p.summary = func(*problem) string {
			return fmt.Sprintf("More than %d flows: %s of further ones are in the totals alone.", maxFlows, many(a.untracked, "packet"))
		}
	}
}

// judgeDamage tells bit errors from rewriting.
func (a *Analyser) judgeDamage(f *flow, ps *problems) {
	d := a.damages[f]
	if d == nil {
		return
	}
	switch {
	case d.renumbered() && d.looked >= 3:
		p := ps.on("renumbered", f)
		p.cause, p.severity, p.confidence = "software-defect", finding.Error, 0.9
		p.summary = func(p *problem) string {
			return many(p.sums[0], "packet") + " with a wrong ICRC that would be right with IP identification 0: the sender, or a device behind it, sets the identification after the ICRC is made. Receivers drop all of them without a word."
		}
		p.add(d.wrong)
		p.see(d.firstPacket, "first packet with a wrong ICRC")
	case d.rewritten() && d.looked >= 3:
		p := ps.on("rewritten", f)
		p.cause, p.severity, p.confidence = "path-unreachable", finding.Error, 0.9
		p.summary = func(p *problem) string {
			return many(p.sums[0], "packet") + ", every one that passed, with a wrong ICRC, and the same header bits changed in each: addresses or ports were rewritten on the way (address translation), which RoCE does not survive. Receivers drop them without a word."
		}
		p.add(d.wrong)
		p.see(d.firstPacket, "first packet with a wrong ICRC; difference at the end of the UDP header 0x%08x in %d of %d looked at", d.difference, d.same, d.looked)
	default:
		p := ps.on("damaged", f)
		p.cause, p.severity, p.confidence = "link-errors", finding.Error, 0.9
		p.summary = func(p *problem) string {
			return fmt.Sprintf("%d of %s with a wrong ICRC: bits were changed on the way behind the last frame check, or by a device. Receivers drop them without a word, so they are missing and sent again.", p.sums[0], many(p.sums[1], "packet"))
		}
		p.add(d.wrong, d.wrong+d.valid)
		p.see(d.firstPacket, "first packet with a wrong ICRC")
	}
}

// judgeConn looks at what got lost and what was refused on one connection.
func (a *Analyser) judgeConn(f *flow, ps *problems) {
	c := f.conn
	w := &c.answers
	if c.mismatched() {
		p := ps.on("psn", f)
		p.cause, p.severity, p.confidence = "software-defect", finding.Error, 0.8
		p.summary = func(p *problem) string {
			return "Requester and responder do not agree on the packet sequence number: " + list(
				when(p.sums[0], "the responder asks for one before the first that is ever sent"),
				when(p.sums[1], "it acknowledges numbers before the first that is ever sent")) +
				". The two sides were set up with different start numbers, or one of them belongs to an older connection."
		}
		p.add(w.below, w.never)
		p.see(w.firstNAK[0], "NAK PSN sequence error for %d; the first request seen has %d", w.nakPSN[0], c.firstPSN)
		p.see(c.firstAgain, "first request sent again")
		return
	}
	a.judgeRNR(f, ps)
	a.judgeNAKs(f, ps)
	a.judgeLoss(f, ps)
	if c.duplicates > 0 {
		p := ps.on("doubled", f)
		p.cause, p.severity, p.confidence = "unknown", finding.Warning, 0.8
		p.summary = func(p *problem) string {
			return many(p.sums[0], "packet") + " twice, the copy right behind or with the same IP identification: the network doubles packets, or the capture takes them at two places. The sender did not send them again."
		}
		p.add(c.duplicates)
		p.see(c.firstDouble, "first copy")
	}
	if c.badOrder > 0 && c.gaps == 0 && w.unseen == 0 && c.damaged == 0 && c.resyncs == 0 {
		p := ps.on("order", f)
		p.cause, p.severity, p.confidence = "software-defect", finding.Warning, 0.5
		p.summary = func(p *problem) string {
			return many(p.sums[0], "request") + " whose opcode or length does not fit the message in progress, with no packet missing before it."
		}
		p.add(c.badOrder)
		p.see(c.firstOdd, "first such packet")
	}
}

// mismatched reports whether the two sides' sequence numbers never met.
func (c *conn) mismatched() bool {
	w := &c.answers
	if c.retransmissions == 0 || w.hasAcked && !w.acked.Less(c.firstPSN) {
		return false
	}
	return w.below > 0 || w.never > 0 && w.never == w.acks
}

func (a *Analyser) judgeRNR(f *flow, ps *problems) {
	c := f.conn
	w := &c.answers
	if w.rnrs == 0 {
		return
	}
	p := ps.on("rnr", f)
	p.cause, p.severity, p.confidence = "receiver-not-ready", finding.Warning, 0.95
	stuck := w.lastWasRNR && !w.rnrPSN.Less(w.acked)
	p.summary = func(p *problem) string {
		s := fmt.Sprintf("The receiver had no buffer posted: %s, each asking for a wait; %s sent again.", many(p.sums[0], "RNR NAK"), many(p.sums[1], "packet"))
		if p.sums[2] > 0 {
			s += fmt.Sprintf(" The sender gave up on %s.", many(p.sums[2], "queue pair"))
		}
		return s
	}
	gaveUp := uint64(0)
	if stuck && a.end-w.lastAt > 2*rnrWait(w.rnrCode) || stuck && c.rounds.tries > 0 && w.lastAt > c.lastNew && c.rounds.byRNR < w.rnrs {
		gaveUp = 1
		p.severity = finding.Error
	}
	p.add(w.rnrs, c.retransmissions, gaveUp)
	p.see(w.firstRNR, "first RNR NAK, PSN %d, timer code %d: wait %v", w.rnrPSN, w.rnrCode, roce.RNRTime(w.rnrCode))
	if w.afterRNR > 0 {
		p.say("%s for the same PSN only follow from it: the packets behind the refused one", many(w.afterRNR, "sequence NAK"))
	}
}

// nakCauses says what the fatal NAKs usually mean.
var nakCauses = [nakCodes]struct {
	cause string
	text  string
}{
	1: {"software-defect", "the request does not fit the queue pair: opcode order, length against path MTU, or too many reads in flight"},
	2: {"software-defect", "a wrong or stale remote key, missing rights, or an address outside the region"},
	3: {"software-defect", "the responder could not do it, such as a receive buffer too small for the message"},
	4: {"software-defect", "invalid reliable datagram request"},
	5: {"software-defect", "reserved code"},
}

func (a *Analyser) judgeNAKs(f *flow, ps *problems) {
	w := &f.conn.answers
	for code := 1; code < nakCodes; code++ {
		if w.naks[code] == 0 {
			continue
		}
		name := (roce.SyndromeNAKSequenceError + roce.Syndrome(code)).String()
		p := ps.on(name, f)
		p.cause, p.severity, p.confidence = nakCauses[code].cause, finding.Error, 0.6
		p.summary = func(p *problem) string {
			return fmt.Sprintf("%s: %s. It ends the connection: both queue pairs go to the error state.", many(p.sums[0], name), nakCauses[code].text)
		}
		p.add(w.naks[code])
		p.see(w.firstNAK[code], "%s for PSN %d", name, w.nakPSN[code])
	}
}

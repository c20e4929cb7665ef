package capture

import (
	"fmt"

	"weir/internal/finding"
	"weir/roce"
	"weir/units"
)

func rnrWait(code uint8) units.Time { return units.Time(roce.RNRTime(code)) * units.Nanosecond }

// judgeLoss tells loss from reordering, from slow answers and from a peer that is gone.
func (a *Analyser) judgeLoss(f *flow, ps *problems) {
	c := f.conn
	w, r := &c.answers, &c.rounds
	if c.outOfOrder > 0 {
		p := ps.on("reordering", f)
		p.cause, p.severity, p.confidence = "reordering", finding.Warning, 0.9
		p.summary = func(p *problem) string {
			return list(
				fmt.Sprintf("%s overtaken by later ones on the way, not lost", many(p.sums[0], "packet")),
				when(p.sums[1], "the receiver answered with %s, and %s sent again for nothing", many(p.sums[1], "sequence NAK"), many(p.sums[2], "packet"))) + "."
		}
		p.add(c.outOfOrder, w.naks[0], c.retransmissions)
		p.see(c.firstLate, "first packet that came late")
		p.see(w.firstNAK[0], "first NAK PSN sequence error, for PSN %d", w.nakPSN[0])
	}
	stalled := r.tries >= 2 && r.byTimer >= r.tries && w.rnrs == 0
	if stalled {
		a.judgeStall(f, ps)
	}
	// What other causes explain is no loss of the path.
	explained := c.outOfOrder + c.damaged + w.unseen
	missing := c.missing - min(c.missing, explained)
	naks := w.naks[0] - min(w.naks[0], c.gaps+c.outOfOrder+c.damaged)
	timers := r.byTimer
	if stalled {
		timers -= r.tries
	}
	if c.damaged > 0 || w.rnrs > 0 {
		naks, timers = 0, 0
	}
	if unseen := w.unseen - min(w.unseen, c.damaged); unseen > 0 && missing == 0 {
		p := ps.on("unseen", f)
		p.cause, p.severity, p.confidence = "not-a-fault", finding.Info, 0.9
		p.summary = func(p *problem) string {
			return many(p.sums[0], "packet") + " not in the capture and acknowledged all the same: the capture lost them, not the network."
		}
		p.add(unseen)
		p.see(c.firstGap, "first packet after a gap")
	}
	if missing+naks+timers+w.readMissing == 0 {
		return
	}
	if missing+naks+w.readMissing+r.deaf == 0 && f.peer != nil && w.acks >= c.asking+c.retransmissions {
		a.judgeSlow(f, ps)
		return
	}
	p := ps.on("loss", f)
	p.cause, p.severity, p.confidence = "path-loss", finding.Error, 0.9
	if missing+naks+w.readMissing == 0 {
		p.confidence = 0.6
	}
	p.summary = func(p *problem) string {
		again := when(p.sums[4], " %s sent again: %s.", many(p.sums[4], "packet"), list(
			when(p.sums[5]>>32, "%s of go-back-N", many(p.sums[5]>>32, "round")),
			when(p.sums[5]&0xffffffff, "%s alone", many(p.sums[5]&0xffffffff, "packet"))))
		return "Packets are lost: " + list(
			when(p.sums[0], "%s missing when the capture saw the ones behind", many(p.sums[0], "PSN")),
			when(p.sums[1], "%s for packets that the capture did see, so lost behind it", many(p.sums[1], "sequence NAK")),
			when(p.sums[2], "%s sent again after a silence without a NAK, so %s lost", many(p.sums[2], "time"), lostAfterSilence(p)),
			when(p.sums[3], "%s of READ responses missing", many(p.sums[3], "PSN"))) + "." + again
	}
	p.add(missing, naks, timers, w.readMissing, c.retransmissions, r.goBackN<<32|r.single, r.deaf)
	if missing > 0 {
		p.see(c.firstGap, "first packet after a gap")
	}
	p.see(w.firstNAK[0], "first NAK PSN sequence error, for PSN %d", w.nakPSN[0])
	if timers > 0 {
		p.see(r.first, "first packet sent again without a NAK, after %v of silence", r.firstQuiet)
	}
	p.see(w.firstReadGap, "first READ response after a gap")
	p.see(c.firstAgain, "first packet sent again")
}

// lostAfterSilence words what a repeat by timer says: if the capture had shown the
// acknowledgement, that was lost behind it.
func lostAfterSilence(p *problem) string {
	if p.sums[6] >= p.sums[2] {
		return "their acknowledgements, which the capture did see, were"
	}
	return "the last packets or their acknowledgements were"
}

// judgeStall: the sender repeats the same packets and nobody answers.
func (a *Analyser) judgeStall(f *flow, ps *problems) {
	c := f.conn
	p := ps.on("stall", f)
	p.cause, p.severity, p.confidence = "path-unreachable", finding.Error, 0.8
	p.summary = func(p *problem) string {
		return fmt.Sprintf("No answer any more: the last request was sent again up to %s by the timer, and nothing came back before the capture ended%s.",
			many(p.sums[0], "time"), when(p.sums[1], ", although answers had come before"))
	}
	p.sums[0] = max(p.sums[0], c.rounds.tries)
	if c.answers.hasAcked {
		p.sums[1] = 1
	}
	p.see(c.rounds.first, "sent again from PSN %d on, after %v of silence; retry by retry %v to %v", c.rounds.lastStart, c.rounds.firstQuiet, c.rounds.shortest, c.rounds.longest)
}

// judgeSlow: every packet and every answer was seen, and the timer ran out before them.
func (a *Analyser) judgeSlow(f *flow, ps *problems) {
	c := f.conn
	p := ps.on("slow", f)
	p.cause, p.severity, p.confidence = "slow-node", finding.Warning, 0.6
	p.summary = func(p *problem) string {
		return fmt.Sprintf("%s sent again after %s, and nothing was lost: all packets and all their acknowledgements are in the capture. The responder answered later than the sender's timeout; a longer timeout code would spare the repeats.",
			many(p.sums[0], "packet"), many(p.sums[1], "timeout"))
	}
	p.add(c.retransmissions, c.rounds.byTimer)
	p.see(c.rounds.first, "first packet sent again, after %v of silence", c.rounds.firstQuiet)
}

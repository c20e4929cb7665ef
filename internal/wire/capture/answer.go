package capture

import (
	"weir/rc"
	"weir/roce"
	"weir/units"
)

// nakCodes is how many NAK codes are counted one by one: 0 to 4, the rest as 5.
const nakCodes = 6

// answers counts what came back for the requests of a conn.
type answers struct {
	acks         uint64
	naks         [nakCodes]uint64
	rnrs         uint64
	afterRNR     uint64 // sequence NAKs that only follow from an RNR NAK
	lastWasRNR   bool
	unseen       uint64 // PSNs that were acknowledged and not captured
	beyond       uint64 // responses to PSNs that the capture has not seen sent
	below        uint64 // sequence NAKs for a PSN below the first request
	never        uint64 // ACKs that acknowledge nothing that was seen sent
	rnrPSN       roce.PSN
	rnrCode      uint8
	firstNAK     [nakCodes]uint64 // packet numbers
	nakPSN       [nakCodes]roce.PSN
	firstRNR     uint64
	firstOff     uint64
	readOpen     bool // a READ response is under way
	readFirst    roce.PSN
	readNext     roce.PSN
	readGaps     uint64
	readMissing  uint64
	firstReadGap uint64
	acked        roce.PSN // highest
	hasAcked     bool
	lastAt       units.Time
}

// response takes a good response packet, on flow f.
// added says that its PSN is new there.
func (a *Analyser) response(f *flow, s *stream, added bool, at units.Time) {
	p := &a.packet
	d := descriptor(p)
	if p.Has&roce.HasAETH != 0 {
		switch d.Syndrome.Kind() {
		case roce.KindNAK:
			s.naks++
		case roce.KindRNR:
			s.rnrs++
		}
	}
	if f.peer == nil {
		a.match(f, &d)
	}
	if f.peer == nil || f.peer.conn == nil {
		return
	}
	c := f.peer.conn
	c.respond(a, &d, at)
	if d.Op.IsReadResponse() {
		c.reading(a, &d)
		if added {
			c.readBytes += uint64(d.Bytes)
			if c.curve != nil {
				c.curve.add(int64(at/units.Nanosecond), int(d.Bytes))
			}
		}
		if c.mtu == 0 && !d.Op.IsLast() {
			c.mtu = d.Bytes
			a.learnMTU(f, c.mtu)
		}
	}
}

// respond takes a response to c's requests.
func (c *conn) respond(a *Analyser, d *rc.Packet, at units.Time) {
	w := &c.answers
	w.lastAt = at
	beyond := c.newest.Less(d.PSN)
	w.unseen += uint64(c.tracker.Response(at, d))
	if beyond {
		w.beyond++
		note(&w.firstOff, a.frames)
		c.newest = c.tracker.Expected.Add(-1)
	}
	last := d.PSN // acknowledged by this response
	if d.Op == roce.RCAcknowledge {
		switch d.Syndrome.Kind() {
		case roce.KindACK:
			w.acks++
			w.lastWasRNR = false
		case roce.KindRNR:
			w.rnrs++
			w.rnrPSN, w.rnrCode, w.lastWasRNR = d.PSN, d.Syndrome.Code(), true
			note(&w.firstRNR, a.frames)
			last = last.Add(-1)
		case roce.KindNAK:
			c.nak(a, d)
			last = last.Add(-1)
		default:
			return
		}
	}
	if d.Syndrome.Kind() == roce.KindACK && last.Less(c.firstPSN) {
		w.never++
	}
	if waited, ok := c.pending.answered(last, at); ok && c.latency != nil {
		c.latency.add(int64(waited / units.Nanosecond))
	}
	if !last.Less(c.rounds.lastStart) {
		c.rounds.tries = 0
	}
	if !w.hasAcked || w.acked.Less(last) {
		w.acked, w.hasAcked = last, true
		c.rounds.tries = 0
	}
}

// reading follows the READ responses, which carry the PSNs of their request in
// order: a gap makes the requester ask again, without a NAK.
func (c *conn) reading(a *Analyser, d *rc.Packet) {
	w := &c.answers
	if w.readOpen {
		switch n := d.PSN.Sub(w.readNext); {
		case n > 0 && n < matchWindow && !d.Op.IsFirst():
			w.readGaps++
			w.readMissing += uint64(n)
			note(&w.firstReadGap, a.frames)
		case d.Op.IsFirst() && d.PSN != w.readFirst:
			w.readGaps++ // the response before was not finished
			note(&w.firstReadGap, a.frames)
		}
	}
	if d.Op.IsFirst() {
		w.readFirst = d.PSN
	}
	w.readOpen, w.readNext = !d.Op.IsLast(), d.PSN.Add(1)
}

func (c *conn) nak(a *Analyser, d *rc.Packet) {
	w := &c.answers
	code := min(d.Syndrome.Code(), nakCodes-1)
	if d.Syndrome == roce.SyndromeNAKSequenceError {
		if w.rnrs > 0 && d.PSN == w.rnrPSN {
			w.afterRNR++
			return
		}
		if d.PSN.Less(c.firstPSN) {
			w.below++
		}
	}
	w.lastWasRNR = false
	w.naks[code]++
	if w.firstNAK[code] == 0 {
		w.firstNAK[code], w.nakPSN[code] = a.frames, d.PSN
	}
}

// Limits of match.
const (
	// matchWindow is how far behind the newest request an answer may be.
	matchWindow = 1 << 16
	// matchTries is how many answers are looked at before the likeliest flow is taken.
	matchTries = 8
	// matchFlows is how many flows between two addresses are looked at.
	matchFlows = 256
)

// match looks for the requests that the responses of flow f answer: among the
// flows against it without a partner, the one in whose window the PSN lies. If
// several fit, the one with the same UDP source port; else the answer waits for
// a PSN that tells them apart, and after some tries the nearest is taken.
func (a *Analyser) match(f *flow, d *rc.Packet) {
	if f.guess > matchTries {
		return
	}
	back := a.flows.reverse(f)
	if back == nil {
		return
	}
	var best *flow
	fits, bestRank, bestDistance := 0, -1, int32(0)
	for _, g := range back.flows[:min(len(back.flows), matchFlows)] {
		if g.conn == nil || g.peer != nil {
			continue
		}
		distance := g.conn.newest.Sub(d.PSN)
		if distance < 0 || distance >= matchWindow {
			continue
		}
		rank := 0
		if samePort(f, g) {
			rank += 2
		}
		if g.conn.pending.holds(d.PSN) {
			rank++
		}
		if rank > bestRank {
			fits = 0
		}
		if rank >= bestRank {
			fits++
		}
		if rank > bestRank || rank == bestRank && distance < bestDistance {
			best, bestRank, bestDistance = g, rank, distance
		}
	}
	if best == nil {
		return
	}
	if f.guess++; fits == 1 || f.guess > matchTries {
		f.join(best)
	}
}

func (f *flow) join(g *flow) { f.peer, g.peer = g, f }

// samePort reports whether responses of f and requests of g have a UDP source port in common.
func samePort(f, g *flow) bool {
	s, t := f.streams[Response], g.streams[Request]
	if s == nil || t == nil {
		return false
	}
	for _, p := range s.ports[:s.nports] {
		for _, q := range t.ports[:t.nports] {
			if p == q {
				return true
			}
		}
	}
	return false
}

// holds reports whether a request with this last PSN waits for an answer.
func (q *pending) holds(psn roce.PSN) bool {
	for i := range q.n {
		if q.ring[(q.first+i)%pendingLen].psn == psn {
			return true
		}
	}
	return false
}

package capture

import "weir/units"

// congestion follows, for the requests of one connection, the way from a CE
// mark over the CNP to the sender's slowing down.
type congestion struct {
	marked        uint64 // requests with CE
	cnps          uint64
	firstMarked   uint64 // packet numbers
	firstCNP      uint64
	firstMarkedAt units.Time
	waiting       bool // a mark has not been answered yet
	since         units.Time
	toCNP         *histogram
	toSlow        *histogram
	slowed        uint64 // CNPs after which the rate fell
	kept          uint64 // CNPs after which it did not
	unclear       uint64 // CNPs with too few packets around them

	// The last packets before the CNP, and those after it.
	before  [rateWindow]sending
	nbefore uint32
	after   uint32     // 1 and the packets since the CNP; 0: no CNP pending
	from    units.Time // the first packet after the CNP
	cnpAt   units.Time
	gap     units.Time // mean time a packet before the CNP
	slowAt  units.Time // when the first longer gap after it ended; 0: none
	last    units.Time
}

type sending struct {
	at    units.Time
	bytes uint32
}

const (
	// rateWindow is over how many packets a rate is measured.
	rateWindow = 8
	// A sender has slowed down when the mean time a packet grows by 1/128. A cut of
	// DCQCN is alpha/2, a half at first; in the long run alpha is small and cuts are
	// of one or two per cent.
	slowNum, slowDen = 129, 128
	// The moment of slowing down is told only by a cut that one gap shows: a quarter.
	cutNum, cutDen = 5, 4
)

// sent takes a new request packet.
func (g *congestion) sent(at units.Time, bytes uint32) {
	if g.after > 0 {
		g.measure(at)
	}
	g.before[g.nbefore%rateWindow] = sending{at, bytes}
	g.nbefore++
	g.last = at
}

// measure takes a packet sent after a CNP.
func (g *congestion) measure(at units.Time) {
	if g.slowAt == 0 && (at-g.last)*cutDen > g.gap*cutNum {
		g.slowAt = at
	}
	if g.after == 1 {
		g.from = at // the gap with the CNP in it tells nothing
	}
	if g.after++; g.after > rateWindow+1 {
		g.judge(at)
	}
}

// judge ends the measurement after a CNP.
func (g *congestion) judge(at units.Time) {
	n := units.Time(g.after) - 2
	g.after = 0
	if n < 2 {
		g.unclear++
		return
	}
	if (at-g.from)*slowDen <= g.gap*n*slowNum {
		g.kept++
		return
	}
	g.slowed++
	if g.slowAt > 0 {
		if g.toSlow == nil {
			g.toSlow = &histogram{}
		}
		g.toSlow.add(int64((g.slowAt - g.cnpAt) / units.Nanosecond))
	}
}

// mark takes a request that carries CE.
func (g *congestion) mark(at units.Time, packet uint64) {
	g.marked++
	if g.firstMarked == 0 {
		g.firstMarked, g.firstMarkedAt = packet, at
	}
	if !g.waiting {
		g.waiting, g.since = true, at
	}
}

// cnp takes a notification to the sender.
func (g *congestion) cnp(at units.Time, packet uint64) {
	g.cnps++
	note(&g.firstCNP, packet)
	if g.waiting {
		g.waiting = false
		if g.toCNP == nil {
			g.toCNP = &histogram{}
		}
		g.toCNP.add(int64((at - g.since) / units.Nanosecond))
	}
	if g.after > 0 {
		g.judge(g.last)
	}
	if g.nbefore < 3 {
		g.unclear++
		return
	}
	n := min(g.nbefore, rateWindow)
	oldest := g.before[(g.nbefore-n)%rateWindow].at
	g.gap = max((g.last-oldest)/units.Time(n-1), 1)
	g.cnpAt, g.after, g.slowAt = at, 1, 0
}

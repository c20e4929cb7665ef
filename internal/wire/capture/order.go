package capture

import (
	"weir/rc"
	"weir/roce"
)

// sendOrder tells from the IP identification in which order a sender sent, where
// it counts up for each packet, as Linux's does for each destination. Many adapters
// send 0 or what they like, so the order counts only after a run of new packets
// that bear it out.
type sendOrder struct {
	trusted bool
	fixed   bool  // packets of different PSN bore the same identification
	good    uint8 // packets in a row whose identification fits
	newest  uint16
	started bool
	recent  [recentPackets]identity
	next    uint8
}

type identity struct {
	psn  roce.PSN
	id   uint16
	icrc uint32
	ok   bool
}

const (
	recentPackets = 16
	// orderRun packets must count up by 1 to orderStep each before it is trusted:
	// random identifications do that once in 2^40.
	orderRun  = 8
	orderStep = 1 << 11
)

// sent says what the identification of the next request packet tells.
func (o *sendOrder) sent(p *roce.Packet) rc.Sent {
	if p.Has&roce.HasIPv4 == 0 {
		return rc.SentUnknown
	}
	id := p.IPv4.ID
	if !o.started {
		o.started, o.newest = true, id
	} else if id == 0 && o.newest == 0 {
		return rc.SentUnknown // a sender that does not number its packets
	}
	twin := o.twin(identity{p.BTH.PSN, id, p.ICRC, p.Has&roce.HasICRC != 0})
	step := int16(p.IPv4.ID - o.newest)
	if step > 0 {
		o.newest = id
		if step >= orderStep {
			o.good, o.trusted = 0, false
		} else if o.good++; o.good >= orderRun {
			o.good, o.trusted = orderRun, true
		}
	} else if !twin && step <= -orderStep {
		o.good, o.trusted, o.newest = 0, false, id
	}
	switch {
	case twin && id != 0 && !o.fixed:
		return rc.SentTwin
	case !o.trusted:
		return rc.SentUnknown
	case step > 0:
		return rc.SentAfter
	case step < 0:
		return rc.SentBefore
	}
	return rc.SentUnknown
}

// twin reports whether a packet was seen a few packets ago, and remembers it.
func (o *sendOrder) twin(who identity) bool {
	twin := false
	for i := range o.recent {
		switch r := &o.recent[i]; {
		case r.id != who.id || !r.ok:
		case *r == who:
			twin = true
		case r.psn != who.psn:
			o.fixed = true
		}
	}
	o.recent[o.next%recentPackets] = who
	o.next++
	return twin
}

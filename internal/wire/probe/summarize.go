//go:build linux

package probe

import (
	"math"
	"slices"
	"time"

	"weir/roce"
)

// report turns what was sent and what came back into a report.
func (p *prober) report(h *hello, controlErr error) *Report {
	r := &Report{
		Schema: "weir.probe/1", Host: p.o.Host, Addr: p.dst.String(), Local: p.local.String(), SentClass: p.o.Class, Arrived: -1,
	}
	_, r.LocalMTU = interfaceOf(p.local)
	var t *tally
	if h != nil {
		r.RemoteMTU, r.Devices = h.MTU, h.Devices
		if p.control != nil {
			t, controlErr = p.account()
		}
	}
	if controlErr != nil {
		r.Control = controlErr.Error()
	}
	p.losses(r, t)
	p.times(r)
	p.changes(r)
	p.sizes(r)
	p.paths(r)
	for i := range p.icmps {
		r.refused = r.refused || p.icmps[i].refused
		r.banned = r.banned || p.icmps[i].banned
	}
	switch {
	case r.Answered > 0:
		r.State = Open
	case r.refused:
		r.State = Nobody
	case t == nil:
		r.State = Unknown
	case t.Received > 0:
		r.State = Backward
	case len(r.Devices) > 0:
		r.State = Hardware
	default:
		r.State = Forward
	}
	return r
}

// losses counts the probes of the base phase, by source port. The responder
// counts all phases; what it got of a port beyond the base phase says nothing.
func (p *prober) losses(r *Report, t *tally) {
	ports := make([]PortLoss, len(p.tx))
	for i, s := range p.tx {
		ports[i] = PortLoss{Port: s.port, Sent: p.o.Rounds, Arrived: -1}
		if t != nil {
			ports[i].Arrived = min(p.o.Rounds, t.Ports[s.port])
		}
	}
	last := make([]uint32, len(p.tx))
	for i := range p.answers {
		a := &p.answers[i]
		if a.phase != basePhase {
			continue
		}
		ports[a.port].Answered++
		if a.seq < last[a.port] {
			r.Reordered++
		}
		last[a.port] = max(last[a.port], a.seq)
	}
	for i := range ports {
		r.Sent += ports[i].Sent
		r.Answered += ports[i].Answered
		if t != nil {
			r.Arrived = max(r.Arrived, 0) + ports[i].Arrived
		}
	}
	r.Ports = ports
}

func (p *prober) times(r *Report) {
	var d []time.Duration
	for i := range p.answers {
		if a := &p.answers[i]; a.phase == basePhase {
			d = append(d, a.rtt)
		}
	}
	if len(d) == 0 {
		return
	}
	slices.Sort(d)
	at := func(share float64) float64 { return micro(d[max(0, int(math.Ceil(share*float64(len(d))))-1)]) }
	r.RTT = &RTT{Min: micro(d[0]), Median: at(0.5), P90: at(0.9), P99: at(0.99), Max: micro(d[len(d)-1])}
}

// changes compares what arrived with what was sent.
func (p *prober) changes(r *Report) {
	for i := range p.answers {
		a := &p.answers[i]
		if a.p.SeenPort != p.tx[a.port].port {
			r.PortsChanged++
		}
		if a.p.SeenAddr != p.local {
			r.SeenAddr = a.p.SeenAddr.String()
		}
		c := ClassChange{Sent: a.class, To: a.p.SeenClass, From: a.got.class}
		if !slices.Contains(r.Classes, c) && len(r.Classes) < 32 {
			r.Classes = append(r.Classes, c)
		}
	}
	slices.SortFunc(r.Classes, func(a, b ClassChange) int { return int(a.Sent) - int(b.Sent) })
}

// sizes finds the largest path MTU that passed, by direction.
func (p *prober) sizes(r *Report) {
	for code := uint8(1); code <= 5; code++ {
		mtu := roce.MTUBytes(code)
		for i := range p.answers {
			a := &p.answers[i]
			if a.phase == sizePhase && a.sent.size >= wireSize(mtu) {
				r.PathMTUTo = mtu
			}
			if a.phase == returnPhase && a.size >= wireSize(mtu) {
				r.PathMTUFrom = mtu
			}
		}
	}
}

// paths counts the distinct ways that TTL-limited probes show.
func (p *prober) paths(r *Report) {
	ways := map[string]bool{}
	byTTL := make([]map[string]bool, p.o.MaxHops+1)
	perPort := map[int][]string{}
	for i := range p.icmps {
		e := &p.icmps[i]
		if e.phase != hopPhase || !e.expired {
			continue
		}
		if byTTL[e.ttl] == nil {
			byTTL[e.ttl] = map[string]bool{}
		}
		byTTL[e.ttl][e.from.String()] = true
		way := perPort[e.sent.port]
		for len(way) < e.ttl {
			way = append(way, "?")
		}
		way[e.ttl-1] = e.from.String()
		perPort[e.sent.port] = way
	}
	for _, way := range perPort {
		key := ""
		for _, hop := range way {
			key += hop + " "
		}
		ways[key] = true
	}
	r.Paths = len(ways)
	for _, m := range byTTL[min(1, len(byTTL)):] {
		if m == nil {
			break
		}
		var hops []string
		for h := range m {
			hops = append(hops, h)
		}
		slices.Sort(hops)
		r.Hops = append(r.Hops, hops)
	}
}

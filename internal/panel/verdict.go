package panel

import (
	"cmp"
	"slices"
)

// State says how a fabric is.
type State uint8

// The states, best first.
const (
	Good State = iota
	Strained
	Bad
	Unknown
)

// String returns "good", "strained", "bad" or "unknown".
func (s State) String() string {
	return [...]string{"good", "strained", "bad", "unknown"}[min(s, Unknown)]
}

// A Judgement is one clause of the verdict: what (a code that faces have words
// for), where, how much.
type Judgement struct {
	State State
	Code  string // "no_data", "drops", "storm", "pause", "errors", "uneven_uplinks", "marks", "silent", "fine"
	Where string
	Value float64 // packets a second of drops and errors, shares of the rest
	Count int     // how many ports it holds of
}

// Starting values, not published limits.
const (
	stormShare   = 0.9  // paused this long: nothing gets through
	pauseShare   = 0.01 // pause below it does not show in a job's speed
	markedShare  = 0.05 // above it the queues stand rather than flare up
	unevenRatio  = 1.3  // busiest uplink over the mean of its switch
	unevenFloor  = 0.5  // uplinks less busy than this need no balance
	silentShares = 0.02 // ports without fresh readings that are worth a word
)

// Judge answers whether the fabric is lossless and fair now, and if not,
// where: the gravest first, never empty.
func Judge(f *Fabric, s *Snapshot) []Judgement {
	if s.Silent == s.Ends() {
		return []Judgement{{State: Unknown, Code: "no_data"}}
	}
	var out []Judgement
	most := func(state State, code string, floor float64, value func(int) float32) {
		if j, ok := largest(f, s, value, floor); ok {
			j.State, j.Code = state, code
			out = append(out, j)
		}
	}
	most(Bad, "drops", 0, func(e int) float32 { return s.Values[Drops][e] })
	pause := func(e int) float32 { return s.Values[PauseRx][e] }
	if j, ok := largest(f, s, pause, pauseShare); ok {
		j.State, j.Code = Strained, "pause"
		if j.Value >= stormShare {
			j.State, j.Code = Bad, "storm"
		}
		if roots := Pauses(f, s, pauseShare); len(roots) > 0 {
			j.Where = roots[0].Node
		}
		out = append(out, j)
	}
	most(Strained, "errors", 0, func(e int) float32 { return s.Values[Errors][e] })
	if j, ok := uneven(f, s); ok {
		out = append(out, j)
	}
	most(Strained, "marks", markedShare, func(e int) float32 {
		if f.Ends[e].Host {
			return nan
		}
		return markShare(s, e)
	})
	known := 0
	for e := range f.Ends {
		if f.Ends[e].Node >= 0 {
			known++
		}
	}
	if missing := s.Silent - (s.Ends() - known); float64(missing) > silentShares*float64(known) {
		out = append(out, Judgement{State: Strained, Code: "silent", Count: missing, Value: float64(missing) / float64(known)})
	}
	slices.SortStableFunc(out, func(a, b Judgement) int { return cmp.Compare(b.State, a.State) })
	if len(out) == 0 {
		j, _ := largest(f, s, func(e int) float32 { return s.Utilisation(f, e) }, -1)
		j.State, j.Code = Good, "fine"
		out = append(out, j)
	}
	return out
}

// largest finds the end with the largest value above a floor, and how many are
// above it.
func largest(f *Fabric, s *Snapshot, value func(int) float32, floor float64) (Judgement, bool) {
	var j Judgement
	best := -1
	for e := range s.Ends() {
		v := float64(value(e))
		if !(v > floor) {
			continue
		}
		j.Count++
		if best < 0 || v > j.Value {
			best, j.Value = e, v
		}
	}
	if best < 0 {
		return j, false
	}
	j.Where = f.PortName(best)
	return j, true
}

// uneven finds the switch whose ports upwards are loaded least evenly.
func uneven(f *Fabric, s *Snapshot) (Judgement, bool) {
	type load struct {
		sum, most float64
		n, end    int
	}
	loads := make([]load, len(f.Nodes))
	for e := range f.Ends {
		end, peer := &f.Ends[e], &f.Ends[Peer(e)]
		if end.Host || end.Node < 0 || peer.Node < 0 || f.Nodes[peer.Node].Tier <= f.Nodes[end.Node].Tier {
			continue
		}
		u := float64(s.Utilisation(f, e))
		if u != u {
			continue
		}
		l := &loads[end.Node]
		l.sum += u
		l.n++
		if u >= l.most {
			l.most, l.end = u, e
		}
	}
	j := Judgement{State: Strained, Code: "uneven_uplinks"}
	for i := range loads {
		l := &loads[i]
		if l.n < 2 || l.most < unevenFloor {
			continue
		}
		if ratio := l.most * float64(l.n) / l.sum; ratio > unevenRatio {
			j.Count++
			if ratio > j.Value {
				j.Value, j.Where = ratio, f.PortName(l.end)
			}
		}
	}
	return j, j.Count > 0
}

package acceptance

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"weir/internal/cluster"
)

// A Measurement is the result of one test between two NICs.
type Measurement struct {
	From, To cluster.NICRef
	Rate     float64 // bits per second of payload
	Failed   bool    // the test ended without a result

	// Links are the cables between switches whose counters say that the test
	// went over them (see Traced); nil: not known, so each possible one counts
	// by its share.
	Links []cluster.LinkID
}

// A Suspect is what explains slow pairs. Its Parts cannot be told apart by the
// measurements: every one of them went through all or none of them.
type Suspect struct {
	Parts  []Component
	Factor float64 // rate through it, of what it should be: 0.75 is a loss of a quarter
	// Score is by how much (natural logarithm of the likelihood ratio) the
	// measurements are better explained with the suspect than without any.
	Score float64
	Tests int // measurements that certainly or possibly went through it
	// Others explain the measurements almost as well: within closeScore.
	Others []Component
}

const (
	binWidth   = 0.01 // of the logarithm of a rate relative to the usual one
	lowestBin  = -320 // 4 % of the usual rate
	highestBin = 40
	bins       = highestBin - lowestBin + 1

	// minScore is the score from which a suspect is named. Among the about
	// thousand components of a large cluster, each with some two hundred factors
	// tried, chance makes a score of ln(2e5) = 12; a suspect has to beat that.
	minScore = 16
	// closeScore: hypotheses whose scores differ by less are not separated
	// (odds of 20 to 1).
	closeScore  = 3
	maxSuspects = 16
	// A factor above this is not looked for: within the spread of good links.
	leastLoss = 3 // bins: 3 %
)

// member is a measurement that may have gone through a component.
type member struct {
	measurement int32
	share       float32
}

// locator holds the measurements while suspects are sought.
type locator struct {
	parts   []Component
	bin     []int16    // of each measurement, its rate against the usual one of its kind
	weight  []float32  // 0: explained by a suspect already
	members [][]member // by component
	sisters [][]int32  // components with the same members, by the first of them
}

// Locate finds the components that explain the slow ones among measurements,
// most certain first. It takes a component to scale the rate of what goes
// through it by one factor, and compares how well that explains the
// measurements with the spread that all others show by themselves; where a hash
// chose the path, each possible one counts by its share. Ways of different
// kind (through one leaf, or over spines) are compared with their own kind.
//
// Measurements that failed are left out: they are findings of their own.
func Locate(p *Footprints, ms []Measurement) ([]Suspect, error) {
	l, err := newLocator(p, ms)
	if err != nil {
		return nil, err
	}
	var out []Suspect
	for len(out) < maxSuspects {
		s, ok := l.best()
		if !ok {
			break
		}
		out = append(out, s)
	}
	return out, nil
}

func newLocator(p *Footprints, ms []Measurement) (*locator, error) {
	l := &locator{parts: p.Parts, members: make([][]member, len(p.Parts))}
	kinds := map[int][]float64{} // logarithms of rates, by number of switches on the way
	var kind []int
	var logs []float64
	for i := range ms {
		m := &ms[i]
		if m.Failed || m.Rate <= 0 {
			continue
		}
		uses, err := p.traced(m)
		if err != nil {
			return nil, err
		}
		n := int32(len(kind))
		switches := 0.0
		for _, u := range uses {
			l.members[u.part] = append(l.members[u.part], member{n, u.share})
			if p.Parts[u.part].Kind == Switch {
				switches += float64(u.share)
			}
		}
		k := int(math.Round(switches))
		kind = append(kind, k)
		logs = append(logs, math.Log(m.Rate))
		kinds[k] = append(kinds[k], math.Log(m.Rate))
	}
	usual := map[int]float64{}
	for k, logs := range kinds {
		usual[k] = usualRate(logs)
	}
	l.bin = make([]int16, len(logs))
	for n, x := range logs {
		l.bin[n] = binOf(x - usual[kind[n]])
	}
	l.weight = make([]float32, len(l.bin))
	for i := range l.weight {
		l.weight[i] = 1
	}
	l.group()
	return l, nil
}

// usualRate is what most ways give: the upper quartile, since what is slow or
// shared pulls the middle down, while nothing is faster than the network.
func usualRate(logs []float64) float64 {
	sort.Float64s(logs)
	return logs[len(logs)*3/4]
}

func binOf(x float64) int16 {
	return int16(min(max(int(math.Round(x/binWidth)), lowestBin), highestBin) - lowestBin)
}

// group finds the components with the same members.
func (l *locator) group() {
	l.sisters = make([][]int32, len(l.parts))
	first := map[string]int32{}
	for part, m := range l.members {
		if len(m) == 0 {
			continue
		}
		key := make([]byte, 0, len(m)*8)
		for _, x := range m {
			key = fmt.Appendf(key, "%d:%g ", x.measurement, x.share)
		}
		at, ok := first[string(key)]
		if !ok {
			at = int32(part)
			first[string(key)] = at
		}
		l.sisters[at] = append(l.sisters[at], int32(part))
	}
}

type hypothesis struct {
	part  int32
	shift int // bins by which the component lowers
	score float64
}

// best names the best hypothesis if it is good enough, and takes what it
// explains out of the measurements.
func (l *locator) best() (Suspect, bool) {
	all := l.histogram(nil)
	var found []hypothesis
	for part := range l.parts {
		if l.sisters[part] == nil {
			continue
		}
		if h := l.score(int32(part), all); h.score > 0 {
			found = append(found, h)
		}
	}
	if len(found) == 0 {
		return Suspect{}, false
	}
	slices.SortStableFunc(found, func(a, b hypothesis) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return 0
	})
	h := found[0]
	if h.score < minScore {
		return Suspect{}, false
	}
	s := Suspect{Factor: math.Exp(-float64(h.shift) * binWidth), Score: h.score, Tests: len(l.members[h.part])}
	for _, part := range l.sisters[h.part] {
		s.Parts = append(s.Parts, l.parts[part])
	}
	for _, o := range found[1:] {
		if h.score-o.score < closeScore {
			for _, part := range l.sisters[o.part] {
				s.Others = append(s.Others, l.parts[part])
			}
		}
	}
	l.explain(h)
	return s, true
}

// histogram counts the measurements by bin; with minus, without those that
// certainly are its members.
func (l *locator) histogram(minus []member) []float64 {
	h := make([]float64, bins)
	for i, b := range l.bin {
		h[b] += float64(l.weight[i])
	}
	for _, m := range minus {
		h[l.bin[m.measurement]] -= float64(l.weight[m.measurement]) * float64(m.share)
	}
	return h
}

// density turns counts into a density over bins: smoothed over the spread of a
// measurement, with a floor that lets anything happen sometimes.
func density(h []float64) []float64 {
	kernel := [...]float64{0.06, 0.24, 0.40, 0.24, 0.06} // normal, of one bin
	d := make([]float64, len(h))
	total := 0.0
	for _, n := range h {
		total += max(n, 0)
	}
	for i, n := range h {
		for k, w := range kernel {
			if at := i + k - 2; at >= 0 && at < len(d) {
				d[at] += max(n, 0) * w
			}
		}
	}
	for i := range d {
		d[i] = 0.98*d[i]/max(total, 1) + 0.02/float64(len(d))
	}
	return d
}

// score finds the factor that fits a component best.
func (l *locator) score(part int32, all []float64) hypothesis {
	members := l.members[part]
	// Members by share and bin: a share stands for how likely it is that the
	// measurement went through the component.
	type group struct {
		share float64
		count []float64
	}
	var groups []group
	rest := slices.Clone(all)
	for _, m := range members {
		w := float64(l.weight[m.measurement])
		if w == 0 {
			continue
		}
		b := l.bin[m.measurement]
		rest[b] -= w * float64(m.share)
		at := slices.IndexFunc(groups, func(g group) bool { return g.share == float64(m.share) })
		if at < 0 {
			at = len(groups)
			groups = append(groups, group{float64(m.share), make([]float64, bins)})
		}
		groups[at].count[b] += w
	}
	best := hypothesis{part: part}
	if len(groups) == 0 {
		return best
	}
	// What goes through nothing slow; where that leaves too little, all.
	g := density(rest)
	for shift := leastLoss; shift < -lowestBin; shift++ {
		score := 0.0
		for _, gr := range groups {
			for b, n := range gr.count {
				if n == 0 {
					continue
				}
				from := min(b+shift, bins-1) // where it would have been without the component
				score += n * math.Log(1-gr.share+gr.share*g[from]/g[b])
			}
		}
		if score > best.score {
			best.score, best.shift = score, shift
		}
	}
	return best
}

// explain lowers the weight of measurements by how likely it is that the
// hypothesis made them what they are.
func (l *locator) explain(h hypothesis) {
	g := density(l.histogram(l.members[h.part]))
	for _, m := range l.members[h.part] {
		b := int(l.bin[m.measurement])
		slow := float64(m.share) * g[min(b+h.shift, bins-1)]
		usual := (1 - float64(m.share)) * g[b]
		if slow+usual > 0 {
			l.weight[m.measurement] *= float32(usual / (slow + usual))
		}
	}
}

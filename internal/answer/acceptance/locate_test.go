package acceptance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"testing/fstest"

	"weir/internal/cluster"
	"weir/internal/twin/sim"
	"weir/units"
)

// sixtyFour is a non-blocking fabric whose links all have one rate, so that a
// slower one shows.
const sixtyFour = `
host: {count: 64, nic: {count: 2, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 8, spines: 8, uplink: {count: 2, speed: 100Gbps}}
`

// trial measures all pairs of a cluster in the simulator, a round at a time,
// with one component slowed to a share of its rate, and noise.
type trial struct {
	c     *cluster.Cluster
	parts *Footprints
	rnd   *rand.Rand
}

func newTrial(t testing.TB, text string, seed uint64) *trial {
	t.Helper()
	c, err := cluster.Load(fstest.MapFS{"c.yaml": {Data: []byte(text)}}, "c.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := NewFootprints(c)
	if err != nil {
		t.Fatal(err)
	}
	return &trial{c, parts, rand.New(rand.NewPCG(seed, 11))}
}

// ports returns the ports at which a component sends.
func (x *trial) ports(part Component) []cluster.PortID {
	var out []cluster.PortID
	link := func(id cluster.LinkID) { out = append(out, x.c.Links[id].A, x.c.Links[id].B) }
	for h := range x.c.Hosts {
		host := x.c.Nodes[x.c.Hosts[h].Node].Name
		for i := range x.c.Hosts[h].NICs {
			nic := &x.c.Hosts[h].NICs[i]
			if part.Name == host || part.Name == host+"/"+nic.Name {
				link(x.c.Ports[nic.Ports[0]].Link)
			}
		}
	}
	if part.Kind == Switch {
		id, _ := x.c.FindNode(part.Name)
		for _, p := range x.c.Nodes[id].Ports {
			if x.c.Ports[p].Peer != cluster.PortID(cluster.None) {
				link(x.c.Ports[p].Link)
			}
		}
	}
	if part.Kind == Cable {
		for i := range x.c.Links {
			if x.parts.port(x.c.Links[i].A)+"~"+x.parts.port(x.c.Links[i].B) == part.Name {
				link(cluster.LinkID(i))
			}
		}
	}
	return out
}

// pick returns a random component of a kind: a cable between switches, a spine.
func (x *trial) pick(k Kind) Component {
	for {
		p := x.parts.Parts[x.rnd.IntN(len(x.parts.Parts))]
		if p.Kind != k {
			continue
		}
		if k == Switch {
			if id, _ := x.c.FindNode(p.Name); x.c.Nodes[id].Tier != 2 {
				continue
			}
		}
		return p
	}
}

// measure runs the steps one after the other.
func (x *trial) measure(t testing.TB, part Component, factor, noise float64, steps [][]Test) []Measurement {
	t.Helper()
	s, err := sim.New(sim.Config{Cluster: x.c, Seed: x.rnd.Uint64()})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range x.ports(part) {
		s.SetRate(p, units.BitRate(float64(x.c.Ports[p].Rate)*factor))
	}
	const bytes = 128 * units.KiB
	var ms []Measurement
	var ids []sim.FlowID
	before, now := make([]uint64, len(x.c.Ports)), make([]uint64, len(x.c.Ports))
	roce := x.c.QoS.RoCE().Priority
	for k, step := range steps {
		for _, test := range step {
			id, err := s.AddFlow(sim.Flow{Src: test.From, Dst: test.To, Bytes: bytes, Start: units.Time(k) * 100 * units.Microsecond})
			if err != nil {
				t.Fatal(err)
			}
			ms, ids = append(ms, Measurement{From: test.From, To: test.To}), append(ids, id)
		}
		if err := s.Run(context.Background(), units.Time(k+1)*100*units.Microsecond); err != nil {
			t.Fatal(err)
		}
		for _, l := range x.c.Links {
			for _, p := range [...]cluster.PortID{l.A, l.B} {
				now[p] = s.Counters(p, roce).TxBytes
			}
		}
		for i, test := range step {
			m := &ms[len(ms)-len(step)+i]
			m.Links = x.parts.Traced(test, float64(bytes), func(p cluster.PortID) float64 { return float64(now[p] - before[p]) })
		}
		before, now = now, before
	}
	for i, id := range ids {
		f := s.Flow(id)
		ms[i].Rate = float64(bytes) * 8 / (f.Done - f.Sent).Seconds() * (1 + noise*x.rnd.NormFloat64())
	}
	return ms
}

// steps are those of a covering design: half of all pairs, on both rails.
func (x *trial) steps() [][]Test {
	hosts := make([]int, len(x.c.Hosts))
	for i := range hosts {
		hosts[i] = i
	}
	return Steps(x.c, PairTests(x.c, hosts, 32, false))
}

// TestLocate: among 64 nodes, one node, NIC, cable or spine slower by 10, 25 or
// 50 %, with 2 % of noise, is the first suspect in at least 95 % of the trials.
func TestLocate(t *testing.T) {
	trials := 2
	if os.Getenv("WEIR_LONG") != "" {
		trials = 100
	}
	table := "| what is slow | loss | located | of |\n|---|---|---|---|\n"
	for _, kind := range []Kind{Node, NIC, Cable, Switch} {
		for _, loss := range []float64{0.10, 0.25, 0.50} {
			hits := 0
			for i := range trials {
				x := newTrial(t, sixtyFour, uint64(i)<<16+uint64(kind)<<8+uint64(loss*100))
				part := x.pick(kind)
				found, err := Locate(x.parts, x.measure(t, part, 1-loss, 0.02, x.steps()))
				if err != nil {
					t.Fatal(err)
				}
				if len(found) > 0 && slices.Contains(found[0].Parts, part) {
					hits++
				} else {
					t.Logf("%v -%.0f %%: %s, found %s", kind, loss*100, part.Name, describe(found))
				}
			}
			table += fmt.Sprintf("| %v | %.0f %% | %d | %d |\n", kind, loss*100, hits, trials)
			if hits*100 < trials*95 && trials > 20 {
				t.Errorf("%v -%.0f %%: %d of %d", kind, loss*100, hits, trials)
			}
		}
	}
	t.Log("\n" + table)
}

func describe(found []Suspect) string {
	s := ""
	for i := range found {
		s += fmt.Sprintf("%v x%.2f (score %.0f, %d tests); ", found[i].Parts, found[i].Factor, found[i].Score, found[i].Tests)
	}
	return s
}

// TestLocateNothing: a healthy network has no suspects.
func TestLocateNothing(t *testing.T) {
	trials := 3
	if os.Getenv("WEIR_LONG") != "" {
		trials = 100
	}
	wrong := 0
	for i := range trials {
		x := newTrial(t, sixtyFour, uint64(i)+1<<40)
		found, err := Locate(x.parts, x.measure(t, Component{}, 1, 0.02, x.steps()))
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			wrong++
			t.Logf("trial %d: %s", i, describe(found))
		}
	}
	if wrong*100 > trials*5 {
		t.Errorf("%d of %d healthy networks have suspects", wrong, trials)
	}
}

func TestRounds(t *testing.T) {
	for n := range 20 {
		met := map[[2]int]int{}
		for _, round := range Rounds(n, 0) {
			busy := map[int]bool{}
			for _, p := range round {
				if busy[p[0]] || busy[p[1]] || p[0] == p[1] || p[0] < 0 || p[1] >= n || p[1] < 0 || p[0] >= n {
					t.Fatalf("n=%d: %v in %v", n, p, round)
				}
				busy[p[0]], busy[p[1]] = true, true
				met[[2]int{min(p[0], p[1]), max(p[0], p[1])}]++
			}
		}
		if len(met) != n*(n-1)/2 {
			t.Errorf("n=%d: %d pairs met", n, len(met))
		}
		for p, k := range met {
			if k != 1 {
				t.Errorf("n=%d: %v met %d times", n, p, k)
			}
		}
	}
	for _, round := range Rounds(64, 8) {
		if len(round) != 32 {
			t.Errorf("%d pairs", len(round))
		}
	}
	if got := len(Rounds(64, 8)); got != 8 {
		t.Errorf("%d rounds", got)
	}
}

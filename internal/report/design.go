package report

import (
	"fmt"
	"slices"
	"strings"

	"weir/internal/answer/expect"
	"weir/internal/cluster"
	"weir/units"
)

// Design counts the hardware of a network.
type Design struct {
	Switches, Ports, Optics int // Ports: cabled ones of switches
	Hosts, NICs             int
	CableMetres             float64
	Price                   float64 // in the file's currency; 0: no prices
	Currency                string
	PayloadShare            float64 // of line rate, by the transport
}

// copperLength is how far passive copper reaches at today's rates, in metres;
// a longer cable takes an optic at each end.
const copperLength = 5

// DesignOf counts a cluster's hardware.
func DesignOf(c *cluster.Cluster) Design {
	d := Design{Currency: c.Prices.Currency, PayloadShare: expect.PayloadShare(c)}
	for i := range c.Nodes {
		if c.Nodes[i].Kind == cluster.SwitchNode {
			d.Switches++
		}
	}
	d.Hosts = len(c.Hosts)
	for i := range c.Hosts {
		d.NICs += len(c.Hosts[i].NICs)
	}
	for i := range c.Links {
		l := &c.Links[i]
		for _, p := range [...]cluster.PortID{l.A, l.B} {
			if c.Nodes[c.Ports[p].Node].Kind == cluster.SwitchNode {
				d.Ports++
			}
		}
		d.CableMetres += float64(l.Length)
		if l.Length > copperLength {
			d.Optics += 2
		}
	}
	p := &c.Prices
	d.Price = p.Switch*float64(d.Switches) + p.Port*float64(d.Ports) + p.NIC*float64(d.NICs) + p.Optic*float64(d.Optics) + p.CablePerMetre*d.CableMetres
	return d
}

type designJSON struct {
	Rank        int      `json:"rank"`
	Label       string   `json:"label"`
	Switches    int      `json:"switches"`
	Ports       int      `json:"ports"`
	Optics      int      `json:"optics"`
	NICs        int      `json:"nics"`
	CableMetres float64  `json:"cable_m"`
	Price       *float64 `json:"price,omitempty"`
	Currency    string   `json:"currency,omitempty"`
	Speed       float64  `json:"share_of_fastest"`
	Carries     bool     `json:"carries"`
}

// carries is the share of the fastest design's speed from which a design
// counts as carrying the job as well.
const carries = 0.95

// designs ranks the variants that finished, if their hardware differs for the
// same hosts: first
// those that carry the job as well as the fastest, then the others; within
// both, the cheapest first, by price where the file has prices, else by
// switches, ports, optics. Speed is how fast the slowest common piece of work
// is done: the largest size, the step, or the last flow.
func (c *Comparison) designs() []designJSON {
	var list []designJSON
	var times []float64
	differ, grows := false, false
	fastest := 0.
	for i := range c.Variants {
		v := &c.Variants[i]
		t := v.time()
		if t <= 0 {
			continue
		}
		d := &v.Design
		first := &c.Variants[0].Design
		grows = grows || d.Hosts != first.Hosts
		differ = differ || d.Switches != first.Switches || d.Ports != first.Ports || d.Optics != first.Optics || d.NICs != first.NICs || d.Price != first.Price
		j := designJSON{Label: c.Label(v), Switches: d.Switches, Ports: d.Ports, Optics: d.Optics, NICs: d.NICs, CableMetres: d.CableMetres, Price: positive(d.Price)}
		if d.Price > 0 {
			j.Currency = d.Currency
		}
		list = append(list, j)
		times = append(times, t)
		if fastest == 0 || t < fastest {
			fastest = t
		}
	}
	if !differ || grows {
		return nil
	}
	for i := range list {
		list[i].Speed = fastest / times[i]
		list[i].Carries = list[i].Speed >= carries
	}
	slices.SortStableFunc(list, func(a, b designJSON) int {
		if a.Carries != b.Carries {
			if a.Carries {
				return -1
			}
			return 1
		}
		for _, d := range []float64{price(&a) - price(&b), float64(a.Switches - b.Switches), float64(a.Ports - b.Ports), float64(a.Optics - b.Optics), b.Speed - a.Speed} {
			if d < 0 {
				return -1
			} else if d > 0 {
				return 1
			}
		}
		return 0
	})
	for i := range list {
		list[i].Rank = i + 1
	}
	return list
}

func price(d *designJSON) float64 {
	if d.Price == nil {
		return 0
	}
	return *d.Price
}

// time is what a variant takes for its work, in seconds; 0: not finished.
func (v *Variant) time() float64 {
	if v.Simulation == nil {
		return 0
	}
	r := v.Simulation.Result
	if len(r.Steps) > 0 {
		return r.Steps[0].Time.Seconds()
	}
	var most units.Bytes
	t := 0.
	for i := range r.Collectives {
		if row := &r.Collectives[i]; row.Bytes >= most {
			most, t = row.Bytes, row.Time.Seconds()
		}
	}
	if t == 0 && len(r.Flows) > 0 {
		t = summarise(r).max * 1e-6
	}
	return t
}

func rankedBy(d []designJSON) string {
	by := "by switches, ports, optics"
	if d[0].Price != nil {
		by = "by price"
	}
	return fmt.Sprintf("those within %.0f %% of the fastest first, then %s", 100*(1-carries), by)
}

func designTable(list []designJSON) [][]string {
	table := [][]string{{"rank", "switches", "ports", "optics", "NICs", "cable (m)", "of fastest", "design"}}
	priced := list[0].Price != nil
	if priced {
		table[0] = append(table[0], "price ("+strings.TrimSpace(list[0].Currency)+")")
	}
	for i := range list {
		d := &list[i]
		row := []string{fmt.Sprint(d.Rank), fmt.Sprint(d.Switches), fmt.Sprint(d.Ports), fmt.Sprint(d.Optics), fmt.Sprint(d.NICs), fmt.Sprintf("%.0f", d.CableMetres), fmt.Sprintf("%.1f %%", 100*d.Speed), d.Label}
		if priced {
			row = append(row, fmt.Sprintf("%.0f", price(d)))
		}
		table = append(table, row)
	}
	return table
}

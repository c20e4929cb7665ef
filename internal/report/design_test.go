package report

import (
	"testing"

	"weir/internal/cluster"
	"weir/internal/twin"
	"weir/units"
)

// Two leaves and two spines with two 30 m cables between each pair: 8 of them
// with 16 ends and 16 optics; 8 cards on 5 m of copper.
func TestDesign(t *testing.T) {
	f, err := cluster.Parse("test.yaml", []byte(`
host: {count: 4, gpus: 2, gpu: a100, nic: {count: 2, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 2, spines: 2, host_link: {length: 5m}, uplink: {count: 2, speed: 100Gbps, length: 30m}}
job: {collective: all_reduce}
prices: {currency: EUR, switch: 1000, port: 10, nic: 100, optic: 5, cable_per_metre: 1}
`), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Design{Switches: 4, Ports: 24, Optics: 16, Hosts: 4, NICs: 8, CableMetres: 280, Price: 4000 + 240 + 800 + 80 + 280, Currency: "EUR", PayloadShare: 4096. / 4178}
	if got := DesignOf(f.Cluster); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The cheapest of those within 5 % of the fastest is first, what is slower last.
func TestRanking(t *testing.T) {
	c := Comparison{Axes: []string{"fabric.spines"}}
	for i, ms := range []units.Time{200, 103, 100} { // 1, 2 and 3 spines
		c.Variants = append(c.Variants, Variant{
			Values: []string{string(rune('1' + i))}, Design: Design{Switches: 4 + i, Hosts: 8},
			Simulation: &Simulation{Result: &twin.Result{Steps: []twin.Step{{Time: ms * units.Millisecond}}}},
		})
	}
	var got []string
	for _, d := range c.designs() {
		got = append(got, d.Label)
	}
	if len(got) != 3 || got[0] != "fabric.spines=2" || got[1] != "fabric.spines=3" || got[2] != "fabric.spines=1" {
		t.Errorf("order %v", got)
	}
	c.Variants[1].Design.Hosts = 16
	if c.designs() != nil {
		t.Error("growth was ranked as if it were a choice of design")
	}
}

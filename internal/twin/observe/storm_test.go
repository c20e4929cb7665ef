package observe_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"weir/internal/cluster"
	"weir/internal/telemetry"
	"weir/internal/twin/observe"
	"weir/units"
)

// moved returns how far a counter moved in one window, over the series with a label.
func moved(o *observe.Observation, w *observe.Window, metric string, labels ...telemetry.Label) (n uint64) {
	for _, s := range o.Registry.Find(telemetry.MustLookup(metric), labels...) {
		if d, ok := w.Delta(s); ok {
			n += d.Value
		}
	}
	return n
}

func watch(t *testing.T, c *cluster.Cluster, every, most units.Time, window int) *observe.Observation {
	t.Helper()
	o, err := observe.Run(context.Background(), c, observe.Options{Every: every, For: most, Window: window})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// allPairs is two leaves of four hosts where every host sends to every other.
func allPairs(size, watchdog string) string {
	return fmt.Sprintf(`
host: {count: 8, gpus: 0, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 2, spines: 2, uplink: {speed: 200Gbps}}
switch: {model: spectrum-2, alpha: 0.015625}
qos: {watchdog: {%s}}
rdma: {timeout: 12}
job: {pattern: all-pairs, size: %s}
`, watchdog, size)
}

// A NIC that hangs and pauses stops the whole fabric, not only who sends to it
// (Guo et al. 2016, section 4.3); the watchdog gives the others their rate back.
func TestV30Storm(t *testing.T) {
	const storm = "pfc-storm@host-4/nic-0,start=200us"
	others := func(o *observe.Observation, w *observe.Window) (n uint64) {
		for h := range 8 {
			if h != 4 {
				n += moved(o, w, "rdma_data_packets_total", telemetry.Label{Name: "instance", Value: fmt.Sprint("host-", h)}, telemetry.Label{Name: "direction", Value: "rx"})
			}
		}
		return n
	}
	without := watch(t, load(t, allPairs("64MiB", "enabled: false"), storm), 50*units.Microsecond, 20*units.Millisecond, 10)
	for _, port := range []string{"leaf-1", "spine-0", "spine-1", "leaf-0"} { // up the tree, and down the other side
		var n uint64
		for _, w := range without.Windows {
			n += moved(without, w, "roce_switch_pfc_pause_frames_total", telemetry.Label{Name: "switch", Value: port}, telemetry.Label{Name: "direction", Value: "tx"})
		}
		if n == 0 {
			t.Errorf("the storm does not reach %s", port)
		}
	}
	last := without.Windows[len(without.Windows)-2]
	if n := others(without, last); n != 0 {
		t.Errorf("without a watchdog %d packets arrive in the last %v", n, last.To-last.From)
	}
	if without.Result.Flows[0].FCT != 0 {
		t.Error("a flow to another host finished before the storm took hold")
	}

	// With the watchdog: 2 ms to detect, instead of a real one's 200 ms.
	const detect = 2 * units.Millisecond
	with := watch(t, load(t, allPairs("64MiB", "detect_after: 2ms, restore_after: 2ms"), storm), 50*units.Microsecond, 20*units.Millisecond, 10)
	healthy := watch(t, load(t, allPairs("64MiB", "enabled: false")), 50*units.Microsecond, 20*units.Millisecond, 10)
	rate := func(o *observe.Observation, from, to units.Time) float64 {
		var n uint64
		var span units.Time
		for _, w := range o.Windows {
			if w.From >= from && w.To <= to {
				n += others(o, w)
				span += w.To - w.From
			}
		}
		return float64(n) / span.Seconds()
	}
	after := 200*units.Microsecond + 2*detect
	recovered := rate(with, after, after+5*units.Millisecond)
	// What is left to offer are the seven hosts' packets to each other: six of
	// seven destinations, which have the whole link then.
	before := rate(healthy, 2*units.Millisecond, 7*units.Millisecond)
	t.Logf("packets a second to the others: healthy %.3g, recovered %.3g", before, recovered)
	if recovered < 0.95*before*6/7 {
		t.Errorf("after the watchdog: %.3g packets a second to the others, healthy %.3g", recovered, before)
	}
	var events uint64
	for _, w := range with.Windows {
		events += moved(with, w, "roce_switch_pfc_watchdog_events_total", telemetry.Label{Name: "event", Value: "detected"}, telemetry.Label{Name: "switch", Value: "leaf-1"})
	}
	if events == 0 {
		t.Error("the watchdog of the hung NIC's port detected nothing")
	}
}

// A ring where every flow crosses two links deadlocks under overload; a tree
// with up-down routes never does (Hu et al. 2016).
func TestV29Ring(t *testing.T) {
	var switches, links, flows []string
	for i := range 5 {
		switches = append(switches, fmt.Sprintf("{name: s%d}", i))
		links = append(links, fmt.Sprintf("{a: host-%d/nic-0, b: s%d}, {a: s%d, b: s%d, speed: 100Gbps}", i, i, i, (i+1)%5))
		flows = append(flows, fmt.Sprintf("{src: host-%d/nic-0, dst: host-%d/nic-0, size: 16MiB}", i, (i+2)%5))
	}
	ring := fmt.Sprintf(`
host: {count: 5, gpus: 0, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: explicit, switches: [%s], links: [%s]}
switch: {model: spectrum-2, alpha: 0.015625}
qos: {watchdog: {enabled: false}}
dcqcn: {enabled: false}
job: {pattern: list, flows: [%s]}
`, strings.Join(switches, ", "), strings.Join(links, ", "), strings.Join(flows, ", "))
	o := watch(t, load(t, ring), units.Millisecond, 200*units.Millisecond, 0)
	if o.Result.Stalled == "" {
		t.Error("a ring with all links overloaded did not deadlock")
	}
	o = watch(t, load(t, strings.Replace(allPairs("4MiB", "enabled: false"), "job:", "dcqcn: {enabled: false}\njob:", 1)), units.Millisecond, 200*units.Millisecond, 0)
	for _, f := range o.Result.Flows {
		if f.FCT == 0 {
			t.Fatal("a flow in a tree without congestion control did not finish")
		}
	}
}

// A routing loop of two links of rate B deadlocks if and only if the load
// exceeds 2 B / TTL: 3.125 Gb/s at 100 Gb/s and 64. One bad route is enough, and
// the deadlock stays when the route is mended.
func TestV29Loop(t *testing.T) {
	loop := func(times float64, faults ...string) *observe.Observation {
		text := `
host: {count: 4, gpus: 0, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 2, spines: 1, uplink: {speed: 100Gbps, count: 1}}
switch: {model: spectrum-2, alpha: 0.015625}
qos: {watchdog: {enabled: false}}
dcqcn: {enabled: false}
rdma: {timeout: 18}
job: {pattern: list, flows: [{src: host-0/nic-0, dst: host-3/nic-0, size: 1GiB}]}
`
		return watch(t, load(t, text, append(faults, fmt.Sprintf("link-speed-degraded@host-0/nic-0,severity=%g", 1-times*2/64))...), units.Millisecond, 150*units.Millisecond, 10)
	}
	const route = "pfc-deadlock@leaf-0~spine-0"
	if o := loop(0.9, route); o.Result.Stalled != "" {
		t.Errorf("at 0.9 of the bound: %s", o.Result.Stalled)
	}
	o := loop(1.1, route+",end=60ms")
	if o.Result.Stalled == "" {
		t.Fatal("at 1.1 times the bound no deadlock formed, or it went away with the route")
	}
	last := o.Windows[len(o.Windows)-1]
	if n := moved(o, last, "roce_switch_queue_packets_total"); n != 0 {
		t.Errorf("in the deadlock %d packets moved", n)
	}
	for _, sw := range []string{"leaf-0", "spine-0"} { // each waits for the other
		if moved(o, last, "roce_switch_pfc_pause_frames_total", telemetry.Label{Name: "switch", Value: sw}, telemetry.Label{Name: "direction", Value: "tx"}) == 0 {
			t.Errorf("%s does not keep its neighbour paused", sw)
		}
	}
}

// With PFC on all priorities, pauses of the congested RoCE class stop another
// class on the same links that has room of its own.
func TestAllPrioritiesStarveOther(t *testing.T) {
	text := `
host: {count: 10, gpus: 0, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: single-switch}
switch: {model: spectrum-2, alpha: 0.015625}
qos: {classes: [{name: storage, dscp: 18, priority: 4, share: 40%, lossless: true}]}
dcqcn: {enabled: false}
jobs:
  - {name: train, pattern: incast, receiver: host-8/nic-0, senders: 8, size: 32MiB}
  - {name: storage, pattern: list, priority: 4, flows: [{src: host-0/nic-0, dst: host-9/nic-0, size: 16MiB}]}
`
	time := func(o *observe.Observation) units.Time { return o.Result.Flows[len(o.Result.Flows)-1].FCT }
	healthy, sick := run(t, load(t, text)), run(t, load(t, text, "pfc-on-all-priorities@fabric"))
	if was, is := time(healthy), time(sick); is < 2*was || was == 0 {
		t.Errorf("storage took %v, with PFC on all priorities %v: expected twice as long or more", was, is)
	}
	if n := sum(sick, "rdma_roce_pfc_pause_frames_total{direction=rx,priority=4,instance=host-0}"); n == 0 {
		t.Error("no pause on the storage priority")
	}
}

// A storage class beside RoCE gets its share of a link when both want all of it.
func TestSharesAreHeld(t *testing.T) {
	for _, share := range []int{20, 40} {
		text := fmt.Sprintf(`
host: {count: 5, gpus: 0, nic: {count: 1, model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: single-switch}
switch: {model: spectrum-2}
qos: {roce: {share: %d%%}, classes: [{name: storage, dscp: 18, priority: 4, share: %d%%, lossless: true}]}
dcqcn: {enabled: false}
jobs:
  - {name: train, pattern: list, flows: [{src: host-0/nic-0, dst: host-4/nic-0, size: 64MiB}, {src: host-1/nic-0, dst: host-4/nic-0, size: 64MiB}]}
  - {name: storage, pattern: list, priority: 4, flows: [{src: host-2/nic-0, dst: host-4/nic-0, size: 64MiB}, {src: host-3/nic-0, dst: host-4/nic-0, size: 64MiB}]}
`, 100-share, share)
		o := watch(t, load(t, text), 100*units.Microsecond, 4*units.Millisecond, 0)
		bytes := func(queue string) float64 {
			return float64(sum(o, "roce_switch_queue_bytes_total{port=port-4,queue="+queue+"}"))
		}
		got := bytes("4") / (bytes("3") + bytes("4"))
		t.Logf("share %d %%: %.2f %%", share, 100*got)
		if got < 0.95*float64(share)/100 || got > 1.05*float64(share)/100 {
			t.Errorf("storage has %.1f %% of the link, configured %d %%", 100*got, share)
		}
	}
}

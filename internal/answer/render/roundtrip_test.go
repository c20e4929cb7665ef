package render

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"weir/internal/cluster"
	"weir/internal/field/dialect"
	"weir/internal/field/dialect/junos"
	"weir/internal/field/dialect/systems"
	"weir/internal/qos"
	"weir/units"

	"pgregory.net/rapid"
)

// TestMain draws fewer intents where time is short.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("WEIR_LONG") == "" {
		if err := flag.Set("rapid.checks", "12"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// models are switches that run the systems.
var models = map[string]string{"nxos": "tomahawk-4", "eos": "tomahawk-4", "nvue": "spectrum-3", "onyx": "spectrum-3", "sonic": "spectrum-4", "vrp": "tomahawk-5", "comware": "tomahawk-3", "junos": "trident-4"}

// quanta are the units that a system's own statements count in: bytes of ECN
// thresholds and headroom, and watchdog time. Sources: the forms of each
// dialect (kbytes, cells, percent of the buffer) and its watchdog's steps.
type quanta struct {
	ecn, headroom   units.Bytes
	detect, restore units.Time
	writesHeadroom  bool
	silentWatchdog  bool // the reading half cannot tell times
}

var quantum = map[string]quanta{
	"nxos":    {ecn: units.KB, detect: 100 * units.Millisecond, restore: 100 * units.Millisecond},
	"eos":     {ecn: units.KB, detect: units.Microsecond, restore: units.Microsecond},
	"nvue":    {ecn: 1, detect: -1, restore: units.Millisecond}, // detection counts intervals of restoration
	"onyx":    {ecn: units.KB, detect: -1, restore: units.Millisecond},
	"sonic":   {ecn: 1, headroom: 1, detect: units.Millisecond, restore: units.Millisecond, writesHeadroom: true},
	"vrp":     {ecn: units.KB, headroom: units.KB, detect: 10 * units.Millisecond, restore: 10 * units.Millisecond, writesHeadroom: true},
	"comware": {ecn: 254, headroom: 254, writesHeadroom: true, silentWatchdog: true},
	"junos":   {ecn: 132 * units.MiB / 100, detect: 100 * units.Millisecond, restore: units.Millisecond},
}

// An intent of the cluster file, at random. Percents keep their two digits,
// since that is the least share that all systems can state.
func overrides(t *rapid.T, system string) []string {
	var set []string
	add := func(format string, v ...any) { set = append(set, fmt.Sprintf(format, v...)) }
	prios := rapid.Permutation([]int{1, 2, 3, 4, 5, 6, 7}).Draw(t, "priorities")
	dscps := rapid.Permutation([]int{3, 10, 24, 26, 34, 46, 48, 56, 63}).Draw(t, "code points")
	roce, cnp := prios[0], prios[1]
	strict := rapid.Bool().Draw(t, "strict cnp")
	if system == "eos" && strict && cnp < roce { // EOS has strict queues on top only
		roce, cnp = cnp, roce
	}
	add("qos.roce.priority=%d", roce)
	add("qos.cnp.priority=%d", cnp)
	add("qos.roce.dscp=%d", dscps[0])
	add("qos.cnp.dscp=%d", dscps[1])
	share := rapid.IntRange(1, 90).Draw(t, "share")
	add("qos.roce.share=%d%%", share)
	if strict {
		add("qos.cnp.strict=true")
	} else {
		add("qos.cnp.strict=false")
		add("qos.cnp.share=%d%%", rapid.IntRange(1, 100-share-5).Draw(t, "cnp share"))
	}
	low := rapid.IntRange(1500, 4000).Draw(t, "min")
	high := low + rapid.IntRange(3000, 8000).Draw(t, "ramp")
	add("qos.ecn.min=%dKB", low)
	add("qos.ecn.max=%dKB", high)
	add("qos.ecn.probability=%d%%", rapid.IntRange(1, 100).Draw(t, "probability"))
	if !rapid.Bool().Draw(t, "ecn") {
		add("qos.ecn.enabled=false")
	}
	if rapid.IntRange(0, 4).Draw(t, "pfc") == 0 {
		add("qos.pfc=false")
	}
	if rapid.IntRange(0, 3).Draw(t, "watchdog") == 0 {
		add("qos.watchdog.enabled=false")
	}
	add("qos.watchdog.detect_after=%dms", rapid.IntRange(1, 20).Draw(t, "detect")*100)
	add("qos.watchdog.restore_after=%dms", rapid.IntRange(1, 20).Draw(t, "restore")*100)
	add("qos.port_mtu=%d", rapid.IntRange(4400, 10000).Draw(t, "mtu"))
	add("switch.alpha=%g", math.Ldexp(1, rapid.IntRange(-3, 3).Draw(t, "alpha")))
	return set
}

const small = `
host: {count: 4, gpus: 2, nic: {model: connectx-6-dx, speed: 100Gbps}}
fabric: {topology: leaf-spine, leaves: 2, spines: 1, host_link: {length: 7m}}
`

func leaf(t interface{ Fatal(...any) }, c *cluster.Cluster) cluster.NodeID {
	for i := range c.Nodes {
		if c.Nodes[i].Kind == cluster.SwitchNode {
			return cluster.NodeID(i)
		}
	}
	t.Fatal("no switch")
	return 0
}

// TestRoundTrip writes random intents and reads them back: the effects on each
// port must be the intended ones, within one of the system's own units.
func TestRoundTrip(t *testing.T) {
	for _, s := range systems.All() {
		t.Run(s.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				set := append([]string{"switch.os=" + s.Name, "switch.model=" + models[s.Name]}, overrides(t, s.Name)...)
				f, err := cluster.Parse("c.yaml", []byte(small), set)
				if err != nil {
					t.Fatal(err)
				}
				target, err := Target(f.Cluster, leaf(t, f.Cluster))
				if err != nil {
					t.Fatal(err)
				}
				texts, err := s.Write(target)
				if err != nil {
					t.Fatal(err)
				}
				got, err := s.Parse(strings.NewReader(texts[0].Body), "out")
				if err != nil {
					t.Fatal(err)
				}
				for _, n := range got.NotUnderstood {
					t.Errorf("line %d not understood: %s", n.Origin.Line, n.Text)
				}
				if found, ok := systems.Recognise([]byte(texts[0].Body)); !ok || found.Name != s.Name {
					t.Errorf("recognised as %q", found.Name)
				}
				compare(t, s.Name, target, got.Device)
				if s.Name == "sonic" {
					for _, fault := range yangFaults(texts[0].Body) {
						t.Error("YANG: " + fault)
					}
				}
				if t.Failed() {
					t.Log(texts[0].Body)
				}
			})
		})
	}
}

func compare(t *rapid.T, system string, target *dialect.Target, got *qos.Device) {
	want := target.Device
	if got.Name != want.Name || len(got.Ports) != len(want.Ports) {
		t.Fatalf("%s with %d ports, want %s with %d", got.Name, len(got.Ports), want.Name, len(want.Ports))
	}
	byName := map[string]*qos.Port{}
	for i := range got.Ports {
		byName[got.Ports[i].Name] = &got.Ports[i]
	}
	fill := units.Bytes(0)
	if part, ok := junos.Partitions(want, target.Buffer); ok {
		fill = part.Fill(target.Buffer)
	}
	for i := range want.Ports {
		w := &want.Ports[i]
		g := byName[w.Name]
		if g == nil {
			t.Fatalf("no port %s", w.Name)
		}
		comparePort(t, quantum[system], w, g, target.Cell, fill)
	}
}

func comparePort(t *rapid.T, q quanta, w, g *qos.Port, cell, fill units.Bytes) {
	var total float64
	for d := range uint8(64) {
		if g.Queue(d) != w.Queue(d) || g.Lossless(d) != w.Lossless(d) {
			t.Errorf("%s DSCP %d: queue %d lossless %v, want %d %v", w.Name, d, g.Queue(d), g.Lossless(d), w.Queue(d), w.Lossless(d))
		}
		if g.FrameLimit(d) != w.FrameLimit(d) {
			t.Errorf("%s DSCP %d: MTU %d, want %d", w.Name, d, g.FrameLimit(d), w.FrameLimit(d))
		}
	}
	if (g.PFC == qos.On) != (w.PFC == qos.On) || w.PFC == qos.On && g.PFCMask != w.PFCMask {
		t.Errorf("%s: PFC %v %08b, want %v %08b", w.Name, g.PFC, g.PFCMask, w.PFC, w.PFCMask)
	}
	if g.GlobalPauseRx == qos.On || g.GlobalPauseTx == qos.On {
		t.Errorf("%s: link pause is on", w.Name)
	}
	for k := range w.Queues {
		if w.Used(k) && w.Queues[k].Strict != qos.On {
			total += g.Queues[k].Share
		}
	}
	for k := range w.Queues {
		if !w.Used(k) {
			continue
		}
		compareQueue(t, q, w, g, k, total, cell, fill)
	}
	for p := range w.Ingress {
		if h := w.Ingress[p].Headroom; q.writesHeadroom && h > 0 {
			found := g.Ingress[p].Headroom
			if r := g.Ingress[p].Raw; r.Unit == "cells" {
				found = units.Bytes(r.Max) * cell
			}
			if found < h || found >= h+q.headroom {
				t.Errorf("%s priority %d: headroom %d, want %d", w.Name, p, found, h)
			}
		}
	}
	compareWatchdog(t, q, w, g)
}

func compareQueue(t *rapid.T, q quanta, w, g *qos.Port, k int, total float64, cell, fill units.Bytes) {
	wq, gq := &w.Queues[k], &g.Queues[k]
	if (gq.Strict == qos.On) != (wq.Strict == qos.On) {
		t.Errorf("%s queue %d: strict %v, want %v", w.Name, k, gq.Strict, wq.Strict)
	}
	// Shares of the queues in use; a percent may go to a queue that has none.
	if wq.Strict != qos.On && math.Abs(gq.Share/total-wq.Share) > 0.011 {
		t.Errorf("%s queue %d: share %.3f, want %.3f", w.Name, k, gq.Share/total, wq.Share)
	}
	if (gq.ECN == qos.On) != (wq.ECN == qos.On) || wq.ECN != qos.On && gq.WRED == qos.On {
		t.Errorf("%s queue %d: ECN %v WRED %v, want %v", w.Name, k, gq.ECN, gq.WRED, wq.ECN)
	}
	if wq.ECN != qos.On {
		return
	}
	low, high := gq.Min, gq.Max
	if gq.Raw.Unit != "" {
		low, high, _ = gq.Raw.Bytes(cell, fill)
	}
	if math.Abs(float64(low-wq.Min)) > float64(q.ecn) || math.Abs(float64(high-wq.Max)) > float64(q.ecn) {
		t.Errorf("%s queue %d: ECN %d to %d, want %d to %d", w.Name, k, low, high, wq.Min, wq.Max)
	}
	if math.Abs(gq.Probability-wq.Probability) > 0.0051 {
		t.Errorf("%s queue %d: probability %v, want %v", w.Name, k, gq.Probability, wq.Probability)
	}
}

func compareWatchdog(t *rapid.T, q quanta, w, g *qos.Port) {
	if (g.Watchdog == qos.On) != (w.Watchdog == qos.On) {
		t.Errorf("%s: watchdog %v, want %v (%s)", w.Name, g.Watchdog, w.Watchdog, g.Reasons["watchdog"])
	}
	if w.Watchdog != qos.On || q.silentWatchdog {
		return
	}
	detect := q.detect
	if detect < 0 {
		detect = w.WatchdogRestore
	}
	off := func(a, b units.Time) units.Time { return max(a-b, b-a) }
	if off(g.WatchdogDetect, w.WatchdogDetect) > detect || off(g.WatchdogRestore, w.WatchdogRestore) > q.restore || g.WatchdogAction != w.WatchdogAction {
		t.Errorf("%s: watchdog %v %v %s, want %v %v %s", w.Name, g.WatchdogDetect, g.WatchdogRestore, g.WatchdogAction, w.WatchdogDetect, w.WatchdogRestore, w.WatchdogAction)
	}
}

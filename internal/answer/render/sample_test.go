package render

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/field/dialect"
	"weir/internal/field/dialect/dialecttest"
	"weir/internal/field/dialect/systems"
	"weir/internal/qos"
	"weir/units"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files of vendor samples again")

// TestVendorSamples reads configurations that vendors' guides show, writes
// what they do in the same language, reads that, and keeps what differs. Each
// line of the golden files was reviewed: it is a unit's rounding, a default
// that the sample leaves open and the writer states, or a refusal.
func TestVendorSamples(t *testing.T) {
	for _, s := range []struct {
		system, sample string
		cell, buffer   units.Bytes
	}{
		{"nxos", "nxos_roce.cfg", 0, 0},
		{"eos", "eos_roce_lossless.cfg", 0, 0},
		{"nvue", "cumulus_nvue_roce_set.txt", 0, 0},
		{"sonic", "sonic_config_db_qos.json", 0, 0},
		{"vrp", "huawei_roce.cfg", 0, 0},
		{"comware", "h3c_roce.cfg", 254, 0},
		{"junos", "junos_evo_roce_cos.conf", 0, 132 * units.MiB},
	} {
		t.Run(s.system, func(t *testing.T) {
			text := dialecttest.Sample(t, "samples/switch/"+s.sample)
			sys, _ := systems.Named(s.system)
			read, err := sys.Parse(bytes.NewReader(text), s.sample)
			if err != nil {
				t.Fatal(err)
			}
			fill := units.Bytes(0)
			if s.buffer > 0 {
				fill = s.buffer * 90 / 100 // no headroom is known of the sample's ports
			}
			for i := range read.Device.Ports {
				for q := range read.Device.Ports[i].Queues { // as an intent has them: in bytes
					toBytes(&read.Device.Ports[i].Queues[q], s.cell, fill)
				}
			}
			got := s.sample + "\n" + difference(sys, read.Device, &dialect.Target{Device: read.Device, Cell: s.cell, Buffer: s.buffer, Model: "the sample's switch"}, s.cell, fill)
			golden := filepath.Join("testdata", s.system+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("%s (-want +got):\n%s", golden, d)
			}
		})
	}
}

func toBytes(q *qos.Queue, cell, fill units.Bytes) {
	if low, high, ok := q.Raw.Bytes(cell, fill); ok {
		q.Min, q.Max, q.Raw = low, high, qos.Raw{}
	}
}

func difference(sys systems.System, want *qos.Device, target *dialect.Target, cell, fill units.Bytes) string {
	if want.Name == "" {
		want.Name = "sample"
	}
	texts, err := sys.Write(target)
	if err != nil {
		return "refused: " + err.Error() + "\n"
	}
	again, err := sys.Parse(strings.NewReader(texts[0].Body), "again")
	if err != nil {
		return err.Error() + "\n"
	}
	var b strings.Builder
	for _, n := range again.NotUnderstood {
		fmt.Fprintf(&b, "not understood: %s\n", n.Text)
	}
	if len(again.Device.Ports) != len(want.Ports) {
		fmt.Fprintf(&b, "%d ports, of %d\n", len(again.Device.Ports), len(want.Ports))
		return b.String()
	}
	for i := range want.Ports {
		portDifference(&b, &want.Ports[i], &again.Device.Ports[i], cell, fill)
	}
	if b.Len() == 0 {
		return "no difference\n"
	}
	return b.String()
}

func portDifference(b *strings.Builder, w, g *qos.Port, cell, fill units.Bytes) {
	say := func(what string, want, got any) {
		if want != got {
			fmt.Fprintf(b, "%s %s: %v, written %v\n", w.Name, what, want, got)
		}
	}
	say("name", w.Name, g.Name)
	say("MTU", w.MTU, g.MTU)
	say("trust", w.Trust, g.Trust)
	say("PFC", w.PFC, g.PFC)
	say("PFC priorities", w.PFCMask, g.PFCMask)
	say("watchdog", w.Watchdog, g.Watchdog)
	say("watchdog detection", w.WatchdogDetect, g.WatchdogDetect)
	say("watchdog restoration", w.WatchdogRestore, g.WatchdogRestore)
	say("pause received", w.GlobalPauseRx, g.GlobalPauseRx)
	say("pause sent", w.GlobalPauseTx, g.GlobalPauseTx)
	for d := range uint8(64) {
		say(fmt.Sprintf("queue of DSCP %d", d), w.Queue(d), g.Queue(d))
		say(fmt.Sprintf("lossless DSCP %d", d), w.Lossless(d), g.Lossless(d))
	}
	for k := range w.Queues {
		wq, gq := w.Queues[k], g.Queues[k]
		toBytes(&gq, cell, fill)
		say(fmt.Sprintf("queue %d strict", k), wq.Strict, gq.Strict)
		say(fmt.Sprintf("queue %d share", k), math.Round(wq.Share*1000)/1000, math.Round(gq.Share*1000)/1000)
		say(fmt.Sprintf("queue %d ECN", k), wq.ECN, gq.ECN)
		say(fmt.Sprintf("queue %d min", k), wq.Min, gq.Min)
		say(fmt.Sprintf("queue %d max", k), wq.Max, gq.Max)
		say(fmt.Sprintf("queue %d probability", k), wq.Probability, gq.Probability)
	}
}

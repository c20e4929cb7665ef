package switches

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/internal/field/remote"
	"weir/internal/telemetry"
)

// snmpd starts Debian's agent on a port of loopback.
func snmpd(t *testing.T) string {
	t.Helper()
	bin, err := exec.LookPath("snmpd")
	if err != nil {
		if bin, err = exec.LookPath("/usr/sbin/snmpd"); err != nil {
			t.Skip("snmpd is not installed")
		}
	}
	dir := t.TempDir()
	// PFC rows of IEEE8021-PFC-MIB, as a switch has them, for interface 1.
	conf := "rocommunity s3cret 127.0.0.1\n" +
		"override .1.3.111.2.802.1.1.21.1.1.1.2.1 counter 88120\noverride .1.3.111.2.802.1.1.21.1.1.1.3.1 counter 4294967201\n"
	if err := os.WriteFile(filepath.Join(dir, "snmpd.conf"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := c.LocalAddr().String()
	c.Close()
	cmd := exec.Command(bin, "-f", "-Lf", filepath.Join(dir, "log"), "-C", "-c", filepath.Join(dir, "snmpd.conf"), "-p", filepath.Join(dir, "pid"), "udp:"+addr)
	cmd.Env = append(os.Environ(), "SNMP_PERSISTENT_DIR="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return addr
}

func loopback(t *testing.T, counter string) uint64 {
	t.Helper()
	b, err := os.ReadFile("/sys/class/net/lo/statistics/" + counter)
	if err != nil {
		t.Skip(err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// What a real agent says of the loopback interface is what the kernel says.
func TestSNMP(t *testing.T) {
	addr := snmpd(t)
	poll, err := SNMP(SNMPConfig{Address: addr, Community: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	before := loopback(t, "rx_bytes")
	var rs []Reading
	until(t, "an answer of snmpd", func() bool {
		rs, err = poll(context.Background())
		return err == nil && len(rs) > 0
	})
	find := func(name string, labels ...telemetry.Label) (Reading, bool) {
		for _, r := range rs {
			if r.Port == "lo" && telemetry.Table()[r.Metric].Name == name && fmt.Sprint(r.Labels[:len(labels)]) == fmt.Sprint(labels) {
				return r, true
			}
		}
		t.Errorf("no %s of lo", name)
		return Reading{}, false
	}
	after := loopback(t, "rx_bytes")
	// snmpd reads the kernel anew after some seconds only.
	if r, ok := find("roce_switch_port_bytes_total", telemetry.Label{Name: "direction", Value: "rx"}); ok && (r.Value == 0 || r.Value > after || r.Value+(1<<20) < before) {
		t.Errorf("lo received %d bytes, the kernel says %d to %d", r.Value, before, after)
	}
	if r, ok := find("roce_switch_pfc_pause_frames_total", telemetry.Label{Name: "direction", Value: "rx"}); ok && (r.Value != 4294967201 || r.Bits != 32) {
		t.Errorf("%+v", r)
	}
	if r, ok := find("roce_switch_pfc_pause_frames_total", telemetry.Label{Name: "direction", Value: "tx"}); ok && r.Value != 88120 {
		t.Errorf("%+v", r)
	}
	if r, ok := find("roce_switch_port_info"); ok && r.Labels[1].Value != "up" {
		t.Errorf("%+v", r)
	}
	wrong, err := SNMP(SNMPConfig{Address: addr, Community: "guess"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	if _, err := wrong(ctx); err == nil || strings.Contains(err.Error(), "guess") {
		t.Errorf("a wrong community: %v", err)
	}
	for _, bad := range []SNMPConfig{{Address: ""}, {Address: "a:b"}, {Address: "a", Version: "1"}} {
		if _, err := SNMP(bad); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// A poll that fails ends its series, slows down and comes back; counters of 32
// bits go on over their wrap.
func TestPolling(t *testing.T) {
	l := openStore(t)
	w := NewWriter(l, nil, "leaf-1", "snmp", nil, nil)
	answers := make(chan func() ([]Reading, error), 10)
	n := 0
	poll := func(context.Context) ([]Reading, error) {
		n++
		select {
		case f := <-answers:
			return f()
		default:
			return nil, errors.New("no answer")
		}
	}
	r := metric("roce_switch_pfc_pause_frames_total", "direction", "rx")
	r.Port, r.Bits = "e1", 32
	say := func(v uint64) { answers <- func() ([]Reading, error) { r.Value = v; return []Reading{r}, nil } }
	say(4294967290)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		w.Run(ctx, 50*time.Millisecond, poll, slog.New(slog.DiscardHandler))
		close(done)
	}()
	const frames = `roce_switch_pfc_pause_frames_total{switch="leaf-1",port="e1",direction="rx"}`
	until(t, "the first answer", func() bool { return value(t, l, frames) == 4294967290 })
	until(t, "the failure", func() bool { return value(t, l, `weir_switch_up`) == 0 })
	check(t, l, map[string]float64{"count(" + frames + ") or vector(0)": 0})
	say(5)
	until(t, "the way back", func() bool { return value(t, l, frames) == 4294967301 })
	stop()
	<-done
	if n > 40 {
		t.Errorf("%d polls: failures do not slow it down", n)
	}
}

// Recorded outputs of switches become counters, without a parser of this
// package's own. The expected values are read off the outputs.
func TestCommandOutput(t *testing.T) {
	for file, want := range map[string]string{
		"huawei_display_dcb_pfc.txt":           "roce_switch_pfc_pause_frames_total 100GE1/0/2 4410 priority=3 direction=rx",
		"h3c_display_pfc.txt":                  "roce_switch_pfc_pause_frames_total HGE1/0/2 456 priority=3 direction=tx",
		"eos_show_pfc_counters.json":           "roce_switch_pfc_pause_frames_total Ethernet3/4/1 2 direction=tx",
		"nxos_show_interface_pfc.txt":          "roce_switch_pfc_pause_frames_total Ethernet",
		"sonic_show_pfc_counters.txt":          "roce_switch_pfc_pause_frames_total Ethernet",
		"sonic_show_queue_wredcounters.txt":    "roce_switch_queue_ecn_marked_packets_total Ethernet",
		"eos_show_qos_ecn_counters_queue.json": "roce_switch_queue_ecn_marked_packets_total Ethernet10/28/1 0 queue=1",
	} {
		text, err := os.ReadFile(samples + file)
		if err != nil {
			t.Skip(err)
		}
		rs, err := ParseOutput(context.Background(), "leaf-0", "", text)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		var all []string
		for _, r := range rs {
			m := telemetry.Table()[r.Metric]
			s := fmt.Sprintf("%s %s %d", m.Name, r.Port, r.Value)
			for _, l := range r.Labels {
				s += " " + l.Name + "=" + l.Value
			}
			all = append(all, s)
			found = found || strings.HasPrefix(s, want)
		}
		if !found {
			t.Errorf("%s: no %q in\n%s", file, want, strings.Join(all, "\n"))
		}
	}
}

// fake answers commands from a table.
type fake map[string]string

func (f fake) Run(_ context.Context, _, command string, _ time.Duration) (remote.Result, error) {
	out, ok := f[command]
	if !ok {
		return remote.Result{Exit: 1, Stderr: []byte("% Invalid input")}, nil
	}
	return remote.Result{Stdout: []byte(out)}, nil
}

func TestSSHPoll(t *testing.T) {
	poll, err := SSH(fake{"display dcb pfc interface": "Interface     Queue       Received(Frames)     ReceivedRate(pps)     DeadlockNum\n                          Transmitted(Frames)  TransmittedRate(pps)  RecoveryNum\n100GE1/0/2        3                   4410                    12               0\n                                   9912004                  8811               0\n"}, "leaf-0", "huawei")
	if err != nil {
		t.Fatal(err)
	}
	rs, err := poll(context.Background())
	if err != nil || len(rs) != 4 {
		t.Errorf("%v, %v", rs, err)
	}
	if poll, err = SSH(fake{}, "leaf-0", "eos"); err != nil {
		t.Fatal(err)
	}
	if _, err := poll(context.Background()); err == nil {
		t.Error("a switch that knows none of the commands is no error")
	}
	if _, err := SSH(fake{}, "leaf-0", "windows"); err == nil {
		t.Error("an unknown system was taken")
	}
}

package switchcore

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"weir/internal/qos"
	"weir/units"
)

// small returns a switch of n ports at 100 Gb/s with priority 3 lossless.
func small(n int) Config {
	cfg := Config{
		Ports:        make([]PortConfig, n),
		Buffer:       16 * units.MB,
		Lossless:     1 << 3,
		PFC:          true,
		AlphaIngress: 0.125,
		AlphaEgress:  1,
		XONOffset:    3 * units.KiB,
		Gap:          20,
		PauseQuanta:  65535,
	}
	for i := range cfg.Ports {
		cfg.Ports[i] = PortConfig{Rate: 100 * units.Gbps, Headroom: 40 * units.KB}
	}
	return cfg
}

func mustNew(t testing.TB, cfg Config) *Switch {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func check(t testing.TB, s *Switch) {
	t.Helper()
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"no ports", func(c *Config) { c.Ports = nil }, "0 ports"},
		{"buffer", func(c *Config) { c.Buffer = 100 * units.KB }, "take 160KB of a buffer of 100KB"},
		{"alpha", func(c *Config) { c.AlphaIngress = 1e-5 }, "ingress alpha"},
		{"no alpha", func(c *Config) { c.AlphaIngress = 0 }, "ingress alpha of 0"},
		{"static", func(c *Config) { c.Threshold = StaticThreshold; c.StaticXOFF, c.StaticXON = 10, 10 }, "static XOFF"},
		{"quanta", func(c *Config) { c.PauseQuanta = 0 }, "pause quanta of 0"},
		{"rate", func(c *Config) { c.Ports[2].Rate = 0 }, "port 2"},
		{"ECN", func(c *Config) { c.ECN[3] = qos.ECN{Enabled: true, Min: 20, Max: 10} }, "ECN of priority 3"},
		{"watchdog", func(c *Config) { c.Watchdog.Enabled = true }, "watchdog"},
	} {
		cfg := small(4)
		c.change(&cfg)
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}

func TestPacketPassesUnchanged(t *testing.T) {
	s := mustNew(t, small(4))
	in := Entry{Packet: 0xdeadbeef, Bytes: MaxPacketBytes, In: 3, Out: 1, Priority: 3, Flags: Capable}
	if o := s.Enqueue(0, &in); o != (Outcome{}) {
		t.Fatalf("outcome %+v", o)
	}
	check(t, s)
	var out Entry
	var o Outcome
	if !s.Dequeue(0, 1, &out, &o) || out != in || o != (Outcome{}) {
		t.Fatalf("got %+v %+v, want %+v", out, o, in)
	}
	check(t, s)
	if s.Dequeue(1, 1, &out, &o) {
		t.Fatal("a second packet from an empty switch")
	}
	c := s.Counters(1, 1, 3)
	if c.TxPackets != 1 || c.TxBytes != MaxPacketBytes || c.RxPackets != 0 || c.QueueMax != MaxPacketBytes {
		t.Fatalf("%+v", c)
	}
}

// BenchmarkForward is one packet in and one out, with 64 packets waiting at
// each port in one priority.
func BenchmarkForward(b *testing.B) {
	for _, ports := range []int{8, 32, 128} {
		b.Run(fmt.Sprintf("%dports", ports), func(b *testing.B) { forward(b, ports, 1<<3) })
	}
	b.Run("32ports-2strict-2weighted", func(b *testing.B) { forward(b, 32, 0xf0) })
}

func forward(b *testing.B, ports int, priorities uint8) {
	cfg := small(ports)
	cfg.Buffer = 128 * units.MB
	cfg.Lossless = priorities &^ (1 << 7)
	cfg.Strict = 0xc0 & priorities
	cfg.Weight[4], cfg.Weight[5] = 30, 70
	for i := range cfg.ECN {
		cfg.ECN[i] = qos.ECN{Enabled: true, Min: 400 * units.KB, Max: 1600 * units.KB, Probability: 0.2}
	}
	s := mustNew(b, cfg)
	var prios []uint8
	for p := range uint8(8) {
		if priorities>>p&1 != 0 {
			prios = append(prios, p)
		}
	}
	mask := uint16(ports - 1)
	e := Entry{Bytes: 4176, Flags: Capable}
	for i := range ports * 64 {
		e.In, e.Out, e.Priority = uint16(i*7)&mask, uint16(i)&mask, prios[i>>8%len(prios)]
		s.Enqueue(0, &e)
	}
	b.ReportAllocs()
	b.ResetTimer()
	var o Outcome
	now := units.Time(0)
	for i := range b.N {
		now += 100
		e.In, e.Out = uint16(i*7)&mask, uint16(i*3)&mask
		s.Enqueue(now, &e)
		s.Dequeue(now, e.Out, &e, &o)
	}
}

// The hot state of a port is 13 cache lines: one of its own, one a queue, half
// a line an ingress. A switch of 128 ports takes 106 KB before its queues fill.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"egress", unsafe.Sizeof(egress{}), 64},
		{"ingress", unsafe.Sizeof(ingress{}), 32},
		{"port", unsafe.Sizeof(port{}), 64 + 8*64 + 8*32},
		{"entry", unsafe.Sizeof(Entry{}), 16},
		{"outcome", unsafe.Sizeof(Outcome{}), 8},
	} {
		if c.got != c.want {
			t.Errorf("%s has %d bytes, want %d", c.name, c.got, c.want)
		}
	}
}

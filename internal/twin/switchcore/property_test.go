package switchcore

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"weir/internal/qos"
	"weir/units"
)

// model is the switch in its plainest form: lists of packets and sums taken
// over all of them at each question. It has no scheduler: the packet that the
// switch chose is checked to be allowed.
type model struct {
	cfg    Config
	queues map[[2]int][]Entry // by egress port, priority
	shared map[[2]int]int64   // by ingress port, priority: reserve and shared part
	room   map[[2]int]int64   // headroom
	xoff   map[[2]int]bool
	until  map[[2]int]units.Time // end of the pause in force
}

func newModel(cfg Config) *model {
	return &model{cfg, map[[2]int][]Entry{}, map[[2]int]int64{}, map[[2]int]int64{}, map[[2]int]bool{}, map[[2]int]units.Time{}}
}

func (m *model) lossless(prio int) bool { return m.cfg.Lossless>>prio&1 != 0 }

func (m *model) sends(port, prio int) bool {
	return m.cfg.PFC && m.lossless(prio) && m.cfg.Ports[port].NoPFC>>prio&1 == 0
}

// free recomputes the free shared buffer from all there is.
func (m *model) free() int64 {
	free := int64(m.cfg.Buffer)
	for i, p := range m.cfg.Ports {
		for prio := range 8 {
			if m.lossless(prio) {
				free -= int64(m.cfg.Reserve)
			}
			if m.sends(i, prio) {
				free -= int64(p.Headroom)
			}
		}
	}
	for _, v := range m.shared {
		free -= max(0, v-int64(m.cfg.Reserve))
	}
	for k, q := range m.queues {
		if !m.lossless(k[1]) {
			for _, e := range q {
				free -= int64(e.Bytes)
			}
		}
	}
	return free
}

func (m *model) threshold() int64 {
	if m.cfg.Threshold == StaticThreshold {
		return int64(m.cfg.StaticXOFF)
	}
	return m.free() * int64(m.cfg.AlphaIngress*1024) / 1024
}

func (m *model) bytes(port, prio int) (sum int64) {
	for _, e := range m.queues[[2]int{port, prio}] {
		sum += int64(e.Bytes)
	}
	return sum
}

func (m *model) enqueue(e Entry) OutcomeFlags {
	prio, size := int(e.Priority), int64(e.Bytes)
	in, out := [2]int{int(e.In), prio}, [2]int{int(e.Out), prio}
	if !m.lossless(prio) {
		limit := m.free() * int64(m.cfg.AlphaEgress*1024) / 1024
		if m.cfg.AlphaEgress != 0 && m.bytes(out[0], prio)+size > limit || size > m.free() {
			return Dropped
		}
		m.queues[out] = append(m.queues[out], e)
		return 0
	}
	reserve := int64(m.cfg.Reserve)
	more := max(0, m.shared[in]+size-reserve) - max(0, m.shared[in]-reserve)
	sends := m.sends(in[0], prio)
	within := m.shared[in]+size-reserve <= m.threshold() || m.shared[in]+size <= reserve
	trigger := sends && !m.xoff[in] && !m.cfg.TriggerInHeadroom
	switch {
	case (within || trigger) && more <= m.free():
		m.shared[in] += size
	case sends && m.room[in]+size <= int64(m.cfg.Ports[in[0]].Headroom):
		m.room[in] += size
	default:
		return Dropped | LosslessDrop
	}
	m.queues[out] = append(m.queues[out], e)
	if sends && !m.xoff[in] && (m.room[in] > 0 || max(0, m.shared[in]-reserve) >= m.threshold()) {
		m.xoff[in] = true
		return XOFF
	}
	return 0
}

func (m *model) release(e Entry) OutcomeFlags {
	prio := int(e.Priority)
	in := [2]int{int(e.In), prio}
	if !m.lossless(prio) {
		return 0
	}
	fromRoom := min(m.room[in], int64(e.Bytes))
	m.room[in] -= fromRoom
	m.shared[in] -= int64(e.Bytes) - fromRoom
	if !m.xoff[in] || m.room[in] > 0 {
		return 0
	}
	used := m.shared[in] - int64(m.cfg.Reserve)
	low := used <= m.threshold()-int64(m.cfg.XONOffset)
	if m.cfg.Threshold == StaticThreshold {
		low = used <= int64(m.cfg.StaticXON)
	}
	if used <= 0 || low {
		m.xoff[in] = false
		return XON
	}
	return 0
}

func (m *model) sendable(now units.Time, port int) []int {
	var prios []int
	for prio := range 8 {
		if k := [2]int{port, prio}; len(m.queues[k]) > 0 && m.until[k] <= now {
			prios = append(prios, prio)
		}
	}
	return prios
}

func drawConfig(t *rapid.T) Config {
	n := rapid.IntRange(1, 4).Draw(t, "ports")
	cfg := Config{
		Lossless:          uint8(rapid.IntRange(0, 255).Draw(t, "lossless")),
		Strict:            uint8(rapid.IntRange(0, 255).Draw(t, "strict")),
		PFC:               rapid.IntRange(0, 4).Draw(t, "pfc") != 0,
		AlphaIngress:      float64(rapid.SampledFrom([]int{1, 64, 128, 1024, 8192}).Draw(t, "alpha")) / 1024,
		AlphaEgress:       float64(rapid.SampledFrom([]int{0, 128, 1024, 8192}).Draw(t, "egress alpha")) / 1024,
		XONOffset:         units.Bytes(rapid.IntRange(0, 4000).Draw(t, "XON offset")),
		Reserve:           units.Bytes(rapid.SampledFrom([]int{0, 1500, 4096}).Draw(t, "reserve")),
		TriggerInHeadroom: rapid.Bool().Draw(t, "trigger"),
		PauseQuanta:       100,
	}
	if rapid.IntRange(0, 3).Draw(t, "model") == 0 {
		cfg.Threshold = StaticThreshold
		cfg.StaticXON = units.Bytes(rapid.IntRange(0, 10_000).Draw(t, "static XON"))
		cfg.StaticXOFF = cfg.StaticXON + units.Bytes(rapid.IntRange(1, 10_000).Draw(t, "static XOFF"))
	}
	for range n {
		cfg.Ports = append(cfg.Ports, PortConfig{
			Rate:     100 * units.Gbps,
			Headroom: units.Bytes(rapid.SampledFrom([]int{0, 3000, 9000}).Draw(t, "headroom")),
			NoPFC:    rapid.SampledFrom([]uint8{0, 0, 0, 8, 255}).Draw(t, "no PFC"),
		})
	}
	for p := range cfg.Weight {
		cfg.Weight[p] = uint32(rapid.IntRange(0, 100).Draw(t, "weight"))
	}
	cfg.Buffer = cfg.private() + units.Bytes(rapid.IntRange(1, 60_000).Draw(t, "shared buffer"))
	return cfg
}

// Any sequence of calls: the switch decides as the model does, gives every
// packet back once, unchanged and in order within its queue, and its accounting
// holds (Check) after each call.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		m := newModel(cfg)
		var now units.Time
		var handle uint32
		drawPort := func() uint16 { return uint16(rapid.IntRange(0, len(cfg.Ports)-1).Draw(t, "port")) }
		drawPrio := func() uint8 { return uint8(rapid.IntRange(0, 7).Draw(t, "priority")) }
		take := func(port uint16, e Entry, o Outcome, last bool) {
			k := [2]int{int(port), int(e.Priority)}
			q := m.queues[k]
			i := 0
			if last {
				i = len(q) - 1
			}
			if q[i] != e {
				t.Fatalf("got %+v, want %+v", e, q[i])
			}
			m.queues[k] = slices.Delete(slices.Clone(q), i, i+1)
			if want := m.release(e); o.Flags != want {
				t.Fatalf("release of %+v: flags %b, want %b", e, o.Flags, want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"enqueue": func(t *rapid.T) {
				handle++
				e := Entry{Packet: handle, Bytes: uint32(rapid.IntRange(64, 9216).Draw(t, "bytes")), In: drawPort(), Out: drawPort(), Priority: drawPrio()}
				if got, want := s.Enqueue(now, &e).Flags, m.enqueue(e); got != want {
					t.Fatalf("%+v: flags %b, want %b", e, got, want)
				}
			},
			"dequeue": func(t *rapid.T) {
				port := drawPort()
				now += units.Time(rapid.IntRange(0, 1_000_000).Draw(t, "time"))
				allowed := m.sendable(now, int(port))
				if s.Sendable(now, port) != (len(allowed) > 0) {
					t.Fatalf("port %d: sendable %v, want queues %v", port, s.Sendable(now, port), allowed)
				}
				var e Entry
				var o Outcome
				if ok := s.Dequeue(now, port, &e, &o); ok != (len(allowed) > 0) {
					t.Fatalf("port %d: dequeued %v, want queues %v", port, ok, allowed)
				} else if !ok {
					return
				}
				if !slices.Contains(allowed, int(e.Priority)) {
					t.Fatalf("port %d: sent priority %d of %v", port, e.Priority, allowed)
				}
				for _, p := range allowed {
					if cfg.Strict>>p&1 != 0 && (cfg.Strict>>e.Priority&1 == 0 || p > int(e.Priority)) {
						t.Fatalf("port %d: sent priority %d before strict %d", port, e.Priority, p)
					}
				}
				take(port, e, o, false)
			},
			"drain": func(t *rapid.T) {
				port, prio := drawPort(), drawPrio()
				var e Entry
				var o Outcome
				if ok := s.Drain(port, prio, &e, &o); ok != (len(m.queues[[2]int{int(port), int(prio)}]) > 0) {
					t.Fatalf("drained %v", ok)
				} else if ok {
					take(port, e, o, false)
				}
			},
			"enqueue and drop": func(t *rapid.T) {
				handle++
				e := Entry{Packet: handle, Bytes: uint32(rapid.IntRange(64, 9216).Draw(t, "bytes")), In: drawPort(), Out: drawPort(), Priority: drawPrio()}
				got, want := s.Enqueue(now, &e).Flags, m.enqueue(e)
				if got != want {
					t.Fatalf("%+v: flags %b, want %b", e, got, want)
				}
				if got&Dropped == 0 {
					var o Outcome
					out := e.Out
					s.DropLast(out, e.Priority, &e, &o)
					take(out, e, o, true)
				}
			},
			"pause": func(t *rapid.T) {
				port, prio := drawPort(), drawPrio()
				quanta := uint16(rapid.IntRange(0, 200).Draw(t, "quanta"))
				s.Pause(now, port, prio, quanta)
				if m.sends(int(port), int(prio)) { // obeys where it sends
					m.until[[2]int{int(port), int(prio)}] = now + 5120*units.Time(quanta)
				}
			},
			"": func(t *rapid.T) {
				if err := s.Check(); err != nil {
					t.Fatal(err)
				}
				for k, q := range m.queues {
					if got := s.QueueBytes(uint16(k[0]), uint8(k[1])); int64(got) != m.bytes(k[0], k[1]) || int(s.QueuePackets(uint16(k[0]), uint8(k[1]))) != len(q) {
						t.Fatalf("queue %v: %d bytes, want %d", k, got, m.bytes(k[0], k[1]))
					}
				}
				if free, _ := s.SharedFree(); int64(free) != m.free() {
					t.Fatalf("free %d, want %d", free, m.free())
				}
			},
		})
	})
}

// Relabelling the ports permutes the outcomes and the counters and changes
// nothing else.
func TestRelabellingPortsPermutesResults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := drawConfig(t)
		for i := range cfg.ECN {
			cfg.ECN[i] = qos.ECN{Enabled: true, Min: 5_000, Max: 30_000, Probability: 0.5}
		}
		n := len(cfg.Ports)
		perm := rapid.Permutation([]int{0, 1, 2, 3}[:n]).Draw(t, "permutation")
		other := cfg
		other.Ports = make([]PortConfig, n)
		for i, p := range perm {
			other.Ports[p] = cfg.Ports[i]
		}
		a, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		b, err := New(other)
		if err != nil {
			t.Fatal(err)
		}
		to := func(port uint16) uint16 { return uint16(perm[port]) }
		var now units.Time
		for i := range rapid.IntRange(1, 200).Draw(t, "steps") {
			port := uint16(rapid.IntRange(0, n-1).Draw(t, "port"))
			prio := uint8(rapid.IntRange(0, 7).Draw(t, "priority"))
			now += units.Time(rapid.IntRange(0, 300_000).Draw(t, "time"))
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0, 1:
				e := Entry{Packet: uint32(i), Bytes: uint32(rapid.IntRange(64, 9216).Draw(t, "bytes")), In: port, Out: uint16(rapid.IntRange(0, n-1).Draw(t, "out")), Priority: prio, Flags: Capable}
				f := e
				f.In, f.Out = to(e.In), to(e.Out)
				if x, y := a.Enqueue(now, &e), b.Enqueue(now, &f); x != y {
					t.Fatalf("step %d: %+v and %+v", i, x, y)
				}
			case 2, 3:
				var e, f Entry
				var x, y Outcome
				ok := a.Dequeue(now, port, &e, &x)
				if ok != b.Dequeue(now, to(port), &f, &y) {
					t.Fatalf("step %d: one sends, the other does not", i)
				}
				if !ok {
					continue
				}
				if e.In, e.Out = to(e.In), to(e.Out); e != f || x != y {
					t.Fatalf("step %d: %+v %+v and %+v %+v", i, e, x, f, y)
				}
			case 4:
				quanta := uint16(rapid.IntRange(0, 200).Draw(t, "quanta"))
				a.Pause(now, port, prio, quanta)
				b.Pause(now, to(port), prio, quanta)
			}
		}
		for port := range uint16(n) {
			for prio := range uint8(8) {
				if x, y := a.Counters(now, port, prio), b.Counters(now, to(port), prio); x != y {
					t.Fatalf("port %d: %+v and %+v", port, x, y)
				}
			}
		}
	})
}

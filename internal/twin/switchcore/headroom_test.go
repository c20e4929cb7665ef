package switchcore

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"weir/units"
)

// link is a worst case for headroom: the cable, and what each end is busy with.
type link struct {
	rate     units.BitRate
	metres   units.Metres
	frame    uint32     // data frames, of the largest size, from sender and receiver
	reaction units.Time // the pause frame's own 84 bytes included
	headroom units.Bytes
	less20   units.Bytes
}

// First principles (validation target V25): rate x (2 x delay + reaction) + the
// sender's and the receiver's largest frame with preamble and gap, at 5 ns a
// metre. Twice the delay and the reaction make a whole number of frames (2, 5,
// 18, 2), so that the pause takes effect when a frame has just started, and
// the headroom, worked out by hand, is 4, 7, 20 and 4 frames with their gaps.
var links = []link{
	{100 * units.Gbps, 5, 4176, 621_360, 16_784, 13_427},
	{100 * units.Gbps, 300, 9216, 694_400, 64_652, 51_721},
	{400 * units.Gbps, 100, 4176, 510_560, 83_920, 67_136},
	{40 * units.Gbps, 10, 1518, 515_200, 6_152, 4_921},
}

// worst fills a blocked switch over n links and returns the lossless drops and
// the deepest headroom.
func (l *link) worst(t *testing.T, n int, headroom units.Bytes, reaction units.Time) (int, units.Bytes) {
	cfg := small(n + 1)
	cfg.Buffer = 2*units.MB + units.Bytes(n+1)*headroom
	cfg.Ports = make([]PortConfig, n+1)
	for i := range cfg.Ports {
		cfg.Ports[i] = PortConfig{Rate: l.rate, Headroom: headroom}
	}
	h := &harness{
		s: mustNew(t, cfg), rate: l.rate, frame: l.frame, gap: 20,
		delay: l.metres.PropagationDelay(), reaction: reaction,
		out: uint16(n), blocked: true, senders: make([]sender, n),
	}
	h.wait = h.wire(l.frame) // the receiver's own frame has just started
	for i := range h.senders {
		h.senders[i].left = 2000
		if i > 0 {
			h.senders[i].size = l.frame - uint32(i)*64
		}
	}
	h.run()
	check(t, h.s)
	_, room := h.s.Watermarks()
	return h.dropped, room
}

// Zero drops with the headroom of first principles, over all alignments of the
// sender's frames to the pause, and at least one in the worst with 20 % less.
func TestHeadroomOfFirstPrinciples(t *testing.T) {
	for i := range links {
		l := &links[i]
		frame := l.rate.TransmitTime(units.Bytes(l.frame) + 20)
		// A picosecond more, and the sender's next frame has started.
		worst := l.reaction + 1
		for k := range units.Time(64) {
			if drops, _ := l.worst(t, 1, l.headroom, max(0, worst-frame*k/32)); drops != 0 {
				t.Errorf("%v, %v: %d drops with headroom %d", l.rate, l.metres, drops, l.headroom)
			}
		}
		if _, room := l.worst(t, 1, l.headroom, worst); room < l.headroom*98/100 {
			t.Errorf("%v, %v: no more than %v of the headroom %v used: the case is not the worst", l.rate, l.metres, room, l.headroom)
		}
		if drops, _ := l.worst(t, 1, l.less20, worst); drops == 0 {
			t.Errorf("%v, %v: no drop with headroom %d", l.rate, l.metres, l.less20)
		}
	}
}

// The threshold of each port falls while the others fill up. Even so no port
// needs more headroom than alone.
func TestHeadroomSufficesForManyPorts(t *testing.T) {
	for i := range links {
		l := &links[i]
		for _, n := range []int{2, 7, 16} {
			if drops, _ := l.worst(t, n, l.headroom, l.reaction+1); drops != 0 {
				t.Errorf("%v, %v, %d ports: %d drops", l.rate, l.metres, n, drops)
			}
		}
	}
}

// A lossless network with pause alone: case W0b of the public simulators. Two
// hosts send 10 MB each to a third through one switch of 24 ports, 100 Gb/s,
// 1 us links, 1048-byte packets; the last ACK ends the case 2 us after the last
// packet. Each tool's model of the switch is a Config, and both send as many
// XOFF frames as the tool itself did.
func TestPauseOnlyAsInPublicSimulators(t *testing.T) {
	ns3 := Config{
		Buffer: 32 * units.MiB, AlphaIngress: 1.0 / 8, XONOffset: 3 * units.KiB, Reserve: 4 * units.KiB,
		TriggerInHeadroom: true,
	}
	htsim := Config{
		Buffer: units.GiB, Threshold: StaticThreshold, StaticXOFF: 98_400, StaticXON: 88_560,
	}
	for _, c := range []struct {
		name  string
		cfg   Config
		round units.Time
		ack   uint32 // bytes
		xoffs uint64
		end   units.Time
	}{
		// HPCC's ns-3 model, whose transmission times are whole nanoseconds.
		{"HPCC", ns3, units.Nanosecond, 60, 138, 1_664_091 * units.Nanosecond},
		{"htsim", htsim, 0, 64, 298, 1_680_890 * units.Nanosecond},
	} {
		cfg := c.cfg
		cfg.Lossless, cfg.PFC, cfg.PauseQuanta, cfg.PauseForever = 1<<3, true, 65535, true
		cfg.Ports = make([]PortConfig, 24)
		for i := range cfg.Ports {
			cfg.Ports[i] = PortConfig{Rate: 100 * units.Gbps, Headroom: 37_500}
		}
		h := &harness{
			s: mustNew(t, cfg), rate: 100 * units.Gbps, frame: 1048, round: c.round,
			delay: units.Microsecond, out: 2, senders: make([]sender, 2),
		}
		h.reaction = h.wire(64)
		h.senders[0].left, h.senders[1].left = 10_000, 10_000
		h.run()
		check(t, h.s)
		if h.dropped != 0 || h.received != 20_000 {
			t.Fatalf("%s: %d dropped, %d received", c.name, h.dropped, h.received)
		}
		if got := h.s.Counters(h.now, 0, 3).XOFFs + h.s.Counters(h.now, 1, 3).XOFFs; got != c.xoffs {
			t.Errorf("%s: %d XOFF, want %d", c.name, got, c.xoffs)
		}
		end := h.last + 2*(h.delay+h.wire(c.ack))
		if d := end - c.end; d < -5*units.Nanosecond || d > 5*units.Nanosecond {
			t.Errorf("%s: ends at %v, want %v within 5 ns", c.name, end, c.end)
		}
	}
}

// Random senders that obey pause after cable and reaction: with the headroom
// of first principles nothing is ever dropped, every sender that was stopped
// gets going again, and all packets arrive (validation target V28).
func TestLosslessWithHeadroomAsComputed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := units.BitRate(rapid.SampledFrom([]int{25, 100, 400}).Draw(t, "rate")) * units.Gbps
		n := rapid.IntRange(1, 5).Draw(t, "senders")
		delay := units.Time(rapid.IntRange(0, 2_000_000).Draw(t, "delay"))
		reaction := units.Time(rapid.IntRange(0, 1_000_000).Draw(t, "reaction"))
		const frame = 4176
		headroom := rate.BytesIn(2*delay+reaction) + 1 + 2*(frame+20)
		cfg := Config{
			Lossless: 1 << 3, PFC: true, PauseQuanta: 65535, PauseForever: true,
			AlphaIngress:      float64(rapid.SampledFrom([]int{1, 128, 1024, 4096}).Draw(t, "alpha")) / 1024,
			XONOffset:         units.Bytes(rapid.IntRange(0, 10_000).Draw(t, "XON offset")),
			Gap:               20,
			TriggerInHeadroom: false,
		}
		for range n + 1 {
			cfg.Ports = append(cfg.Ports, PortConfig{Rate: rate, Headroom: headroom})
		}
		// n queues leave B/(1 + n x alpha) free, less the packet by which each
		// may exceed its threshold, and there must be a place for one more.
		least := int(float64((n+1)*frame) * (1 + float64(n)*cfg.AlphaIngress))
		cfg.Buffer = cfg.private() + units.Bytes(least+rapid.IntRange(0, 500_000).Draw(t, "shared"))
		s, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		h := &harness{rate: rate, frame: frame, gap: 20, delay: delay, reaction: reaction, s: s, out: uint16(n), senders: make([]sender, n)}
		h.wait = h.wire(frame)
		packets := 0
		for i := range h.senders {
			h.senders[i].left = rapid.IntRange(0, 300).Draw(t, "packets")
			h.senders[i].size = uint32(rapid.SampledFrom([]int{64, 1086, frame}).Draw(t, "size"))
			packets += h.senders[i].left
		}
		h.run()
		if err := s.CheckLossless(h.now); err != nil || h.dropped != 0 {
			t.Fatal(fmt.Sprint(h.dropped, " dropped: ", err))
		}
		if h.received != packets {
			t.Fatalf("%d of %d packets received", h.received, packets)
		}
		for i := range h.senders {
			if h.senders[i].paused || s.XOFFInForce(uint16(i), 3) {
				t.Fatalf("sender %d is still stopped", i)
			}
		}
	})
}

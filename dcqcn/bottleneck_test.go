package dcqcn_test

import (
	"testing"

	"weir/dcqcn"
	"weir/units"
)

// bottleneck runs long flows through one lossless egress port, and returns its
// utilisation in the second half of the time. Packets are marked when they
// are enqueued, by the bytes in the queue, themselves and the one in service
// included: never up to kmin, with certainty above kmax, and in between with a
// probability that grows to pmax (mark draws it).
func bottleneck(p dcqcn.Params, flows int, frame uint32, kmin, kmax units.Bytes, pmax float64, rtt, end units.Time) float64 {
	type flow struct {
		dcqcn.Reaction
		dcqcn.Notification
		next units.Time
		cnps []units.Time // on their way
	}
	f := make([]flow, flows)
	tx := p.LineRate.TransmitTime(units.Bytes(frame))
	for i := range f {
		f[i].Reset(&p)
		f[i].next = units.Time(i) * tx / units.Time(flows)
	}
	pause := p.LineRate.TransmitTime(500 * units.KB)
	var free, busy units.Time // the port is free from then on; was busy
	draw := uint64(1)
	for {
		k := 0
		for i := range f {
			if f[i].next < f[k].next {
				k = i
			}
		}
		s := &f[k]
		now := s.next
		if now >= end {
			return float64(busy) / float64(end-end/2)
		}
		for len(s.cnps) > 0 && s.cnps[0] <= now {
			s.CNP(&p, s.cnps[0])
			s.cnps = s.cnps[1:]
		}
		if wait := free - now; wait > pause { // PFC holds the flow back
			s.next = free - pause
			continue
		}
		s.next = s.Sent(&p, now, frame)
		queue := units.Bytes(frame) // itself
		if wait := free - now; wait > 0 {
			queue += units.Bytes((wait+tx-1)/tx) * units.Bytes(frame)
		}
		free = max(free, now) + tx
		if now > end/2 {
			busy += tx
		}
		draw = draw*6364136223846793005 + 1442695040888963407
		chance := float64(queue-kmin) / float64(max(1, kmax-kmin)) * pmax
		if queue <= kmin || queue <= kmax && float64(draw>>11)/(1<<53) >= chance {
			continue
		}
		if at, ok := s.Marked(&p, free+rtt/2); ok {
			s.cnps = append(s.cnps, at+rtt/2)
		}
	}
}

// TestLowThreshold: a marking threshold of two or three packets marks a port that
// is not congested, and the firmware defaults then leave 26, 28 and 33 % of it to
// 4, 8 and 16 flows; at 400 and 1600 KB nothing is lost. The values are those of
// an independent packet model (100 Gb/s, 8 us, 4096-byte MTU, threshold 10 to 12
// KB), tolerance 8 points, as are the bands at 7, 15 and 20 KB. Utilisation grows
// with the threshold until nearly all is used; beyond, deeper swings of the queue
// may cost some of it again.
func TestLowThreshold(t *testing.T) {
	p := dcqcn.AdapterDefaults(100 * units.Gbps)
	const frame = 4176
	run := func(flows int, kmin, kmax units.Bytes, pmax float64) float64 {
		return bottleneck(p, flows, frame, kmin, kmax, pmax, 8*us, 200*units.Millisecond)
	}
	for _, c := range []struct {
		flows int
		want  float64
	}{{4, 0.26}, {8, 0.28}, {16, 0.33}} {
		for _, k := range []units.Bytes{10_000, 12_000} {
			if got := run(c.flows, k, k, 1); got < c.want-0.08 || got > c.want+0.08 {
				t.Errorf("%d flows, K %v: utilisation %.3f, want %v", c.flows, k, got, c.want)
			}
		}
		if got := run(c.flows, 400*units.KB, 1600*units.KB, 0.2); got < 0.98 {
			t.Errorf("%d flows, 400/1600 KB: utilisation %.3f, want at least 0.98", c.flows, got)
		}
		last := 0.0
		for _, k := range []struct {
			kb        units.Bytes
			low, high float64
		}{{7, 0.08, 0.15}, {11, 0.26, 0.33}, {15, 0.51, 0.67}, {20, 0.69, 0.99}, {40, 0.95, 1}, {100, 0.95, 1}} {
			got := run(c.flows, k.kb*units.KB, k.kb*units.KB, 1)
			if got < k.low-0.03 || got > k.high+0.03 {
				t.Errorf("%d flows, K %d KB: utilisation %.3f, want %v to %v", c.flows, k.kb, got, k.low, k.high)
			}
			if got < min(last, 0.95) {
				t.Errorf("%d flows, K %d KB: utilisation %.3f, less than with a lower threshold", c.flows, k.kb, got)
			}
			last = got
		}
	}
}

package qos

import (
	"math"

	"weir/units"
)

// HeadroomFirstPrinciples returns the bytes that can still arrive at a port
// after it decided to send XOFF: what the sender puts on a cable of the given
// one-way delay until the pause has come and taken effect, and the largest
// frame that each end may have just started. The frame sizes are those of the
// sender's and the receiver's largest frames; with 20 bytes more (preamble and
// gap) the bound also holds on the wire. reaction covers the pause frame's own
// transmission and the sender's processing.
func HeadroomFirstPrinciples(rate units.BitRate, delay, reaction units.Time, sender, receiver units.Bytes) units.Bytes {
	t := 2*delay + reaction
	n := rate.BytesIn(t)
	if rate.TransmitTime(n) < t {
		n++ // part of a byte
	}
	return n + sender + receiver
}

// HeadroomDriver returns the headroom that a common NIC driver reserves:
// (301 + 2.16 x metres) x max(Gb/s, 40) + 2.72 x MTU, rounded to a byte
// (comment of calculate_xoff in port_buffer of the Linux mlx5 driver). The
// figure before the metres stands for 2.4 us of processing at both ends.
func HeadroomDriver(rate units.BitRate, length units.Metres, mtu units.Bytes) units.Bytes {
	// In integers, scaled by 10^8, so that every build rounds alike.
	mm := int64(math.Round(float64(length) * 1000))
	mbps := int64(max(rate, 40*units.Gbps) / units.Mbps)
	scaled := (301_00_000+216*mm)*mbps + 272*1_000_000*int64(mtu)
	return units.Bytes((scaled + 50_000_000) / 100_000_000)
}

// SwitchOSHeadroom holds what the dynamic buffer model of SONiC for Spectrum
// switches computes headroom from (cfgmgr/buffer_headroom_mellanox.lua).
type SwitchOSHeadroom struct {
	Rate        units.BitRate
	Length      units.Metres
	PortMTU     units.Bytes // usual 9100
	LosslessMTU units.Bytes // largest lossless packet, usual 1024
	SmallShare  float64     // share of 64-byte packets by number, 0 to 1
	Cell        units.Bytes // of the packet memory
	Pipeline    units.Bytes // latency of the pipeline, in bytes
	MACPHY      units.Bytes // held in the MAC and PHY
	TileBuffer  bool        // chips with a buffer in each tile (Spectrum-4 and 5)
	EightLanes  bool
}

const (
	smallest = 64   // bytes, the shortest frame
	kib      = 1024 // the model rounds up to this
)

// Compute returns XOFF (the headroom proper), XON (what the pipeline holds)
// and their sum, the size of the priority group, each in whole KiB. Speeds
// between the tabulated ones take the next higher one's reaction time. It is
// false for rates above 800 Gb/s, for which there is none.
func (h *SwitchOSHeadroom) Compute() (xoff, xon, size units.Bytes, ok bool) {
	quanta, ok := h.quanta()
	if !ok {
		return 0, 0, 0, false
	}
	cable := 2 * float64(h.Length) * float64(h.Rate) / (8 * 1.98e8)
	path := float64(h.PortMTU) + cable + float64(h.MACPHY) + float64(quanta*smallest)
	if h.TileBuffer {
		path += float64(h.Rate/units.Mbps) / 1000 * 120 / 8
	}
	xoff = ceilKiB(float64(h.LosslessMTU) + path*h.occupancy())
	pipeline := h.Pipeline
	var extra units.Bytes
	if h.EightLanes {
		pipeline, extra = 2*pipeline-kib, h.PortMTU
	}
	xon = ceilKiB(float64(pipeline))
	return xoff, xon, ceilKiB(float64(xoff + xon + extra)), true
}

// quanta returns the time that the peer may take to react to pause (IEEE
// 802.3, 31B.3.7, as the model tabulates it).
func (h *SwitchOSHeadroom) quanta() (int64, bool) {
	for _, row := range [...]struct {
		speed  units.BitRate
		quanta int64
	}{{10, 67}, {25, 80}, {40, 118}, {50, 147}, {100, 394}, {200, 453}, {400, 905}, {800, 905}} {
		if h.Rate <= row.speed*units.Gbps {
			return row.quanta, true
		}
	}
	return 0, false
}

// occupancy returns how many bytes of cells a byte of packets takes.
func (h *SwitchOSHeadroom) occupancy() float64 {
	worst := 2 * float64(h.Cell) / float64(1+h.Cell)
	if h.Cell > 2*smallest {
		worst = float64(h.Cell) / smallest
	}
	byBytes := smallest / (h.SmallShare*smallest + (1-h.SmallShare)*float64(h.LosslessMTU))
	return 1 + byBytes*(worst-1)
}

func ceilKiB(b float64) units.Bytes { return units.Bytes(math.Ceil(b/kib)) * kib }

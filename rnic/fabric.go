package rnic

import (
	"fmt"
	"math/rand/v2"
	"net/netip"

	"weir/roce"
	"weir/units"
)

// Impairments are what a Fabric does to packets: shares from 0 to 1, drawn
// for each packet.
type Impairments struct {
	Loss      float64
	Duplicate float64
	Reorder   float64 // share that is held back by up to Late
	Corrupt   float64 // share in which one bit is changed
	Mark      float64 // share of ECT packets that get CE

	Delay units.Time // of every packet; 0: 2 us
	Late  units.Time // 0: five times Delay
}

// Fabric is a network in memory with its own clock, for tests: the same seed and
// the same calls give the same packets. Devices on it do nothing by
// themselves; Run lets time pass. A Fabric and its devices are for one goroutine.
type Fabric struct {
	Impairments
	// Observe, if set, sees every packet as it leaves a device, before the
	// impairments. The bytes are from the BTH to the ICRC and are only lent.
	Observe func(at units.Time, src, dst netip.Addr, trafficClass uint8, b []byte)

	rnd     *rand.Rand
	time    units.Time
	devices map[netip.Addr]*Device
	order   []*Device
	queue   []flight // heap
	serial  uint64
	free    [][]byte
}

// flight is a packet on its way.
type flight struct {
	at     units.Time
	serial uint64
	dst    netip.Addr
	datagram
}

// NewFabric makes a network without devices.
func NewFabric(seed uint64, i Impairments) *Fabric {
	return &Fabric{Impairments: i, rnd: rand.New(rand.NewPCG(seed, 0x12b7)), devices: map[netip.Addr]*Device{}}
}

// Open puts a device on the fabric. Without Config.Rand, its keys and numbers
// come from the fabric's seed.
func (f *Fabric) Open(c Config) (*Device, error) {
	if c.Rand == nil {
		c.Rand = rand.New(rand.NewPCG(f.rnd.Uint64(), f.rnd.Uint64()))
	}
	d, err := newDevice(&c)
	if err != nil {
		return nil, err
	}
	if f.devices[d.addr] != nil {
		return nil, fmt.Errorf("rnic: a device with address %v is on the fabric", d.addr)
	}
	d.fabric = f
	d.tx.init(1 << 15)
	d.now = func() units.Time { return f.time }
	f.devices[d.addr] = d
	f.order = append(f.order, d)
	return d, nil
}

// Now returns the fabric's time.
func (f *Fabric) Now() units.Time { return f.time }

// Run lets time pass until nothing is left to happen or the time is up, and
// reports whether nothing is left.
func (f *Fabric) Run(until units.Time) bool {
	for {
		f.pump()
		next := units.Never
		if len(f.queue) > 0 {
			next = f.queue[0].at
		}
		for _, d := range f.order {
			if !d.closed {
				next = min(next, d.check)
			}
		}
		if next == units.Never {
			return true
		}
		if next > until {
			f.time = until
			return false
		}
		f.time = max(f.time, next)
		for len(f.queue) > 0 && f.queue[0].at <= f.time {
			g := f.pop()
			if d := f.devices[g.dst]; d != nil {
				d.mu.Lock()
				d.receive(f.time, &g.datagram)
				d.mu.Unlock()
			}
			f.free = append(f.free, g.data)
		}
	}
}

// Inject sends a datagram (from the BTH to the ICRC) as if it came from src, to
// arrive after the fabric's delay without impairments.
func (f *Fabric) Inject(src, dst netip.Addr, srcPort uint16, trafficClass uint8, b []byte) {
	f.push(flight{at: f.time + f.delay(), dst: dst, datagram: datagram{
		data: append(f.buffer(), b...), src: src, srcPort: srcPort, tc: trafficClass, idKnown: true,
	}})
}

// pump lets the devices send what they have.
func (f *Fabric) pump() {
	for _, d := range f.order {
		if d.closed {
			continue
		}
		d.mu.Lock()
		d.expire(f.time)
		for d.readyLen > 0 {
			d.tx.reset()
			d.fill(f.time)
			for i := range d.tx.sends {
				s := &d.tx.sends[i]
				for at := s.from; at < s.to; at += s.seg {
					f.carry(d.addr, s, d.tx.arena[at:min(at+s.seg, s.to)], uint16((at-s.from)/s.seg))
				}
			}
		}
		d.mu.Unlock()
	}
}

func (f *Fabric) delay() units.Time {
	if f.Delay > 0 {
		return f.Delay
	}
	return 2 * units.Microsecond
}

func (f *Fabric) buffer() []byte {
	if n := len(f.free); n > 0 {
		b := f.free[n-1][:0]
		f.free = f.free[:n-1]
		return b
	}
	return make([]byte, 0, maxDatagram)
}

// carry puts a packet on its way, or loses it.
func (f *Fabric) carry(src netip.Addr, s *send, b []byte, id uint16) {
	if f.Observe != nil {
		f.Observe(f.time, src, s.path.dst, s.tc, b)
	}
	copies := 1
	switch x := f.rnd.Float64(); {
	case x < f.Loss:
		return
	case x < f.Loss+f.Duplicate:
		copies = 2
	}
	for range copies {
		g := flight{at: f.time + f.delay(), dst: s.path.dst, datagram: datagram{
			data: append(f.buffer(), b...), src: src, srcPort: s.path.srcPort, tc: s.tc, id: id, idKnown: true,
		}}
		if f.Reorder > 0 && f.rnd.Float64() < f.Reorder {
			late := f.Late
			if late == 0 {
				late = 5 * f.delay()
			}
			g.at += units.Time(f.rnd.Int64N(int64(late)))
		}
		if f.Corrupt > 0 && f.rnd.Float64() < f.Corrupt {
			bit := f.rnd.IntN(8 * len(g.data))
			g.data[bit/8] ^= 1 << (bit % 8)
		}
		if ecn := roce.ECN(g.tc & 3); f.Mark > 0 && ecn != roce.NotECT && f.rnd.Float64() < f.Mark {
			g.tc |= uint8(roce.CE)
		}
		f.push(g)
	}
}

func (g *flight) before(h *flight) bool {
	return g.at < h.at || g.at == h.at && g.serial < h.serial
}

func (f *Fabric) push(g flight) {
	f.serial++
	g.serial = f.serial
	f.queue = append(f.queue, g)
	for i := len(f.queue) - 1; i > 0; {
		up := (i - 1) / 2
		if !f.queue[i].before(&f.queue[up]) {
			break
		}
		f.queue[i], f.queue[up] = f.queue[up], f.queue[i]
		i = up
	}
}

func (f *Fabric) pop() flight {
	top := f.queue[0]
	n := len(f.queue) - 1
	f.queue[0] = f.queue[n]
	f.queue[n] = flight{}
	f.queue = f.queue[:n]
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && f.queue[c+1].before(&f.queue[c]) {
			c++
		}
		if !f.queue[c].before(&f.queue[i]) {
			break
		}
		f.queue[i], f.queue[c] = f.queue[c], f.queue[i]
		i = c
	}
	return top
}

package switchcore_test

import (
	"fmt"

	"weir/internal/twin/switchcore"
	"weir/units"
)

// Two ports send into a third whose receiver has paused. The switch tells each
// sender to stop when its share of the buffer is full, and to go on when the
// receiver has taken enough.
func Example() {
	cfg := switchcore.Config{
		Buffer:       1 * units.MB,
		Lossless:     1 << 3,
		PFC:          true,
		AlphaIngress: 0.25,
		XONOffset:    8 * units.KB,
		PauseQuanta:  65535,
	}
	for range 3 {
		cfg.Ports = append(cfg.Ports, switchcore.PortConfig{Rate: 400 * units.Gbps, Headroom: 100 * units.KB})
	}
	s, err := switchcore.New(cfg)
	if err != nil {
		panic(err)
	}
	s.Pause(0, 2, 3, 65535)
	for i := range uint32(80) {
		e := switchcore.Entry{Packet: i, Bytes: 4176, In: uint16(i % 2), Out: 2, Priority: 3}
		if o := s.Enqueue(0, &e); o.Flags&switchcore.XOFF != 0 {
			fmt.Printf("XOFF by port %d with %d bytes queued\n", e.In, s.QueueBytes(2, 3))
		}
	}
	now := s.WakeAt(0, 2)
	fmt.Println("the pause lapses at", now)
	var e switchcore.Entry
	var o switchcore.Outcome
	for s.Dequeue(now, 2, &e, &o) {
		if o.Flags&switchcore.XON != 0 {
			fmt.Printf("XON by port %d with %d bytes queued\n", e.In, s.QueueBytes(2, 3))
		}
		now += (400 * units.Gbps).TransmitTime(units.Bytes(e.Bytes) + 20)
	}
	// Each sender may have 700 KB / (4 + 2) of the shared buffer.
	//
	// Output:
	// XOFF by port 1 with 233856 bytes queued
	// XOFF by port 0 with 238032 bytes queued
	// the pause lapses at 83.885us
	// XON by port 0 with 221328 bytes queued
	// XON by port 1 with 217152 bytes queued
}

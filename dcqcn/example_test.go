package dcqcn_test

import (
	"fmt"

	"weir/dcqcn"
	"weir/units"
)

// A receiver sees marked packets, a sender hears of them and slows down, and
// recovers when the marks end.
func Example() {
	p := dcqcn.AdapterDefaults(400 * units.Gbps)
	var sender dcqcn.Reaction
	var receiver dcqcn.Notification
	sender.Reset(&p)

	var now units.Time
	cnps := 0
	for packet := range 100 {
		next := sender.Sent(&p, now, 4096+62)
		if marked := packet < 20; marked {
			if at, ok := receiver.Marked(&p, now); ok {
				sender.CNP(&p, at)
				cnps++
			}
		}
		now = next
	}
	fmt.Printf("%d CNP, rate %v, pace of a packet %v\n", cnps, sender.Rate(&p, now), sender.Sent(&p, now, 4096+62)-now)
	now += 2 * units.Millisecond
	fmt.Printf("2ms later %v\n", sender.Rate(&p, now))
	// Output:
	// 1 CNP, rate 200.195Gbps, pace of a packet 166.158ns
	// 2ms later 396.878Gbps
}

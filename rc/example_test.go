package rc_test

import (
	"fmt"

	"weir/rc"
	"weir/roce"
	"weir/units"
)

// A WRITE of three packets, of which the second is lost once.
func Example() {
	p := rc.Params{MTU: 4096, Timeout: rc.Timeout(14), RetryCount: 7}
	var requester rc.Requester
	var responder rc.Responder
	requester.Reset(&p, 0xffffff, make([]rc.Message, 4), nil)
	responder.Reset(&p, 0xffffff, nil, nil)
	requester.Post(&p, rc.Message{Op: roce.RCWriteOnly, Bytes: 10_000})

	var now units.Time
	var data, answer rc.Packet
	lost := false
	for requester.Outstanding() > 0 {
		now += 100 * units.Nanosecond
		if !requester.Next(&p, now, &data) {
			now = requester.Deadline()
			fmt.Println(requester.Expire(&p, now))
			continue
		}
		if data.PSN == 0 && !lost {
			lost = true
			continue
		}
		verdict := responder.Check(&data)
		fmt.Printf("PSN %v, %d bytes: %v\n", data.PSN, data.Bytes, verdict)
		var send bool
		if verdict == rc.InOrder {
			// here the payload goes to memory
			send = responder.Commit(&p, &data, &answer)
		} else {
			send = responder.Refuse(&p, now, verdict, &data, &answer)
		}
		if send {
			event, completed := requester.Handle(&p, now, &answer)
			fmt.Printf("  answer for PSN %v: %v, %d complete\n", answer.PSN, event, completed)
		}
	}
	// Output:
	// PSN 16777215, 4096 bytes: in order
	// PSN 1, 1808 bytes: gap
	//   answer for PSN 0: sequence error, 0 complete
	// PSN 0, 4096 bytes: in order
	// PSN 1, 1808 bytes: in order
	//   answer for PSN 1: progress, 1 complete
}

// A capture that starts in mid-stream and shows a loss with its repair.
func ExampleTracker() {
	var t rc.Tracker
	request := func(at units.Time, op roce.Opcode, psn roce.PSN) {
		s := t.Request(at, &rc.Packet{Op: op, PSN: psn, Bytes: 1024})
		fmt.Printf("PSN %v: %v", psn, s.Class)
		if s.Round {
			fmt.Printf(", the sender goes back %d", s.Behind)
		}
		fmt.Println()
	}
	us := units.Microsecond
	request(0, roce.RCWriteMiddle, 7)
	request(1*us, roce.RCWriteMiddle, 9)
	t.Response(3*us, &rc.Packet{Op: roce.RCAcknowledge, PSN: 8, Syndrome: roce.SyndromeNAKSequenceError})
	request(5*us, roce.RCWriteMiddle, 8)
	request(6*us, roce.RCWriteMiddle, 9)
	request(7*us, roce.RCWriteLast, 10)
	// Output:
	// PSN 7: first
	// PSN 9: new after a gap
	// PSN 8: retransmission, the sender goes back 2
	// PSN 9: retransmission
	// PSN 10: new
}

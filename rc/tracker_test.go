package rc_test

import (
	"strings"
	"testing"

	"weir/rc"
	"weir/roce"
	"weir/units"
)

// sight is one packet of a capture, and what a Tracker should say of it.
type sight struct {
	after units.Time // since the packet before
	op    roce.Opcode
	psn   roce.PSN
	bytes uint32
	syn   roce.Syndrome
	want  rc.Sighting
	lost  uint32 // of a response: PSNs that arrived unseen
}

const (
	first  = roce.RCWriteFirst
	middle = roce.RCWriteMiddle
	last   = roce.RCWriteLast
	only   = roce.RCWriteOnly
	read   = roce.RCReadRequest
	ack    = roce.RCAcknowledge
	nak    = roce.SyndromeNAKSequenceError
	good   = roce.SyndromeACK
)

const (
	ns = units.Nanosecond
	us = units.Microsecond
	ms = units.Millisecond
)

var (
	starting = rc.Sighting{Class: rc.First}
	fresh    = rc.Sighting{Class: rc.New}
	wrong    = rc.Sighting{Class: rc.New, BadOrder: true}
)

func skipped(n uint32) rc.Sighting { return rc.Sighting{Class: rc.Skipped, Missing: n} }
func overtaken(behind uint32) rc.Sighting {
	return rc.Sighting{Class: rc.OutOfOrder, Behind: behind, Fills: true}
}
func repeated(behind uint32) rc.Sighting {
	return rc.Sighting{Class: rc.Repeated, Behind: behind}
}
func again(behind uint32, how ...string) rc.Sighting {
	s := rc.Sighting{Class: rc.Retransmission, Behind: behind}
	words := strings.Join(how, " ")
	s.Round = strings.Contains(words, "round")
	s.Asked = strings.Contains(words, "asked")
	s.Fills = strings.Contains(words, "fills")
	return s
}

func TestTracker(t *testing.T) {
	for _, c := range []struct {
		name    string
		packets []sight
	}{
		{"in order over the wrap", []sight{
			{0, first, 0xfffffe, 1024, 0, starting, 0},
			{ns, middle, 0xffffff, 1024, 0, fresh, 0},
			{ns, last, 0, 24, 0, fresh, 0},
			{ns, only, 1, 0, 0, fresh, 0},
			{ns, ack, 1, 0, good, rc.Sighting{}, 0},
		}},
		{"starts in mid-stream", []sight{
			{0, middle, 100, 1024, 0, starting, 0},
			{ns, last, 101, 24, 0, fresh, 0},
			{ns, middle, 102, 1024, 0, wrong, 0},
		}},
		{"opcodes and lengths", []sight{
			{0, only, 10, 16, 0, starting, 0},
			{ns, last, 11, 16, 0, wrong, 0},
			{ns, first, 12, 1024, 0, fresh, 0},
			{ns, first, 13, 1024, 0, wrong, 0},
			{ns, roce.RCSendLast, 14, 1, 0, wrong, 0},
			{ns, only, 15, 1025, 0, wrong, 0},
			{ns, roce.CNP, 0, 0, 0, rc.Sighting{}, 0},
		}},
		{"loss, NAK, go-back-N", []sight{
			{0, first, 10, 1024, 0, starting, 0},
			{ns, middle, 12, 1024, 0, skipped(1), 0},
			{ns, middle, 13, 1024, 0, fresh, 0},
			{us, ack, 11, 0, nak, rc.Sighting{}, 0},
			{us, middle, 11, 1024, 0, again(3, "round asked fills"), 0},
			{ns, middle, 12, 1024, 0, again(2), 0},
			{ns, middle, 13, 1024, 0, again(1), 0},
			{ns, last, 14, 1024, 0, fresh, 0},
		}},
		{"loss behind the tap", []sight{
			{0, first, 10, 1024, 0, starting, 0},
			{ns, middle, 11, 1024, 0, fresh, 0},
			{ns, middle, 12, 1024, 0, fresh, 0},
			{us, ack, 11, 0, nak, rc.Sighting{}, 0},
			{us, middle, 11, 1024, 0, again(2, "round asked"), 0},
			{ns, middle, 12, 1024, 0, again(1), 0},
			{us, ack, 12, 0, nak, rc.Sighting{}, 0},
			{ns, middle, 12, 1024, 0, again(1, "round asked"), 0},
		}},
		{"timeout", []sight{
			{0, only, 10, 1024, 0, starting, 0},
			{67 * ms, only, 10, 1024, 0, again(1, "round"), 0},
			{67 * ms, only, 10, 1024, 0, again(1, "round"), 0},
		}},
		{"doubled by the network", []sight{
			{0, only, 10, 1024, 0, starting, 0},
			{us, only, 10, 1024, 0, repeated(1), 0},
			{us, only, 11, 1024, 0, fresh, 0},
			{us, only, 12, 1024, 0, fresh, 0},
			{us, only, 11, 1024, 0, repeated(2), 0},
		}},
		{"overtaken", []sight{
			{0, only, 10, 8, 0, starting, 0},
			{ns, only, 13, 8, 0, skipped(2), 0},
			{ns, only, 14, 8, 0, fresh, 0},
			{us, only, 11, 8, 0, overtaken(4), 0},
			{ns, only, 12, 8, 0, overtaken(3), 0},
			{ns, only, 15, 8, 0, fresh, 0},
		}},
		{"go-back without the NAK in sight", []sight{
			{0, only, 10, 8, 0, starting, 0},
			{ns, only, 12, 8, 0, skipped(1), 0},
			{us, only, 11, 8, 0, overtaken(2), 0}, // might be
			{ns, only, 12, 8, 0, again(1, "round"), 0},
			{ns, only, 13, 8, 0, fresh, 0},
		}},
		{"late enough to be sent again", []sight{
			{0, only, 10, 8, 0, starting, 0},
			{ns, only, 12, 8, 0, skipped(1), 0},
			{ms, only, 11, 8, 0, again(2, "round fills"), 0},
		}},
		{"a round with a loss in it", []sight{
			{0, only, 10, 8, 0, starting, 0},
			{ns, only, 11, 8, 0, fresh, 0},
			{ns, only, 12, 8, 0, fresh, 0},
			{ns, only, 13, 8, 0, fresh, 0},
			{us, ack, 11, 0, nak, rc.Sighting{}, 0},
			{us, only, 11, 8, 0, again(3, "round asked"), 0},
			{ns, only, 13, 8, 0, again(1), 0},
		}},
		{"NAK while a round is under way", []sight{
			{0, only, 10, 8, 0, starting, 0},
			{ns, only, 12, 8, 0, skipped(1), 0},
			{ns, only, 14, 8, 0, skipped(1), 0},
			{us, ack, 11, 0, nak, rc.Sighting{}, 0},
			{us, only, 11, 8, 0, again(4, "round asked fills"), 0},
			{ns, only, 12, 8, 0, again(3), 0},
			{ns, ack, 13, 0, nak, rc.Sighting{}, 0},
			{ns, only, 14, 8, 0, again(1), 0}, // still of the first round
			{us, only, 13, 8, 0, again(2, "round asked fills"), 0},
			{ns, only, 14, 8, 0, again(1), 0},
		}},
		{"lost by the capture", []sight{
			{0, only, 10, 8, 0, starting, 0},
			{ns, only, 14, 8, 0, skipped(3), 0},
			{us, ack, 12, 0, good, rc.Sighting{}, 2},
			{us, ack, 14, 0, good, rc.Sighting{}, 1},
			{us, ack, 20, 0, good, rc.Sighting{}, 6},
			{us, middle, 21, 1024, 0, fresh, 0},
			{us, ack, 0xffffff, 0, good, rc.Sighting{}, 0},
		}},
		{"a new connection", []sight{
			{0, only, 10, 8, 0, starting, 0},
			{ns, only, 0x800000, 8, 0, rc.Sighting{Class: rc.Stray}, 0}, // damaged
			{ns, only, 11, 8, 0, fresh, 0},
			{ns, only, 0x400000, 8, 0, rc.Sighting{Class: rc.Stray}, 0},
			{ns, first, 0x400001, 1024, 0, rc.Sighting{Class: rc.Resynchronized}, 0},
			{ns, last, 0x400002, 1, 0, fresh, 0},
		}},
		{"READ with known MTU", []sight{
			{0, first, 10, 1024, 0, starting, 0},
			{ns, last, 11, 1024, 0, fresh, 0},
			{ns, read, 12, 5000, 0, fresh, 0},
			{ns, only, 17, 8, 0, fresh, 0},
			{ms, read, 14, 2952, 0, again(4, "round"), 0}, // the rest of it
		}},
		{"READ, MTU found from what follows", []sight{
			{0, read, 10, 5000, 0, starting, 0},
			{ns, only, 13, 8, 0, fresh, 0}, // 3 packets: 2048
			{ns, read, 14, 5000, 0, fresh, 0},
			{ns, only, 17, 8, 0, fresh, 0},
		}},
		{"READ, MTU found from the responses", []sight{
			{0, read, 10, 5000, 0, starting, 0},
			{us, roce.RCReadResponseFirst, 10, 1024, good, rc.Sighting{}, 0},
			{us, roce.RCReadResponseLast, 14, 904, good, rc.Sighting{}, 0},
			{ns, only, 15, 8, 0, fresh, 0},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tr rc.Tracker
			now := 3 * units.Second
			for i, s := range c.packets {
				now += s.after
				in := rc.Packet{Op: s.op, PSN: s.psn, Bytes: s.bytes, Syndrome: s.syn}
				if s.syn != 0 {
					if got := tr.Response(now, &in); got != s.lost {
						t.Errorf("packet %d (response %v): %d PSNs arrived unseen, want %d", i, s.psn, got, s.lost)
					}
					continue
				}
				if got := tr.Request(now, &in); got != s.want {
					t.Errorf("packet %d (PSN %v): %+v, want %+v", i, s.psn, got, s.want)
				}
			}
		})
	}
}

func TestTrackerOutstanding(t *testing.T) {
	var tr rc.Tracker
	see := func(psn roce.PSN) { tr.Request(0, &rc.Packet{Op: only, PSN: psn}) }
	see(10)
	see(15) // 11..14 missing
	see(20) // 16..19 missing
	see(12)
	if got := tr.Outstanding(); got != 7 {
		t.Errorf("%d PSNs outstanding, want 7", got)
	}
	for psn := roce.PSN(22); psn < 100; psn += 2 {
		see(psn)
	}
	if got := tr.Outstanding(); got != 8 {
		t.Errorf("%d PSNs outstanding in the last 8 gaps, want 8", got)
	}
}

// FuzzTracker: arbitrary packets never panic, and classes keep their meaning:
// a new packet is not behind, only a skip has missing PSNs, and what is behind
// never moves the sequence.
func FuzzTracker(f *testing.F) {
	f.Add([]byte{0x0a, 0, 0, 1, 8, 0, 0x0a, 0, 0, 3, 8, 0, 0x11, 0, 0, 2, 0, 0x60, 0x0a, 0, 0, 2, 8, 0})
	f.Add([]byte{0x0c, 0xff, 0xff, 0xff, 0xff, 0, 0x0d, 0xff, 0xff, 0xff, 16, 0, 0x06, 0, 0, 9, 16, 0})
	f.Add([]byte{0x0a, 0, 0, 1, 1, 0, 0x0a, 0x80, 0, 1, 1, 0, 0x0a, 0x80, 0, 2, 1, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var tr rc.Tracker
		now := units.Time(0)
		for ; len(data) >= 6; data = data[6:] {
			in := rc.Packet{
				Op: roce.Opcode(data[0]), PSN: roce.PSN(data[1])<<16 | roce.PSN(data[2])<<8 | roce.PSN(data[3]),
				Bytes: uint32(data[4]) * uint32(data[4]) * uint32(data[4]), Syndrome: roce.Syndrome(data[5]),
			}
			now += units.Time(data[5]) * units.Time(data[5]) * ns
			before, missing := tr.Expected, tr.Outstanding()
			s := tr.Request(now, &in)
			switch s.Class {
			case rc.New, rc.Skipped, rc.First, rc.Resynchronized:
				if s.Behind != 0 || (s.Missing != 0) != (s.Class == rc.Skipped) {
					t.Fatalf("%+v of %+v", s, in)
				}
				if !in.PSN.Less(tr.Expected) {
					t.Fatalf("new packet %v, but %v expected after it", in.PSN, tr.Expected)
				}
			case rc.OutOfOrder, rc.Retransmission, rc.Repeated:
				if s.Behind == 0 || tr.Outstanding() > missing {
					t.Fatalf("%+v of %+v", s, in)
				}
			case rc.Stray, rc.NotRequest:
				if tr.Expected != before && tr.MTU == 0 {
					t.Fatalf("%v moved the sequence from %v to %v", s.Class, before, tr.Expected)
				}
			}
			tr.Response(now, &in)
		}
	})
}

// What the IP identification tells overrules what time suggests.
func TestTrackerSent(t *testing.T) {
	var tr rc.Tracker
	see := func(at units.Time, psn roce.PSN, sent rc.Sent, want rc.Sighting) {
		t.Helper()
		if got := tr.RequestSent(at, &rc.Packet{Op: only, PSN: psn, Bytes: 8}, sent); got != want {
			t.Errorf("PSN %d: %+v, want %+v", psn, got, want)
		}
	}
	see(0, 10, rc.SentAfter, starting)
	see(us, 12, rc.SentAfter, skipped(1))
	see(20*ms, 11, rc.SentBefore, overtaken(2)) // late, and not sent again
	see(20*ms, 14, rc.SentAfter, skipped(1))
	see(20*ms+us, 13, rc.SentAfter, again(2, "round fills")) // soon, and sent again
	see(20*ms+us, 14, rc.SentAfter, again(1))
	see(20*ms+us, 15, rc.SentAfter, fresh)
	see(30*ms, 15, rc.SentTwin, repeated(1)) // late, and doubled by the network
	see(30*ms+ns, 15, rc.SentAfter, again(1, "round"))
	see(40*ms, 14, rc.SentBefore, rc.Sighting{Class: rc.OutOfOrder, Behind: 2}) // its repeat came first
	see(40*ms, 16, rc.SentBefore, fresh)
}

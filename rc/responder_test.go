package rc_test

import (
	"fmt"
	"testing"

	"weir/rc"
	"weir/roce"
)

// reaction renders what a responder sends: "ack 5/2" is PSN 5, MSN 2.
func reaction(out *rc.Packet, send bool) string {
	if !send {
		return "-"
	}
	kind := map[roce.Syndrome]string{
		roce.SyndromeACK: "ack", roce.SyndromeNAKSequenceError: "gap", roce.SyndromeNAKInvalidRequest: "invalid",
		roce.SyndromeNAKRemoteAccessError: "access", roce.SyndromeNAKRemoteOperational: "inoperable",
	}[out.Syndrome]
	if out.Syndrome&0xe0 == roce.SyndromeRNR {
		kind = fmt.Sprintf("rnr(%d)", out.Syndrome&31)
	}
	switch out.Op {
	case roce.RCAcknowledge:
	case roce.RCAtomicAcknowledge:
		kind = "atomic"
	case roce.RCReadResponseFirst:
		kind = "first"
	case roce.RCReadResponseMiddle:
		kind = "middle"
	case roce.RCReadResponseLast:
		kind = "last"
	case roce.RCReadResponseOnly:
		kind = "only"
	}
	if out.Flags&rc.Selective != 0 {
		kind = "selective"
	}
	s := fmt.Sprintf("%s %d/%d", kind, out.PSN, out.MSN)
	if out.Op != roce.RCAcknowledge {
		s += fmt.Sprintf(" #%d %dB", out.Index, out.Bytes)
	}
	return s
}

// rx is one packet for a responder: what Check says of it and what it draws.
type rx struct {
	op      roce.Opcode
	psn     roce.PSN
	bytes   uint32
	ask     rc.Flags
	memory  rc.Verdict // instead of InOrder or Ahead, if not 0
	verdict rc.Verdict
	draws   string
}

// drain is a step in which Next is called until it has nothing.
const drain = roce.Opcode(0xff)

const (
	request = rc.AckRequest
	send    = roce.RCSendOnly
	swap    = roce.RCCompareSwap
)

func TestResponder(t *testing.T) {
	gbn := rc.Params{MTU: 1024, RNRTimer: 12}
	for _, c := range []struct {
		name  string
		p     rc.Params
		steps []rx
	}{
		{"acknowledges what asks for it, counts messages", gbn, []rx{
			{first, 100, 1024, 0, 0, rc.InOrder, "-"},
			{middle, 101, 1024, request, 0, rc.InOrder, "ack 101/0"},
			{last, 102, 1, request, 0, rc.InOrder, "ack 102/1"},
			{send, 103, 0, request, 0, rc.InOrder, "ack 103/2"},
			{roce.RCAcknowledge, 104, 0, 0, 0, rc.Ignored, "-"},
			{roce.CNP, 0, 0, 0, 0, rc.Ignored, "-"},
		}},
		{"one NAK for a gap", gbn, []rx{
			{only, 102, 8, request, 0, rc.Gap, "gap 100/0"},
			{only, 103, 8, request, 0, rc.Gap, "-"},
			{only, 100, 8, 0, 0, rc.InOrder, "-"},
			{only, 102, 8, 0, 0, rc.Gap, "gap 101/1"},
			{only, 0x900000, 8, 0, 0, rc.Duplicate, "-"}, // half of the space behind
		}},
		{"a duplicate draws the newest acknowledgement, not its own", gbn, []rx{
			{only, 100, 8, 0, 0, rc.InOrder, "-"},
			{only, 101, 8, 0, 0, rc.InOrder, "-"},
			{only, 100, 8, request, 0, rc.Duplicate, "ack 101/2"},
			{only, 100, 8, 0, 0, rc.Duplicate, "-"},
		}},
		{"RNR, then silence until the packet comes again", gbn, []rx{
			{send, 100, 8, request, rc.NotReady, rc.InOrder, "rnr(12) 100/0"},
			{send, 101, 8, request, 0, rc.Gap, "-"},
			{send, 100, 8, request, rc.NotReady, rc.InOrder, "rnr(12) 100/0"},
			{send, 100, 8, request, 0, rc.InOrder, "ack 100/1"},
			{send, 102, 8, request, 0, rc.Gap, "gap 101/1"},
		}},
		{"fatal for an access error", gbn, []rx{
			{only, 100, 8, request, rc.AccessError, rc.InOrder, "access 100/0"},
			{only, 100, 8, request, 0, rc.Ignored, "-"},
			{only, 101, 8, request, 0, rc.Ignored, "-"},
		}},
		{"fatal for a wrong opcode", gbn, []rx{
			{first, 100, 1024, 0, 0, rc.InOrder, "-"},
			{first, 101, 1024, 0, 0, rc.Invalid, "invalid 101/0"},
		}},
		{"lengths", gbn, []rx{{first, 100, 1023, 0, 0, rc.Invalid, "invalid 100/0"}}},
		{"lengths, last", gbn, []rx{
			{first, 100, 1024, 0, 0, rc.InOrder, "-"},
			{last, 101, 0, 0, 0, rc.Invalid, "invalid 101/0"},
		}},
		{"lengths, only", gbn, []rx{{only, 100, 1025, 0, 0, rc.Invalid, "invalid 100/0"}}},
		{"a READ takes the PSNs of its responses, and goes before later acknowledgements", gbn, []rx{
			{only, 100, 8, 0, 0, rc.InOrder, "-"},
			{read, 101, 2049, request, 0, rc.InOrder, "-"},
			{only, 104, 8, request, 0, rc.InOrder, "-"}, // acknowledged after the READ
			{drain, 0, 0, 0, 0, 0, "first 101/2 #0 1024B, middle 102/2 #0 1024B, last 103/2 #0 1B, ack 104/3"},
			{read, 105, 0, request, 0, rc.InOrder, "-"},
			{drain, 0, 0, 0, 0, 0, "only 105/4 #1 0B"},
		}},
		{"so does a NAK", gbn, []rx{
			{read, 100, 2048, request, 0, rc.InOrder, "-"},
			{only, 103, 8, request, 0, rc.Gap, "-"},
			{drain, 0, 0, 0, 0, 0, "first 100/1 #0 1024B, last 101/1 #0 1024B, gap 102/1"},
		}},
		{"unless its gap closes first", gbn, []rx{
			{read, 100, 1024, request, 0, rc.InOrder, "-"},
			{only, 102, 8, request, 0, rc.Gap, "-"},
			{only, 101, 8, 0, 0, rc.InOrder, "-"},
			{drain, 0, 0, 0, 0, 0, "only 100/1 #0 1024B, ack 101/2"},
		}},
		{"a READ is answered again, from its middle too", gbn, []rx{
			{read, 100, 3000, request, 0, rc.InOrder, "-"},
			{drain, 0, 0, 0, 0, 0, "first 100/1 #0 1024B, middle 101/1 #0 1024B, last 102/1 #0 952B"},
			{read, 101, 1976, request, 0, rc.Duplicate, "-"},
			{drain, 0, 0, 0, 0, 0, "first 101/1 #0 1024B, last 102/1 #0 952B"},
			{read, 102, 953, request, 0, rc.Duplicate, "-"}, // more than was asked for
			{read, 99, 8, request, 0, rc.Duplicate, "-"},    // not remembered
			{drain, 0, 0, 0, 0, 0, ""},
		}},
		{"an atomic is answered again, not done again", gbn, []rx{
			{swap, 100, 0, request, 0, rc.InOrder, "-"},
			{swap, 101, 0, request, 0, rc.InOrder, "-"},
			{swap, 102, 0, request, 0, rc.Invalid, "-"}, // two are unanswered; its NAK waits
			{drain, 0, 0, 0, 0, 0, "atomic 100/1 #0 0B, atomic 101/2 #1 0B, invalid 102/2"},
		}},
		{"duplicate atomics", gbn, []rx{
			{swap, 100, 0, request, 0, rc.InOrder, "-"},
			{swap, 101, 0, request, 0, rc.InOrder, "-"},
			{drain, 0, 0, 0, 0, 0, "atomic 100/1 #0 0B, atomic 101/2 #1 0B"},
			{swap, 102, 0, request, 0, rc.InOrder, "-"},
			{swap, 101, 0, request, 0, rc.Duplicate, "-"},
			{swap, 100, 0, request, 0, rc.Duplicate, "-"}, // forgotten
			{drain, 0, 0, 0, 0, 0, "atomic 101/2 #1 0B, atomic 102/3 #2 0B"},
		}},
		{"ahead of a gap, with a bitmap", rc.Params{MTU: 1024, OutOfOrder: true}, []rx{
			{middle, 102, 1024, 0, 0, rc.Ahead, "-"},
			{last, 103, 8, request, 0, rc.Ahead, "-"},
			{last, 103, 8, request, 0, rc.Duplicate, "ack 99/0"},
			{only, 105, 8, 0, 0, rc.Ahead, "-"},
			{first, 100, 1024, 0, 0, rc.InOrder, "-"},
			{middle, 101, 1024, 0, 0, rc.InOrder, "ack 103/1"},
			{read, 106, 8, 0, 0, rc.Gap, "gap 104/1"},
			{middle, 168, 1024, 0, 0, rc.Gap, "-"}, // 64 packets is as far as the bitmap reaches
			{middle, 167, 1023, 0, 0, rc.Invalid, "invalid 104/1"},
		}},
		{"one by one, for selective repeat", rc.Params{MTU: 1024, Recovery: rc.SelectiveRepeat}, []rx{
			{middle, 102, 1024, 0, 0, rc.Ahead, "selective 102/100"},
			{last, 103, 8, request, 0, rc.Ahead, "selective 103/100"},
			{first, 100, 1024, 0, 0, rc.InOrder, "-"},
			{middle, 101, 1024, 0, 0, rc.InOrder, "ack 103/1"},
		}},
		{"back to the first packet", rc.Params{MTU: 1024, Recovery: rc.GoBack0}, []rx{
			{first, 100, 1024, 0, 0, rc.InOrder, "-"},
			{middle, 101, 1024, request, 0, rc.InOrder, "ack 101/0"},
			{middle, 103, 1024, request, 0, rc.Gap, "gap 100/0"},
			{middle, 102, 1024, request, 0, rc.Gap, "-"},
			{first, 100, 1024, request, 0, rc.InOrder, "ack 100/0"},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r rc.Responder
			r.Reset(&c.p, 100, make([]rc.Reply, 2), make([]uint64, 2))
			for i, s := range c.steps {
				in, out := rc.Packet{Op: s.op, PSN: s.psn, Bytes: s.bytes, Flags: s.ask}, rc.Packet{}
				if s.op == drain {
					got := ""
					for r.Next(&c.p, 0, &out) {
						if got != "" {
							got += ", "
						}
						got += reaction(&out, true)
					}
					if got != s.draws || r.Ready() {
						t.Errorf("step %d: drained %q, want %q (ready %v)", i, got, s.draws, r.Ready())
					}
					continue
				}
				v := r.Check(&in)
				if v != s.verdict {
					t.Fatalf("step %d: PSN %v is %q, want %q", i, s.psn, v, s.verdict)
				}
				var got string
				switch {
				case s.memory != 0:
					got = reaction(&out, r.Refuse(&c.p, 0, s.memory, &in, &out))
				case v == rc.InOrder || v == rc.Ahead:
					got = reaction(&out, r.Commit(&c.p, &in, &out))
				default:
					got = reaction(&out, r.Refuse(&c.p, 0, v, &in, &out))
				}
				if got != s.draws {
					t.Errorf("step %d: PSN %v draws %q, want %q", i, s.psn, got, s.draws)
				}
			}
		})
	}
}

// TestNakInterval: with an interval, a gap that stays is reported again, as the
// ns-3 models do every 4 us.
func TestNakInterval(t *testing.T) {
	p := rc.Params{MTU: 1024, NakInterval: 4 * us}
	var r rc.Responder
	r.Reset(&p, 0, nil, nil)
	naks := 0
	for at := 0 * us; at < 20*us; at += us {
		in, out := rc.Packet{Op: only, PSN: 5, Bytes: 8}, rc.Packet{}
		if r.Refuse(&p, at, r.Check(&in), &in, &out) {
			naks++
		}
	}
	if naks != 5 {
		t.Errorf("%d NAKs in 20 us, want 5", naks)
	}
}

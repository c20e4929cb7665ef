package rc_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/rc"
	"weir/roce"
	"weir/units"
)

// tx drives a requester by words, and answers with what it does.
type tx struct {
	p   rc.Params
	req rc.Requester
	now units.Time
}

// do runs one command:
//
//	post OP BYTES      the result of Post
//	next               the next packet: opcode, PSN, bytes, flags (a AckReq, r again)
//	all                the PSNs of all packets that may go now
//	ack|gap|rnr|invalid|access|inoperable PSN, response PSN BYTES, atomic PSN
//	                   event, completed messages
//	selective PSN EXPECTED
//	wait DURATION      the event of Expire at that time
//	deadline           from now
func (x *tx) do(line string) string {
	var cmd string
	var a, b uint32
	fmt.Sscan(line, &cmd, &a, &b)
	var out rc.Packet
	event := func(in rc.Packet) string {
		e, n := x.req.Handle(&x.p, x.now, &in)
		return fmt.Sprintf("%v %d", e, n)
	}
	answer := func(s roce.Syndrome) string {
		return event(rc.Packet{Op: roce.RCAcknowledge, PSN: roce.PSN(a), Syndrome: s})
	}
	switch cmd {
	case "write":
		return fmt.Sprint(x.req.Post(&x.p, rc.Message{Op: only, Bytes: a}))
	case "read":
		return fmt.Sprint(x.req.Post(&x.p, rc.Message{Op: read, Bytes: a}))
	case "swap":
		return fmt.Sprint(x.req.Post(&x.p, rc.Message{Op: swap}))
	case "op":
		return fmt.Sprint(x.req.Post(&x.p, rc.Message{Op: roce.Opcode(a), Bytes: b}))
	case "next":
		if !x.req.Next(&x.p, x.now, &out) {
			return "-"
		}
		s := fmt.Sprintf("0x%02x %d %dB", uint8(out.Op), out.PSN, out.Bytes)
		if out.Flags&rc.AckRequest != 0 {
			s += " a"
		}
		if out.Flags&rc.Again != 0 {
			s += " r"
		}
		return s
	case "all":
		s := []string{}
		for x.req.Next(&x.p, x.now, &out) {
			s = append(s, fmt.Sprint(out.PSN))
		}
		return strings.Join(s, " ")
	case "ack":
		return answer(roce.SyndromeACK)
	case "credits":
		return answer(5)
	case "gap":
		return answer(roce.SyndromeNAKSequenceError)
	case "rnr":
		return answer(roce.SyndromeRNR | 1) // 10 us
	case "invalid":
		return answer(roce.SyndromeNAKInvalidRequest)
	case "access":
		return answer(roce.SyndromeNAKRemoteAccessError)
	case "reserved":
		return answer(0x40)
	case "response":
		return event(rc.Packet{Op: roce.RCReadResponseMiddle, PSN: roce.PSN(a), Bytes: b})
	case "atomic":
		return event(rc.Packet{Op: roce.RCAtomicAcknowledge, PSN: roce.PSN(a)})
	case "selective":
		return event(rc.Packet{Op: roce.RCAcknowledge, PSN: roce.PSN(a), MSN: b, Syndrome: roce.SyndromeACK, Flags: rc.Selective})
	case "wait":
		x.now += units.Time(a) * us
		return x.req.Expire(&x.p, x.now).String()
	case "deadline":
		if x.req.Deadline() == units.Never {
			return "never"
		}
		return (x.req.Deadline() - x.now).String()
	case "failure":
		return x.req.Failure().String()
	}
	return "unknown command"
}

func TestRequester(t *testing.T) {
	plain := rc.Params{MTU: 1024, Timeout: 100 * us, RetryCount: 2, RNRRetry: 1, MaxReads: 2}
	with := func(change func(p *rc.Params)) rc.Params {
		p := plain
		change(&p)
		return p
	}
	for _, c := range []struct {
		name   string
		p      rc.Params
		script string // a line: command > answer
	}{
		{"packets of the message kinds", plain, `
			op 4 2049      > true
			next           > 0x00 0 1024B
			next           > 0x01 1 1024B
			next           > 0x02 2 1B a
			next           > -
			op 5 1025      > true
			next           > 0x00 3 1024B
			next           > 0x03 4 1B a
			op 23 1025     > true
			next           > 0x00 5 1024B
			next           > 0x16 6 1B a
			op 11 1025     > true
			next           > 0x06 7 1024B
			next           > 0x09 8 1B a
			ack 8          > progress 4
			op 10 0        > true
			next           > 0x0a 9 0B a
			op 12 3000     > true
			next           > 0x0c 10 3000B a
			op 20 8        > true
			next           > 0x14 13 0B a
			op 8 8         > false
			op 13 8        > false
			op 17 8        > false`},
		{"ring of four", plain, `
			write 1 > true
			write 1 > true
			write 1 > true
			write 1 > true
			write 1 > false
			all     > 0 1 2 3
			ack 0   > progress 1
			write 1 > true`},
		{"AckEvery and window", with(func(p *rc.Params) { p.AckEvery = 2; p.Window = 3 }), `
			write 5000 > true
			next       > 0x06 0 1024B
			next       > 0x07 1 1024B a
			next       > 0x07 2 1024B a
			next       > -
			credits 1  > progress 0
			all        > 3 4
			ack 4      > progress 1
			deadline   > never`},
		{"sequence NAK", plain, `
			write 4096 > true
			all        > 0 1 2 3
			gap 2      > sequence error 0
			next       > 0x07 2 1024B r
			ack 1      > nothing 0
			ack 3      > progress 1
			next       > -`}, // 3 is there after all
		{"a NAK acknowledges what is before it", plain, `
			write 100  > true
			write 4096 > true
			all        > 0 1 2 3 4
			gap 2      > sequence error 1
			all        > 2 3 4`},
		{"stale and wild answers", plain, `
			write 4096    > true
			next          > 0x06 0 1024B
			ack 1         > nothing 0
			ack 16777215  > nothing 0
			gap 1         > nothing 0
			gap 16777215  > nothing 0
			invalid 7     > nothing 0
			reserved 0    > nothing 0
			response 0 1024 > nothing 0
			atomic 0      > nothing 0
			ack 0         > progress 0
			ack 0         > nothing 0`},
		{"timer and retries", plain, `
			deadline   > never
			write 100  > true
			deadline   > never
			next       > 0x0a 0 100B a
			deadline   > 100us
			wait 99    > nothing
			wait 1     > timed out
			deadline   > never
			next       > 0x0a 0 100B a r
			wait 100   > timed out
			next       > 0x0a 0 100B a r
			wait 100   > failed
			failure    > transport retry counter exceeded
			write 1    > false
			next       > -
			deadline   > never
			ack 0      > nothing 0`},
		{"progress renews timer and retries", plain, `
			write 3000 > true
			all        > 0 1 2
			wait 100   > timed out
			all        > 0 1 2
			wait 60    > nothing
			ack 0      > progress 0
			deadline   > 100us
			wait 100   > timed out
			all        > 1 2
			wait 100   > timed out
			all        > 1 2
			wait 100   > failed`},
		{"no timer", with(func(p *rc.Params) { p.Timeout = 0 }), `
			write 1  > true
			all      > 0
			deadline > never`},
		{"RNR", plain, `
			write 1    > true
			write 1    > true
			all        > 0 1
			rnr 0      > receiver not ready 0
			deadline   > 10us
			gap 0      > nothing 0
			next       > -
			wait 10    > resumed
			next       > 0x0a 0 1B a r
			rnr 0      > failed 0
			failure    > RNR retry counter exceeded`},
		{"RNR for ever", with(func(p *rc.Params) { p.RNRRetry = 7 }), `
			write 1    > true
			all        > 0
			rnr 0      > receiver not ready 0
			wait 10    > resumed
			all        > 0
			rnr 0      > receiver not ready 0
			wait 11    > resumed
			all        > 0
			rnr 0      > receiver not ready 0
			ack 0      > progress 1
			deadline   > never`},
		{"fatal NAK", plain, `
			write 1    > true
			write 1    > true
			all        > 0 1
			access 1   > failed 1
			failure    > remote access error`},
		{"READ", plain, `
			read 3000       > true
			write 1         > true
			all             > 0 3
			response 0 1024 > response 0
			response 1 1000 > nothing 0
			response 1 1024 > response 0
			response 2 952  > response 1
			ack 3           > progress 1`},
		{"a lost response is asked for again", plain, `
			write 1         > true
			read 3000       > true
			write 1         > true
			all             > 0 1 4
			response 1 1024 > response 1
			response 3 952  > implied sequence error 0
			ack 4           > nothing 0
			next            > 0x0c 2 1976B a r
			next            > 0x0a 4 1B a r
			response 2 1024 > response 0
			response 3 952  > response 1
			ack 4           > progress 1`},
		{"an acknowledgement is no answer to a READ", plain, `
			write 1         > true
			read 100        > true
			write 1         > true
			all             > 0 1 2
			ack 2           > implied sequence error 1
			all             > 1 2
			response 1 100  > response 1
			ack 2           > progress 1`},
		{"so for an atomic, and a NAK behind it", plain, `
			swap            > true
			write 1         > true
			write 1         > true
			all             > 0 1 2
			gap 2           > implied sequence error 0
			all             > 0 1 2
			atomic 0        > response 1
			ack 1           > progress 1
			ack 2           > progress 1`},
		{"two READs and atomics at a time", plain, `
			read 100        > true
			swap            > true
			read 100        > true
			all             > 0 1
			response 0 100  > response 1
			all             > 2
			atomic 1        > response 1
			response 2 100  > response 1`},
		{"go-back-0", with(func(p *rc.Params) { p.Recovery = rc.GoBack0; p.AckEvery = 1 }), `
			write 4096 > true
			all        > 0 1 2 3
			ack 0      > progress 0
			gap 0      > sequence error 0
			all        > 0 1 2 3
			ack 3      > progress 1`},
		{"selective repeat", with(func(p *rc.Params) { p.Recovery = rc.SelectiveRepeat; p.Window = 8 }), `
			write 20480   > true
			all           > 0 1 2 3 4 5 6 7
			selective 2 1 > sequence error 0
			all           > 1 8
			selective 5 1 > sequence error 0
			all           > 3 4
			selective 6 1 > progress 0
			all           >
			selective 8 1 > sequence error 0
			next          > 0x07 1 1024B a r
			all           > 3 4 7
			ack 2         > progress 0
			all           > 9 10
			ack 10        > progress 0
			all           > 11 12 13 14 15 16 17 18`},
		{"selective repeat with allowance for reordering", with(func(p *rc.Params) {
			p.Recovery = rc.SelectiveRepeat
			p.Reorder = 3
		}), `
			write 10240   > true
			all           > 0 1 2 3 4 5 6 7 8 9
			selective 2 1 > progress 0
			selective 4 1 > progress 0
			all           >
			selective 5 1 > sequence error 0
			all           > 1
			wait 100      > timed out
			all           > 1 3 6 7 8 9`},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := tx{p: c.p, now: units.Second}
			x.req.Reset(&x.p, 0, make([]rc.Message, 4), make([]uint64, 2))
			for i, line := range strings.Split(strings.TrimSpace(c.script), "\n") {
				cmd, want, ok := strings.Cut(line, ">")
				if !ok {
					t.Fatalf("line %d: no answer given", i+1)
				}
				if got := x.do(strings.TrimSpace(cmd)); got != strings.TrimSpace(want) {
					t.Fatalf("line %d, %s: %q, want %q", i+1, strings.TrimSpace(cmd), got, strings.TrimSpace(want))
				}
			}
		})
	}
}

func TestPostLimits(t *testing.T) {
	p := rc.Params{MTU: 256}
	var r rc.Requester
	r.Reset(&p, 0, make([]rc.Message, 4), nil)
	if !r.Post(&p, rc.Message{Op: only, Bytes: 1 << 30}) {
		t.Error("2^22 packets refused")
	}
	if r.Post(&p, rc.Message{Op: only, Bytes: 1<<30 + 1}) {
		t.Error("2^22 + 1 packets taken")
	}
}

package rc_test

import (
	"testing"

	"weir/rc"
	"weir/roce"
	"weir/units"
)

// FuzzHostile feeds requester and responder with whatever a peer may send, in any
// state. They must not panic, complete what was not posted, or have more in
// flight than they may.
func FuzzHostile(f *testing.F) {
	f.Add([]byte{0, 0, 0, 9, 90, 1, 0x0a, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 0x11, 0, 0, 3, 0x60, 3, 0x0a, 0, 0, 5, 9, 5, 0, 0, 0, 0, 0})
	f.Add([]byte{4, 0x11, 0, 2, 1, 0x1f, 1, 0, 0, 0, 0, 0, 4, 0x11, 0, 2, 3, 0x3f, 5, 0, 0, 0, 0, 1})
	f.Add([]byte{2, 1, 0, 0, 4, 0, 1, 0, 0, 0, 0, 0, 6, 0x0d, 0, 0, 0, 4, 6, 0x10, 0, 0, 1, 4})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 6 {
			return
		}
		p := rc.Params{
			MTU: 256, AckEvery: uint32(data[0] & 3), Window: uint32(data[1] & 63), Recovery: rc.Recovery(data[2] % 3),
			OutOfOrder: data[2]&4 != 0, Reorder: uint32(data[3] & 7), Timeout: 10 * us, RetryCount: 7, RNRRetry: 7, MaxReads: data[4] & 3,
		}
		psn := roce.PSN(roce.PSNMask - uint32(data[5]))
		var req rc.Requester
		var rsp rc.Responder
		req.Reset(&p, psn, make([]rc.Message, 4), make([]uint64, 1))
		rsp.Reset(&p, psn, make([]rc.Reply, 2), make([]uint64, 2))
		var now units.Time
		var completed uint32
		for data = data[6:]; len(data) >= 6; data = data[6:] {
			in := rc.Packet{
				Op: roce.Opcode(data[1]), PSN: psn.Add(int32(int8(data[2]))<<8 + int32(int8(data[3]))), Bytes: uint32(data[4]) * 4,
				Syndrome: roce.Syndrome(data[5]), MSN: uint32(psn.Add(int32(int8(data[4])))), Flags: rc.Flags(data[5]) & rc.AckRequest,
			}
			var out rc.Packet
			switch data[0] % 8 {
			case 0:
				req.Post(&p, rc.Message{Op: in.Op, Bytes: in.Bytes << (data[5] & 24)})
			case 1:
				ready, _ := req.Ready(&p, now)
				if req.Next(&p, now, &out) != ready {
					t.Fatal("Ready and Next do not agree")
				}
			case 2:
				now += units.Time(in.Bytes) * ns
				req.Expire(&p, now)
			case 3:
				rsp.Next(&p, now, &out)
			case 4:
				in.Flags |= rc.Selective
				fallthrough
			case 5, 6:
				_, n := req.Handle(&p, now, &in)
				completed += n
			case 7:
				switch v := rsp.Check(&in); v {
				case rc.InOrder, rc.Ahead:
					rsp.Commit(&p, &in, &out)
				default:
					rsp.Refuse(&p, now, v, &in, &out)
				}
			}
			if completed != req.Completed() || req.Outstanding() < 0 || req.Outstanding() > 4 {
				t.Fatalf("%d completed, requester says %d; %d outstanding", completed, req.Completed(), req.Outstanding())
			}
			if req.InFlight() >= 1<<23 {
				t.Fatalf("%d in flight", req.InFlight())
			}
		}
	})
}

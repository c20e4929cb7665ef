package interop

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"weir/rnic"
)

// write, read ... make requests to the place that rcops uses: 64 bytes into the
// region.
func (l *link) request(op rnic.Op, data []byte) rnic.SendRequest {
	return rnic.SendRequest{Op: op, Data: data, RemoteAddr: l.him.addr + 64, RKey: l.him.rkey, Immediate: 0xcafe0001}
}

func (l *link) invalidate() rnic.SendRequest {
	return rnic.SendRequest{Op: rnic.OpSendInvalidate, Data: []byte("bye"), InvalidateKey: l.him.rkey}
}

func fill(n, seed int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*13 + seed)
	}
	return b
}

// rcOut does every operation of a reliable connection and reads back what it wrote.
func rcOut(l *link) error {
	for _, n := range []int{0, 1, 1023, 4096, 20_000} {
		for _, r := range []rnic.SendRequest{
			l.request(rnic.OpSend, fill(n, 1)), l.request(rnic.OpSendImmediate, fill(n, 2)),
			l.request(rnic.OpWriteImmediate, fill(n, 3)), l.request(rnic.OpWrite, fill(n, 4)),
		} {
			if err := l.expect(rnic.Success, r); err != nil {
				return fmt.Errorf("%d bytes: %w", n, err)
			}
		}
		back := make([]byte, n)
		if err := l.expect(rnic.Success, l.request(rnic.OpRead, back)); err != nil {
			return err
		}
		if !bytes.Equal(back, fill(n, 4)) {
			return fmt.Errorf("READ of %d bytes: %w", n, errData)
		}
	}
	r := l.request(rnic.OpFetchAdd, nil)
	r.RemoteAddr, r.Add = l.him.addr, 5
	c, err := l.do(r)
	if err != nil || c.Status != rnic.Success || c.Original != 0x1122334455667788 {
		return fmt.Errorf("FETCH_ADD: %v, %v, %#x", err, c.Status, c.Original)
	}
	r = l.request(rnic.OpCompareSwap, nil)
	r.RemoteAddr, r.Compare, r.Swap = l.him.addr, 0x112233445566778d, 0x42
	c, err = l.do(r)
	if err != nil || c.Status != rnic.Success || c.Original != 0x112233445566778d {
		return fmt.Errorf("CMP_SWAP: %v, %v, %#x", err, c.Status, c.Original)
	}
	back := make([]byte, 8)
	r = l.request(rnic.OpRead, back)
	r.RemoteAddr = l.him.addr
	if err := l.expect(rnic.Success, r); err != nil {
		return err
	}
	if back[0] != 0x42 || back[7] != 0 {
		return fmt.Errorf("after CMP_SWAP: % x", back)
	}
	return nil
}

// bulk writes and reads 40 messages of 50,000 bytes, several at a time.
func bulk(l *link) error {
	const n, size = 10, 50_000
	var backs [][]byte
	for i := range n {
		w := l.request(rnic.OpWrite, fill(size, i))
		w.RemoteAddr += uint64(i * size)
		back := make([]byte, size)
		r := l.request(rnic.OpRead, back)
		r.RemoteAddr += uint64(i * size)
		backs = append(backs, back)
		s := l.request(rnic.OpSend, fill(3000, i))
		a := l.request(rnic.OpFetchAdd, nil)
		a.RemoteAddr, a.Add = l.him.addr, 1
		for _, x := range []rnic.SendRequest{w, s, r, a} {
			if err := l.qp.PostSend(&x); err != nil {
				return err
			}
		}
	}
	adds := uint64(0)
	for range 4 * n {
		c, err := l.next(40 * time.Second)
		if err != nil {
			return fmt.Errorf("%w; %+v", err, l.dev.Counters())
		}
		if c.Status != rnic.Success {
			return fmt.Errorf("%v: %w; %+v", c.Op, c.Status, l.dev.Counters())
		}
		if c.Op == rnic.OpFetchAdd {
			if c.Original != 0x1122334455667788+adds {
				return fmt.Errorf("FETCH_ADD number %d saw %#x", adds, c.Original)
			}
			adds++
		}
	}
	for i, b := range backs {
		if !bytes.Equal(b, fill(size, i)) {
			return fmt.Errorf("READ %d: %w", i, errData)
		}
	}
	return nil
}

// rcIn lets rcops do every operation on our memory.
func (m *machine) rcIn(s setting, options string) error {
	const ops = "write:20000 send:5000 send_imm:0:0xabcd write_imm:3000:7 read:20000 fadd:5 cas:0x112233445566778d:0x42 send:0 write:1"
	return m.server(s, options, ops, func(l *link, out string) error {
		if n := strings.Count(out, "status=0"); n != 9 {
			return fmt.Errorf("%d of 9 operations succeed", n)
		}
		if err := contains(out, "old=1122334455667788", "old=112233445566778d"); err != nil {
			return err
		}
		// rcops sends bytes i mod 251 of its memory, from 64 on, to 64. Its READ put
		// our bytes, which are the same, back there; the atomics used its first 8.
		want := pattern()
		for i := range 20_000 {
			want[64+i] = byte((64 + i) % 251)
		}
		clear(want[:8])
		want[0] = 0x42
		for i := range want {
			if l.mr.Byte(i) != want[i] {
				return fmt.Errorf("byte %d is %#x, want %#x: %w", i, l.mr.Byte(i), want[i], errData)
			}
		}
		var got []string
		for range 4 {
			c, err := l.next(5 * time.Second)
			if err != nil {
				return err
			}
			got = append(got, fmt.Sprintf("%v %d %x", c.Op, c.Bytes, c.Immediate))
		}
		if w := "send 5000 0,send 0 abcd,write_imm 3000 7,send 0 0"; strings.Join(got, ",") != w {
			return fmt.Errorf("received %v, want %s", got, w)
		}
		for i := range 5000 {
			if l.recvs[0][i] != byte((64+i)%251) {
				return fmt.Errorf("SEND: %w", errData)
			}
		}
		return nil
	})
}

// refusals: what a responder must refuse, both ways.
func refusals(out, in string, s setting) []row {
	var all []row
	send := func(name string, want rnic.Status, change func(r *rnic.SendRequest)) {
		all = append(all, row{out, "NAK: " + name, true, func(m *machine) error {
			return m.client(s, "", func(l *link) error {
				r := l.request(rnic.OpWrite, make([]byte, 3000))
				change(&r)
				return l.expect(want, r)
			}, nil)
		}})
	}
	send("WRITE with a bad key", rnic.RemoteAccessError, func(r *rnic.SendRequest) { r.RKey ^= 0x5a5a00 })
	send("READ with a bad key", rnic.RemoteAccessError, func(r *rnic.SendRequest) { r.Op, r.RKey = rnic.OpRead, r.RKey^0x5a5a00 })
	send("WRITE out of bounds", rnic.RemoteAccessError, func(r *rnic.SendRequest) { r.RemoteAddr += regionBytes - 1564 })
	send("READ out of bounds", rnic.RemoteAccessError, func(r *rnic.SendRequest) { r.Op = rnic.OpRead; r.RemoteAddr += regionBytes - 1564 })
	send("atomic with a bad key", rnic.RemoteAccessError, func(r *rnic.SendRequest) {
		r.Op, r.Data, r.RKey = rnic.OpFetchAdd, nil, r.RKey^0x5a5a00
	})
	send("atomic at an odd address", rnic.RemoteInvalidError, func(r *rnic.SendRequest) {
		r.Op, r.Data, r.RemoteAddr = rnic.OpFetchAdd, nil, r.RemoteAddr+3
	})
	all = append(all, row{out, "NAK: SEND larger than the receive buffer (rdma_rxe answers remote operational error)", true, func(m *machine) error {
		return m.client(s, "-B 1000", func(l *link) error { return l.expect(rnic.RemoteOpError, l.request(rnic.OpSend, make([]byte, 3000))) }, nil)
	}}, row{out, "RNR: a SEND waits until a buffer is there", true, func(m *machine) error {
		return m.client(s, "-D 1500", func(l *link) error {
			if err := l.expect(rnic.Success, l.request(rnic.OpSend, make([]byte, 3000))); err != nil {
				return err
			}
			if l.dev.Counters().RNRNAKs == 0 {
				return fmt.Errorf("no RNR NAK came")
			}
			return nil
		}, nil)
	}}, row{out, "RNR: retries run out", false, func(m *machine) error {
		few := s
		few.rnrRetry = 2
		return m.client(few, "-D 4000", func(l *link) error {
			return l.expect(rnic.RNRRetryExceeded, l.request(rnic.OpSend, make([]byte, 3000)))
		}, nil)
	}})
	// Statuses of verbs: 9 remote invalid request, 10 remote access error.
	for _, x := range []struct{ name, op, status string }{
		{"WRITE with a bad key", "bad_rkey_write:3000", "status=10"}, {"READ with a bad key", "bad_rkey_read:3000", "status=10"},
		{"WRITE out of bounds", "oob_write:3000", "status=10"}, {"READ out of bounds", "oob_read:3000", "status=10"},
		{"atomic with a bad key", "bad_rkey_fadd", "status=10"}, {"SEND larger than the receive buffer", "send:70000", "status=9"},
	} {
		all = append(all, row{in, "NAK: " + x.name, true, func(m *machine) error {
			return m.server(s, "", x.op, func(l *link, text string) error {
				if !bytes.Equal(l.buf, pattern()) {
					return fmt.Errorf("memory was written: %w", errData)
				}
				return contains(text, x.status)
			})
		}})
	}
	return append(all, row{in, "RNR: a SEND waits until a buffer is there", true, func(m *machine) error {
		late := s
		late.noRecv = 1500 * time.Millisecond
		return m.server(late, "", "send:3000", func(_ *link, text string) error { return contains(text, "status=0") })
	}})
}

// unreliable: UC and UD, both ways.
func unreliable(out, in string) []row {
	var all []row
	for _, ipv6 := range []bool{false, true} {
		uc := setting{typ: rnic.UC, mtu: 1024, psn: rnic.PSNRandom, ipv6: ipv6}
		ud := setting{typ: rnic.UD, mtu: 1024, psn: rnic.PSNRandom, ipv6: ipv6}
		v := version(ipv6)
		all = append(all, row{out, "UC: SEND, immediate, WRITE, immediate; " + v, !ipv6, func(m *machine) error {
			want := pattern()
			return m.client(uc, "", func(l *link) error {
				for _, r := range []rnic.SendRequest{
					l.request(rnic.OpSend, fill(5000, 1)), l.request(rnic.OpSendImmediate, fill(0, 2)),
					l.request(rnic.OpWrite, fill(5000, 3)), l.request(rnic.OpWriteImmediate, fill(3000, 4)),
				} {
					if err := l.expect(rnic.Success, r); err != nil {
						return err
					}
				}
				copy(want[64:], fill(5000, 3))
				copy(want[64:], fill(3000, 4))
				time.Sleep(time.Second)
				return nil
			}, func(log string) error {
				return contains(log, "op=recv len=5000", "imm=cafe0001", "op=recv_rdma_imm len=3000", fnv(want))
			})
		}}, row{out, "UD: SEND, immediate; " + v, !ipv6, func(m *machine) error {
			return m.client(ud, "", func(l *link) error {
				for _, op := range []rnic.Op{rnic.OpSend, rnic.OpSendImmediate} {
					r := l.request(op, fill(1000, 1))
					r.To, r.QPN, r.QKey = l.him.gid.Addr(), qpn(l), 0x11111111
					var err error
					m.host.Do(func() { err = l.expect(rnic.Success, r) }) // opens a socket
					if err != nil {
						return err
					}
				}
				time.Sleep(time.Second)
				return nil // 40 bytes of GRH count in
			}, func(log string) error { return contains(log, "op=recv len=1040", "imm=cafe0001") })
		}}, row{in, "UC: SEND, immediate, WRITE, immediate; " + v, !ipv6, func(m *machine) error {
			return m.server(uc, "", "write:5000 send:5000 send_imm:0:1 write_imm:3000:2", func(l *link, text string) error {
				for _, w := range []string{"send 5000", "send 0", "write_imm 3000"} {
					c, err := l.next(5 * time.Second)
					if err != nil {
						return err
					}
					if g := fmt.Sprint(c.Op, " ", c.Bytes); g != w {
						return fmt.Errorf("received %s, want %s", g, w)
					}
				}
				for i := range 5000 {
					if l.mr.Byte(64+i) != byte((64+i)%251) {
						return errData
					}
				}
				return nil
			})
		}}, row{in, "UD: SEND, immediate; " + v, !ipv6, func(m *machine) error {
			return m.server(ud, "", "send:1000 send_imm:500:3", func(l *link, text string) error {
				for _, w := range []string{"1000 0", "500 3"} {
					c, err := l.next(5 * time.Second)
					if err != nil {
						return err
					}
					if g := fmt.Sprintf("%d %x", c.Bytes, c.Immediate); g != w || c.From != l.him.gid.Addr() || c.SrcQP != qpn(l) {
						return fmt.Errorf("received %s from %v %v, want %s", g, c.From, c.SrcQP, w)
					}
				}
				return nil
			})
		}})
	}
	return all
}

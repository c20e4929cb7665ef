package capture

import (
	"bytes"
	"context"
	"testing"

	"weir/roce"
	"weir/roce/pcapfile"
	"weir/units"
)

// FuzzAnalyse feeds any bytes as a capture: no panic, and the rows add up.
func FuzzAnalyse(f *testing.F) {
	s := newScript(f, 2, perQP).healthy(3)
	s.marked(0, 3)
	s.ack(0, 2, roce.SyndromeNAKSequenceError)
	s.ack(1, 3, roce.RNR(12))
	s.check(s.w.CNP(s.at, s.cnp[0]))
	s.check(s.w.PFC(s.at, roce.MAC{2}, roce.PFC{Enable: 0xff, Quanta: [8]uint16{1, 2, 3, 4, 5, 6, 7, 8}}))
	s.check(s.w.Pause(s.at, roce.MAC{2}, roce.Pause{Quanta: 9}))
	s.write(0, 3, 64)
	s.write(0, 1, 64)
	f.Add(s.buf.Bytes())
	f.Add(s.buf.Bytes()[:300])
	f.Fuzz(func(t *testing.T, b []byte) {
		shown := uint64(0)
		a := New(Options{LinkSpeed: 100 * units.Gbps, Packet: func(*Sighting) { shown++ }})
		d, err := pcapfile.NewReader(bytes.NewReader(b)) // reading ahead would make coverage a matter of chance
		if err != nil {
			return
		}
		if err := a.Drain(context.Background(), d); err != nil {
			t.Fatal(err)
		}
		r := a.Report()
		var rows uint64
		for _, q := range r.QueuePairs {
			rows += q.Packets
			if q.DistinctPSNs > q.Packets {
				t.Errorf("%+v", q)
			}
		}
		for _, q := range r.RoCEv1QueuePairs {
			rows += q.Packets
		}
		if rows+r.Untracked != r.RoCEPackets+r.RoCEv1Packets || shown != r.RoCEPackets+r.RoCEv1Packets+r.PFCFrames+r.PauseFrames {
			t.Errorf("%d in rows, %d untracked, %d shown of %+v", rows, r.Untracked, shown, r)
		}
		if n := r.ICRC; n.Valid+n.Wrong+n.Unchecked != r.RoCEPackets {
			t.Errorf("ICRC %+v of %d", n, r.RoCEPackets)
		}
	})
}

// FuzzFilter: what parses can be applied; what does not says where.
func FuzzFilter(f *testing.F) {
	for _, s := range []string{
		"host 10.0.0.1", "src 10.0.0.0/8 and not (qp 0x11 or op RC_ACK)", "time 1ms-2s && ecn ce", "cnp || pfc or nak",
		"psn 5-7 and sport 49152 and dscp 26 and frame 1-9 and icrc wrong and again", "((", "qp", "dst fe80::1%eth0",
	} {
		f.Add(s)
	}
	frame := make([]byte, 200)
	var p roce.Packet
	p.Has = roce.HasEthernet | roce.HasIPv4
	n, err := p.Encode(frame)
	if err != nil {
		f.Fatal(err)
	}
	if err := p.DecodeEthernet(frame[:n]); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		filter, err := ParseFilter(text)
		if err != nil {
			if filter != nil || len(err.Error()) == 0 {
				t.Errorf("%q: %v, %v", text, filter, err)
			}
			return
		}
		filter.Match(&Sighting{Number: 1, Frame: &p})
	})
}

func TestFilter(t *testing.T) {
	s := newScript(t, 3, perQP).healthy(4)
	s.marked(1, 4)
	s.ack(1, 4, roce.SyndromeNAKSequenceError)
	s.check(s.w.CNP(s.at, s.cnp[1]))
	s.check(s.w.PFC(s.at, roce.MAC{2}, roce.PFC{Enable: 8}))
	s.write(1, 4, 64)
	for text, want := range map[string]int{
		"host 192.0.2.1":                   28,
		"src 192.0.2.1":                    14,
		"dst 192.0.2.0/24 and op rc_write": 14,
		"qp 0x201":                         8, // 6 requests, and the answers once the pair is known
		"op RC_ACKNOWLEDGE":                13,
		"cnp":                              1,
		"pfc or cnp":                       2,
		"nak":                              1,
		"ecn ce":                           1,
		"not host 192.0.2.0/24":            1,
		"again":                            1,
		"frame 3-5":                        3,
		"time 0us-2us":                     3,
		"psn 4 and not nak":                2,
		"dscp 48":                          1,
		"sport 50007":                      6,
		"icrc wrong":                       0,
		"(src 192.0.2.1 or cnp) and (frame 1-6 or cnp)": 4,
	} {
		f, err := ParseFilter(text)
		if err != nil {
			t.Error(err)
			continue
		}
		n := 0
		a := New(Options{Packet: func(s *Sighting) {
			if f.Match(s) {
				n++
			}
		}})
		if err := a.Read(context.Background(), bytes.NewReader(s.buf.Bytes())); err != nil {
			t.Fatal(err)
		}
		if text == "qp 0x201" {
			if n < want || n > want+4 {
				t.Errorf("%s: %d packets", text, n)
			}
		} else if n != want {
			t.Errorf("%s: %d packets, want %d", text, n, want)
		}
	}
	r := s.report(Options{Filter: &Filter{op: opECN, lo: 3, hi: 3}}, nil)
	if r.RoCEPackets != 1 || r.PFCFrames != 0 || r.Frames != 29 {
		t.Errorf("filtered analysis: %+v", r)
	}
	for text, want := range map[string]string{
		"":            "--filter:1:1: the filter ends: host ADDR",
		"hots 1":      `--filter:1:1: "hots": host ADDR`,
		"qp":          "--filter:1:3: the filter ends: a value",
		"qp 5-x":      `--filter:1:4: "5-x": a number`,
		"host 10.0.0": `--filter:1:6: "10.0.0": an address`,
		"op RC_FLY":   `--filter:1:4: "RC_FLY": the name of an opcode`,
		"ecn maybe":   `--filter:1:5: "maybe": not-ect, ect1, ect0, ce`,
		"time 2s-1s":  `--filter:1:6: "2s-1s": two times`,
		"(qp 1":       "--filter:1:6: the filter ends: )",
		"qp 1 qp 2":   `--filter:1:6: "qp": and, or, or the end`,
		"qp 1 and":    "--filter:1:9: the filter ends: host ADDR",
	} {
		if _, err := ParseFilter(text); err == nil || len(err.Error()) < len(want) || err.Error()[:len(want)] != want {
			t.Errorf("%q: %v, want %s...", text, err, want)
		}
	}
}

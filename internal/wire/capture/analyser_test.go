package capture

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"weir/internal/finding"
	"weir/internal/qos"
	"weir/internal/wire/tap"
	"weir/rc"
	"weir/roce"
	"weir/roce/pcapfile"
	"weir/units"
)

// script writes captures by hand: packets of queue pair pairs (0x100+i, 0x200+i)
// between two hosts, a microsecond apart.
type script struct {
	t    testing.TB
	buf  bytes.Buffer
	w    *tap.Writer
	at   units.Time
	req  []*tap.Path
	resp []*tap.Path
	cnp  []*tap.Path
}

func newScript(t testing.TB, qps int, port func(i int) uint16) *script {
	s := &script{t: t}
	var err error
	if s.w, err = tap.NewWriter(&s.buf, tap.Options{Start: 1700000000e9}); err != nil {
		t.Fatal(err)
	}
	a, b := roce.GIDFromIPv4([4]byte{192, 0, 2, 1}), roce.GIDFromIPv4([4]byte{192, 0, 2, 2})
	for i := range qps {
		path := tap.Path{SrcMAC: tap.MAC(1, 0), DstMAC: tap.MAC(2, 0), Src: a, Dst: b, DestQP: roce.QPN(0x200 + i), SrcPort: port(i), TrafficClass: 26<<2 | 2}
		back := tap.Path{SrcMAC: tap.MAC(2, 0), DstMAC: tap.MAC(1, 0), Src: b, Dst: a, DestQP: roce.QPN(0x100 + i), SrcPort: port(i) + 1000, TrafficClass: 26<<2 | 2}
		notice := back
		notice.TrafficClass = 48 << 2
		s.req, s.resp, s.cnp = append(s.req, &path), append(s.resp, &back), append(s.cnp, &notice)
	}
	return s
}

func perQP(i int) uint16 { return uint16(50000 + 7*i) }
func onePort(int) uint16 { return 50000 }

func (s *script) check(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
	s.at += units.Microsecond
}

// write sends an RDMA WRITE ONLY.
func (s *script) write(qp int, psn roce.PSN, bytes uint32) {
	s.check(s.w.Packet(s.at, s.req[qp], &tap.Packet{Packet: rc.Packet{Op: roce.RCWriteOnly, PSN: psn, Bytes: bytes, Flags: rc.AckRequest}}))
}

func (s *script) marked(qp int, psn roce.PSN) {
	s.check(s.w.Packet(s.at, s.req[qp], &tap.Packet{Packet: rc.Packet{Op: roce.RCWriteOnly, PSN: psn, Bytes: 64, Flags: rc.AckRequest}, Marked: true}))
}

func (s *script) ack(qp int, psn roce.PSN, syndrome roce.Syndrome) {
	s.check(s.w.Packet(s.at, s.resp[qp], &tap.Packet{Packet: rc.Packet{Op: roce.RCAcknowledge, PSN: psn, Syndrome: syndrome}}))
}

// report analyses what was written, through a change of each frame if edit is given.
func (s *script) report(o Options, edit func(frame []byte)) *Report {
	s.t.Helper()
	b := s.buf.Bytes()
	if edit != nil {
		b = rewrite(s.t, b, pcapfile.Ethernet, func(f []byte) []byte {
			f = bytes.Clone(f)
			edit(f)
			return f
		})
	}
	return reportOf(s.t, b, o)
}

func reportOf(t testing.TB, b []byte, o Options) *Report {
	t.Helper()
	a := New(o)
	if err := a.Read(context.Background(), bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	return a.Report()
}

// rewrite copies a capture, each frame changed.
func rewrite(t testing.TB, b []byte, link pcapfile.LinkType, change func([]byte) []byte) []byte {
	t.Helper()
	r, err := pcapfile.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := pcapfile.NewWriter(&out, pcapfile.Options{LinkType: link})
	if err != nil {
		t.Fatal(err)
	}
	var rec pcapfile.Record
	for {
		err := r.Next(&rec)
		if err == io.EOF {
			return out.Bytes()
		}
		if err == nil {
			err = w.Write(rec.Time, change(rec.Data), 0)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// causes lists the findings' causes.
func causes(r *Report) string {
	var list []string
	for _, f := range r.Findings {
		list = append(list, f.Cause)
	}
	return strings.Join(list, " ")
}

func wantCauses(t *testing.T, r *Report, want string) {
	t.Helper()
	if got := causes(r); got != want {
		t.Errorf("causes %q, want %q: %+v", got, want, r.Findings)
	}
}

// healthy writes n writes on each of the queue pairs, acknowledged one by one.
func (s *script) healthy(n int) *script {
	for k := range n {
		for q := range s.req {
			s.write(q, roce.PSN(k), uint32(40+k*17%900))
		}
		for q := range s.req {
			s.ack(q, roce.PSN(k), roce.SyndromeACK)
		}
	}
	return s
}

// All queue pairs start at PSN 0, as a communication library's do; they must be
// paired by what their answers say.
func TestPairing(t *testing.T) {
	r := newScript(t, 20, perQP).healthy(40).report(Options{}, nil)
	wantCauses(t, r, "")
	if len(r.Connections) != 20 {
		t.Fatalf("%d connections", len(r.Connections))
	}
	// 20 writes pass between a write and its acknowledgement.
	for _, c := range r.Connections {
		if c.SrcQPN == 0 || c.Messages != 40 || c.AckLatency.Count < 20 || c.AckLatency.P50US < 19 || c.AckLatency.P50US > 21 {
			t.Errorf("QP %#x>%#x: %d messages, latency %+v", c.SrcQPN, c.DestQPN, c.Messages, c.AckLatency)
		}
	}
}

// The same packets in every form that a capture can have.
func TestForms(t *testing.T) {
	plain := newScript(t, 2, perQP).healthy(10).buf.Bytes()
	want := reportOf(t, plain, Options{})
	wrap := func(head []byte, cut int) func([]byte) []byte {
		return func(f []byte) []byte { return append(bytes.Clone(head), f[cut:]...) }
	}
	var zipped, zst bytes.Buffer
	gz := gzip.NewWriter(&zipped)
	gz.Write(plain)
	gz.Close()
	z, _ := zstd.NewWriter(&zst)
	z.Write(plain)
	z.Close()
	vxlan := func(f []byte) []byte {
		var p roce.Packet
		if err := p.DecodeEthernet(f); err != nil {
			t.Fatal(err)
		}
		p.Has |= roce.HasTunnel
		p.Tunnel = roce.Tunnel{VNI: 7, UDP: roce.UDP{SrcPort: 999}}
		b := make([]byte, 4096)
		n, err := p.Encode(b)
		if err != nil {
			t.Fatal(err)
		}
		return b[:n]
	}
	tags := func(f []byte) []byte {
		return append(append(bytes.Clone(f[:12]), 0x88, 0xa8, 0, 5, 0x81, 0, 0x60, 100), f[12:]...)
	}
	for name, b := range map[string][]byte{
		"gzip":  zipped.Bytes(),
		"zstd":  zst.Bytes(),
		"QinQ":  rewrite(t, plain, pcapfile.Ethernet, tags),
		"raw":   rewrite(t, plain, pcapfile.Raw, wrap(nil, 14)),
		"SLL":   rewrite(t, plain, pcapfile.LinuxSLL, wrap([]byte{0, 4, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0, 8, 0}, 14)),
		"SLL2":  rewrite(t, plain, pcapfile.LinuxSLL2, wrap([]byte{8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 1, 2, 3, 4, 5, 6, 0, 0}, 14)),
		"null":  rewrite(t, plain, pcapfile.Null, wrap([]byte{2, 0, 0, 0}, 14)),
		"VXLAN": rewrite(t, plain, pcapfile.Ethernet, vxlan),
	} {
		got := reportOf(t, b, Options{})
		got.WireBytes, got.VXLANPackets, got.VLANPackets = want.WireBytes, 0, 0
		if d := cmp.Diff(want, got, cmp.AllowUnexported(Report{})); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	odd := reportOf(t, rewrite(t, plain, 147, wrap(nil, 0)), Options{})
	wantCauses(t, odd, "unknown")
	if odd.RoCEPackets != 0 || !strings.Contains(odd.Findings[0].Summary, "link type 147") {
		t.Errorf("unknown link type: %+v", odd)
	}
	cut := reportOf(t, zipped.Bytes()[:zipped.Len()/2], Options{})
	if causes(cut) != "unknown" || cut.StoppedAtByte == nil || cut.RoCEPackets == 0 {
		t.Errorf("cut gzip: %+v", cut)
	}
}

// hesitant returns nothing every other time, and a few bytes at most.
type hesitant struct {
	r io.Reader
	n int
}

func (h *hesitant) Read(p []byte) (int, error) {
	if h.n++; h.n%2 == 1 {
		return 0, nil
	}
	return h.r.Read(p[:min(len(p), 1+h.n%700)])
}

// Reads of any size give the same report.
func TestHesitantStream(t *testing.T) {
	b := newScript(t, 2, perQP).healthy(60).buf.Bytes()
	a := New(Options{})
	if err := a.Read(context.Background(), &hesitant{r: bytes.NewReader(b)}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(reportOf(t, b, Options{}), a.Report(), cmp.AllowUnexported(Report{})); d != "" {
		t.Error(d)
	}
}

// A stream that falls silent must not hold an interrupted program.
func TestInterrupted(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(context.Background())
	a := New(Options{})
	done := make(chan error)
	go func() { done <- a.Read(ctx, r) }()
	if _, err := w.Write(newScript(t, 1, perQP).healthy(5).buf.Bytes()); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != context.Canceled {
		t.Error(err)
	}
	if err := New(Options{}).Read(ctx, r); err != context.Canceled {
		t.Error(err)
	}
}

// A compressed stream that is damaged far behind its start is read up to there.
func TestDamagedStream(t *testing.T) {
	plain := newScript(t, 2, perQP).healthy(400).buf.Bytes()
	var zst bytes.Buffer
	z, err := zstd.NewWriter(&zst, zstd.WithEncoderConcurrency(1))
	if err != nil {
		t.Fatal(err)
	}
	z.Write(plain)
	z.Close()
	b := zst.Bytes()
	b[len(b)*3/4] ^= 0xff
	r := reportOf(t, b, Options{})
	if causes(r) != "unknown" || r.StoppedAtByte == nil || *r.StoppedAtByte == 0 || r.RoCEPackets == 0 || r.RoCEPackets == 1600 {
		t.Errorf("stopped at %v after %d packets: %+v", r.StoppedAtByte, r.RoCEPackets, r.Findings)
	}
}

// Address translation changes the same bits in every packet, whatever its length;
// a bad cable does not.
func TestDamage(t *testing.T) {
	s := newScript(t, 1, perQP).healthy(12)
	ports := func(f []byte) {
		if f[26+3] == 1 { // requests: other source address and port, checksum made right
			f[28], f[35] = 77, f[35]^0x5a
			binary.BigEndian.PutUint16(f[24:], 0)
			var sum uint32
			for i := 14; i < 34; i += 2 {
				sum += uint32(binary.BigEndian.Uint16(f[i:]))
			}
			sum = sum>>16 + sum&0xffff
			binary.BigEndian.PutUint16(f[24:], ^uint16(sum+sum>>16))
		}
	}
	r := s.report(Options{}, ports)
	wantCauses(t, r, "path-unreachable")
	if r.ICRC != (ICRCCounts{Valid: 12, Wrong: 12}) || !strings.Contains(r.Findings[0].Summary, "address translation") {
		t.Errorf("translated: %+v, %+v", r.ICRC, r.Findings)
	}
	n := 0
	r = s.report(Options{}, func(f []byte) {
		if n++; n%5 == 0 && len(f) > 70 {
			f[60+n%8] ^= 4
		}
	})
	wantCauses(t, r, "link-errors")
	n = 0
	r = s.report(Options{}, func(f []byte) { // in every packet, each time elsewhere
		n++
		if f[29] == 1 {
			f[74+n%20] ^= 1
		}
	})
	wantCauses(t, r, "link-errors")
	r = s.report(Options{}, func(f []byte) { // identification set after the ICRC was made with 0
		binary.BigEndian.PutUint16(f[18:], 0)
		var p roce.Packet
		if err := p.DecodeEthernet(f); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Encode(f); err != nil {
			t.Fatal(err)
		}
		n++
		binary.BigEndian.PutUint16(f[18:], uint16(n))
	})
	wantCauses(t, r, "software-defect software-defect")
	if !strings.Contains(r.Findings[0].Summary, "identification 0") {
		t.Errorf("%+v", r.Findings)
	}
}

func TestUnshift(t *testing.T) {
	for _, n := range []int{0, 1, 2, 20, 1023, 60000} {
		s := uint32(0x12345678)
		for range n {
			s = crcByte(s, 0)
		}
		if got := unshift(s, n); got != 0x12345678 {
			t.Errorf("%d bytes: %08x", n, got)
		}
	}
}

func TestSourcePorts(t *testing.T) {
	r := newScript(t, 4, onePort).healthy(3).report(Options{}, nil)
	wantCauses(t, r, "fixed-source-port")
	if r.Findings[0].Severity != finding.Warning || !strings.Contains(r.Findings[0].Summary, "All 4 queue pairs use UDP source port 50000") {
		t.Errorf("%+v", r.Findings)
	}
	wantCauses(t, newScript(t, 2, onePort).healthy(3).report(Options{}, nil), "")
	wantCauses(t, newScript(t, 4, func(i int) uint16 { return uint16(50000 + i/3) }).healthy(3).report(Options{}, nil), "")
}

func TestIntent(t *testing.T) {
	in := &qos.Intent{
		Classes: []qos.Class{{Name: "roce", DSCP: 26}, {Name: "cnp", DSCP: 48}}, MTU: 1024, ECN: qos.ECN{Enabled: true},
	}
	s := newScript(t, 1, perQP)
	for k := range 6 {
		for i, op := range []roce.Opcode{roce.RCWriteFirst, roce.RCWriteLast} {
			s.check(s.w.Packet(s.at, s.req[0], &tap.Packet{Packet: rc.Packet{Op: op, PSN: roce.PSN(2*k + i), Bytes: 1024}, Message: 2048}))
		}
		s.ack(0, roce.PSN(2*k+1), roce.SyndromeACK)
	}
	s.check(s.w.CNP(s.at, s.cnp[0]))
	wantCauses(t, s.report(Options{Intent: in}, nil), "")
	other := *in
	other.Classes = []qos.Class{{DSCP: 24}, {DSCP: 46}}
	other.MTU = 4096
	r := s.report(Options{Intent: &other}, nil)
	wantCauses(t, r, "roce-in-default-priority mtu-small cnp-in-wrong-queue")
	r = s.report(Options{Intent: in}, func(f []byte) { f[15] &^= 3 })
	wantCauses(t, r, "ecn-not-configured")
}

// congested sends packets a microsecond apart with a CNP every 30, after which the
// sender doubles the time between packets for a while if it obeys.
func congested(t *testing.T, obeys bool) *Report {
	s := newScript(t, 1, perQP)
	psn := roce.PSN(0)
	for range 12 {
		for k := range 30 {
			if k == 29 {
				s.marked(0, psn)
			} else {
				s.write(0, psn, 64)
			}
			psn++
			if obeys && k < 15 && psn > 30 {
				s.at += 2 * units.Microsecond
			}
		}
		s.ack(0, psn.Add(-1), roce.SyndromeACK)
		s.at += 4 * units.Microsecond
		s.check(s.w.CNP(s.at, s.cnp[0]))
		s.at -= 5 * units.Microsecond
	}
	return s.report(Options{}, nil)
}

func TestCongestionNotices(t *testing.T) {
	r := congested(t, false)
	wantCauses(t, r, "congestion-control-off")
	if c := r.Connections[0]; c.CNPs != 12 || c.CNPsObeyed != 0 || c.CEToCNP.Count != 12 {
		t.Errorf("%+v", c)
	}
	r = congested(t, true)
	wantCauses(t, r, "")
	c := r.Connections[0]
	// The mark passes 6 us before the notice: acknowledgement, 4 us, and one of each packet's.
	if c.CNPsObeyed < 10 || c.CEToCNP.P50US != 6 || c.CNPToSlow.Count < 10 || c.CNPToSlow.P50US > 4 {
		t.Errorf("%+v", c)
	}
}

// Marks without notices.
func TestNoNotices(t *testing.T) {
	s := newScript(t, 1, perQP)
	for psn := range roce.PSN(300) {
		s.marked(0, psn)
		s.ack(0, psn, roce.SyndromeACK)
	}
	wantCauses(t, s.report(Options{}, nil), "congestion-control-off")
	// A capture without the way back proves nothing.
	s = newScript(t, 1, perQP)
	for psn := range roce.PSN(300) {
		s.marked(0, psn)
	}
	wantCauses(t, s.report(Options{}, nil), "")
}

// The capture lost packets, the network did not.
func TestCaptureLoss(t *testing.T) {
	s := newScript(t, 1, perQP)
	for psn := range roce.PSN(200) {
		if psn%40 != 7 {
			s.write(0, psn, 64)
		}
		s.ack(0, psn, roce.SyndromeACK)
	}
	r := s.report(Options{}, nil)
	wantCauses(t, r, "not-a-fault")
	if r.Findings[0].Severity != finding.Info || r.Connections[0].UnseenAcked != 5 {
		t.Errorf("%+v", r.Findings)
	}
}

func TestPauseTimes(t *testing.T) {
	s := newScript(t, 0, perQP)
	src := tap.MAC(9, 9)
	pfc := func(quanta uint16) {
		s.check(s.w.PFC(s.at, src, roce.PFC{Enable: 8, Quanta: [8]uint16{3: quanta}}))
	}
	pfc(1000) // 5.12 us at 100 Gb/s
	s.at += 19 * units.Microsecond
	pfc(65535) // cut short by the resume 9 us later
	s.at += 8 * units.Microsecond
	pfc(0)
	r := s.report(Options{LinkSpeed: 100 * units.Gbps}, nil)
	wantCauses(t, r, "")
	if d := cmp.Diff([]Pause{{Sender: "02:00:00:09:00:09", Class: 3, Frames: 2, Resumes: 1, Quanta: 66535, MaxQuanta: 65535, PausedUS: 14.12, LongestRun: 2}}, r.Pauses); d != "" {
		t.Error(d)
	}
}

// A hostile capture: every packet another flow, PSNs everywhere. Memory stays bounded.
func TestHostile(t *testing.T) {
	a := New(Options{})
	var p roce.Packet
	var buf [200]byte
	rec := pcapfile.Record{LinkType: pcapfile.Ethernet}
	for i := range 400000 {
		p.Has = roce.HasEthernet | roce.HasIPv4
		p.IPv4 = roce.IPv4{Src: [4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}, Dst: [4]byte{11, byte(i >> 3), 1, 1}}
		p.BTH = roce.BTH{Opcode: roce.Opcode(i % 24), DestQP: roce.QPN(i * 7919), PSN: roce.PSN(i*104729) & roce.PSNMask, AckReq: true}
		p.RETH.Length = uint32(i) << 12
		p.PayloadLen = 0
		n, err := p.Encode(buf[:])
		if err != nil {
			t.Fatal(err)
		}
		rec.Data, rec.WireLen, rec.Time = buf[:n], n, int64(i*i)*(1-2*int64(i&1))
		a.Add(&rec)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 150<<20 {
		t.Errorf("%d MB in use", m.HeapAlloc>>20)
	}
	r := a.Report()
	if r.Frames != 400000 || r.Untracked == 0 || !strings.Contains(causes(r), "unknown") {
		t.Errorf("frames %d, untracked %d, causes %q", r.Frames, r.Untracked, causes(r))
	}
}

func TestSteadyStateAllocates(t *testing.T) {
	s := newScript(t, 1, perQP).healthy(200)
	r, err := pcapfile.NewReader(bytes.NewReader(s.buf.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	a := New(Options{})
	var rec pcapfile.Record
	for range 20 {
		if err := r.Next(&rec); err != nil {
			t.Fatal(err)
		}
		a.Add(&rec)
	}
	if n := testing.AllocsPerRun(300, func() {
		if err := r.Next(&rec); err != nil {
			t.Fatal(err)
		}
		a.Add(&rec)
	}); n != 0 {
		t.Errorf("%v allocations a packet", n)
	}
}

// BenchmarkAdd analyses packets of 1 KiB from memory.
func BenchmarkAdd(b *testing.B) {
	s := newScript(b, 1, perQP)
	for psn := range roce.PSN(1000) {
		s.write(0, psn, 1024)
		s.ack(0, psn, roce.SyndromeACK)
	}
	a := New(Options{})
	r, err := pcapfile.NewReader(bytes.NewReader(s.buf.Bytes()))
	if err != nil {
		b.Fatal(err)
	}
	var recs []pcapfile.Record
	var rec pcapfile.Record
	for r.Next(&rec) == nil {
		rec.Data = bytes.Clone(rec.Data)
		recs = append(recs, rec)
	}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		a.Add(&recs[i])
		if i++; i == len(recs) {
			i = 0
		}
	}
}

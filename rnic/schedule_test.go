package rnic_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"weir/dcqcn"
	"weir/rnic"
	"weir/units"
)

// schedule is a random run of two connected queue pairs over a bad network,
// both of which send, with a model of what must come out.
type schedule struct {
	t    testing.TB
	rnd  *rand.Rand
	f    *rnic.Fabric
	path rnic.Path
	ends [2]*end
	side [2]side
}

// side is what one end has asked for, and what of the other's requests it has seen.
type side struct {
	posted []rnic.SendRequest
	done   int
	adds   uint64 // sum of the FETCH_ADDs that completed
	sends  []int  // posted indexes of SENDs and WRITEs with immediate, in order
	seen   int    // of the other end's sends
	bufs   map[uint64][]byte
	nextID uint64
}

const (
	counterOffset = 0       // 8 bytes that the atomics change
	readOffset    = 1 << 10 // constant data for READs
	readBytes     = 16 << 10
	writeOffset   = 32 << 10 // a slot for each WRITE
	slotBytes     = 1 << 10
)

func newSchedule(t testing.TB, seed uint64) *schedule {
	rnd := rand.New(rand.NewPCG(seed, 7))
	pick := func(v ...float64) float64 { return v[rnd.IntN(len(v))] }
	i := rnic.Impairments{
		Loss: pick(0, 0.001, 0.01, 0.1), Duplicate: pick(0, 0.01, 0.1), Reorder: pick(0, 0.01, 0.2),
		Corrupt: pick(0, 0, 0.01, 0.1), Mark: pick(0, 0, 0.1),
	}
	s := &schedule{t: t, rnd: rnd, f: rnic.NewFabric(seed, i)}
	s.path = rnic.Path{
		MTU: []int{256, 512, 1024, 4096}[rnd.IntN(4)], TrafficClass: 106,
		Timeout: 6, RetryCount: uint8(rnd.IntN(8)), RNRRetry: uint8(rnd.IntN(8)), RNRTimer: uint8(1 + rnd.IntN(3)),
		MaxReads: uint8(1 + rnd.IntN(4)), Window: []int{1, 3, 16, 64}[rnd.IntN(4)], AckEvery: rnd.IntN(5),
	}
	c := rnic.Config{Addr: addrA}
	if rnd.IntN(3) == 0 {
		c.Congestion = dcqcn.AdapterDefaults(10 * units.Gbps)
		c.Congestion.Enabled = true
	}
	da, err := s.f.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	c.Addr = addrB
	db, err := s.f.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	s.ends = [2]*end{newEnd(t, da, rnic.RC), newEnd(t, db, rnic.RC)}
	connect(t, s.ends[0], s.ends[1], s.path)
	for k := range s.side {
		s.side[k].bufs = map[uint64][]byte{}
		copy(s.ends[k].buf[readOffset:], pattern(readBytes, 9+k))
		for range rnd.IntN(6) {
			s.postReceive(k)
		}
	}
	return s
}

func (s *schedule) postReceive(k int) {
	p := &s.side[k]
	id := p.nextID
	p.nextID++
	p.bufs[id] = make([]byte, 8<<10)
	if s.ends[k].qp.PostRecv(&rnic.RecvRequest{ID: id, Buffer: p.bufs[id]}) != nil {
		delete(p.bufs, id) // the queue pair has failed
	}
}

// postSend posts a random request of end k.
func (s *schedule) postSend(k int) {
	p, peer := &s.side[k], s.ends[1-k]
	id := len(p.posted)
	n := s.rnd.IntN(8 << 10)
	if s.rnd.IntN(4) == 0 {
		n = s.rnd.IntN(3)
	}
	r := rnic.SendRequest{ID: uint64(id), RKey: peer.mr.RKey(), Immediate: uint32(id), Op: rnic.Op(s.rnd.IntN(8))}
	base := peer.mr.Addr()
	switch r.Op {
	case rnic.OpSend, rnic.OpSendInvalidate:
		r.Op = rnic.OpSend
		r.Data = pattern(n, id)
	case rnic.OpSendImmediate:
		r.Data = pattern(n, id)
	case rnic.OpWrite, rnic.OpWriteImmediate:
		r.Data = pattern(n%slotBytes, id)
		r.RemoteAddr = base + writeOffset + uint64(id%32)*slotBytes
	case rnic.OpRead:
		r.Data = make([]byte, n)
		r.RemoteAddr = base + readOffset + uint64(s.rnd.IntN(readBytes-n+1))
	case rnic.OpFetchAdd:
		r.RemoteAddr = base + counterOffset
		r.Add = uint64(1 + s.rnd.IntN(100))
	case rnic.OpCompareSwap:
		r.RemoteAddr, r.Compare = base+counterOffset, ^uint64(0) // never equal: a plain fetch
	}
	if s.ends[k].qp.PostSend(&r) != nil {
		return
	}
	p.posted = append(p.posted, r)
	switch r.Op {
	case rnic.OpSend, rnic.OpSendImmediate, rnic.OpWriteImmediate:
		p.sends = append(p.sends, id)
	}
}

// completions checks what the ends have been told: receives first, so that a
// send that completes at the same time finds its delivery.
func (s *schedule) completions() error {
	told := [2][]rnic.Completion{s.ends[0].poll(), s.ends[1].poll()}
	for k := range told {
		for i := range told[k] {
			if c := &told[k][i]; c.Receive {
				if err := s.received(k, c); err != nil {
					return err
				}
			}
		}
	}
	for k := range told {
		if err := s.completed(k, told[k]); err != nil {
			return err
		}
	}
	return nil
}

func (s *schedule) completed(k int, told []rnic.Completion) error {
	p := &s.side[k]
	for _, c := range told {
		if c.Receive {
			continue
		}
		if c.ID != uint64(p.done) {
			return fmt.Errorf("end %d: request %d completes, %d expected", k, c.ID, p.done)
		}
		p.done++
		r := &p.posted[c.ID]
		if c.Status != rnic.Success {
			continue
		}
		if s.side[1-k].seen < sendsBefore(p.sends, int(c.ID)+1) {
			return fmt.Errorf("end %d: request %d complete without delivery", k, c.ID)
		}
		switch r.Op {
		case rnic.OpRead:
			off := r.RemoteAddr - s.ends[1-k].mr.Addr()
			if !bytes.Equal(r.Data, s.ends[1-k].buf[off:off+uint64(len(r.Data))]) {
				return fmt.Errorf("end %d: READ %d has wrong data", k, c.ID)
			}
		case rnic.OpFetchAdd:
			if c.Original != p.adds {
				return fmt.Errorf("end %d: FETCH_ADD saw %d, not %d", k, c.Original, p.adds)
			}
			p.adds += r.Add
		case rnic.OpCompareSwap:
			if c.Original != p.adds {
				return fmt.Errorf("end %d: CMP_SWAP saw %d, not %d", k, c.Original, p.adds)
			}
		}
	}
	return nil
}

// sendsBefore returns how many of the sorted ids are below id.
func sendsBefore(ids []int, id int) int {
	n := 0
	for n < len(ids) && ids[n] < id {
		n++
	}
	return n
}

// received checks a message that end k received: each once, in order, intact.
func (s *schedule) received(k int, c *rnic.Completion) error {
	if c.Status != rnic.Success {
		return nil
	}
	p, q := &s.side[k], &s.side[1-k]
	if p.seen >= len(q.sends) {
		return fmt.Errorf("end %d: a message that was not sent", k)
	}
	r := &q.posted[q.sends[p.seen]]
	p.seen++
	if int(c.Bytes) != len(r.Data) || c.HasImmediate != (r.Op != rnic.OpSend) || c.HasImmediate && c.Immediate != r.Immediate {
		return fmt.Errorf("end %d: message %d: %d bytes, immediate %d, sent %v with %d bytes", k, r.ID, c.Bytes, c.Immediate, r.Op, len(r.Data))
	}
	if r.Op != rnic.OpWriteImmediate && !bytes.Equal(p.bufs[c.ID][:c.Bytes], r.Data) {
		return fmt.Errorf("end %d: message %d has wrong data", k, r.ID)
	}
	delete(p.bufs, c.ID)
	return nil
}

// run posts at random times until enough is posted, then waits for the end.
func (s *schedule) run() error {
	total := 1 + s.rnd.IntN(24)
	for step := 0; ; step++ {
		idle := s.f.Run(s.f.Now() + units.Time(s.rnd.Int64N(int64(20*units.Microsecond))))
		if err := s.completions(); err != nil {
			return err
		}
		for k := range s.side {
			if len(s.side[k].posted) < total && s.rnd.IntN(2) == 0 {
				s.postSend(k)
			}
			if s.rnd.IntN(3) == 0 {
				s.postReceive(k)
			}
		}
		over := idle && step > 4*total
		for k := range s.side {
			over = over && s.side[k].done == len(s.side[k].posted) || s.ends[k].qp.Err() != nil && idle
		}
		if over {
			break
		}
		if step > 400_000 {
			return fmt.Errorf("no end: %d of %d and %d of %d complete", s.side[0].done, len(s.side[0].posted), s.side[1].done, len(s.side[1].posted))
		}
	}
	return s.finish()
}

func (s *schedule) finish() error {
	if err := s.completions(); err != nil {
		return err
	}
	for k := range s.side {
		p, peer := &s.side[k], s.ends[1-k]
		if p.done != len(p.posted) {
			return fmt.Errorf("end %d: %d of %d requests complete", k, p.done, len(p.posted))
		}
		if err := s.ends[k].qp.Err(); err != nil {
			if err != rnic.RetryExceeded && err != rnic.RNRRetryExceeded {
				return fmt.Errorf("end %d failed: %w", k, err)
			}
			continue
		}
		if got := binary.NativeEndian.Uint64(peer.buf[counterOffset:]); got != p.adds {
			return fmt.Errorf("end %d: counter is %d, sum of completed FETCH_ADDs %d", k, got, p.adds)
		}
		last := map[uint64]*rnic.SendRequest{}
		for i := range p.posted {
			if r := &p.posted[i]; r.Op == rnic.OpWrite || r.Op == rnic.OpWriteImmediate {
				slot := r.RemoteAddr - peer.mr.Addr()
				if l := last[slot]; l == nil || len(l.Data) <= len(r.Data) {
					last[slot] = r
				} else {
					delete(last, slot) // covers only a part of what was there
				}
			}
		}
		for slot, r := range last {
			if !bytes.Equal(peer.buf[slot:slot+uint64(len(r.Data))], r.Data) {
				return fmt.Errorf("end %d: WRITE %d is not in memory", k, r.ID)
			}
		}
		if !bytes.Equal(peer.buf[readOffset:readOffset+readBytes], pattern(readBytes, 9+1-k)) {
			return fmt.Errorf("end %d: memory that nobody wrote to has changed", k)
		}
	}
	return nil
}

// TestSchedules runs random work over random networks: each message is
// delivered once, in order and intact, nothing completes without delivery,
// atomics run once, and every request completes or fails.
func TestSchedules(t *testing.T) {
	runs := uint64(2000)
	if os.Getenv("WEIR_LONG") != "" {
		runs = 1_000_000
	}
	var sum rnic.Counters
	failures := map[error]int{}
	for seed := range runs {
		s := newSchedule(t, seed)
		if err := s.run(); err != nil {
			t.Fatalf("seed %d: %+v, %+v: %v\n%+v\n%+v", seed, s.path, s.f.Impairments, err, s.ends[0].dev.Counters(), s.ends[1].dev.Counters())
		}
		for _, e := range s.ends {
			failures[e.qp.Err()]++
			c := e.dev.Counters()
			sum.Retransmitted += c.Retransmitted
			sum.Duplicates += c.Duplicates
			sum.OutOfSequence += c.OutOfSequence
			sum.SequenceNAKs += c.SequenceNAKs
			sum.ImpliedNAKs += c.ImpliedNAKs
			sum.RNRNAKs += c.RNRNAKs
			sum.Timeouts += c.Timeouts
			sum.BadICRC += c.BadICRC
			sum.CNPSent += c.CNPSent
			sum.CNPHandled += c.CNPHandled
		}
	}
	for _, c := range []uint64{sum.Retransmitted, sum.Duplicates, sum.OutOfSequence, sum.SequenceNAKs, sum.ImpliedNAKs, sum.RNRNAKs, sum.Timeouts, sum.BadICRC, sum.CNPSent, sum.CNPHandled} {
		if c == 0 {
			t.Errorf("something never happened: %+v", sum)
		}
	}
	if 2*failures[nil] < int(runs) {
		t.Errorf("too few runs reach their end: %v", failures)
	}
	t.Log(failures, sum)
}

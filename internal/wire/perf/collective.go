package perf

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"weir/internal/collective"
	"weir/rnic"
)

// A rank is one process of a collective. Data are bytes and sums are taken
// modulo 256, so that every size and offset works (nccl-tests' type uint8).
type rank struct {
	me, n int
	e     *endpoint
	peers []*peerLink // by rank; nil: ourselves
	buf   []byte      // the buffer of the operation; input of all_to_all
	out   []byte      // the same, but for all_to_all
	value []byte      // of a step in progress
	next  []int       // step of each lane
}

// peerLink is the connection to another rank: a FIFO each way.
type peerLink struct {
	qp      *rnic.QP
	slots   [][]byte // of sends: a slice stays here until it has arrived
	sent    int      // slices posted
	free    int      // slots free
	bufs    [][]byte // of receives
	arrived []arrivedSlice
}

type arrivedSlice struct {
	buf   int
	bytes int
}

// Limits of a collective between processes.
const (
	MaxRanks         = 16
	MaxCollective    = 256 << 20 // bytes
	collectiveBuffer = 1 << 20   // NCCL_BUFFSIZE of a channel
	maxSlice         = 2 * collectiveBuffer / collective.Slots
	fifoDepth        = 8
)

// newRank opens a device and the queue pairs to all other ranks.
func newRank(me, n int, addr netip.Addr) (*rank, error) {
	if n < 2 || n > MaxRanks || me < 0 || me >= n {
		return nil, fmt.Errorf("rank %d of %d: allowed are 2 to %d ranks", me, n, MaxRanks)
	}
	dev, err := rnic.Open(rnic.Config{Addr: addr, Segmentation: true})
	if err != nil {
		return nil, err
	}
	r := &rank{me: me, n: n, peers: make([]*peerLink, n)}
	r.e = &endpoint{dev: dev, sends: dev.CreateCQ(n * fifoDepth), recvs: dev.CreateCQ(n * 2 * fifoDepth)}
	pd := dev.AllocPD()
	for i := range n {
		if i == me {
			continue
		}
		// Both kinds of completion go into one queue, for which we wait.
		qp, err := pd.CreateQP(rnic.QPConfig{
			Type: rnic.RC, SendCQ: r.e.recvs, RecvCQ: r.e.recvs, MaxSend: fifoDepth, MaxRecv: fifoDepth, PSN: rnic.PSNRandom,
		})
		if err != nil {
			dev.Close()
			return nil, err
		}
		p := &peerLink{qp: qp, free: fifoDepth}
		for range fifoDepth {
			p.slots = append(p.slots, make([]byte, maxSlice))
			p.bufs = append(p.bufs, make([]byte, maxSlice))
		}
		r.peers[i] = p
	}
	return r, nil
}

// local tells the other ranks of our queue pairs, by rank.
func (r *rank) local() []remoteQP {
	l := make([]remoteQP, r.n)
	for i, p := range r.peers {
		if p != nil {
			l[i] = remoteQP{QPN: p.qp.Number(), PSN: p.qp.PSN()}
		}
	}
	return l
}

// connect connects to rank i, whose queue pair for us is remote.
func (r *rank) connect(i int, addr netip.Addr, remote remoteQP) error {
	path := rnic.DefaultPath()
	path.MTU = 4096
	path.Window = window(r.e.dev.ReceiveBuffer(), path.MTU, r.n)
	path.RNRTimer = 7 // 0.12 ms: a receiver that lags is asked again soon
	p := r.peers[i]
	if err := p.qp.Connect(rnic.Peer{Addr: addr, QPN: remote.QPN, PSN: remote.PSN}, path); err != nil {
		return err
	}
	for k := range p.bufs {
		if err := p.qp.PostRecv(&rnic.RecvRequest{ID: uint64(i*fifoDepth + k), Buffer: p.bufs[k]}); err != nil {
			return err
		}
	}
	return nil
}

// run executes the schedule once.
func (r *rank) run(ctx context.Context, s *collective.Schedule) error {
	r.next = append(r.next[:0], make([]int, s.Lanes())...)
	for {
		moved, over := false, true
		for lane := range s.Lanes() {
			for {
				ok, end, err := r.step(s, lane)
				if err != nil {
					return err
				}
				moved = moved || ok
				if !ok {
					over = over && end
					break
				}
			}
		}
		if over {
			return nil
		}
		if !moved {
			if err := r.e.recvs.Wait(ctx); err != nil {
				return err
			}
		}
		if err := r.poll(); err != nil {
			return err
		}
	}
}

// poll takes completions: slots that are free again, slices that have arrived.
func (r *rank) poll() error {
	var c [32]rnic.Completion
	for {
		n := r.e.recvs.Poll(c[:])
		for _, x := range c[:n] {
			if x.Status != rnic.Success {
				return x.Status
			}
			p := r.peers[x.ID/fifoDepth]
			if x.Receive {
				p.arrived = append(p.arrived, arrivedSlice{int(x.ID % fifoDepth), int(x.Bytes)})
			} else {
				p.free++
			}
		}
		if n < len(c) {
			return nil
		}
	}
}

// step does the next step of a lane, if what it needs is there. end: there is none.
func (r *rank) step(s *collective.Schedule, lane int) (ok, end bool, err error) {
	st, more := s.Step(r.me, lane, r.next[lane])
	if !more {
		return false, true, nil
	}
	for _, p := range st.Recv {
		if p != collective.NoPeer && len(r.peers[p].arrived) == 0 {
			return false, false, nil
		}
	}
	for _, p := range st.Send {
		if p != collective.NoPeer && r.peers[p].free == 0 {
			return false, false, nil
		}
	}
	n := int(st.Bytes)
	if n > maxSlice || st.Gather || st.Spread {
		return false, false, fmt.Errorf("a step of %d bytes (gather %v, spread %v) is not for separate processes", n, st.Gather, st.Spread)
	}
	r.value = append(r.value[:0], make([]byte, n)...)
	v := r.value
	if st.Recv[0] == collective.NoPeer || st.Reduce {
		copy(v, r.buf[st.Offset:])
	}
	for _, p := range st.Recv {
		if p == collective.NoPeer {
			continue
		}
		l := r.peers[p]
		got := l.arrived[0]
		l.arrived = l.arrived[1:]
		if got.bytes != n {
			return false, false, fmt.Errorf("a slice of %d bytes from rank %d, not %d", got.bytes, p, n)
		}
		for i, x := range l.bufs[got.buf][:n] {
			v[i] += x
		}
		id := uint64(int(p)*fifoDepth + got.buf)
		if err := l.qp.PostRecv(&rnic.RecvRequest{ID: id, Buffer: l.bufs[got.buf]}); err != nil {
			return false, false, err
		}
	}
	if st.Keep {
		copy(r.out[st.Offset:], v)
	}
	for _, p := range st.Send {
		if p == collective.NoPeer {
			continue
		}
		l := r.peers[p]
		slot := l.slots[l.sent%fifoDepth][:n]
		copy(slot, v)
		l.sent++
		l.free--
		if err := l.qp.PostSend(&rnic.SendRequest{ID: uint64(int(p) * fifoDepth), Op: rnic.OpSend, Data: slot}); err != nil {
			return false, false, err
		}
	}
	r.next[lane]++
	return true, false, nil
}

// input is byte i of rank's input: known to all, so that each can check.
func input(rank, i int) byte { return byte(rank*37 + i*11 + i>>8) }

// prepare sets the buffers to the input of an operation.
func (r *rank) prepare(s *collective.Schedule) error {
	size := int(s.Bytes())
	if size > MaxCollective {
		return errors.New("the operation is too large")
	}
	r.buf = make([]byte, size)
	r.out = r.buf
	set := s.Settings()
	from, to := 0, size
	switch set.Op {
	case collective.AllToAll:
		r.out = make([]byte, size)
	case collective.AllGather: // a rank's block is at its place
		from, to = r.me*size/r.n, (r.me+1)*size/r.n
	case collective.Broadcast:
		if r.me != set.Root {
			to = 0
		}
	}
	for i := from; i < to; i++ {
		r.buf[i] = input(r.me, i)
	}
	return nil
}

// wrong counts the bytes of the output that are not what they must be.
func (r *rank) wrong(s *collective.Schedule) (n int) {
	size := int(s.Bytes())
	block := size / r.n
	set := s.Settings()
	from, to := 0, size
	if set.Op == collective.ReduceScatter {
		from, to = r.me*block, (r.me+1)*block
	}
	for i := from; i < to; i++ {
		var want byte
		switch set.Op {
		case collective.AllReduce, collective.ReduceScatter:
			for k := range r.n {
				want += input(k, i)
			}
		case collective.AllGather:
			want = input(i/block, i)
		case collective.AllToAll: // block k of the output is block me of rank k's input
			want = input(i/block, r.me*block+i%block)
		case collective.Broadcast:
			want = input(set.Root, i)
		}
		if r.out[i] != want {
			n++
		}
	}
	return n
}

// measure runs the operation once checked, and iterations times for the clock.
func (r *rank) measure(ctx context.Context, s *collective.Schedule, iterations int) (wrong int, perRun time.Duration, err error) {
	if err := r.prepare(s); err != nil {
		return 0, 0, err
	}
	if err := r.run(ctx, s); err != nil {
		return 0, 0, err
	}
	wrong = r.wrong(s)
	start := time.Now()
	for range iterations {
		if err := r.run(ctx, s); err != nil {
			return 0, 0, err
		}
	}
	return wrong, time.Since(start) / time.Duration(max(1, iterations)), nil
}

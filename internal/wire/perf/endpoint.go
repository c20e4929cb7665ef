package perf

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"weir/rnic"
	"weir/roce"
)

// depth is how many messages a queue pair has outstanding, as in perftest.
const depth = 128

// remoteQP is what one side tells the other of a queue pair.
type remoteQP struct {
	QPN  roce.QPN `json:"qpn"`
	PSN  roce.PSN `json:"psn"`
	Addr uint64   `json:"address"`
	RKey uint32   `json:"rkey"`
}

// endpoint is one side's device with the queue pairs of a test.
type endpoint struct {
	dev    *rnic.Device
	sends  *rnic.CQ
	recvs  *rnic.CQ
	mrs    []*rnic.MR
	bufs   [][]byte
	qps    []*rnic.QP
	remote []remoteQP
	polled []rnic.Completion
}

// openEndpoint opens a device with n queue pairs, each with a region of size bytes.
func openEndpoint(addr netip.Addr, n, size int, segmentation bool) (*endpoint, error) {
	dev, err := rnic.Open(rnic.Config{Addr: addr, Segmentation: segmentation})
	if err != nil {
		return nil, err
	}
	e := &endpoint{
		dev: dev, sends: dev.CreateCQ(n * depth), recvs: dev.CreateCQ(n * 2 * depth),
		polled: make([]rnic.Completion, 64),
	}
	pd := dev.AllocPD()
	for range n {
		buf := make([]byte, size)
		mr, err := pd.RegisterMR(buf, rnic.RemoteRead|rnic.RemoteWrite|rnic.RemoteAtomic)
		if err != nil {
			dev.Close()
			return nil, err
		}
		qp, err := pd.CreateQP(rnic.QPConfig{
			Type: rnic.RC, SendCQ: e.sends, RecvCQ: e.recvs, MaxSend: depth, MaxRecv: 2 * depth, PSN: rnic.PSNRandom,
		})
		if err != nil {
			dev.Close()
			return nil, err
		}
		e.mrs, e.bufs, e.qps = append(e.mrs, mr), append(e.bufs, buf), append(e.qps, qp)
	}
	return e, nil
}

// local describes the queue pairs to the other side.
func (e *endpoint) local() []remoteQP {
	l := make([]remoteQP, len(e.qps))
	for i, q := range e.qps {
		l[i] = remoteQP{QPN: q.Number(), PSN: q.PSN(), Addr: e.mrs[i].Addr(), RKey: e.mrs[i].RKey()}
	}
	return l
}

func (e *endpoint) connect(addr netip.Addr, remote []remoteQP, path rnic.Path) error {
	if len(remote) != len(e.qps) {
		return fmt.Errorf("the other side has %d queue pairs, not %d", len(remote), len(e.qps))
	}
	e.remote = remote
	for i, q := range e.qps {
		r := &remote[i]
		if err := q.Connect(rnic.Peer{Addr: addr, QPN: r.QPN, PSN: r.PSN}, path); err != nil {
			return err
		}
	}
	return nil
}

// postReceives fills the receive queues: the buffer is the same for all of a
// queue pair, as in perftest; nobody looks at it.
func (e *endpoint) postReceives() error {
	for i, q := range e.qps {
		for range 2 * depth {
			if err := q.PostRecv(&rnic.RecvRequest{ID: uint64(i), Buffer: e.bufs[i]}); err != nil {
				return err
			}
		}
	}
	return nil
}

// receive takes messages and posts their buffers again until ctx is done.
func (e *endpoint) receive(ctx context.Context) error {
	polled := make([]rnic.Completion, 64)
	for {
		if err := e.recvs.Wait(ctx); err != nil {
			return nil // over
		}
		for _, c := range polled[:e.recvs.Poll(polled)] {
			if c.Status != rnic.Success {
				return c.Status
			}
			if err := c.QP.PostRecv(&rnic.RecvRequest{ID: c.ID, Buffer: e.bufs[c.ID]}); err != nil {
				return err
			}
		}
	}
}

// request returns the request of one message on queue pair i.
func (e *endpoint) request(s *Spec, i int) rnic.SendRequest {
	r := rnic.SendRequest{ID: uint64(i), Data: e.bufs[i][:s.Size], RemoteAddr: e.remote[i].Addr, RKey: e.remote[i].RKey}
	switch s.Op {
	case Write:
		r.Op = rnic.OpWrite
	case Read:
		r.Op = rnic.OpRead
	case Send:
		r.Op = rnic.OpSend
	case Atomic:
		r.Op, r.Data, r.Add = rnic.OpFetchAdd, nil, 1
	}
	return r
}

// bandwidth keeps the queue pairs full until the iterations or the time are
// over, and waits for the rest.
func (e *endpoint) bandwidth(ctx context.Context, s *Spec) (Result, error) {
	res := Result{Schema: "weir.perf/1", Spec: *s}
	n := len(e.qps)
	posted, open := make([]int, n), make([]int, n)
	requests := make([]rnic.SendRequest, n)
	for i := range requests {
		requests[i] = e.request(s, i)
	}
	start := time.Now()
	meter := newMeter(start)
	over := false
	refill := func(i int) error {
		for !over && open[i] < depth && (s.Iterations == 0 || posted[i] < s.Iterations) {
			if err := e.qps[i].PostSend(&requests[i]); err != nil {
				if cause := e.qps[i].Err(); cause != nil {
					err = cause
				}
				return err
			}
			posted[i]++
			open[i]++
		}
		return nil
	}
	total := 0
	for i := range n {
		if err := refill(i); err != nil {
			return res, err
		}
		total += open[i]
	}
	for total > 0 {
		if err := e.sends.Wait(ctx); err != nil {
			return res, err
		}
		k := e.sends.Poll(e.polled)
		now := time.Now()
		over = over || s.Iterations == 0 && now.Sub(start) >= s.Duration
		for _, c := range e.polled[:k] {
			if c.Status != rnic.Success {
				return res, c.Status
			}
			i := int(c.ID)
			open[i]--
			before := open[i]
			if err := refill(i); err != nil {
				return res, err
			}
			total += open[i] - before - 1
		}
		res.Iterations += k
		meter.add(now, int64(k)*int64(s.Size))
	}
	res.Elapsed = time.Since(start)
	res.Bytes = int64(res.Iterations) * int64(s.Size)
	res.rates(meter)
	return res, nil
}

func (r *Result) rates(m *meter) {
	if sec := r.Elapsed.Seconds(); sec > 0 {
		r.BytesPerSecond = float64(r.Bytes) / sec
		r.MessagesPerSecond = float64(r.Iterations) / sec
	}
	r.PeakBytesPerSecond = max(m.peak, r.BytesPerSecond)
}

// meter finds the best rate over spans of a tenth of a second.
type meter struct {
	from  time.Time
	bytes int64
	peak  float64
}

func newMeter(t time.Time) *meter { return &meter{from: t} }

func (m *meter) add(now time.Time, bytes int64) {
	m.bytes += bytes
	if d := now.Sub(m.from); d >= 100*time.Millisecond {
		m.peak = max(m.peak, float64(m.bytes)/d.Seconds())
		m.from, m.bytes = now, 0
	}
}

// latency measures one message at a time: READ and atomics by their completion,
// WRITE (with immediate) and SEND by half of the way there and back.
func (e *endpoint) latency(ctx context.Context, s *Spec) (Result, error) {
	res := Result{Schema: "weir.perf/1", Spec: *s}
	r := e.request(s, 0)
	pong := s.Op == Write || s.Op == Send
	if s.Op == Write {
		r.Op = rnic.OpWriteImmediate
	}
	var samples []time.Duration
	start := time.Now()
	const most = 1 << 20 // samples kept
	for len(samples) < most && (s.Iterations == 0 || len(samples) < s.Iterations) && (s.Duration == 0 || time.Since(start) < s.Duration) {
		t := time.Now()
		if err := e.one(ctx, &r); err != nil {
			return res, err
		}
		if pong {
			if err := e.answer(ctx); err != nil {
				return res, err
			}
		}
		d := time.Since(t)
		if pong {
			d /= 2
		}
		samples = append(samples, d)
	}
	res.Elapsed = time.Since(start)
	res.Iterations, res.Bytes = len(samples), int64(len(samples))*int64(s.Size)
	res.rates(newMeter(start))
	res.Latency = summarize(samples)
	return res, nil
}

// one sends one message and waits for its completion.
func (e *endpoint) one(ctx context.Context, r *rnic.SendRequest) error {
	if err := e.qps[0].PostSend(r); err != nil {
		return err
	}
	if err := e.sends.Wait(ctx); err != nil {
		return err
	}
	var c [1]rnic.Completion
	e.sends.Poll(c[:])
	if c[0].Status != rnic.Success {
		return c[0].Status
	}
	return nil
}

// answer waits for one message from the other side.
func (e *endpoint) answer(ctx context.Context) error {
	if err := e.recvs.Wait(ctx); err != nil {
		return err
	}
	var c [1]rnic.Completion
	e.recvs.Poll(c[:])
	if c[0].Status != rnic.Success {
		return c[0].Status
	}
	return c[0].QP.PostRecv(&rnic.RecvRequest{ID: c[0].ID, Buffer: e.bufs[c[0].ID]})
}

// pong answers each message with one of the same kind until ctx is done.
func (e *endpoint) pong(ctx context.Context, s *Spec) error {
	r := e.request(s, 0)
	if s.Op == Write {
		r.Op = rnic.OpWriteImmediate
	}
	for {
		if err := e.answer(ctx); err != nil {
			return nil // over
		}
		if err := e.one(ctx, &r); err != nil {
			return err
		}
	}
}

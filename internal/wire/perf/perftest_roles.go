package perf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// RunPerftest measures against a server of perftest: ib_write_bw, ib_read_bw or
// ib_send_bw, or with Spec.Latency their _lat forms.
func (c *Client) RunPerftest(ctx context.Context) (*Result, error) {
	if err := checkPerftest(&c.Spec); err != nil {
		return nil, err
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	// The tools wait a second before they talk; so do we, since the server needs it.
	time.Sleep(time.Second)
	o := &oob{conn: conn, client: true}
	spec := c.Spec
	local := c.Local
	if !local.IsValid() {
		local = deviceAddr(conn, true)
	}
	e, keys, err := o.prepare(local, &spec)
	if err != nil {
		return nil, err
	}
	defer e.dev.Close()
	before, start := cpuTime(), time.Now()
	var res Result
	if spec.Latency {
		res, err = e.perftestLatency(ctx, &spec, true)
	} else {
		res, err = e.bandwidth(ctx, &spec)
	}
	if err != nil {
		return nil, e.explain(err)
	}
	res.Client = cost("client", cpuTime()-before, time.Since(start), res.Bytes)
	res.Peer, res.Counters, res.Costs = c.Host, e.dev.Counters(), []Cost{res.Client}
	return &res, o.finish(keys, &res)
}

// checkPerftest returns what perftest's handshake cannot express.
func checkPerftest(s *Spec) error {
	if err := s.Check(); err != nil {
		return err
	}
	const fewest = 5 // iterations that the tools take
	switch {
	case s.Transport != RoCEv2, s.Op == Atomic:
		return errors.New("perftest's handshake is for write, read and send over rocev2")
	case s.Both:
		return errors.New("both directions at a time are not offered with perftest's handshake")
	case s.Iterations < fewest:
		return fmt.Errorf("%d iterations: perftest takes %d at least, and no duration", s.Iterations, fewest)
	case s.Latency && s.QPs != 1:
		return errors.New("a latency test has one queue pair")
	}
	return nil
}

// prepare goes through the handshake up to where data may flow.
func (o *oob) prepare(local netip.Addr, spec *Spec) (*endpoint, []perftestKey, error) {
	mtu := spec.MTU
	if mtu == 0 {
		mtu = pathMTU(local)
	}
	var err error
	if spec.MTU, err = o.setup(mtu); err != nil {
		return nil, nil, err
	}
	// The tools cycle through a buffer of 4096 bytes at least, with two halves
	// in latency tests.
	size := max(spec.Size, 4096)
	e, err := openEndpoint(local, spec.QPs, 2*size, spec.Segmentation)
	if err != nil {
		return nil, nil, err
	}
	ok := false
	defer func() {
		if !ok {
			e.dev.Close()
		}
	}()
	keys := e.perftestKeys(local)
	theirs, err := o.keys(keys, patience)
	if err != nil {
		return nil, nil, err
	}
	if err := e.join(theirs, spec); err != nil {
		return nil, nil, err
	}
	if err := e.postReceives(); err != nil {
		return nil, nil, err
	}
	if _, err := o.keys(keys, patience); err != nil { // connected
		return nil, nil, err
	}
	ready := 1
	if !reports(spec) {
		ready = 2 // ib_send_bw and the _lat tools do it once more
	}
	for range ready {
		if _, err := o.keys(keys[:1], patience); err != nil {
			return nil, nil, err
		}
	}
	ok = true
	return e, keys, nil
}

// finish ends the handshake after the data. ib_write_lat just closes.
func (o *oob) finish(keys []perftestKey, r *Result) error {
	if r.Spec.Latency && r.Spec.Op == Write {
		return nil
	}
	if _, err := o.keys(keys[:1], patience+MaxDuration); err != nil {
		return err
	}
	if reports(&r.Spec) {
		if err := o.report(r); err != nil {
			return err
		}
		if _, err := o.keys(keys[:1], patience); err != nil {
			return err
		}
	}
	o.done()
	return nil
}

// reports says whether the tools tell each other what they measured: ib_write_bw
// and ib_read_bw do.
func reports(s *Spec) bool { return !s.Latency && s.Op != Send }

// ServePerftest serves one client of perftest on a listener and returns what was
// received. For SEND the receives are posted; the rest is the client's doing.
func ServePerftest(ctx context.Context, l net.Listener, spec Spec) (*Result, error) {
	if err := checkPerftest(&spec); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	conn, err := l.Accept()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, err
	}
	defer conn.Close()
	stopConn := context.AfterFunc(ctx, func() { conn.Close() })
	defer stopConn()
	o := &oob{conn: conn}
	e, keys, err := o.prepare(deviceAddr(conn, false), &spec)
	if err != nil {
		return nil, err
	}
	defer e.dev.Close()
	before, start := cpuTime(), time.Now()
	res := Result{Schema: "weir.perf/1", Spec: spec}
	receiving, cancel := context.WithCancel(ctx)
	defer cancel()
	switch {
	case spec.Latency && spec.Op != Read:
		if res, err = e.perftestLatency(ctx, &spec, false); err != nil {
			return nil, e.explain(err)
		}
	case spec.Op == Send:
		go e.receive(receiving)
	}
	if !spec.Latency {
		// The time of a passive side ends with the client's next message.
		if _, err := o.keys(keys[:1], patience+MaxDuration); err != nil {
			return nil, e.explain(err)
		}
		res.Elapsed = time.Since(start)
		res.Iterations = spec.Iterations * spec.QPs
		res.Bytes = int64(res.Iterations) * int64(spec.Size)
		res.rates(newMeter(start))
		if reports(&spec) {
			if err := o.report(&res); err != nil {
				return &res, err
			}
			if _, err := o.keys(keys[:1], patience); err != nil {
				return &res, err
			}
		}
		o.done()
	} else if err := o.finish(keys, &res); err != nil {
		return &res, err
	}
	res.Server = cost("server", cpuTime()-before, time.Since(start), res.Bytes)
	res.Costs, res.Peer, res.Counters = []Cost{res.Server}, conn.RemoteAddr().String(), e.dev.Counters()
	return &res, nil
}

// perftestLatency plays one side of a _lat tool. ib_write_lat watches the last
// byte of its buffer, which the other side's WRITE sets to the low byte of the
// round; ib_send_lat answers SEND with SEND; ib_read_lat is the client's alone.
func (e *endpoint) perftestLatency(ctx context.Context, s *Spec, client bool) (Result, error) {
	if s.Op != Write {
		if client {
			return e.latency(ctx, s)
		}
		return e.answerSends(ctx, s)
	}
	res := Result{Schema: "weir.perf/1", Spec: *s}
	r := e.request(s, 0)
	last := s.Size - 1
	out := make([]byte, s.Size)
	r.Data = out
	samples := make([]time.Duration, 0, s.Iterations)
	start := time.Now()
	t := start
	for i := range s.Iterations {
		// The server begins.
		wait := i + 1
		if !client {
			wait = i
		}
		if wait > 0 {
			if err := e.watch(ctx, last, byte(wait)); err != nil {
				return res, err
			}
		}
		if i > 0 {
			samples = append(samples, time.Since(t)/2)
		}
		t = time.Now()
		out[last] = byte(i + 1)
		if err := e.one(ctx, &r); err != nil {
			return res, err
		}
	}
	if !client {
		if err := e.watch(ctx, last, byte(s.Iterations)); err != nil {
			return res, err
		}
		samples = append(samples, time.Since(t)/2)
	}
	res.Elapsed = time.Since(start)
	res.Iterations, res.Bytes = s.Iterations, int64(s.Iterations)*int64(s.Size)
	res.rates(newMeter(start))
	res.Latency = summarize(samples)
	return res, nil
}

// watch waits until the byte at an offset of the region has a value.
func (e *endpoint) watch(ctx context.Context, offset int, want byte) error {
	for n := 0; e.mrs[0].Byte(offset) != want; n++ {
		if err := e.qps[0].Err(); err != nil {
			return err
		}
		if n > 1000 {
			time.Sleep(10 * time.Microsecond)
		}
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// answerSends is the server of a SEND latency test.
func (e *endpoint) answerSends(ctx context.Context, s *Spec) (Result, error) {
	res := Result{Schema: "weir.perf/1", Spec: *s}
	r := e.request(s, 0)
	start := time.Now()
	for range s.Iterations {
		if err := e.answer(ctx); err != nil {
			return res, err
		}
		if err := e.one(ctx, &r); err != nil {
			return res, err
		}
	}
	res.Elapsed = time.Since(start)
	res.Iterations, res.Bytes = s.Iterations, int64(s.Iterations)*int64(s.Size)
	res.rates(newMeter(start))
	return res, nil
}

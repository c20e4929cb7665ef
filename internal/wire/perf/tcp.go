package perf

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// A TCP test has a data connection for each "queue pair", to the same port as
// the control connection, opened with one line that carries the test's token.

// runTCP measures the kernel's TCP between the same hosts.
func (c *Client) runTCP(ctx context.Context, t *talk) (*Result, error) {
	spec := c.Spec
	if err := t.send(&message{Weir: protocolVersion, Spec: &spec}); err != nil {
		return nil, err
	}
	reply, err := t.receive(patience)
	if err != nil {
		return nil, err
	}
	conns := make([]net.Conn, spec.QPs)
	for i := range conns {
		conn, err := c.dial(ctx)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		if err := newTalk(conn).send(&message{Weir: protocolVersion, Token: reply.Token}); err != nil {
			return nil, err
		}
		conns[i] = conn
	}
	if m, err := t.receive(patience); err != nil {
		return nil, err
	} else if !m.Ready {
		return nil, errors.New("the server is not ready")
	}
	before, start := cpuTime(), time.Now()
	var res Result
	if spec.Latency {
		res, err = tcpLatency(ctx, conns[0], &spec)
	} else {
		res, err = tcpBandwidth(ctx, conns, &spec)
	}
	if err != nil {
		return nil, err
	}
	for _, conn := range conns {
		conn.Close()
	}
	if err := t.send(&message{Done: true}); err != nil {
		return nil, err
	}
	m, err := t.receive(patience + spec.Duration)
	if err != nil {
		return nil, err
	}
	res.Client = cost("client", cpuTime()-before, time.Since(start), res.Bytes)
	res.Peer = c.Host
	res.addServer(m)
	return &res, nil
}

// tcpBandwidth writes messages on all connections at a time. The data have
// arrived when the other side, which reads to the end, closes.
func tcpBandwidth(ctx context.Context, conns []net.Conn, s *Spec) (Result, error) {
	res := Result{Schema: "weir.perf/1", Spec: *s}
	start := time.Now()
	counts := make([]int, len(conns))
	errs := make([]error, len(conns))
	var wg sync.WaitGroup
	for i, conn := range conns {
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		defer stop()
		wg.Go(func() {
			buf := make([]byte, s.Size)
			for (s.Iterations == 0 || counts[i] < s.Iterations) && (s.Iterations > 0 || time.Since(start) < s.Duration) {
				if _, errs[i] = conn.Write(buf); errs[i] != nil {
					return
				}
				counts[i]++
			}
			if tc, ok := conn.(*net.TCPConn); ok {
				errs[i] = tc.CloseWrite()
			}
		})
		if s.Both {
			wg.Go(func() { _, _ = io.Copy(io.Discard, conn) })
		}
	}
	wg.Wait()
	if !s.Both { // the close of the other side says that it has everything
		for _, conn := range conns {
			_ = conn.SetReadDeadline(time.Now().Add(patience))
			_, _ = io.Copy(io.Discard, conn)
		}
	}
	for i := range conns {
		res.Iterations += counts[i]
	}
	res.Elapsed = time.Since(start)
	res.Bytes = int64(res.Iterations) * int64(s.Size)
	res.rates(newMeter(start))
	return res, errors.Join(errs...)
}

// tcpLatency sends messages there and back, and counts half of the time.
func tcpLatency(ctx context.Context, conn net.Conn, s *Spec) (Result, error) {
	res := Result{Schema: "weir.perf/1", Spec: *s}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	buf := make([]byte, s.Size)
	var samples []time.Duration
	start := time.Now()
	const most = 1 << 20
	for len(samples) < most && (s.Iterations == 0 || len(samples) < s.Iterations) && (s.Duration == 0 || time.Since(start) < s.Duration) {
		t := time.Now()
		if _, err := conn.Write(buf); err != nil {
			return res, err
		}
		if _, err := io.ReadFull(conn, buf); err != nil {
			return res, err
		}
		samples = append(samples, time.Since(t)/2)
	}
	res.Elapsed = time.Since(start)
	res.Iterations, res.Bytes = len(samples), int64(len(samples))*int64(s.Size)
	res.rates(newMeter(start))
	res.Latency = summarize(samples)
	return res, nil
}

// adopt gives a data connection to the test that waits for it.
func (s *Server) adopt(token string, conn net.Conn) {
	s.mu.Lock()
	ch := s.tokens[token]
	s.mu.Unlock()
	select {
	case ch <- conn:
	default: // no such test, or it has enough
		conn.Close()
	}
}

// testTCP serves a TCP test.
func (s *Server) testTCP(ctx context.Context, t *talk, spec *Spec) error {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return err
	}
	token := hex.EncodeToString(b[:])
	ch := make(chan net.Conn, spec.QPs)
	s.mu.Lock()
	s.tokens[token] = ch
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.tokens, token)
		s.mu.Unlock()
	}()
	if err := t.send(&message{Weir: protocolVersion, Token: token}); err != nil {
		return err
	}
	conns := make([]net.Conn, 0, spec.QPs)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for len(conns) < spec.QPs {
		select {
		case c := <-ch:
			conns = append(conns, c)
			stop := context.AfterFunc(ctx, func() { c.Close() })
			defer stop()
		case <-time.After(patience):
			return fmt.Errorf("%d of %d data connections came", len(conns), spec.QPs)
		}
	}
	before, start := cpuTime(), time.Now()
	if err := t.send(&message{Ready: true}); err != nil {
		return err
	}
	var own *Result
	var received int64
	switch {
	case spec.Latency:
		received = echo(conns[0], spec.Size)
	case spec.Both:
		r, err := tcpBandwidth(ctx, conns, spec)
		if err != nil {
			return err
		}
		own, received = &r, r.Bytes
	default:
		received = drain(conns)
	}
	for _, c := range conns {
		c.Close()
	}
	if _, err := t.receive(patience + spec.Duration); err != nil {
		return err
	}
	c := cost("server", cpuTime()-before, time.Since(start), received)
	return t.send(&message{Done: true, Cost: &c, Result: own})
}

// drain reads all connections to their end and returns the bytes.
func drain(conns []net.Conn) int64 {
	counts := make([]int64, len(conns))
	var wg sync.WaitGroup
	for i, c := range conns {
		wg.Go(func() {
			buf := make([]byte, 1<<18)
			for {
				n, err := c.Read(buf)
				counts[i] += int64(n)
				if err != nil {
					break
				}
			}
			c.Close()
		})
	}
	wg.Wait()
	var sum int64
	for _, n := range counts {
		sum += n
	}
	return sum
}

// echo sends messages back until the connection ends, and returns their bytes.
func echo(c net.Conn, size int) (bytes int64) {
	buf := make([]byte, size)
	for {
		if _, err := io.ReadFull(c, buf); err != nil {
			return bytes
		}
		bytes += int64(size)
		if _, err := c.Write(buf); err != nil {
			return bytes
		}
	}
}

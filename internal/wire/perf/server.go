package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Server serves tests, one at a time, until its context is done.
type Server struct {
	Listener net.Listener
	// Log gets one line for each test; nil: nobody.
	Log io.Writer

	mu     sync.Mutex
	tokens map[string]chan net.Conn // TCP tests that wait for data connections
}

// Serve accepts clients. It returns nil when ctx is done.
func (s *Server) Serve(ctx context.Context) error {
	s.tokens = map[string]chan net.Conn{}
	stop := context.AfterFunc(ctx, func() { s.Listener.Close() })
	defer stop()
	busy := make(chan struct{}, 1) // one test at a time: they would spoil each other's figures
	var wg sync.WaitGroup
	defer wg.Wait()
	const most = 2 * MaxQPs // connections
	open := make(chan struct{}, most)
	for {
		conn, err := s.Listener.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		select {
		case open <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		wg.Go(func() {
			defer func() { <-open }()
			s.serve(ctx, conn, busy)
		})
	}
}

func (s *Server) serve(ctx context.Context, conn net.Conn, busy chan struct{}) {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	t := newTalk(conn)
	hello, err := t.receive(patience)
	if err != nil {
		conn.Close()
		s.log("%v: %v", conn.RemoteAddr(), err)
		return
	}
	if hello.Token != "" {
		s.adopt(hello.Token, conn) // whose connection it is then
		return
	}
	defer conn.Close()
	select {
	case busy <- struct{}{}:
		defer func() { <-busy }()
	case <-time.After(2 * time.Second): // the last one may be about to end
		_ = t.send(&message{Error: "busy with another test"})
		return
	}
	if err := s.test(ctx, t, hello); err != nil {
		_ = t.send(&message{Error: err.Error()})
		s.log("%v: %v", conn.RemoteAddr(), err)
	}
}

func (s *Server) log(format string, args ...any) {
	if s.Log != nil {
		fmt.Fprintf(s.Log, format+"\n", args...)
	}
}

// test serves one test.
func (s *Server) test(ctx context.Context, t *talk, hello *message) error {
	if hello.Weir != protocolVersion || hello.Spec == nil {
		return fmt.Errorf("protocol %d: this server speaks %d", hello.Weir, protocolVersion)
	}
	spec := *hello.Spec
	if err := spec.Check(); err != nil {
		return err
	}
	s.log("%v: %s %s, %d bytes, %d queue pairs", t.conn.RemoteAddr(), spec.Transport, spec.Op, spec.Size, spec.QPs)
	if spec.Transport == TCP {
		return s.testTCP(ctx, t, &spec)
	}
	remote, err := netip.ParseAddr(hello.Addr)
	if err != nil {
		return fmt.Errorf("the client's device address: %w", err)
	}
	local := deviceAddr(t.conn, false)
	spec.MTU = min(spec.MTU, pathMTU(local))
	e, err := openEndpoint(local, spec.QPs, max(spec.Size, 8), spec.Segmentation)
	if err != nil {
		return err
	}
	defer e.dev.Close()
	if err := e.connect(remote, hello.QPs, pathOf(&spec, hello.Buffer)); err != nil {
		return err
	}
	if err := e.postReceives(); err != nil {
		return err
	}
	reply := message{Weir: protocolVersion, Addr: local.String(), QPs: e.local(), MTU: spec.MTU, Buffer: e.dev.ReceiveBuffer()}
	if err := t.send(&reply); err != nil {
		return err
	}
	if m, err := t.receive(patience); err != nil {
		return err
	} else if !m.Ready {
		return errors.New("the client is not ready")
	}
	before, start := cpuTime(), time.Now()
	if err := t.send(&message{Ready: true}); err != nil {
		return err
	}
	return s.passive(ctx, t, e, &spec, before, start)
}

// passive does the server's part of a test until the client says done.
func (s *Server) passive(ctx context.Context, t *talk, e *endpoint, spec *Spec, before time.Duration, start time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	over := make(chan error, 2)
	switch {
	case spec.Latency && (spec.Op == Send || spec.Op == Write):
		go func() { over <- e.pong(ctx, spec) }()
	case spec.Op == Send:
		go func() { over <- e.receive(ctx) }()
	}
	own := make(chan *Result, 1)
	if spec.Both && !spec.Latency {
		go func() {
			r, err := e.bandwidth(ctx, spec)
			if err != nil {
				over <- e.explain(err)
			}
			own <- &r
		}()
	} else {
		own <- nil
	}
	done := make(chan error, 1)
	go func() {
		_, err := t.receive(MaxDuration + patience)
		done <- err
	}()
	select {
	case err := <-over:
		if err != nil {
			return err
		}
		if err := <-done; err != nil {
			return err
		}
	case err := <-done:
		if err != nil {
			return err
		}
	}
	r := <-own
	received := int64(e.dev.Counters().ReceivedBytes)
	if spec.Op == Read {
		received = int64(e.dev.Counters().SentBytes)
	}
	c := cost("server", cpuTime()-before, time.Since(start), received)
	return t.send(&message{Done: true, Cost: &c, Result: r})
}

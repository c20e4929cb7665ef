package perf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"
)

// Client says where and how to measure.
type Client struct {
	Host  string
	Port  int        // of the control connection; 0: DefaultPort
	Local netip.Addr // of the device; not valid: the control connection's
	Spec  Spec
}

// dial opens the control connection.
func (c *Client) dial(ctx context.Context) (net.Conn, error) {
	port := c.Port
	if port == 0 {
		port = DefaultPort
	}
	d := net.Dialer{Timeout: 10 * time.Second}
	return d.DialContext(ctx, "tcp", net.JoinHostPort(c.Host, strconv.Itoa(port)))
}

// Run measures against a server of this package.
func (c *Client) Run(ctx context.Context) (*Result, error) {
	if err := c.Spec.Check(); err != nil {
		return nil, err
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	t := newTalk(conn)
	if c.Spec.Transport == TCP {
		return c.runTCP(ctx, t)
	}
	spec := c.Spec
	local := c.Local
	if !local.IsValid() {
		local = deviceAddr(conn, true)
	}
	if spec.MTU == 0 {
		spec.MTU = pathMTU(local)
	}
	e, err := openEndpoint(local, spec.QPs, max(spec.Size, 8), spec.Segmentation)
	if err != nil {
		return nil, err
	}
	defer e.dev.Close()
	m := message{Weir: protocolVersion, Spec: &spec, Addr: local.String(), QPs: e.local(), MTU: spec.MTU, Buffer: e.dev.ReceiveBuffer()}
	if err := t.send(&m); err != nil {
		return nil, err
	}
	reply, err := t.receive(patience)
	if err != nil {
		return nil, err
	}
	remote, err := netip.ParseAddr(reply.Addr)
	if err != nil {
		return nil, fmt.Errorf("the server's device address: %w", err)
	}
	spec.MTU = min(spec.MTU, reply.MTU)
	if err := spec.Check(); err != nil {
		return nil, fmt.Errorf("the server's path MTU: %w", err)
	}
	if err := e.connect(remote, reply.QPs, pathOf(&spec, reply.Buffer)); err != nil {
		return nil, err
	}
	if err := e.postReceives(); err != nil {
		return nil, err
	}
	return c.measure(ctx, t, e, &spec)
}

// measure runs the test between connected endpoints.
func (c *Client) measure(ctx context.Context, t *talk, e *endpoint, spec *Spec) (*Result, error) {
	if err := t.send(&message{Ready: true}); err != nil {
		return nil, err
	}
	if m, err := t.receive(patience); err != nil {
		return nil, err
	} else if !m.Ready {
		return nil, errors.New("the server is not ready")
	}
	before, start := cpuTime(), time.Now()
	var res Result
	var err error
	if spec.Latency {
		res, err = e.latency(ctx, spec)
	} else {
		receiving, stopReceiving := context.WithCancel(ctx)
		defer stopReceiving()
		if spec.Both && spec.Op == Send {
			go e.receive(receiving)
		}
		res, err = e.bandwidth(ctx, spec)
	}
	if err != nil {
		return nil, e.explain(err)
	}
	if err := t.send(&message{Done: true}); err != nil {
		return nil, err
	}
	m, err := t.receive(patience + spec.Duration)
	if err != nil {
		return nil, err
	}
	res.Client = cost("client", cpuTime()-before, time.Since(start), res.Bytes)
	res.Peer, res.Counters = c.Host, e.dev.Counters()
	res.addServer(m)
	return &res, nil
}

// addServer adds what the server says of its side.
func (r *Result) addServer(m *message) {
	if x := m.Result; x != nil {
		r.Bytes += x.Bytes
		r.Iterations += x.Iterations
		r.BytesPerSecond += x.BytesPerSecond
		r.MessagesPerSecond += x.MessagesPerSecond
		r.PeakBytesPerSecond += x.PeakBytesPerSecond
	}
	r.Costs = []Cost{r.Client}
	if m.Cost != nil {
		r.Server = *m.Cost
		r.Costs = append(r.Costs, r.Server)
	}
}

// explain adds to the failure of a queue pair what the counters say.
func (e *endpoint) explain(err error) error {
	n := e.dev.Counters()
	switch {
	case n.SendErrors > 0:
		return fmt.Errorf("%w: the kernel refused %d packets (larger than the interface's MTU?)", err, n.SendErrors)
	case n.ReceivedPackets == 0:
		return fmt.Errorf("%w: nothing came back on UDP port 4791 (weir probe tells why)", err)
	}
	return fmt.Errorf("%w (%d packets sent again, %d sequence NAKs, %d timeouts)", err, n.Retransmitted, n.SequenceNAKs, n.Timeouts)
}

//go:build linux

package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"weir/roce"
)

// Options say what to probe.
type Options struct {
	Host   string
	Port   int        // TCP, of the responder; 0: DefaultPort
	Local  netip.Addr // not valid: that of the route
	Ports  int        // UDP source ports, 1 to 256; 0: 32
	Rounds int        // probes on each; 0: 10
	Class  uint8      // traffic class; DSCP 26 with ECT(0) is 106
	// Timeout is how long an answer may take; 0: 500 ms.
	Timeout time.Duration
	// MaxHops is how far the TTL-limited probes go; 0: 5, below 0: none are sent.
	MaxHops int
	Rand    *rand.Rand // of the run's number; nil: seeded by the system
}

// prober is a run against one host.
type prober struct {
	o       Options
	dst     netip.Addr
	local   netip.Addr
	rx      *sock
	tx      []*sock
	all     []*sock
	run     uint64
	seq     uint32
	start   time.Time
	buf     []byte
	waiting map[uint32]sent
	answers []answer
	icmps   []icmpSeen
	control net.Conn
	lines   *bufio.Reader
}

// sent is a probe that was sent.
type sent struct {
	port  int // index
	phase phase
	round int
	class uint8
	size  int
	reply int
	ttl   int
	at    time.Time
}

// phase is what a probe is for.
type phase uint8

const (
	basePhase phase = iota
	sizePhase
	returnPhase
	classPhase
	hopPhase
)

type answer struct {
	sent
	p    probePacket
	rtt  time.Duration
	got  arrival // without bytes
	size int     // of the answer
	seq  uint32
}

type icmpSeen struct {
	sent
	icmpError
}

// Run probes a host.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Ports == 0 {
		o.Ports = 32
	}
	if o.Rounds == 0 {
		o.Rounds = 10
	}
	if o.Timeout == 0 {
		o.Timeout = 500 * time.Millisecond
	}
	if o.MaxHops == 0 {
		o.MaxHops = 5
	}
	if o.Port == 0 {
		o.Port = DefaultPort
	}
	if o.Ports < 1 || o.Ports > most || o.Rounds < 1 || o.Rounds > 10_000 || o.MaxHops > 32 {
		return nil, fmt.Errorf("%d ports, %d rounds, %d hops: allowed are 1 to %d, 1 to 10000, up to 32", o.Ports, o.Rounds, o.MaxHops, most)
	}
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", o.Host)
	if err != nil {
		return nil, err
	}
	p := &prober{o: o, dst: addrs[0].Unmap(), start: time.Now(), buf: make([]byte, 1<<16), waiting: map[uint32]sent{}}
	if p.run = rand.Uint64() | 1; o.Rand != nil {
		p.run = o.Rand.Uint64() | 1
	}
	defer p.close()
	h, controlErr := p.dial(ctx)
	if p.local = o.Local; !p.local.IsValid() {
		if p.local, err = route(p.dst); err != nil {
			return nil, err
		}
	}
	if p.local == p.dst && p.dst.IsLoopback() && p.dst.Is4() {
		a := p.dst.As4() // two programs on one address cannot both have port 4791
		a[3]++
		p.local = netip.AddrFrom4(a)
	}
	if err := p.open(); err != nil {
		return nil, err
	}
	if p.control != nil {
		if _, err := p.account(); err != nil {
			p.control, controlErr = nil, err
		}
	}
	p.probe(ctx)
	r := p.report(h, controlErr)
	r.judge()
	return r, ctx.Err()
}

func (p *prober) close() {
	for _, s := range p.all {
		s.close()
	}
	if p.control != nil {
		p.control.Close()
	}
}

// route returns the address that the kernel would send from.
func route(dst netip.Addr) (netip.Addr, error) {
	c, err := net.Dial("udp", netip.AddrPortFrom(dst, roce.Port).String())
	if err != nil {
		return netip.Addr{}, err
	}
	defer c.Close()
	a, _ := netip.AddrFromSlice(c.LocalAddr().(*net.UDPAddr).IP)
	return a.Unmap(), nil
}

// dial opens the control connection, if somebody listens.
func (p *prober) dial(ctx context.Context) (*hello, error) {
	d := net.Dialer{Timeout: 2 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", netip.AddrPortFrom(p.dst, uint16(p.o.Port)).String())
	if err != nil {
		return nil, err
	}
	p.lines = bufio.NewReaderSize(conn, 1<<16)
	_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
	var h hello
	line, err := p.lines.ReadSlice('\n')
	if err == nil {
		err = json.Unmarshal(line, &h)
	}
	if err == nil && h.Weir != 1 {
		err = errors.New("not a responder of weir probe")
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("TCP port %d: %w", p.o.Port, err)
	}
	p.control = conn
	return &h, nil
}

// account asks the responder what arrived.
func (p *prober) account() (*tally, error) {
	b, _ := json.Marshal(ask{Run: p.run})
	_ = p.control.SetDeadline(time.Now().Add(3 * time.Second))
	if _, err := p.control.Write(append(b, '\n')); err != nil {
		return nil, err
	}
	line, err := p.lines.ReadSlice('\n')
	if err != nil {
		return nil, err
	}
	var t tally
	return &t, json.Unmarshal(line, &t)
}

// open opens the sockets: one that receives, and one for each source port.
func (p *prober) open() error {
	var err error
	if p.rx, err = openSock(p.local, roce.Port); err != nil {
		return fmt.Errorf("UDP port %d of %v: %w", roce.Port, p.local, err)
	}
	p.all = append(p.all, p.rx)
	// Ports spread over the dynamic range, as those of many connections do.
	for i, tries := 0, 0; i < p.o.Ports; tries++ {
		port := uint16(0xc000 + (tries*509)%0x3fff)
		s, err := openSock(p.local, port)
		if err != nil {
			if tries > 4*most || !errors.Is(err, unix.EADDRINUSE) {
				return err
			}
			continue
		}
		p.tx, p.all = append(p.tx, s), append(p.all, s)
		i++
	}
	return nil
}

// probe sends all probes and gathers what comes back.
func (p *prober) probe(ctx context.Context) {
	gap := time.Millisecond
	for round := range p.o.Rounds {
		for port := range p.tx {
			p.send(sent{port: port, phase: basePhase, round: round, class: p.o.Class})
			p.gather(gap)
			if ctx.Err() != nil {
				return
			}
		}
	}
	p.settle()
	ports := min(3, len(p.tx))
	for code := uint8(1); code <= 5; code++ {
		size := wireSize(roce.MTUBytes(code))
		for port := range ports {
			for range 2 {
				p.send(sent{port: port, phase: sizePhase, class: p.o.Class, size: size})
				p.send(sent{port: port, phase: returnPhase, class: p.o.Class, reply: size})
				p.gather(gap)
			}
		}
	}
	for _, class := range p.classes() {
		for port := range ports {
			p.send(sent{port: port, phase: classPhase, class: class})
			p.gather(gap)
		}
	}
	for ttl := 1; ttl <= p.o.MaxHops; ttl++ {
		for port := range min(16, len(p.tx)) {
			p.send(sent{port: port, phase: hopPhase, class: p.o.Class, ttl: ttl})
			p.gather(4 * gap) // routers answer at a limited rate
		}
	}
	p.settle()
}

// classes are the traffic classes that are tried: the given DSCP with each ECN
// code point, and the DSCP of CNPs.
func (p *prober) classes() []uint8 {
	d := p.o.Class &^ 3
	return []uint8{d, d | uint8(roce.ECT0), d | uint8(roce.CE), 48 << 2}
}

func (p *prober) send(s sent) {
	p.seq++
	s.at = time.Now()
	x := p.tx[s.port]
	pkt := probePacket{Run: p.run, Seq: p.seq, Port: x.port, Class: s.class, ReplySize: uint16(s.reply), Sent: int64(time.Since(p.start))}
	b := pkt.encode(p.local, p.dst, x.port, s.size)
	s.size = len(b)
	if err := x.send(p.dst, b, s.class, s.ttl); err != nil && errors.Is(err, unix.EMSGSIZE) {
		p.icmps = append(p.icmps, icmpSeen{s, icmpError{mtu: 1, from: p.local}}) // the own interface is too small
	}
	p.waiting[p.seq] = s
}

// settle waits until nothing more can be expected.
func (p *prober) settle() { p.gather(p.o.Timeout) }

// gather takes answers and ICMP errors for a time.
func (p *prober) gather(d time.Duration) {
	for end := time.Now().Add(d); ; {
		for {
			a, ok := p.rx.receive(p.buf)
			if !ok {
				break
			}
			p.take(&a)
		}
		for _, s := range p.tx {
			for {
				e, ok := s.icmp(p.buf)
				if !ok {
					break
				}
				if x, err := decodeProbe(e.b); err == nil && x.Run == p.run {
					if s, ok := p.waiting[x.Seq]; ok {
						e.b = nil
						p.icmps = append(p.icmps, icmpSeen{s, e})
					}
				} else if e.refused || e.banned {
					p.icmps = append(p.icmps, icmpSeen{sent{port: slices.Index(p.tx, s)}, e})
				}
			}
		}
		left := time.Until(end)
		if left <= 0 {
			return
		}
		wait(p.all, min(left, 20*time.Millisecond))
	}
}

func (p *prober) take(a *arrival) {
	x, err := decodeProbe(a.b)
	if err != nil || !x.Reply || x.Run != p.run || a.src != p.dst {
		return
	}
	s, ok := p.waiting[x.Seq]
	if !ok {
		return // an answer twice
	}
	delete(p.waiting, x.Seq)
	rtt := time.Since(p.start) - time.Duration(x.Sent) - x.Held
	n := len(a.b)
	a.b = nil
	p.answers = append(p.answers, answer{sent: s, p: x, rtt: rtt, got: *a, size: n, seq: x.Seq})
}

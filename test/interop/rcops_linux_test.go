package interop

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"time"

	"weir/rnic"
	"weir/roce"
)

// regionBytes is the length of rcops' memory region.
const regionBytes = 1 << 20

// recvBytes is the length of rcops' receive buffers.
const recvBytes = 1 << 16

// link is our queue pair, connected to one of rcops.
type link struct {
	dev   *rnic.Device
	qp    *rnic.QP
	cq    *rnic.CQ
	mr    *rnic.MR
	buf   []byte
	recvs [][]byte
	conn  net.Conn
	r     *bufio.Reader
	him   roceEnd
}

// roceEnd is what rcops tells of itself.
type roceEnd struct {
	qpn, psn, rkey, mtu, qkey uint32
	addr, length              uint64
	gid                       roce.GID
}

// setting is how a link is made.
type setting struct {
	typ  rnic.QPType
	mtu  int
	psn  uint32 // ours
	ipv6 bool
	// claims of paths
	rnrRetry uint8
	noRecv   time.Duration // our receives are posted so long after the start
}

// pattern is what rcops' server finds in its memory at the start.
func pattern() []byte {
	b := make([]byte, regionBytes)
	for i := range b {
		b[i] = byte(0x80 + i%113)
	}
	clear(b[:64])
	binary.NativeEndian.PutUint64(b, 0x1122334455667788)
	return b
}

// open makes our side. The region begins as that of rcops' server does.
func (m *machine) open(s setting) (*link, error) {
	l := &link{buf: pattern()}
	addr := netip.MustParseAddr(hostIP4)
	if s.ipv6 {
		addr = netip.MustParseAddr(hostIP6)
	}
	var err error
	m.host.Do(func() { l.dev, err = rnic.Open(rnic.Config{Addr: addr}) })
	if err != nil {
		return nil, err
	}
	l.cq = l.dev.CreateCQ(1024)
	pd := l.dev.AllocPD()
	if l.mr, err = pd.RegisterMR(l.buf, rnic.RemoteRead|rnic.RemoteWrite|rnic.RemoteAtomic); err != nil {
		return nil, err
	}
	l.qp, err = pd.CreateQP(rnic.QPConfig{Type: s.typ, SendCQ: l.cq, RecvCQ: l.cq, PSN: s.psn, QKey: 0x11111111, MaxSend: 256, MaxRecv: 256})
	return l, err
}

// join exchanges the lines of rcops on a connection and connects the queue pair.
func (m *machine) join(l *link, s setting, conn net.Conn) error {
	l.conn, l.r = conn, bufio.NewReader(conn)
	_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
	gid := l.dev.GID()
	if _, err := fmt.Fprintf(conn, "RCOPS1 qpn=%x psn=%x gid=%s rkey=%x addr=%x len=%x mtu=%d qkey=%x\n", uint32(l.qp.Number()), uint32(l.qp.PSN()),
		hex.EncodeToString(gid[:]), l.mr.RKey(), l.mr.Addr(), regionBytes, s.mtu, 0x11111111); err != nil {
		return err
	}
	line, err := l.r.ReadString('\n')
	if err != nil {
		return err
	}
	var g string
	if _, err := fmt.Sscanf(line, "RCOPS1 qpn=%x psn=%x gid=%s rkey=%x addr=%x len=%x mtu=%d qkey=%x", &l.him.qpn, &l.him.psn, &g, &l.him.rkey,
		&l.him.addr, &l.him.length, &l.him.mtu, &l.him.qkey); err != nil {
		return fmt.Errorf("%q: %w", line, err)
	}
	b, err := hex.DecodeString(g)
	if err != nil || len(b) != 16 {
		return fmt.Errorf("GID %q", g)
	}
	l.him.gid = roce.GID(b)
	path := rnic.DefaultPath()
	path.MTU, path.Window, path.Timeout, path.MaxReads = min(s.mtu, int(l.him.mtu)), 64, 17, 4
	path.RNRTimer = 20
	if s.rnrRetry != 0 {
		path.RNRRetry = s.rnrRetry
	}
	m.host.Do(func() {
		err = l.qp.Connect(rnic.Peer{Addr: l.him.gid.Addr(), QPN: roce.QPN(l.him.qpn), PSN: roce.PSN(l.him.psn)}, path)
	})
	if err != nil {
		return err
	}
	post := func() {
		for i := range 64 {
			b := make([]byte, recvBytes)
			l.recvs = append(l.recvs, b)
			_ = l.qp.PostRecv(&rnic.RecvRequest{ID: uint64(i), Buffer: b})
		}
	}
	if s.noRecv == 0 {
		post()
	}
	if _, err := io.WriteString(conn, "READY\n"); err != nil {
		return err
	}
	if line, err = l.r.ReadString('\n'); err != nil || line != "READY\n" {
		return fmt.Errorf("%q instead of READY: %w", line, err)
	}
	if s.noRecv > 0 {
		time.Sleep(s.noRecv)
		post()
	}
	return nil
}

// do posts a request and waits for its completion.
func (l *link) do(r rnic.SendRequest) (rnic.Completion, error) {
	if err := l.qp.PostSend(&r); err != nil {
		return rnic.Completion{}, err
	}
	c, err := l.next(20 * time.Second)
	return c, err
}

// next waits for one completion.
func (l *link) next(d time.Duration) (rnic.Completion, error) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	var c [1]rnic.Completion
	if err := l.cq.Wait(ctx); err != nil {
		return c[0], err
	}
	l.cq.Poll(c[:])
	return c[0], nil
}

// expect fails unless a request completes with a status.
func (l *link) expect(want rnic.Status, r rnic.SendRequest) error {
	c, err := l.do(r)
	if err == nil && c.Status != want {
		err = fmt.Errorf("%v: %q, want %q; %+v", r.Op, c.Status, want, l.dev.Counters())
	}
	return err
}

func (l *link) close() {
	if l.conn != nil {
		_, _ = io.WriteString(l.conn, "DONE\n")
		l.conn.Close()
	}
	l.dev.Close()
}

// client is us against rcops -S with the given options: it runs f, then hands
// the server's log to check.
func (m *machine) client(s setting, options string, f func(l *link) error, check func(log string) error) error {
	types := map[rnic.QPType]string{rnic.RC: "rc", rnic.UC: "uc", rnic.UD: "ud"}
	gid := "::ffff:" + vmIP4
	if s.ipv6 {
		gid = vmIP6
	}
	m.start(fmt.Sprintf("rcops -t %s -m %d -g $(%s) %s -S", types[s.typ], s.mtu, gidIndex(gid), options), 18600)
	l, err := m.open(s)
	if err != nil {
		return err
	}
	defer l.dev.Close()
	conn, err := m.dial(18600)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := m.join(l, s, conn); err != nil {
		return fmt.Errorf("%w; %s", err, m.log())
	}
	if err := f(l); err != nil {
		conn.Close()
		return fmt.Errorf("%w; server: %s", err, tail(m.log()))
	}
	l.close()
	log := m.log()
	if check != nil {
		if err := check(log); err != nil {
			return fmt.Errorf("%w; server: %s", err, tail(log))
		}
	}
	return nil
}

// gidIndex is a shell command that prints the index of a GID.
func gidIndex(addr string) string {
	g := roce.GIDFromAddr(netip.MustParseAddr(addr))
	return "grep -l " + g.Groups() + " /sys/class/infiniband/rxe0/ports/1/gids/* | sed s,.*/,, | head -n 1"
}

// server is us against rcops with the given operations as a client: it runs f
// after both are ready, and hands the client's output to check.
func (m *machine) server(s setting, options, ops string, f func(l *link, out string) error) error {
	types := map[rnic.QPType]string{rnic.RC: "rc", rnic.UC: "uc", rnic.UD: "ud"}
	l, err := m.open(s)
	if err != nil {
		return err
	}
	defer l.close()
	var listener net.Listener
	m.host.Do(func() { listener, err = net.Listen("tcp", hostIP4+":18600") })
	if err != nil {
		return err
	}
	defer listener.Close()
	gid := "::ffff:" + vmIP4
	if s.ipv6 {
		gid = vmIP6
	}
	out := make(chan string, 1)
	go func() {
		out <- m.sh(fmt.Sprintf("timeout 100 rcops -t %s -m %d -g $(%s) %s %s %s 2>&1", types[s.typ], s.mtu, gidIndex(gid), options, hostIP4, ops))
	}()
	_ = listener.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute))
	conn, err := listener.Accept()
	if err != nil {
		return fmt.Errorf("%w; client: %s", err, <-out)
	}
	defer conn.Close()
	if err := m.join(l, s, conn); err != nil {
		return fmt.Errorf("%w; client: %s", err, <-out)
	}
	text := <-out
	if err := f(l, text); err != nil {
		return fmt.Errorf("%w; client: %s", err, tail(text))
	}
	return nil
}

func tail(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 600 {
		s = s[len(s)-600:]
	}
	return strings.ReplaceAll(s, "\n", " | ")
}

// fnv is the hash that rcops prints of its memory: FNV-1a of 64 bits.
func fnv(b []byte) string {
	sum := uint64(0xcbf29ce484222325)
	for _, x := range b {
		sum = (sum ^ uint64(x)) * 0x100000001b3
	}
	return fmt.Sprintf("fnv1a64=%016x", sum)
}

// contains fails unless all texts are in the log.
func contains(log string, texts ...string) error {
	for _, t := range texts {
		if !strings.Contains(log, t) {
			return fmt.Errorf("no %q", t)
		}
	}
	return nil
}

var errData = errors.New("data differ")

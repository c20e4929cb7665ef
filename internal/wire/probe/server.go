//go:build linux

package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"weir/roce"
)

// DefaultPort is the TCP port on which a responder tells what arrived.
const DefaultPort = 18517

// Server answers probes.
type Server struct {
	Addr netip.Addr // to listen on
	Port int        // TCP; 0: DefaultPort
	// SysClass is where RDMA devices are listed; "": /sys/class/infiniband.
	SysClass string

	hello []byte // the line that control connections begin with
	mu    sync.Mutex
	runs  map[uint64]*tally
}

// tally is what arrived of one prober.
type tally struct {
	Received int            `json:"received"`
	Ports    map[uint16]int `json:"ports"`         // probes by the source port that they were sent with
	Largest  int            `json:"largest_bytes"` // datagram
}

// hello is what the responder tells of itself, and account what it tells of a run.
type hello struct {
	Weir    int      `json:"weir_probe"`
	Addr    string   `json:"address"`
	MTU     int      `json:"interface_mtu"`
	Devices []string `json:"rdma_devices"` // of the interface: they take UDP 4791 before any socket
}

type ask struct {
	Run uint64 `json:"run"`
}

// Run answers until ctx is done.
func (s *Server) Run(ctx context.Context, ready func()) error {
	if s.Port == 0 {
		s.Port = DefaultPort
	}
	s.runs = map[uint64]*tally{}
	dev, mtu := interfaceOf(s.Addr)
	b, err := json.Marshal(hello{Weir: 1, Addr: s.Addr.String(), MTU: mtu, Devices: rdmaDevices(s.SysClass, dev)})
	if err != nil {
		return err
	}
	s.hello = append(b, '\n')
	in, err := openSock(s.Addr, roce.Port)
	if err != nil {
		return fmt.Errorf("UDP port %d of %v: %w", roce.Port, s.Addr, err)
	}
	defer in.close()
	l, err := net.Listen("tcp", net.JoinHostPort(s.Addr.String(), fmt.Sprint(s.Port)))
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { l.Close() })()
	go s.control(l)
	if ready != nil {
		ready()
	}
	return s.answer(ctx, in)
}

// most bounds what a responder remembers: probers, and the sockets that answer.
const most = 256

// answer answers probes with their own source port.
func (s *Server) answer(ctx context.Context, in *sock) error {
	out := map[uint16]*sock{}
	defer func() {
		for _, o := range out {
			o.close()
		}
	}()
	buf := make([]byte, 1<<16)
	for ctx.Err() == nil {
		a, ok := in.receive(buf)
		if !ok {
			for {
				if _, ok := in.icmp(buf); !ok {
					break
				}
			}
			wait([]*sock{in}, 100*time.Millisecond)
			continue
		}
		came := time.Now()
		p, err := decodeProbe(a.b)
		if err != nil || p.Reply {
			continue
		}
		s.count(&p, len(a.b))
		o := out[a.port]
		if o == nil {
			if len(out) >= most {
				for k, x := range out { // any one
					x.close()
					delete(out, k)
					break
				}
			}
			if o, err = openSock(s.Addr, a.port); err != nil {
				o = in // taken: answer from 4791
			} else {
				out[a.port] = o
			}
		}
		p.Reply, p.SeenAddr, p.SeenPort, p.SeenClass, p.SeenTTL, p.SeenSize = true, a.src, a.port, a.class, a.ttl, uint16(len(a.b))
		// A stranger gets back no more than he sent, so that nobody can use the
		// responder to flood another.
		size := min(int(p.ReplySize), len(a.b))
		if p.ReplySize > uint16(len(a.b)) && s.known(p.Run) {
			size = int(p.ReplySize)
		}
		p.Held = time.Since(came)
		_ = o.send(a.src, p.encode(s.Addr, a.src, o.port, size), p.Class, 0)
	}
	return nil
}

func (s *Server) count(p *probePacket, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.runs[p.Run]
	if t == nil {
		return // only who has a control connection is counted
	}
	t.Received++
	t.Largest = max(t.Largest, n)
	if len(t.Ports) < most || t.Ports[p.Port] > 0 {
		t.Ports[p.Port]++
	}
}

func (s *Server) known(run uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[run] != nil
}

// control serves the TCP connections.
func (s *Server) control(l net.Listener) {
	slots := make(chan struct{}, most)
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		select {
		case slots <- struct{}{}:
			go func() {
				s.serve(conn)
				conn.Close()
				<-slots
			}()
		default:
			conn.Close()
		}
	}
}

// serve tells who we are, then what arrived of the runs that are asked for.
func (s *Server) serve(conn net.Conn) {
	if _, err := conn.Write(s.hello); err != nil {
		return
	}
	r := bufio.NewReaderSize(conn, 4096)
	var mine []uint64
	defer func() {
		s.mu.Lock()
		for _, id := range mine {
			delete(s.runs, id)
		}
		s.mu.Unlock()
	}()
	for {
		_ = conn.SetDeadline(time.Now().Add(2 * time.Minute))
		line, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		var q ask
		if json.Unmarshal(line, &q) != nil || q.Run == 0 {
			return
		}
		s.mu.Lock()
		t := s.runs[q.Run]
		if t == nil {
			if len(mine) >= 4 || len(s.runs) >= most {
				s.mu.Unlock()
				return
			}
			t = &tally{Ports: map[uint16]int{}}
			s.runs[q.Run] = t
			mine = append(mine, q.Run)
		}
		b, _ := json.Marshal(t)
		s.mu.Unlock()
		if _, err := conn.Write(append(b, '\n')); err != nil {
			return
		}
	}
}

// interfaceOf returns name and MTU of the interface that has an address.
func interfaceOf(addr netip.Addr) (string, int) {
	ifs, err := net.Interfaces()
	if err != nil {
		return "", 0
	}
	for _, i := range ifs {
		as, _ := i.Addrs()
		for _, a := range as {
			if p, err := netip.ParsePrefix(a.String()); err == nil && (p.Addr() == addr || addr.IsLoopback() && p.Contains(addr)) {
				return i.Name, i.MTU
			}
		}
	}
	return "", 0
}

// rdmaDevices returns the RDMA devices of a network interface.
func rdmaDevices(sysClass, netdev string) []string {
	if sysClass == "" {
		sysClass = "/sys/class/infiniband"
	}
	files, _ := filepath.Glob(filepath.Join(sysClass, "*", "ports", "*", "gid_attrs", "ndevs", "*"))
	var found []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil || strings.TrimSpace(string(b)) != netdev {
			continue
		}
		rel, err := filepath.Rel(sysClass, f)
		if err != nil {
			continue
		}
		name, _, _ := strings.Cut(rel, string(filepath.Separator))
		if len(found) == 0 || found[len(found)-1] != name {
			found = append(found, name)
		}
	}
	return found
}

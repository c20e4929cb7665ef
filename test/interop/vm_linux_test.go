package interop

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"weir/test/netns"
)

// machine is the virtual machine with rdma_rxe, and the cable to it, on which
// frames can be lost, doubled and reordered.
type machine struct {
	t    *testing.T
	host *netns.Namespace // where our side runs: 10.83.0.1, fd83::1
	mu   sync.Mutex
	bad  impairments
	rnd  *rand.Rand
	held *netns.Frame
}

// impairments are shares of the RoCEv2 frames, in both directions.
type impairments struct{ loss, duplicate, reorder float64 }

const (
	hostIP4, hostIP6 = "10.83.0.1", "fd83::1"
	vmIP4, vmIP6     = "10.83.0.2", "fd83::2"
)

// boot starts the machine and waits until it is ready.
func boot(t *testing.T, image string, mtu int) *machine {
	t.Helper()
	m := &machine{t: t, rnd: rand.New(rand.NewPCG(4791, 1))}
	host, side := netns.Bridge(t, 9000, m.carry)
	m.host = host
	host.Run("ip addr add fd83::1/64 dev v0 nodad")
	// The machine's end of the cable: a bridge with the cable and a TAP.
	side.Run(`ip addr flush dev v1
		ip link add br0 type bridge stp_state 0 forward_delay 0 mcast_snooping 0
		ip tuntap add dev tap0 mode tap
		ip link set tap0 mtu 9000 master br0 up
		ip link set v1 master br0
		ip link set br0 mtu 9000 up`)
	log := filepath.Join(t.TempDir(), "console")
	q := side.Command("qemu-system-x86_64", "-machine", "pc,accel=tcg", "-cpu", "max", "-m", "512", "-nodefaults",
		"-display", "none", "-no-reboot", "-serial", "file:"+log,
		"-kernel", filepath.Join(image, "vmlinuz"), "-initrd", filepath.Join(image, "initrd.cpio"),
		"-append", fmt.Sprintf("console=ttyS0 quiet panic=-1 mitigations=off rdinit=/init rxe.ip4=%s/24 rxe.ip6=%s/64 rxe.mtu=%d", vmIP4, vmIP6, mtu),
		"-netdev", "tap,id=n0,ifname=tap0,script=no,downscript=no",
		"-device", "virtio-net-pci,netdev=n0,mac=52:54:00:83:00:02,host_mtu=9000,romfile=", "-device", "virtio-rng-pci")
	q.Stderr = os.Stderr
	if err := q.Start(); err != nil {
		t.Skipf("no virtual machine: %v", err)
	}
	t.Cleanup(func() {
		_ = q.Process.Kill()
		_ = q.Wait()
	})
	for range 600 {
		b, _ := os.ReadFile(log)
		if bytes.Contains(b, []byte("READY kernel=")) {
			return m
		}
		time.Sleep(200 * time.Millisecond)
	}
	b, _ := os.ReadFile(log)
	t.Fatalf("the machine did not come up:\n%s", b)
	return nil
}

// carry is the cable.
func (m *machine) carry(f *netns.Frame, forward func(*netns.Frame)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	roce := f.UDPPort() != 0 || len(f.B) > 56 && f.B[12] == 0x86 && f.B[20] == 17
	if !roce || m.bad == (impairments{}) {
		forward(f)
		return
	}
	switch x := m.rnd.Float64(); {
	case x < m.bad.loss:
	case x < m.bad.loss+m.bad.duplicate:
		forward(f)
		forward(f)
	case x < m.bad.loss+m.bad.duplicate+m.bad.reorder && m.held == nil:
		m.held = &netns.Frame{B: bytes.Clone(f.B), ToB: f.ToB}
		return
	default:
		forward(f)
	}
	if m.held != nil {
		forward(m.held)
		m.held = nil
	}
}

func (m *machine) impair(i impairments) {
	m.mu.Lock()
	m.bad = i
	m.mu.Unlock()
}

// dial connects to a TCP port of the machine from our namespace.
func (m *machine) dial(port int) (net.Conn, error) {
	var c net.Conn
	var err error
	for range 100 {
		m.host.Do(func() { c, err = net.DialTimeout("tcp", fmt.Sprintf("%s:%d", vmIP4, port), 3*time.Second) })
		if err == nil {
			return c, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, err
}

// sh runs a script in the machine and returns what it printed.
func (m *machine) sh(script string) string {
	c, err := m.dial(2222)
	if err != nil {
		m.t.Fatalf("shell: %v", err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(3 * time.Minute))
	// The end is marked: a server in the background may keep the connection open.
	const mark = "=END="
	if _, err := io.WriteString(c, script+"\necho; echo '=''END='\n"); err != nil {
		m.t.Fatalf("shell: %v", err)
	}
	var out []byte
	buf := make([]byte, 1<<14)
	for {
		n, err := c.Read(buf)
		out = append(out, buf[:n]...)
		if text, _, ok := bytes.Cut(out, []byte(mark)); ok {
			return string(text)
		}
		if err != nil {
			return string(out)
		}
	}
}

// The scripts use what the shell has built in: each program that is started costs
// a tenth of a second in there.

// start runs a server in the background, its output in /tmp/log, and waits until
// it listens on a TCP port.
func (m *machine) start(command string, port int) {
	m.sh(fmt.Sprintf(`[ -p /tmp/tick ] || mkfifo /tmp/tick; exec 9<>/tmp/tick
		[ -e /tmp/pid ] && kill -9 $(</tmp/pid) 2>/dev/null
		%s > /tmp/log 2>&1 &
		echo $! > /tmp/pid
		disown
		for i in {1..200}; do
			[[ $(</proc/net/tcp)$(</proc/net/tcp6) == *:%04X\ 0* ]] && break
			read -t 0.1 -u 9
		done`, command, port))
}

// log returns what the server has printed, after giving it time to end.
func (m *machine) log() string {
	return m.sh(`[ -p /tmp/tick ] || mkfifo /tmp/tick; exec 9<>/tmp/tick
		pid=$(</tmp/pid)
		for i in {1..50}; do [ -d /proc/$pid ] || break; read -t 0.1 -u 9; done
		kill -9 $pid 2>/dev/null
		echo "$(</tmp/log)"`)
}

// image returns the directory of the image, which it builds if none is named.
func image(t *testing.T) string {
	if dir := os.Getenv("WEIR_INTEROP_IMAGE"); dir != "" {
		return dir
	}
	dir := t.TempDir()
	if out, err := exec.Command("vm/build.sh", dir).CombinedOutput(); err != nil {
		t.Skipf("no image: %v\n%s", err, out)
	}
	return dir
}

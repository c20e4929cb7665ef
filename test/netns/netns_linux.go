// Package netns makes network namespaces for tests: hosts of their own on one
// machine, joined by virtual cables. It needs root and the ip command; tests
// skip without them.
package netns

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// serial keeps the names of one process apart.
var serial atomic.Int64

// Namespace is one network namespace.
type Namespace struct {
	Name string
	t    testing.TB
}

// New makes a namespace, with its loopback interface up, that is deleted when
// the test ends. It skips the test where that is not possible.
func New(t testing.TB) *Namespace {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces need root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("network namespaces need the ip command")
	}
	n := &Namespace{Name: fmt.Sprintf("weir%d-%d", os.Getpid(), serial.Add(1)), t: t}
	if out, err := exec.Command("ip", "netns", "add", n.Name).CombinedOutput(); err != nil {
		t.Skipf("no network namespaces here: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", n.Name).Run() })
	n.Run("ip link set lo up")
	return n
}

// Command returns a command that runs inside the namespace.
func (n *Namespace) Command(name string, args ...string) *exec.Cmd {
	return exec.Command("ip", append([]string{"netns", "exec", n.Name, name}, args...)...)
}

// Run runs commands, one a line, inside the namespace. Words are separated by
// spaces. A command that fails fails the test.
func (n *Namespace) Run(lines string) {
	n.t.Helper()
	for line := range strings.Lines(lines) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if out, err := n.Command(f[0], f[1:]...).CombinedOutput(); err != nil {
			n.t.Fatalf("%s: %v\n%s", strings.TrimSpace(line), err, out)
		}
	}
}

// Do calls f on a thread that is inside the namespace: sockets that f opens
// stay there. The thread is thrown away.
func (n *Namespace) Do(f func()) {
	n.t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		fd, err := unix.Open("/run/netns/"+n.Name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err == nil {
			err = unix.Setns(fd, unix.CLONE_NEWNET)
			unix.Close(fd)
		}
		if err == nil {
			f()
		}
		done <- err
	}()
	if err := <-done; err != nil {
		n.t.Fatalf("entering namespace %s: %v", n.Name, err)
	}
}

// Join lays a cable (a veth pair) between two namespaces: interface ifA in a and
// ifB in b, with the addresses and the MTU given. Addresses have a prefix length.
func Join(a, b *Namespace, ifA, ifB, addrA, addrB string, mtu int) {
	a.t.Helper()
	a.Run(fmt.Sprintf("ip link add %s type veth peer name %s netns %s", ifA, ifB, b.Name))
	for _, e := range []struct {
		n        *Namespace
		dev, adr string
	}{{a, ifA, addrA}, {b, ifB, addrB}} {
		e.n.Run(fmt.Sprintf("ip link set %s mtu %d\nip addr add %s dev %s\nip link set %s up", e.dev, mtu, e.adr, e.dev, e.dev))
	}
}

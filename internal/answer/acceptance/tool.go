package acceptance

import (
	"fmt"
	"time"

	"weir/internal/cluster"
	"weir/internal/field/remote"
)

// A Tool makes the commands of a test between two NICs: the server's, which
// runs on the receiving host, and the client's, which prints the result.
type Tool interface {
	// Name is "perftest" or "weir".
	Name() string
	Commands(c *cluster.Cluster, t Test, what string, port int, d time.Duration) (server, client string)
	// Absolute reports whether the rates are those of the network: then they
	// are held against what the cluster should give, else against each other.
	Absolute() bool
}

// Bandwidth and Latency are the tests of pairs.
const (
	Bandwidth = "bandwidth"
	Latency   = "latency"
)

// Perftest is the perftest package, with real RDMA cards.
type Perftest struct {
	GIDIndex int // -1: the tool's choice
	Read     bool
}

// Name implements Tool.
func (Perftest) Name() string { return "perftest" }

// Absolute implements Tool.
func (Perftest) Absolute() bool { return true }

// Commands implements Tool.
func (p Perftest) Commands(c *cluster.Cluster, t Test, what string, port int, d time.Duration) (server, client string) {
	program := "ib_write_bw"
	switch {
	case what == Latency:
		program = "ib_write_lat"
	case p.Read:
		program = "ib_read_bw"
	}
	from, to := nic(c, t.From), nic(c, t.To)
	options := fmt.Sprintf("--port=%d --CPU-freq", port)
	if what == Bandwidth {
		options += fmt.Sprintf(" --report_gbits --size=1048576 --qp=2 --duration=%d", max(1, int(d.Seconds())))
	} else {
		options += " --size=8 --iters=5000"
	}
	if p.GIDIndex >= 0 {
		options += fmt.Sprintf(" --gid-index=%d", p.GIDIndex)
	}
	side := func(n *cluster.NIC) string {
		return fmt.Sprintf("%s --ib-dev=%s %s", program, remote.Quote(n.Device), options)
	}
	return side(to), side(from) + " " + remote.Quote(to.Address)
}

// Weir is weir perf: for hosts without RDMA cards. Its rates are those of the
// hosts' processors.
type Weir struct {
	Path string // of the program on the hosts; "": weir
}

// Name implements Tool.
func (Weir) Name() string { return "weir" }

// Absolute implements Tool.
func (Weir) Absolute() bool { return false }

// Commands implements Tool.
func (w Weir) Commands(c *cluster.Cluster, t Test, what string, port int, d time.Duration) (server, client string) {
	program := w.Path
	if program == "" {
		program = "weir"
	}
	program = remote.Quote(program)
	from, to := nic(c, t.From), nic(c, t.To)
	options := fmt.Sprintf("--size 64K --duration %v", d)
	if what == Latency {
		options = "--size 8 --latency -n 500"
	}
	return fmt.Sprintf("%s perf server --listen %s --port %d", program, to.Address, port),
		fmt.Sprintf("%s perf %s --local %s --port %d %s", program, to.Address, from.Address, port, options)
}

func nic(c *cluster.Cluster, r cluster.NICRef) *cluster.NIC { return &c.Hosts[r.Host].NICs[r.NIC] }

// NICName is how the cluster file names a NIC: host-3/nic-0.
func NICName(c *cluster.Cluster, r cluster.NICRef) string {
	return c.Nodes[c.Hosts[r.Host].Node].Name + "/" + nic(c, r).Name
}

// Package host reads the RDMA state of the host it runs on: files below /sys
// and /proc, ethtool, netlink. It only reads. What it reads leaves in the
// Prometheus text format under the names of the metric table.
package host

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"weir/internal/telemetry"
)

// Kernel answers what no file tells. A method that the kernel or the driver
// does not support returns an error, which is counted and does no harm.
type Kernel interface {
	// EthtoolStats returns what ethtool -S shows of a net device.
	EthtoolStats(netdev string) (map[string]uint64, error)
	// RDMAStatistics returns what rdma statistic shows of a device, by port.
	RDMAStatistics(device string) (map[uint32]map[string]uint64, error)
	// PFC returns the priorities with PFC on, a bit each.
	PFC(netdev string) (uint8, error)
	// FEC returns the active forward error correction and the allowed ones.
	FEC(netdev string) (active, configured string, err error)
	// Module returns the first pages of the plugged module's memory.
	Module(netdev string) ([]byte, error)
}

// Options of an agent.
type Options struct {
	Root    *os.Root // of the file system: holds "sys" and "proc"
	Kernel  Kernel
	Exclude []string // devices not to touch: reading some cards floods the firmware's log
	Now     func() time.Time
	// Wait is how long an answer waits for fresh counters; default 2 s.
	Wait time.Duration
	// Intervals change how often sources are read, by name.
	Intervals map[string]time.Duration
}

// Agent reads a host's sources, each at most as often as its interval says.
type Agent struct {
	tree    tree
	kernel  Kernel
	exclude map[string]bool
	now     func() time.Time
	wait    time.Duration
	started time.Time
	sources []*source
	scrapes struct {
		sync.Mutex
		n uint64
	}
}

// New returns an agent. It reads nothing before it is asked.
func New(o Options) *Agent {
	a := &Agent{tree: tree{o.Root}, kernel: o.Kernel, exclude: map[string]bool{}, now: o.Now, wait: o.Wait}
	if a.now == nil {
		a.now = time.Now
	}
	if a.wait == 0 {
		a.wait = 2 * time.Second
	}
	for _, d := range o.Exclude {
		a.exclude[d] = true
	}
	a.started = a.now()
	for _, s := range a.all() {
		if every, ok := o.Intervals[s.name]; ok {
			s.interval = every
		}
		a.sources = append(a.sources, s)
	}
	return a
}

// all are the sources in the order in which they are listed. Those that
// wait are read anew for an answer; the others are refreshed behind it.
func (a *Agent) all() []*source {
	return []*source{
		{name: "counters", interval: time.Second, wait: true, read: a.readCounters, access: []string{"read /sys/class/infiniband/*/ports/*/counters/*", "read /sys/class/infiniband/*/ports/*/hw_counters/*"}},
		{name: "ethtool", interval: time.Second, wait: true, read: a.readEthtool, access: []string{"ioctl SIOCETHTOOL: ETHTOOL_GSTRINGS, ETHTOOL_GSTATS (as ethtool -S IF)", "no capability needed"}},
		{name: "rdma", interval: 15 * time.Second, read: a.readRDMA, access: []string{"netlink NETLINK_RDMA: RDMA_NLDEV_CMD_GET, RDMA_NLDEV_CMD_STAT_GET (as rdma statistic show)", "no capability needed"}},
		{name: "port", interval: 15 * time.Second, read: a.readPorts, access: []string{"read /sys/class/infiniband/*/ports/*/{state,phys_state,rate,link_layer}", "read /sys/class/infiniband/*/ports/*/{gids,gid_attrs}/*"}},
		{name: "dcb", interval: 30 * time.Second, read: a.readDCB, access: []string{"netlink NETLINK_ROUTE: RTM_GETDCB (as dcb pfc show dev IF)", "no capability needed"}},
		{name: "pcie", interval: 30 * time.Second, read: a.readPCIe, access: []string{"read /sys/class/infiniband/*/device/{current,max}_link_{speed,width}", "readlink /sys/class/infiniband/*, /sys/bus/pci/devices/*"}},
		{name: "users", interval: 30 * time.Second, read: a.readUsers, access: []string{"readlink /proc/*/fd/*, read /proc/*/cgroup, list /var/log/pods", "CAP_SYS_PTRACE (or root) for processes of other users; without it no job or pod is told"}},
		{name: "fec", interval: time.Minute, read: a.readFEC, access: []string{"netlink ethtool: ETHTOOL_MSG_FEC_GET (as ethtool --show-fec IF)", "no capability needed"}},
		{name: "module", interval: 5 * time.Minute, read: a.readModules, access: []string{"ioctl SIOCETHTOOL: ETHTOOL_GMODULEINFO, ETHTOOL_GMODULEEEPROM (as ethtool -m IF)", "CAP_NET_ADMIN; without it no module is told"}},
	}
}

// Access lists, for each source, every file, request and capability it uses.
func (a *Agent) Access() [][2]string {
	var out [][2]string
	for _, s := range a.sources {
		for _, line := range s.access {
			out = append(out, [2]string{s.name, line})
		}
	}
	return append(out, [2]string{"devices", "list /sys/class/infiniband, readlink */device/driver, */device/physfn, list */device/net"})
}

// Sources returns the names of the sources.
func (a *Agent) Sources() []string {
	out := make([]string, len(a.sources))
	for i, s := range a.sources {
		out[i] = s.name
	}
	return out
}

// Write refreshes what is due and writes every reading in the Prometheus text
// format. It returns in about the waiting time even if a source hangs.
func (a *Agent) Write(ctx context.Context, w io.Writer) error {
	a.scrapes.Lock()
	a.scrapes.n++
	n := a.scrapes.n
	a.scrapes.Unlock()
	ctx, cancel := context.WithTimeout(ctx, a.wait)
	defer cancel()
	now := a.now()
	var pending []<-chan struct{}
	for _, s := range a.sources {
		if done := s.refresh(now, a.now); done != nil && (s.wait || s.never()) {
			pending = append(pending, done)
		}
	}
	for _, done := range pending {
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	var all []Reading
	now = a.now()
	for _, s := range a.sources {
		all = append(all, s.readings(now)...)
		all = append(all, s.costs(now)...)
	}
	all = append(all,
		Reading{Name: "weir_agent_time_seconds", Help: "The host's clock when the answer was written.", Kind: telemetry.Gauge, Value: float64(now.UnixMilli()) / 1000},
		Reading{Name: "weir_agent_start_time_seconds", Help: "When the agent started.", Kind: telemetry.Gauge, Value: float64(a.started.UnixMilli()) / 1000},
		Reading{Name: "weir_agent_scrapes_total", Help: "Answers begun.", Value: float64(n)})
	return writeText(w, all)
}

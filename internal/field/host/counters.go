package host

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"weir/internal/telemetry"
)

func itoa(n int) string { return strconv.Itoa(n) }

// errNoDevice: nothing to read is worth asking again only now and then.
var errNoDevice = errors.New("no RDMA device")

// readCounters reads counters/ and hw_counters/ of every port. One file that
// cannot be read (bnxt answers EINVAL to many) does not stop the others.
func (a *Agent) readCounters(c *collector) error {
	devices := a.devices()
	if len(devices) == 0 {
		return errNoDevice
	}
	for _, d := range devices {
		for _, p := range d.ports {
			// The files of counters/ are the kernel's own and have the same
			// names for every driver.
			a.readCounterDir(c, d, p, p.dir+"/counters", telemetry.MLX5)
			a.readCounterDir(c, d, p, p.dir+"/hw_counters", d.rdma)
		}
	}
	return nil
}

func (a *Agent) readCounterDir(c *collector, d device, p port, dir, family string) {
	a.tree.below(dir, func(t tree) {
		for _, file := range t.list(".") {
			name := dir + "/" + file
			if c.resting(name) {
				continue
			}
			v, err := t.number(file)
			if err != nil {
				c.skip(name, err)
				continue
			}
			c.counter(family, file, v, d, p)
		}
	})
}

// counter takes a counter under the name that the table gives it, or, if the
// table does not know it, under its own, as the exporters in use do.
func (c *collector) counter(family, file string, v uint64, d device, p port) {
	if s, ok := telemetry.Vendor(family, file); ok {
		c.add(s.Metric, v, d.name, p.number, ordered(s, "")...)
		return
	}
	name := "rdma_" + metricWord(file) + "_total"
	if _, taken := telemetry.Lookup(name); taken {
		return // another meaning under this name
	}
	c.out = append(c.out, Reading{
		Name: name, Help: "The driver's counter " + file + ".",
		Labels: []telemetry.Label{{Name: "device", Value: d.name}, {Name: "port", Value: p.number}}, Count: v,
	})
}

// ordered returns the labels of a source in the order of its metric's labels,
// with netdev for the label of that name.
func ordered(s telemetry.Source, netdev string) []string {
	m := &telemetry.Table()[s.Metric]
	out := make([]string, len(m.Labels))
	for i, name := range m.Labels {
		if name == "netdev" {
			out[i] = netdev
		}
		if j := slices.IndexFunc(s.Labels, func(l telemetry.Label) bool { return l.Name == name }); j >= 0 {
			out[i] = s.Labels[j].Value
		}
	}
	return out
}

// metricWord makes a part of a metric's name of any counter's name: irdma has
// blanks in some.
func metricWord(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_':
			return r
		case r >= 'A' && r <= 'Z':
			return r + ('a' - 'A')
		}
		return '_'
	}, s)
}

// readEthtool reads the statistics of every port's net device. A virtual
// function does not count PFC: its physical function's count is shown
// under its name, with the physical function's net device.
func (a *Agent) readEthtool(c *collector) error {
	seen := map[string]map[string]uint64{}
	stats := func(netdev string) map[string]uint64 {
		if s, ok := seen[netdev]; ok || netdev == "" || c.resting("ethtool "+netdev) {
			return s
		}
		s, err := a.kernel.EthtoolStats(netdev)
		if err != nil {
			c.skip("ethtool "+netdev, err)
		}
		seen[netdev] = s
		return s
	}
	some := false
	for _, d := range a.devices() {
		for _, p := range d.ports {
			some = some || p.netdev != ""
			c.ethtool(d, p, p.netdev, stats(p.netdev), func(m *telemetry.Metric) bool {
				return p.pfc == p.netdev || !strings.HasPrefix(m.Name, "rdma_roce_pfc_")
			})
			if p.pfc != p.netdev {
				c.ethtool(d, p, p.pfc, stats(p.pfc), func(m *telemetry.Metric) bool {
					return strings.HasPrefix(m.Name, "rdma_roce_pfc_")
				})
			}
		}
	}
	if !some {
		return errNoDevice
	}
	return nil
}

// ethtool takes those of a net device's statistics that the table knows: the
// others are hundreds.
func (c *collector) ethtool(d device, p port, netdev string, stats map[string]uint64, wanted func(*telemetry.Metric) bool) {
	for name, v := range stats {
		s, ok := telemetry.Vendor(d.ethtool, strings.TrimSpace(name))
		if !ok || !wanted(&telemetry.Table()[s.Metric]) {
			continue
		}
		c.add(s.Metric, v, d.name, p.number, ordered(s, netdev)...)
	}
}

// readRDMA reads statistics over netlink. They are the same as hw_counters,
// and the optional counters that are switched on; those that are not are
// reported with the command that does it.
func (a *Agent) readRDMA(c *collector) error {
	failed, asked := error(nil), false
	for _, d := range a.devices() {
		byPort, err := a.kernel.RDMAStatistics(d.name)
		if err != nil {
			failed = err
			continue
		}
		asked = true
		for _, p := range d.ports {
			n, err := strconv.ParseUint(p.number, 10, 32)
			if err != nil {
				continue
			}
			stats := byPort[uint32(n)]
			for name, v := range stats {
				if s, ok := telemetry.Vendor(d.rdma, name); ok && optional(name) {
					c.add(s.Metric, v, d.name, p.number, ordered(s, "")...)
				}
			}
			if d.rdma == telemetry.MLX5 {
				c.disabled(d, p, stats)
			}
		}
	}
	if !asked {
		return errors.Join(errNoDevice, failed)
	}
	return nil
}

// optionalCounters are those that mlx5 counts only once they are switched on.
var optionalCounters = []string{"cc_rx_ce_pkts", "cc_rx_cnp_pkts", "cc_tx_cnp_pkts"}

func optional(name string) bool {
	return slices.Contains(optionalCounters, name) || strings.HasPrefix(name, "rdma_")
}

// disabled reports the optional counters that a port does not show.
func (c *collector) disabled(d device, p port, stats map[string]uint64) {
	id := telemetry.MustLookup("rdma_counter_disabled_info")
	command := "rdma statistic set link " + d.name + "/" + p.number + " optional-counters " + strings.Join(optionalCounters, ",")
	for _, name := range optionalCounters {
		if _, on := stats[name]; !on {
			c.add(id, 1, d.name, p.number, name, command)
		}
	}
}

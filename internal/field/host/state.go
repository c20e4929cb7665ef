package host

import (
	"errors"
	"strconv"
	"strings"

	"weir/internal/telemetry"
	"weir/units"
)

var (
	portInfo     = telemetry.MustLookup("rdma_port_info")
	portRate     = telemetry.MustLookup("rdma_port_rate_bits_per_second")
	gidInfo      = telemetry.MustLookup("rdma_gid_info")
	pcieInfo     = telemetry.MustLookup("rdma_pcie_link_info")
	pcieDegraded = telemetry.MustLookup("rdma_pcie_link_degraded")
	pfcEnabled   = telemetry.MustLookup("rdma_dcb_pfc_enabled")
	fecInfo      = telemetry.MustLookup("rdma_fec_info")
)

// readPorts reads state, rate and GID table of every port.
func (a *Agent) readPorts(c *collector) error {
	devices := a.devices()
	if len(devices) == 0 {
		return errNoDevice
	}
	pfDevice := map[string]string{} // PCI address to RDMA device
	for _, d := range devices {
		if d.pf == "" {
			pfDevice[d.pci] = d.name
		}
	}
	for _, d := range devices {
		isVF := "0"
		if d.pf != "" {
			isVF = "1"
		}
		for _, p := range d.ports {
			// "4: ACTIVE", "5: LinkUp", "400 Gb/sec (4X NDR)"
			state, phys := afterColon(a.tree.word(p.dir+"/state")), afterColon(a.tree.word(p.dir+"/phys_state"))
			speed, bits := rate(a.tree.word(p.dir + "/rate"))
			width := ""
			if _, in, ok := strings.Cut(speed, "("); ok {
				width, _, _ = strings.Cut(in, " ")
			}
			c.add(portInfo, 1, d.name, p.number, p.netdev, a.tree.word(p.dir+"/link_layer"), state, phys, width, speed, d.pci, isVF, pfDevice[d.pf])
			if bits > 0 {
				c.add(portRate, bits, d.name, p.number, p.netdev)
			}
			a.readGIDs(c, d, p)
		}
	}
	return nil
}

// maxGIDs bounds the GID table of a port; cards have up to 256 entries.
const maxGIDs = 512

func (a *Agent) readGIDs(c *collector, d device, p port) {
	a.tree.below(p.dir, func(t tree) {
		for _, index := range limit(t.list("gids"), maxGIDs) {
			gid := t.word("gids/" + index)
			if strings.Trim(gid, "0:") == "" {
				continue // a hole: sparse tables are common
			}
			// The type of an unused entry cannot be read.
			c.add(gidInfo, 1, d.name, p.number, index, gid, t.word("gid_attrs/types/"+index), t.word("gid_attrs/ndevs/"+index))
		}
	})
}

func limit(s []string, n int) []string { return s[:min(len(s), n)] }

func afterColon(s string) string {
	if _, after, ok := strings.Cut(s, ":"); ok {
		return strings.TrimSpace(after)
	}
	return s
}

// rate reads "400 Gb/sec (4X NDR)".
func rate(s string) (text string, bitsPerSecond uint64) {
	number, _, ok := strings.Cut(s, " Gb/sec")
	f, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || f < 0 || f > 1e6 {
		return s, 0
	}
	return s, uint64(f * float64(units.Gbps))
}

// readPCIe reads the link state of every device and its distance to every GPU.
func (a *Agent) readPCIe(c *collector) error {
	devices := a.devices()
	if len(devices) == 0 {
		return errNoDevice
	}
	gpus := a.gpus()
	for _, d := range devices {
		if d.pci == "" && len(a.tree.list(d.dir+"/device")) == 0 {
			continue
		}
		dir := d.dir + "/device/"
		speed, width := a.tree.word(dir+"current_link_speed"), a.tree.word(dir+"current_link_width")
		maxSpeed, maxWidth := a.tree.word(dir+"max_link_speed"), a.tree.word(dir+"max_link_width")
		// A virtual function has no link of its own.
		if speed != "" && !strings.HasPrefix(speed, "Unknown") {
			c.add(pcieInfo, 1, d.name, "", d.pci, speed, width, maxSpeed, maxWidth, a.tree.word(dir+"numa_node"))
			degraded := uint64(0)
			if speed != maxSpeed || width != maxWidth {
				degraded = 1
			}
			c.add(pcieDegraded, degraded, d.name, "")
		}
		a.readGPUDistance(c, d, gpus)
	}
	return nil
}

// eachNetdev calls f for every port with a net device in sight, and counts
// what failed. An error comes back if nothing could be asked.
func (a *Agent) eachNetdev(c *collector, what string, f func(device, port) error) error {
	asked, some := false, false
	var last error
	for _, d := range a.devices() {
		for _, p := range d.ports {
			key := what + " " + p.netdev
			if p.netdev == "" {
				continue
			}
			some = true
			if c.resting(key) {
				continue
			}
			if err := f(d, p); err != nil {
				c.skip(key, err)
				last = err
				continue
			}
			asked = true
		}
	}
	if !some {
		return errNoDevice
	}
	if !asked && last != nil {
		return errors.Join(errors.New(what), last)
	}
	return nil
}

// readDCB reads which priorities have PFC.
func (a *Agent) readDCB(c *collector) error {
	return a.eachNetdev(c, "dcb", func(d device, p port) error {
		mask, err := a.kernel.PFC(p.netdev)
		if err != nil {
			return err
		}
		for i := range 8 {
			c.add(pfcEnabled, uint64(mask>>i&1), d.name, p.number, p.netdev, itoa(i))
		}
		return nil
	})
}

// readFEC reads the forward error correction of every port.
func (a *Agent) readFEC(c *collector) error {
	return a.eachNetdev(c, "fec", func(d device, p port) error {
		active, configured, err := a.kernel.FEC(p.netdev)
		if err != nil {
			return err
		}
		c.add(fecInfo, 1, d.name, p.number, p.netdev, active, configured)
		return nil
	})
}

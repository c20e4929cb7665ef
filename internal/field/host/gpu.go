package host

import (
	"strings"

	"weir/internal/telemetry"
)

var gpuDistance = telemetry.MustLookup("rdma_gpu_distance_info")

// pciDevice is a PCI device with its way from the root complex.
type pciDevice struct {
	address string
	numa    string
	path    []string // "pci0000:00", "0000:00:01.0", ... the device itself last
}

const pciDir = "sys/bus/pci/devices"

// maxGPUs bounds the GPUs of a host that are looked at.
const maxGPUs = 64

// gpus lists the GPUs: PCI display and processing devices of NVIDIA and AMD.
func (a *Agent) gpus() []pciDevice {
	var out []pciDevice
	for _, address := range a.tree.list(pciDir) {
		dir := pciDir + "/" + address
		switch a.tree.word(dir + "/vendor") {
		case "0x10de", "0x1002":
		default:
			continue
		}
		switch class := a.tree.word(dir + "/class"); {
		case strings.HasPrefix(class, "0x0300"), strings.HasPrefix(class, "0x0302"), // VGA, 3D controller
			strings.HasPrefix(class, "0x0380"), strings.HasPrefix(class, "0x1200"): // display, processing accelerator
		default:
			continue
		}
		if len(out) == maxGPUs {
			break
		}
		out = append(out, a.pciDevice(address, dir))
	}
	return out
}

func (a *Agent) pciDevice(address, dir string) pciDevice {
	d := pciDevice{address: address, numa: a.tree.word(dir + "/numa_node")}
	parts := strings.Split(a.tree.target(dir), "/")
	for i, p := range parts {
		if strings.HasPrefix(p, "pci") && strings.Contains(p, ":") {
			d.path = parts[i:]
			break
		}
	}
	return d
}

// readGPUDistance takes the distance of a device to every GPU, in the words
// of nvidia-smi topo -m.
func (a *Agent) readGPUDistance(c *collector, d device, gpus []pciDevice) {
	if d.pci == "" {
		return
	}
	nic := a.pciDevice(d.pci, pciDir+"/"+d.pci)
	for _, g := range gpus {
		if word := distance(nic, g); word != "" {
			c.add(gpuDistance, 1, d.name, "", g.address, word)
		}
	}
}

// distance returns PIX (at most one bridge between the two), PXB (several
// bridges, no host bridge), PHB (the host bridge), NODE (host bridges of one
// NUMA node) or SYS (between NUMA nodes); "" if the paths are not known.
func distance(a, b pciDevice) string {
	if len(a.path) < 2 || len(b.path) < 2 {
		return ""
	}
	common := 0
	for common < min(len(a.path), len(b.path)) && a.path[common] == b.path[common] {
		common++
	}
	switch {
	case common == 0 && a.numa != b.numa:
		return "SYS"
	case common == 0:
		return "NODE"
	case common == 1:
		return "PHB"
	}
	// Bridges that the way passes below the last common one: a switch has an
	// upstream and a downstream port, so that two devices below one switch
	// have its two downstream ports between them.
	below := (len(a.path) - common - 1) + (len(b.path) - common - 1)
	if below <= 2 {
		return "PIX"
	}
	return "PXB"
}

package cluster

import "weir/units"

const gbps = units.Gbps

// Usable PCIe rates per direction of a x16 slot: lane rate x 16, line code
// 128b/130b, and about 90 % of it left by headers of 256-byte transactions.
const (
	pcie3x16 = 113 * gbps // 8 GT/s
	pcie4x16 = 226 * gbps // 16 GT/s
	pcie5x16 = 453 * gbps // 32 GT/s
	pcie6x16 = 900 * gbps // 64 GT/s
)

func gigabits(speeds ...int64) (out []units.BitRate) {
	for _, s := range speeds {
		out = append(out, units.BitRate(s)*gbps)
	}
	return out
}

var nicCatalogue = []NICModel{
	{Name: "connectx-5", Vendor: "nvidia", Driver: "mlx5", Speeds: gigabits(10, 25, 40, 50, 100), Ports: 2, PCIe: pcie3x16, Latency: 600 * units.Nanosecond, RxBuffer: 256 * units.KiB, OutOfOrder: true, MaxMTU: 9600, DSCPTrust: true},
	{Name: "connectx-6", Vendor: "nvidia", Driver: "mlx5", Speeds: gigabits(10, 25, 40, 50, 100, 200), Ports: 2, PCIe: pcie4x16, Latency: 600 * units.Nanosecond, RxBuffer: 512 * units.KiB, OutOfOrder: true, MaxMTU: 9600, DSCPTrust: true},
	{Name: "connectx-6-dx", Vendor: "nvidia", Driver: "mlx5", Speeds: gigabits(10, 25, 40, 50, 100, 200), Ports: 2, PCIe: pcie4x16, Latency: 600 * units.Nanosecond, RxBuffer: 512 * units.KiB, OutOfOrder: true, MaxMTU: 9600, DSCPTrust: true},
	{Name: "connectx-7", Vendor: "nvidia", Driver: "mlx5", Speeds: gigabits(25, 50, 100, 200, 400), Ports: 2, PCIe: pcie5x16, Latency: 500 * units.Nanosecond, RxBuffer: 1 * units.MiB, OutOfOrder: true, SelectiveRepeat: true, MaxMTU: 9600, DSCPTrust: true},
	{Name: "connectx-8", Vendor: "nvidia", Driver: "mlx5", Speeds: gigabits(100, 200, 400, 800), Ports: 2, PCIe: pcie6x16, Latency: 500 * units.Nanosecond, RxBuffer: 2 * units.MiB, OutOfOrder: true, SelectiveRepeat: true, MaxMTU: 9600, DSCPTrust: true},
	{Name: "bluefield-3", Vendor: "nvidia", Driver: "mlx5", Speeds: gigabits(25, 50, 100, 200, 400), Ports: 2, PCIe: pcie5x16, Latency: 600 * units.Nanosecond, RxBuffer: 1 * units.MiB, OutOfOrder: true, SelectiveRepeat: true, MaxMTU: 9600, DSCPTrust: true},
	{Name: "thor2", Vendor: "broadcom", Driver: "bnxt_re", Speeds: gigabits(25, 50, 100, 200, 400), Ports: 2, PCIe: pcie5x16, Latency: 600 * units.Nanosecond, RxBuffer: 1 * units.MiB, MaxMTU: 9600, DSCPTrust: true},
	{Name: "e810", Vendor: "intel", Driver: "irdma", Speeds: gigabits(10, 25, 50, 100), Ports: 2, PCIe: pcie4x16, Latency: 900 * units.Nanosecond, RxBuffer: 512 * units.KiB, MaxMTU: 9702, DSCPTrust: true},
	{Name: "pollara-400", Vendor: "amd", Driver: "ionic", Speeds: gigabits(25, 50, 100, 200, 400), Ports: 2, PCIe: pcie5x16, Latency: 600 * units.Nanosecond, RxBuffer: 1 * units.MiB, OutOfOrder: true, SelectiveRepeat: true, MaxMTU: 9216, DSCPTrust: true},
}

var switchCatalogue = []SwitchModel{
	{Name: "spectrum-1", Vendor: "nvidia", Ports: 32, Speed: 100 * gbps, MaxPorts: 64, Buffer: 16 * units.MiB, Latency: 300 * units.Nanosecond, Lossless: 2, OS: []string{"onyx", "nvue", "sonic"}, AlphaDefault: 1, Cell: 96},
	{Name: "spectrum-2", Vendor: "nvidia", Ports: 32, Speed: 200 * gbps, MaxPorts: 128, Buffer: 42 * units.MiB, Latency: 425 * units.Nanosecond, Adaptive: true, Lossless: 2, OS: []string{"nvue", "onyx", "sonic"}, AlphaDefault: 1, Cell: 144},
	{Name: "spectrum-3", Vendor: "nvidia", Ports: 32, Speed: 400 * gbps, MaxPorts: 128, Buffer: 64 * units.MiB, Latency: 425 * units.Nanosecond, Adaptive: true, Lossless: 2, OS: []string{"nvue", "onyx", "sonic"}, AlphaDefault: 1, Cell: 144},
	{Name: "spectrum-4", Vendor: "nvidia", Ports: 64, Speed: 800 * gbps, MaxPorts: 256, Buffer: 160 * units.MiB, Latency: 600 * units.Nanosecond, Adaptive: true, Spray: true, Lossless: 2, OS: []string{"nvue", "sonic"}, AlphaDefault: 1, Cell: 192},
	{Name: "tomahawk-3", Vendor: "broadcom", Ports: 32, Speed: 400 * gbps, MaxPorts: 128, Buffer: 64 * units.MiB, Latency: 800 * units.Nanosecond, Lossless: 2, OS: []string{"sonic", "eos", "nxos", "junos", "vrp", "comware"}, AlphaDefault: 1, Cell: 256},
	{Name: "tomahawk-4", Vendor: "broadcom", Ports: 64, Speed: 400 * gbps, MaxPorts: 256, Buffer: 113 * units.MiB, Latency: 800 * units.Nanosecond, Adaptive: true, Lossless: 2, OS: []string{"sonic", "eos", "nxos", "junos", "vrp", "comware"}, AlphaDefault: 1, Cell: 256},
	{Name: "tomahawk-5", Vendor: "broadcom", Ports: 64, Speed: 800 * gbps, MaxPorts: 320, Buffer: 165 * units.MiB, Latency: 800 * units.Nanosecond, Adaptive: true, Spray: true, Lossless: 2, OS: []string{"sonic", "eos", "nxos", "junos", "vrp", "comware"}, AlphaDefault: 1, Cell: 256},
	{Name: "trident-3", Vendor: "broadcom", Ports: 32, Speed: 100 * gbps, MaxPorts: 128, Buffer: 32 * units.MiB, Latency: 800 * units.Nanosecond, Lossless: 2, OS: []string{"sonic", "eos", "nxos", "junos", "vrp", "comware"}, AlphaDefault: 1, Cell: 256},
	{Name: "trident-4", Vendor: "broadcom", Ports: 32, Speed: 400 * gbps, MaxPorts: 128, Buffer: 132 * units.MiB, Latency: 800 * units.Nanosecond, Lossless: 2, OS: []string{"sonic", "eos", "nxos", "junos", "vrp", "comware"}, AlphaDefault: 1, Cell: 256},
	{Name: "jericho-2c-plus", Vendor: "broadcom", Ports: 18, Speed: 400 * gbps, MaxPorts: 144, Buffer: 8 * units.GiB, Latency: 3500 * units.Nanosecond, Spray: true, Lossless: 2, OS: []string{"sonic", "eos", "nxos", "junos"}, AlphaDefault: 1, Cell: 256},
}

var gpuCatalogue = []GPUModel{
	{Name: "v100", Vendor: "nvidia", NVLink: 1200 * gbps, NVLinkEfficiency: 0.80, Arch: "volta", PCIe: pcie3x16},
	{Name: "a100", Vendor: "nvidia", NVLink: 2400 * gbps, NVLinkEfficiency: 0.783, Arch: "ampere", PCIe: pcie4x16},
	{Name: "h100", Vendor: "nvidia", NVLink: 3600 * gbps, NVLinkEfficiency: 0.817, NVLS: true, Arch: "hopper", PCIe: pcie5x16},
	{Name: "h200", Vendor: "nvidia", NVLink: 3600 * gbps, NVLinkEfficiency: 0.817, NVLS: true, Arch: "hopper", PCIe: pcie5x16},
	{Name: "b200", Vendor: "nvidia", NVLink: 7200 * gbps, NVLinkEfficiency: 0.817, NVLS: true, Arch: "blackwell", PCIe: pcie5x16},
	{Name: "mi300x", Vendor: "amd", NVLink: 3584 * gbps, NVLinkEfficiency: 0.70, Arch: "cdna3", PCIe: pcie5x16},
}

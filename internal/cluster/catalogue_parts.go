package cluster

import "weir/units"

// The figures of the catalogue come from public data sheets, manuals and
// source trees, named in each Source. Where a Source says "our estimate" no
// public figure was found and the value is a usual one for the generation;
// every figure can be set in the file.

const gbps = units.Gbps

// Usable PCIe rates per direction of a x16 slot: lane rate x 16, line code
// 128b/130b, and 24 bytes of header, framing and check to 256 bytes of data
// (256/280 = 0.914): 8 GT/s x 16 x 0.985 x 0.914 = 115 Gb/s, doubled with each
// generation; generation 6 has no line code but fixed-size flits, 236 of 256
// bytes usable.
const (
	pcie3x16 = 115 * gbps
	pcie4x16 = 230 * gbps
	pcie5x16 = 461 * gbps
	pcie6x16 = 864 * gbps
)

func gigabits(speeds ...int64) (out []units.BitRate) {
	for _, s := range speeds {
		out = append(out, units.BitRate(s)*gbps)
	}
	return out
}

const (
	mlxOOO = "out-of-order placement: NVIDIA MLNX_OFED manual (ConnectX-5 and newer); "
	mlxSR  = "selective repeat: firmware setting RDMA_SELECTIVE_REPEAT_EN in public configuration dumps; "
	nicEst = "latency and receive buffer: our estimate"
)

var nicCatalogue = []NICModel{
	{
		Name: "connectx-5", Vendor: "nvidia", Driver: "mlx5", Speeds: gigabits(10, 25, 40, 50, 100), Ports: 2, PCIe: pcie3x16,
		Latency: 600 * units.Nanosecond, RxBuffer: 256 * units.KiB, OutOfOrder: true, MaxMTU: 9600, DSCPTrust: true,
		Source: "speeds, ports, PCIe 3 x16, 9.6 KB frames: NVIDIA ConnectX-5 user manual; " + mlxOOO + nicEst,
	},
	{
		Name: "connectx-6", Vendor: "nvidia", Driver: "mlx5", Speeds: gigabits(10, 25, 40, 50, 100, 200), Ports: 2, PCIe: pcie4x16,
		Latency: 600 * units.Nanosecond, RxBuffer: 512 * units.KiB, OutOfOrder: true, MaxMTU: 9600, DSCPTrust: true,
		Source: "speeds, ports, PCIe 4 x16, latency below 600 ns: NVIDIA ConnectX-6 user manual; " + mlxOOO + "receive buffer: our estimate",
	},
	{
		Name: "connectx-6-dx", Vendor: "nvidia", Driver: "mlx5", Speeds: gigabits(10, 25, 40, 50, 100, 200), Ports: 2, PCIe: pcie4x16,
		Latency: 600 * units.Nanosecond, RxBuffer: 512 * units.KiB, OutOfOrder: true, SelectiveRepeat: true, MaxMTU: 9600, DSCPTrust: true,
		Source: "as connectx-6; " + mlxOOO + mlxSR + nicEst,
	},
	{
		Name: "connectx-7", Vendor: "nvidia", Driver: "mlx5", Speeds: gigabits(25, 50, 100, 200, 400), Ports: 2, PCIe: pcie5x16,
		Latency: 600 * units.Nanosecond, RxBuffer: 1 * units.MiB, OutOfOrder: true, SelectiveRepeat: true, MaxMTU: 9600, DSCPTrust: true,
		Source: "speeds, ports, PCIe 5 x16: NVIDIA ConnectX-7 user manual; " + mlxOOO + mlxSR + nicEst,
	},
	{
		Name: "connectx-8", Vendor: "nvidia", Driver: "mlx5", Speeds: gigabits(100, 200, 400, 800), Ports: 2, PCIe: pcie6x16,
		Latency: 600 * units.Nanosecond, RxBuffer: 2 * units.MiB, OutOfOrder: true, SelectiveRepeat: true, MaxMTU: 9600, DSCPTrust: true,
		Source: "800 Gb/s, PCIe 6: NVIDIA's product page; lower speeds: as connectx-7; " + mlxOOO + mlxSR + nicEst,
	},
	{
		Name: "bluefield-3", Vendor: "nvidia", Driver: "mlx5", Speeds: gigabits(25, 50, 100, 200, 400), Ports: 2, PCIe: pcie5x16,
		Latency: 600 * units.Nanosecond, RxBuffer: 1 * units.MiB, OutOfOrder: true, SelectiveRepeat: true, MaxMTU: 9600, DSCPTrust: true,
		Source: "400 Gb/s, PCIe 5 x16: NVIDIA's product page; the rest as connectx-7, whose network part it has",
	},
	{
		Name: "thor2", Vendor: "broadcom", Driver: "bnxt_re", Speeds: gigabits(25, 50, 100, 200, 400), Ports: 2, PCIe: pcie5x16,
		Latency: 700 * units.Nanosecond, RxBuffer: 1 * units.MiB, MaxMTU: 9600, DSCPTrust: true,
		Source: "BCM57608, 400 Gb/s, PCIe 5 x16: Broadcom's product page; go-back-N and in order: assumed, no public statement found; " + nicEst,
	},
	{
		Name: "e810", Vendor: "intel", Driver: "irdma", Speeds: gigabits(10, 25, 50, 100), Ports: 2, PCIe: pcie4x16,
		Latency: 1 * units.Microsecond, RxBuffer: 512 * units.KiB, MaxMTU: 9702, DSCPTrust: true,
		Source: "speeds, PCIe 4 x16: Intel E810 product brief; MTU 9702: ice driver; " + nicEst,
	},
	{
		Name: "pollara-400", Vendor: "amd", Driver: "ionic", Speeds: gigabits(25, 50, 100, 200, 400), Ports: 2, PCIe: pcie5x16,
		Latency: 700 * units.Nanosecond, RxBuffer: 1 * units.MiB, OutOfOrder: true, SelectiveRepeat: true, MaxMTU: 9216, DSCPTrust: true,
		Source: "400 Gb/s, PCIe 5 x16, spraying with out-of-order placement and selective retransmission: AMD's Pollara 400 announcements; " + nicEst,
	},
}

const (
	mlxCell  = "cell size: sonic-buildimage platform/mellanox/asic_table.j2; "
	swEst    = "latency: our estimate; lossless classes: usual limit of deployed profiles"
	bcmCell  = "buffer and cell size: facebook/fboss switch_asics; "
	cumulus  = "adaptive routing: NVIDIA Cumulus reference (Spectrum-4; beta on 2 and 3); "
	alphaOne = "; alpha 1 (dynamic threshold 0) is the usual lossless profile of SONiC"
)

var switchCatalogue = []SwitchModel{
	{
		Name: "spectrum-1", Vendor: "nvidia", Ports: 32, Speed: 100 * gbps, MaxPorts: 64, Buffer: 16 * units.MiB, Latency: 300 * units.Nanosecond,
		Lossless: 2, OS: []string{"onyx", "nvue", "sonic"}, AlphaDefault: 1, Cell: 96,
		Source: "SN2700: 32 x 100G, 16 MB, 300 ns: NVIDIA SN2000 data sheet (recalled); " + mlxCell + "lossless classes: usual limit" + alphaOne,
	},
	{
		Name: "spectrum-2", Vendor: "nvidia", Ports: 32, Speed: 200 * gbps, MaxPorts: 128, Buffer: 42 * units.MiB, Latency: 425 * units.Nanosecond,
		Adaptive: true, Lossless: 2, OS: []string{"nvue", "onyx", "sonic"}, AlphaDefault: 1, Cell: 144,
		Source: "SN3700: 32 x 200G, 42 MB: NVIDIA's announcement; 425 ns: data sheet (recalled); " + mlxCell + cumulus + "lossless classes: usual limit" + alphaOne,
	},
	{
		Name: "spectrum-3", Vendor: "nvidia", Ports: 32, Speed: 400 * gbps, MaxPorts: 128, Buffer: 64 * units.MiB, Latency: 500 * units.Nanosecond,
		Adaptive: true, Lossless: 2, OS: []string{"nvue", "onyx", "sonic"}, AlphaDefault: 1, Cell: 144,
		Source: "SN4700: 32 x 400G, 64 MB: NVIDIA SN4000 manual and data sheet; " + mlxCell + cumulus + swEst + alphaOne,
	},
	{
		Name: "spectrum-4", Vendor: "nvidia", Ports: 64, Speed: 800 * gbps, MaxPorts: 256, Buffer: 160 * units.MiB, Latency: 600 * units.Nanosecond,
		Adaptive: true, Spray: true, Lossless: 2, OS: []string{"nvue", "sonic"}, AlphaDefault: 1, Cell: 192,
		Source: "SN5600: 64 x 800G, up to 256 ports: NVIDIA's announcement; 160 MB: data sheet (recalled; some public pages say 128 MB); " + mlxCell + cumulus + swEst + alphaOne,
	},
	{
		Name: "tomahawk-3", Vendor: "broadcom", Ports: 32, Speed: 400 * gbps, MaxPorts: 128, Buffer: 64 * units.MiB, Latency: 800 * units.Nanosecond,
		Lossless: 2, OS: broadcomSystems, AlphaDefault: 1, Cell: 254,
		Source: "12.8 Tb/s, 32 x 400G: Broadcom; " + bcmCell + swEst + alphaOne,
	},
	{
		// 2 x 234,606 cells of 254 bytes.
		Name: "tomahawk-4", Vendor: "broadcom", Ports: 64, Speed: 400 * gbps, MaxPorts: 256, Buffer: 2 * 234606 * 254, Latency: 800 * units.Nanosecond,
		Adaptive: true, Lossless: 2, OS: broadcomSystems, AlphaDefault: 1, Cell: 254,
		Source: "25.6 Tb/s, 64 x 400G: Broadcom; " + bcmCell + "dynamic load balancing counts as adaptive routing; " + swEst + alphaOne,
	},
	{
		// 2 x 341,080 cells of 254 bytes.
		Name: "tomahawk-5", Vendor: "broadcom", Ports: 64, Speed: 800 * gbps, MaxPorts: 256, Buffer: 2 * 341080 * 254, Latency: 800 * units.Nanosecond,
		Adaptive: true, Spray: true, Lossless: 2, OS: broadcomSystems, AlphaDefault: 1, Cell: 254,
		Source: "64 x 800G or 256 x 200G, cognitive routing: Broadcom's announcement of August 2022; " + bcmCell + swEst + alphaOne,
	},
	{
		Name: "trident-3", Vendor: "broadcom", Ports: 32, Speed: 100 * gbps, MaxPorts: 128, Buffer: 32 * units.MiB, Latency: 800 * units.Nanosecond,
		Lossless: 2, OS: broadcomSystems, AlphaDefault: 1, Cell: 256,
		Source: "X7: 3.2 Tb/s, 32 MB: people.ucsc.edu/~warner/Bufs; cell size: our estimate; " + swEst + alphaOne,
	},
	{
		Name: "trident-4", Vendor: "broadcom", Ports: 32, Speed: 400 * gbps, MaxPorts: 128, Buffer: 132 * units.MiB, Latency: 800 * units.Nanosecond,
		Lossless: 2, OS: broadcomSystems, AlphaDefault: 1, Cell: 254,
		Source: "X11: 32 x 400G, 132 MB (Juniper QFX5130): people.ucsc.edu/~warner/Bufs; cell size: our estimate; " + swEst + alphaOne,
	},
	{
		Name: "jericho-2c-plus", Vendor: "broadcom", Ports: 18, Speed: 400 * gbps, MaxPorts: 144, Buffer: 6 * units.GiB, Latency: 3500 * units.Nanosecond,
		Spray: true, Lossless: 2, OS: []string{"sonic", "eos", "nxos", "junos"}, AlphaDefault: 1, Cell: 4096,
		Source: "7.2 Tb/s, 8 GB of memory in the package: Broadcom; 6 GB of it usable and blocks of 4096 bytes as on Jericho 2: facebook/fboss; cells over a fabric count as spraying; " + swEst + alphaOne,
	},
}

var broadcomSystems = []string{"sonic", "eos", "nxos", "junos", "vrp", "comware"}

var gpuCatalogue = []GPUModel{
	{Name: "v100", Vendor: "nvidia", NVLink: 1200 * gbps, NVLinkEfficiency: 0.80, Arch: "volta", PCIe: pcie3x16, Source: "300 GB/s both ways: NVIDIA; share: our estimate"},
	{Name: "a100", Vendor: "nvidia", NVLink: 2400 * gbps, NVLinkEfficiency: 0.783, Arch: "ampere", PCIe: pcie4x16, Source: "600 GB/s both ways: NVIDIA; share: 234.9 of 300 GB/s at 16 GiB (stas00/ml-engineering network/README.md)"},
	{Name: "h100", Vendor: "nvidia", NVLink: 3600 * gbps, NVLinkEfficiency: 0.817, NVLS: true, Arch: "hopper", PCIe: pcie5x16, Source: "900 GB/s both ways: NVIDIA; share as h200"},
	{Name: "h200", Vendor: "nvidia", NVLink: 3600 * gbps, NVLinkEfficiency: 0.817, NVLS: true, Arch: "hopper", PCIe: pcie5x16, Source: "900 GB/s both ways: NVIDIA; share: ring 367.6 of 450 GB/s at 16 GiB (stas00/ml-engineering network/README.md)"},
	{Name: "b200", Vendor: "nvidia", NVLink: 7200 * gbps, NVLinkEfficiency: 0.817, NVLS: true, Arch: "blackwell", PCIe: pcie5x16, Source: "1800 GB/s both ways: NVIDIA; share: as h200, our estimate"},
	{Name: "mi300x", Vendor: "amd", NVLink: 3584 * gbps, NVLinkEfficiency: 0.70, Arch: "cdna3", PCIe: pcie5x16, Source: "seven Infinity Fabric links of 64 GB/s each way: AMD; share: our estimate"},
}

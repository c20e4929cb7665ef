package cluster

import "weir/units"

// NICModel is one network card of the catalogue.
type NICModel struct {
	Name            string // "connectx-6-dx"
	Vendor          string
	Driver          string          // RDMA driver: "mlx5", "bnxt_re", "irdma", "ionic"
	Speeds          []units.BitRate // that a port can run at, ascending
	Ports           int
	PCIe            units.BitRate // usable, per direction, of the usual slot
	Latency         units.Time    // one way through the card: doorbell or wire to memory
	RxBuffer        units.Bytes
	OutOfOrder      bool // can place packets that arrive out of order
	SelectiveRepeat bool
	MaxMTU          units.Bytes
	DSCPTrust       bool
	Source          string // where the figures come from
}

// SwitchModel is one switch of the catalogue.
type SwitchModel struct {
	Name         string // "spectrum-3"
	Vendor       string
	Ports        int           // at full speed
	Speed        units.BitRate // of each
	MaxPorts     int           // most ports when split to lower speeds
	Buffer       units.Bytes
	Latency      units.Time // through the pipeline, port to port, cut-through of the header aside
	Adaptive     bool       // offers adaptive routing
	Spray        bool
	Lossless     int // most lossless classes
	OS           []string
	AlphaDefault float64
	Cell         units.Bytes
	Source       string
}

// GPUModel is one accelerator of the catalogue.
type GPUModel struct {
	Name             string // "h100"
	Vendor           string
	NVLink           units.BitRate // per direction, nominal (Infinity Fabric on AMD parts)
	NVLinkEfficiency float64       // share that a ring reaches
	NVLS             bool
	Arch             string // "volta", "ampere", "hopper", "blackwell", "cdna3": NCCL's tables differ by it
	PCIe             units.BitRate
	Source           string
}

// LookupNIC returns the card of that name.
func LookupNIC(name string) (*NICModel, bool) {
	for i := range nicCatalogue {
		if nicCatalogue[i].Name == name {
			m := nicCatalogue[i]
			return &m, true
		}
	}
	return nil, false
}

// LookupSwitch returns the switch of that name.
func LookupSwitch(name string) (*SwitchModel, bool) {
	for i := range switchCatalogue {
		if switchCatalogue[i].Name == name {
			m := switchCatalogue[i]
			return &m, true
		}
	}
	return nil, false
}

// LookupGPU returns the accelerator of that name.
func LookupGPU(name string) (*GPUModel, bool) {
	for i := range gpuCatalogue {
		if gpuCatalogue[i].Name == name {
			m := gpuCatalogue[i]
			return &m, true
		}
	}
	return nil, false
}

// NICs returns the catalogue's cards in a slice that the caller owns.
func NICs() []NICModel { return append([]NICModel(nil), nicCatalogue...) }

// Switches returns the catalogue's switches in a slice that the caller owns.
func Switches() []SwitchModel { return append([]SwitchModel(nil), switchCatalogue...) }

// GPUs returns the catalogue's accelerators in a slice that the caller owns.
func GPUs() []GPUModel { return append([]GPUModel(nil), gpuCatalogue...) }

func nicNames() (out []string) {
	for i := range nicCatalogue {
		out = append(out, nicCatalogue[i].Name)
	}
	return out
}

func switchNames() (out []string) {
	for i := range switchCatalogue {
		out = append(out, switchCatalogue[i].Name)
	}
	return out
}

func gpuNames() (out []string) {
	for i := range gpuCatalogue {
		out = append(out, gpuCatalogue[i].Name)
	}
	return out
}

// systems are the switch operating systems that weir renders and reads.
var systems = []string{"nxos", "eos", "nvue", "onyx", "sonic", "vrp", "comware", "junos"}

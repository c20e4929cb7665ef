package cluster

import "weir/units"

// NICModel is one network card of the catalogue.
type NICModel struct {
	Name            string // "connectx-6-dx"
	Vendor          string
	Speeds          []units.BitRate // that a port can run at
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
	Ports        int
	Speed        units.BitRate
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
	NVLink           units.BitRate // per direction, nominal
	NVLinkEfficiency float64       // share that a ring reaches
	NVLS             bool
	Arch             string // "volta", "ampere", "hopper", "blackwell", "cdna3": NCCL's tables differ by it
	PCIe             units.BitRate
	Source           string
}

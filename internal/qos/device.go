package qos

import "weir/units"

// Trust says which field of a packet decides its priority.
type Trust uint8

// The trust modes.
const (
	TrustUnknown Trust = iota
	TrustDSCP
	TrustPCP
	TrustNone // every packet gets the port's default priority
)

// Tri is a setting that a source may leave open.
type Tri uint8

// The three values of a Tri.
const (
	Unset Tri = iota
	Off
	On
)

// A Queue is one egress queue of a port as configured. Byte values are
// converted from the vendor's unit; Raw keeps the original text of the
// thresholds where no conversion is possible.
type Queue struct {
	Share       float64 // of the link, 0 to 1
	Strict      Tri
	ECN         Tri // marks when on; with WRED on and ECN off it drops
	WRED        Tri
	Min, Max    units.Bytes // 0: not stated
	Probability float64     // 0 to 1; negative: not stated
	Raw         string
}

// A Port is what one port effectively does with packets.
type Port struct {
	Name                            string
	Peer                            string // neighbour "device/port" where the source says so
	Speed                           units.BitRate
	MTU                             units.Bytes // layer-2 payload size, 0: not stated
	Trust                           Trust
	DefaultPriority                 uint8     // Undefined: not stated
	DSCPToPriority                  [64]uint8 // Undefined: not stated
	PCPToPriority                   [8]uint8
	PriorityToQueue                 [Priorities]uint8
	PFC                             Tri    // as a whole
	PFCMask                         uint8  // bit p: PFC on for priority p
	PFCMode                         string // "on", "auto", "off" and the like, as printed
	GlobalPauseRx, GlobalPauseTx    Tri
	Watchdog                        Tri
	WatchdogDetect, WatchdogRestore units.Time
	WatchdogAction                  string
	Queues                          [Priorities]Queue
	BufferSize                      [Priorities]units.Bytes // NIC receive buffers or headroom by priority group
	CableLength                     units.Metres
	Lines                           map[string]int // setting -> line of the source, for messages
}

// A Device is the queueing behaviour of one switch or NIC, parsed from its
// configuration or its state outputs.
type Device struct {
	Name   string
	System string // "nxos", "eos", "nvue", "onyx", "sonic", "vrp", "comware", "junos", "mlnx_qos", "dcb" ...
	Ports  []Port
}

// NewPort returns a port with every field "not stated".
func NewPort(name string) Port {
	p := Port{Name: name, DefaultPriority: Undefined}
	for i := range p.DSCPToPriority {
		p.DSCPToPriority[i] = Undefined
	}
	for i := range p.PCPToPriority {
		p.PCPToPriority[i] = Undefined
		p.PriorityToQueue[i] = Undefined
		p.Queues[i].Probability = -1
	}
	return p
}

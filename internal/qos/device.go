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
	TrustBoth // IP packets by DSCP, others by PCP
)

// String returns the name used in facts and messages: "dscp", "pcp" ...
func (t Trust) String() string {
	names := [...]string{"unknown", "dscp", "pcp", "none", "both"}
	return names[min(int(t), len(names)-1)]
}

// Tri is a setting that a source may leave open.
type Tri uint8

// The three values of a Tri.
const (
	Unset Tri = iota
	Off
	On
)

// TriOf returns On for true and Off for false.
func TriOf(on bool) Tri {
	if on {
		return On
	}
	return Off
}

// String returns "on", "off" or "not stated".
func (t Tri) String() string {
	names := [...]string{"not stated", "off", "on"}
	return names[min(int(t), len(names)-1)]
}

// Raw is a pair of thresholds in a unit that only the switch's model data can
// turn into bytes. The zero Raw means that nothing was left unconverted.
type Raw struct {
	Min, Max float64
	Unit     string // "cells", "percent" (of the queue's fill), "segments", "us" (of queueing delay)
}

// Bytes converts a pair in cells or percent. cell is the unit of the switch's
// packet memory; fill is what a queue holds at 100 percent. ok is false for
// other units, and where the figure that the unit needs is 0.
func (r Raw) Bytes(cell, fill units.Bytes) (low, high units.Bytes, ok bool) {
	var scale float64
	switch r.Unit {
	case "cells":
		scale = float64(cell)
	case "percent":
		scale = float64(fill) / 100
	}
	return units.Bytes(r.Min * scale), units.Bytes(r.Max * scale), scale > 0
}

// A Queue is one egress queue of a port as configured. Byte values are
// converted from the vendor's unit; Raw keeps thresholds that cannot be.
type Queue struct {
	Share       float64     // of what strict queues leave of the link, 0 to 1
	Weight      int         // of the scheduler, in the vendor's unit, where the source gives no percentage; 0: not stated
	Strict      Tri         // served before all queues that are not
	ECN         Tri         // marks when on; with WRED on and ECN off it drops
	WRED        Tri         // the thresholds act at all
	Min, Max    units.Bytes // 0: not stated
	Probability float64     // at Max, 0 to 1; negative: not stated
	Averaging   int         // exponent of the queue average's weight, 0: the instant length; negative: not stated
	Raw         Raw
}

// An Ingress is the buffer of one lossless or lossy priority at a switch
// port's input. Zero values are not stated.
type Ingress struct {
	Reserved units.Bytes // guaranteed below the shared pool
	Headroom units.Bytes // room for what arrives after XOFF was sent
	XOFF     units.Bytes // static level at which pause is sent
	XON      units.Bytes // level at which the sender may resume
	Alpha    float64     // dynamic level: XOFF at Alpha times the free shared buffer
	Raw      Raw         // Max: headroom, Min: resume offset, in Raw.Unit
}

// A Port is what one port effectively does with packets: where two statements
// must agree to have an effect (a global switch and the port's own, say), the
// fields hold the effect and Reasons says why it differs from the text.
type Port struct {
	Name  string
	Peer  string // neighbour "device/port" where the source says so
	Speed units.BitRate
	MTU   units.Bytes // layer-2 payload size, 0: not stated

	// PriorityMTU limits the frames of one priority further, on systems
	// that have an MTU per class; 0: no limit of its own.
	PriorityMTU [Priorities]units.Bytes

	Trust           Trust
	DefaultPriority uint8 // Undefined: not stated

	// DSCPToPriority holds the priority that pauses (or would pause) the
	// packets of a DSCP. Where an internal class stands between DSCP and
	// priority (qos-group, forwarding class) and that class belongs to no
	// priority, it is Undefined, and DSCPToQueue alone says where packets go.
	DSCPToPriority  [64]uint8
	DSCPToQueue     [64]uint8 // Undefined: PriorityToQueue of the priority
	PCPToPriority   [8]uint8
	PriorityToQueue [Priorities]uint8

	PFC                          Tri    // as a whole; Unset with PFCMode "auto": left to DCBX
	PFCMask                      uint8  // bit p: PFC on for priority p, where PFC is not Off
	PFCMode                      string // "on", "auto", "off" and the like, as printed
	GlobalPauseRx, GlobalPauseTx Tri

	Watchdog                        Tri
	WatchdogDetect, WatchdogRestore units.Time
	WatchdogAction                  string // "drop", "forward", "shutdown", "notify" ...; "": not stated

	Queues      [Priorities]Queue
	BufferSize  [Priorities]units.Bytes // receive buffers of a NIC
	Ingress     [Priorities]Ingress     // input buffers of a switch port, by priority
	CableLength units.Metres

	// Lines holds the source line of a setting, for messages: "mtu",
	// "trust", "pfc", "pfc.3", "watchdog", "dscp.26", "ecn.3" (by queue),
	// "schedule.3", "ingress.3", "speed". Reasons holds a sentence for each
	// setting whose effect is not what its own statement says, and for each
	// that was taken from the vendor's defaults.
	Lines   map[string]int
	Reasons map[string]string
}

// A Device is the queueing behaviour of one switch or NIC, parsed from its
// configuration or its state outputs.
type Device struct {
	Name   string
	Source string // file that it was parsed from
	System string // "nxos", "eos", "nvue", "onyx", "sonic", "vrp", "comware", "junos", "mlnx_qos", "dcb" ...
	Ports  []Port

	// Profiles are named groups of settings that ports may use ("qos
	// profile" of EOS; WRED profiles of SONiC, in queue 0), whether or not a
	// port does.
	Profiles []Port
}

// NewPort returns a port with every field "not stated".
func NewPort(name string) Port {
	p := Port{Name: name, DefaultPriority: Undefined}
	for i := range p.DSCPToPriority {
		p.DSCPToPriority[i] = Undefined
		p.DSCPToQueue[i] = Undefined
	}
	for i := range p.PCPToPriority {
		p.PCPToPriority[i] = Undefined
		p.PriorityToQueue[i] = Undefined
		p.Queues[i].Probability = -1
		p.Queues[i].Averaging = -1
	}
	return p
}

// Priority returns the priority that an IP packet with this DSCP gets under
// the port's trust mode; Undefined where the source does not decide it, as
// with TrustPCP, where the tag does. d must be below 64.
func (p *Port) Priority(d uint8) uint8 {
	switch p.Trust {
	case TrustNone:
		return p.DefaultPriority
	case TrustPCP:
		return Undefined
	}
	return p.DSCPToPriority[d]
}

// Queue returns the egress queue of an IP packet with this DSCP, or Undefined.
// d must be below 64.
func (p *Port) Queue(d uint8) uint8 {
	switch p.Trust {
	case TrustPCP:
		return Undefined
	case TrustNone:
	default:
		if q := p.DSCPToQueue[d]; q != Undefined {
			return q
		}
	}
	if prio := p.Priority(d); prio < Priorities {
		return p.PriorityToQueue[prio]
	}
	return Undefined
}

// Lossless reports whether PFC protects an IP packet with this DSCP at this
// port. d must be below 64.
func (p *Port) Lossless(d uint8) bool {
	prio := p.Priority(d)
	return p.PFC != Off && prio < Priorities && p.PFCMask>>prio&1 == 1
}

// FrameLimit returns the largest layer-2 payload that a packet with this DSCP
// may have at this port, 0 where the source says nothing.
func (p *Port) FrameLimit(d uint8) units.Bytes {
	limit := p.MTU
	if prio := p.Priority(d); prio < Priorities {
		if m := p.PriorityMTU[prio]; m > 0 && (limit == 0 || m < limit) {
			limit = m
		}
	}
	return limit
}

// Note records the source line of a setting.
func (p *Port) Note(setting string, line int) {
	if p.Lines == nil {
		p.Lines = make(map[string]int)
	}
	p.Lines[setting] = line
}

// Explain records why a setting's effect is what it is.
func (p *Port) Explain(setting, reason string) {
	if p.Reasons == nil {
		p.Reasons = make(map[string]string)
	}
	p.Reasons[setting] = reason
}

// Clone returns a copy of p that shares nothing with it.
func (p *Port) Clone() Port {
	c := *p
	c.Lines = nil
	c.Reasons = nil
	for k, v := range p.Lines {
		c.Note(k, v)
	}
	for k, v := range p.Reasons {
		c.Explain(k, v)
	}
	return c
}

package switchcore

import (
	"fmt"
	"math"

	"weir/internal/qos"
	"weir/units"
)

// alphaShift: alphas are integers in units of 1/1024.
const alphaShift = 10

// Switch is the state of one switch. It is not safe for concurrent use. In
// steady state no method allocates; rings grow by doubling, and rarely used
// state of a port is made when it is first needed.
type Switch struct {
	// Accounting. xoffBase + free x alphaIn >> alphaShift is the XOFF threshold.
	free      int64 // shared buffer that is not in use
	alphaIn   int64
	xoffBase  int64 // the threshold itself when it is static, else 0
	xonOffset int64
	alphaOut  int64 // of lossy egress queues
	alphaKeep int64 // of lossless egress queues, 0: no limit
	reserve   int64
	minFree   int64
	room      int64 // headroom in use, sum
	maxRoom   int64

	lossless uint8
	strict   uint8
	trigger  bool // Config.TriggerInHeadroom
	byPacket bool // Config.PauseByPacket
	drops    bool // the watchdog's action is to drop
	gap      uint32

	ports []port

	atEnqueue [qos.Priorities]ramp
	atDequeue [qos.Priorities]ramp
	quantum   [qos.Priorities]int32

	shared int64 // size of the shared part
	cfg    Config
}

// port is the state of one port: a cache line of its own, one for each egress
// queue, and half a line for each ingress accounting.
type port struct {
	pace    uint64     // picoseconds per byte, scaled by 2^paceShift
	busy    units.Time // end of the packet in service
	lapse   units.Time // earliest end of the pauses in force
	rare    *[qos.Priorities]rare
	rate    units.BitRate
	bytes   uint32 // in all egress queues
	service uint32 // bytes of the packet in service

	headroom uint32 // per lossless priority with PFC

	ready   uint8 // bit p: egress queue p is not empty
	held    uint8 // bit p: egress queue p may not send
	paused  uint8 // bit p: a pause of p is in force, obeyed or not
	stormed uint8 // bit p: the watchdog took over p
	serving uint8 // priority of the packet in service
	cursor  uint8 // whose turn it is in deficit round robin
	obeys   uint8 // bit p: received pause of p stops p
	sends   uint8 // bit p: sends XOFF for p
	blocked uint8 // bit p: held by the caller (Hold)

	out [qos.Priorities]egress
	in  [qos.Priorities]ingress
}

// ingress is the accounting of one (ingress port, priority), 32 bytes.
type ingress struct {
	rxPackets, rxBytes uint64
	bytes              uint32 // in reserve and shared buffer
	headroom           uint32 // in headroom
	maxBytes           uint32 // high-water mark of bytes
	xoff               uint32 // 1: XOFF is in force
}

// egress is one (egress port, priority) queue, 64 bytes.
type egress struct {
	ring
	bytes              uint32
	maxBytes           uint32
	deficit            int32
	_                  uint32
	txPackets, txBytes uint64
}

// New makes a switch. It refuses configurations whose parts exceed the buffer
// or that the model cannot represent.
func New(cfg Config) (*Switch, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	n := len(cfg.Ports)
	s := &Switch{
		alphaOut:  fixedAlpha(cfg.AlphaEgress),
		alphaKeep: fixedAlpha(cfg.EgressLossless),
		reserve:   int64(cfg.Reserve),
		lossless:  cfg.Lossless,
		strict:    cfg.Strict,
		trigger:   cfg.TriggerInHeadroom,
		byPacket:  cfg.PauseByPacket,
		drops:     cfg.Watchdog.Action == qos.WatchdogDrop,
		gap:       uint32(cfg.Gap),
		ports:     make([]port, n),
		shared:    int64(cfg.Buffer - cfg.private()),
		cfg:       cfg,
	}
	if cfg.AlphaEgress == 0 {
		s.alphaOut = math.MaxInt32
	}
	if cfg.Threshold == StaticThreshold {
		s.xoffBase = int64(cfg.StaticXOFF)
		s.xonOffset = int64(cfg.StaticXOFF - cfg.StaticXON)
	} else {
		s.alphaIn = fixedAlpha(cfg.AlphaIngress)
		s.xonOffset = int64(cfg.XONOffset)
	}
	s.free, s.minFree = s.shared, s.shared
	for i := range s.ports {
		c := &cfg.Ports[i]
		p := &s.ports[i]
		p.lapse = units.Never
		p.setRate(c.Rate)
		if cfg.PFC {
			p.sends = cfg.Lossless &^ c.NoPFC
			p.obeys = p.sends
			p.headroom = uint32(c.Headroom)
			if c.ObeyAll {
				p.obeys = 0xff &^ c.NoPFC
			}
		}
	}
	for i := range cfg.ECN {
		s.atEnqueue[i], s.atDequeue[i] = noRamp, noRamp
		if cfg.ECN[i].MarkAt == qos.MarkAtDequeue {
			s.atDequeue[i] = newRamp(cfg.ECN[i])
		} else {
			s.atEnqueue[i] = newRamp(cfg.ECN[i])
		}
	}
	s.setQuanta()
	return s, nil
}

// private returns the headrooms and reserves of all ports.
func (c *Config) private() units.Bytes {
	var sum units.Bytes
	for i := range c.Ports {
		for p := range qos.Priorities {
			if c.Lossless>>p&1 == 0 {
				continue
			}
			sum += c.Reserve
			if c.PFC && c.Ports[i].NoPFC>>p&1 == 0 {
				sum += c.Ports[i].Headroom
			}
		}
	}
	return sum
}

func (c *Config) validate() error {
	switch {
	case len(c.Ports) == 0 || len(c.Ports) > MaxPorts:
		return fmt.Errorf("switch with %d ports: allowed are 1 to %d", len(c.Ports), MaxPorts)
	case c.Buffer <= 0 || c.Buffer > 1<<40:
		return fmt.Errorf("switch buffer of %v: allowed is up to 1TiB", c.Buffer)
	case c.Reserve < 0 || c.Reserve > math.MaxInt32:
		return fmt.Errorf("reserve of %v: allowed is 0 to 2GiB", c.Reserve)
	case c.XONOffset < 0:
		return fmt.Errorf("XON offset of %v: must not be negative", c.XONOffset)
	case c.Gap < 0 || c.Gap > 1<<16:
		return fmt.Errorf("gap of %v: allowed is 0 to 64KiB", c.Gap)
	case c.Threshold > StaticThreshold:
		return fmt.Errorf("threshold model %d: allowed are dynamic (0) and static (1)", c.Threshold)
	case c.Threshold == StaticThreshold && (c.StaticXON < 0 || c.StaticXOFF <= c.StaticXON || c.StaticXOFF > math.MaxInt32):
		return fmt.Errorf("static XOFF %v, XON %v: XOFF must be above XON and below 2GiB", c.StaticXOFF, c.StaticXON)
	case c.Threshold == DynamicThreshold && c.Lossless != 0 && c.AlphaIngress == 0:
		return fmt.Errorf("ingress alpha of 0: must be at least 1/1024")
	case c.PFC && c.Lossless != 0 && c.PauseQuanta == 0:
		return fmt.Errorf("pause quanta of 0: such a frame means resume")
	case c.Watchdog.Enabled && (c.Watchdog.DetectAfter <= 0 || c.Watchdog.RestoreAfter <= 0):
		return fmt.Errorf("watchdog detection %v, restoration %v: must be positive", c.Watchdog.DetectAfter, c.Watchdog.RestoreAfter)
	}
	for _, a := range [...]struct {
		name  string
		value float64
	}{{"ingress alpha", c.AlphaIngress}, {"egress alpha", c.AlphaEgress}, {"lossless egress alpha", c.EgressLossless}} {
		if !(a.value >= 0 && a.value <= 1024) || a.value > 0 && fixedAlpha(a.value) == 0 {
			return fmt.Errorf("%s of %v: allowed is 1/1024 to 1024", a.name, a.value)
		}
	}
	for i, p := range c.Ports {
		if p.Rate < units.Mbps || p.Headroom < 0 || p.Headroom > math.MaxInt32 {
			return fmt.Errorf("port %d with rate %v, headroom %v: the rate must be at least 1Mbps, the headroom 0 to 2GiB", i, p.Rate, p.Headroom)
		}
	}
	for i, e := range c.ECN {
		if e.Enabled && (e.Min < 0 || e.Max < e.Min || e.Max > math.MaxInt32 || !(e.Probability >= 0 && e.Probability <= 1)) {
			return fmt.Errorf("ECN of priority %d with min %v, max %v, probability %v: min must not exceed max, probability is 0 to 1", i, e.Min, e.Max, e.Probability)
		}
	}
	if p := c.private(); p > c.Buffer {
		return fmt.Errorf("headrooms and reserves of %d ports take %v of a buffer of %v", len(c.Ports), p, c.Buffer)
	}
	return nil
}

func fixedAlpha(a float64) int64 { return int64(math.Round(a * (1 << alphaShift))) }

// Ports returns the number of ports.
func (s *Switch) Ports() int { return len(s.ports) }

// SetRate changes the rate of a port from the next packet on, as a link that
// trains down does.
func (s *Switch) SetRate(port uint16, rate units.BitRate) {
	s.ports[port].setRate(rate)
}

// paceShift keeps the product of a pace and a packet's bytes within 64 bits
// for rates of 1 Mb/s and up, and its error below a picosecond from 1 Gb/s up.
const paceShift = 20

func (p *port) setRate(r units.BitRate) {
	p.rate = r
	p.pace = uint64(r.TransmitTime(1 << paceShift))
}

// QueueBytes returns the bytes waiting in one egress queue, without the packet in service.
func (s *Switch) QueueBytes(port uint16, prio uint8) uint32 {
	return s.ports[port].out[prio&7].bytes
}

// PortBytes returns the bytes waiting in all egress queues of a port, without the packet in service.
func (s *Switch) PortBytes(port uint16) uint32 { return s.ports[port].bytes }

// QueuePackets returns the number of packets waiting in one egress queue.
func (s *Switch) QueuePackets(port uint16, prio uint8) uint32 {
	return s.ports[port].out[prio&7].n
}

// IngressBytes returns the bytes that packets from one ingress port and
// priority hold: in reserve and shared buffer, and in headroom. Lossy
// priorities are not counted by ingress.
func (s *Switch) IngressBytes(port uint16, prio uint8) (shared, headroom uint32) {
	in := &s.ports[port].in[prio&7]
	return in.bytes, in.headroom
}

// XOFFThreshold returns the shared bytes of one ingress port and priority at
// which XOFF would be sent now.
func (s *Switch) XOFFThreshold() units.Bytes { return units.Bytes(s.threshold()) }

// SharedFree returns the shared buffer that is not in use, and its whole size.
func (s *Switch) SharedFree() (free, size units.Bytes) {
	return units.Bytes(s.free), units.Bytes(s.shared)
}

func (s *Switch) threshold() int64 { return s.xoffBase + s.free*s.alphaIn>>alphaShift }

package sim

import (
	"math/bits"

	"weir/internal/qos"
	"weir/internal/twin/switchcore"
	"weir/units"
)

// InfiniBand's links send only what the far end has room for. Each port and
// virtual lane (here: priority) begins with credits for the receive buffer at
// the far end; a frame takes its 64-byte blocks, and they come back when it
// leaves that buffer: when a switch begins to send it on, or when it has passed
// a card's PCIe. A lane without credits for a largest frame waits.
//
// Credits on their way back are a list of the sending port, in order of time.
// It is looked through when the port needs credits; only a port that waits has
// an event for the first of them.
type creditPort struct {
	room    [qos.Priorities]int32 // credits, in bytes
	starved uint8                 // lanes that wait for credits
	planned bool                  // an event is set
	back    []creditReturn        // from first on
	first   int
}

type creditReturn struct {
	at    units.Time
	bytes int32
	lane  uint8
}

// creditBlock is the unit of InfiniBand's flow control (InfiniBand
// Architecture Specification, volume 1, section 7.9).
const creditBlock = 64

func blocks(bytes uint32) int32 { return int32((bytes + creditBlock - 1) &^ (creditBlock - 1)) }

// buildCredits gives all ports their first credits.
func (s *Sim) buildCredits() {
	s.credits = make([]creditPort, len(s.tx))
	s.largest = blocks(uint32(s.frame()))
	if tcp := s.cluster.TCP.MTU; len(s.cluster.Hosts) > 0 && tcp > 0 {
		s.largest = max(s.largest, blocks(uint32(tcp)+ethernetBytes+fcsBytes))
	}
	size := max(int32(s.cluster.InfiniBand.LaneBuffer), s.largest)
	for i := range s.credits {
		for lane := range s.credits[i].room {
			s.credits[i].room[lane] = size
		}
	}
	s.lane = size
}

// creditSwitch is the configuration of a switch without PFC, whose senders
// never overrun a lane's buffer.
func (s *Sim) creditSwitch(cfg *switchcore.Config) {
	ib := &s.cluster.InfiniBand
	cfg.PFC, cfg.Lossless = false, 0xff
	cfg.Watchdog.Enabled = false
	lane := max(ib.LaneBuffer, 1<<15)
	cfg.Threshold, cfg.StaticXOFF, cfg.StaticXON = switchcore.StaticThreshold, 2*lane, lane
	cfg.Buffer = 2 * lane * qos.Priorities * units.Bytes(max(len(cfg.Ports), 1))
	if !ib.Congestion {
		cfg.ECN = [qos.Priorities]qos.ECN{}
	}
}

// spend takes the credits of a frame that port p begins to send.
func (s *Sim) spend(p uint32, lane uint8, bytes uint32) {
	c := &s.credits[p]
	c.room[lane] -= blocks(bytes)
	if c.room[lane] >= s.largest {
		return
	}
	s.collect(p)
	if c.room[lane] < s.largest {
		c.starved |= 1 << lane
		s.setStarved(p, lane, true)
		s.planCredits(p)
	}
}

// refund sends back the credits of a frame that has left the buffer of port p,
// or will have at a time.
func (s *Sim) refund(p uint32, lane uint8, bytes uint32, at units.Time) {
	t := &s.tx[p]
	c := &s.credits[t.peer]
	at += s.rare[t.peer].cable + s.cluster.InfiniBand.CreditDelay
	if n := len(c.back); n > c.first {
		at = max(at, c.back[n-1].at)
	}
	if c.first > 64 && 2*c.first > len(c.back) {
		c.back = append(c.back[:0], c.back[c.first:]...)
		c.first = 0
	}
	c.back = append(c.back, creditReturn{at, blocks(bytes), lane})
	if c.starved != 0 {
		s.planCredits(t.peer)
	}
}

// leaveSwitch gives back the credits of a frame that leaves a switch's buffer.
func (s *Sim) leaveSwitch(u *switchUnit, in uint16, lane uint8, bytes uint32) {
	if s.credits != nil {
		s.refund(u.firstPort+uint32(in), lane, bytes, s.now)
	}
}

// leaveNIC gives back the credits of a frame that has come in at a card: data
// leave its buffer over PCIe, all else at once.
func (s *Sim) leaveNIC(p uint32, n *nicPort, pk *packet) {
	at := s.now
	if d := &s.cards[n.card]; d.drain != 0 && (pk.kind == dataPacket || pk.kind == segmentPacket) {
		at = max(d.drained, s.now) + d.drain.Time(pk.Bytes)
	}
	s.refund(p, pk.prio, pk.bytes, at)
}

// collect takes the credits that have come back to port p by now.
func (s *Sim) collect(p uint32) {
	c := &s.credits[p]
	for c.first < len(c.back) && c.back[c.first].at <= s.now {
		r := &c.back[c.first]
		c.room[r.lane] += r.bytes
		c.first++
	}
	if c.first == len(c.back) {
		c.back, c.first = c.back[:0], 0
	}
}

// planCredits sets the event at which a port that waits gets its next credits.
func (s *Sim) planCredits(p uint32) {
	c := &s.credits[p]
	if !c.planned && c.first < len(c.back) {
		c.planned = true
		s.queue.push(max(c.back[c.first].at, s.now), makeKey(s.tx[p].node, kindCredits, p))
	}
}

// takeCredits is the event that credits have come back to a port that waits.
func (s *Sim) takeCredits(p uint32) {
	c := &s.credits[p]
	c.planned = false
	s.collect(p)
	for m := c.starved; m != 0; m &= m - 1 {
		if lane := uint8(bits.TrailingZeros8(m)); c.room[lane] >= s.largest {
			c.starved &^= 1 << lane
			s.setStarved(p, lane, false)
		}
	}
	if c.starved != 0 {
		s.planCredits(p)
	}
	if s.tx[p].flags&isHost != 0 {
		s.kick(p)
	} else {
		s.serveSwitch(p)
	}
}

// setStarved stops a lane of a port, or lets it go on.
func (s *Sim) setStarved(p uint32, lane uint8, on bool) {
	t := &s.tx[p]
	if t.flags&isHost == 0 {
		s.switches[t.unit].core.Hold(t.local, lane, on)
		return
	}
	n := &s.nics[t.unit]
	n.starved &^= 1 << lane
	if on {
		n.starved |= 1 << lane
	}
}

// checkCredits proves that no port has more credits than the buffer at its far
// end, and once no frame is left, exactly those (Config.Check).
func (s *Sim) checkCredits(empty bool) {
	for p := range s.credits {
		c := &s.credits[p]
		sum := c.room
		for _, r := range c.back[c.first:] {
			sum[r.lane] += r.bytes
		}
		for lane, n := range sum {
			if c.room[lane] < 0 || n > s.lane || empty && n != s.lane {
				s.broken("port %d lane %d: %d bytes of credit, with those under way %d, of a buffer of %d", p, lane, c.room[lane], n, s.lane)
				return
			}
		}
	}
}

package sim

import (
	"fmt"

	"weir/internal/collective"
	"weir/internal/twin/plan"
	"weir/units"
)

// A pipe is the FIFO of slices between two ranks on one channel. Slices are
// counted from 0; slice k takes slot k mod depth at both ends. The two ends
// belong to two nodes (or to the same), which share no word that changes.
type pipeOut struct {
	rank    uint32 // that sends
	proxy   uint32 // rank whose proxy posts the messages, and whose NIC they take
	data    ConnID
	gen     uint16 // of the size that the pipe belongs to
	remote  bool
	posting bool // an event is set for the next message
	waiting bool // the next message waits for a cleared slot
	depth   uint32

	sent       uint32 // by the GPU
	posted     uint32 // as messages
	acked      uint32 // slots before it are free again
	cleared    uint32 // slots that the receiver has cleared
	aheadAcked uint8  // acknowledged beyond the first gap: bit k for slice acked+k
	lane       uint32 // that waits for a slot, plus 1; 0: none

	bytes [collective.Slots]uint32     // on the wire
	at    [collective.Slots]units.Time // when the message may be posted
}

type pipeIn struct {
	rank   uint32 // that receives
	clear  ConnID
	gen    uint16
	remote bool
	writes bool   // slots are cleared by writes over the network
	most   uint32 // slices to come in all iterations, where the receiver knows before; 0: unknown

	delivered uint32 // all slices before it are in memory
	visible   uint32 // to the GPU
	consumed  uint32
	granted   uint32 // slots cleared for the sender
	ahead     uint8  // delivered beyond the first gap: bit k for slice delivered+k
	lane      uint32 // that waits for a slice, plus 1; 0: none

	at [collective.Slots]units.Time // when a slice becomes visible
}

func (s *Sim) checkExecRoom(pipes int) error {
	x := &s.exec
	if len(x.outs)+pipes > maxExecIndex || len(x.lanes) > maxExecIndex {
		return fmt.Errorf("the collective needs %d connections between ranks, allowed are %d: simulate fewer ranks or channels", pipes, maxExecIndex)
	}
	return nil
}

// sliceCookie names a slice: its pipe, the pipe's generation, and its count.
func sliceCookie(gen uint16, id, count uint32) uint64 {
	return uint64(gen)<<40 | uint64(id)<<16 | uint64(count&0xffff)
}

func readCookie(cookie uint64) (gen uint16, id uint32, count uint16) {
	return uint16(cookie >> 40), uint32(cookie>>16) & (1<<24 - 1), uint16(cookie)
}

// full tells whether a sender must wait for a slot: of the receiver's buffer
// inside a node, of its own between nodes.
func (s *Sim) full(id uint32) bool {
	p := &s.exec.outs[id]
	free := p.acked
	if !p.remote {
		free = s.exec.ins[id].consumed
	}
	return p.sent-free >= p.depth
}

// cross moves bytes from one GPU to another of its node from now on, and
// returns when the first and when the last of them arrives.
func (s *Sim) cross(t *timing, from, to uint32, bytes uint32) (head, tail units.Time) {
	a, b := &s.exec.ranks[from], &s.exec.ranks[to]
	d := t.pace.Time(bytes)
	out := max(s.now, a.egress)
	a.egress = out + d
	in := max(out, b.ingress)
	b.ingress = in + d
	return in, in + d
}

// push puts a slice into a pipe, from which the GPU begins to copy at start.
func (s *Sim) push(t *timing, id uint32, bytes uint32, start units.Time) {
	p := &s.exec.outs[id]
	slot := p.sent % p.depth
	p.sent++
	done := start + t.copy.Time(bytes)
	if !p.remote {
		head, tail := s.cross(t, p.rank, s.exec.ins[id].rank, bytes)
		at := max(done, tail)
		if t.along {
			at = max(start, head)
		}
		s.arrives(id, p.depth, at+t.local)
		return
	}
	if p.proxy != p.rank {
		_, tail := s.cross(t, p.rank, p.proxy, bytes)
		done = max(done, tail)
	}
	if t.stage != 0 {
		done = s.stageOut(p.data, bytes, done)
	}
	at := done + t.send // the proxy sends whole slices
	proxy := &s.exec.ranks[p.proxy]
	proxy.proxy = max(at, proxy.proxy) + t.post
	p.bytes[slot] = bytes
	p.at[slot] = proxy.proxy
	if !p.posting && !p.waiting {
		p.posting = true
		s.planExec(p.rank, execPost, id, p.at[slot])
	}
}

// arrives notes that the next slice of a pipe will be visible to its GPU at a time.
func (s *Sim) arrives(id, depth uint32, at units.Time) {
	p := &s.exec.ins[id]
	p.at[p.delivered%depth] = at
	p.delivered++
	if p.delivered-p.visible == 1 {
		s.planExec(p.rank, execArrive, id, at)
	}
}

// pipeArrive is the event that a slice becomes visible to its GPU.
func (s *Sim) pipeArrive(id uint32) {
	p := &s.exec.ins[id]
	p.visible++
	if p.visible != p.delivered {
		s.planExec(p.rank, execArrive, id, p.at[p.visible%s.exec.outs[id].depth])
	}
	s.wakeWaiting(&p.lane)
}

// pipePost is the event that the proxy gets to the next message of a pipe.
func (s *Sim) pipePost(id uint32) {
	p := &s.exec.outs[id]
	p.posting = false
	for p.posted != p.sent {
		slot := p.posted % p.depth
		if p.at[slot] > s.now {
			p.posting = true
			s.planExec(p.rank, execPost, id, p.at[slot])
			return
		}
		if p.posted == p.cleared {
			p.waiting = true
			return
		}
		// A message without data still carries its flag.
		cookie := sliceCookie(p.gen, id, p.posted)
		p.posted++
		s.Post(p.data, units.Bytes(max(p.bytes[slot], flagBytes)), cookie)
	}
}

// Sizes of messages that carry no data, in bytes: a flag, and one entry of the
// FIFO in which NCCL's receiver clears its slots.
const (
	flagBytes  = 8
	clearBytes = 64
)

// grant clears slots of a pipe for the sender, as the receiver's proxy does
// when it posts receives: all at first, then one for each that was consumed.
func (s *Sim) grant(id uint32) {
	p := &s.exec.ins[id]
	depth := s.exec.outs[id].depth
	for p.granted-p.consumed < depth && (p.most == 0 || p.granted < p.most) {
		p.granted++
		if p.writes {
			s.Post(p.clear, clearBytes, sliceCookie(p.gen, id, p.granted))
		} else {
			s.planExec(s.exec.outs[id].rank, execClear, id, s.now+plan.FabricShare)
		}
	}
}

// slotCleared notes at the sender that the receiver has cleared one more slot.
func (s *Sim) slotCleared(id uint32) {
	p := &s.exec.outs[id]
	p.cleared++
	if p.waiting {
		p.waiting = false
		s.pipePost(id)
	}
}

// execDelivered notes that a message of the executor is in the receiver's
// memory: a slice, or a cleared slot. With several queue pairs, slices may
// overtake each other.
func (s *Sim) execDelivered(by owner, cookie uint64) {
	gen, id, count := readCookie(cookie)
	if by == ownerClear {
		if s.exec.outs[id].gen == gen { // else its size is over
			s.slotCleared(id)
		}
		return
	}
	p := &s.exec.ins[id]
	if p.gen != gen {
		s.broken("a slice arrived after its collective had ended")
		return
	}
	t := &s.exec.jobs[s.exec.ranks[p.rank].job].timing
	p.ahead |= 1 << (count - uint16(p.delivered))
	for p.ahead&1 != 0 {
		p.ahead >>= 1
		at := s.now
		if o := &s.exec.outs[id]; t.stage != 0 {
			at = s.stageIn(o.data, o.bytes[p.delivered%o.depth])
		}
		s.arrives(id, s.exec.outs[id].depth, at+t.recv)
	}
}

// execCompleted notes at the sender that a slice is acknowledged, which frees
// its slot. The last acknowledgements of a size may come after its end.
func (s *Sim) execCompleted(by owner, cookie uint64) {
	gen, id, count := readCookie(cookie)
	p := &s.exec.outs[id]
	if by == ownerClear || p.gen != gen {
		return
	}
	p.aheadAcked |= 1 << (count - uint16(p.acked))
	for p.aheadAcked&1 != 0 {
		p.aheadAcked >>= 1
		p.acked++
	}
	s.wakeWaiting(&p.lane)
	s.runLanes()
}

// consume frees a slot of a pipe: the receiving GPU is done with a slice.
func (s *Sim) consume(id uint32) {
	p := &s.exec.ins[id]
	p.consumed++
	if p.remote {
		s.grant(id)
	} else {
		s.wakeWaiting(&s.exec.outs[id].lane)
	}
}

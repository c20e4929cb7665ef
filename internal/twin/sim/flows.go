package sim

import (
	"fmt"

	"weir/internal/cluster"
	"weir/units"
)

// FlowID is the number of a flow, in order of AddFlow and AddChain.
type FlowID uint32

// A Flow is one transfer between two NICs, over queue pairs of its own.
type Flow struct {
	Src, Dst   cluster.NICRef
	Bytes      units.Bytes
	Start      units.Time
	Priority   uint8 // 0: that of the RoCE class
	QueuePairs int   // 0: the cluster's
	TCP        bool  // over TCP, whatever the cluster's transport

	// Sent and Done are when the first packet left and when the last
	// acknowledgement came to the sender; Never: not yet. Completion time is
	// their difference.
	Sent, Done units.Time

	next int32 // flow that starts when this one is done; -1: none
}

// AddFlow adds a flow. It fails when there is no path, or nothing to send.
func (s *Sim) AddFlow(f Flow) (FlowID, error) {
	id, err := s.newFlow(f)
	if err != nil {
		return 0, err
	}
	s.planFlow(id, max(f.Start, s.now))
	return id, nil
}

// AddChain adds flows that follow each other: the first starts at its Start,
// each further one when the sender of the one before has its last
// acknowledgement. (The sender of the next flow knows this at once, which no
// real network offers; it is how the ns-3 models' users time rings.) It
// returns the number of the first; the others follow.
func (s *Sim) AddChain(hops []Flow) (FlowID, error) {
	if len(hops) == 0 {
		return 0, fmt.Errorf("a chain without flows")
	}
	first := FlowID(len(s.flows))
	for i, f := range hops {
		id, err := s.newFlow(f)
		if err != nil {
			return 0, err
		}
		if i > 0 {
			s.flows[id-1].next = int32(id)
		}
	}
	s.planFlow(first, max(hops[0].Start, s.now))
	return first, nil
}

func (s *Sim) newFlow(f Flow) (FlowID, error) {
	if f.Bytes <= 0 || f.Bytes > 1<<50 {
		return 0, fmt.Errorf("flow of %v: allowed is 1B to 1PiB", f.Bytes)
	}
	if len(s.flows) >= maxIndexes {
		return 0, fmt.Errorf("too many flows: allowed are %d", maxIndexes)
	}
	for _, r := range [...]cluster.NICRef{f.Src, f.Dst} {
		if _, err := s.nicOf(r); err != nil {
			return 0, err
		}
	}
	if _, err := s.portPairs(f.Src, f.Dst); err != nil {
		return 0, err
	}
	f.Sent, f.Done, f.next = units.Never, units.Never, -1
	s.flows = append(s.flows, f)
	s.open++
	return FlowID(len(s.flows) - 1), nil
}

func (s *Sim) planFlow(id FlowID, at units.Time) {
	node := s.cluster.Hosts[s.flows[id].Src.Host].Node
	s.queue.push(at, makeKey(uint32(node), kindFlow, uint32(id)))
}

// startFlow is the event that a flow starts.
func (s *Sim) startFlow(id FlowID) {
	f := &s.flows[id]
	c, err := s.connect(f.Src, f.Dst, Options{QueuePairs: f.QueuePairs, Priority: f.Priority, Ring: 2, TCP: f.TCP}, ownerFlow)
	if err != nil { // links may have gone since AddFlow
		s.stranded++
		return
	}
	s.Post(c, f.Bytes, uint64(id))
}

// flowDone notes that a flow is acknowledged, and starts what follows it.
func (s *Sim) flowDone(id FlowID, first units.Time) {
	f := &s.flows[id]
	f.Sent, f.Done = first, s.now
	s.open--
	if s.cfg.FlowDone != nil {
		s.cfg.FlowDone(id)
	}
	if f.next >= 0 {
		s.startFlow(FlowID(f.next))
	}
}

// Flow returns what is known of a flow.
func (s *Sim) Flow(id FlowID) Flow { return s.flows[id] }

// Flows returns the number of flows.
func (s *Sim) Flows() int { return len(s.flows) }

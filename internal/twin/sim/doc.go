// Package sim is the packet-level, discrete-event simulator of a lossless
// fabric: event engine, links, switches (switchcore), NICs that run the
// project's own rc and dcqcn, and workloads of flows. Collectives stand on the
// connections that it offers.
//
// # Use
//
//	s, err := sim.New(sim.Config{Cluster: c})       // or sim.NS3(c, ecn) for the Config
//	id, err := s.AddFlow(sim.Flow{Src: a, Dst: b, Bytes: n, Start: t})
//	err = s.Run(ctx, until)                          // units.Never: until all is done
//	f := s.Flow(id)                                  // f.Done - f.Sent is the completion time
//
// Workloads with messages of their own connect NICs and post:
//
//	s.Handle(sim.Handlers{Delivered: ..., Completed: ...})
//	conn, err := s.Connect(src, dst, sim.Options{})
//	s.Post(conn, bytes, cookie)                      // at the current time
//
// Post takes the card's doorbell latency, and Delivered is called when the
// message is in the receiver's memory: PCIe drained, card's latency passed.
// Completed is called when the sender has the last acknowledgement. Both may
// call Post, Connect and AddFlow. A message goes over one queue pair in turn,
// or in equal shares over all of them (RDMA.SplitData).
//
// Run may be called again and again with rising times; between calls, Counters,
// NIC, Totals, QueueBytes, Latency and Engine tell what was counted, and Tap
// shows the frames that a port sends. Config.Progress is called from inside.
// SetLoss, SetDropEvery, SetDown and SetRate change a link for faults.
//
// # Engine
//
// Time is in picoseconds. An event is 16 bytes, {time, key}; the key is node,
// kind and index, and orders events of equal time, so that neither the queue
// nor the order of insertion decides anything. What an event concerns lies in
// arrays (Sim.tx, rx, nics, senders, receivers, routes) under 32-bit
// numbers. Frames on a link wait in the link's own list, and only the first is
// in the queue; a wake-up of a port exists only while something waits there.
// A NIC keeps the queue pairs that may send in rings and the paced ones in a
// heap, and never searches. Retransmission timers are one event a queue pair,
// which looks again instead of being moved. Random draws are hashes of what
// they are about (draw). In large fabrics the memory that a bucket of events
// needs is read together before they are taken (warm).
//
// State belongs to a switch, to a NIC's port or to a host, and no event
// without delay goes from one to another, but for chains of flows (AddChain)
// and for the bookkeeping of messages (transfers), so that nodes can be spread
// over workers.
//
// To add an event: a kind in kind.go, a case in Sim.step.
package sim

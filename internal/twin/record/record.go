// Package record reads the counters of a simulated fabric over simulated time,
// under the names and in the units of the metric table, and writes them into a
// record on disk or gives them to another sink.
package record

import (
	"os"
	"strconv"

	"weir/internal/cluster"
	"weir/internal/telemetry"
	"weir/internal/twin/sim"
	"weir/units"
)

// A Sink takes the readings of one instant after another: Begin, Set for each
// series whose value is known, End. Times rise.
type Sink interface {
	Begin(at units.Time)
	Set(series uint32, value uint64)
	End() error
}

// A Recorder samples one simulation into a record on disk. Give its Sample
// method to the run and call Close at the end, also of an interrupted run.
type Recorder struct {
	*Sampler
	out *telemetry.Writer
}

// A Sampler reads a simulation's counters into a sink.
type Sampler struct {
	cluster *cluster.Cluster
	tick    units.Time // what durations are counted in
	out     Sink
	cards   []card
	ports   []port
	last    units.Time
	err     error // of registering

	// A run may have several simulators, one after the other, whose counters
	// and clocks start at zero: the record goes on where the last one ended.
	sim     *sim.Sim
	begun   units.Time // recorded time at the start of sim
	base    []uint64   // values at the start of sim, by series; gauges stay 0
	latest  []uint64
	counter []bool // by series
}

// A card is one NIC of a host.
type card struct {
	ref    cluster.NICRef
	series [len(cardMetrics)]uint32
	stall  [2]stall // of writes to memory and reads from it
}

// A port is one end of a cable; hosts and switches count different things.
type port struct {
	id       cluster.PortID
	host     bool
	sum      [4]uint32 // data or bytes sent and received, packets sent and received
	lost     uint32    // of switches: frames lost behind the port
	link     [maxLink]uint32
	priority []perPriority
}

type perPriority struct {
	prio   uint8
	series [maxPerPriority]uint32
}

const maxPerPriority = 16

// New begins a record of a cluster's simulation in an empty directory, with
// all counters at zero at time 0.
func New(root *os.Root, c *cluster.Cluster, h telemetry.Header, opt telemetry.WriterOptions) (*Recorder, error) {
	s, reg, err := NewSampler(c, units.Microsecond)
	if err != nil {
		return nil, err
	}
	out, err := telemetry.Create(root, h, reg, opt)
	if err != nil {
		return nil, err
	}
	return &Recorder{s, out}, s.Start(out)
}

// NewSampler lists the series of a cluster's simulation. Durations, which the
// metric table has in microseconds, are counted in ticks: a sink that scales
// them asks for finer ones. Start comes before the first Sample.
func NewSampler(c *cluster.Cluster, tick units.Time) (*Sampler, *telemetry.Registry, error) {
	r := &Sampler{cluster: c, tick: tick}
	reg := telemetry.NewRegistry()
	prios := priorities(c)
	for h := range c.Hosts {
		host := &c.Hosts[h]
		name := c.Nodes[host.Node].Name
		for n := range host.NICs {
			r.addCard(reg, name, cluster.NICRef{Host: int32(h), NIC: int32(n)}, prios)
		}
	}
	for i := range c.Nodes {
		if c.Nodes[i].Kind == cluster.SwitchNode {
			r.addSwitch(reg, &c.Nodes[i], prios)
		}
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	r.base, r.latest, r.counter = make([]uint64, reg.Len()), make([]uint64, reg.Len()), make([]bool, reg.Len())
	for n := range reg.Len() {
		r.counter[n] = reg.Metric(uint32(n)).Kind == telemetry.Counter
	}
	return r, reg, nil
}

// Start gives the sink all counters at zero at time 0.
func (r *Sampler) Start(out Sink) error {
	r.out = out
	out.Begin(0)
	for n := range r.base {
		out.Set(uint32(n), 0)
	}
	return out.End()
}

// priorities lists those that the cluster's classes use, and the default one.
func priorities(c *cluster.Cluster) []uint8 {
	used := [8]bool{0: true} // where what nobody marked ends up
	for _, k := range c.QoS.Classes {
		used[k.Priority] = true
	}
	var out []uint8
	for p, u := range used {
		if u {
			out = append(out, uint8(p))
		}
	}
	return out
}

func (r *Sampler) add(reg *telemetry.Registry, metric string, values ...string) uint32 {
	n, err := reg.Add(telemetry.MustLookup(metric), values...)
	if err != nil && r.err == nil {
		r.err = err
	}
	return n
}

// cardMetrics are what sim.NICCounters holds, in the order of cardValues.
var cardMetrics = [...]string{
	"rdma_np_ecn_marked_roce_packets_total", "rdma_np_cnp_sent_total", "rdma_rp_cnp_handled_total", "rdma_rp_cnp_ignored_total",
	"rdma_out_of_sequence_total", "rdma_out_of_order_placed_total", "rdma_duplicate_request_total",
	"rdma_packet_seq_err_total", "rdma_local_ack_timeout_err_total", "rdma_req_transport_retries_exceeded_total",
	"rdma_netdev_rx_discards_phy_total", "rdma_retransmitted_packets_total",
	"rdma_host_copied_bytes_total",
	"rdma_data_packets_total", "rdma_data_packets_total",
}

func cardValues(c *sim.NICCounters) [len(cardMetrics)]uint64 {
	return [...]uint64{
		c.ECNMarked, c.CNPSent, c.CNPHandled, c.CNPIgnored, c.OutOfSequence, c.OutOfOrder, c.Duplicates,
		c.SequenceErrors, c.Timeouts, c.RetriesExceeded, c.Discards, c.Retransmitted, c.HostCopied, c.DataSent, c.DataReceived,
	}
}

func (r *Sampler) addCard(reg *telemetry.Registry, host string, ref cluster.NICRef, prios []uint8) {
	nic := &r.cluster.Hosts[ref.Host].NICs[ref.NIC]
	k := card{ref: ref}
	for i, metric := range cardMetrics {
		labels := []string{host, nic.Device, "1"}
		switch metric {
		case "rdma_netdev_rx_discards_phy_total":
			labels = append(labels, nic.Name) // netdev
		case "rdma_data_packets_total":
			labels = append(labels, [...]string{"tx", "rx"}[i-(len(cardMetrics)-2)])
		}
		k.series[i] = r.add(reg, metric, labels...)
	}
	for i, op := range [...]string{"wr", "rd"} {
		k.stall[i].series = r.add(reg, "rdma_pcie_outbound_stalled_percent", host, nic.Device, "1", nic.Name, op)
	}
	r.cards = append(r.cards, k)
	for i, id := range nic.Ports {
		p := port{id: id, host: true}
		at := []string{host, nic.Device, strconv.Itoa(i + 1)}
		for j, metric := range [...]string{"rdma_port_xmit_data_total", "rdma_port_rcv_data_total", "rdma_port_xmit_packets_total", "rdma_port_rcv_packets_total"} {
			p.sum[j] = r.add(reg, metric, at...)
		}
		netdev := r.cluster.Ports[id].Name
		p.link = r.addLink(reg, hostLink, append(at, netdev))
		for _, prio := range prios {
			p.priority = append(p.priority, r.hostPriority(reg, append(at, netdev), prio))
		}
		r.ports = append(r.ports, p)
	}
}

// hostPriority registers what a host's port counts of a priority, in the
// order of hostValues.
func (r *Sampler) hostPriority(reg *telemetry.Registry, at []string, prio uint8) perPriority {
	k := perPriority{prio: prio}
	p := strconv.Itoa(int(prio))
	for i, m := range [...]struct{ metric, direction string }{
		{"rdma_netdev_prio_packets_total", "tx"}, {"rdma_netdev_prio_bytes_total", "tx"}, {"rdma_netdev_prio_packets_total", "rx"}, {"rdma_netdev_prio_bytes_total", "rx"},
		{"rdma_roce_pfc_pause_frames_total", "tx"}, {"rdma_roce_pfc_pause_frames_total", "rx"},
		{"rdma_roce_pfc_pause_transitions_total", "rx"}, {"rdma_roce_pfc_pause_duration_total", "rx"},
	} {
		k.series[i] = r.add(reg, m.metric, at[0], at[1], at[2], at[3], m.direction, p)
	}
	return k
}

func hostValues(c *sim.PriorityCounters, tick units.Time) (v [maxPerPriority]uint64, n int) {
	return [maxPerPriority]uint64{
		c.TxFrames, c.TxBytes, c.RxFrames, c.RxBytes,
		c.TxXOFF + c.TxXON, c.RxXOFF + c.RxXON, c.RxXON, uint64(c.Paused / tick),
	}, 8
}

func (r *Sampler) addSwitch(reg *telemetry.Registry, n *cluster.Node, prios []uint8) {
	for _, id := range n.Ports {
		name := r.cluster.Ports[id].Name
		p := port{id: id}
		for j, m := range [...]struct{ metric, direction string }{
			{"roce_switch_port_bytes_total", "tx"}, {"roce_switch_port_bytes_total", "rx"}, {"roce_switch_port_packets_total", "tx"}, {"roce_switch_port_packets_total", "rx"},
		} {
			p.sum[j] = r.add(reg, m.metric, n.Name, name, m.direction)
		}
		p.link = r.addLink(reg, switchLink, []string{n.Name, name})
		p.lost = r.add(reg, "roce_switch_port_lost_frames_total", n.Name, name)
		for _, prio := range prios {
			p.priority = append(p.priority, r.switchPriority(reg, n.Name, name, prio))
		}
		r.ports = append(r.ports, p)
	}
}

// switchPriority registers what a switch's port counts of a priority, which
// is also the queue, in the order of switchValues.
func (r *Sampler) switchPriority(reg *telemetry.Registry, sw, name string, prio uint8) perPriority {
	k := perPriority{prio: prio}
	p := strconv.Itoa(int(prio))
	for i, m := range [...]struct{ metric, second string }{
		{"roce_switch_queue_packets_total", ""}, {"roce_switch_queue_bytes_total", ""},
		{"roce_switch_queue_ecn_marked_packets_total", ""}, {"roce_switch_queue_wred_dropped_packets_total", ""},
		{"roce_switch_queue_length_bytes", ""}, {"roce_switch_queue_watermark_bytes", ""},
		{"roce_switch_pg_dropped_packets_total", ""}, {"roce_switch_pg_shared_watermark_bytes", ""}, {"roce_switch_pg_headroom_watermark_bytes", ""},
		{"roce_switch_pfc_pause_frames_total", "tx"}, {"roce_switch_pfc_pause_frames_total", "rx"},
		{"roce_switch_pfc_pause_transitions_total", "rx"}, {"roce_switch_pfc_pause_duration_total", "rx"},
		{"roce_switch_pfc_watchdog_events_total", "detected"}, {"roce_switch_pfc_watchdog_events_total", "restored"},
		{"roce_switch_queue_dropped_packets_total", ""},
	} {
		values := []string{sw, name, p}
		if m.second != "" {
			values = append(values, m.second)
		}
		k.series[i] = r.add(reg, m.metric, values...)
	}
	return k
}

// switchValues: packets for lack of buffer are dropped at the ingress priority
// group; those of a stormed queue or a dead link at the queue.
func switchValues(c *sim.PriorityCounters, queue units.Bytes, tick units.Time) (v [maxPerPriority]uint64, n int) {
	return [maxPerPriority]uint64{
		c.TxFrames, c.TxBytes, c.ECNMarked, c.WREDDrops,
		uint64(queue), uint64(c.QueueMax),
		c.Drops, uint64(c.SharedMax), uint64(c.HeadroomMax),
		c.TxXOFF + c.TxXON, c.RxXOFF + c.RxXON, c.RxXON, uint64(c.Paused / tick),
		c.StormsDetected, c.StormsRestored, c.Discards,
	}, maxPerPriority
}

// Sample takes one instant. It fits twin.Options.Sample. A second sample at
// the same time is ignored.
func (r *Sampler) Sample(s *sim.Sim) error {
	if s != r.sim {
		r.sim, r.begun = s, r.last
		copy(r.base, r.latest)
	}
	now := r.begun + s.Now()
	if now <= r.last {
		return nil
	}
	interval := now - r.last
	r.last = now
	r.out.Begin(now)
	for i := range r.cards {
		c := s.NIC(r.cards[i].ref)
		for j, v := range cardValues(&c) {
			r.set(r.cards[i].series[j], v)
		}
		r.stalls(&r.cards[i], &c, interval)
	}
	for i := range r.ports {
		r.port(s, &r.ports[i])
	}
	return r.out.End()
}

func (r *Sampler) port(s *sim.Sim, p *port) {
	var sum [4]uint64
	k := 0
	for prio := range uint8(8) {
		c := s.Counters(p.id, prio)
		sum[0] += c.TxBytes
		sum[1] += c.RxBytes
		sum[2] += c.TxFrames
		sum[3] += c.RxFrames
		if k == len(p.priority) || p.priority[k].prio != prio {
			continue
		}
		var values [maxPerPriority]uint64
		n := 0
		if p.host {
			values, n = hostValues(&c, r.tick)
		} else {
			values, n = switchValues(&c, s.QueueBytes(p.id, prio), r.tick)
		}
		for j, v := range values[:n] {
			r.set(p.priority[k].series[j], v)
		}
		k++
	}
	if p.host {
		sum[0], sum[1] = sum[0]/4, sum[1]/4 // words of 4 bytes
	} else {
		r.set(p.lost, s.Lost(p.id))
	}
	for j, v := range sum {
		r.set(p.sum[j], v)
	}
	l := s.Link(p.id)
	for j, v := range linkValues(&l) {
		if p.link[j] != none {
			r.set(p.link[j], v)
		}
	}
}

// set records a value of the current simulator.
func (r *Sampler) set(series uint32, value uint64) {
	if r.counter[series] {
		value += r.base[series]
		r.latest[series] = value
	}
	r.out.Set(series, value)
}

// Close finishes the record.
func (r *Recorder) Close() error { return r.out.Close() }

package cluster

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"weir/dcqcn"
	"weir/internal/collective"
	"weir/internal/qos"
	"weir/units"
)

// qos reads the intent. It runs after the fabric, whose switches it must fit.
func (b *builder) qos() error {
	n := b.root.at("qos")
	in := &b.c.QoS
	if err := b.qosClasses(n, in); err != nil {
		return err
	}
	in.MTU = n.bytes("mtu")
	in.PortMTU = n.bytes("port_mtu")
	// RoCEv2 over IPv4 puts 44 bytes around the payload inside the frame's
	// own: IP 20, UDP 8, BTH 12, ICRC 4; RETH adds 16.
	if need := in.MTU + 60; in.PortMTU < need {
		return n.where("port_mtu", "mtu").found(fmt.Sprintf("a port MTU of %d for an RDMA MTU of %d", in.PortMTU, in.MTU), fmt.Sprintf("at least %d", need))
	}
	for i := range b.classes {
		if cl := &b.classes[i]; in.MTU+60 > cl.model.MaxMTU {
			return n.where("mtu").found(fmt.Sprintf("an RDMA MTU of %d on %s", in.MTU, cl.model.Name), fmt.Sprintf("at most %d", cl.model.MaxMTU-60))
		}
	}
	in.PFC = n.bool("pfc")
	if err := b.ecn(n.at("ecn"), in); err != nil {
		return err
	}
	w := n.at("watchdog")
	in.Watchdog = qos.Watchdog{Enabled: w.bool("enabled"), DetectAfter: w.time("detect_after"), RestoreAfter: w.time("restore_after"), Action: qos.WatchdogAction(choiceIndex(w.at("action")))}
	return b.buffers(in)
}

func (b *builder) qosClasses(n *node, in *qos.Intent) error {
	type source struct {
		n    *node
		name string
	}
	sources := []source{{n.at("roce"), "roce"}, {n.at("cnp"), "cnp"}}
	for _, c := range n.items("classes") {
		sources = append(sources, source{c, c.string("name")})
	}
	total, lossless := 0.0, 0
	for _, s := range sources {
		c := qos.Class{Name: s.name, DSCP: uint8(s.n.int("dscp")), Priority: uint8(s.n.int("priority")), Lossless: s.n.bool("lossless"), Share: s.n.float("share"), Strict: s.n.bool("strict")}
		for i := range in.Classes {
			o := &in.Classes[i]
			switch {
			case o.Name == c.Name:
				return s.n.where("name").found("class "+quoted(c.Name)+" twice", "a name of its own for each class; roce and cnp are taken")
			case o.DSCP == c.DSCP:
				return s.n.where("dscp").found(fmt.Sprintf("DSCP %d for %s and %s", c.DSCP, o.Name, c.Name), "a code point of its own for each class")
			case o.Lossless != c.Lossless && o.Priority == c.Priority:
				return s.n.where("priority", "lossless").found(fmt.Sprintf("priority %d both lossless (%s) and not (%s)", c.Priority, pickName(o.Lossless, o.Name, c.Name), pickName(c.Lossless, o.Name, c.Name)), "one or the other")
			case o.Strict != c.Strict && o.Priority == c.Priority:
				return s.n.where("priority", "strict").found(fmt.Sprintf("priority %d both strict and not (%s, %s)", c.Priority, o.Name, c.Name), "one or the other")
			}
		}
		if c.Strict && c.Share > 0 {
			return s.n.where("share", "strict").found("a share for strict class "+c.Name, "strict: true or a share")
		}
		if total += c.Share; total > 1+1e-9 {
			return s.n.where("share").found("shares of together "+trimNumber(math.Round(total*1e4)/100)+"%", "at most 100%")
		}
		in.Classes = append(in.Classes, c)
	}
	mask := in.LosslessMask()
	for p := 0; p < qos.Priorities; p++ {
		lossless += int(mask >> p & 1)
	}
	for i := range b.c.Nodes {
		if m := b.c.Nodes[i].Model; m != nil && lossless > m.Lossless {
			s := sources[len(sources)-1]
			for _, x := range sources {
				if x.n.gave("lossless") {
					s = x
				}
			}
			return s.n.where("lossless").found(fmt.Sprintf("%d lossless priorities on %s", lossless, m.Name), fmt.Sprintf("at most %d", m.Lossless))
		}
	}
	return nil
}

func pickName(first bool, a, b string) string {
	if first {
		return a
	}
	return b
}

// Marking thresholds for each 25 Gb/s of the slowest NIC, as HPCC's runs of
// DCQCN use (SIGCOMM 2019: 100 KB and 400 KB at 25 Gb/s, scaled with the rate).
const (
	ecnMinPer25 = 100 * units.KB
	ecnMaxPer25 = 400 * units.KB
)

func (b *builder) ecn(n *node, in *qos.Intent) error {
	slowest := b.classes[0].speed
	for i := range b.classes {
		slowest = min(slowest, b.classes[i].speed)
	}
	from := "computed: %v for each 25Gbps of the slowest NIC"
	e := &in.ECN
	e.Enabled = n.bool("enabled")
	e.Min = units.Bytes(n.intOr("min", int64(ecnMinPer25)*int64(slowest/units.Mbps)/25000, fmt.Sprintf(from, ecnMinPer25)))
	e.Max = units.Bytes(n.intOr("max", max(int64(ecnMaxPer25)*int64(slowest/units.Mbps)/25000, int64(e.Min)), fmt.Sprintf(from, ecnMaxPer25)))
	e.Probability = n.float("probability")
	e.MarkAt = qos.MarkAt(choiceIndex(n.at("mark_at")))
	if e.Min > e.Max {
		return n.where("min", "max").found(fmt.Sprintf("ECN min %v above max %v", e.Min, e.Max), "min up to max")
	}
	for i := range b.c.Nodes {
		if m := b.c.Nodes[i].Model; m != nil && e.Enabled && e.Max > m.Buffer {
			return n.where("max", "min").found(fmt.Sprintf("ECN max %v above the buffer of %s", e.Max, m.Name), "at most "+m.Buffer.String())
		}
	}
	return nil
}

// buffers reads the thresholds of the shared buffer.
func (b *builder) buffers(in *qos.Intent) error {
	n := b.root.at("switch")
	alpha, from := 1.0, "default"
	for i := range b.c.Nodes {
		if m := b.c.Nodes[i].Model; m != nil {
			alpha, from = m.AlphaDefault, "catalogue: "+m.Name
			break
		}
	}
	in.Alpha = n.floatOr("alpha", alpha, from)
	h := n.at("headroom").value()
	in.Headroom = units.Bytes(h.i)
	in.XONOffset = units.Bytes(n.intOr("xon_offset", int64(2*(in.MTU+frameOverhead)), "computed: two frames"))
	return b.headroomFits(in)
}

// frameOverhead is what surrounds the payload of a RoCEv2 frame: Ethernet 14,
// IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4 (validation target V01).
const frameOverhead = 62

// headroomFits checks that the headroom of all ports leaves something of each
// switch's buffer to share. Where it is computed, the least that physics asks
// for is taken: what is on the cable both ways and a frame begun at each end.
func (b *builder) headroomFits(in *qos.Intent) error {
	lossless := units.Bytes(bits.OnesCount8(in.LosslessMask()))
	if !in.PFC || lossless == 0 {
		return nil
	}
	for i := range b.c.Nodes {
		n := &b.c.Nodes[i]
		if n.Model == nil {
			continue
		}
		var total units.Bytes
		for _, p := range n.Ports {
			each := in.Headroom
			if l := b.c.Ports[p].Link; each == 0 && l != LinkID(None) {
				link := &b.c.Links[l]
				each = qos.HeadroomFirstPrinciples(link.Rate, link.Delay, 0, in.MTU+frameOverhead, in.MTU+frameOverhead)
			}
			total += lossless * each
		}
		if total >= n.Model.Buffer {
			pos := b.root.at("fabric").where("host_link", "uplink", "core_link", "links")
			if sw := b.root.at("switch"); sw.gave("headroom") || sw.gave("buffer") {
				pos = sw.where("headroom", "buffer")
			}
			return pos.found(fmt.Sprintf("headroom of together %v for the %d ports of %s", total, len(n.Ports), n.Name),
				fmt.Sprintf("less than the buffer of %v: shorter cables, fewer lossless priorities or switch.headroom", n.Model.Buffer))
		}
	}
	return nil
}

func (b *builder) routing() error {
	n := b.root.at("routing")
	r := &b.c.Routing
	infiniband := b.c.Transport == InfiniBand
	usual := ECMP
	if infiniband && b.c.InfiniBand.Adaptive {
		usual = Adaptive
	}
	mode := n.at("mode")
	mode.or(value{s: usual.String()}, "default")
	r.Mode = RoutingMode(choiceIndex(mode))
	for _, f := range n.stringsOr("hash_fields", hashFields[:5], "default") {
		r.HashFields |= 1 << slices.Index(hashFields, f)
	}
	r.HashSeed = uint64(n.int("hash_seed"))
	r.FlowletGap = n.time("flowlet_gap")
	for i := range b.c.Nodes {
		m := b.c.Nodes[i].Model
		if m == nil {
			continue
		}
		if infiniband {
			continue // its switches stand in the place of the model
		}
		if (r.Mode == Adaptive || r.Mode == Flowlet) && !m.Adaptive || r.Mode == Spray && !m.Spray {
			return n.where("mode").found(r.Mode.String()+" routing on "+m.Name, "ecmp, or a switch model that has it: "+joinWords(switchesWith(r.Mode)))
		}
	}
	return nil
}

func switchesWith(mode RoutingMode) (out []string) {
	for i := range switchCatalogue {
		if m := &switchCatalogue[i]; mode == Spray && m.Spray || mode != Spray && m.Adaptive {
			out = append(out, m.Name)
		}
	}
	return out
}

func (b *builder) rdma() error {
	n := b.root.at("rdma")
	can, repeat := true, true
	var weak string
	for i := range b.classes {
		m := b.classes[i].model
		can, repeat = can && m.OutOfOrder, repeat && m.SelectiveRepeat
		if !m.OutOfOrder || !m.SelectiveRepeat {
			weak = m.Name
		}
	}
	many := b.c.Routing.Mode == Adaptive || b.c.Routing.Mode == Spray
	can = can || b.c.Transport == InfiniBand
	b.c.RDMA = RDMA{
		QPsPerConnection: int(n.int("qps_per_connection")), SplitData: n.bool("split_data"),
		AckEvery: uint32(n.int("ack_every")), Window: n.bytes("window"), Recovery: n.string("recovery"),
		OutOfOrder: n.boolOr("out_of_order", many && can, "computed: paths of a flow and what the NIC can"),
		Timeout:    uint8(n.int("timeout")), RetryCount: uint8(n.int("retry_count")), RNRRetry: uint8(n.int("rnr_retry")),
		NakInterval: n.time("nak_interval"), SourcePorts: n.string("source_ports"), CNPOnAck: n.bool("cnp_on_ack"), GPUDirect: n.bool("gpudirect"),
	}
	if b.c.RDMA.OutOfOrder && !can {
		return n.where("out_of_order").found("out-of-order placement on "+weak, "false, or a card that has it")
	}
	if b.c.RDMA.Recovery == "selective-repeat" && !repeat {
		return n.where("recovery").found("selective-repeat on "+weak, "go-back-n, or a card that has it")
	}
	return nil
}

func (b *builder) dcqcn() error {
	n := b.root.at("dcqcn")
	b.c.DCQCN = dcqcn.Params{
		Enabled: n.bool("enabled"), Variant: dcqcn.Variant(choiceIndex(n.at("variant"))),
		InitialAlpha: uint32(n.int("rp_initial_alpha_value")), G: uint32(n.int("rp_dce_tcp_g")), AlphaPeriod: n.time("rp_dce_tcp_rtt"),
		ReducePeriod: n.time("rp_rate_reduce_monitor_period"), FirstCNPRate: n.bits("rp_rate_to_set_on_first_cnp"),
		MinDecFac: uint32(n.int("rp_min_dec_fac")), MinRate: n.bits("rp_min_rate"), TimeReset: n.time("rp_time_reset"),
		ByteReset: n.bytes("rp_byte_reset"), Threshold: uint32(n.int("rp_threshold")), AIRate: n.bits("rp_ai_rate"), HAIRate: n.bits("rp_hai_rate"),
		ClampTarget: n.bool("rp_clamp_tgt_rate"), ClampAfterIncrease: n.bool("rp_clamp_tgt_rate_ati"),
		MinTimeBetweenCNPs: n.time("np_min_time_between_cnps"),
	}
	for i := range b.classes {
		if s := b.classes[i].speed; b.c.DCQCN.MinRate > s {
			return n.where("rp_min_rate").found("a floor of "+b.c.DCQCN.MinRate.String()+" above the NIC's "+s.String(), "less than the slowest NIC")
		}
	}
	return nil
}

func (b *builder) nccl() error {
	n := b.root.at("nccl")
	b.c.NCCL = NCCL{
		Channels: int(n.int("channels")), Algorithm: collective.Algorithm(choiceIndex(n.at("algorithm"))),
		Protocol: n.string("protocol"), BuffSize: n.bytes("buffsize"), PXN: n.bool("pxn"), ClearToSend: n.bool("clear_to_send"),
		NoOverhead: n.string("overhead") == "none",
	}
	return nil
}

// Package intended says what each device of a cluster should do: the qos part
// of the cluster file, brought down to the ports of one switch or the cards of
// one host. Renderers write it; the audit compares it with what is found.
package intended

import (
	"fmt"
	"math"

	"weir/internal/cluster"
	"weir/internal/qos"
	"weir/units"
)

// errNoRest is for intents that leave nothing to packets of no class.
var errNoRest = fmt.Errorf("all eight priorities are lossless: no priority is left for packets of no class")

// RestPriority returns the priority, and queue, of packets that belong to no
// class: 0, or the lowest one that is neither lossless nor strict.
func RestPriority(in *qos.Intent) (uint8, error) {
	var taken uint8
	for _, c := range in.Classes {
		if c.Lossless || c.Strict {
			taken |= 1 << c.Priority
		}
	}
	for p := range uint8(qos.Priorities) {
		if taken>>p&1 == 0 {
			return p, nil
		}
	}
	return 0, errNoRest
}

// Headroom returns the headroom of one lossless priority at a port and the
// arithmetic behind it, in one sentence.
func Headroom(in *qos.Intent, rate units.BitRate, length units.Metres) (units.Bytes, string) {
	if in.Headroom > 0 {
		return in.Headroom, fmt.Sprintf("headroom %d bytes: switch.headroom of the cluster file", in.Headroom)
	}
	h := qos.HeadroomDriver(rate, length, in.PortMTU)
	return h, fmt.Sprintf("headroom %d bytes: (301 + 2.16 x %gm) x max(%gGb/s, 40) + 2.72 x %d bytes of port MTU (rule of the Linux mlx5 driver)",
		h, float64(length), rate.Gigabits(), in.PortMTU)
}

// Switch returns the intended behaviour of a switch. Its ports are named as
// its operating system writes them and come in the order of Node.Ports.
func Switch(c *cluster.Cluster, id cluster.NodeID) (*qos.Device, error) {
	n := &c.Nodes[id]
	names, err := PortNames(c, id)
	if err != nil {
		return nil, err
	}
	base, err := port(&c.QoS)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.Name, err)
	}
	in := &c.QoS
	sys := systems[n.OS]
	d := &qos.Device{Name: n.Name, System: n.OS}
	for i, id := range n.Ports {
		p := base.Clone()
		p.Name = names[i]
		p.MTU = in.PortMTU
		if p.MTU > sys.maxMTU {
			p.MTU = sys.maxMTU
			p.Explain("mtu", fmt.Sprintf("qos.port_mtu is %d, but %s", in.PortMTU, sys.limit))
		}
		marking(&p, in)
		if q := &p.Queues[in.RoCE().Priority]; sys.certain && q.ECN == qos.On && q.Probability < 1 {
			q.Probability = 1
			p.Explain(fmt.Sprintf("ecn.%d", in.RoCE().Priority), fmt.Sprintf("qos.ecn.probability is %g%%, but %s has none to set: it marks every packet from the maximum on", in.ECN.Probability*100, n.OS))
		}
		watchdog(&p, in)
		attach(&p, c, id)
		for prio := range p.Ingress {
			if in.PFC && in.LosslessMask()>>prio&1 == 1 {
				room, why := Headroom(in, p.Speed, p.CableLength)
				p.Ingress[prio] = qos.Ingress{Headroom: room, Alpha: in.Alpha}
				p.Explain(fmt.Sprintf("ingress.%d", prio), why)
			}
		}
		d.Ports = append(d.Ports, p)
	}
	return d, nil
}

// Host returns the intended behaviour of a host's cards: a port for each port
// of each card, named by the RDMA device (and "/2" for a second port). hostMTU
// is of the network device, in layer-2 payload.
func Host(c *cluster.Cluster, host int) (*qos.Device, error) {
	h := &c.Hosts[host]
	base, err := port(&c.QoS)
	if err != nil {
		return nil, err
	}
	d := &qos.Device{Name: c.Nodes[h.Node].Name, System: "host"}
	for i := range h.NICs {
		nic := &h.NICs[i]
		for k, id := range nic.Ports {
			p := base.Clone()
			p.Name = nic.Device
			if k > 0 {
				p.Name = fmt.Sprintf("%s/%d", nic.Device, k+1)
			}
			p.MTU = HostMTU(&c.QoS, nic.Model)
			attach(&p, c, id)
			d.Ports = append(d.Ports, p)
		}
	}
	return d, nil
}

// HostMTU returns the MTU of a card's network device: the usual 9000 where
// the switch ports and the card carry that, else what they carry.
func HostMTU(in *qos.Intent, m *cluster.NICModel) units.Bytes {
	return min(max(9000, in.MTU+60), in.PortMTU, m.MaxMTU)
}

// port is what switch ports and cards have in common.
func port(in *qos.Intent) (qos.Port, error) {
	rest, err := RestPriority(in)
	if err != nil {
		return qos.Port{}, err
	}
	p := qos.NewPort("")
	p.Trust = qos.TrustDSCP
	p.DefaultPriority = rest
	for d := range p.DSCPToPriority {
		p.DSCPToPriority[d] = rest
	}
	for q := range p.PriorityToQueue {
		p.PriorityToQueue[q] = uint8(q)
	}
	left := 1.0
	for _, c := range in.Classes {
		p.DSCPToPriority[c.DSCP] = c.Priority
		q := &p.Queues[c.Priority]
		q.Strict = qos.TriOf(c.Strict)
		q.Share += c.Share
		left -= c.Share
	}
	p.Queues[rest].Strict = qos.Off
	// What the classes leave, less the noise of adding fractions.
	p.Queues[rest].Share += math.Round(max(0, left)*1e9) / 1e9
	p.PFC, p.PFCMode = qos.TriOf(in.PFC && in.LosslessMask() != 0), "off"
	if p.PFC == qos.On {
		p.PFCMask, p.PFCMode = in.LosslessMask(), "on"
	}
	p.GlobalPauseRx, p.GlobalPauseTx = qos.Off, qos.Off
	return p, nil
}

// marking sets the ramp of the RoCE class, the only one that marks, as in the
// simulator.
func marking(p *qos.Port, in *qos.Intent) {
	for i := range p.Queues {
		p.Queues[i].ECN, p.Queues[i].WRED = qos.Off, qos.Off
	}
	if !in.ECN.Enabled {
		return
	}
	q := &p.Queues[in.RoCE().Priority]
	q.ECN, q.WRED = qos.On, qos.On
	q.Min, q.Max, q.Probability, q.Averaging = in.ECN.Min, in.ECN.Max, in.ECN.Probability, 0
}

func watchdog(p *qos.Port, in *qos.Intent) {
	p.Watchdog = qos.Off
	if p.PFC != qos.On || !in.Watchdog.Enabled {
		return
	}
	p.Watchdog = qos.On
	p.WatchdogDetect, p.WatchdogRestore = in.Watchdog.DetectAfter, in.Watchdog.RestoreAfter
	p.WatchdogAction = "drop"
	if in.Watchdog.Action == qos.WatchdogForward {
		p.WatchdogAction = "forward"
	}
}

// attach fills in what the cable gives.
func attach(p *qos.Port, c *cluster.Cluster, id cluster.PortID) {
	port := &c.Ports[id]
	p.Speed = port.Rate
	if port.Link == cluster.LinkID(cluster.None) {
		return
	}
	peer := &c.Ports[port.Peer]
	p.Peer = c.Nodes[peer.Node].Name + "/" + peer.Name
	p.CableLength = c.Links[port.Link].Length
}

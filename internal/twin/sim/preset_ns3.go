package sim

import (
	"weir/dcqcn"
	"weir/internal/cluster"
	"weir/internal/qos"
	"weir/internal/twin/switchcore"
	"weir/units"
)

// The priorities of the ns-3 models' queues: acknowledgements and pause frames
// go before everything else, data ride in class 3.
const (
	ns3AckPriority  = 7
	ns3DataPriority = 3
)

// NS3 sets what the public ns-3 RoCE models (the HPCC simulator and its
// descendants) do, in a cluster that has topology alone, and returns the
// Config to run it. ecn false turns marking off: pause alone is at work, and
// acknowledgements ride in the data class, as they did in the published
// pause-only figures (their flow times agree to a hundredth of a percent so, and
// are 4 % off with acknowledgements in a class of their own).
//
// The DCQCN settings are parameter set P1 of the comparison: an increase timer
// of 300 us, steps of 40 and 100 Mb/s, marking between 100 and 400 KB at up to
// 20 %. Everything can be changed in c before New.
//
// The switch has 32 MiB, of which each port has 3 x rate x delay as headroom
// and 4 KiB as reserve; XOFF at an eighth of the free rest.
func NS3(c *cluster.Cluster, ecn bool) Config {
	c.QoS = qos.Intent{
		Classes: []qos.Class{
			{Name: "roce", Priority: ns3DataPriority, DSCP: 26, Lossless: true, Share: 1},
			{Name: "cnp", Priority: ns3AckPriority, DSCP: 48, Strict: true},
		},
		MTU: 1000, PFC: true,
		Alpha: 1.0 / 8, XONOffset: 3 * units.KiB,
		ECN: qos.ECN{Enabled: ecn, Min: 100 * units.KB, Max: 400 * units.KB, Probability: 0.2, MarkAt: qos.MarkAtDequeue},
	}
	c.RDMA = cluster.RDMA{
		QPsPerConnection: 1, AckEvery: 1, Recovery: "go-back-n",
		NakInterval: 4 * units.Microsecond, SourcePorts: "per-qp", CNPOnAck: true, GPUDirect: true,
	}
	c.DCQCN = dcqcn.NS3Defaults(0)
	c.DCQCN.Enabled = ecn
	acks := uint8(ns3AckPriority)
	if !ecn {
		acks = ns3DataPriority
	}
	return Config{
		Cluster: c,
		Wire:    NS3Wire(),
		Model:   Model{AckPriority: acks, CNPPriority: ns3AckPriority, FreeAcks: true, PauseForever: true},
		Switch: func(id cluster.NodeID, cfg *switchcore.Config) {
			cfg.Buffer = 32 * units.MiB
			cfg.Reserve = 4 * units.KiB
			cfg.TriggerInHeadroom = true
			cfg.PauseForever, cfg.Refresh = true, false
			for i, p := range c.Nodes[id].Ports {
				if l := c.Ports[p].Link; l != cluster.LinkID(cluster.None) {
					cfg.Ports[i].Headroom = 3 * c.Links[l].Rate.BytesIn(c.Links[l].Delay)
				}
			}
		},
	}
}

// Package dcqcn is the congestion control of RoCEv2: the reaction point that
// paces a queue pair (Reaction) and the notification point that answers marked
// packets (Notification). Both are pure and use integers alone: they compute
// lazily, when a packet is sent or a CNP arrives, what periodic timers would
// have done in between.
//
// Sources: Zhu et al., Congestion Control for Large-Scale RDMA Deployments,
// SIGCOMM 2015, section 3; the adapters' variant after the names and defaults
// of their firmware parameters (rp_*, np_*).
package dcqcn

import "weir/units"

// Params are the settings of both points, under the field's names.
type Params struct {
	Enabled  bool
	LineRate units.BitRate // of the port: start, and ceiling of every rate; must be positive

	// Reaction point.
	InitialAlpha       uint32        // rp_initial_alpha_value, 0 to 1023 of 1024 (1024 in models: exactly 1)
	G                  uint32        // rp_dce_tcp_g: weight that the old alpha keeps, 0 to 1023 of 1024 (1020 is the paper's g of 1/256)
	AlphaPeriod        units.Time    // rp_dce_tcp_rtt; 0: alpha never changes
	ReducePeriod       units.Time    // rp_rate_reduce_monitor_period: at most one cut in this time; 0: a cut at every CNP
	FirstCNPRate       units.BitRate // rp_rate_to_set_on_first_cnp; 0: off
	MinDecFac          uint32        // rp_min_dec_fac: percent of the rate that a cut leaves at least; 100: never cut
	MinRate            units.BitRate // rp_min_rate; at least 1 bit/s
	TimeReset          units.Time    // rp_time_reset: increase timer; 0: off
	ByteReset          units.Bytes   // rp_byte_reset as a byte counter; 0: off
	Threshold          uint32        // rp_threshold: fast-recovery rounds
	AIRate, HAIRate    units.BitRate // rp_ai_rate, rp_hai_rate
	ClampTarget        bool          // rp_clamp_tgt_rate: every cut lowers the target
	ClampAfterIncrease bool          // rp_clamp_tgt_rate_ati: the first cut after an increase by timer lowers the target

	// Variant picks between readings of the algorithm that differ beyond settings.
	Variant Variant

	// Notification point.
	MinTimeBetweenCNPs units.Time // np_min_time_between_cnps; 0: one for every marked packet
}

// Variant of the algorithm.
type Variant uint8

// The variants.
//
// Adapter is the NIC firmware's form. Nothing runs before the first CNP; from
// then on alpha is updated every AlphaPeriod, and at the end of each
// ReducePeriod the rate is cut if a CNP arrived in it, by half of the alpha that
// held when the CNP arrived. So the trace of the defaults is exact: one CNP at
// line rate halves it 4 us later.
//
// Paper is the form of SIGCOMM 2015: each CNP cuts at once and lowers the
// target, alpha grows with it, and decays each time that AlphaPeriod passes
// without one. ReducePeriod and the clamp settings have no meaning.
//
// NS3 is that of the public ns-3 models: as Adapter, but cut by the alpha at the
// end of the ReducePeriod, and with ClampAfterIncrease always on and no byte
// counter.
const (
	Adapter Variant = iota
	Paper
	NS3
)

// AdapterDefaults returns the NIC firmware's defaults (NVIDIA's DCQCN
// parameter page; operations notes of the field agree), with the byte counter
// off, since the unit of its literal 32767 is not documented.
func AdapterDefaults(line units.BitRate) Params {
	return Params{
		Enabled: true, LineRate: line,
		InitialAlpha: 1023, G: 1019, AlphaPeriod: 1 * units.Microsecond,
		ReducePeriod: 4 * units.Microsecond, MinDecFac: 50, MinRate: 1 * units.Mbps,
		TimeReset: 300 * units.Microsecond, Threshold: 1,
		AIRate: 5 * units.Mbps, HAIRate: 50 * units.Mbps,
		ClampAfterIncrease: true,
		MinTimeBetweenCNPs: 4 * units.Microsecond,
	}
}

// PaperDefaults returns the settings of SIGCOMM 2015 (section 5, table 14): they
// were chosen for 40 Gb/s. The paper has no hyper increase; its steps stay
// additive here.
func PaperDefaults(line units.BitRate) Params {
	return Params{
		Enabled: true, LineRate: line, Variant: Paper,
		InitialAlpha: 1024, G: 1020, AlphaPeriod: 55 * units.Microsecond,
		MinRate:   40 * units.Mbps,
		TimeReset: 55 * units.Microsecond, ByteReset: 10 * units.MB, Threshold: 5,
		AIRate: 40 * units.Mbps, HAIRate: 40 * units.Mbps,
		MinTimeBetweenCNPs: 50 * units.Microsecond,
	}
}

// NS3Defaults returns the settings that the public ns-3 models of RoCE ship:
// g 1/256 each microsecond, a cut at most every 4 us, increases every 300 us,
// a CNP on the acknowledgement of every marked packet.
func NS3Defaults(line units.BitRate) Params {
	return Params{
		Enabled: true, LineRate: line, Variant: NS3,
		InitialAlpha: 1024, G: 1020, AlphaPeriod: 1 * units.Microsecond,
		ReducePeriod: 4 * units.Microsecond, MinRate: 100 * units.Mbps,
		TimeReset: 300 * units.Microsecond, Threshold: 1,
		AIRate: 40 * units.Mbps, HAIRate: 100 * units.Mbps,
		ClampAfterIncrease: true,
	}
}

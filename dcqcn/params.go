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
	LineRate units.BitRate // of the port: start, and ceiling of every rate

	// Reaction point.
	InitialAlpha       uint32        // rp_initial_alpha_value, 0 to 1023 of 1024
	G                  uint32        // rp_dce_tcp_g: weight that the old alpha keeps, 0 to 1023 of 1024
	AlphaPeriod        units.Time    // rp_dce_tcp_rtt
	ReducePeriod       units.Time    // rp_rate_reduce_monitor_period: at most one cut in this time; 0: a cut at every CNP
	FirstCNPRate       units.BitRate // rp_rate_to_set_on_first_cnp; 0: off
	MinDecFac          uint32        // rp_min_dec_fac: percent of the rate that a cut leaves at least; 100: never cut
	MinRate            units.BitRate // rp_min_rate
	TimeReset          units.Time    // rp_time_reset: increase timer
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

// Adapter is the NIC firmware's form; Paper that of SIGCOMM 2015 (cut at every
// CNP, alpha decays when AlphaPeriod passes without one); NS3 that of the
// public ns-3 models: nothing runs before the first CNP, then alpha ticks every
// AlphaPeriod and cuts are taken by a check every ReducePeriod.
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

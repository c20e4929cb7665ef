package nic

import (
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

// dcqcnNames maps the names of debugfs (cc_params), of the vendor driver's
// sysfs and of mlxconfig, without prefix rp_, np_ or rpg_ and without port
// suffix, to the vocabulary.
var dcqcnNames = map[string]string{
	"clamp_tgt_rate": "clamp_target", "clamp_tgt_rate_ati": "clamp_target_ati", "clamp_tgt_rate_after_time_inc": "clamp_target_ati",
	"time_reset": "time_reset", "byte_reset": "byte_reset", "threshold": "threshold", "max_rate": "max_rate",
	"ai_rate": "ai_rate", "hai_rate": "hai_rate", "gd": "gd", "min_dec_fac": "min_dec_fac", "min_rate": "min_rate",
	"rate_to_set_on_first_cnp": "first_cnp_rate", "dce_tcp_g": "dce_tcp_g", "dce_tcp_rtt": "dce_tcp_rtt",
	"rate_reduce_monitor_period": "reduce_period", "initial_alpha_value": "initial_alpha",
	"min_time_between_cnps": "min_time_between_cnps", "cnp_dscp": "cnp_dscp", "cnp_802p_prio": "cnp_priority", "cnp_prio": "cnp_priority",
	"cnp_prio_mode": "cnp_priority_mode", "roce_cc_prio_mask": "priority_mask",
}

// dcqcnSetting puts out a congestion control setting and reports whether the
// name is one. Rates are in Mb/s there, and times in microseconds.
func dcqcnSetting(n int, out *tool.Out, nic fact.Subject, name, value string) bool {
	name = strings.ToLower(name)
	for _, prefix := range []string{"rpg_", "rp_", "np_"} {
		name = strings.TrimPrefix(name, prefix)
	}
	short, ok := dcqcnNames[name]
	u, err := strconv.ParseUint(strings.TrimSpace(value), 0, 64)
	if !ok || err != nil {
		return false
	}
	key := "dcqcn." + short
	switch short {
	case "clamp_target", "clamp_target_ati":
		out.Bool(n, nic, key, u != 0)
	case "ai_rate", "hai_rate", "min_rate", "max_rate", "first_cnp_rate":
		if u > 1e9 {
			return false
		}
		out.Uint(n, nic, key, u*1_000_000)
	default:
		out.Uint(n, nic, key, u)
	}
	return true
}

package qos

import "weir/units"

// ThresholdRules are the bounds of DCQCN's authors on the thresholds of a
// shared-buffer switch, so that ECN marks come before pause and pause before
// loss (Zhu et al., SIGCOMM 2015, section 4). All bounds are rounded down.
type ThresholdRules struct {
	Buffer     units.Bytes
	Ports      int
	Priorities int         // that have headroom, 8 in the paper
	Headroom   units.Bytes // per port and priority
}

// shared returns the buffer outside all headrooms, or 0 if they exceed it.
func (r *ThresholdRules) shared() units.Bytes {
	return max(0, r.Buffer-units.Bytes(r.Ports*r.Priorities)*r.Headroom)
}

// XOFF returns the largest static pause threshold, per ingress port and
// priority, that never lets a packet be dropped: the shared buffer divided
// among all.
func (r *ThresholdRules) XOFF() units.Bytes {
	return r.shared() / units.Bytes(r.Ports*r.Priorities)
}

// StaticECN returns the largest marking threshold that comes before the static
// pause threshold even if one ingress port feeds all egress ports. It is
// usually below a packet, that is, infeasible.
func (r *ThresholdRules) StaticECN() units.Bytes {
	return r.shared() / units.Bytes(r.Ports*r.Ports*r.Priorities)
}

// DynamicECN returns the largest marking threshold that comes before a dynamic
// pause threshold of beta x free shared buffer / priorities.
func (r *ThresholdRules) DynamicECN(beta float64) units.Bytes {
	return units.Bytes(float64(r.shared()) / float64(r.Ports*r.Priorities) * beta / (beta + 1))
}

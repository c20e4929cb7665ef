package setup

import (
	"regexp"
	"strings"

	"weir/internal/fact"
)

// write reads a value written to a file of /sys, /proc or configfs.
func (r *reader) write(line uint, path, value string) {
	value = strings.TrimSpace(strings.Trim(value, `"'`))
	if m := tcFile.FindStringSubmatch(path); m != nil {
		r.understood(line)
		r.tos(line, r.nic(m[1]), "roce", value)
	} else if m := cmaFile.FindStringSubmatch(path); m != nil {
		r.understood(line)
		r.tos(line, r.nic(m[1]), "roce.cma", value)
	} else if m := cnpFile.FindStringSubmatch(path); m != nil {
		r.understood(line)
		key := map[string]string{"cnp_dscp": "dcqcn.cnp_dscp", "cnp_802p_prio": "dcqcn.cnp_priority"}[m[2]]
		r.number(line, r.nic(m[1]), key, value)
	} else if m := pointFile.FindStringSubmatch(path); m != nil {
		r.understood(line)
		if value == "0" || value == "1" {
			r.put(line, r.nic(m[1]), "dcqcn."+m[2]+".priority."+m[3], fact.OfBool(value == "1"))
		}
	} else if m := bnxtFile.FindStringSubmatch(path); m != nil {
		r.understood(line)
		switch nic := r.nic(m[1]); m[2] {
		case "roce_dscp":
			r.number(line, nic, "roce.dscp", value)
		case "cnp_dscp":
			r.number(line, nic, "dcqcn.cnp_dscp", value)
		case "cnp_prio":
			r.number(line, nic, "dcqcn.cnp_priority", value)
		case "ecn_enable":
			r.put(line, nic, "dcqcn.enabled", fact.OfBool(value != "0"))
		}
	} else if m := procFile.FindStringSubmatch(path); m != nil {
		r.understood(line)
		r.text(line, r.hostSubject(), "sysctl."+strings.ReplaceAll(m[1], "/", "."), value)
	} else if m := paramsFile.FindStringSubmatch(path); m != nil {
		key := map[string]string{"np_cnp_dscp": "dcqcn.cnp_dscp", "np_cnp_prio": "dcqcn.cnp_priority", "rp_min_dec_fac": "dcqcn.min_dec_fac"}[m[2]]
		r.understood(line)
		if key != "" {
			r.number(line, r.nic(m[1]), key, value)
		}
	} else if m := mtuFile.FindStringSubmatch(path); m != nil && r.number(line, r.nic(m[1]), "link.mtu", value) {
		r.understood(line)
	}
}

var (
	tcFile     = regexp.MustCompile(`infiniband/([\w.:-]+)/tc/\d+/traffic_class$`)
	cmaFile    = regexp.MustCompile(`rdma_cm/([\w.:-]+)/ports/\d+/default_roce_tos$`)
	cnpFile    = regexp.MustCompile(`/net/(@?[\w.:-]+)/ecn/roce_np/(cnp_dscp|cnp_802p_prio)$`)
	pointFile  = regexp.MustCompile(`/net/(@?[\w.:-]+)/ecn/roce_([nr]p)/enable/([0-7])$`)
	procFile   = regexp.MustCompile(`^/proc/sys/([\w./-]+)$`)
	paramsFile = regexp.MustCompile(`(?:/mlx5/|mlx5_core/)?(@?[\w.:-]+)/cc_params/(\w+)$`)
	bnxtFile   = regexp.MustCompile(`bnxt_re/([\w.:-]+)/ports/\d+/cc/(roce_dscp|cnp_dscp|cnp_prio|ecn_enable)$`)
	mtuFile    = regexp.MustCompile(`/net/(@?[\w.:-]+)/mtu$`)
)

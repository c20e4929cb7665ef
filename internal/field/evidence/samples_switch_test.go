package evidence

import (
	"strings"
	"testing"

	"weir/internal/fact"
)

// at finds the value of a key of one subject, by the end of its name.
func at(subject, key string) finder {
	return func(r *Report) any {
		for _, f := range r.Facts {
			if f.Key == key && (f.Subject.Name == subject || strings.HasSuffix(f.Subject.Name, "/"+subject)) {
				return f.Value.Any()
			}
		}
		return missing
	}
}

// group makes a mapping of finders, or of values that stand for themselves.
func group(m map[string]any) finder {
	return func(r *Report) any {
		out := map[string]any{}
		for k, v := range m {
			switch f := v.(type) {
			case finder:
				out[k] = f(r)
			case func(r *Report) any:
				out[k] = f(r)
			default:
				out[k] = v
			}
		}
		return out
	}
}

// subjects lists those whose value of a key is want.
func subjects(key, want, from, to string) finder {
	return func(r *Report) any {
		list := []any{}
		for _, f := range r.Facts {
			if f.Key == key && f.Value.String() == want {
				list = append(list, strings.Replace(f.Subject.Name, from, to, 1))
			}
		}
		return list
	}
}

// dscpWhere finds the code points of a queue or priority: one, or a range.
func dscpWhere(port, part, want string) finder {
	return func(r *Report) any {
		var list []string
		for _, f := range r.Facts {
			if rest, ok := strings.CutPrefix(f.Key, "qos.dscp."); ok && f.Subject.Name == port && f.Value.String() == want {
				if d, ok := strings.CutSuffix(rest, "."+part); ok {
					list = append(list, d)
				}
			}
		}
		switch len(list) {
		case 0:
			return missing
		case 1:
			return list[0]
		}
		return list[0] + "-" + list[len(list)-1]
	}
}

// note reports whether the reading of a configuration says that a setting's
// effect is not what its text says.
func note(port, setting, part string) condition {
	return func(r *Report) bool {
		v, _ := at(port, "config.note."+setting)(r).(string)
		return strings.Contains(v, part)
	}
}

// A condition is one on what a report says.
type condition = func(r *Report) bool

func is(subject, key, want string) condition {
	return func(r *Report) bool {
		for _, f := range r.Facts {
			if f.Key == key && f.Subject.Name == subject && f.Value.String() == want {
				return true
			}
		}
		return false
	}
}

// finding gives a value if all conditions hold: an index names what its
// sample shows, and the facts must carry that.
func finding(v any, conditions ...condition) func(r *Report) any {
	return func(r *Report) any {
		for _, c := range conditions {
			if !c(r) {
				return missing
			}
		}
		return v
	}
}

func findings(list ...func(r *Report) any) finder {
	return func(r *Report) any {
		out := []any{}
		for _, f := range list {
			out = append(out, f(r))
		}
		return out
	}
}

func profile(name, colour string) finder {
	return func(r *Report) any {
		out := []any{}
		for _, part := range []string{"min", "max", "probability"} {
			out = append(out, one("ecn.profile."+name+"."+colour+"."+part)(r))
		}
		return out
	}
}

// trustList turns the word of the vocabulary into the list of the index.
func trustList(r *Report) any {
	if one("qos.trust")(r) == "both" {
		return []any{"pcp", "dscp"}
	}
	return missing
}

// nvueECN has the thresholds as printed: the unit base is in doubt.
func nvueECN(r *Report) any {
	return map[string]any{"tc": one("ecn.queues")(r), "min": one("ecn.min_printed")(r), "max": one("ecn.max_printed")(r), "prob": one("ecn.probability")(r)}
}

func alarms(r *Report) any {
	out := []any{}
	for _, v := range lookup(r, "module.alarm") {
		words := strings.Fields(v.String()) // "tx power low alarm"
		out = append(out, words[0]+"-"+words[len(words)-2])
	}
	return out
}

// configECN is the marking of a queue in a configuration.
func configECN(port, queue string, names map[string]string, by float64) finder {
	return func(r *Report) any {
		s := port + "/" + queue
		out := map[string]any{"queue": queue, "tc": queue}
		for name, key := range names {
			switch v := at(s, key)(r).(type) {
			case uint64:
				out[name] = float64(v) / by
			default:
				out[name] = v
			}
		}
		out["prob"] = at(s, "ecn.probability")(r)
		out["weight"] = at(s, "ecn.averaging")(r)
		return out
	}
}

func TestSwitchSamples(t *testing.T) {
	bytesOf := map[string]string{"min": "ecn.min", "max": "ecn.max", "min_bytes": "ecn.min", "max_bytes": "ecn.max"}
	kilobytes := map[string]string{"min_kb": "ecn.min", "max_kb": "ecn.max"}
	raw := map[string]string{"min_cells": "ecn.raw_min", "max_cells": "ecn.raw_max"}
	detect := func(port string) finder {
		return group(map[string]any{
			"timeout_s":  func(r *Report) any { v, _ := at(port, "watchdog.detect_time")(r).(float64); return v / 1000 },
			"recovery_s": func(r *Report) any { v, _ := at(port, "watchdog.restore_time")(r).(float64); return v / 1000 },
			"action":     at(port, "watchdog.action"),
			"forced":     true, // a modifier of how, not of whether
		})
	}
	checkIndex(t, "switch", "index.yaml", map[string]finder{
		"sonic_show_pfc_counters.txt Ethernet0": group(map[string]any{
			"rx": group(map[string]any{"3": at("Ethernet0/3", "pfc.rx_frames")}), "tx": group(map[string]any{"3": at("Ethernet0/3", "pfc.tx_frames")})}),
		"sonic_show_pfc_counters.txt ports": func(r *Report) any {
			ports := map[string]bool{}
			for s := range bySubject("pfc.rx_frames")(r).(map[string]any) {
				port, _, _ := strings.Cut(s, "/")
				ports[port] = true
			}
			return len(ports)
		},
		"sonic_show_pfcwd_stats.txt stormed":     subjects("watchdog.state", "stormed", "/", ":"),
		"sonic_show_pfcwd_stats.txt Ethernet4:3": group(map[string]any{"detected": at("Ethernet4/3", "watchdog.storms"), "restored": at("Ethernet4/3", "watchdog.restores")}),
		"poll_ms":                                one("watchdog.poll_interval"),
		"sonic_show_pfcwd_config.txt Ethernet0": group(map[string]any{"action": at("Ethernet0", "watchdog.action"), "detection_ms": at("Ethernet0", "watchdog.detect_time"),
			"restoration_ms": at("Ethernet0", "watchdog.restore_time")}),
		"AZURE_LOSSLESS": group(map[string]any{"ecn": one("ecn.profile.AZURE_LOSSLESS.mode"), "green": profile("AZURE_LOSSLESS", "green")}),
		"AZURE_LOSSY":    group(map[string]any{"ecn": one("ecn.profile.AZURE_LOSSY.mode")}),
		"sonic_show_interfaces_counters.txt Ethernet4": group(map[string]any{"rx_drop": at("Ethernet4", "port.rx_drops")}),
		"sonic_show_interfaces_counters.txt Ethernet0": group(map[string]any{"rx_util_pct": at("Ethernet0", "port.rx_utilisation")}),
		"sonic_show_fec_stats.txt Ethernet0":           group(map[string]any{"corrected": at("Ethernet0", "fec.corrected"), "uncorrected": at("Ethernet0", "fec.uncorrected"), "flr_observed": at("Ethernet0", "fec.loss_ratio")}),
		"bins":                                         func(r *Report) any { return len(asMap("fec.codewords.*")(r).(map[string]any)) },
		"sonic_show_queue_wredcounters.txt Ethernet4":  group(map[string]any{"UC3": group(map[string]any{"ecn_marked_pkts": at("Ethernet4/3", "queue.ecn_marked_packets"), "ecn_marked_bytes": at("Ethernet4/3", "queue.ecn_marked_bytes")})}),
		"Ethernet-BP256":                               group(map[string]any{"PG3": at("Ethernet-BP256/PG3", "pg.headroom_watermark")}),
		"all_zero": func(r *Report) any {
			for _, v := range lookup(r, "pg.drop_packets") {
				if u, ok := v.Uint(); !ok || u != 0 {
					return false
				}
			}
			return len(lookup(r, "pg.drop_packets")) == 32
		},
		"pfc3_rx": at("3", "pfc.rx_frames"), "pfc3_tx": at("3", "pfc.tx_frames"), "pfc3_pause_us": at("3", "pfc.rx_pause_time"), "fec_uncorrectable": one("fec.uncorrected"),
		"sonic_counters_db_pfcwd_queue.json stormed": func(r *Report) any { return len(subjects("watchdog.state", "stormed", "", "")(r).([]any)) },

		// Configurations, by effect.
		"sonic_config_db_qos.json pfc": at("Ethernet0", "qos.pfc.enabled"), "dscp26_tc": at("Ethernet0", "qos.dscp.26.priority"),
		"sonic_config_db_qos.json ecn":      configECN("Ethernet0", "3", bytesOf, 1),
		"sonic_config_db_qos.json findings": findings(finding("roce-dscp-not-lossless", is("Ethernet0", "qos.dscp.26.priority", "1"), is("Ethernet0", "qos.pfc.enabled", "3,4"))),
		"profiles": func(r *Report) any {
			names := map[string]bool{}
			for _, f := range r.Facts {
				if f.Subject.Kind == fact.Port && strings.HasPrefix(f.Subject.Name, "profile:") {
					names[f.Subject.Name] = true
				}
			}
			return len(names)
		},
		"eos_qos_running_config.cfg watchdog": detect("profile:test_with_pfc"),
		"eos_roce_lossless.cfg pfc":           at("Ethernet1/1", "qos.pfc.enabled"),
		"eos_roce_lossless.cfg roce_dscp":     dscpWhere("Ethernet1/1", "priority", "3"), "eos_roce_lossless.cfg cnp_dscp": dscpWhere("Ethernet1/1", "priority", "6"),
		"eos_roce_lossless.cfg ecn": configECN("Ethernet1/1", "3", bytesOf, 1), "eos_roce_lossless.cfg watchdog": at("Ethernet1/1", "watchdog.enabled"),
		"nxos_roce.cfg pfc": at("Ethernet1/1", "qos.pfc.enabled"), "nxos_roce.cfg roce_dscp": dscpWhere("Ethernet1/1", "priority", "3"), "nxos_roce.cfg cnp_dscp": dscpWhere("Ethernet1/1", "priority", "7"),
		"nxos_roce.cfg ecn": configECN("Ethernet1/1", "3", kilobytes, 1000), "nxos_roce.cfg mtu": at("Ethernet1/1", "link.mtu"), "nxos_roce.cfg watchdog": at("Ethernet1/1", "watchdog.enabled"),
		"nxos_roce_drift.cfg findings": findings(
			func(r *Report) any {
				return map[string]any{"roce-dscp": dscpWhere("Ethernet1/1", "priority", "3")(r).(string) + " only"}
			},
			func(r *Report) any {
				return map[string]any{"ecn-keyword-missing": finding("c-out-8q-q3", is("Ethernet1/1/3", "ecn.drops", "true"), note("Ethernet1/1", "ecn.3", "without the word ecn"))(r)}
			},
			func(r *Report) any {
				return map[string]any{"network-qos-mtu": at("Ethernet1/1", "qos.priority.3.mtu")(r)}
			},
			func(r *Report) any {
				return map[string]any{"global-watchdog-missing": finding(true, note("Ethernet1/3", "watchdog", "not for the switch"))(r)}
			},
			func(r *Report) any {
				return map[string]any{"Ethernet1/1": finding("no-watchdog", is("Ethernet1/1", "watchdog.enabled", "false"))(r)}
			},
			func(r *Report) any {
				return map[string]any{"Ethernet1/2": []any{finding("pfc-auto", is("Ethernet1/2", "pfc.mode", "auto"))(r), finding("mtu-1500", is("Ethernet1/2", "link.mtu", "1500"))(r), finding("no-qos-policy", is("Ethernet1/2", "qos.trust", "none"))(r)}}
			}),
		"cumulus_nvue_roce_set.txt mode": one("roce.mode"), "cumulus_nvue_roce_set.txt ecn": configECN("swp1", "3", bytesOf, 1), "cumulus_nvue_roce_set.txt watchdog": at("swp1", "watchdog.enabled"),
		"dscp_sp":             group(map[string]any{"26": at("swp1", "qos.dscp.26.priority"), "48": at("swp1", "qos.dscp.48.priority")}),
		"huawei_roce.cfg pfc": at("100GE1/0/1", "qos.pfc.enabled"), "huawei_roce.cfg roce_dscp": dscpWhere("100GE1/0/1", "priority", "3"), "huawei_roce.cfg cnp_dscp": dscpWhere("100GE1/0/1", "priority", "6"),
		"huawei_roce.cfg ecn": configECN("100GE1/0/1", "3", kilobytes, 1000),
		"deadlock_ms": func(r *Report) any {
			return []any{one("pfc.watchdog.detect_steps.3")(r), one("pfc.watchdog.restore_steps.3")(r)}
		}, // as printed; steps of 10 ms
		"h3c_roce.cfg pfc": at("HundredGigE1/0/1", "qos.pfc.enabled"), "h3c_roce.cfg ecn": configECN("HundredGigE1/0/1", "5", raw, 1),
		"dscp_dot1p":                        group(map[string]any{"26": at("HundredGigE1/0/1", "qos.dscp.26.priority"), "48": at("HundredGigE1/0/1", "qos.dscp.48.priority")}),
		"junos_evo_roce_cos.conf pfc":       at("et-*", "qos.pfc.enabled"),
		"junos_evo_roce_cos.conf roce_dscp": dscpWhere("et-*", "queue", "4"), "junos_evo_roce_cos.conf cnp_dscp": dscpWhere("et-*", "queue", "3"),
		"ecn_fill": func(r *Report) any { return []any{at("et-*/4", "ecn.raw_min")(r), at("et-*/4", "ecn.raw_max")(r)} },

		// Show outputs.
		"Ethernet3/3/1":   group(map[string]any{"rx": at("Ethernet3/3/1", "pfc.rx_frames"), "tx": at("Ethernet3/3/1", "pfc.tx_frames")}),
		"Et31/1":          group(map[string]any{"rx": at("Et31/1", "pfc.rx_frames"), "tx": at("Et31/1", "pfc.tx_frames")}),
		"Ethernet10/16/1": group(map[string]any{"0": at("Ethernet10/16/1/0", "queue.ecn_marked_packets"), "1": at("Ethernet10/16/1/1", "queue.ecn_marked_packets")}),
		"nxos_show_interface_pfc.txt Ethernet1/2": group(map[string]any{"mode": at("Ethernet1/2", "pfc.mode"), "rx": at("Ethernet1/2", "pfc.rx_frames"), "tx": at("Ethernet1/2", "pfc.tx_frames"),
			"oper": func(r *Report) any { return map[any]any{true: "on", false: "off"}[at("Ethernet1/2", "pfc.active")(r)] },
			"vl_bitmap": func(r *Report) any {
				mask := 0
				for _, p := range at("Ethernet1/2", "qos.pfc.enabled")(r).([]string) {
					mask |= 1 << (p[0] - '0')
				}
				return mask
			}}),
		"Ethernet1/27":                  group(map[string]any{"oper": func(r *Report) any { return map[any]any{true: "on", false: "off"}[at("Ethernet1/27", "pfc.active")(r)] }}),
		"group3":                        group(map[string]any{"tx_pkts": at("Ethernet1/49/3", "queue.packets"), "drops": at("Ethernet1/49/3", "queue.drop_packets"), "pause_bytes": at("Ethernet1/49/3", "pg.xoff"), "resume_bytes": at("Ethernet1/49/3", "pg.xon")}),
		"nxos_show_queuing_n9k.txt pfc": group(map[string]any{"tx": at("Ethernet1/49", "pfc.tx_frames"), "rx": at("Ethernet1/49", "pfc.rx_frames")}),
		"cos3":                          group(map[string]any{"tx": at("Ethernet1/49/3", "pfc.tx_frames"), "rx": at("Ethernet1/49/3", "pfc.rx_frames")}),
		"ingress_drops":                 at("Ethernet1/49", "port.rx_drops"), "wred_drops": at("Ethernet1/49", "port.wred_drops"),
		"Ethernet1/23": group(map[string]any{"group3": group(map[string]any{"shutdown": at("Ethernet1/23/3", "watchdog.storms"), "restored": at("Ethernet1/23/3", "watchdog.restores"),
			"dropped": at("Ethernet1/23/3", "watchdog.dropped_packets"), "ingress_dropped": at("Ethernet1/23/3", "watchdog.ingress_dropped_packets")})}),
		"Ethernet3/1":                       group(map[string]any{"rx_dbm": at("Ethernet3/1", "module.lane.1.rx_power"), "tx_dbm": at("Ethernet3/1", "module.lane.1.tx_power"), "alarms": func(r *Report) any { return alarms(r) }}),
		"cumulus_nv_show_qos_roce.txt mode": one("roce.mode"), "cumulus_nv_show_qos_roce.txt pfc": one("qos.pfc.enabled"), "cumulus_nv_show_qos_roce.txt ecn": nvueECN, "cumulus_nv_show_qos_roce.txt trust": trustList,
		"sp_tc":                          asMap("qos.priority.*.tc"),
		"cumulus_if_roce_status.txt pfc": one("qos.pfc.enabled"), "cumulus_if_roce_status.txt cnp_dscp": one("dcqcn.cnp_dscp"), "cumulus_if_roce_status.txt roce_dscp": one("roce.dscp"),
		"cumulus_if_roce_counters.txt ecn_marked": one("queue.ecn_marked_packets"), "tx_roce_packets": one("roce.tx_packets"), "tx_discards": one("roce.tx_discards"), "rx_pause": one("pfc.rx_frames"),
		"deadlocked": subjects("watchdog.state", "stormed", "/", ""), "counts": func(r *Report) any {
			out := map[string]any{}
			for k, v := range bySubject("watchdog.storms")(r).(map[string]any) {
				out[strings.Trim(k, "/")] = v
			}
			return out
		},
		"4":    group(map[string]any{"min": at("4", "ecn.min"), "max": at("4", "ecn.max"), "prob": at("4", "ecn.probability")}),
		"test": one("netq.check.roce_3.name"), "active": one("netq.check.roce_3.active"), "reasons": func(r *Report) any { return len(lookup(r, "netq.reason")) },
		"onyx_show_roce.txt mode": one("roce.mode"), "onyx_show_roce.txt pfc": one("qos.pfc.enabled"),
		"onyx_show_roce.txt trust": func(r *Report) any { return map[any]any{"dscp": "L3", "pcp": "L2"}[one("qos.trust")(r)] },
		"ecn_kb":                   func(r *Report) any { return []any{divided("ecn.min", 1000)(r), divided("ecn.max", 1000)(r)} },
		"100GE1/0/3":               group(map[string]any{"rx": at("100GE1/0/3/3", "pfc.rx_frames"), "tx": at("100GE1/0/3/3", "pfc.tx_frames"), "deadlock": at("100GE1/0/3/3", "watchdog.storms"), "recovery": at("100GE1/0/3/3", "watchdog.restores")}),
		"100GE1/0/1":               group(map[string]any{"queue": 4, "low": at("100GE1/0/1/4", "ecn.min"), "high": at("100GE1/0/1/4", "ecn.max"), "prob": at("100GE1/0/1/4", "ecn.probability"), "model": at("100GE1/0/1/4", "ecn.model")}),
		"HGE1/0/1": group(map[string]any{"dot1p": at("HGE1/0/1", "qos.pfc.enabled"), "prio0": group(map[string]any{"rx": at("HGE1/0/1/0", "pfc.rx_frames"), "tx": at("HGE1/0/1/0", "pfc.tx_frames"),
			"in_pps": at("HGE1/0/1/0", "pfc.rx_frame_rate"), "out_pps": at("HGE1/0/1/0", "pfc.tx_frame_rate")})}),
		"HGE1/0/4": group(map[string]any{"dot1p": at("HGE1/0/4", "qos.pfc.enabled")}),
		"3":        group(map[string]any{"rx": at("et-0/0/1/3", "pfc.rx_frames"), "tx": at("et-0/0/1/3", "pfc.tx_frames")}),
		"1001":     group(map[string]any{"sent": at("1001", "pfc.tx_frames"), "received": at("1001", "pfc.rx_frames")}),
		"openconfig_qos_queue_state.json queue": func(r *Report) any {
			for s := range bySubject("queue.packets")(r).(map[string]any) {
				return strings.TrimPrefix(s, "Ethernet1/1/")
			}
			return missing
		},
		"openconfig_qos_queue_state.json dropped": one("queue.drop_packets"), "openconfig_qos_queue_state.json ecn_marked": one("queue.ecn_marked_packets"),
	})
}

package evidence

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/internal/fact"
)

func TestPerftestSamples(t *testing.T) {
	find := map[string]finder{
		"link_type": one("perftest.link_type"), "mtu": one("perftest.mtu"), "gid_index": one("perftest.gid_index"), "qps": one("perftest.qps"), "rows": one("perftest.rows"),
		"largest_row_bw_avg_gbps": divided("perftest.largest_bandwidth", 1e9), "bw_avg_gbps": divided("perftest.largest_bandwidth", 1e9), "avg_gbps": divided("perftest.largest_bandwidth", 1e9),
		"forced": one("perftest.link_type_forced"), "device": one("perftest.device"), "unit": one("perftest.unit"),
		"verb": func(r *Report) any { return one("perftest.verb")(r) }, "bw_avg_MBps": divided("perftest.largest_bandwidth", 8*1048576),
		"t_min_us": one("perftest.latency.min.2"), "t_max_us": one("perftest.latency.max.2"), "t_typical_us": one("perftest.latency.typical.2"), "t_avg_us": one("perftest.latency.average.2"),
		"p99_us": one("perftest.latency.p99.2"), "p999_us": one("perftest.latency.p999.2"), "typical_us": one("perftest.latency.typical.2"),
		"warnings": one("perftest.warnings"), "error": one("perftest.error"), "status": one("perftest.error.status"), "syndrome": one("perftest.error.vendor"), "vendor": one("perftest.error.vendor"),
		"text": one("perftest.error.text"), "peak_gbps": divided("perftest.largest_peak", 1e9),
		"peak": divided("perftest.largest_peak", 1e9),
		"send_bw_duration_no_peak_100g.txt peak": func(r *Report) any {
			if v := lookup(r, "perftest.largest_peak"); len(v) == 1 && v[0].Kind() == fact.Absent {
				return "not measured"
			}
			return missing
		},
		"last": func(r *Report) any {
			return map[string]any{"bytes": one("perftest.largest_size")(r), "avg_gbps": divided("perftest.largest_bandwidth", 1e9)(r)}
		},
		"ib_write_bw_low.txt findings": func(r *Report) any {
			bw := divided("perftest.largest_bandwidth", 1e9)(r).(float64)
			if same(uint64(1024), one("perftest.mtu")(r)) && bw < 25 {
				return []any{"rdma-mtu-1024", "low-bandwidth"}
			}
			return missing
		},
	}
	for _, file := range []string{"send_bw_10g.txt", "send_bw_duration_no_peak_100g.txt"} {
		find[file+" verb"] = func(r *Report) any { return strings.TrimSuffix(fmt.Sprint(one("perftest.verb")(r)), "_bw") }
	}
	checkIndex(t, "perftest", "index.yaml", find)
	checkIndex(t, "perftest", "index_counters.yaml", find)
}

func TestNCCLSamples(t *testing.T) {
	const gb = 8e9
	devices := func(r *Report) []string {
		var names []string
		for _, d := range lookup(r, "nccl.network_devices")[0].List() {
			name, _, _ := strings.Cut(d, ":")
			names = append(names, name)
		}
		return names
	}
	layer := func(r *Report) any {
		seen := map[any]bool{}
		for _, v := range indexed("nccl.layer.*")(r) {
			seen[v[0]] = true
		}
		if len(seen) == 1 && seen["RoCE"] {
			return "RoCE"
		}
		return missing
	}
	find := map[string]finder{
		"ranks_by_ratio": one("nccl_tests.ranks_by_ratio"), "largest_busbw": divided("nccl_tests.largest_busbw", gb), "avg_busbw": divided("nccl_tests.average_busbw", gb),
		"all_reduce_perf_low.txt largest_busbw": func(r *Report) any { // the index has one digit
			return math.Round(divided("nccl_tests.largest_busbw", gb)(r).(float64)*10) / 10
		},
		"first_busbw": divided("nccl_tests.first_busbw", gb), "rows": one("nccl_tests.rows"), "ranks": one("nccl_tests.ranks"),
		"all_reduce_one_node_8_h100.txt ranks": one("nccl_tests.ranks_by_ratio"), // the list of ranks was cut to two
		"tag_prefix": func(r *Report) any {
			if r.Sources[0].Tools[0] == "nccl-tests" && r.Sources[0].NotUnderstood == 1 { // a line of stderr
				return "[1,0]<stdout>:"
			}
			return missing
		},
		"ratio_busbw_algbw": func(r *Report) any {
			if v := lookup(r, "nccl_tests.bus_ratio"); len(v) == 1 {
				if f, _ := v[0].Float(); math.Abs(f-1.88) < 0.02 {
					return "about 1.88"
				}
			}
			return missing
		},
		"busbw_min": func(r *Report) any { return extreme(r, "nccl_tests.out.busbw.*", -1) / gb }, "busbw_max_inplace": func(r *Report) any { return extreme(r, "nccl_tests.in.busbw.*", 1) / gb },
		"devices": func(r *Report) any { return devices(r) }, "link": layer,
		"log_nine_bonds_roce_v27.log devices": func(r *Report) any { return len(devices(r)) }, "log_bond_roce_env_status12.log devices": func(r *Report) any { return len(devices(r)) },
		"rings": one("nccl.rings"), "nranks": func(r *Report) any { // the log has no line that says it: two ranks stand in the order of ranks
			return len(strings.Fields(lookupSubject(r, "node-b/4607", "nccl.ring.0")))
		},
		"log_irdma_roce.log nranks": one("nccl.ranks"), "chunk": one("nccl.p2p_chunk"),
		"includes_management_bond": func(r *Report) any {
			if slices.Contains(devices(r), "mlx5_bond_0") && strings.HasPrefix(fmt.Sprint(one("nccl.oob")(r)), "bond0:") {
				return "mlx5_bond_0"
			}
			return missing
		},
		"ib_tc": one("nccl.env.NCCL_IB_TC"), "ib_timeout": one("nccl.env.NCCL_IB_TIMEOUT"), "retry": one("nccl.env.NCCL_IB_RETRY_CNT"), "tc": one("nccl.env.NCCL_IB_TC"),
		"completion_status": one("nccl.error.status"), "vendor_err": one("nccl.error.vendor"), "gdrdma": one("nccl.gdrdma"),
		"coll_channels": one("nccl.channels.coll"), "p2p_channels": one("nccl.channels.p2p"), "plugin": one("nccl.plugin"),
		"gid_index": one("nccl.qp.gid_index"), "mtu_bytes": one("nccl.qp.mtu"),
		"mtu_enum": func(r *Report) any { // 3 stands for 1024 bytes
			return map[any]any{uint64(256): 1, uint64(512): 2, uint64(1024): 3, uint64(2048): 4, uint64(4096): 5}[one("nccl.qp.mtu")(r)]
		},
		"connected": func(r *Report) any { return same([]any{"rings", "trees"}, one("nccl.connected")(r)) },
		"network":   one("nccl.network"), "gdr": one("nccl.gdrdma"), "hcas": func(r *Report) any { return devices(r) },
		"gid_index_env":                    one("nccl.env.NCCL_IB_GID_INDEX"),
		"net_socket_fallback.log findings": labels(has("nccl-socket-fallback", "nccl.no_device=true", "nccl.network=Socket")),
		"errors":                           func(r *Report) any { return len(lookup(r, "nccl.error.status")) }, "status": all("nccl.error.status"),
		"peers": all("nccl.error.peer"),
		"link_local": func(r *Report) any {
			n := 0
			for _, v := range lookup(r, "nccl.error.link_local") {
				if b, _ := v.Bool(); b {
					n++
				}
			}
			return n
		},
		"net_ib_bad_gid_index.log findings": labels(has("gid-index-wrong", "nccl.env.NCCL_IB_GID_INDEX=3", "nccl.error.call=ibv_modify_qp", "nccl.error.errno=19")), // ENODEV
		"dscp":                              one("nccl.tc.dscp"), "nccl_env_dump.txt gid_index": one("nccl.env.NCCL_IB_GID_INDEX"), "hca_exact": one("nccl.hca.exact"),
		"nccl_env_dump.txt hcas": func(r *Report) any { return len(lookup(r, "nccl.hca.devices")[0].List()) },
	}
	checkIndex(t, "nccl", "index.yaml", find)
	checkIndex(t, "nccl", "index_counters.yaml", find)
}

func extreme(r *Report, pattern string, sign float64) float64 {
	best := math.Inf(-1)
	for _, v := range indexed(pattern)(r) {
		f, _ := strconv.ParseFloat(fmt.Sprint(v[0]), 64)
		best = max(best, sign*f)
	}
	return sign * best
}

func lookupSubject(r *Report, subject, key string) string {
	for _, f := range r.Facts {
		if f.Key == key && f.Subject.String() == subject {
			return f.Value.String()
		}
	}
	return missing
}

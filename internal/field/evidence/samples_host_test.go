package evidence

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestHostSamples(t *testing.T) {
	checkIndex(t, "host", "index.yaml", map[string]finder{
		"gpus": one("topo.gpus"), "nics": one("topo.nics"),
		"GPU0":         func(r *Report) any { return map[string]any{"NIC0": one("topo.path.NIC0")(r)} },
		"nic_names":    func(r *Report) any { return map[string]any{"NIC0": one("topo.nic.0")(r)} },
		"acs_redirect": one("pcie.acs.redirect"), "lspci_acsctl.txt findings": labels(has("acs-on-pcie-switch", "pcie.acs.redirect=true")),
		"pcie_limited_gbps": divided("pcie.bandwidth", 1e9), "capable_gbps": divided("pcie.max_bandwidth", 1e9),
		"dmesg_mlx5_pcie.txt findings": labels(has("pcie-width", "pcie.width=8", "pcie.max_width=16"), has("slot-power", "kernel.event=pcie_power", "pcie.slot_power=27")),
		"mlx5_0":                       ibstatPort("mlx5_0"), "mlx5_1": ibstatPort("mlx5_1"),
		"tos": one("roce.cma.tos"), "dscp": one("roce.cma.dscp"), "ecn_bits": one("roce.cma.ecn_bits"), "mode": one("roce.cma.mode"),
		"tcp_ecn": one("sysctl.net.ipv4.tcp_ecn"), "arp_ignore": one("sysctl.net.ipv4.conf.all.arp_ignore"), "arp_announce": one("sysctl.net.ipv4.conf.all.arp_announce"),
		"rp_filter": one("sysctl.net.ipv4.conf.all.rp_filter"), "peermem": one("host.peermem"),
	})
}

func ibstatPort(dev string) finder {
	return func(r *Report) any {
		m := map[string]any{}
		for _, f := range r.Facts {
			if f.Subject.Name != dev {
				continue
			}
			switch f.Key {
			case "rdma.state":
				m["state"] = f.Value.Any()
			case "rdma.phys_state":
				m["phys"] = f.Value.Any()
			case "rdma.rate":
				u, _ := f.Value.Float()
				m["rate"] = u / 1e9
			}
		}
		return m
	}
}

func TestTopologySamples(t *testing.T) {
	nearest := func(want func(path string) bool) func(r *Report) map[string]any {
		return func(r *Report) map[string]any {
			paths, m := bySubject("topo.nearest_path")(r).(map[string]any), map[string]any{}
			for gpu, nics := range bySubject("topo.nearest_nics")(r).(map[string]any) {
				if want(paths[gpu].(string)) {
					m[gpu] = nics
				}
			}
			return m
		}
	}
	checkIndex(t, "topo", "index.yaml", map[string]finder{
		"gpus": one("topo.gpus"), "nics": one("topo.nics"),
		"rail_nics": func(r *Report) any {
			m := nearest(func(p string) bool { return p == "PXB" })(r)
			for i := range 8 {
				if n, ok := m[strconv.Itoa(i)].([]string); !ok || len(n) != 1 || n[0] != "mlx5_1"+strconv.Itoa(i) {
					return missing
				}
			}
			return []any{"mlx5_10..mlx5_17"}
		},
		"storage_or_mgmt": func(r *Report) any { return strings.Join(lookup(r, "topo.unassigned_nics")[0].List(), ",") },
		"flat":            one("topo.flat"), "likely_vm": one("topo.flat"),
		"best": func(r *Report) any {
			m := map[string]any{}
			for gpu, nics := range nearest(func(string) bool { return true })(r) {
				for i, name := range nics.([]string) {
					if i == 0 {
						m["GPU"+gpu] = strings.Replace(name, "mlx5_", "NIC", 1) // the legend: NICn is mlx5_n
					}
				}
			}
			return m
		},
		"nvlink": func(r *Report) any {
			if one("topo.nvlink")(r) == false {
				return "none"
			}
			return "some"
		},
		"gpus_without_near_nic": one("topo.gpus_without_near_nic"),
		"gpus_with_pix": func(r *Report) any {
			var list []string
			for gpu := range nearest(func(p string) bool { return p == "PIX" })(r) {
				list = append(list, gpu)
			}
			slices.Sort(list)
			return list
		},
	})
}

package verdict

import (
	"weir/internal/answer/expect"
	"weir/internal/cluster"
	"weir/internal/twin"
	"weir/units"
)

// oneReceiver tells whether several flows go to one NIC.
func oneReceiver(r *twin.Result) bool {
	for _, f := range r.Flows {
		if f.Dst != r.Flows[0].Dst {
			return false
		}
	}
	return len(r.Flows) > 1
}

// nicShare returns the time that the busiest NIC alone would need for the bytes
// of all flows over the time that they took. false: some are not finished.
func nicShare(c *cluster.Cluster, r *twin.Result) (float64, bool) {
	rates := map[string]float64{}
	for h := range c.Hosts {
		for n := range c.Hosts[h].NICs {
			ref := cluster.NICRef{Host: int32(h), NIC: int32(n)}
			var rate units.BitRate
			for _, p := range c.Hosts[h].NICs[n].Ports {
				rate += c.Ports[p].Rate
			}
			if pcie := c.Hosts[h].NICs[n].PCIe; pcie > 0 {
				rate = min(rate, pcie)
			}
			rates[twin.NICName(c, ref)] = float64(rate) / 8 * expect.PayloadShare(c)
		}
	}
	out, in := map[string]float64{}, map[string]float64{}
	first, last := units.Never, units.Time(0)
	for _, f := range r.Flows {
		if f.FCT == 0 {
			return 0, false
		}
		out[f.Src] += float64(f.Bytes)
		in[f.Dst] += float64(f.Bytes)
		first, last = min(first, f.Start), max(last, f.Start+f.FCT)
	}
	var need float64
	for _, side := range []map[string]float64{out, in} {
		for nic, bytes := range side {
			if rates[nic] > 0 {
				need = max(need, bytes/rates[nic])
			}
		}
	}
	if last <= first || need == 0 {
		return 0, false
	}
	return need / (last - first).Seconds(), true
}

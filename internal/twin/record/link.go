package record

import (
	"weir/internal/telemetry"
	"weir/internal/twin/sim"
	"weir/units"
)

// A stall is one direction of a card's way to memory.
type stall struct {
	series uint32
	before units.Time
}

// stalls sets the share of the interval that PCIe was stalled, in percent. (A
// card tells it of the last second; a simulation rarely lasts that long.)
func (r *Sampler) stalls(k *card, c *sim.NICCounters, interval units.Time) {
	for i, now := range [...]units.Time{c.StalledWrite, c.StalledRead} {
		s := &k.stall[i]
		if now < s.before { // the next simulator
			s.before = 0
		}
		share := min(100, uint64((now-s.before)*100/interval))
		s.before = now
		r.set(s.series, share)
	}
}

// A linkMetric is a metric of one port's link with its last label.
type linkMetric struct{ metric, label string }

const maxLink = 11

// none is no series.
const none = ^uint32(0)

// What hosts and switches count of a link, in the order of linkValues; an empty
// name: they do not.
var (
	hostLink = [maxLink]linkMetric{
		{"rdma_netdev_rx_oversize_pkts_phy_total", ""}, {"rdma_phy_rx_crc_errors_total", ""},
		{"rdma_phy_rx_corrected_bits_total", ""}, {"rdma_phy_rx_err_lane_total", "0"}, {"rdma_phy_rx_err_lane_total", "1"},
		{"rdma_phy_rx_symbol_err_total", ""}, {"rdma_phy_link_down_events_total", ""}, {},
		{"rdma_netdev_global_pause_frames_total", "tx"}, {"rdma_netdev_global_pause_frames_total", "rx"}, {},
	}
	switchLink = [maxLink]linkMetric{
		{}, {"roce_switch_port_errors_total", "rx"},
		{"roce_switch_fec_symbol_errors_total", ""}, {}, {},
		{"roce_switch_fec_uncorrected_frames_total", ""}, {}, {"roce_switch_link_changes_total", ""},
		{"roce_switch_global_pause_frames_total", "tx"}, {"roce_switch_global_pause_frames_total", "rx"},
		{"roce_switch_port_discards_total", "rx"},
	}
)

// linkValues: all corrected bits are on one lane, as with a bad laser. A filter
// of a NIC counts nothing that the metric table knows.
func linkValues(c *sim.LinkCounters) [maxLink]uint64 {
	return [maxLink]uint64{
		c.Oversize, c.Corrupted, c.CorrectedBits, c.CorrectedBits, 0, c.Corrupted, c.Downs, c.Changes,
		c.LinkPauseTx, c.LinkPauseRx, c.Oversize + c.Filtered,
	}
}

func (r *Sampler) addLink(reg *telemetry.Registry, metrics [maxLink]linkMetric, at []string) (series [maxLink]uint32) {
	for i, m := range metrics {
		series[i] = none
		switch {
		case m.metric == "":
		case m.label == "":
			series[i] = r.add(reg, m.metric, at...)
		default:
			series[i] = r.add(reg, m.metric, append(at[:len(at):len(at)], m.label)...)
		}
	}
	return series
}

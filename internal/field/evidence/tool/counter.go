package tool

import (
	"strings"

	"weir/internal/fact"
	"weir/internal/telemetry"
)

// The families of the metric table in the order in which they are asked for a
// counter's name. Few names stand in two families, and they mean the same there.
var (
	rdmaFamilies    = []string{telemetry.MLX5, telemetry.Irdma, telemetry.Ionic, telemetry.BnxtRe, telemetry.BnxtReOOT}
	ethtoolFamilies = []string{telemetry.MLX5Ethtool, telemetry.BnxtEnEthtool, telemetry.IonicEthtool, telemetry.IceEthtool}
	switchFamilies  = []string{telemetry.SONiC, telemetry.OpenConfig}
)

// counterMeaning returns the unit of a vendor's counter, and the series of the
// metric table that it is, such as
// rdma_roce_pfc_pause_frames_total{direction="rx",priority="3"}; "" if it is none.
func counterMeaning(tool string, s fact.Subject, name string) (unit, metric string) {
	families := rdmaFamilies
	switch {
	case strings.HasPrefix(tool, "ethtool"):
		families = ethtoolFamilies
	case s.Kind != fact.NIC && s.Kind != fact.QueuePair && s.Kind != fact.PCI:
		families = switchFamilies
	case strings.HasPrefix(s.Name, "bnxt_re"):
		families = []string{telemetry.BnxtReOOT, telemetry.BnxtRe}
	}
	for _, family := range families {
		src, ok := telemetry.Vendor(family, name)
		if !ok {
			continue
		}
		m := telemetry.Table()[src.Metric]
		return m.Unit, seriesName(m.Name, src.Labels)
	}
	return unitByName(name), ""
}

func seriesName(name string, labels []telemetry.Label) string {
	if len(labels) == 0 {
		return name
	}
	var b strings.Builder
	b.WriteString(name)
	for i, l := range labels {
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		b.WriteString(l.Name + `="` + l.Value + `"`)
	}
	b.WriteByte('}')
	return b.String()
}

// unitByName tells the unit of a counter outside the table from its name, ""
// where that does not say.
func unitByName(name string) string {
	n := strings.ToLower(name)
	switch {
	case n == "port_xmit_data", n == "port_rcv_data":
		return "words4" // InfiniBand counts data in words of four bytes
	case n == "port_xmit_wait":
		return "ticks"
	case strings.HasSuffix(n, "_duration_us"), strings.HasSuffix(n, "_pause_duration"), strings.HasSuffix(n, "_pause_time_us"):
		return "us"
	case strings.Contains(n, "bytes"), strings.Contains(n, "octets"):
		return "bytes"
	case strings.Contains(n, "packets"), strings.Contains(n, "pkts"):
		return "packets"
	case strings.Contains(n, "frames"), strings.HasSuffix(n, "_pause"):
		return "frames"
	}
	return ""
}

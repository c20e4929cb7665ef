package tool

import "strings"

// counterUnit returns the unit of a vendor's counter and the metric's name.
func counterUnit(name string) (unit, metric string) {
	return unitByName(name), ""
}

// unitByName tells a counter's unit from its name, "" where it does not say.
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

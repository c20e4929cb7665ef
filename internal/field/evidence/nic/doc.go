// Package nic reads what the tools around NICs print: ethtool, rdma, dcb,
// mlnx_qos, ibv_devinfo and their kin, and the files of /sys about them.
package nic

import "weir/internal/field/evidence/tool"

// Parsers returns the table rows of this package.
func Parsers() []tool.Parser {
	return []tool.Parser{
		mlnxQoS, niccli, lldptool, dcbTool, nicctl,
		ethtoolSettings, ethtoolStatistics, ethtoolModule, ethtoolPause, ethtoolDriver, ethtoolFEC,
		rdmaTool, ibvDevinfo, ibstat, showGIDs, sysfs, mlxconfig,
		cmaTOS, cmaMode, ipAddr, lldpctl,
	}
}

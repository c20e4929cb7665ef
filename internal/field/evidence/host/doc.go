// Package host reads what a machine says of itself: PCIe devices, kernel
// modules, messages and settings, limits, environment, and which GPU is near
// which NIC.
package host

import "weir/internal/field/evidence/tool"

// Parsers returns the table rows of this package.
func Parsers() []tool.Parser {
	return []tool.Parser{
		smiTopology, rocmTopology, topologyXML,
		lspci, lsmod, devlink, sysctl, dmesg, limits,
		environment, commandLine, stated,
	}
}

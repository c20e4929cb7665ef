// Package nccl reads the logs of NCCL and RCCL: devices, addresses, channels,
// rings and trees, settings, warnings and errors.
package nccl

import "weir/internal/field/evidence/tool"

// Parsers returns the table rows of this package.
func Parsers() []tool.Parser {
	return []tool.Parser{log, app}
}

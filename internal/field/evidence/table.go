package evidence

import (
	"slices"

	"weir/internal/field/evidence/host"
	"weir/internal/field/evidence/nccl"
	"weir/internal/field/evidence/nic"
	"weir/internal/field/evidence/switches"
	"weir/internal/field/evidence/tests"
	"weir/internal/field/evidence/tool"
)

// Parsers returns the table of all parsers. Where two give a line the same
// score, the earlier one gets it.
func Parsers() []tool.Parser {
	return slices.Concat(
		nccl.Parsers(),
		tests.Parsers(),
		nic.Parsers(),
		switches.Parsers(),
		host.Parsers(),
	)
}

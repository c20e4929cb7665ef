// Package tests reads the results of perftest (ib_write_bw and its kin) and
// nccl-tests (all_reduce_perf and its kin).
package tests

import "weir/internal/field/evidence/tool"

// Parsers returns the table rows of this package.
func Parsers() []tool.Parser {
	return []tool.Parser{perftest, ncclTests, flows}
}

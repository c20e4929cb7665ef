package acceptance

import (
	"slices"
	"strconv"
	"strings"
)

// collective reads a run of nccl-tests: a row for each size.
func (o *Results) collective(path string, r *Record, t *run) {
	base := CollectiveResult{Op: opOf(t.text("nccl_tests.program")), Ranks: int(t.number("nccl_tests.ranks")), Nodes: int(t.number("nccl_tests.nodes")), Source: path, Error: t.text("nccl_tests.error")}
	if r != nil {
		base.Pass = r.Pass
		if r.Nodes > 0 {
			base.Nodes = r.Nodes
		}
		if base.Op == "" {
			base.Op = r.Test
		}
		if base.Error == "" {
			base.Error = r.Error
		}
	}
	for key, v := range t.facts {
		if strings.HasPrefix(key, "nccl_tests.rank_host.") && !slices.Contains(base.Hosts, v.String()) {
			base.Hosts = append(base.Hosts, v.String())
		}
	}
	slices.Sort(base.Hosts)
	if base.Nodes == 0 {
		base.Nodes = len(base.Hosts)
	}
	rows := 0
	for key := range t.facts {
		size, ok := strings.CutPrefix(key, "nccl_tests.out.busbw.")
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(size, 10, 64)
		if err != nil {
			continue
		}
		row := base
		row.Bytes, row.BusBW = n, t.number(key)/8
		row.Wrong = uint64(t.number("nccl_tests.out.wrong."+size)) + uint64(t.number("nccl_tests.in.wrong."+size))
		o.Collectives = append(o.Collectives, row)
		rows++
	}
	if rows == 0 {
		if base.Error == "" {
			base.Error = "no result in what it printed"
		}
		o.Collectives = append(o.Collectives, base)
	}
	slices.SortStableFunc(o.Collectives, func(a, b CollectiveResult) int {
		if a.Source != b.Source {
			return strings.Compare(a.Source, b.Source)
		}
		return int(int64(a.Bytes) - int64(b.Bytes))
	})
}

// opOf is the operation that a program of nccl-tests measures.
func opOf(program string) string {
	name := strings.TrimSuffix(program[strings.LastIndexByte(program, '/')+1:], "_perf")
	switch name {
	case "alltoall":
		return "all_to_all"
	case "":
		return ""
	}
	return name
}

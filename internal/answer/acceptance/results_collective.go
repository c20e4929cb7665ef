package acceptance

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weir/internal/answer/expect"
	"weir/internal/collective"
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
	if base.Ranks == 0 { // the head is cut off: the ratio of both bandwidths tells
		base.Ranks = int(t.number("nccl_tests.ranks_by_ratio"))
	}
	if base.Nodes == 0 {
		base.Nodes = nodesNamed(path)
	}
	if _, known := opNamed(base.Op); !known {
		if op := opOf(filepath.Base(path)); base.Op == "" {
			if _, known = opNamed(op); known {
				base.Op = op
			}
		}
	}
	// Versions before 2.17 do not print the program; of all operations only the
	// all-reduce has a bus bandwidth above the other.
	if base.Op == "" && t.number("nccl_tests.bus_ratio") > 1 {
		base.Op = collective.AllReduce.String()
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

// opOf is the operation that a program of nccl-tests measures, or that the name
// of a file begins with; "" where neither tells. The programs are called
// all_reduce_perf, or all_reduce_perf_mpi.
func opOf(program string) string {
	name, _, _ := strings.Cut(program[strings.LastIndexByte(program, '/')+1:], "_perf")
	if strings.HasPrefix(name, "alltoall") {
		return "all_to_all"
	}
	for _, op := range expect.Ops() {
		if strings.HasPrefix(name, op.String()) {
			return op.String()
		}
	}
	return name
}

// inName finds the count of nodes in the name of a file: 8nodes, 8-node, 8_nodes.
var inName = regexp.MustCompile(`(?:^|[^0-9])([0-9]{1,5})[-_]?nodes?(?:[^a-z]|$)`)

func nodesNamed(path string) int {
	m := inName.FindStringSubmatch(filepath.Base(path))
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

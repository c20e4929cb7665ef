package tests

import (
	"math"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	ntVersion = tool.MustCompile(`^# (?:nccl-tests|rccl-tests)(?: version|:? ?Version:?) (\S+)`)
	ntStart   = tool.MustCompile(`^# Collective test (starting|concluded): (\S+)`)
	ntOptions = tool.MustCompile(`^# nThreads?:? (\d+),? nGpus:? (\d+),? minBytes:? (\d+),? maxBytes:? (\d+)(.*)$`)
	ntIters   = tool.MustCompile(`[^p] iters: (\d+)`)
	ntRank    = tool.MustCompile(`^#\s+Rank\s+(\d+)(?: Group\s+\d+)? Pid\s+\d+ on\s+(\S+) device\s+(\d+) \[([^\]]+)\] (.+)$`)
	ntAverage = tool.MustCompile(`^# Avg bus bandwidth\s*: ([\d.]+|nan|-nan)`)
	ntWrong   = tool.MustCompile(`^# Out of bounds values : (\d+)`)
	ntHead    = tool.MustCompile(`^#\s+(?:out-of-place\s+in-place|size\s+count|size\s+time|\(B\)\s+\()`)
	ntType    = tool.MustCompile(`^(?:float|half|double|bfloat16|int8|uint8|int32|uint32|int64|uint64|int|char|fp8_e4m3|fp8_e5m2|f8e4m3|f8e5m2|float8_e4m3|float8_e5m2|float16|float32|float64)$`)
	ntFailure = tool.MustCompile(`Test (?:NCCL|CUDA|HIP|RCCL) failure|: Test failure \S+\.cu|^\S+: Test \S+ failure`)
	ntOther   = tool.MustCompile(`^#(?:\s*$|\s*Using devices|\s+Using devices)`)
)

var ncclTests = tool.Parser{
	Tool:     "nccl-tests",
	Versions: "nccl-tests 2.0 (2019) to 2.18 and rccl-tests; N/A columns, with and without redop, root, #wrong",
	Programs: []string{"all_reduce_perf", "all_gather_perf", "reduce_scatter_perf", "alltoall_perf", "broadcast_perf", "reduce_perf", "sendrecv_perf", "all_reduce_perf_mpi"},
	Keys: []string{
		"nccl_tests.program", "nccl_tests.version", "nccl_tests.ranks", "nccl_tests.nodes", "nccl_tests.ranks_by_ratio", "nccl_tests.bus_ratio", "nccl_tests.threads",
		"nccl_tests.gpus_per_thread", "nccl_tests.min_size", "nccl_tests.max_size", "nccl_tests.iterations", "nccl_tests.type", "nccl_tests.op", "nccl_tests.rows",
		"nccl_tests.out.time.{size}", "nccl_tests.out.algbw.{size}", "nccl_tests.out.busbw.{size}", "nccl_tests.out.wrong.{size}", "nccl_tests.out.error.{size}",
		"nccl_tests.in.time.{size}", "nccl_tests.in.algbw.{size}", "nccl_tests.in.busbw.{size}", "nccl_tests.in.wrong.{size}", "nccl_tests.in.error.{size}",
		"nccl_tests.largest_size", "nccl_tests.first_busbw", "nccl_tests.largest_busbw", "nccl_tests.peak_busbw", "nccl_tests.average_busbw", "nccl_tests.wrong_total",
		"nccl_tests.rank_host.{rank}", "nccl_tests.rank_gpu.{rank}", "nccl_tests.error",
	},
	Recognise: func(w *tool.Window) tool.Score {
		t := strings.TrimSpace(w.First())
		switch {
		case t == "":
		case t[0] == '#':
			for _, re := range []*tool.Pattern{ntVersion, ntStart, ntOptions, ntRank, ntAverage, ntWrong, ntHead} {
				if re.MatchString(t) {
					return tool.Sure
				}
			}
		case strings.Contains(t, "failure") && ntFailure.MatchString(t):
			return tool.Sure
		case t[0] >= '0' && t[0] <= '9':
			if _, ok := ntRow(w.Fields()); ok {
				return tool.Sure
			}
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &ncclRun{ctx: ctx} },
}

// GB/s are 10^9 bytes a second.
const gigabytes = 8e9

// A row of the table: size, count, type, then perhaps reduction and root, and
// for out of place and in place time, algbw, busbw, errors.
type row struct {
	size        uint64
	typ, op     string
	out, in     [4]string
	withInPlace bool
}

// ntRow reads a row from its fields. What stands between type and the first
// time is counted from the right: reduction and root may be missing.
func ntRow(f []string) (row, bool) {
	if len(f) < 7 || len(f) > 13 || !ntType.MatchString(f[2]) {
		return row{}, false
	}
	size, err := strconv.ParseUint(f[0], 10, 64)
	if _, err2 := strconv.ParseUint(f[1], 10, 64); err != nil || err2 != nil {
		return row{}, false
	}
	r := row{size: size, typ: f[2]}
	rest := f[3:]
	switch n := len(rest); {
	case n >= 8 && n <= 10:
		r.withInPlace = true
		copy(r.in[:], rest[n-4:])
		copy(r.out[:], rest[n-8:n-4])
		rest = rest[:n-8]
	case n >= 4 && n <= 6:
		copy(r.out[:], rest[n-4:])
		rest = rest[:n-4]
	default:
		return row{}, false
	}
	for _, v := range append(r.out[:3:3], r.in[:3]...) {
		if _, err := strconv.ParseFloat(v, 64); err != nil && v != "N/A" && v != "" {
			return row{}, false
		}
	}
	if len(rest) > 0 {
		if _, err := strconv.ParseInt(rest[0], 10, 64); err != nil {
			r.op = rest[0]
		}
	}
	return r, true
}

// ncclRun is one run of a nccl-tests program.
type ncclRun struct {
	ctx      *tool.Context
	test     fact.Subject
	named    bool
	program  string
	version  string
	versionN int
	ended    bool // the average was seen
	ranks    map[string]bool
	hosts    map[string]bool
	rankN    int

	rows      uint64
	firstN    int
	first     float64
	peak      float64
	largest   uint64
	largestBW float64
	largestN  int
	ratio     float64
	ratioBW   float64
	typ, op   string
}

func (r *ncclRun) Match(l *tool.Line) tool.Score {
	t := strings.TrimSpace(l.Text)
	switch {
	case t == "":
		return tool.No
	case t[0] == '#':
		switch {
		case ntVersion.MatchString(t), ntOptions.MatchString(t), ntStart.MatchString(t) && !strings.Contains(t, "concluded"):
			if r.rows > 0 || r.ended || ntVersion.MatchString(t) && r.version != "" {
				return tool.No // another run
			}
			return tool.Sure
		case ntRank.MatchString(t) && r.rows > 0:
			return tool.No // the head of another run
		case ntRank.MatchString(t), ntAverage.MatchString(t), ntWrong.MatchString(t), ntHead.MatchString(t), ntStart.MatchString(t), ntOther.MatchString(t):
			return tool.Sure
		}
		return tool.Weak
	case ntFailure.MatchString(t):
		return tool.Sure
	}
	if rw, ok := ntRow(strings.Fields(t)); ok && !r.ended && r.follows(rw) {
		return tool.Sure
	}
	return tool.No
}

// follows reports whether a row continues the table: sizes rise within a run,
// and a run has one type and one reduction.
func (r *ncclRun) follows(rw row) bool {
	return r.rows == 0 || rw.size >= r.largest && rw.typ == r.typ && rw.op == r.op
}

func (r *ncclRun) Take(l *tool.Line, out *tool.Out) {
	t := strings.TrimSpace(l.Text)
	if m := ntStart.FindStringSubmatch(t); m != nil {
		if m[1] == "starting" {
			r.program = m[2]
			r.name(out)
			out.Text(l.N, r.test, "nccl_tests.program", m[2])
		}
		return
	}
	if m := ntVersion.FindStringSubmatch(t); m != nil {
		r.version, r.versionN = m[1], l.N // the program's name follows
		return
	}
	if rw, ok := ntRow(strings.Fields(t)); ok {
		r.name(out)
		r.row(l, out, rw)
		return
	}
	r.name(out)
	switch {
	case ntOptions.MatchString(t):
		r.options(l, out, ntOptions.FindStringSubmatch(t))
	case ntRank.MatchString(t):
		r.rank(l, out, ntRank.FindStringSubmatch(t))
	case ntAverage.MatchString(t):
		r.ended = true
		if v := ntAverage.FindStringSubmatch(t)[1]; !out.Decimal(l.N, r.test, "nccl_tests.average_busbw", v, gigabytes) {
			out.Absent(l.N, r.test, "nccl_tests.average_busbw")
		}
	case ntWrong.MatchString(t):
		out.Number(l.N, r.test, "nccl_tests.wrong_total", ntWrong.FindStringSubmatch(t)[1])
	case ntFailure.MatchString(t):
		out.Text(l.N, r.test, "nccl_tests.error", tool.Kept(t))
	case ntHead.MatchString(t), ntOther.MatchString(t):
	default:
		out.NotUnderstood(l)
	}
}

// name fixes the subject at the first line that says something of the run.
func (r *ncclRun) name(out *tool.Out) {
	if r.named {
		return
	}
	defer func() {
		if r.version != "" {
			out.Text(r.versionN, r.test, "nccl_tests.version", r.version)
		}
	}()
	if r.program == "" {
		for _, w := range r.ctx.Command {
			if base := w[strings.LastIndexByte(w, '/')+1:]; strings.HasSuffix(base, "_perf") || strings.HasSuffix(base, "_perf_mpi") {
				r.program = base
			}
		}
	}
	if r.program == "" {
		r.program = "nccl-tests"
	}
	r.test, r.named = r.ctx.Test(r.program), true
}

func (r *ncclRun) options(l *tool.Line, out *tool.Out, m []string) {
	out.Number(l.N, r.test, "nccl_tests.threads", m[1])
	out.Number(l.N, r.test, "nccl_tests.gpus_per_thread", m[2])
	out.Number(l.N, r.test, "nccl_tests.min_size", m[3])
	out.Number(l.N, r.test, "nccl_tests.max_size", m[4])
	if i := ntIters.FindStringSubmatch(m[5]); i != nil {
		out.Number(l.N, r.test, "nccl_tests.iterations", i[1])
	}
}

// maxRanks bounds the list of ranks of a header.
const maxRanks = 100_000

func (r *ncclRun) rank(l *tool.Line, out *tool.Out, m []string) {
	if r.ranks == nil {
		r.ranks, r.hosts = map[string]bool{}, map[string]bool{}
	}
	if len(r.ranks) >= maxRanks {
		return
	}
	r.ranks[m[1]], r.hosts[m[2]], r.rankN = true, true, l.N
	out.Text(l.N, r.test, "nccl_tests.rank_host."+m[1], m[2])
	out.Text(l.N, r.test, "nccl_tests.rank_gpu."+m[1], m[5])
}

func (r *ncclRun) row(l *tool.Line, out *tool.Out, rw row) {
	r.rows++
	r.typ, r.op = rw.typ, rw.op
	size := "." + strconv.FormatUint(rw.size, 10)
	best := r.half(l, out, "nccl_tests.out", size, rw.out)
	if r.rows == 1 {
		r.firstN, r.first = l.N, best
	}
	if rw.withInPlace {
		best = max(best, r.half(l, out, "nccl_tests.in", size, rw.in))
	}
	r.peak = max(r.peak, best)
	if rw.size >= r.largest {
		r.largest, r.largestBW, r.largestN = rw.size, best, l.N
	}
}

// half puts out one half of a row and returns its bus bandwidth.
func (r *ncclRun) half(l *tool.Line, out *tool.Out, key, size string, v [4]string) float64 {
	put := func(name, text string, factor float64) {
		if !out.Decimal(l.N, r.test, key+name+size, text, factor) {
			out.Absent(l.N, r.test, key+name+size)
		}
	}
	put(".time", v[0], 1)
	put(".algbw", v[1], gigabytes)
	put(".busbw", v[2], gigabytes)
	// Newer releases count wrong values; old ones print the largest error.
	switch _, err := strconv.ParseUint(v[3], 10, 64); {
	case err == nil:
		out.Number(l.N, r.test, key+".wrong"+size, v[3])
	case !out.Decimal(l.N, r.test, key+".error"+size, v[3], 1):
		out.Absent(l.N, r.test, key+".wrong"+size)
	}
	alg, errA := strconv.ParseFloat(v[1], 64)
	bus, errB := strconv.ParseFloat(v[2], 64)
	if errA != nil || errB != nil || math.IsNaN(bus) || math.IsInf(bus, 0) {
		return 0
	}
	if alg > 0 && bus >= r.ratioBW { // the most digits
		r.ratio, r.ratioBW = bus/alg, bus
	}
	return bus * gigabytes
}

func (r *ncclRun) End(out *tool.Out) {
	if len(r.ranks) > 0 {
		out.Uint(r.rankN, r.test, "nccl_tests.ranks", uint64(len(r.ranks)))
		out.Uint(r.rankN, r.test, "nccl_tests.nodes", uint64(len(r.hosts)))
	}
	if r.rows == 0 {
		return
	}
	n := r.largestN
	out.Uint(n, r.test, "nccl_tests.rows", r.rows)
	out.Text(n, r.test, "nccl_tests.type", r.typ)
	if r.op != "" {
		out.Text(n, r.test, "nccl_tests.op", r.op)
	}
	out.Uint(n, r.test, "nccl_tests.largest_size", r.largest)
	out.Float(r.firstN, r.test, "nccl_tests.first_busbw", r.first)
	out.Float(n, r.test, "nccl_tests.largest_busbw", r.largestBW)
	out.Float(n, r.test, "nccl_tests.peak_busbw", r.peak)
	if r.ratio > 0 {
		out.Float(n, r.test, "nccl_tests.bus_ratio", r.ratio)
	}
	if ranks, ok := ranksByRatio(r.ratio); ok && r.op != "none" && r.op != "" && (strings.HasPrefix(r.program, "all_reduce") || r.program == "nccl-tests") {
		out.Uint(n, r.test, "nccl_tests.ranks_by_ratio", ranks)
	}
}

// ranksByRatio inverts the bus factor of all-reduce, 2(n-1)/n. Both
// bandwidths are printed with two digits after the point, so above some
// hundred ranks the ratio tells nothing.
func ranksByRatio(ratio float64) (uint64, bool) {
	if ratio < 0.99 || ratio > 1.99 {
		return 0, false
	}
	n := 2 / (2 - ratio)
	whole := math.Round(n)
	if math.Abs(n-whole) > 0.05*whole || whole < 2 {
		return 0, false
	}
	return uint64(whole), true
}

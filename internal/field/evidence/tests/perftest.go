package tests

import (
	"net/netip"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	perfTitle = tool.MustCompile(`^\s*(RDMA_Write|RDMA_Read|Send|Atomic|RDMA_Write_Imm|RDMA_Write_With_Imm|Raw_Ethernet|Raw Ethernet)(?: \w+)*? (BW|Latency) Test\s*$`)
	perfTable = tool.MustCompile(`^\s*#bytes\s+#iterations\s`)
	// Columns of the heads, in any combination.
	perfColumn = tool.MustCompile(`#bytes|#iterations|BW peak\[[^\]]+\]|BW average\[[^\]]+\]|MsgRate\[Mpps\]|BW Port\d\[[^\]]+\]|MsgRate Port\d\[Mpps\]|CPU_Util\[%\]|t_min\[usec\]|t_max\[usec\]|t_typical\[usec\]|t_avg\[usec\]|t_stdev\[usec\]|99% percentile\[usec\]|99\.9% percentile\[usec\]|tps average`)
	// " Dual-port       : OFF\t\tDevice         : mlx5_0": one or two settings a line.
	perfSetting = tool.MustCompile(`([A-Za-z][\w.*\- /]*?)\s*: (\S+(?: \S+)*?)(?:\s{2,}|\t|$)`)
	perfAddress = tool.MustCompile(`^ ?(local|remote) address: LID (0x[0-9a-fA-F]+|\d+)`)
	perfGID     = tool.MustCompile(`^\s*GID: ((?:\d{2,3}:){15}\d{2,3})\s*$`)
	perfStatus  = tool.MustCompile(`^\s*Failed status(?:-(.*?) \((\d+)\)| (\d+)): wr_id \d+ syndrom (0x[0-9a-fA-F]+)`)
	perfRow     = tool.MustCompile(`^\s*\d+\s+\d+(?:\s+-?[\d.]+)+\s*$`)
	perfCount   = tool.MustCompile(`^\s*scnt=\d+, ccnt=\d+`)
	perfFail    = tool.MustCompile(`^\s*(?:Completion with error at |Failed to |Couldn't |Unable to |Can't |IB device .* not found|Error: |.*[Cc]ouldn't (?:read|connect|create)|Requested mtu is higher|failed to create mr|Unexpected CM event|.* is not supported)`)
	perfWarn    = tool.MustCompile(`^\s*(?:Conflicting CPU frequency values|Warning: |WARNING: |.*CPU Frequency is not max)`)
	// What builds with GPU buffers say about them.
	perfGPU  = tool.MustCompile(`^\s*(?:initializing CUDA|Listing all CUDA devices in system:|CUDA device \d+: PCIe address is |Picking (?:GPU number |device No\. )\d+|\[pid = \d+, dev = \d+\] device name = |creating CUDA Ctx|making it the current CUDA Ctx|cuMemAlloc\(\) of a |allocated (?:\d+ bytes of )?GPU buffer |deallocating (?:RX )?GPU buffer |destroying current CUDA Ctx|Using (?:HIP|ROCm|ROCM) |Trying to initialize HIP)`)
	perfWait = tool.MustCompile(`Waiting for client .*to connect`)
)

// perfLabels maps settings of the header to the vocabulary; the rest go under
// perftest.setting.
var perfLabels = map[string]string{
	"Device": "perftest.device", "Connection type": "perftest.connection", "Transport type": "perftest.transport", "Data ex. method": "perftest.exchange",
	"Number of qps": "perftest.qps", "TX depth": "perftest.tx_depth", "GID index": "perftest.gid_index", "Mtu": "perftest.mtu",
	"PCIe relax order": "perftest.relaxed_ordering", "rdma_cm QPs": "perftest.rdma_cm", "Link type": "perftest.link_type",
}

var perftest = tool.Parser{
	Tool:     "perftest",
	Versions: "perftest 4.x to 25.x: bandwidth and latency, by iterations and duration, dual port, old and new failure lines",
	Keys: []string{
		"perftest.verb", "perftest.device", "perftest.link_type", "perftest.link_type_forced", "perftest.connection", "perftest.transport", "perftest.rdma_cm", "perftest.exchange",
		"perftest.qps", "perftest.mtu", "perftest.gid_index", "perftest.tx_depth", "perftest.relaxed_ordering", "perftest.setting.{name...}", "perftest.local_gid", "perftest.remote_gid",
		"perftest.unit", "perftest.rows", "perftest.largest_size", "perftest.largest_bandwidth", "perftest.largest_peak", "perftest.bandwidth.{size}", "perftest.peak.{size}",
		"perftest.message_rate.{size}", "perftest.iterations.{size}", "perftest.latency.min.{size}", "perftest.latency.max.{size}", "perftest.latency.typical.{size}",
		"perftest.latency.average.{size}", "perftest.latency.stdev.{size}", "perftest.latency.p99.{size}", "perftest.latency.p999.{size}", "perftest.transactions.{size}",
		"perftest.error", "perftest.error.text", "perftest.error.status", "perftest.error.vendor", "perftest.warning", "perftest.warnings", "host.cpu_frequency_low",
		"perftest.cpu.{size}", "perftest.bandwidth_port.{port}.{size}",
	},
	Recognise: func(w *tool.Window) tool.Score {
		t := w.First()
		switch {
		case perfTitle.MatchString(t), perfTable.MatchString(t) && perfColumn.MatchString(t), perfStatus.MatchString(t),
			strings.HasPrefix(strings.TrimSpace(t), "Completion with error at "), perfGID.MatchString(t), perfAddress.MatchString(t), perfWait.MatchString(t),
			perfGPU.MatchString(t):
			return tool.Sure
		case strings.HasPrefix(t, " Dual-port "), strings.HasPrefix(t, " CQ Moderation "), strings.HasPrefix(t, " Data ex. method "):
			return tool.Sure // the title was cut
		case strings.Contains(t, "CPU") && perfWarn.MatchString(t), strings.HasPrefix(t, "Failed to modify QP"), strings.Contains(t, "Unable to Connect the HCA's through the link"):
			return tool.Likely
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &perfRun{ctx: ctx} },
}

// perfRun is one run of a perftest program.
type perfRun struct {
	ctx     *tool.Context
	test    fact.Subject
	named   bool
	line    int
	header  bool // a setting was seen
	columns []string
	side    string // of the address line before a GID
	link    string
	linkN   int
	lids    int // addresses with a LID of zero, or -1 once one is not

	rows     uint64
	size     uint64
	last     perfResult
	lastN    int
	warnings uint64
	failed   bool
}

type perfResult struct {
	bw, peak float64
	has      bool
	peakOK   bool
}

func (r *perfRun) Match(l *tool.Line) tool.Score {
	t := l.Text
	switch {
	case perfTitle.MatchString(t), strings.HasPrefix(t, " Dual-port ") && r.header:
		if r.named || r.header {
			return tool.No // another run
		}
		return tool.Sure
	case perfTable.MatchString(t), perfStatus.MatchString(t), perfAddress.MatchString(t), perfGID.MatchString(t), perfCount.MatchString(t):
		return tool.Sure
	case r.columns != nil && perfRow.MatchString(t) && len(strings.Fields(t)) <= len(r.columns):
		return tool.Sure
	case perfGPU.MatchString(t):
		return tool.Sure
	case perfWait.MatchString(t):
		if r.rows > 0 || r.failed {
			return tool.No
		}
		return tool.Sure
	case r.rows == 0 && strings.HasPrefix(t, " ") && !strings.HasPrefix(t, "  ") && perfSetting.MatchString(t):
		return tool.Sure - 1
	case perfFail.MatchString(t), perfWarn.MatchString(t):
		return tool.Likely
	}
	return tool.No
}

func (r *perfRun) Take(l *tool.Line, out *tool.Out) {
	t := l.Text
	if m := perfTitle.FindStringSubmatch(t); m != nil {
		r.title(l, out, m)
		return
	}
	if perfWait.MatchString(t) || perfGPU.MatchString(t) {
		return
	}
	if !r.named {
		r.name("perftest", l.N)
	}
	switch {
	case perfTable.MatchString(t):
		r.columns = perfColumn.FindAllString(t, -1)
		r.unit(l, out)
	case r.columns != nil && perfRow.MatchString(t):
		if !r.row(l, out, strings.Fields(t)) {
			out.NotUnderstood(l)
		}
	case perfAddress.MatchString(t):
		m := perfAddress.FindStringSubmatch(t)
		r.side = m[1]
		if strings.Trim(m[2], "0x") == "" && r.lids >= 0 {
			r.lids++
		} else {
			r.lids = -1
		}
	case perfGID.MatchString(t):
		r.gid(l, out, perfGID.FindStringSubmatch(t)[1])
	case perfStatus.MatchString(t):
		r.status(l, out, perfStatus.FindStringSubmatch(t))
	case perfCount.MatchString(t):
	case perfWarn.MatchString(t):
		r.warnings++
		out.Text(l.N, r.test, "perftest.warning", tool.Kept(strings.TrimSpace(t)))
		if strings.Contains(t, "CPU") {
			out.Bool(l.N, r.ctx.HostSubject(), "host.cpu_frequency_low", true)
		}
	case perfFail.MatchString(t):
		r.failure(l, out, strings.TrimSpace(t))
	default:
		for _, m := range perfSetting.FindAllStringSubmatch(t, 4) {
			r.setting(l, out, m[1], m[2])
		}
	}
}

func (r *perfRun) name(program string, n int) {
	r.test, r.named, r.line = r.ctx.Test(program), true, n
}

func (r *perfRun) title(l *tool.Line, out *tool.Out, m []string) {
	verb := map[string]string{"RDMA_Write": "write", "RDMA_Read": "read", "Send": "send", "Atomic": "atomic"}[m[1]]
	if verb == "" {
		verb = "write_imm"
		if strings.HasPrefix(m[1], "Raw") {
			verb = "raw_ethernet"
		}
	}
	if m[2] == "BW" {
		verb += "_bw"
	} else {
		verb += "_lat"
	}
	r.name("ib_"+verb, l.N)
	out.Text(l.N, r.test, "perftest.verb", verb)
	if strings.Contains(l.Text, " Bidirectional ") { // its bandwidth is the sum of both directions
		out.Text(l.N, r.test, "perftest.setting.Bidirectional", "ON")
	}
}

func (r *perfRun) setting(l *tool.Line, out *tool.Out, label, value string) {
	r.header = true
	label = strings.TrimSpace(label)
	key, ok := perfLabels[label]
	switch key {
	case "perftest.qps", "perftest.tx_depth", "perftest.gid_index":
		ok = out.Number(l.N, r.test, key, value)
	case "perftest.mtu":
		ok = out.Number(l.N, r.test, key, strings.TrimSuffix(value, "[B]"))
	case "perftest.relaxed_ordering", "perftest.rdma_cm":
		out.Bool(l.N, r.test, key, value == "ON")
	case "":
		out.Text(l.N, r.test, "perftest.setting."+strings.ReplaceAll(label, ".", ""), value)
		return
	default:
		out.Text(l.N, r.test, key, value)
		if label == "Link type" {
			r.link, r.linkN = value, l.N
		}
	}
	if !ok {
		out.NotUnderstood(l)
	}
}

// gid reads sixteen bytes, which perftest prints in decimal.
func (r *perfRun) gid(l *tool.Line, out *tool.Out, text string) {
	var b [16]byte
	for i, part := range strings.Split(text, ":") {
		v, err := strconv.ParseUint(part, 10, 8)
		if err != nil || i >= 16 {
			out.NotUnderstood(l)
			return
		}
		b[i] = byte(v)
	}
	key := "perftest.local_gid"
	if r.side == "remote" {
		key = "perftest.remote_gid"
	}
	out.Text(l.N, r.test, key, netip.AddrFrom16(b).String())
}

// status reads the line of a failed completion. The vendor's syndrome is
// spelled so.
func (r *perfRun) status(l *tool.Line, out *tool.Out, m []string) {
	r.failed = true
	out.Text(l.N, r.test, "perftest.error", "completion")
	if m[2] != "" {
		out.Text(l.N, r.test, "perftest.error.text", m[1])
		out.Number(l.N, r.test, "perftest.error.status", m[2])
	} else {
		out.Number(l.N, r.test, "perftest.error.status", m[3])
	}
	out.Number(l.N, r.test, "perftest.error.vendor", m[4])
}

func (r *perfRun) failure(l *tool.Line, out *tool.Out, text string) {
	if strings.HasPrefix(text, "Completion with error") || strings.HasPrefix(text, "Failed to complete run_iter") {
		r.failed = true
		return // the status line tells
	}
	kind := "other"
	switch lower := strings.ToLower(text); {
	case strings.Contains(lower, "modify qp"), strings.Contains(lower, "connect"), strings.Contains(lower, "exchange data"), strings.Contains(lower, "read remote"), strings.Contains(lower, "rdma cm"):
		kind = "connect"
	case strings.Contains(lower, " mr"), strings.Contains(lower, "memory"), strings.Contains(lower, "allocate"), strings.Contains(lower, "hugepage"):
		kind = "memory"
	case strings.Contains(lower, "device"), strings.Contains(lower, "context"), strings.Contains(lower, "mtu"):
		kind = "device"
	}
	r.failed = true
	out.Text(l.N, r.test, "perftest.error", kind)
	out.Text(l.N, r.test, "perftest.error.text", tool.Kept(text))
}

func (r *perfRun) End(out *tool.Out) {
	if !r.named {
		return
	}
	if r.link != "" && r.lids != 0 {
		out.Bool(r.linkN, r.test, "perftest.link_type_forced", r.link == "IB" && r.lids > 0)
	}
	if r.warnings > 0 {
		out.Uint(r.line, r.test, "perftest.warnings", r.warnings)
	}
	if r.rows == 0 {
		return
	}
	out.Uint(r.lastN, r.test, "perftest.rows", r.rows)
	out.Uint(r.lastN, r.test, "perftest.largest_size", r.size)
	if r.last.has {
		out.Float(r.lastN, r.test, "perftest.largest_bandwidth", r.last.bw)
		if r.last.peakOK {
			out.Float(r.lastN, r.test, "perftest.largest_peak", r.last.peak)
		} else {
			out.Absent(r.lastN, r.test, "perftest.largest_peak")
		}
	}
}

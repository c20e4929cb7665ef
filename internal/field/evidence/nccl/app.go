package nccl

import (
	"net/netip"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	// "E0331 12:03:04.222625 56060 rdma_endpoint.cpp:385] text" of glog.
	glogLine = tool.MustCompile(`^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+\s+(\d+) ([\w./-]+):\d+\] (.*)$`)
	// "[1700000000.123456] [gpu01:4120 :0] ib_mlx5_log.c:179 UCX ERROR text".
	ucxLine  = tool.MustCompile(`^\[\d+\.\d+\] \[([\w.-]+):(\d+)\s*:\d+\]\s+([\w./-]+):\d+\s+(\w+)\s+(ERROR|WARN|INFO|DIAG|DEBUG|FATAL)\s+(.*)$`)
	ucxError = tool.MustCompile(`(?i)(Transport retry count exceeded|RNR retry count exceeded|Remote access error|Remote operation error|Local protection|Local length error|Invalid request|Remote QP error) on ([\w.-]+):(\d+)/(\w+) \(synd (0x[0-9a-f]+) vend (0x[0-9a-f]+)`)
	glogGID  = tool.MustCompile(`RDMA device: ([\w.-]+),.*GID: \(GID_Index (\d+)\) ((?:[0-9a-f]{2}:){15}[0-9a-f]{2})`)
	modifyQP = tool.MustCompile(`Failed to modify QP to (\w+).*?: ([A-Z][^:\[]+?) \[(\d+)\]`)
	ucxVerbs = tool.MustCompile(`(ibv_\w+|mlx5dv_\w+)\(.*\) failed(?: with (?:status )?[^:]*)?: ([A-Z][^:]*)`)
)

// ucxStatus gives the status of a completion (ibv_wc_status) from UCX's words.
var ucxStatus = map[string]uint64{
	"transport retry count exceeded": 12, "rnr retry count exceeded": 13, "remote access error": 10, "remote operation error": 11,
	"local protection": 4, "local length error": 1, "invalid request": 9,
}

var app = tool.Parser{
	Tool:     "verbs application log",
	Versions: "layouts of UCX; programs that log by glog (transfer engines)",
	Keys: []string{
		"nccl.error.kind", "nccl.error.call", "nccl.error.text", "nccl.error.errno", "nccl.error.status", "nccl.error.vendor", "nccl.error.device", "nccl.error.state",
		"nccl.warning", "nccl.qp.device", "nccl.qp.gid_index", "nccl.qp.gid",
	},
	Recognise: func(w *tool.Window) tool.Score {
		if glogLine.MatchString(w.First()) || ucxLine.MatchString(w.First()) {
			return tool.Likely + 10
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		events := 0
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				if glogLine.MatchString(l.Text) || ucxLine.MatchString(l.Text) {
					return tool.Likely + 10
				}
				return tool.No
			},
			Read: func(l *tool.Line, out *tool.Out) {
				host, pid, level, text := ctx.Host, "", "", ""
				if m := glogLine.FindStringSubmatch(l.Text); m != nil {
					level, pid, text = m[1], m[2], m[4]
				} else if m := ucxLine.FindStringSubmatch(l.Text); m != nil {
					host, pid, level, text = m[1], m[2], m[5][:1], m[6]
				}
				s := fact.Subject{Kind: fact.Process, Host: strings.Clone(host), Name: strings.Clone(pid)}
				if events < maxEvents && appLine(l, out, s, level, text) {
					events++
				}
			},
		}
	},
}

// appLine reads one message and reports whether it told something.
func appLine(l *tool.Line, out *tool.Out, s fact.Subject, level, text string) bool {
	switch {
	case glogGID.MatchString(text):
		m := glogGID.FindStringSubmatch(text)
		out.Text(l.N, s, "nccl.qp.device", m[1])
		out.Number(l.N, s, "nccl.qp.gid_index", m[2])
		if addr, ok := bytesGID(m[3]); ok {
			out.Text(l.N, s, "nccl.qp.gid", addr.String())
		}
	case ucxError.MatchString(text):
		m := ucxError.FindStringSubmatch(text)
		out.Text(l.N, s, "nccl.error.kind", "completion")
		out.Text(l.N, s, "nccl.error.text", m[1])
		out.Text(l.N, s, "nccl.error.device", m[2])
		out.Number(l.N, s, "nccl.error.vendor", m[6])
		if status := ucxStatus[strings.ToLower(m[1])]; status != 0 {
			out.Uint(l.N, s, "nccl.error.status", status)
		}
	case modifyQP.MatchString(text):
		m := modifyQP.FindStringSubmatch(text)
		out.Text(l.N, s, "nccl.error.kind", "verbs")
		out.Text(l.N, s, "nccl.error.call", "ibv_modify_qp")
		out.Text(l.N, s, "nccl.error.state", "to "+m[1])
		out.Text(l.N, s, "nccl.error.text", m[2])
		out.Number(l.N, s, "nccl.error.errno", m[3])
	case ucxVerbs.MatchString(text):
		m := ucxVerbs.FindStringSubmatch(text)
		out.Text(l.N, s, "nccl.error.kind", "verbs")
		out.Text(l.N, s, "nccl.error.call", m[1])
		out.Text(l.N, s, "nccl.error.text", m[2])
		if n, ok := errnos[strings.TrimSpace(m[2])]; ok {
			out.Uint(l.N, s, "nccl.error.errno", n)
		}
	case level == "E" || level == "F" || level == "W":
		out.Text(l.N, s, "nccl.warning", tool.Kept(text))
	default:
		return false
	}
	return true
}

// bytesGID reads "fe:80:00:...": sixteen bytes in hex.
func bytesGID(text string) (netip.Addr, bool) {
	var b [16]byte
	for i, part := range strings.Split(text, ":") {
		v, err := strconv.ParseUint(part, 16, 8)
		if err != nil || i >= 16 {
			return netip.Addr{}, false
		}
		b[i] = byte(v)
	}
	return netip.AddrFrom16(b), true
}

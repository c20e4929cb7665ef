package nic

import (
	"strconv"
	"strings"

	"weir/internal/field/evidence/tool"
)

// named reports whether the command or the file's path names a program. A
// bare number has no content to recognise it by.
func named(ctx *tool.Context, program string) bool {
	base := ctx.Path[strings.LastIndexByte(ctx.Path, '/')+1:]
	return ctx.Ran(program) || strings.Contains(base, program)
}

var cmaTOS = tool.Parser{
	Tool:     "cma_roce_tos",
	Versions: "mlnx-tools 5.x to 24.x; configfs default_roce_tos",
	Programs: []string{"cma_roce_tos"},
	Keys:     []string{"roce.cma.tos", "roce.cma.dscp", "roce.cma.ecn_bits"},
	Recognise: func(w *tool.Window) tool.Score {
		_, err := strconv.ParseUint(strings.TrimSpace(w.First()), 10, 8)
		if err == nil && (named(w.Context(), "cma_roce_tos") || strings.HasSuffix(w.Context().Path, "default_roce_tos")) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		done := false
		return &tool.Each{
			Belongs: func(*tool.Line) tool.Score { return tool.No },
			Read: func(l *tool.Line, out *tool.Out) {
				tos, err := strconv.ParseUint(strings.TrimSpace(l.Text), 10, 8)
				if err != nil || done {
					out.NotUnderstood(l)
					return
				}
				done = true
				nic := ctx.NIC(cmaDevice(ctx))
				out.Uint(l.N, nic, "roce.cma.tos", tos)
				out.Uint(l.N, nic, "roce.cma.dscp", tos>>2)
				out.Uint(l.N, nic, "roce.cma.ecn_bits", tos&3)
			},
		}
	},
}

var cmaMode = tool.Parser{
	Tool:     "cma_roce_mode",
	Versions: "mlnx-tools 5.x to 24.x; configfs default_roce_mode",
	Programs: []string{"cma_roce_mode"},
	Keys:     []string{"roce.cma.mode"},
	Recognise: func(w *tool.Window) tool.Score {
		switch strings.TrimSpace(w.First()) {
		case "RoCE v1", "RoCE v2", "IB/RoCE v1", "RoCE V1", "RoCE V2":
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &tool.Each{
			Belongs: func(*tool.Line) tool.Score { return tool.No },
			Read: func(l *tool.Line, out *tool.Out) {
				out.Text(l.N, ctx.NIC(cmaDevice(ctx)), "roce.cma.mode", strings.TrimSpace(l.Text))
			},
		}
	},
}

var cmaPath = tool.MustCompile(`rdma_cm/([^/]+)/`)

// cmaDevice returns the device of the command, or of a path in configfs.
func cmaDevice(ctx *tool.Context) string {
	if m := cmaPath.FindStringSubmatch(ctx.Path); m != nil {
		return m[1]
	}
	return ctx.After("-d", "--device")
}

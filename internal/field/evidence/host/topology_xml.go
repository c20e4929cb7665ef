package host

import (
	"strconv"
	"strings"

	"weir/internal/field/evidence/tool"
)

var (
	xmlTag       = tool.MustCompile(`^\s*(?:[<>] +)?</?(system|cpu|pci|gpu|nic|net|nvlink|xgmi|c2c|coll|interHostNic|pcilink)\b([^>]*)/?>\s*$`)
	xmlAttribute = tool.MustCompile(`([\w:]+)="([^"]*)"`)
)

// topologyXML reads NCCL's topology files (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE)
// line by line, fragments and differences of two files too.
var topologyXML = tool.Parser{
	Tool:     "NCCL topology file",
	Versions: "layout of version 1",
	Keys:     []string{"pcie.speed", "pcie.width", "pcie.name", "nccl.gdr.{device}", "nccl.gpu.gdr", "link.speed"},
	Recognise: func(w *tool.Window) tool.Score {
		m := xmlTag.FindStringSubmatch(w.First())
		if m != nil && (xmlAttribute.MatchString(m[2]) || m[1] == "pci" || m[1] == "nic") {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				if xmlTag.MatchString(l.Text) {
					return tool.Sure
				}
				return tool.No
			},
			Read: func(l *tool.Line, out *tool.Out) { xmlElement(l, out, ctx) },
		}
	},
}

func xmlElement(l *tool.Line, out *tool.Out, ctx *tool.Context) {
	m := xmlTag.FindStringSubmatch(l.Text)
	a := map[string]string{}
	for _, kv := range xmlAttribute.FindAllStringSubmatch(m[2], 32) {
		a[kv[1]] = kv[2]
	}
	switch m[1] {
	case "pci":
		if a["busid"] == "" {
			return
		}
		dev := pciDevice(ctx, a["busid"])
		if speed, _, _ := strings.Cut(a["link_speed"], " "); speed != "" {
			out.Decimal(l.N, dev, "pcie.speed", speed, 1)
		}
		if a["link_width"] != "" {
			out.Number(l.N, dev, "pcie.width", a["link_width"])
		}
	case "gpu":
		if a["gdr"] != "" {
			out.Bool(l.N, ctx.GPU(a["dev"]), "nccl.gpu.gdr", a["gdr"] == "1")
		}
	case "net":
		if a["name"] == "" {
			return
		}
		if u, err := strconv.ParseUint(a["speed"], 10, 32); err == nil { // Mb/s
			out.Uint(l.N, ctx.NIC(a["name"]), "link.speed", u*1_000_000)
		}
		if a["gdr"] != "" {
			out.Bool(l.N, ctx.NIC(a["name"]), "nccl.gdr."+dotless(a["name"]), a["gdr"] == "1")
		}
	}
}

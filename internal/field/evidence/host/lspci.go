package host

import (
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	pciHead    = tool.MustCompile(`^((?:[0-9a-f]{4,5}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ([A-Z]\S.*)$`)
	pciLink    = tool.MustCompile(`Speed ([\d.]+|unknown)(?:GT/s)?(?: \([^)]*\))?, Width x(\d+)`)
	pciPayload = tool.MustCompile(`MaxPayload (\d+) bytes, MaxReadReq (\d+) bytes`)
	pciFlag    = tool.MustCompile(`(\w+)\+`)
	acsLine    = tool.MustCompile(`^\s*ACS(?:Cap|Ctl):\s`)
)

var lspci = tool.Parser{
	Tool:     "lspci",
	Versions: "pciutils 3.5 to 3.13, with -v, -vv and -vvv; single lines too",
	Programs: []string{"lspci"},
	Keys: []string{
		"pcie.name", "pcie.speed", "pcie.width", "pcie.max_speed", "pcie.max_width", "pcie.max_payload", "pcie.max_read_request", "pcie.relaxed_ordering",
		"pcie.acs.redirect", "pcie.acs.enabled", "pcie.ats", "pcie.numa_node", "pcie.error", "pcie.iommu_group",
	},
	Recognise: func(w *tool.Window) tool.Score {
		t := w.First()
		switch {
		case acsLine.MatchString(t):
			return tool.Sure
		case pciHead.MatchString(t) && strings.Contains(t, ": "):
			return tool.Sure
		case pciLink.MatchString(t) && (strings.Contains(t, "LnkSta:") || strings.Contains(t, "LnkCap:")):
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &lspciRun{ctx: ctx, dev: pciDevice(ctx, ctx.After("-s"))}
	},
}

// pciDevice returns the subject of a PCI address, with its domain.
func pciDevice(ctx *tool.Context, address string) fact.Subject {
	if strings.Count(address, ":") == 1 {
		address = "0000:" + address
	}
	return fact.Subject{Kind: fact.PCI, Host: ctx.Host, Name: strings.ToLower(address)}
}

// lspciRun reads the blocks of devices. Lines without a head (from grep) are
// facts of an unnamed device.
type lspciRun struct {
	ctx *tool.Context
	dev fact.Subject
}

func (r *lspciRun) Match(l *tool.Line) tool.Score {
	switch {
	case pciHead.MatchString(l.Text), acsLine.MatchString(l.Text):
		return tool.Sure
	case strings.HasPrefix(l.Text, "\t"), strings.HasPrefix(l.Text, "        "):
		return tool.Likely + 10
	}
	return tool.No
}

func (r *lspciRun) End(*tool.Out) {}

func (r *lspciRun) Take(l *tool.Line, out *tool.Out) {
	if m := pciHead.FindStringSubmatch(l.Text); m != nil {
		r.dev = pciDevice(r.ctx, m[1])
		out.Text(l.N, r.dev, "pcie.name", m[2])
		return
	}
	label, rest, _ := strings.Cut(strings.TrimSpace(l.Text), ":")
	switch label {
	case "LnkCap":
		r.link(l, out, rest, "pcie.max_speed", "pcie.max_width")
	case "LnkSta":
		r.link(l, out, rest, "pcie.speed", "pcie.width")
	case "ACSCtl":
		on := flags(rest)
		out.List(l.N, r.dev, "pcie.acs.enabled", on)
		out.Bool(l.N, r.dev, "pcie.acs.redirect", contains(on, "ReqRedir") || contains(on, "CmpltRedir"))
	case "ATSCtl":
		out.Bool(l.N, r.dev, "pcie.ats", strings.Contains(rest, "Enable+"))
	case "DevCtl":
		r.control(l, out, rest)
	case "DevSta":
		for _, f := range flags(rest) {
			if strings.HasSuffix(f, "Err") || strings.HasSuffix(f, "FatalErr") {
				out.Text(l.N, r.dev, "pcie.error", f)
			}
		}
	case "NUMA node":
		out.Number(l.N, r.dev, "pcie.numa_node", rest)
	case "IOMMU group":
		out.Number(l.N, r.dev, "pcie.iommu_group", rest)
	default: // the second line of DevCtl has no label
		r.control(l, out, l.Text)
	}
}

func (r *lspciRun) link(l *tool.Line, out *tool.Out, rest, speed, width string) {
	m := pciLink.FindStringSubmatch(rest)
	if m == nil {
		out.NotUnderstood(l)
		return
	}
	if !out.Decimal(l.N, r.dev, speed, m[1], 1) {
		out.Absent(l.N, r.dev, speed)
	}
	out.Number(l.N, r.dev, width, m[2])
}

func (r *lspciRun) control(l *tool.Line, out *tool.Out, rest string) {
	if i := strings.Index(rest, "RlxdOrd"); i >= 0 {
		out.Bool(l.N, r.dev, "pcie.relaxed_ordering", strings.HasPrefix(rest[i:], "RlxdOrd+"))
	}
	if m := pciPayload.FindStringSubmatch(rest); m != nil {
		out.Number(l.N, r.dev, "pcie.max_payload", m[1])
		out.Number(l.N, r.dev, "pcie.max_read_request", m[2])
	}
}

// flags returns the names that are set in "A+ B- C+".
func flags(text string) []string {
	on := []string{}
	for _, m := range pciFlag.FindAllStringSubmatch(text, 64) {
		on = append(on, m[1])
	}
	return on
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

package nic

import (
	"net/netip"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	gidEntry    = tool.MustCompile(`^GID\[\s*(\d+)\]:\s*([0-9a-fA-F:.]+)(?:,\s*(.+))?$`)
	namedNumber = tool.MustCompile(`^(\S.*?)\s*\((\d+)\)$`)
)

// gids puts out entries of GID tables, and at the end how many there are and
// which one suits RoCE v2 over IPv4.
type gids struct {
	order []*gidTable
}

type gidTable struct {
	nic   fact.Subject
	line  int
	count uint64
	best  int // -1: none
}

// entry puts out one entry of a GID table. version is "v1", "v2" or "".
func (g *gids) entry(n int, out *tool.Out, nic fact.Subject, index int, gid, version, netdev string) bool {
	addr, err := netip.ParseAddr(gid)
	if err != nil {
		return false
	}
	t := g.table(nic, n)
	t.count++
	key := "gid." + strconv.Itoa(index)
	out.Text(n, nic, key+".address", addr.String())
	if version != "" {
		out.Text(n, nic, key+".version", version)
	}
	if addr.Is4In6() {
		out.Text(n, nic, key+".ipv4", addr.Unmap().String())
		if version == "v2" && t.best < 0 {
			t.best = index
		}
	}
	if netdev != "" {
		out.Text(n, nic, key+".netdev", netdev)
	}
	return true
}

func (g *gids) table(nic fact.Subject, n int) *gidTable {
	for _, t := range g.order {
		if t.nic == nic {
			t.line = n
			return t
		}
	}
	t := &gidTable{nic, n, 0, -1}
	g.order = append(g.order, t)
	return t
}

func (g *gids) finish(out *tool.Out) {
	for _, t := range g.order {
		out.Uint(t.line, t.nic, "gid.count", t.count)
		if t.best < 0 {
			out.Absent(t.line, t.nic, "gid.best_v2_ipv4")
		} else {
			out.Uint(t.line, t.nic, "gid.best_v2_ipv4", uint64(t.best))
		}
	}
}

// roceVersion reads "RoCE v2", "IB/RoCE v1", "v1" ...
func roceVersion(text string) string {
	switch {
	case strings.HasSuffix(text, "v2"):
		return "v2"
	case strings.HasSuffix(text, "v1"):
		return "v1"
	}
	return ""
}

var ibvDevinfo = tool.Parser{
	Tool:     "ibv_devinfo",
	Versions: "rdma-core 17 to 50; with and without -v",
	Programs: []string{"ibv_devinfo"},
	Keys: []string{
		"rdma.firmware", "rdma.model", "rdma.guid", "rdma.port", "rdma.state", "rdma.max_mtu", "rdma.active_mtu", "rdma.layer", "rdma.width", "rdma.rate",
		"rdma.phys_state", "rdma.gid_table_size", "gid.{index}.address", "gid.{index}.version", "gid.{index}.ipv4", "gid.count", "gid.best_v2_ipv4",
	},
	Recognise: func(w *tool.Window) tool.Score {
		t := strings.TrimSpace(w.First())
		if strings.HasPrefix(t, "hca_id:") || gidEntry.MatchString(t) {
			return tool.Sure
		}
		if strings.HasPrefix(w.First(), "\t") { // the head was cut
			switch label, _, _ := strings.Cut(t, ":"); label {
			case "active_mtu", "phys_state", "link_layer", "gid_tbl_len", "max_mtu", "port_lmc":
				return tool.Sure
			}
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &devinfo{ctx: ctx, nic: ctx.NIC(ctx.After("-d", "--ib-dev"))}
	},
}

// devinfo is the block of one or several devices of ibv_devinfo.
type devinfo struct {
	ctx   *tool.Context
	nic   fact.Subject
	dev   string
	width uint64
	gids  gids
}

var devinfoLine = tool.MustCompile(`^\s+[A-Za-z][\w ]*(?:\[\s*\d+\])?:?\s|^\s+[A-Z0-9_]+$|^\s+\w+:$`)

func (d *devinfo) Match(l *tool.Line) tool.Score {
	switch {
	case strings.HasPrefix(l.Text, "hca_id:"):
		return tool.Sure
	case strings.HasPrefix(l.Text, "\t") && (devinfoLine.MatchString(l.Text) || gidEntry.MatchString(strings.TrimSpace(l.Text))):
		return tool.Sure - 1
	case gidEntry.MatchString(strings.TrimSpace(l.Text)):
		return tool.Sure
	}
	return tool.No
}

func (d *devinfo) End(out *tool.Out) { d.gids.finish(out) }

func (d *devinfo) Take(l *tool.Line, out *tool.Out) {
	t := strings.TrimSpace(l.Text)
	if m := gidEntry.FindStringSubmatch(t); m != nil {
		index, err := strconv.Atoi(m[1])
		if err != nil || !d.gids.entry(l.N, out, d.nic, index, m[2], roceVersion(m[3]), "") {
			out.NotUnderstood(l)
		}
		return
	}
	label, value, _ := strings.Cut(t, ":")
	value = strings.TrimSpace(value)
	word := value
	if m := namedNumber.FindStringSubmatch(value); m != nil {
		word = m[1]
	}
	ok := true
	switch label {
	case "hca_id":
		d.dev, d.nic = value, d.ctx.NIC(value)
	case "port":
		d.nic = d.ctx.NIC(d.dev + "/" + value)
		ok = out.Number(l.N, d.nic, "rdma.port", value)
	case "fw_ver":
		out.Text(l.N, d.nic, "rdma.firmware", value)
	case "board_id":
		out.Text(l.N, d.nic, "rdma.model", value)
	case "node_guid":
		out.Text(l.N, d.nic, "rdma.guid", value)
	case "state":
		out.Text(l.N, d.nic, "rdma.state", strings.TrimPrefix(word, "PORT_"))
	case "phys_state":
		out.Text(l.N, d.nic, "rdma.phys_state", word)
	case "link_layer":
		out.Text(l.N, d.nic, "rdma.layer", value)
	case "max_mtu":
		ok = out.Number(l.N, d.nic, "rdma.max_mtu", word)
	case "active_mtu":
		ok = out.Number(l.N, d.nic, "rdma.active_mtu", word)
	case "gid_tbl_len":
		ok = out.Number(l.N, d.nic, "rdma.gid_table_size", value)
	case "active_width":
		d.width, _ = strconv.ParseUint(strings.TrimSuffix(word, "X"), 10, 8)
		ok = out.Number(l.N, d.nic, "rdma.width", strings.TrimSuffix(word, "X"))
	case "active_speed": // of one lane
		ok = d.speed(l, out, word)
	}
	if !ok {
		out.NotUnderstood(l)
	}
}

// speed multiplies the speed of a lane, "25.0 Gbps", with the width.
func (d *devinfo) speed(l *tool.Line, out *tool.Out, text string) bool {
	f, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), " Gbps"), 64)
	if err != nil || d.width == 0 || f < 0 || f > 1e6 {
		return strings.Contains(text, "invalid")
	}
	out.Uint(l.N, d.nic, "rdma.rate", uint64(f*1e9)*d.width)
	return true
}

var (
	ibstatHead   = tool.MustCompile(`^CA '([^']+)'`)
	ibstatusHead = tool.MustCompile(`^Infiniband device '([^']+)' port (\d+) status:`)
)

var ibstat = tool.Parser{
	Tool:     "ibstat",
	Versions: "infiniband-diags 1.5 to rdma-core 50; ibstat and ibstatus",
	Programs: []string{"ibstat", "ibstatus"},
	Keys:     []string{"rdma.model", "rdma.firmware", "rdma.guid", "rdma.port", "rdma.state", "rdma.phys_state", "rdma.rate", "rdma.layer", "gid.{index}.address"},
	Recognise: func(w *tool.Window) tool.Score {
		if ibstatHead.MatchString(w.First()) || ibstatusHead.MatchString(w.First()) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		var nic fact.Subject
		dev := ""
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				if ibstatHead.MatchString(l.Text) || ibstatusHead.MatchString(l.Text) {
					return tool.Sure
				}
				if strings.HasPrefix(l.Text, "\t") && strings.Contains(l.Text, ":") {
					return tool.Sure - 1
				}
				return tool.No
			},
			Read: func(l *tool.Line, out *tool.Out) {
				if m := ibstatHead.FindStringSubmatch(l.Text); m != nil {
					dev, nic = m[1], ctx.NIC(m[1])
					return
				}
				if m := ibstatusHead.FindStringSubmatch(l.Text); m != nil {
					dev, nic = m[1], ctx.NIC(m[1]+"/"+m[2])
					out.Number(l.N, nic, "rdma.port", m[2])
					return
				}
				label, value, _ := strings.Cut(strings.TrimSpace(l.Text), ":")
				if port, ok := strings.CutPrefix(label, "Port "); ok && value == "" {
					nic = ctx.NIC(dev + "/" + port)
					out.Number(l.N, nic, "rdma.port", port)
					return
				}
				if !ibstatValue(l, out, nic, label, strings.TrimSpace(value)) {
					out.NotUnderstood(l)
				}
			},
		}
	},
}

// ibstatValue reads a line of ibstat ("Rate: 100") or ibstatus ("rate: 100 Gb/sec (4X EDR)").
func ibstatValue(l *tool.Line, out *tool.Out, nic fact.Subject, label, value string) bool {
	word := value
	if _, name, ok := strings.Cut(value, ": "); ok { // "4: ACTIVE"
		word = name
	}
	switch label {
	case "CA type":
		out.Text(l.N, nic, "rdma.model", value)
	case "Firmware version":
		out.Text(l.N, nic, "rdma.firmware", value)
	case "Node GUID":
		out.Text(l.N, nic, "rdma.guid", value)
	case "State", "state":
		out.Text(l.N, nic, "rdma.state", word)
	case "Physical state", "phys state":
		out.Text(l.N, nic, "rdma.phys_state", word)
	case "Rate", "rate": // in Gb/s; older cards print 2.5
		number, _, _ := strings.Cut(value, " ")
		f, err := strconv.ParseFloat(number, 64)
		if err != nil || !(f >= 0 && f < 1e6) {
			return false
		}
		out.Uint(l.N, nic, "rdma.rate", uint64(f*1e9))
	case "Link layer", "link_layer":
		out.Text(l.N, nic, "rdma.layer", value)
	case "default gid":
		addr, err := netip.ParseAddr(value)
		if err != nil {
			return false
		}
		out.Text(l.N, nic, "gid.0.address", addr.String())
	}
	return true
}

// showGIDsRow: device, port, index, GID, IPv4 or nothing, version, interface or nothing.
var showGIDsRow = tool.MustCompile(`^(\S+)\s+(\d+)\s+(\d+)\s+((?:[0-9a-fA-F]{4}:){7}[0-9a-fA-F]{4})\s+(?:(\d+\.\d+\.\d+\.\d+)\s+)?(?:RoCE )?(v[12])\b\s*(\S*)\s*$`)

var showGIDs = tool.Parser{
	Tool:     "show_gids",
	Versions: "mlnx-tools 5.x to 24.x",
	Programs: []string{"show_gids"},
	Keys: []string{
		"gid.{index}.address", "gid.{index}.version", "gid.{index}.ipv4", "gid.{index}.netdev", "gid.count", "gid.best_v2_ipv4",
	},
	Recognise: func(w *tool.Window) tool.Score {
		f := w.Fields()
		if len(f) >= 5 && f[0] == "DEV" && f[1] == "PORT" && f[2] == "INDEX" && f[3] == "GID" || showGIDsRow.MatchString(w.First()) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		var g gids
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				switch {
				case showGIDsRow.MatchString(l.Text), strings.HasPrefix(l.Text, "n_gids_found="):
					return tool.Sure
				case strings.HasPrefix(l.Text, "---"):
					return tool.Weak
				}
				return tool.No
			},
			Read: func(l *tool.Line, out *tool.Out) {
				m := showGIDsRow.FindStringSubmatch(l.Text)
				if m == nil {
					return // head, ruler, sum
				}
				index, err := strconv.Atoi(m[3])
				if err != nil || !g.entry(l.N, out, ctx.NIC(m[1]+"/"+m[2]), index, m[4], m[6], m[7]) {
					out.NotUnderstood(l)
				}
			},
			Finish: g.finish,
		}
	},
}

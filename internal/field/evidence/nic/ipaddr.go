package nic

import (
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	ipHead  = tool.MustCompile(`^\d+: ([^\s:@]+)(?:@[^\s:]+)?: <([A-Z0-9_,-]+)> mtu (\d+)(.*)$`)
	ipInet  = tool.MustCompile(`^\s+inet6? (\S+)`)
	ipLink  = tool.MustCompile(`^\s+link/\S+ ((?:[0-9a-f]{2}:){5}[0-9a-f]{2})`)
	ipBrief = tool.MustCompile(`^([\w.@-]+)\s+(UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT)\s*((?:\s+[0-9a-f:.]+/\d+)*|\s*(?:[0-9a-f]{2}:){5}[0-9a-f]{2} <.*>)\s*$`)
	ipOne   = tool.MustCompile(`^\d+: (\S+)\s+inet6? (\S+/\d+)`)
)

var ipAddr = tool.Parser{
	Tool:     "ip addr",
	Versions: "iproute2 4.x to 6.x: ip address, ip link, -o and JSON",
	Programs: []string{"ip a", "ip addr", "ip address", "ip link", "ip -o", "ip -j", "ip -s", "ip -d", "ip -br", "ip -4", "ip -6"},
	Keys:     []string{"link.address", "link.mac", "link.mtu", "link.state"},
	Recognise: func(w *tool.Window) tool.Score {
		if ipHead.MatchString(w.First()) || ipOne.MatchString(w.First()) || ipBrief.MatchString(w.First()) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		var nic fact.Subject
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				switch {
				case ipHead.MatchString(l.Text), ipOne.MatchString(l.Text), ipBrief.MatchString(l.Text):
					return tool.Sure
				case strings.HasPrefix(l.Text, "    "):
					return tool.Likely + 10
				}
				return tool.No
			},
			Read: func(l *tool.Line, out *tool.Out) {
				switch m := ipHead.FindStringSubmatch(l.Text); {
				case m != nil:
					nic = ctx.NIC(m[1])
					out.Number(l.N, nic, "link.mtu", m[3])
					out.Text(l.N, nic, "link.state", ipState(m[2], m[4]))
				case ipOne.MatchString(l.Text):
					m = ipOne.FindStringSubmatch(l.Text)
					out.Text(l.N, ctx.NIC(m[1]), "link.address", m[2])
				case ipBrief.MatchString(l.Text):
					brief(l, out, ctx)
				case ipInet.MatchString(l.Text):
					out.Text(l.N, nic, "link.address", ipInet.FindStringSubmatch(l.Text)[1])
				case ipLink.MatchString(l.Text):
					out.Text(l.N, nic, "link.mac", ipLink.FindStringSubmatch(l.Text)[1])
				}
			},
		}
	},
	RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
		if doc.First().Has("ifindex", "ifname", "flags", "mtu") {
			return tool.Sure
		}
		return tool.No
	},
	ParseJSON: func(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
		for _, link := range doc.Each() {
			nic := ctx.NIC(link.Get("ifname").Str())
			if mtu := link.Get("mtu"); mtu != nil {
				out.Number(mtu.Line, nic, "link.mtu", mtu.Str())
			}
			if s := link.Get("operstate"); s != nil {
				flags := []string{}
				for _, f := range link.Get("flags").Each() {
					flags = append(flags, f.Str())
				}
				out.Text(s.Line, nic, "link.state", ipState(strings.Join(flags, ","), " state "+s.Str()))
			}
			if a := link.Get("address"); a != nil {
				out.Text(a.Line, nic, "link.mac", a.Str())
			}
			addresses := link.Get("addr_info")
			if addresses == nil {
				continue
			}
			for _, a := range addresses.Items {
				out.Text(a.Line, nic, "link.address", a.Get("local").Str()+"/"+a.Get("prefixlen").Str())
			}
		}
	},
}

// brief reads "eth2  UP  10.0.0.1/24 fe80::1/64".
func brief(l *tool.Line, out *tool.Out, ctx *tool.Context) {
	f := strings.Fields(l.Text)
	name, _, _ := strings.Cut(f[0], "@")
	nic := ctx.NIC(name)
	if f[1] != "UNKNOWN" {
		out.Text(l.N, nic, "link.state", strings.ToLower(f[1]))
	}
	for _, a := range f[2:] {
		switch {
		case strings.Contains(a, "/"):
			out.Text(l.N, nic, "link.address", a)
		case strings.Count(a, ":") == 5:
			out.Text(l.N, nic, "link.mac", a)
		}
	}
}

func ipState(flags, rest string) string {
	if _, state, ok := strings.Cut(rest, " state "); ok {
		state, _, _ = strings.Cut(state, " ")
		if state != "UNKNOWN" {
			return strings.ToLower(state)
		}
	}
	for _, f := range strings.Split(flags, ",") {
		if f == "LOWER_UP" {
			return "up"
		}
	}
	return "down"
}

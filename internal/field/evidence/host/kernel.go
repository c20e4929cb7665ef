package host

import (
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	lsmodRow = tool.MustCompile(`^([a-z][a-z0-9_]*)\s+(\d+)\s+(-?\d+)(?:\s+[\w,\[\]-]+)?\s*$`)
	// Modules that matter to RDMA and GPUs.
	roceModule = tool.MustCompile(`^(?:mlx|ib_|rdma|iw_cm|nvidia|nv_|amdgpu|amdkfd|bnxt|irdma|ice$|ionic|gdrdrv|vfio|iommu|siw$|rxe|rdma_rxe|peermem|mlxfw|knem|xpmem|8021q|bonding|openvswitch|ena$|efa$|i40e$|qede|qedr)`)
)

// Peer memory modules, by the time that they were in use.
var peerModules = map[string]bool{"nvidia_peermem": true, "nv_peer_mem": true, "nv_mem": true, "amdgpu_peermem": true, "ib_peer_mem": true}

var lsmod = tool.Parser{
	Tool:     "lsmod",
	Versions: "kmod 20 to 33",
	Programs: []string{"lsmod"},
	Keys:     []string{"host.module.{name}", "host.peermem"},
	Recognise: func(w *tool.Window) tool.Score {
		f := w.Fields()
		if len(f) >= 3 && f[0] == "Module" && f[1] == "Size" && f[2] == "Used" {
			return tool.Sure
		}
		if m := lsmodRow.FindStringSubmatch(w.First()); m != nil && roceModule.MatchString(m[1]) {
			return tool.Likely // from grep
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		head, peer, line := false, false, 0
		host := ctx.HostSubject()
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				if m := lsmodRow.FindStringSubmatch(l.Text); m != nil {
					return tool.Likely + 10
				}
				return tool.No
			},
			Read: func(l *tool.Line, out *tool.Out) {
				m := lsmodRow.FindStringSubmatch(l.Text)
				if m == nil {
					head, line = true, l.N
					return
				}
				if roceModule.MatchString(m[1]) {
					out.Bool(l.N, host, "host.module."+m[1], true)
				}
				if peerModules[m[1]] {
					peer, line = true, l.N
				}
			},
			Finish: func(out *tool.Out) {
				if head || peer { // part of a list does not tell that a module is missing
					out.Bool(line, host, "host.peermem", peer)
				}
			},
		}
	},
}

var sysctlLine = tool.MustCompile(`^((?:net|kernel|vm|fs|dev|debug|abi|user|sunrpc)\.[\w./@:-]+) ?= ?(.*)$`)

var sysctl = tool.Parser{
	Tool:     "sysctl",
	Versions: "procps 3.3 to 4.0",
	Programs: []string{"sysctl"},
	Keys:     []string{"sysctl.{name...}"},
	Recognise: func(w *tool.Window) tool.Score {
		if sysctlLine.MatchString(w.First()) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				if sysctlLine.MatchString(l.Text) {
					return tool.Sure
				}
				return tool.No
			},
			Read: func(l *tool.Line, out *tool.Out) {
				m := sysctlLine.FindStringSubmatch(l.Text)
				out.Text(l.N, ctx.HostSubject(), "sysctl."+m[1], strings.TrimSpace(m[2]))
			},
		}
	},
}

var (
	ulimitLine = tool.MustCompile(`^\s*max locked memory\s+\((kbytes|bytes)(?:, -l)?\)\s+(\d+|unlimited)`)
	procLimit  = tool.MustCompile(`^Max locked memory\s+(\d+|unlimited)\s+(\d+|unlimited)\s+bytes`)
	anyLimit   = tool.MustCompile(`^(?:-[a-zA-Z]: .*|[A-Za-z][A-Za-z -]+\([^)]*-[a-zA-Z]\)|Max [a-z -]+ {2,})\s*(?:\d+|unlimited)`)
	memlock    = tool.MustCompile(`^\s*\*?\S*\s+(?:soft|hard|-)\s+memlock\s+(\d+|unlimited|-1)`)
)

var limits = tool.Parser{
	Tool:     "ulimit",
	Versions: "bash and dash ulimit -l and -a, /proc/PID/limits, limits.conf",
	Programs: []string{"ulimit"},
	Keys:     []string{"host.memlock", "host.memlock_unlimited"},
	Recognise: func(w *tool.Window) tool.Score {
		t := w.First()
		switch {
		case ulimitLine.MatchString(t), procLimit.MatchString(t), memlock.MatchString(t), strings.HasPrefix(t, "Limit   "):
			return tool.Sure
		case bareLimit.MatchString(t) && isUlimit(w.Context()):
			return tool.Sure
		case anyLimit.MatchString(t):
			return tool.Likely
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				if ulimitLine.MatchString(l.Text) || procLimit.MatchString(l.Text) || memlock.MatchString(l.Text) {
					return tool.Sure
				}
				if anyLimit.MatchString(l.Text) {
					return tool.Likely
				}
				return tool.No
			},
			Read: func(l *tool.Line, out *tool.Out) { limit(l, out, ctx) },
		}
	},
}

var bareLimit = tool.MustCompile(`^(\d+|unlimited)$`)

// isUlimit reports whether a bare number is the answer of ulimit -l.
func isUlimit(ctx *tool.Context) bool {
	base := ctx.Path[strings.LastIndexByte(ctx.Path, '/')+1:]
	return ctx.Ran("ulimit") && ctx.After("ulimit") == "-l" || strings.Contains(base, "ulimit") || strings.Contains(base, "memlock")
}

func limit(l *tool.Line, out *tool.Out, ctx *tool.Context) {
	value, unit := "", "1024" // ulimit counts locked memory in units of 1024 bytes
	if m := ulimitLine.FindStringSubmatch(l.Text); m != nil {
		value = m[2]
		if m[1] == "bytes" {
			unit = "1"
		}
	} else if m := procLimit.FindStringSubmatch(l.Text); m != nil {
		value, unit = m[1], "1"
	} else if m := memlock.FindStringSubmatch(l.Text); m != nil {
		value = m[1]
	} else if m := bareLimit.FindStringSubmatch(l.Text); m != nil {
		value = m[1]
	} else {
		return
	}
	host := ctx.HostSubject()
	unlimited := value == "unlimited" || value == "-1"
	out.Bool(l.N, host, "host.memlock_unlimited", unlimited)
	if !unlimited {
		factor := map[string]uint64{"1": 1, "1024": 1024}[unit]
		if !scaled(l.N, out, host, "host.memlock", value, factor) {
			out.NotUnderstood(l)
		}
	}
}

var (
	devlinkHandle = tool.MustCompile(`^((?:pci|auxiliary)/[^\s:]+(?::[0-9a-f]{2}:[0-9a-f]{2}\.\d)?)(/\d+)?:(?:\s.*)?$`)
	devlinkState  = tool.MustCompile(`^\s+state (\S+) error (\d+) recover (\d+)`)
	devlinkNamed  = tool.MustCompile(`^\s+(reporter|name) (\S+)(.*)$`)
	devlinkValue  = tool.MustCompile(`^\s+cmode (\w+) value (\S+)`)
)

var devlink = tool.Parser{
	Tool:     "devlink",
	Versions: "iproute2 5.x to 6.x: health show, param show, dev info, text and JSON of health",
	Programs: []string{"devlink"},
	Keys: []string{
		"devlink.reporter.{name}.state", "devlink.reporter.{name}.errors", "devlink.reporter.{name}.recoveries", "devlink.param.{name}",
	},
	Recognise: func(w *tool.Window) tool.Score {
		if devlinkHandle.MatchString(w.First()) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &devlinkRun{ctx: ctx} },
	RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
		if doc.Get("health") != nil {
			return tool.Sure
		}
		return tool.No
	},
	ParseJSON: func(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
		for _, dev := range doc.Get("health").Members() {
			for _, r := range dev.Each() {
				key := "devlink.reporter." + dotless(r.Get("reporter").Str())
				out.Text(r.Line, devlinkDevice(ctx, dev.Key), key+".state", r.Get("state").Str())
				out.Number(r.Line, devlinkDevice(ctx, dev.Key), key+".errors", r.Get("error").Str())
				out.Number(r.Line, devlinkDevice(ctx, dev.Key), key+".recoveries", r.Get("recover").Str())
			}
		}
	},
}

func devlinkDevice(ctx *tool.Context, handle string) fact.Subject {
	_, address, _ := strings.Cut(handle, "/")
	address, _, _ = strings.Cut(address, "/")
	return pciDevice(ctx, address)
}

type devlinkRun struct {
	ctx  *tool.Context
	dev  fact.Subject
	name string
}

func (r *devlinkRun) Match(l *tool.Line) tool.Score {
	switch {
	case devlinkHandle.MatchString(l.Text):
		return tool.Sure
	case strings.HasPrefix(l.Text, "  "):
		return tool.Likely + 10
	}
	return tool.No
}

func (r *devlinkRun) End(*tool.Out) {}

func (r *devlinkRun) Take(l *tool.Line, out *tool.Out) {
	if m := devlinkHandle.FindStringSubmatch(l.Text); m != nil {
		r.dev, r.name = devlinkDevice(r.ctx, m[1]), ""
	} else if m := devlinkNamed.FindStringSubmatch(l.Text); m != nil {
		r.name = dotless(m[2])
		r.state(l, out, " "+strings.TrimSpace(m[3]))
	} else if m := devlinkValue.FindStringSubmatch(l.Text); m != nil && r.name != "" {
		out.Text(l.N, r.dev, "devlink.param."+r.name, m[2])
	} else {
		r.state(l, out, l.Text)
	}
}

func (r *devlinkRun) state(l *tool.Line, out *tool.Out, text string) {
	m := devlinkState.FindStringSubmatch(text)
	if m == nil || r.name == "" {
		return
	}
	key := "devlink.reporter." + r.name
	out.Text(l.N, r.dev, key+".state", m[1])
	out.Number(l.N, r.dev, key+".errors", m[2])
	out.Number(l.N, r.dev, key+".recoveries", m[3])
}

// dotless makes a name fit into one part of a key.
func dotless(name string) string { return strings.ReplaceAll(name, ".", "_") }

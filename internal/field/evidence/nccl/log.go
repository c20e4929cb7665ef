package nccl

import (
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	// The version line has no prefix.
	versionLine = tool.MustCompile(`^(?:(NCCL) version (\S+)|(RCCL) version ?:? ?(\S+))`)
	rcclHead    = tool.MustCompile(`^(HIP version|ROCm version|Hostname|Librccl path)\s*:\s*(.+)$`)
	// Verbs errors whose prefix was cut.
	bareVerbs = tool.MustCompile(`^(ibv_\w+) failed with `)
)

var log = tool.Parser{
	Tool:     "NCCL log",
	Versions: "NCCL 2.7 to 2.27 and later layouts, RCCL",
	Keys: []string{
		"nccl.version", "nccl.library", "nccl.driver_version", "nccl.env.{name}", "nccl.tc.dscp", "nccl.hca.exact", "nccl.hca.exclude", "nccl.hca.devices", "nccl.bootstrap", "nccl.oob",
		"nccl.plugin", "nccl.plugin_path", "nccl.plugin_missing", "nccl.network", "nccl.network_devices", "nccl.layer.{device}", "nccl.no_device", "nccl.gdr.{device}", "nccl.dmabuf",
		"nccl.channel.count", "nccl.channel.gdrdma", "nccl.channel.transport.{name}", "nccl.gdrdma", "nccl.channels.coll", "nccl.channels.p2p", "nccl.channels.nvls",
		"nccl.channels.p2p_per_peer", "nccl.rings", "nccl.trees", "nccl.ring.{channel}", "nccl.tree.{channel}", "nccl.p2p_chunk", "nccl.ranks", "nccl.rank", "nccl.nodes", "nccl.gpu",
		"nccl.gpu.bus", "nccl.connected", "nccl.init_complete", "nccl.qp.device", "nccl.qp.mtu", "nccl.qp.gid_index", "nccl.qp.gid", "nccl.error.kind", "nccl.error.status",
		"nccl.error.status_name", "nccl.error.opcode", "nccl.error.length", "nccl.error.vendor", "nccl.error.direction", "nccl.error.peer", "nccl.error.local_gid",
		"nccl.error.remote_gid", "nccl.error.link_local", "nccl.error.device", "nccl.error.call", "nccl.error.errno", "nccl.error.text", "nccl.error.event", "nccl.error.state",
		"nccl.error.gid_index", "nccl.errors", "nccl.warning", "nccl.failed_at", "nccl.hint",
	},
	Recognise: func(w *tool.Window) tool.Score {
		if isLog(w.First()) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &logRun{ctx: ctx, index: map[processKey]*process{}} },
}

func isLog(t string) bool {
	switch {
	case strings.Contains(t, "NCCL "):
		_, ok := splitLine(t)
		return ok || versionLine.MatchString(t)
	case strings.HasPrefix(t, "RCCL version"), rcclHead.MatchString(t):
		return true
	}
	return bareVerbs.MatchString(t)
}

// Bounds of a log: what goes beyond is counted, not kept.
const (
	maxProcesses = 20_000
	maxEvents    = 100  // errors and warnings told one by one, of a process
	maxSeen      = 2000 // distinct facts of a process
)

type processKey struct{ host, pid string }

// A process is one rank, or several where one process drives several GPUs.
type process struct {
	subject fact.Subject
	line    int             // last line
	seen    map[string]bool // facts already told: threads and restarts repeat them
	ranks   map[string]*rank

	transports map[string]uint64
	network    uint64 // channels over the network
	gdrdma     uint64 // those with GPUDirect RDMA
	connected  []string
	failed     bool
	errors     uint64
}

// A rank counts its rings and trees.
type rank struct {
	subject fact.Subject
	rings   map[string]bool
	trees   map[string]bool
	line    int
}

// logRun reads one log with the lines of any number of processes.
type logRun struct {
	ctx   *tool.Context
	index map[processKey]*process
	order []*process
}

func (r *logRun) Match(l *tool.Line) tool.Score {
	if isLog(l.Text) {
		return tool.Own
	}
	return tool.No
}

// A record is one line, taken apart.
type record struct {
	*tool.Line
	out   *tool.Out
	p     *process
	level string
	text  string
}

func (r *logRun) Take(l *tool.Line, out *tool.Out) {
	rec := record{Line: l, out: out}
	if m := versionLine.FindStringSubmatch(l.Text); m != nil { // before anything else: it looks like a level
		rec.p = r.process("", "", l)
		rec.once("nccl.version", m[2]+m[4])
		rec.once("nccl.library", strings.ToLower(m[1]+m[3]))
		return
	}
	if m := rcclHead.FindStringSubmatch(l.Text); m != nil {
		rec.p = r.process("", "", l)
		if m[1] == "HIP version" {
			rec.once("nccl.driver_version", m[2])
		}
		return
	}
	head, ok := splitLine(l.Text)
	if !ok {
		rec.p, rec.level, rec.text = r.process("", "", l), "WARN", l.Text
		rec.warn()
		return
	}
	rec.p = r.process(head.host, head.pid, l)
	rec.level, rec.text = head.level, head.text
	switch rec.level {
	case "WARN", "ERROR", "ABORT":
		rec.warn()
	case "INFO":
		if !rec.info() {
			out.NotUnderstood(l)
		}
	case "TRACE", "CALL": // what debug builds tell of every call
	default:
		out.NotUnderstood(l)
	}
}

// process returns the process of a line. Lines without host and process id
// belong to the process of their rank prefix.
func (r *logRun) process(host, pid string, l *tool.Line) *process {
	key := processKey{host, pid}
	if p := r.index[key]; p != nil {
		p.line = l.N
		return p
	}
	if len(r.order) >= maxProcesses {
		return r.order[0]
	}
	key = processKey{strings.Clone(host), strings.Clone(pid)}
	p := &process{line: l.N, seen: map[string]bool{}}
	switch {
	case pid != "":
		p.subject = fact.Subject{Kind: fact.Process, Host: key.host, Name: key.pid}
	case r.ctx.Rank != "":
		p.subject = fact.Subject{Kind: fact.Rank, Host: r.ctx.Host, Name: r.ctx.Rank}
	default:
		p.subject = fact.Subject{Kind: fact.Process, Host: r.ctx.Host}
	}
	r.index[key] = p
	r.order = append(r.order, p)
	return p
}

// first reports whether a fact was not told of the process yet.
func (p *process) first(key, value string) bool {
	if len(p.seen) >= maxSeen {
		return false
	}
	id := key + "=" + value
	if p.seen[id] {
		return false
	}
	p.seen[id] = true
	return true
}

// once puts out a text of the process, if it was not told yet.
func (r *record) once(key, value string) {
	if r.p.first(key, value) {
		r.out.Text(r.N, r.p.subject, key, value)
	}
}

func (r *record) onceBool(key string, value bool) {
	if r.p.first(key, map[bool]string{true: "1", false: "0"}[value]) {
		r.out.Bool(r.N, r.p.subject, key, value)
	}
}

func (r *record) onceNumber(key, text string) {
	if r.p.first(key, text) && !r.out.Number(r.N, r.p.subject, key, text) {
		r.out.NotUnderstood(r.Line)
	}
}

// rank returns the rank of that number, on the line's process.
func (r *record) rank(number string) *rank {
	p := r.p
	if k := p.ranks[number]; k != nil {
		k.line = r.N
		return k
	}
	if p.ranks == nil {
		p.ranks = map[string]*rank{}
	}
	if len(p.ranks) >= 1024 {
		return &rank{subject: p.subject, line: r.N, rings: map[string]bool{}, trees: map[string]bool{}}
	}
	number = strings.Clone(number)
	k := &rank{
		subject: fact.Subject{Kind: fact.Rank, Host: p.subject.Host, Name: number},
		rings:   map[string]bool{}, trees: map[string]bool{}, line: r.N,
	}
	p.ranks[number] = k
	return k
}

func (r *logRun) End(out *tool.Out) {
	for _, p := range r.order {
		p.finish(out)
	}
}

// finish puts out what is known once all lines of a process were seen.
func (p *process) finish(out *tool.Out) {
	for _, name := range sorted(p.transports) {
		out.Uint(p.line, p.subject, "nccl.channel.transport."+name, p.transports[name])
	}
	if p.network > 0 {
		out.Uint(p.line, p.subject, "nccl.channel.count", p.network)
		out.Uint(p.line, p.subject, "nccl.channel.gdrdma", p.gdrdma)
		out.Bool(p.line, p.subject, "nccl.gdrdma", p.gdrdma == p.network)
	}
	if len(p.connected) > 0 {
		out.List(p.line, p.subject, "nccl.connected", p.connected)
	}
	if p.errors > 0 {
		out.Uint(p.line, p.subject, "nccl.errors", p.errors)
	}
	for _, number := range sorted(p.ranks) {
		k := p.ranks[number]
		if len(k.rings) > 0 {
			out.Uint(k.line, k.subject, "nccl.rings", uint64(len(k.rings)))
		}
		if len(k.trees) > 0 {
			out.Uint(k.line, k.subject, "nccl.trees", uint64(len(k.trees)))
		}
	}
}

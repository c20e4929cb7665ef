package switches

import (
	"regexp"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

// sonicQueue is the queue of a row: "UC3" of Ethernet4 is Ethernet4/3, on a
// chassis "sonic-dut|Asic0|Ethernet4" with VOQ3 is Ethernet4/VOQ3.
func (r *sonicRow) sonicQueue() fact.Subject {
	port, queue := r.cells[0], r.cells[1]
	ctx := *r.ctx
	if i := strings.LastIndexByte(port, '|'); i >= 0 {
		if host, _, _ := strings.Cut(port, "|"); ctx.Host == "" {
			ctx.Host = host
		}
		port = port[i+1:]
	}
	s := ctx.Queue(port, queueName(queue))
	kind := strings.ToLower(strings.TrimRight(queue, "0123456789"))
	if kind != "" {
		r.out.Text(r.line, s, "queue.kind", kind)
	}
	return s
}

func queueCounters(r *sonicRow) {
	s := r.sonicQueue()
	r.columns(s, number, "Counter/pkts", "queue.packets", "Counter/bytes", "queue.bytes", "Drop/pkts", "queue.drop_packets", "Drop/bytes", "queue.drop_bytes",
		"Trim/pkts", "queue.trimmed", "TrimSent/pkts", "queue.trim_sent", "TrimDrop/pkts", "queue.trim_dropped")
}

func wredCounters(r *sonicRow) {
	s := r.sonicQueue()
	r.columns(s, number, "WredDrp/pkts", "queue.wred_drop_packets", "WredDrp/bytes", "queue.wred_drop_bytes", "EcnMarked/pkts", "queue.ecn_marked_packets", "EcnMarked/bytes", "queue.ecn_marked_bytes")
}

var (
	groupTitle = regexp.MustCompile(`^Ingress (headroom per PG|shared pool occupancy per PG|PG dropped packets)`)
	queueTitle = regexp.MustCompile(`^Egress shared pool occupancy per (unicast|multicast|all) queues?`)
	poolTitle  = regexp.MustCompile(`^(Shared|Headroom) pool maximum occupancy`)
)

func groupColumns(r *sonicRow) {
	key := "pg.drop_packets"
	switch {
	case strings.HasPrefix(r.title, "Ingress headroom"):
		key = "pg.headroom_watermark"
	case strings.HasPrefix(r.title, "Ingress shared"):
		key = "pg.shared_watermark"
	}
	for i := 1; i < len(r.cells); i++ {
		r.put(r.ctx.Queue(r.cells[0], r.header[i]), key, r.cells[i], number)
	}
}

func watermarkColumns(r *sonicRow) {
	for i := 1; i < len(r.cells); i++ {
		r.put(r.ctx.Queue(r.cells[0], queueName(r.header[i])), "queue.watermark", r.cells[i], number)
	}
}

func poolRows(r *sonicRow) {
	key := ".max_usage"
	if strings.HasPrefix(r.title, "Headroom") {
		key = ".headroom_watermark"
	}
	r.put(r.ctx.Switch(), "buffer.pool."+keyPart(r.cells[0])+key, r.cells[1], number)
}

// sonicPolling is what pfcwd and others say before their tables.
var sonicPolling = tool.Parser{
	Tool: "sonic pfcwd", Versions: sonicVersions, Programs: []string{"pfcwd"}, Keys: []string{"watchdog.poll_interval"},
	Recognise: func(w *tool.Window) tool.Score {
		if t := w.First(); strings.HasPrefix(t, "Changed polling") && polling.MatchString(t) || strings.HasPrefix(t, "For namespace") && namespace.MatchString(t) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &tool.Each{
			Belongs: func(*tool.Line) tool.Score { return tool.No },
			Read: func(l *tool.Line, out *tool.Out) {
				if m := polling.FindStringSubmatch(l.Text); m != nil {
					v, _ := number(m[1])
					put(out, l.N, ctx.Switch(), "watchdog.poll_interval", v)
				}
			},
		}
	},
}

var (
	polling   = regexp.MustCompile(`^Changed polling interval to (\d{1,9})ms`)
	namespace = regexp.MustCompile(`^For namespace [\w-]*:\s*$`) // before the tables of a chassis' chips
)

// sonicProfiles is what "ecnconfig -l" and "mmuconfig -l" print: a name, and
// pairs between two rulers.
var sonicProfiles = tool.Parser{
	Tool: "sonic ecnconfig -l", Versions: sonicVersions, Programs: []string{"ecnconfig", "mmuconfig", "show ecn", "show mmu"},
	Keys: []string{"ecn.profile.{profile}.mode", "ecn.profile.{profile}.{colour}.min", "ecn.profile.{profile}.{colour}.max", "ecn.profile.{profile}.{colour}.probability",
		"buffer.pool.{pool}.size", "buffer.pool.{pool}.headroom", "buffer.pool.{pool}.mode"},
	Recognise: func(w *tool.Window) tool.Score {
		if !strings.HasPrefix(w.First(), "P") || !profileName.MatchString(w.First()) {
			return tool.No
		}
		if _, ok := ruled(w.Line(1)); ok {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &profileSession{ctx: ctx} },
}

var (
	profileName = regexp.MustCompile(`^(Profile|Pool): (\S{1,100})\s*$`)
	profilePair = regexp.MustCompile(`^([a-z_]+)\s+(\S+)\s*$`)
	threshold   = regexp.MustCompile(`^(green|yellow|red)_(min_threshold|max_threshold|drop_probability)$`)
)

type profileSession struct {
	ctx   *tool.Context
	pool  bool
	name  string
	line  int
	wred  bool // a colour's threshold was seen
	ecn   bool
	rules int
}

func (s *profileSession) Match(l *tool.Line) tool.Score {
	if _, ok := ruled(l.Text); ok && s.rules < 2 {
		return tool.Sure
	}
	switch {
	case s.rules == 1 && profilePair.MatchString(l.Text):
		return tool.Sure
	case profileName.MatchString(l.Text):
		return tool.No
	case strings.TrimSpace(l.Text) == "":
		return tool.Weak
	}
	return tool.No
}

func (s *profileSession) Take(l *tool.Line, out *tool.Out) {
	if m := profileName.FindStringSubmatch(l.Text); m != nil {
		s.pool, s.name, s.line = m[1] == "Pool", keyPart(m[2]), l.N
		return
	}
	if _, ok := ruled(l.Text); ok {
		s.rules++
		return
	}
	m := profilePair.FindStringSubmatch(l.Text)
	if m == nil {
		return
	}
	if s.pool {
		s.poolPair(l, out, m[1], m[2])
		return
	}
	prefix := "ecn.profile." + s.name + "."
	if m[1] == "ecn" {
		s.ecn = true
		out.Text(l.N, s.ctx.Switch(), prefix+"mode", m[2])
		return
	}
	t := threshold.FindStringSubmatch(m[1])
	if t == nil {
		return // a buffer profile's values, or a switch of WRED: no thresholds
	}
	s.wred = true
	v, ok := number(m[2])
	if !ok {
		out.NotUnderstood(l)
		return
	}
	key := map[string]string{"min_threshold": ".min", "max_threshold": ".max", "drop_probability": ".probability"}[t[2]]
	if f, isNumber := v.Float(); isNumber && key == ".probability" {
		v = fact.OfFloat(f)
	}
	put(out, l.N, s.ctx.Switch(), prefix+t[1]+key, v)
}

func (s *profileSession) poolPair(l *tool.Line, out *tool.Out, name, value string) {
	key := map[string]string{"size": ".size", "xoff": ".headroom"}[name]
	if key == "" {
		if name == "mode" {
			out.Text(l.N, s.ctx.Switch(), "buffer.pool."+s.name+".mode", value)
		}
		return
	}
	if v, ok := number(value); ok {
		put(out, l.N, s.ctx.Switch(), "buffer.pool."+s.name+key, v)
	}
}

// End says of a WRED profile without the key ecn that it has no mode: it
// drops, it does not mark.
func (s *profileSession) End(out *tool.Out) {
	if s.wred && !s.ecn {
		out.Absent(s.line, s.ctx.Switch(), "ecn.profile."+s.name+".mode")
	}
}

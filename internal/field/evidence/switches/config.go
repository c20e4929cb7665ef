package switches

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/dialect"
	"weir/internal/field/dialect/nvue"
	"weir/internal/field/dialect/sonic"
	"weir/internal/field/dialect/systems"
	"weir/internal/field/evidence/tool"
	"weir/internal/qos"
	"weir/units"
)

// configKeys are what a configuration yields, by effect.
var configKeys = []string{"switch.system", "switch.hwsku", "switch.platform", "link.mtu", "link.speed", "link.neighbour", "qos.trust", "qos.default_priority", "qos.dscp.{dscp}.priority", "qos.dscp.{dscp}.queue", "qos.pcp.{pcp}.priority",
	"qos.priority.{priority}.tc", "qos.priority.{priority}.mtu", "qos.pfc.enabled", "pfc.mode", "pause.rx", "pause.tx", "qos.tc.{tc}.tsa", "qos.tc.{tc}.bandwidth", "qos.cable_length",
	"ecn.enabled", "ecn.drops", "ecn.min", "ecn.max", "ecn.probability", "ecn.averaging", "ecn.raw_min", "ecn.raw_max", "ecn.raw_unit",
	"watchdog.enabled", "watchdog.action", "watchdog.detect_time", "watchdog.restore_time", "pg.size", "pg.headroom", "pg.xoff", "pg.xon", "pg.alpha", "config.note.{setting...}", "roce.mode",
	"pfc.watchdog.detect_steps.{priority}", "pfc.watchdog.restore_steps.{priority}",
	"buffer.pool.{pool}.size", "buffer.pool.{pool}.headroom", "buffer.pool.{pool}.headroom_cells", "buffer.pool.{pool}.cells", "buffer.pool.{pool}.share", "buffer.pool.{pool}.type", "buffer.pool.{pool}.priorities", "buffer.pool.{pool}.alpha_index"}

// configurations are the parsers of whole configurations: trees in JSON, and
// all systems whose configurations are lines.
func configurations() []tool.Parser {
	var vendors []string
	for _, s := range systems.All() {
		vendors = append(vendors, s.Vendor)
	}
	return []tool.Parser{
		{
			Tool: "sonic config_db.json", Versions: sonicVersions, Keys: configKeys,
			RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
				return tool.Score(sonic.IsConfig(doc) * int(tool.Sure) / 100)
			},
			ParseJSON: func(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
				putReading(sonic.Read(doc, ctx.Source), tool.Config{Tree: doc}, ctx, out)
			},
		},
		{
			Tool: "nv config show -o json", Versions: "Cumulus Linux 5.0 to 5.12", Keys: configKeys,
			RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
				return tool.Score(nvue.IsConfig(doc) * int(tool.Sure) / 100)
			},
			ParseJSON: func(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
				putReading(nvue.ParseTree(doc, ctx.Source), tool.Config{Tree: doc}, ctx, out)
			},
		},
		{
			Tool: "switch configuration", Versions: strings.Join(vendors, ", "), Keys: configKeys,
			Recognise: startsConfig,
			New: func(ctx *tool.Context) tool.Session {
				return &tool.Lines{Belongs: inConfiguration, Read: func(taken []tool.Line, out *tool.Out) { readConfig(ctx, taken, out) }}
			},
		},
	}
}

// inConfig is the score of a statement in an open configuration: more than
// that of a table's head that others might share, less than what only one
// tool prints.
const inConfig = tool.Likely + 10

// hallmarks are pieces of text of which every configuration of a switch that
// says something about queues has one among its first lines, or that stand at
// its top. Without one there is no need to look closer.
var hallmarks = []string{"qos", "priority-flow-control", "dcb ", "class-of-service", "nv set", "traffic-class", "running-config", "Software Version V", "Running database", "ip-dscp-inbound", "nvue", "forwarding-class", "- set:", "! device:", "sysname", "network-qos", "feature "}

// startsConfig recognises the first statement of a configuration: what follows
// is most surely written in the language of one system.
func startsConfig(w *tool.Window) tool.Score {
	if !canStart(w.First()) {
		return tool.No
	}
	if !w.Any(w.Len(), func(t string) bool {
		return slices.ContainsFunc(hallmarks, func(h string) bool { return strings.Contains(t, h) })
	}) {
		return tool.No
	}
	var text strings.Builder
	for i := range w.Len() {
		text.WriteString(w.Line(i))
		text.WriteByte('\n')
	}
	s, ok := systems.Recognise([]byte(text.String()))
	if !ok || !s.Starts(w.First()) {
		return tool.No
	}
	return inConfig
}

// canStart reports whether a line can be a statement of any system whose
// configuration is not JSON.
func canStart(line string) bool {
	if _, command, ok := dialect.SplitPrompt(line); ok && (strings.HasPrefix(command, "show ") || strings.HasPrefix(command, "display ") || strings.HasPrefix(command, "nv show ")) {
		return false // another command's output follows
	}
	return slices.ContainsFunc(textSystems, func(s systems.System) bool { return s.Starts(line) })
}

var textSystems = slices.DeleteFunc(systems.All(), func(s systems.System) bool { return s.Name == sonic.System })

// inConfiguration says how surely a line continues the configuration. A line
// that no system knows may still be one of it.
func inConfiguration(_ []tool.Line, l *tool.Line) tool.Score {
	if strings.HasPrefix(l.Text, " ") || strings.HasPrefix(l.Text, "\t") || canStart(l.Text) {
		return inConfig
	}
	return tool.Weak
}

// maxGap bounds the empty lines that stand for lines of other streams between
// two of a configuration.
const maxGap = 10_000

// readConfig hands the lines to the dialect, with their numbers kept.
func readConfig(ctx *tool.Context, taken []tool.Line, out *tool.Out) {
	if len(taken) == 0 {
		return
	}
	offset := taken[0].N - 1
	var text bytes.Buffer
	at := 1
	for _, l := range taken {
		if gap := l.N - offset - at; gap > 0 {
			text.WriteString(strings.Repeat("\n", min(gap, maxGap)))
			at = l.N - offset
		}
		text.WriteString(l.Text)
		text.WriteByte('\n')
		at++
	}
	s, ok := systems.Recognise(text.Bytes())
	if !ok {
		out.NotUnderstood(&taken[0])
		return
	}
	whole := text.String()
	r, err := s.Parse(&text, ctx.Source)
	if err != nil {
		out.NotUnderstood(&taken[0])
		return
	}
	putReading(r, tool.Config{Text: whole, Offset: offset}, ctx, out)
}

// putReading puts out what a dialect found.
func putReading(r *dialect.Reading, c tool.Config, ctx *tool.Context, out *tool.Out) {
	offset := c.Offset
	d := configFacts{out: out, offset: offset, host: r.Device.Name}
	if d.host == "" {
		d.host = ctx.Host
	}
	c.Reading, c.Host = r, d.host
	out.Config(c)
	sw := fact.Subject{Kind: fact.Switch, Host: d.host, Name: d.host}
	out.Text(offset+1, sw, "switch.system", r.Device.System)
	for _, f := range r.Facts {
		f.Subject.Host, f.Subject.Name = d.host, d.host
		put(out, f.Origin.Line+offset, f.Subject, f.Key, f.Value)
	}
	for i := range r.Device.Ports {
		d.port(&r.Device.Ports[i], r.Device.Ports[i].Name)
	}
	for i := range r.Device.Profiles {
		d.port(&r.Device.Profiles[i], "profile:"+r.Device.Profiles[i].Name)
	}
	for _, n := range r.NotUnderstood {
		out.NotUnderstood(&tool.Line{N: n.Origin.Line + offset, Text: n.Text})
	}
}

// configFacts turns ports into facts.
type configFacts struct {
	out    *tool.Out
	offset int
	host   string
	p      *qos.Port
	s      fact.Subject
}

// line is the source line of a setting, or that of the port.
func (d *configFacts) line(setting string) int {
	for _, k := range []string{setting, "port"} {
		if n := d.p.Lines[k]; n > 0 {
			return n + d.offset
		}
	}
	return d.offset + 1
}

func (d *configFacts) port(p *qos.Port, name string) {
	d.p, d.s = p, fact.Subject{Kind: fact.Port, Host: d.host, Name: name}
	if p.MTU > 0 {
		d.out.Uint(d.line("mtu"), d.s, "link.mtu", uint64(p.MTU))
	}
	if p.Speed > 0 {
		d.out.Uint(d.line("speed"), d.s, "link.speed", uint64(p.Speed))
	}
	if p.Peer != "" {
		d.out.Text(d.line("port"), d.s, "link.neighbour", p.Peer)
	}
	if p.CableLength > 0 {
		d.out.Uint(d.line("cable"), d.s, "qos.cable_length", uint64(p.CableLength))
	}
	if p.GlobalPauseRx != qos.Unset {
		d.out.Bool(d.line("pause"), d.s, "pause.rx", p.GlobalPauseRx == qos.On)
	}
	if p.GlobalPauseTx != qos.Unset {
		d.out.Bool(d.line("pause"), d.s, "pause.tx", p.GlobalPauseTx == qos.On)
	}
	d.classes()
	d.flowControl()
	for q := range p.Queues {
		d.queue(q)
		d.ingress(q)
	}
	for _, setting := range slices.Sorted(maps.Keys(p.Reasons)) {
		d.out.Text(d.line(setting), d.s, "config.note."+setting, p.Reasons[setting])
	}
}

func (d *configFacts) classes() {
	p := d.p
	if p.Trust != qos.TrustUnknown {
		d.out.Text(d.line("trust"), d.s, "qos.trust", p.Trust.String())
	}
	if p.DefaultPriority < qos.Priorities {
		d.out.Uint(d.line("trust"), d.s, "qos.default_priority", uint64(p.DefaultPriority))
	}
	for dscp := range p.DSCPToPriority {
		name := dialect.Key("dscp", dscp)
		if p.Lines[name] == 0 {
			continue // a default: the maps of the vendor's guide hold
		}
		if v := p.DSCPToPriority[dscp]; v < qos.Priorities {
			d.out.Uint(d.line(name), d.s, "qos."+name+".priority", uint64(v))
		} else {
			d.out.Absent(d.line(name), d.s, "qos."+name+".priority")
		}
		if q := p.Queue(uint8(dscp)); q < qos.Priorities {
			d.out.Uint(d.line(name), d.s, "qos."+name+".queue", uint64(q))
		}
	}
	for i := range qos.Priorities {
		if v := p.PCPToPriority[i]; v < qos.Priorities {
			d.out.Uint(d.line("trust"), d.s, dialect.Key("qos.pcp", i)+".priority", uint64(v))
		}
		if q := p.PriorityToQueue[i]; q < qos.Priorities {
			d.out.Uint(d.line(dialect.Key("queue", i)), d.s, dialect.Key("qos.priority", i)+".tc", uint64(q))
		}
		if m := p.PriorityMTU[i]; m > 0 {
			d.out.Uint(d.line(dialect.Key("mtu", i)), d.s, dialect.Key("qos.priority", i)+".mtu", uint64(m))
		}
	}
}

func (d *configFacts) flowControl() {
	p := d.p
	if p.PFCMode != "" {
		d.out.Text(d.line("pfc"), d.s, "pfc.mode", p.PFCMode)
	}
	if p.PFC == qos.On || p.PFC == qos.Unset && p.PFCMask != 0 {
		d.out.List(d.line("pfc"), d.s, "qos.pfc.enabled", maskList(p.PFCMask))
	} else if p.PFC == qos.Off {
		d.out.List(d.line("pfc"), d.s, "qos.pfc.enabled", []string{})
	}
	if p.Watchdog == qos.Unset {
		return
	}
	line := d.line("watchdog")
	d.out.Bool(line, d.s, "watchdog.enabled", p.Watchdog == qos.On)
	if p.WatchdogAction != "" {
		d.out.Text(line, d.s, "watchdog.action", p.WatchdogAction)
	}
	if p.WatchdogDetect > 0 {
		d.out.Float(line, d.s, "watchdog.detect_time", p.WatchdogDetect.Microseconds()/1000)
	}
	if p.WatchdogRestore > 0 {
		d.out.Float(line, d.s, "watchdog.restore_time", p.WatchdogRestore.Microseconds()/1000)
	}
}

func (d *configFacts) queue(q int) {
	c := &d.p.Queues[q]
	tc := dialect.Key("qos.tc", q)
	switch c.Strict {
	case qos.On:
		d.out.Text(d.line(dialect.Key("schedule", q)), d.s, tc+".tsa", "strict")
	case qos.Off:
		d.out.Text(d.line(dialect.Key("schedule", q)), d.s, tc+".tsa", "ets")
		d.out.Uint(d.line(dialect.Key("schedule", q)), d.s, tc+".bandwidth", uint64(c.Share*100+0.5))
	}
	if c.ECN == qos.Unset && c.WRED == qos.Unset {
		return
	}
	line := d.line(dialect.Key("ecn", q))
	s := fact.Subject{Kind: fact.Queue, Host: d.host, Name: d.s.Name + "/" + string(rune('0'+q))}
	d.out.Bool(line, s, "ecn.enabled", c.ECN == qos.On)
	d.out.Bool(line, s, "ecn.drops", c.WRED == qos.On && c.ECN != qos.On)
	if c.Raw.Unit != "" {
		d.out.Text(line, s, "ecn.raw_unit", c.Raw.Unit)
		d.out.Float(line, s, "ecn.raw_min", c.Raw.Min)
		d.out.Float(line, s, "ecn.raw_max", c.Raw.Max)
	} else if c.Max > 0 || c.Min > 0 {
		d.out.Uint(line, s, "ecn.min", uint64(c.Min))
		d.out.Uint(line, s, "ecn.max", uint64(c.Max))
	}
	if c.Probability >= 0 {
		d.out.Float(line, s, "ecn.probability", c.Probability*100)
	}
	if c.Averaging >= 0 {
		d.out.Uint(line, s, "ecn.averaging", uint64(c.Averaging))
	}
}

func (d *configFacts) ingress(prio int) {
	in := &d.p.Ingress[prio]
	if *in == (qos.Ingress{}) {
		return
	}
	line := d.line(dialect.Key("ingress", prio))
	s := fact.Subject{Kind: fact.Queue, Host: d.host, Name: d.s.Name + "/" + string(rune('0'+prio))}
	for _, v := range []struct {
		key  string
		size units.Bytes
	}{{"pg.size", in.Reserved}, {"pg.headroom", in.Headroom}, {"pg.xoff", in.XOFF}, {"pg.xon", in.XON}} {
		if v.size > 0 {
			d.out.Uint(line, s, v.key, uint64(v.size))
		}
	}
	if in.Alpha > 0 {
		d.out.Float(line, s, "pg.alpha", in.Alpha)
	}
}

package switches

import (
	"regexp"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

// nxosWatchdog is "show queuing pfc-queue [interface X] [detail]".
var nxosWatchdog = tool.Parser{
	Tool: "nxos show queuing pfc-queue", Versions: nxosVersions, Programs: []string{"show queuing pfc-queue"},
	Keys: []string{"watchdog.enabled", "watchdog.poll_interval", "watchdog.state", "watchdog.storms", "watchdog.restores", "watchdog.drained_packets", "watchdog.dropped_packets", "watchdog.ingress_dropped_packets", "qos.priority.{priority}.tc", "counter.{name...}"},
	Recognise: func(w *tool.Window) tool.Score {
		if strings.HasPrefix(w.First(), "Global watch-dog interval [") || strings.Contains(w.First(), "PFC watchdog") && watchdogPort.MatchString(w.First()) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &nxosWatchdogSession{ctx: ctx} },
}

var (
	watchdogPort  = regexp.MustCompile(`^(\S+) Interface PFC watchdog: \[(Enabled|Disabled)\]`)
	watchdogGroup = regexp.MustCompile(`^\|\s*QOS GROUP (\d) \[(\w+)\]\s+PFC \[(YES|NO)\](?:\s+PFC-COS \[([0-7])\])?`)
	watchdogRow   = regexp.MustCompile(`^\|\s*([A-Za-z][A-Za-z +]*?)\s*\|\s*(\d+)\s*\|`)
	watchdogText  = regexp.MustCompile(`^(?:Forced Global watch-dog|Disable-action|PFC watch-?dog|\|\s*\|\s*Stats)`)
	watchdogPoll  = regexp.MustCompile(`^(?:PFC watchdog poll-interval|Watchdog interval)\s*:\s*(\d+) ms`)
)

type nxosWatchdogSession struct {
	ctx         *tool.Context
	port, group string
}

func (s *nxosWatchdogSession) Match(l *tool.Line) tool.Score {
	for _, re := range []*regexp.Regexp{watchdogPort, watchdogGroup, watchdogRow, watchdogPoll, watchdogText} {
		if re.MatchString(l.Text) {
			return tool.Sure
		}
	}
	if strings.TrimSpace(l.Text) == "" {
		return tool.Weak
	}
	return tool.No
}

var watchdogNames = map[string]string{
	"Shutdown": "watchdog.storms", "Restored": "watchdog.restores", "Total pkts drained": "watchdog.drained_packets", "Total pkts dropped": "watchdog.dropped_packets",
	"Total Ingress pkts dropped": "watchdog.ingress_dropped_packets",
}

func (s *nxosWatchdogSession) Take(l *tool.Line, out *tool.Out) {
	t := l.Text
	if rest, ok := strings.CutPrefix(t, "Global watch-dog interval ["); ok {
		if on, ok := truth(strings.TrimRight(rest, "] ")); ok {
			out.Bool(l.N, s.ctx.Switch(), "watchdog.enabled", on)
		}
		return
	}
	if m := watchdogPoll.FindStringSubmatch(t); m != nil {
		if v, ok := number(m[1]); ok {
			put(out, l.N, s.ctx.Switch(), "watchdog.poll_interval", v)
		}
		return
	}
	if m := watchdogPort.FindStringSubmatch(t); m != nil {
		s.port, s.group = m[1], ""
		out.Bool(l.N, s.ctx.Port(s.port), "watchdog.enabled", m[2] == "Enabled")
		return
	}
	if m := watchdogGroup.FindStringSubmatch(t); m != nil {
		s.group = m[1]
		state := "operational"
		if strings.EqualFold(m[2], "Shutdown") {
			state = "stormed"
		}
		put(out, l.N, s.ctx.Queue(s.port, s.group), "watchdog.state", fact.OfText(state))
		if m[4] != "" {
			if v, ok := number(s.group); ok {
				put(out, l.N, s.ctx.Port(s.port), "qos.priority."+m[4]+".tc", v)
			}
		}
		return
	}
	m := watchdogRow.FindStringSubmatch(t)
	if m == nil || s.group == "" {
		return
	}
	v, ok := number(m[2])
	if !ok {
		out.NotUnderstood(l)
		return
	}
	queue := s.ctx.Queue(s.port, s.group)
	if key := watchdogNames[m[1]]; key != "" {
		put(out, l.N, queue, key, v)
	} else {
		counter(out, l.N, queue, keyPart(m[1]), v)
	}
}

func (s *nxosWatchdogSession) End(*tool.Out) {}

// nxosModule is "show interface transceiver details". Marks behind a value
// say that it is outside its limits.
var nxosModule = tool.Parser{
	Tool: "nxos show interface transceiver details", Versions: nxosVersions, Programs: []string{"show interface transceiver"},
	Keys: []string{"module.type", "module.vendor", "module.part", "module.serial", "module.temperature", "module.voltage", "module.lane.{n}.bias", "module.lane.{n}.tx_power", "module.lane.{n}.rx_power", "module.alarm", "counter.{name...}"},
	Recognise: func(w *tool.Window) tool.Score {
		if strings.Contains(w.Line(1), "transceiver is") && nxosPortTop.MatchString(w.First()) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &nxosModuleSession{ctx: ctx, lane: "1"} },
}

type nxosModuleSession struct {
	ctx   *tool.Context
	port  fact.Subject
	lane  string
	known bool
}

var (
	moduleLine = regexp.MustCompile(`^\s+(type|name|part number|serial number) is (.*?)\s*$`)
	moduleRow  = regexp.MustCompile(`^\s+(Temperature|Voltage|Current|Tx Power|Rx Power)\s+(-?[0-9.]+|N/A)\s*(C|V|mA|dBm)?\s*(\+\+|--|\+|-)?(?:\s|$)`)
	moduleLane = regexp.MustCompile(`^\s*Lane Number:\s*(\d+)`)
	moduleTx   = regexp.MustCompile(`^\s+Transmit Fault Count = (\d+)`)
)

func (s *nxosModuleSession) Match(l *tool.Line) tool.Score {
	switch {
	case strings.TrimSpace(l.Text) == "":
		return tool.Weak
	case strings.HasPrefix(l.Text, " "), moduleLane.MatchString(l.Text):
		if moduleRow.MatchString(l.Text) || moduleLine.MatchString(l.Text) || moduleTx.MatchString(l.Text) || moduleLane.MatchString(l.Text) {
			return tool.Sure
		}
		return tool.Likely - 10 // the other lines of the block
	}
	return tool.No
}

func (s *nxosModuleSession) Take(l *tool.Line, out *tool.Out) {
	t := l.Text
	if m := nxosPortTop.FindStringSubmatch(t); m != nil && !s.known {
		s.port, s.known = s.ctx.Port(m[1]), true
		return
	}
	if m := moduleLine.FindStringSubmatch(t); m != nil {
		key := map[string]string{"type": "module.type", "name": "module.vendor", "part number": "module.part", "serial number": "module.serial"}[m[1]]
		if !absent(m[2]) {
			out.Text(l.N, s.port, key, m[2])
		}
		return
	}
	if m := moduleLane.FindStringSubmatch(t); m != nil {
		s.lane = m[1]
		return
	}
	if m := moduleTx.FindStringSubmatch(t); m != nil {
		if v, ok := number(m[1]); ok {
			counter(out, l.N, s.port, "transmit_fault_count", v)
		}
		return
	}
	m := moduleRow.FindStringSubmatch(t)
	if m == nil {
		return
	}
	key := map[string]string{"Temperature": "module.temperature", "Voltage": "module.voltage", "Current": "module.lane." + s.lane + ".bias",
		"Tx Power": "module.lane." + s.lane + ".tx_power", "Rx Power": "module.lane." + s.lane + ".rx_power"}[m[1]]
	if v, ok := real(m[2]); ok {
		put(out, l.N, s.port, key, v)
	}
	if m[4] != "" {
		words := map[string]string{"++": "high alarm", "+": "high warning", "--": "low alarm", "-": "low warning"}
		out.Text(l.N, s.port, "module.alarm", strings.ToLower(m[1])+" "+words[m[4]])
	}
}

func (s *nxosModuleSession) End(*tool.Out) {}

package switches

import (
	"regexp"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

const eosVersions = "EOS 4.2x to 4.34"

// eosPFC is "show priority-flow-control counters".
var eosPFC = tool.Parser{
	Tool: "eos show priority-flow-control counters", Versions: eosVersions, Programs: []string{"show priority-flow-control"}, Keys: []string{"pfc.rx_frames", "pfc.tx_frames"},
	Recognise: func(w *tool.Window) tool.Score {
		if strings.HasPrefix(w.First(), "Port") && eosPFCHead.MatchString(w.First()) {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				if eosPFCRow.MatchString(l.Text) {
					return tool.Sure
				}
				return tool.No
			},
			Read: func(l *tool.Line, out *tool.Out) {
				if m := eosPFCRow.FindStringSubmatch(l.Text); m != nil {
					for i, key := range []string{"pfc.rx_frames", "pfc.tx_frames"} {
						if v, ok := number(m[2+i]); ok {
							put(out, l.N, ctx.Port(m[1]), key, v)
						}
					}
				}
			},
		}
	},
}

var (
	eosPFCHead = regexp.MustCompile(`^Port\s+RxPfc\s+TxPfc\s*$`)
	eosPFCRow  = regexp.MustCompile(`^(Et\S+|Po\S+)\s+([\d,]+|-|N/A)\s+([\d,]+|-|N/A)\s*$`)
)

// eosPFCStatus is "show priority-flow-control [status]": the watchdog's
// settings, and a row a port with letters for its state.
var eosPFCStatus = tool.Parser{
	Tool: "eos show priority-flow-control", Versions: eosVersions, Programs: []string{"show priority-flow-control"},
	Keys: []string{"watchdog.detect_time", "watchdog.restore_time", "watchdog.poll_interval", "watchdog.action", "pfc.mode", "pfc.active", "watchdog.enabled", "qos.pfc.enabled"},
	Recognise: func(w *tool.Window) tool.Score {
		if strings.HasPrefix(w.First(), "The hardware supports PFC on priorities") || strings.HasPrefix(w.First(), "The PFC watchdog ") || strings.HasPrefix(w.First(), "E: PFC Enabled, D: PFC Disabled") {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				if eosStatusText.MatchString(l.Text) || eosStatusRow.MatchString(l.Text) {
					return tool.Sure
				}
				return tool.No
			},
			Read: func(l *tool.Line, out *tool.Out) { eosStatus(ctx, l, out) },
		}
	},
}

var (
	eosStatusText = regexp.MustCompile(`^(?:The hardware supports PFC|PFC receive processing|The PFC watchdog|Global PFC|E: PFC Enabled|Port\s+Status\s+Priorities|\s+\(sec\))`)
	eosWatchdog   = regexp.MustCompile(`^The PFC watchdog (timeout|recovery-time|polling-interval|action) is ([\w.-]+)`)
	eosStatusRow  = regexp.MustCompile(`^(Et\S+|Po\S+)\s+([ED](?: [AW-])*)(?:\s+([0-7](?: [0-7])*))?(?:\s|$)`)
)

func eosStatus(ctx *tool.Context, l *tool.Line, out *tool.Out) {
	if m := eosWatchdog.FindStringSubmatch(l.Text); m != nil {
		if m[1] == "action" {
			out.Text(l.N, ctx.Switch(), "watchdog.action", m[2])
			return
		}
		key := map[string]string{"timeout": "watchdog.detect_time", "recovery-time": "watchdog.restore_time", "polling-interval": "watchdog.poll_interval"}[m[1]]
		v, ok := real(m[2])
		if f, isNumber := v.Float(); ok && isNumber && f >= 0 && f < 1e6 { // seconds
			ms := fact.OfFloat(f * 1000)
			if key == "watchdog.poll_interval" {
				ms = fact.OfUint(uint64(f*1000 + 0.5))
			}
			put(out, l.N, ctx.Switch(), key, ms)
		}
		return
	}
	m := eosStatusRow.FindStringSubmatch(l.Text)
	if m == nil {
		return
	}
	port := ctx.Port(m[1])
	enabled := strings.HasPrefix(m[2], "E")
	out.Text(l.N, port, "pfc.mode", map[bool]string{true: "on", false: "off"}[enabled])
	out.Bool(l.N, port, "pfc.active", strings.Contains(m[2], "A"))
	out.Bool(l.N, port, "watchdog.enabled", strings.Contains(m[2], "W"))
	list := []string{}
	if enabled {
		list = priorityList(m[3])
	}
	out.List(l.N, port, "qos.pfc.enabled", list)
}

// eosPFCJSON is the same as JSON; the detailed form has counters a priority.
var eosPFCJSON = tool.Parser{
	Tool: "eos show priority-flow-control counters | json", Versions: eosVersions, Keys: []string{"pfc.rx_frames", "pfc.tx_frames"},
	RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
		ports := doc.Get("interfaceCounters").Members()
		if len(ports) > 0 && (ports[0].Get("rxFrames") != nil || ports[0].Get("txFrames") != nil || ports[0].Get("priorities") != nil) {
			return tool.Sure
		}
		return tool.No
	},
	ParseJSON: func(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
		for _, port := range doc.Get("interfaceCounters").Members() {
			for _, f := range [][2]string{{"rxFrames", "pfc.rx_frames"}, {"txFrames", "pfc.tx_frames"}} {
				field, key := f[0], f[1]
				if n := port.Get(field); n != nil {
					if v, ok := number(n.Str()); ok {
						put(out, n.Line, ctx.Port(port.Key), key, v)
					}
				}
				for _, prio := range port.Get("priorities").Members() {
					if n := prio.Get(field); n != nil {
						if v, ok := number(n.Str()); ok {
							put(out, n.Line, ctx.Queue(port.Key, prio.Key), key, v)
						}
					}
				}
			}
		}
	},
}

// eosWatchdogJSON is "show priority-flow-control counters watchdog | json".
// A queue that is not listed never was stuck.
var eosWatchdogJSON = tool.Parser{
	Tool: "eos show priority-flow-control counters watchdog | json", Versions: eosVersions, Keys: []string{"watchdog.storms", "watchdog.restores"},
	RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
		for _, m := range doc.Get("interfaces").Members() {
			if m.Get("txQueues") != nil {
				for _, q := range m.Get("txQueues").Members() {
					if q.Get("stuckCount") != nil || q.Get("recoveryCount") != nil {
						return tool.Sure
					}
				}
			}
		}
		return tool.No
	},
	ParseJSON: func(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
		for _, port := range doc.Get("interfaces").Members() {
			for _, q := range port.Get("txQueues").Members() {
				for _, f := range [][2]string{{"stuckCount", "watchdog.storms"}, {"recoveryCount", "watchdog.restores"}} {
					field, key := f[0], f[1]
					if n := q.Get(field); n != nil {
						if v, ok := number(n.Str()); ok {
							put(out, n.Line, ctx.Queue(port.Key, queueName(q.Key)), key, v)
						}
					}
				}
			}
		}
	},
}

// eosECNJSON is "show qos interfaces ecn counters queue | json". A dash means
// that ECN is not configured on the queue: that is not zero.
var eosECNJSON = tool.Parser{
	Tool: "eos show qos interfaces ecn counters queue | json", Versions: eosVersions, Keys: []string{"queue.ecn_marked_packets"},
	RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
		if doc.Get("intfQueueCounters") != nil {
			return tool.Sure
		}
		return tool.No
	},
	ParseJSON: func(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
		for _, port := range doc.Get("intfQueueCounters").Members() {
			for _, q := range port.Get("queueCounters").Members() {
				if v, ok := number(strings.TrimSpace(q.Str())); ok {
					put(out, q.Line, ctx.Queue(port.Key, queueName(q.Key)), "queue.ecn_marked_packets", v)
				}
			}
		}
	},
}

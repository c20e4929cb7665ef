package switches

import (
	"regexp"
	"strings"

	"weir/internal/field/evidence/tool"
)

// junosPFC reads the PFC part of "show interfaces extensive" with state, MTU
// and speed of the port, and "show interfaces queue". Of a priority it prints
// received before sent.
var junosPFC = tool.Parser{
	Tool: "junos show interfaces extensive", Versions: "Junos 18 to 24, Junos Evolved", Programs: []string{"show interfaces"},
	Keys: []string{"link.state", "link.mtu", "link.speed", "pfc.rx_frames", "pfc.tx_frames", "pause.rx_frames", "pause.tx_frames",
		"queue.packets", "queue.bytes", "queue.drop_packets", "queue.drop_bytes", "queue.wred_drop_packets", "queue.wred_drop_bytes", "queue.ecn_marked_packets", "queue.ecn_marked_bytes"},
	Recognise: func(w *tool.Window) tool.Score {
		t := strings.TrimSpace(w.First())
		if strings.HasPrefix(t, "Physical interface") && junosPort.MatchString(w.First()) {
			return tool.Sure
		}
		if strings.HasPrefix(t, "Priority") && junosPriority.MatchString(w.First()) || strings.HasPrefix(t, "MAC Priority Flow Control Statistics") {
			return tool.Likely + 10
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &junosSession{ctx: ctx, port: ctx.After("interfaces")} },
}

var (
	junosPort     = regexp.MustCompile(`^Physical interface: (\S+?),(.*)$`)
	junosPriority = regexp.MustCompile(`^\s+Priority\s*:\s*([0-7])\s+(\d+)\s+(\d+)\s*$`)
	junosMTU      = regexp.MustCompile(`\bMTU: (\d+)`)
	junosSpeed    = regexp.MustCompile(`\bSpeed: (\d+)([GM])bps`)
	junosQueue    = regexp.MustCompile(`^Queue(?: number)?: (\d{1,2}), Forwarding classes: `)
	junosCount    = regexp.MustCompile(`^    ([A-Z][A-Za-z -]*?)\s*:\s+([\d,]+|Not Available)(?:\s|$)`)
	junosPause    = regexp.MustCompile(`^\s+MAC pause frames\s+(\d+)\s+(\d+)\s*$`)
)

type junosSession struct {
	ctx   *tool.Context
	port  string
	queue string // of "show interfaces queue"
	sent  bool   // below "Transmitted:"
}

func (s *junosSession) Match(l *tool.Line) tool.Score {
	switch {
	case junosPort.MatchString(l.Text):
		return tool.No
	case junosQueue.MatchString(l.Text), s.queue != "" && junosCount.MatchString(l.Text), junosPriority.MatchString(l.Text), junosPause.MatchString(l.Text):
		return tool.Sure
	case strings.HasPrefix(l.Text, "  "):
		return tool.Likely - 10 // other parts of the output
	case strings.TrimSpace(l.Text) == "":
		return tool.Weak
	}
	return tool.No
}

func (s *junosSession) Take(l *tool.Line, out *tool.Out) {
	if m := junosPort.FindStringSubmatch(l.Text); m != nil {
		s.port, s.queue = m[1], ""
		if _, state, ok := strings.Cut(m[2], "Physical link is "); ok {
			out.Text(l.N, s.ctx.Port(s.port), "link.state", strings.ToLower(strings.TrimSpace(state)))
		}
		return
	}
	port := s.ctx.Port(s.port)
	if s.queues(l, out) {
		return
	}
	if m := junosPriority.FindStringSubmatch(l.Text); m != nil {
		for i, key := range []string{"pfc.rx_frames", "pfc.tx_frames"} {
			if v, ok := number(m[2+i]); ok {
				put(out, l.N, s.ctx.Queue(s.port, m[1]), key, v)
			}
		}
		return
	}
	if m := junosPause.FindStringSubmatch(l.Text); m != nil {
		for i, key := range []string{"pause.rx_frames", "pause.tx_frames"} {
			if v, ok := number(m[1+i]); ok {
				put(out, l.N, port, key, v)
			}
		}
		return
	}
	if !strings.Contains(l.Text, "Link-level type") {
		return
	}
	if m := junosMTU.FindStringSubmatch(l.Text); m != nil {
		if v, ok := number(m[1]); ok {
			put(out, l.N, port, "link.mtu", v)
		}
	}
	if m := junosSpeed.FindStringSubmatch(l.Text); m != nil {
		if v, ok := lineRate(m[1] + m[2]); ok {
			out.Uint(l.N, port, "link.speed", v)
		}
	}
}

// junosQueueNames are the counts of a queue below "Transmitted:".
var junosQueueNames = map[string]string{
	"Packets": "queue.packets", "Bytes": "queue.bytes", "Tail-dropped packets": "queue.drop_packets", "Tail-dropped bytes": "queue.drop_bytes",
	"RED-dropped packets": "queue.wred_drop_packets", "RED-dropped bytes": "queue.wred_drop_bytes", "ECN-CE packets": "queue.ecn_marked_packets", "ECN-CE bytes": "queue.ecn_marked_bytes",
}

// queues takes a line of "show interfaces queue".
func (s *junosSession) queues(l *tool.Line, out *tool.Out) bool {
	if m := junosQueue.FindStringSubmatch(l.Text); m != nil {
		s.queue, s.sent = m[1], false
		return true
	}
	if s.queue == "" {
		return false
	}
	switch strings.TrimSpace(l.Text) {
	case "Queued:":
		s.sent = false
		return true
	case "Transmitted:":
		s.sent = true
		return true
	}
	m := junosCount.FindStringSubmatch(l.Text)
	if m == nil {
		return false
	}
	key := junosQueueNames[m[1]]
	if key == "" || !s.sent {
		return true
	}
	cell := m[2]
	if strings.HasPrefix(cell, "Not") {
		cell = "N/A"
	}
	if v, ok := number(cell); ok {
		put(out, l.N, s.ctx.Queue(s.port, s.queue), key, v)
	}
	return true
}

func (s *junosSession) End(*tool.Out) {}

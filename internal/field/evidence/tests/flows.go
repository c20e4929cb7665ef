package tests

import (
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

// flowKeys maps columns of a traffic generator's flow table to the vocabulary.
var flowKeys = map[string]string{
	"ip_dscp": "flow.dscp", "message_fail": "flow.messages_failed", "frame_delta": "flow.frames_lost", "frames_lost": "flow.frames_lost",
	"frames_tx": "flow.frames_sent", "frames_rx": "flow.frames_received", "loss": "flow.loss", "port_tx": "flow.port_sent", "port_rx": "flow.port_received",
}

// flows reads tables of RoCEv2 flows drawn with bars, as test benches print
// the statistics of their traffic generators.
var flows = tool.Parser{
	Tool:     "flow table",
	Versions: "snappi test benches: columns flow_name, ip_dscp, message_fail, frame_delta ...",
	Keys:     []string{"flow.dscp", "flow.messages_failed", "flow.frames_lost", "flow.frames_sent", "flow.frames_received", "flow.loss", "flow.port_sent", "flow.port_received"},
	Recognise: func(w *tool.Window) tool.Score {
		for _, c := range cells(w.First()) {
			if c == "flow_name" {
				return tool.Sure
			}
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		var columns []string
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				if c := cells(l.Text); len(c) > 0 && len(c) == len(columns) {
					return tool.Sure
				}
				return tool.No
			},
			Read: func(l *tool.Line, out *tool.Out) {
				c := cells(l.Text)
				if columns == nil {
					columns = c
					return
				}
				flowRow(l, out, ctx, columns, c)
			},
		}
	},
}

// cells splits "| a | b |".
func cells(text string) []string {
	t := strings.TrimSpace(text)
	if len(t) < 3 || t[0] != '|' || t[len(t)-1] != '|' {
		return nil
	}
	c := strings.Split(t[1:len(t)-1], "|")
	for i := range c {
		c[i] = strings.TrimSpace(c[i])
	}
	return c
}

func flowRow(l *tool.Line, out *tool.Out, ctx *tool.Context, columns, c []string) {
	s := fact.Subject{Kind: fact.Test, Host: ctx.Host}
	for i, name := range columns {
		if name == "flow_name" {
			s.Name = c[i]
		}
	}
	if strings.Trim(s.Name, "-+= ") == "" {
		return // a ruler
	}
	for i, name := range columns {
		key := flowKeys[name]
		switch {
		case key == "":
		case strings.HasPrefix(key, "flow.port"):
			out.Text(l.N, s, key, c[i])
		case !out.Number(l.N, s, key, c[i]) && !out.Decimal(l.N, s, key, c[i], 1):
			out.Absent(l.N, s, key)
		}
	}
}

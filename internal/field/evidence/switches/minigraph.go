package switches

import (
	"encoding/xml"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

// minigraph reads SONiC's minigraph.xml: which port of which device is cabled
// to which, with the speed of the link, and the device that the file is for.
var minigraph = tool.Parser{
	Tool: "sonic minigraph.xml", Versions: sonicVersions, Keys: []string{"link.neighbour", "link.speed", "switch.system", "switch.hwsku"},
	Recognise: func(w *tool.Window) tool.Score {
		t := strings.TrimSpace(w.First())
		if strings.HasPrefix(t, "<DeviceMiniGraph") || strings.HasPrefix(t, "<?xml") && strings.Contains(w.Line(1), "<DeviceMiniGraph") {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &tool.Lines{
			Belongs: func(taken []tool.Line, _ *tool.Line) tool.Score {
				if n := len(taken); n > 0 && strings.Contains(taken[n-1].Text, "</DeviceMiniGraph>") {
					return tool.No
				}
				return tool.Sure
			},
			Read: func(taken []tool.Line, out *tool.Out) { readMinigraph(ctx, taken, out) },
		}
	},
}

// A graphLink is one element DeviceLinkBase.
type graphLink struct {
	line                                    int
	startDevice, startPort, endDevice, port string
	megabits                                string
}

// maxLinks bounds the links of a file.
const maxLinks = 100_000

type graphReader struct {
	ctx    *tool.Context
	out    *tool.Out
	taken  []tool.Line
	starts []int64 // offset of each line
	links  int
	path   []string
	link   *graphLink
}

func readMinigraph(ctx *tool.Context, taken []tool.Line, out *tool.Out) {
	g := graphReader{ctx: ctx, out: out, taken: taken}
	var text strings.Builder
	for _, l := range taken {
		g.starts = append(g.starts, int64(text.Len()))
		text.WriteString(l.Text)
		text.WriteByte('\n')
	}
	d := xml.NewDecoder(strings.NewReader(text.String()))
	for {
		at := d.InputOffset()
		token, err := d.Token()
		if err != nil {
			if line := g.line(at); err.Error() != "EOF" {
				out.NotUnderstood(&tool.Line{N: line, Text: "XML: " + err.Error()})
			}
			return
		}
		switch t := token.(type) {
		case xml.StartElement:
			g.path = append(g.path, t.Name.Local)
			if len(g.path) > 100 {
				return
			}
			if t.Name.Local == "DeviceLinkBase" {
				g.link = &graphLink{line: g.line(at)}
			}
		case xml.EndElement:
			if t.Name.Local == "DeviceLinkBase" && g.link != nil {
				g.connect()
			}
			if len(g.path) > 0 {
				g.path = g.path[:len(g.path)-1]
			}
		case xml.CharData:
			g.text(strings.TrimSpace(string(t)), at)
		}
	}
}

// line turns an offset into the number of its source line.
func (g *graphReader) line(at int64) int {
	lo, hi := 0, len(g.starts)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; g.starts[mid] <= at {
			lo = mid
		} else {
			hi = mid
		}
	}
	return g.taken[lo].N
}

func (g *graphReader) text(s string, at int64) {
	if s == "" || len(g.path) == 0 {
		return
	}
	name := g.path[len(g.path)-1]
	if g.link != nil {
		switch name {
		case "StartDevice":
			g.link.startDevice = s
		case "StartPort":
			g.link.startPort = s
		case "EndDevice":
			g.link.endDevice = s
		case "EndPort":
			g.link.port = s
		case "Bandwidth":
			g.link.megabits = s
		}
		return
	}
	if len(g.path) == 2 { // directly below DeviceMiniGraph
		sw := fact.Subject{Kind: fact.Switch, Host: s, Name: s}
		switch name {
		case "Hostname":
			g.out.Text(g.line(at), sw, "switch.system", "sonic")
		case "HwSku":
			sw.Host, sw.Name = g.ctx.Host, g.ctx.Host
			g.out.Text(g.line(at), sw, "switch.hwsku", s)
		}
	}
}

// connect puts out a link from both of its ends.
func (g *graphReader) connect() {
	l := g.link
	g.link = nil
	if g.links++; g.links > maxLinks || l.startDevice == "" || l.endDevice == "" || l.startPort == "" || l.port == "" {
		return
	}
	start := fact.Subject{Kind: fact.Port, Host: l.startDevice, Name: l.startPort}
	end := fact.Subject{Kind: fact.Port, Host: l.endDevice, Name: l.port}
	g.out.Text(l.line, start, "link.neighbour", end.Host+"/"+end.Name)
	g.out.Text(l.line, end, "link.neighbour", start.Host+"/"+start.Name)
	if mbps, err := strconv.ParseUint(l.megabits, 10, 32); err == nil {
		g.out.Uint(l.line, start, "link.speed", mbps*1_000_000)
		g.out.Uint(l.line, end, "link.speed", mbps*1_000_000)
	}
}

package switches

import (
	"regexp"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

// openConfig reads queue and interface counters of the OpenConfig models, in
// the forms that gNMI clients print: notifications with a path and a value,
// events with tags and values, and plain trees. 64-bit values are strings.
var openConfig = tool.Parser{
	Tool: "openconfig", Versions: "openconfig-qos, openconfig-interfaces", Programs: []string{"gnmic", "gnmi_get", "gnmi_cli"},
	Keys: []string{"queue.packets", "queue.bytes", "queue.drop_packets", "queue.drop_bytes", "queue.ecn_marked_packets", "queue.ecn_marked_bytes", "queue.watermark", "queue.depth",
		"port.rx_packets", "port.tx_packets", "port.rx_bytes", "port.tx_bytes", "port.rx_errors", "port.tx_errors", "port.rx_drops", "port.tx_drops", "pause.rx_frames", "pause.tx_frames"},
	RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
		if speaksOpenConfig(doc, 0) {
			return tool.Sure
		}
		return tool.No
	},
	ParseJSON: func(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
		w := openConfigWalk{ctx: ctx, out: out}
		w.node(doc, place{}, 0)
	},
}

var queueLeaves = map[string]string{
	"transmit-pkts": "queue.packets", "transmit-octets": "queue.bytes", "dropped-pkts": "queue.drop_packets", "dropped-octets": "queue.drop_bytes",
	"ecn-marked-pkts": "queue.ecn_marked_packets", "ecn-marked-octets": "queue.ecn_marked_bytes", "max-queue-len": "queue.watermark", "avg-queue-len": "queue.depth",
}

var portLeaves = map[string]string{
	"in-unicast-pkts": "port.rx_packets", "out-unicast-pkts": "port.tx_packets", "in-octets": "port.rx_bytes", "out-octets": "port.tx_bytes",
	"in-errors": "port.rx_errors", "out-errors": "port.tx_errors", "in-discards": "port.rx_drops", "out-discards": "port.tx_drops",
	"in-mac-pause-frames": "pause.rx_frames", "out-mac-pause-frames": "pause.tx_frames",
}

// plain takes the model's prefix off a name: "openconfig-qos:name" -> "name".
func plain(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	return name[strings.LastIndexByte(name, ':')+1:]
}

// speaksOpenConfig looks for the models' names near the top of a document.
func speaksOpenConfig(n *tool.Node, depth int) bool {
	if n == nil || depth > 4 {
		return false
	}
	for i, m := range n.Items {
		if i > 8 {
			return false
		}
		if strings.HasPrefix(m.Key, "openconfig-qos:") || strings.HasPrefix(m.Key, "openconfig-interfaces:") || strings.HasPrefix(m.Key, "openconfig-if-ethernet:") {
			return true
		}
		if text := m.Str(); strings.Contains(text, "qos/interfaces/interface[") || strings.Contains(text, "interfaces/interface[name=") {
			return true
		}
		if strings.Contains(m.Key, "qos/interfaces/interface") || strings.Contains(m.Key, "interfaces/interface/state/counters") {
			return true
		}
		if speaksOpenConfig(m, depth+1) {
			return true
		}
	}
	return false
}

// A place is where in the model a value stands.
type place struct{ port, queue string }

type openConfigWalk struct {
	ctx *tool.Context
	out *tool.Out
}

var pathKey = regexp.MustCompile(`(\w[\w-]*)\[(?:interface-id|name)=([^\]]+)\]`)

// fromPath reads the keys of a gNMI path.
func (p place) fromPath(path string) place {
	for _, m := range pathKey.FindAllStringSubmatch(path, -1) {
		switch m[1] {
		case "interface":
			p.port = m[2]
		case "queue":
			p.queue = m[2]
		}
	}
	return p
}

func (w *openConfigWalk) node(n *tool.Node, at place, depth int) {
	if n == nil || depth > 60 {
		return
	}
	if n.Kind == tool.Array {
		for _, m := range n.Items {
			w.node(m, at.of(n.Key, m), depth+1)
		}
		return
	}
	for _, name := range []string{"path", "Path", "prefix"} {
		at = at.fromPath(n.Get(name).Str())
	}
	for _, tag := range n.Get("tags").Members() { // events: interface_name, interface_interface-id, queue_name
		switch {
		case strings.HasPrefix(tag.Key, "interface_") || tag.Key == "interface":
			at.port = tag.Str()
		case strings.HasPrefix(tag.Key, "queue_"):
			at.queue = tag.Str()
		}
	}
	for _, m := range n.Members() {
		switch m.Kind {
		case tool.Object, tool.Array:
			below := at.fromPath(m.Key)
			if m.Kind == tool.Object {
				below = below.of(m.Key, m)
			}
			w.node(m, below, depth+1)
		default:
			w.leaf(m, at.fromPath(m.Key))
		}
	}
}

// of reads the key leaves of a list's entry.
func (p place) of(list string, entry *tool.Node) place {
	name := ""
	for _, m := range entry.Members() {
		if k := plain(m.Key); (k == "interface-id" || k == "name") && name == "" {
			name = m.Str()
		}
	}
	if name == "" {
		return p
	}
	switch plain(list) {
	case "interface":
		p.port = name
	case "queue":
		p.queue = name
	}
	return p
}

func (w *openConfigWalk) leaf(n *tool.Node, at place) {
	name := plain(n.Key)
	subject, key := w.ctx.Queue(at.port, at.queue), queueLeaves[name]
	if key == "" || at.queue == "" {
		subject, key = w.ctx.Port(at.port), portLeaves[name]
	}
	if key == "" {
		return
	}
	if v, ok := number(n.Str()); ok && v.Kind() == fact.Uint {
		put(w.out, n.Line, subject, key, v)
	}
}

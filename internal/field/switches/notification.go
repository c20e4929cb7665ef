package switches

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"

	"github.com/openconfig/gnmi/proto/gnmi"

	"weir/internal/telemetry"
)

// place is where in the tree of a switch a value stands.
type place struct {
	family string // of the names of counters
	port   string
	sub    string // number of a queue or priority group
}

// maxValues bounds the readings of one notification.
const maxValues = 100_000

// fromNotification returns the readings of a gNMI notification, whose values
// are leaves or JSON objects.
func fromNotification(n *gnmi.Notification) []Reading {
	var out []Reading
	target := n.GetPrefix().GetTarget()
	for _, u := range n.GetUpdate() {
		p := place{family: telemetry.OpenConfig}
		if target == "COUNTERS_DB" {
			p.family = telemetry.SONiC
		}
		leaf := ""
		for _, elems := range [][]*gnmi.PathElem{n.GetPrefix().GetElem(), u.GetPath().GetElem()} {
			for _, e := range elems {
				p.enter(e.GetName(), e.GetKey())
				leaf = e.GetName()
			}
		}
		p.value(leaf, u.GetVal(), &out)
	}
	return out
}

// sonicName is a port, or a port with the number of a queue or priority group.
var sonicName = regexp.MustCompile(`^((?:Ethernet|PortChannel|eth)[0-9/_-]+)(?::([0-9]+))?$`)

// enter takes what an element of a path says about the place.
func (p *place) enter(name string, keys map[string]string) {
	if p.family == telemetry.SONiC {
		if m := sonicName.FindStringSubmatch(name); m != nil {
			p.port, p.sub = m[1], m[2]
		}
		return
	}
	switch name {
	case "interface":
		if v := keys["name"]; v != "" {
			p.port = v
		}
		if v := keys["interface-id"]; v != "" {
			p.port = v
		}
	case "queue":
		if v := keys["name"]; v != "" {
			p.sub = queueNumber(v)
		}
	}
}

// value takes one typed value.
func (p *place) value(leaf string, v *gnmi.TypedValue, out *[]Reading) {
	switch x := v.GetValue().(type) {
	case *gnmi.TypedValue_UintVal:
		p.leaf(leaf, strconv.FormatUint(x.UintVal, 10), out)
	case *gnmi.TypedValue_IntVal:
		p.leaf(leaf, strconv.FormatInt(x.IntVal, 10), out)
	case *gnmi.TypedValue_StringVal:
		p.leaf(leaf, x.StringVal, out)
	case *gnmi.TypedValue_JsonVal:
		p.json(leaf, x.JsonVal, out)
	case *gnmi.TypedValue_JsonIetfVal:
		p.json(leaf, x.JsonIetfVal, out)
	}
}

func (p *place) json(leaf string, text []byte, out *[]Reading) {
	var v any
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber() // counters are beyond 2^53
	if d.Decode(&v) != nil {
		return
	}
	p.walk(leaf, v, out, 0)
}

// maxDepth bounds the nesting of a JSON value.
const maxDepth = 16

func (p *place) walk(leaf string, v any, out *[]Reading, depth int) {
	if depth > maxDepth || len(*out) >= maxValues {
		return
	}
	switch x := v.(type) {
	case map[string]any:
		inner := *p
		// A list entry of OpenConfig has its key as a member.
		keys := map[string]string{}
		for _, k := range []string{"name", "interface-id"} {
			if s, ok := x[k].(string); ok {
				keys[k] = s
			}
		}
		inner.enter(leaf, keys)
		for k, member := range x {
			_, name, ok := strings.Cut(k, ":")
			if !ok || p.family == telemetry.SONiC {
				name = k // RFC 7951 puts the module before the name
			}
			deeper := inner
			deeper.enter(name, nil)
			deeper.walk(name, member, out, depth+1)
		}
	case []any:
		for _, member := range x {
			p.walk(leaf, member, out, depth+1)
		}
	case json.Number:
		p.leaf(leaf, x.String(), out)
	case string:
		p.leaf(leaf, x, out)
	}
}

// leaf takes one named value, if the table knows it.
func (p *place) leaf(name, text string, out *[]Reading) {
	if p.port == "" {
		return
	}
	if p.family == telemetry.OpenConfig && name == "oper-status" {
		state := "down"
		if strings.HasSuffix(text, "UP") {
			state = "up"
		}
		r := metric("roce_switch_port_info", "state", state)
		r.Port, r.Value = p.port, 1
		*out = append(*out, r)
		return
	}
	s, ok := telemetry.Vendor(p.family, name)
	if !ok {
		return
	}
	r := Reading{Metric: s.Metric, Port: p.port}
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		if name != "PFC_WD_STATUS" {
			return
		}
		if text == "stormed" {
			v = 1
		}
	}
	r.Value = v
	for _, label := range telemetry.Table()[s.Metric].Labels {
		value := ""
		for _, l := range s.Labels {
			if l.Name == label {
				value = l.Value
			}
		}
		if value == "" && (label == "queue" || label == "priority") {
			value = p.sub
		}
		if value != "" {
			r.Labels = append(r.Labels, telemetry.Label{Name: label, Value: value})
		}
	}
	*out = append(*out, r)
}

package web

import (
	"slices"
	"strings"
)

// An event marks a moment on the charts: a finding began, a setting changed.
type event struct {
	At    int64  `json:"at_ms"`
	Kind  string `json:"kind"` // "finding", "change"
	Where string `json:"where"`
	Cause string `json:"cause,omitempty"`
	En    string `json:"en"`
	Zh    string `json:"zh"`
}

// maxEvents bounds the list; the oldest go.
const maxEvents = 2000

// note adds an event. The caller holds the lock.
func (s *Server) note(e event) {
	s.events = append(s.events, e)
	if over := len(s.events) - maxEvents; over > 0 {
		s.events = slices.Delete(s.events, 0, over)
	}
}

// changed is told of every new series whose facts are in its labels. The first
// of a port is how it is; the next is a change of it.
func (s *Server) changed(metric string, get func(string) string, at int64) {
	var where string
	var facts []string
	switch metric {
	case "rdma_port_info":
		where = get("instance") + "/" + get("device") + "/" + get("port")
		facts = []string{"state", "phys_state", "link_width", "link_speed"}
	case "roce_switch_port_info":
		where = get("switch") + "/" + get("port")
		facts = []string{"state", "speed", "peer"}
	default:
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ports == nil {
		s.ports = map[string]map[string]string{}
	}
	now := map[string]string{}
	for _, f := range facts {
		now[f] = get(f)
	}
	before, known := s.ports[where]
	s.ports[where] = now
	if !known {
		return
	}
	var changes []string
	for _, f := range facts {
		if before[f] != now[f] {
			changes = append(changes, f+" "+orNone(before[f])+" → "+orNone(now[f]))
		}
	}
	if len(changes) > 0 {
		text := strings.Join(changes, ", ")
		s.note(event{At: at, Kind: "change", Where: where, En: text, Zh: text})
	}
}

func orNone(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// eventsNear returns the events of a time that concern a port: of itself, of
// its nodes, of the whole fabric.
func (s *Server) eventsNear(end int, from, to int64) []event {
	names := map[string]bool{"": true, "fabric": true}
	for _, e := range [...]int{end, end ^ 1} {
		if n := s.fabric.Ends[e].Node; n >= 0 {
			node := s.fabric.Nodes[n].Name
			names[node] = true
			names[node+"/"+s.fabric.Ends[e].Port] = true
			names[node+"/"+s.fabric.Ends[e].Label] = true
			device, _, _ := strings.Cut(s.fabric.Ends[e].Label, "/")
			names[node+"/"+device] = true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []event{}
	for _, e := range s.events {
		if e.At >= from && e.At <= to && concerns(names, e.Where) {
			out = append(out, e)
		}
	}
	return out
}

// concerns reports whether one of the places of a finding ("a, b" or "a~b")
// is among the names.
func concerns(names map[string]bool, where string) bool {
	if names[where] {
		return true
	}
	for _, w := range strings.FieldsFunc(where, func(r rune) bool { return r == ',' || r == '~' || r == ' ' }) {
		if names[w] {
			return true
		}
	}
	return false
}

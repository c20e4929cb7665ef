package diagnosis

import (
	"slices"
	"strings"

	"weir/internal/fact"
)

// An end is one end of a cable, as LLDP tells it: a port of a switch, or a NIC.
type end struct{ node, port string }

// topology is which ports face each other, as far as LLDP tells it, from
// either end.
type topology struct {
	peer   map[end]end
	isHost map[string]bool // nodes whose ports are NICs
	ports  map[string][]string
}

// topologyOf reads the neighbours that hosts and switches see.
func (x *index) topologyOf() *topology {
	t := &topology{peer: map[end]end{}, isHost: map[string]bool{}, ports: map[string][]string{}}
	for _, f := range x.all("link.neighbour") {
		node, port, ok := strings.Cut(f.Value.String(), "/")
		if !ok || f.Subject.Host == "" {
			continue
		}
		here, there := end{f.Subject.Host, f.Subject.Name}, end{node, port}
		t.peer[here] = there
		if t.peer[there] == (end{}) {
			t.peer[there] = here
		}
		if f.Subject.Kind == fact.NIC {
			t.isHost[f.Subject.Host] = true
		}
	}
	for _, s := range x.counters.series {
		if s.subject.Kind == fact.NIC {
			t.isHost[s.subject.Host] = true
		}
	}
	for e := range t.peer {
		t.ports[e.node] = append(t.ports[e.node], e.port)
	}
	for n := range t.ports {
		slices.Sort(t.ports[n])
	}
	return t
}

// toSwitch reports whether a switch's port leads to another switch.
func (t *topology) toSwitch(e end) bool {
	p, ok := t.peer[e]
	return ok && !t.isHost[p.node]
}

// toHost reports whether a switch's port leads to a host.
func (t *topology) toHost(e end) bool {
	p, ok := t.peer[e]
	return ok && t.isHost[p.node]
}

// endOf is the port that a switch's series counts at.
func endOf(s *series) end { return end{s.subject.Host, s.labels["port"]} }

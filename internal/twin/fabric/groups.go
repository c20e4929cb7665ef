package fabric

import "encoding/binary"

// groups keeps each distinct list of port numbers once. Group 0 is empty.
type groups struct {
	ports []uint16
	spans []span
	index map[string]uint32 // while routes are built
	key   []byte
}

type span struct{ from, to uint32 }

func newGroups() groups {
	return groups{spans: make([]span, 1), index: map[string]uint32{"": 0}}
}

func (g *groups) get(id uint32) []uint16 {
	s := g.spans[id]
	return g.ports[s.from:s.to:s.to]
}

// intern returns the number of a list of ports.
func (g *groups) intern(ports []uint16) uint32 {
	g.key = g.key[:0]
	for _, p := range ports {
		g.key = binary.LittleEndian.AppendUint16(g.key, p)
	}
	if id, ok := g.index[string(g.key)]; ok {
		return id
	}
	id := uint32(len(g.spans))
	from := uint32(len(g.ports))
	g.ports = append(g.ports, ports...)
	g.spans = append(g.spans, span{from, uint32(len(g.ports))})
	g.index[string(g.key)] = id
	return id
}

package tcp

// A span is the bytes from From up to, not including, To.
type span struct{ from, to uint64 }

// spans are disjoint, not touching, in ascending order.
type spans []span

// add joins a span to the others and returns how many bytes are new.
func (l *spans) add(from, to uint64) (fresh uint64) {
	s := *l
	i := len(s)
	for i > 0 && s[i-1].to >= from { // new ones come last, as a rule
		i--
	}
	j := i
	fresh = to - from
	for j < len(s) && s[j].from <= to {
		fresh -= min(to, s[j].to) - max(from, s[j].from)
		from, to = min(from, s[j].from), max(to, s[j].to)
		j++
	}
	if i == j {
		s = append(s, span{})
		copy(s[i+1:], s[i:])
		s[i] = span{from, to}
	} else {
		s[i] = span{from, to}
		s = append(s[:i+1], s[j:]...)
	}
	*l = s
	return fresh
}

// below drops what lies before a limit and returns how many bytes that was.
func (l *spans) below(limit uint64) (gone uint64) {
	s := *l
	n := 0
	for n < len(s) && s[n].to <= limit {
		gone += s[n].to - s[n].from
		n++
	}
	s = append(s[:0], s[n:]...)
	if len(s) != 0 && s[0].from < limit {
		gone += limit - s[0].from
		s[0].from = limit
	}
	*l = s
	return gone
}

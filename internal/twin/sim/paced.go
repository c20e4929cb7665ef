package sim

import "weir/units"

// A pacedSender is a queue pair that waits for a time, in a binary heap of its
// NIC's port. Equal times are ordered by number.
type pacedSender struct {
	at units.Time
	qp uint32
}

func (a pacedSender) before(b pacedSender) bool {
	return a.at < b.at || a.at == b.at && a.qp < b.qp
}

func pushPaced(h *[]pacedSender, e pacedSender) {
	s := append(*h, e)
	i := len(s) - 1
	for i > 0 {
		p := (i - 1) / 2
		if !e.before(s[p]) {
			break
		}
		s[i] = s[p]
		i = p
	}
	s[i] = e
	*h = s
}

func popPaced(h *[]pacedSender) uint32 {
	s := *h
	top := s[0].qp
	n := len(s) - 1
	e := s[n]
	s = s[:n]
	*h = s
	if n == 0 {
		return top
	}
	i := 0
	for {
		c := 2*i + 1
		if c >= n {
			break
		}
		if c+1 < n && s[c+1].before(s[c]) {
			c++
		}
		if !s[c].before(e) {
			break
		}
		s[i] = s[c]
		i = c
	}
	s[i] = e
	return top
}

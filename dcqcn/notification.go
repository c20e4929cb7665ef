package dcqcn

import "weir/units"

// Notification is the notification point: it spaces the CNPs of one flow, port
// or destination, whichever scope its owner keeps one for. The zero value is
// ready. It takes 8 bytes.
type Notification struct {
	next units.Time // no CNP before
}

// Marked tells that a packet with CE arrived at now, which must not be negative.
// It reports whether a CNP is due, and when it leaves the notification point: at
// once, if none left within MinTimeBetweenCNPs; otherwise the mark goes
// unanswered.
func (n *Notification) Marked(p *Params, now units.Time) (cnpAt units.Time, ok bool) {
	if !p.Enabled || now < n.next {
		return 0, false
	}
	n.next = now + p.MinTimeBetweenCNPs
	return now, true
}

package dialect

import "strings"

// PortBlocks collects the interface blocks of a text. A block may name several
// ports, whose lines it shares; a second block of the same ports adds to the
// first.
type PortBlocks[T any] struct {
	Order  []*T
	byName map[string]*T
	count  int // of port names
}

// Open returns the block of the named ports; fresh is true for one that was
// not there, which the caller fills in. It returns nil for more ports than a
// device has.
func (b *PortBlocks[T]) Open(names []string) (t *T, fresh bool) {
	all := strings.Join(names, ",")
	if old := b.byName[all]; old != nil {
		return old, false
	}
	if b.count+len(names) > MaxPorts {
		return nil, false
	}
	b.count += len(names)
	t = new(T)
	if b.byName == nil {
		b.byName = make(map[string]*T)
	}
	b.byName[all] = t
	b.Order = append(b.Order, t)
	return t, true
}

package capture

import (
	"slices"

	"weir/roce"
)

// A psnPage holds 4096 PSNs as bits.
type psnPage struct {
	index uint16 // PSN / 4096
	bits  *[64]uint64
}

// psnSet is the set of PSNs that a stream has shown. Streams touch few pages,
// one after the other, so a sorted list with a finger does.
type psnSet struct {
	pages  []psnPage
	finger int
	count  int
}

// add puts psn into the set and reports whether it was new. budget is how many
// pages may still be made, for all sets together; once it is used up, the set
// holds only what its pages hold, and exact is false for PSNs outside them.
func (s *psnSet) add(psn roce.PSN, budget *int) (added, exact bool) {
	index := uint16(psn >> 12)
	if s.finger >= len(s.pages) || s.pages[s.finger].index != index {
		i, found := slices.BinarySearchFunc(s.pages, index, func(p psnPage, v uint16) int { return int(p.index) - int(v) })
		if !found {
			if *budget <= 0 {
				return false, false
			}
			*budget--
			s.pages = slices.Insert(s.pages, i, psnPage{index, new([64]uint64)})
		}
		s.finger = i
	}
	word, bit := psn>>6&63, uint64(1)<<(psn&63)
	w := &s.pages[s.finger].bits[word]
	if *w&bit != 0 {
		return false, true
	}
	*w |= bit
	s.count++
	return true, true
}

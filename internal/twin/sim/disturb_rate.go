package sim

import "weir/dcqcn"

// EditDCQCN changes the congestion control settings of all NICs and returns
// what undoes it.
func (s *Sim) EditDCQCN(edit func(*dcqcn.Params)) (undo func()) {
	before, base := append([]dcqcn.Params(nil), s.dcqcn...), s.dcqcnBase
	for i := range s.dcqcn {
		edit(&s.dcqcn[i])
	}
	edit(&s.dcqcnBase)
	return func() {
		copy(s.dcqcn, before)
		for i := len(before); i < len(s.dcqcn); i++ {
			rate := s.dcqcn[i].LineRate
			s.dcqcn[i] = base
			s.dcqcn[i].LineRate = rate
		}
		s.dcqcnBase = base
	}
}

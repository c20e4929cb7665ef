package tool

// maxBlock bounds the lines that a Lines session gathers: no configuration
// of a device is longer.
const maxBlock = 200_000

// Lines is a session that gathers the lines of a block, such as a
// configuration, and reads them at its end.
type Lines struct {
	// Belongs is Session.Match; the lines so far are in Taken.
	Belongs func(taken []Line, l *Line) Score
	// Read is called with all lines at the end.
	Read func(taken []Line, out *Out)

	taken []Line
}

// Match implements Session.
func (s *Lines) Match(l *Line) Score {
	if len(s.taken) >= maxBlock {
		return No
	}
	return s.Belongs(s.taken, l)
}

// Take implements Session.
func (s *Lines) Take(l *Line, _ *Out) { s.taken = append(s.taken, *l) }

// End implements Session.
func (s *Lines) End(out *Out) {
	s.Read(s.taken, out)
	s.taken = nil
}

// Each is a session made of functions, for outputs whose lines stand alone.
type Each struct {
	Belongs func(l *Line) Score
	Read    func(l *Line, out *Out)
	Finish  func(out *Out) // nil: nothing at the end
}

// Match implements Session.
func (s *Each) Match(l *Line) Score { return s.Belongs(l) }

// Take implements Session.
func (s *Each) Take(l *Line, out *Out) { s.Read(l, out) }

// End implements Session.
func (s *Each) End(out *Out) {
	if s.Finish != nil {
		s.Finish(out)
	}
}

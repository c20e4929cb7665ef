package collective

import "fmt"

// machine runs a schedule on integers: each byte of the buffers is one
// element. Data pass through FIFOs of at most depth slices.
type machine struct {
	s       *Schedule
	in, out [][]int64 // by rank; the same slices unless all_to_all
	depth   int
	fifos   map[[3]int32][]slice // by source, destination, channel
	next    []int                // step of each rank and lane

	sent     [][]int64 // bytes that rank sent to rank
	messages int
}

type slice struct {
	off  int64
	data []int64
}

func newMachine(s *Schedule, depth int) *machine {
	m := &machine{s: s, depth: depth, fifos: map[[3]int32][]slice{}, next: make([]int, s.Ranks()*s.Lanes())}
	size := int(s.Bytes())
	for r := range s.Ranks() {
		buf := make([]int64, size)
		m.in = append(m.in, buf)
		m.out = append(m.out, buf)
		if s.Settings().Op == AllToAll {
			m.out[r] = make([]int64, size)
		}
		m.sent = append(m.sent, make([]int64, s.Ranks()))
	}
	return m
}

// run steps all lanes until none can move, and says which lanes are left over.
func (m *machine) run() error {
	for moved := true; moved; {
		moved = false
		for r := range m.s.Ranks() {
			for lane := range m.s.Lanes() {
				for {
					ok, err := m.step(r, lane)
					if err != nil {
						return err
					}
					if !ok {
						break
					}
					moved = true
				}
			}
		}
	}
	for r := range m.s.Ranks() {
		for lane := range m.s.Lanes() {
			if st, ok := m.s.Step(r, lane, m.next[r*m.s.Lanes()+lane]); ok {
				return fmt.Errorf("rank %d lane %d stands at step %d: %+v", r, lane, m.next[r*m.s.Lanes()+lane], st)
			}
		}
	}
	for k, f := range m.fifos {
		if len(f) > 0 {
			return fmt.Errorf("%d slices left in the FIFO %v", len(f), k)
		}
	}
	return nil
}

func (m *machine) step(r, lane int) (bool, error) {
	i := &m.next[r*m.s.Lanes()+lane]
	st, ok := m.s.Step(r, lane, *i)
	if !ok {
		return false, nil
	}
	c := int32(m.s.Channel(lane))
	for _, p := range st.Recv {
		if p != NoPeer && len(m.fifos[[3]int32{p, int32(r), c}]) == 0 {
			return false, nil
		}
	}
	for _, p := range st.Send {
		if p != NoPeer && m.depth > 0 && len(m.fifos[[3]int32{int32(r), p, c}]) >= m.depth {
			return false, nil
		}
	}
	if st.Offset < 0 || st.Offset+unitsOf(st.Bytes) > m.s.Bytes() {
		return false, fmt.Errorf("rank %d lane %d step %d leaves the buffer: %+v", r, lane, *i, st)
	}
	value := make([]int64, st.Bytes)
	if st.Recv[0] == NoPeer || st.Reduce {
		copy(value, m.in[r][st.Offset:])
	}
	for _, p := range st.Recv {
		if p == NoPeer {
			continue
		}
		k := [3]int32{p, int32(r), c}
		got := m.fifos[k][0]
		m.fifos[k] = m.fifos[k][1:]
		if len(got.data) != int(st.Bytes) {
			return false, fmt.Errorf("rank %d lane %d step %d expects %d bytes from %d, got %d", r, lane, *i, st.Bytes, p, len(got.data))
		}
		if m.s.Settings().Op != AllToAll && got.off != int64(st.Offset) && st.Bytes > 0 {
			return false, fmt.Errorf("rank %d lane %d step %d expects offset %d from %d, got %d", r, lane, *i, st.Offset, p, got.off)
		}
		for x := range value {
			value[x] += got.data[x]
		}
	}
	node := r / m.s.RanksPerNode() * m.s.RanksPerNode()
	if st.Gather {
		for q := node; q < node+m.s.RanksPerNode(); q++ {
			for x := range value {
				if q != r {
					value[x] += m.in[q][int(st.Offset)+x]
				}
			}
		}
	}
	if st.Keep {
		copy(m.out[r][st.Offset:], value)
	}
	if st.Spread {
		for q := node; q < node+m.s.RanksPerNode(); q++ {
			copy(m.out[q][st.Offset:], value)
		}
	}
	for _, p := range st.Send {
		if p != NoPeer {
			k := [3]int32{int32(r), p, c}
			m.fifos[k] = append(m.fifos[k], slice{int64(st.Offset), value})
			m.sent[r][p] += int64(st.Bytes)
			m.messages++
		}
	}
	*i++
	return true, nil
}

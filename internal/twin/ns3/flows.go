package ns3

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"weir/internal/input"
	"weir/units"
)

// Flow is one line of a flow file. Node numbers are those of the topology.
type Flow struct {
	Src, Dst int
	Priority uint8
	DstPort  uint16
	Bytes    units.Bytes
	Start    units.Time
}

// Chain is a sequence of transfers: hop k goes from Ranks[k] to Ranks[k+1]
// and starts when the sender of hop k-1 has its last acknowledgement.
type Chain struct {
	Ranks []int
	Bytes units.Bytes // of each hop
}

// Workload is what a flow file asks for: flows, or chains of them.
type Workload struct {
	Flows  []Flow
	Chains []Chain
}

// ReadFlows reads a flow file: a count, then a line per flow: source,
// destination, priority, (destination port,) bytes and start in seconds. A
// file whose name ends in .ring holds chains: ranks, hops and bytes of a hop,
// then a chain of nodes a line. nodes is the number of nodes of the topology.
func ReadFlows(file string, r io.Reader, nodes int) (*Workload, error) {
	s := newScanner(file, r)
	if strings.HasSuffix(file, ".ring") {
		return readRing(s, nodes)
	}
	count, err := s.number("the number of flows", maxFlows)
	if err != nil {
		return nil, err
	}
	if err := s.end("the number of flows alone"); err != nil {
		return nil, err
	}
	w := &Workload{}
	for range count {
		ok, err := s.row()
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, &input.Error{File: file, Line: s.line + 1, Found: fmt.Sprintf("end of file after %d flows", len(w.Flows)), Allowed: fmt.Sprintf("the %d flows that line 1 names", count)}
		}
		f, err := readFlow(s, nodes)
		if err != nil {
			return nil, err
		}
		w.Flows = append(w.Flows, f)
	}
	if ok, err := s.row(); err != nil {
		return nil, err
	} else if ok {
		return nil, s.errorAt(s.fields[0], fmt.Sprintf("end of file after %d flows", count))
	}
	return w, nil
}

func readFlow(s *scanner, nodes int) (Flow, error) {
	const form = "source, destination, priority, [destination port,] bytes, start in seconds"
	if n := len(s.fields); n != 5 && n != 6 {
		return Flow{}, &input.Error{File: s.file, Line: s.line, Found: strconv.Itoa(n) + " fields", Allowed: form}
	}
	src, err := s.number("the source node", uint64(nodes)-1)
	if err != nil {
		return Flow{}, err
	}
	dst, err := s.number("the destination node", uint64(nodes)-1)
	if err != nil {
		return Flow{}, err
	}
	if src == dst {
		return Flow{}, s.errorAt(s.fields[1], "another node than the source")
	}
	priority, err := s.number("the priority", 7)
	if err != nil {
		return Flow{}, err
	}
	f := Flow{Src: int(src), Dst: int(dst), Priority: uint8(priority), DstPort: 100}
	if len(s.fields) == 6 {
		port, err := s.number("the destination port", 65535)
		if err != nil {
			return Flow{}, err
		}
		f.DstPort = uint16(port)
	}
	size, err := s.number("bytes", 1<<48)
	if err != nil {
		return Flow{}, err
	}
	if size == 0 {
		return Flow{}, s.errorAt(s.fields[s.next-1], "at least 1 byte")
	}
	f.Bytes = units.Bytes(size)
	f.Start, err = s.seconds("the start")
	return f, err
}

func readRing(s *scanner, nodes int) (*Workload, error) {
	chains, err := s.number("the number of chains", maxNodes)
	if err != nil {
		return nil, err
	}
	hops, err := s.number("the number of hops", 1<<20)
	if err != nil {
		return nil, err
	}
	size, err := s.number("bytes of a hop", 1<<48)
	if err != nil {
		return nil, err
	}
	if err := s.end("ranks, hops, bytes of a hop"); err != nil {
		return nil, err
	}
	if chains*hops > maxFlows {
		return nil, &input.Error{File: s.file, Line: 1, Found: fmt.Sprintf("%d x %d hops", chains, hops), Allowed: fmt.Sprintf("at most %d", maxFlows)}
	}
	w := &Workload{}
	for range chains {
		c := Chain{Bytes: units.Bytes(size)}
		for len(c.Ranks) <= int(hops) {
			n, err := s.number("a node of the chain", uint64(nodes)-1)
			if err != nil {
				return nil, err
			}
			c.Ranks = append(c.Ranks, int(n))
		}
		if err := s.end(fmt.Sprintf("%d nodes, one more than hops", hops+1)); err != nil {
			return nil, err
		}
		w.Chains = append(w.Chains, c)
	}
	return w, nil
}

// ReadPaths reads a table of path choices: a header src,dst,spine_index, then
// a line per pair. The result maps (src, dst) to the spine's number.
func ReadPaths(file string, r io.Reader, nodes int) (map[[2]int]int, error) {
	s := newScanner(file, r)
	ok, err := s.row()
	if err != nil {
		return nil, err
	}
	if !ok || len(s.fields) != 3 || s.fields[0].text != "src" || s.fields[1].text != "dst" {
		return nil, &input.Error{File: file, Line: 1, Found: "another header", Allowed: "src,dst,spine_index"}
	}
	paths := map[[2]int]int{}
	for {
		ok, err := s.row()
		if err != nil || !ok {
			return paths, err
		}
		var v [3]uint64
		for i, what := range [...]string{"the source node", "the destination node", "the spine's number from 0"} {
			if v[i], err = s.number(what, uint64(nodes)-1); err != nil {
				return nil, err
			}
		}
		if err := s.end("src,dst,spine_index"); err != nil {
			return nil, err
		}
		key := [2]int{int(v[0]), int(v[1])}
		if _, twice := paths[key]; twice {
			return nil, s.errorAt(s.fields[0], "each pair once")
		}
		if len(paths) >= maxFlows {
			return nil, &input.Error{File: file, Line: s.line, Found: "too many pairs", Allowed: fmt.Sprintf("at most %d", maxFlows)}
		}
		paths[key] = int(v[2])
	}
}

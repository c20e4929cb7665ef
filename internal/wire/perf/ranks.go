package perf

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"time"

	"weir/internal/collective"
	"weir/units"
)

// The processes of a collective talk with the one that started them in JSON
// lines: what each is, its queue pairs, those of the others, then a line for
// each size.

// order is a line to a rank.
type order struct {
	Rank       int                  `json:"rank"`
	Ranks      int                  `json:"ranks"`
	Addr       string               `json:"address,omitempty"`
	Addrs      []string             `json:"addresses,omitempty"` // of all ranks, with Peers
	Peers      []remoteQP           `json:"peers,omitempty"`     // the others' queue pairs for this rank
	Settings   *collective.Settings `json:"settings,omitempty"`
	Iterations int                  `json:"iterations,omitempty"`
}

// outcome is a line from a rank.
type outcome struct {
	Error string        `json:"error,omitempty"`
	QPs   []remoteQP    `json:"qps,omitempty"`
	Ready bool          `json:"ready,omitempty"`
	Wrong int           `json:"wrong"`
	Time  time.Duration `json:"time_ns,omitempty"`
}

// ServeRank is one process of a collective: it takes orders until they end.
func ServeRank(ctx context.Context, in io.Reader, out io.Writer) error {
	lines, e := bufio.NewScanner(in), json.NewEncoder(out)
	lines.Buffer(nil, maxLine)
	var r *rank
	defer func() {
		if r != nil {
			r.e.dev.Close()
		}
	}()
	for lines.Scan() {
		var o order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return err
		}
		var x outcome
		var err error
		switch {
		case o.Addr != "" && r == nil:
			var a netip.Addr
			if a, err = netip.ParseAddr(o.Addr); err == nil {
				r, err = newRank(o.Rank, o.Ranks, a)
			}
			if err == nil {
				x.QPs = r.local()
			}
		case r == nil:
			err = errors.New("an order before the address")
		case o.Peers != nil:
			x.Ready = true
			for i := range r.n {
				if i != r.me && err == nil && i < len(o.Peers) && i < len(o.Addrs) {
					var a netip.Addr
					if a, err = netip.ParseAddr(o.Addrs[i]); err == nil {
						err = r.connect(i, a, o.Peers[i])
					}
				}
			}
		case o.Settings != nil:
			var s *collective.Schedule
			if s, err = schedule(r.n, o.Settings); err == nil {
				x.Wrong, x.Time, err = r.measure(ctx, s, o.Iterations)
			}
		}
		if err != nil {
			x.Error = err.Error()
		}
		if err := e.Encode(&x); err != nil {
			return err
		}
	}
	return lines.Err()
}

// schedule returns the schedule between processes: each is a node of its own.
func schedule(ranks int, set *collective.Settings) (*collective.Schedule, error) {
	return collective.New(collective.Communicator{Ranks: ranks, RanksPerNode: 1, Channels: 1}, *set)
}

// Collective is what to run between processes.
type Collective struct {
	Op         collective.Op
	Algorithm  collective.Algorithm // Auto: ring, direct for all_to_all
	Ranks      int
	Sizes      []units.Bytes
	Iterations int
	// Start starts the process of a rank and returns its standard input and output.
	Start func(rank int) (io.WriteCloser, io.Reader, error)
	// Addr is the first rank's address; the others' follow it. It has to be an
	// IPv4 address of the loopback interface.
	Addr netip.Addr
}

// Row is the result of one size, as nccl-tests states it.
type Row struct {
	Bytes     units.Bytes   `json:"size_bytes"`
	Time      time.Duration `json:"time_ns"`
	AlgBW     float64       `json:"algorithm_bytes_per_second"`
	BusBW     float64       `json:"bus_bytes_per_second"`
	Wrong     int           `json:"wrong"`
	Operation string        `json:"operation"`
}

// Run runs all sizes and hands each row to each as it is there.
func (c *Collective) Run(each func(Row) error) error {
	if c.Ranks < 2 || c.Ranks > MaxRanks {
		return fmt.Errorf("%d ranks: allowed are 2 to %d", c.Ranks, MaxRanks)
	}
	if c.Algorithm == collective.Auto {
		if c.Algorithm = collective.Ring; c.Op == collective.AllToAll {
			c.Algorithm = collective.Direct
		}
	}
	ranks := make([]*process, c.Ranks)
	defer func() {
		for _, p := range ranks {
			if p != nil {
				p.in.Close()
			}
		}
	}()
	addrs := make([]string, c.Ranks)
	qps := make([][]remoteQP, c.Ranks)
	a := c.Addr
	for i := range ranks {
		in, out, err := c.Start(i)
		if err != nil {
			return err
		}
		p := &process{rank: i, in: in, out: bufio.NewScanner(out)}
		p.out.Buffer(nil, maxLine)
		ranks[i] = p
		addrs[i] = a.String()
		x, err := p.ask(&order{Rank: i, Ranks: c.Ranks, Addr: addrs[i]})
		if err != nil {
			return err
		}
		qps[i], a = x.QPs, a.Next()
	}
	for i, p := range ranks {
		o := order{Peers: make([]remoteQP, c.Ranks), Addrs: addrs}
		for k := range ranks {
			o.Peers[k] = qps[k][i]
		}
		if _, err := p.ask(&o); err != nil {
			return err
		}
	}
	for _, size := range c.Sizes {
		row, err := c.size(ranks, size)
		if err != nil {
			return err
		}
		if err := each(row); err != nil {
			return err
		}
	}
	return nil
}

// size runs one size on all ranks at a time.
func (c *Collective) size(ranks []*process, size units.Bytes) (Row, error) {
	set := collective.Settings{Op: c.Op, Algorithm: c.Algorithm, Bytes: size, BuffSize: collectiveBuffer}
	s, err := schedule(c.Ranks, &set)
	if err != nil {
		return Row{}, err
	}
	for _, p := range ranks {
		if err := p.tell(&order{Settings: &set, Iterations: c.Iterations}); err != nil {
			return Row{}, err
		}
	}
	row := Row{Bytes: s.Bytes(), Operation: c.Op.String()}
	for _, p := range ranks {
		x, err := p.hear()
		if err != nil {
			return Row{}, err
		}
		row.Time = max(row.Time, x.Time)
		row.Wrong += x.Wrong
	}
	if sec := row.Time.Seconds(); sec > 0 {
		row.AlgBW = float64(row.Bytes) / sec
	}
	row.BusBW = row.AlgBW * busFactor(c.Op, c.Ranks)
	return row, nil
}

// busFactor is nccl-tests' ratio of bus to algorithm bandwidth (its
// PERFORMANCE.md).
func busFactor(op collective.Op, n int) float64 {
	switch op {
	case collective.AllReduce:
		return 2 * float64(n-1) / float64(n)
	case collective.Broadcast:
		return 1
	}
	return float64(n-1) / float64(n)
}

// process is a rank's process.
type process struct {
	rank int
	in   io.WriteCloser
	out  *bufio.Scanner
}

func (p *process) tell(o *order) error {
	b, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = p.in.Write(append(b, '\n'))
	return err
}

func (p *process) hear() (*outcome, error) {
	if !p.out.Scan() {
		return nil, fmt.Errorf("rank %d ended", p.rank)
	}
	var x outcome
	if err := json.Unmarshal(p.out.Bytes(), &x); err != nil {
		return nil, fmt.Errorf("rank %d: %w", p.rank, err)
	}
	if x.Error != "" {
		return nil, fmt.Errorf("rank %d: %s", p.rank, x.Error)
	}
	return &x, nil
}

func (p *process) ask(o *order) (*outcome, error) {
	if err := p.tell(o); err != nil {
		return nil, err
	}
	return p.hear()
}

// Header and String print rows in the columns of nccl-tests. Only the in-place
// half is measured.
const Header = `#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
`

// String prints a row.
func (r Row) String() string {
	redop := "none"
	if r.Operation == "all_reduce" || r.Operation == "reduce_scatter" {
		redop = "sum"
	}
	root := -1
	if r.Operation == "broadcast" {
		root = 0
	}
	return fmt.Sprintf("%12d  %12d  %8s  %6s  %6d  %7s %7s %7s %6s  %7.2f %7.2f %7.2f %6d", r.Bytes, r.Bytes, "uint8", redop, root,
		"N/A", "N/A", "N/A", "N/A", float64(r.Time)/1e3, r.AlgBW/1e9, r.BusBW/1e9, r.Wrong)
}

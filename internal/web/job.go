package web

import (
	"math"
	"net/http"
	"time"

	"weir/internal/answer/expect"
	"weir/internal/answer/verdict"
	"weir/internal/cluster"
	"weir/internal/collective"
	"weir/internal/panel"
	"weir/internal/twin"
	"weir/internal/twin/plan"
	"weir/units"
)

// jobPage is what does not change of the cluster's jobs.
type jobPage struct {
	payload float64 // share of the bytes on the wire
	jobs    []jobInfo
}

type jobInfo struct {
	job  *cluster.Job
	plan *plan.Plan // nil for flows
	json jobJSON
}

type jobJSON struct {
	Name  string     `json:"name"`
	What  string     `json:"what"` // the operation or pattern
	Hosts []string   `json:"hosts"`
	Ranks int        `json:"ranks"`
	Sizes []sizeJSON `json:"sizes"`
	// HostFactor times the bus bandwidth is what each host sends on average.
	HostFactor float64 `json:"host_factor"`
}

// sizeJSON is what one size should show, in GB/s as nccl-tests prints it.
type sizeJSON struct {
	Bytes     int64   `json:"bytes"`
	Expected  float64 `json:"expected_gbytes_per_s"`
	Ideal     float64 `json:"ideal_gbytes_per_s"`
	Algorithm string  `json:"algorithm"`
	Limit     string  `json:"limit"`
}

// run is one finished operation of a simulated job.
type run struct {
	AtMS     int64   `json:"at_ms"`
	Job      string  `json:"job"`
	Bytes    int64   `json:"bytes"`
	TimeUS   float64 `json:"time_us"`
	BusBW    float64 `json:"bus_gbytes_per_s"`
	Expected float64 `json:"expected_gbytes_per_s"`
}

// maxRuns bounds the list of finished operations.
const maxRuns = 50

func newJobPage(c *cluster.Cluster) jobPage {
	p := jobPage{payload: expect.PayloadShare(c)}
	for i := range c.Jobs {
		k := jobInfo{job: &c.Jobs[i]}
		k.json = jobJSON{Name: k.job.Name, What: k.job.Pattern, Hosts: []string{}, Sizes: []sizeJSON{}, HostFactor: 1}
		hosts := k.job.Hosts
		if k.job.Kind == cluster.CollectiveJob {
			k.json.What = k.job.Op.String()
			if pl, err := plan.New(c, k.job); err == nil {
				k.plan = pl
				k.json.Ranks = pl.Ranks
				k.json.HostFactor = hostFactor(k.job.Op, pl.Ranks, pl.PerNode)
				for _, size := range pl.Sizes() {
					if e, err := expect.Of(pl, size); err == nil && finite(e.BusBW) && finite(e.IdealBusBW) {
						k.json.Sizes = append(k.json.Sizes, sizeJSON{int64(size), e.BusBW, e.IdealBusBW, e.Choice.Algorithm.String(), string(e.Limit)})
					}
				}
			}
		} else {
			hosts = sendersOf(k.job)
		}
		for _, h := range hosts {
			k.json.Hosts = append(k.json.Hosts, c.Nodes[c.Hosts[h].Node].Name)
		}
		p.jobs = append(p.jobs, k)
	}
	return p
}

func sendersOf(job *cluster.Job) (out []int32) {
	seen := map[int32]bool{}
	for _, f := range job.Flows {
		if !seen[f.Src.Host] {
			seen[f.Src.Host] = true
			out = append(out, f.Src.Host)
		}
	}
	return out
}

// hostFactor is how many bytes a host sends into the network, on average, for
// each byte of bus bandwidth. In the operations that pass data on, every host
// sends on what it gets: one. In an all-to-all each of its ranks sends to the
// ranks of other hosts itself.
func hostFactor(op collective.Op, ranks, perHost int) float64 {
	if op == collective.AllToAll && ranks > 1 {
		return float64(perHost) * float64(ranks-perHost) / float64(ranks-1)
	}
	return 1
}

// Simulated tells how far the fabric of a simulation is.
func (s *Server) Simulated(at units.Time) {
	s.mu.Lock()
	s.fabricTime = at.Microseconds()
	s.mu.Unlock()
}

// Finished tells what a round of simulated jobs gave.
func (s *Server) Finished(r *twin.Result) {
	now := s.opt.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range r.Collectives {
		row := &r.Collectives[i]
		if row.Time <= 0 {
			continue
		}
		k := run{AtMS: now.UnixMilli(), Job: row.Job, Bytes: int64(row.Bytes), TimeUS: row.Time.Microseconds(), BusBW: verdict.BusBW(row)}
		for j := range s.job.jobs {
			if p := s.job.jobs[j].plan; p != nil && p.Job.Name == row.Job {
				if e, err := expect.Of(p, row.Bytes); err == nil && finite(e.BusBW) {
					k.Expected = e.BusBW
				}
			}
		}
		s.runs = append(s.runs, k)
	}
	s.runs = s.runs[max(0, len(s.runs)-maxRuns):]
}

type jobsJSON struct {
	Schema   string         `json:"schema"`
	AtMS     int64          `json:"at_ms"`
	WindowMS int64          `json:"window_ms"`
	Jobs     []jobStateJSON `json:"jobs"`
	// Past is what each job's Measured was, one a second, oldest first; -1
	// stands for no readings.
	Past [][]float32 `json:"past"`
	Runs []run       `json:"runs"`
}

type jobStateJSON struct {
	jobJSON
	// Measured is the bus bandwidth that the hosts' counters show, in GB/s;
	// null without readings.
	Measured *float64 `json:"measured_gbytes_per_s"`
	// HostTx is what each host sends, in bits a second; null: no readings.
	HostTx []*float64 `json:"host_tx_bits_per_s"`
}

// serveJob answers with what the jobs should reach and what they reach.
func (s *Server) serveJob(w http.ResponseWriter, r *http.Request) {
	sendJSON(w, r, appendJSON(nil, s.jobs(s.opt.Now())))
}

func (s *Server) jobs(now time.Time) jobsJSON {
	out := s.measure(s.panel.Snapshot(now))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.past {
		out.Past[i] = append(out.Past[i], s.past[i]...)
	}
	out.Runs = append(out.Runs, s.runs...)
	return out
}

// maxPast is how many seconds of a job are kept.
const maxPast = 300

// remember keeps what the jobs reach now for the curve.
func (s *Server) remember(snap *panel.Snapshot) {
	now := s.measure(snap)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.past == nil {
		s.past = make([][]float32, len(now.Jobs))
	}
	for i := range now.Jobs {
		v := float32(-1)
		if m := now.Jobs[i].Measured; m != nil {
			v = float32(*m)
		}
		s.past[i] = append(s.past[i], v)
		if len(s.past[i]) > maxPast {
			s.past[i] = s.past[i][1:]
		}
	}
}

// measure tells what the jobs reach in a snapshot.
func (s *Server) measure(snap *panel.Snapshot) jobsJSON {
	tx := s.hostTx(snap)
	out := jobsJSON{Schema: "weir.job/1", AtMS: snap.At.UnixMilli(), WindowMS: snap.Window.Milliseconds(), Jobs: []jobStateJSON{}, Past: make([][]float32, len(s.job.jobs)), Runs: []run{}}
	for i := range s.job.jobs {
		k := jobStateJSON{jobJSON: s.job.jobs[i].json, HostTx: []*float64{}}
		sum, n := 0.0, 0
		for _, h := range k.Hosts {
			v, ok := tx[h]
			if !ok || math.IsNaN(v) {
				k.HostTx = append(k.HostTx, nil)
				continue
			}
			k.HostTx = append(k.HostTx, &v)
			sum += v
			n++
		}
		if n > 0 {
			bus := sum / float64(n) / 8 * s.job.payload / 1e9 / k.HostFactor
			k.Measured = &bus
		}
		out.Past[len(out.Jobs)] = []float32{}
		out.Jobs = append(out.Jobs, k)
	}
	return out
}

// hostTx sums what each host sends.
func (s *Server) hostTx(snap *panel.Snapshot) map[string]float64 {
	out := map[string]float64{}
	for e := range s.fabric.Ends {
		if end := &s.fabric.Ends[e]; end.Host {
			if v := snap.Values[panel.Tx][e]; v == v {
				out[s.fabric.Nodes[end.Node].Name] += float64(v)
			}
		}
	}
	return out
}

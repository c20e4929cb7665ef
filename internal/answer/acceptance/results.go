package acceptance

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"weir/internal/cluster"
	"weir/internal/fact"
	"weir/internal/field/evidence"
)

// A PairResult is one test between two NICs with what it gave.
type PairResult struct {
	Test
	Pass    string  // "alone", "together", or "" where the results do not tell
	Source  string  // file
	Rate    float64 // bits per second of payload; 0: not measured
	Latency float64 // microseconds, typical; 0: not measured
	Error   string  // why there is no result
	Command string
	What    string // Bandwidth or Latency, of a test of ours; else ""
}

// Results are what a directory has.
type Results struct {
	Pairs       []PairResult
	Collectives []CollectiveResult
	Facts       []fact.Fact
	Records     []Record // of tests that a run of ours has kept
	// Unplaced are results that name no pair of the cluster's NICs.
	Unplaced []string
	// NotRead are files that could not be read, with the reason.
	NotRead []string
}

// A CollectiveResult is one row of an nccl-tests table.
type CollectiveResult struct {
	Op     string // all_reduce ...
	Bytes  uint64
	BusBW  float64 // bytes per second, out of place
	Wrong  uint64
	Ranks  int
	Nodes  int
	Hosts  []string
	Pass   string
	Source string
	Error  string
}

// ReadResults reads a directory of results: what a run of ours has kept, or
// outputs of perftest and nccl-tests of any origin. Of these a pair is told by
// the GIDs that perftest prints, or else by two names of hosts in the name of
// the file.
func ReadResults(ctx context.Context, c *cluster.Cluster, dir string) (*Results, error) {
	records, err := ReadLog(dir)
	if err != nil {
		return nil, err
	}
	byFile := map[string]*Record{}
	for i := range records {
		byFile[filepath.Join(dir, records[i].File)] = &records[i]
	}
	var names []string
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == logName {
			return err
		}
		if byFile[path] == nil {
			names = append(names, path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	out := &Results{Records: records}
	read := func(path string, r *Record) error {
		report, err := evidence.ReadPaths(ctx, []string{path}, nil)
		if err != nil {
			return err
		}
		for _, x := range report.Refused {
			out.NotRead = append(out.NotRead, x.Source+": "+x.Reason)
		}
		out.Facts = append(out.Facts, report.Facts...)
		out.take(c, path, r, report.Facts)
		return nil
	}
	for i := range records {
		if err := read(filepath.Join(dir, records[i].File), &records[i]); err != nil {
			return nil, err
		}
	}
	for _, path := range names {
		if err := read(path, nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// take makes results of the facts of one file.
func (o *Results) take(c *cluster.Cluster, path string, r *Record, facts []fact.Fact) {
	tests := map[string]*run{}
	var order []*run
	for i := range facts {
		f := &facts[i]
		family, _, _ := strings.Cut(f.Key, ".")
		if family != "perftest" && family != "nccl_tests" {
			continue
		}
		key := family + f.Subject.String()
		t := tests[key]
		if t == nil {
			t = &run{family: family, facts: map[string]fact.Value{}}
			tests[key], order = t, append(order, t)
		}
		if _, seen := t.facts[f.Key]; !seen {
			t.facts[f.Key] = f.Value
		}
	}
	found := false
	for _, t := range order {
		switch t.family {
		case "perftest":
			found = o.pair(c, path, r, t) || found
		case "nccl_tests":
			o.collective(path, r, t)
			found = true
		}
	}
	if r != nil && !found { // it printed nothing that is a result
		reason := r.Error
		if reason == "" {
			reason = "no result in what it printed"
		}
		switch r.Step {
		case "pairs", "gpudirect":
			if t, ok := named(c, r.From, r.To); ok {
				o.Pairs = append(o.Pairs, PairResult{Test: t, Pass: passOf(r), Source: path, Error: reason, Command: r.Command, What: r.Test})
			}
		case "collectives":
			o.Collectives = append(o.Collectives, CollectiveResult{Op: r.Test, Nodes: r.Nodes, Pass: r.Pass, Source: path, Error: reason})
		}
	}
}

// run is one run of a tool.
type run struct {
	family string
	facts  map[string]fact.Value
}

func (t *run) text(key string) string {
	if v, ok := t.facts[key]; ok {
		return v.String()
	}
	return ""
}

func (t *run) number(key string) float64 {
	v, ok := t.facts[key]
	if !ok {
		return 0
	}
	x, _ := v.Float()
	return x
}

func passOf(r *Record) string {
	if r.Step == "gpudirect" {
		return r.Step + "-" + r.Pass
	}
	return r.Pass
}

// passNamed tells from the name of a file, or of its directory, whether its
// test used buffers in GPUs: perftest's own output does not always say so.
func passNamed(path string) string {
	name := strings.ToLower(filepath.Base(filepath.Dir(path)) + "/" + filepath.Base(path))
	for _, word := range []string{"use_cuda", "use-cuda", "use_rocm", "use-rocm", "gpudirect-gpu", "gdr"} {
		if strings.Contains(name, word) {
			return GPUBuffers
		}
	}
	if strings.Contains(name, HostBuffers) {
		return HostBuffers
	}
	return ""
}

// pair reads a run of perftest and reports whether it is a result of a pair.
func (o *Results) pair(c *cluster.Cluster, path string, r *Record, t *run) bool {
	p := PairResult{Source: path, Rate: t.number("perftest.largest_bandwidth"), Error: t.text("perftest.error.text")}
	if size := t.text("perftest.largest_size"); p.Rate == 0 && size != "" {
		for _, key := range []string{"perftest.latency.typical.", "perftest.latency.average."} {
			if p.Latency == 0 {
				p.Latency = t.number(key + size)
			}
		}
	}
	ok := false
	if r != nil {
		p.Test, ok = named(c, r.From, r.To)
		p.Pass, p.Command, p.What = passOf(r), r.Command, r.Test
		if r.Error != "" && p.Error == "" {
			p.Error = r.Error
		}
	} else if p.Test, ok = byAddress(c, t.text("perftest.local_gid"), t.text("perftest.remote_gid")); !ok {
		p.Test, ok = byFileName(c, filepath.Base(path))
	}
	if !ok {
		o.Unplaced = append(o.Unplaced, path)
		return false
	}
	if r == nil {
		p.Pass = passNamed(path)
	}
	if p.Rate == 0 && p.Latency == 0 && p.Error == "" {
		p.Error = "no result in what it printed"
	}
	o.Pairs = append(o.Pairs, p)
	return true
}

// named finds NICs by their names in the cluster file.
func named(c *cluster.Cluster, from, to string) (t Test, ok bool) {
	t.From, ok = nicNamed(c, from)
	if ok {
		t.To, ok = nicNamed(c, to)
	}
	return t, ok
}

func nicNamed(c *cluster.Cluster, name string) (cluster.NICRef, bool) {
	host, nicName, _ := strings.Cut(name, "/")
	for h := range c.Hosts {
		if c.Nodes[c.Hosts[h].Node].Name != host {
			continue
		}
		for i := range c.Hosts[h].NICs {
			if n := &c.Hosts[h].NICs[i]; n.Name == nicName || n.Device == nicName || nicName == "" && i == 0 {
				return cluster.NICRef{Host: int32(h), NIC: int32(i)}, true
			}
		}
	}
	return cluster.NICRef{}, false
}

func byAddress(c *cluster.Cluster, local, remote string) (Test, bool) {
	from, a := nicAt(c, local)
	to, b := nicAt(c, remote)
	return Test{from, to}, a && b
}

func nicAt(c *cluster.Cluster, gid string) (cluster.NICRef, bool) {
	address := strings.TrimPrefix(gid, "::ffff:")
	for h := range c.Hosts {
		for i := range c.Hosts[h].NICs {
			if a := c.Hosts[h].NICs[i].Address; a != "" && a == address {
				return cluster.NICRef{Host: int32(h), NIC: int32(i)}, true
			}
		}
	}
	return cluster.NICRef{}, false
}

// byFileName finds two hosts' names in the name of a file, in their order; a
// device behind a host's name picks its NIC.
func byFileName(c *cluster.Cluster, name string) (Test, bool) {
	type at struct {
		from, to int
		host     int32
	}
	var hits []at
	for h := range c.Hosts {
		host := c.Nodes[c.Hosts[h].Node].Name
		for from := 0; ; {
			i := strings.Index(name[from:], host)
			if i < 0 {
				break
			}
			i += from
			end := i + len(host)
			if (i == 0 || !word(name[i-1])) && (end == len(name) || !word(name[end])) {
				hits = append(hits, at{i, end, int32(h)})
			}
			from = end
		}
	}
	slices.SortFunc(hits, func(a, b at) int { return a.from - b.from })
	if len(hits) != 2 || hits[0].host == hits[1].host {
		return Test{}, false
	}
	pick := func(h at, until int) cluster.NICRef {
		for i := range c.Hosts[h.host].NICs {
			n := &c.Hosts[h.host].NICs[i]
			if strings.Contains(name[h.to:until], n.Device) && n.Device != "" || strings.Contains(name[h.to:until], n.Name) {
				return cluster.NICRef{Host: h.host, NIC: int32(i)}
			}
		}
		return cluster.NICRef{Host: h.host}
	}
	return Test{pick(hits[0], hits[1].from), pick(hits[1], len(name))}, true
}

// word reports whether a byte continues a name: host-1 is not in host-12.
func word(b byte) bool { return b >= '0' && b <= '9' || b|0x20 >= 'a' && b|0x20 <= 'z' }

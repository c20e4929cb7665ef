package host

import (
	"slices"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	topoName = tool.MustCompile(`^(?:GPU|NIC)\d+$|^(?:mlx\d|bnxt_re|irdma|ionic_|rdma|ib)\w*$`)
	topoPath = tool.MustCompile(`^(?:X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|N/A|DIS|C2C)$`)
	topoNIC  = tool.MustCompile(`^\s+(NIC\d+): (\S+)$`)
	// Ways from near to far. SOC is what SYS was called before 2017.
	nearness = []string{"PIX", "PXB", "PHB", "NODE", "SYS", "SOC"}
)

var smiTopology = tool.Parser{
	Tool:     "nvidia-smi topo",
	Versions: "old layout (devices by name) and new (NICn with legend)",
	Programs: []string{"nvidia-smi topo"},
	Keys: []string{
		"topo.path.{peer}", "topo.cpus", "topo.numa", "topo.nic.{index}", "topo.gpus", "topo.nics", "topo.nearest_path", "topo.nearest_nics",
		"topo.unassigned_nics", "topo.flat", "topo.nvlink", "topo.gpus_without_near_nic",
	},
	Recognise: func(w *tool.Window) tool.Score {
		f := w.Fields()
		switch {
		case len(f) > 0 && f[0] == "GPU0" && len(topoColumns(f)) == len(f), len(f) > 1 && topoName.MatchString(f[0]) && topoName.MatchString(f[1]) && strings.Contains(w.First(), "CPU Affinity"):
			return tool.Sure
		case len(f) > 1 && topoName.MatchString(f[0]) && topoName.MatchString(f[1]) && topoPath.MatchString(secondField(w.Line(1))):
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &matrix{ctx: ctx} },
}

func secondField(text string) string {
	if f := strings.Fields(text); len(f) > 1 {
		return f[1]
	}
	return ""
}

// topoColumns returns the leading names of a head line.
func topoColumns(f []string) []string {
	for i, name := range f {
		if !topoName.MatchString(name) {
			return f[:i]
		}
	}
	return f
}

// matrix is one output of "nvidia-smi topo -m". The columns of the head name
// the peers of each row; rows and the legend of NICs follow.
type matrix struct {
	ctx     *tool.Context
	columns []string
	line    int
	rows    []topoRow
	nics    map[string]string // NIC0 -> mlx5_0, from the legend
}

type topoRow struct {
	name  string
	paths []string // by column
	line  int
}

// maxRows bounds a matrix: no machine has more GPUs and NICs.
const maxRows = 512

func (m *matrix) Match(l *tool.Line) tool.Score {
	t := strings.TrimSpace(l.Text)
	switch {
	case m.columns != nil && len(m.rows) < maxRows && topoName.MatchString(firstField(t)) && topoPath.MatchString(secondField(t)):
		return tool.Sure
	case len(m.rows) == 0:
		return tool.No
	case t == "Legend:", t == "NIC Legend:", topoNIC.MatchString(l.Text):
		return tool.Sure
	case strings.Contains(t, " = Connection traversing"), t == "X    = Self", strings.HasPrefix(t, "N/A  = ") || strings.HasPrefix(t, "C2C"):
		return tool.Sure
	}
	return tool.No
}

func firstField(t string) string {
	t, _, _ = strings.Cut(t, "\t")
	t, _, _ = strings.Cut(t, " ")
	return t
}

func (m *matrix) Take(l *tool.Line, out *tool.Out) {
	if m.columns == nil {
		m.columns, m.line = topoColumns(strings.Fields(l.Text)), l.N
		return
	}
	if n := topoNIC.FindStringSubmatch(l.Text); n != nil {
		if m.nics == nil {
			m.nics = map[string]string{}
		}
		if len(m.nics) < maxRows {
			m.nics[n[1]] = n[2]
		}
		out.Text(l.N, m.ctx.HostSubject(), "topo.nic."+strings.TrimPrefix(n[1], "NIC"), n[2])
		return
	}
	f := strings.Fields(l.Text)
	if len(f) < 2 || !topoPath.MatchString(f[1]) {
		return // legend
	}
	row := topoRow{name: f[0], line: l.N}
	for i := range m.columns {
		if i+1 >= len(f) || !topoPath.MatchString(f[i+1]) {
			break
		}
		row.paths = append(row.paths, f[i+1])
	}
	if len(row.paths) < len(m.columns) {
		out.NotUnderstood(l)
		return
	}
	m.rows = append(m.rows, row)
	m.affinity(l, out, row.name, f[1+len(m.columns):])
}

// affinity reads the columns behind the matrix: CPUs, NUMA nodes.
func (m *matrix) affinity(l *tool.Line, out *tool.Out, name string, f []string) {
	if !strings.HasPrefix(name, "GPU") || len(f) == 0 {
		return
	}
	gpu := m.subject(name)
	out.Text(l.N, gpu, "topo.cpus", f[0])
	if len(f) > 1 {
		out.Text(l.N, gpu, "topo.numa", f[1])
	}
}

// subject returns a GPU by its index, and a NIC by its device name.
func (m *matrix) subject(name string) fact.Subject {
	if index, ok := strings.CutPrefix(name, "GPU"); ok {
		return m.ctx.GPU(index)
	}
	return m.ctx.NIC(m.device(name))
}

func (m *matrix) device(name string) string {
	if d := m.nics[name]; d != "" {
		return d
	}
	return name
}

func (m *matrix) End(out *tool.Out) {
	var gpus, nics []int // columns
	for i, c := range m.columns {
		if strings.HasPrefix(c, "GPU") {
			gpus = append(gpus, i)
		} else {
			nics = append(nics, i)
		}
	}
	host := m.ctx.HostSubject()
	out.Uint(m.line, host, "topo.gpus", uint64(len(gpus)))
	out.Uint(m.line, host, "topo.nics", uint64(len(nics)))
	for _, r := range m.rows {
		for i, p := range r.paths {
			if p != "X" {
				out.Text(r.line, m.subject(r.name), "topo.path."+m.columns[i], p)
			}
		}
	}
	m.conclude(out, host, gpus, nics)
}

// conclude puts out what follows from the matrix as a whole.
func (m *matrix) conclude(out *tool.Out, host fact.Subject, gpus, nics []int) {
	nvlink, without := false, uint64(0)
	kinds := map[string]bool{}
	used := map[string]bool{}
	near := false
	for _, r := range m.rows {
		if !strings.HasPrefix(r.name, "GPU") {
			continue
		}
		for _, g := range gpus {
			nvlink = nvlink || strings.HasPrefix(r.paths[g], "NV")
		}
		best, names := m.nearest(r, nics, kinds)
		if best == "" {
			continue
		}
		out.Text(r.line, m.subject(r.name), "topo.nearest_path", best)
		out.List(r.line, m.subject(r.name), "topo.nearest_nics", names)
		switch best {
		case "PIX", "PXB":
			near = true
			for _, n := range names {
				used[n] = true
			}
		case "SYS", "SOC":
			without++
		}
	}
	if len(m.rows) == 0 {
		return
	}
	out.Bool(m.line, host, "topo.nvlink", nvlink)
	if len(nics) == 0 {
		return
	}
	out.Uint(m.line, host, "topo.gpus_without_near_nic", without)
	if len(gpus) > 1 || len(nics) > 1 { // a single pair is no pattern
		out.Bool(m.line, host, "topo.flat", len(kinds) == 1)
	}
	if near {
		rest := []string{}
		for _, i := range nics {
			if d := m.device(m.columns[i]); !used[d] {
				rest = append(rest, d)
			}
		}
		out.List(m.line, host, "topo.unassigned_nics", rest)
	}
}

// nearest returns the best way from a GPU to a NIC and the NICs reached so.
func (m *matrix) nearest(r topoRow, nics []int, kinds map[string]bool) (string, []string) {
	rank, best := len(nearness), ""
	var names []string
	for _, i := range nics {
		kinds[r.paths[i]] = true
		k := slices.Index(nearness, r.paths[i])
		switch {
		case k < 0 || k > rank:
		case k < rank:
			rank, best, names = k, r.paths[i], []string{m.device(m.columns[i])}
		default:
			names = append(names, m.device(m.columns[i]))
		}
	}
	return best, names
}

var (
	rocmTitle = tool.MustCompile(`^[= ]*(Weight|Hops|Link Type|Link accessibility|Access) between two GPUs[= ]*$`)
	rocmNuma  = tool.MustCompile(`^GPU ?\[?(\d+)\]?\s*: \(Topology\) Numa (Node|Affinity): (-?\d+)`)
	rocmRow   = tool.MustCompile(`^GPU(\d+)\s+\S`)
)

var rocmTopology = tool.Parser{
	Tool:     "rocm-smi --showtopo",
	Versions: "layouts of ROCm 5 and 7",
	Programs: []string{"rocm-smi"},
	Keys:     []string{"topo.weight.{peer}", "topo.hops.{peer}", "topo.path.{peer}", "topo.numa", "topo.gpus", "topo.nvlink"},
	Recognise: func(w *tool.Window) tool.Score {
		if rocmTitle.MatchString(w.First()) || rocmNuma.MatchString(w.First()) || strings.Contains(w.First(), "ROCm System Management Interface") {
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session { return &rocmRun{ctx: ctx} },
}

// rocmRun reads the matrices of rocm-smi, each with a title, a head of GPU
// names and a row for each GPU.
type rocmRun struct {
	ctx     *tool.Context
	table   string
	columns []string
	xgmi    bool
	links   int // line of the link table
	gpus    int
}

func (r *rocmRun) Match(l *tool.Line) tool.Score {
	t := strings.TrimSpace(l.Text)
	switch {
	case rocmTitle.MatchString(l.Text), rocmNuma.MatchString(t):
		return tool.Sure
	case r.table != "" && (rocmRow.MatchString(t) || len(topoColumns(strings.Fields(t))) > 0):
		return tool.Own // nvidia-smi has heads of the same names
	case strings.HasPrefix(t, "=") && (strings.Contains(t, "ROCm SMI") || strings.Contains(t, "Numa Nodes")):
		return tool.Sure
	}
	return tool.No
}

func (r *rocmRun) Take(l *tool.Line, out *tool.Out) {
	t := strings.TrimSpace(l.Text)
	if m := rocmTitle.FindStringSubmatch(t); m != nil {
		r.table, r.columns = m[1], nil
		return
	}
	if m := rocmNuma.FindStringSubmatch(t); m != nil {
		if m[2] == "Node" {
			out.Text(l.N, r.ctx.GPU(m[1]), "topo.numa", m[3])
		}
		return
	}
	f := strings.Fields(t)
	if len(f) > 0 && len(topoColumns(f)) == len(f) && r.columns == nil && len(f) < maxRows {
		r.columns = f
		return
	}
	if r.columns == nil || !rocmRow.MatchString(t) {
		return // titles of other parts
	}
	if len(f)-1 != len(r.columns) {
		out.NotUnderstood(l)
		return
	}
	r.row(l, out, f)
}

func (r *rocmRun) row(l *tool.Line, out *tool.Out, f []string) {
	index, _ := strings.CutPrefix(f[0], "GPU")
	gpu := r.ctx.GPU(index)
	if r.table == "Link Type" {
		r.links, r.gpus = l.N, len(r.columns)
	}
	for i, v := range f[1:] {
		if r.columns[i] == f[0] {
			continue
		}
		switch r.table {
		case "Weight":
			out.Number(l.N, gpu, "topo.weight."+r.columns[i], v)
		case "Hops":
			out.Number(l.N, gpu, "topo.hops."+r.columns[i], v)
		case "Link Type":
			out.Text(l.N, gpu, "topo.path."+r.columns[i], v)
			r.xgmi = r.xgmi || v == "XGMI"
		}
	}
}

func (r *rocmRun) End(out *tool.Out) {
	if r.links > 0 {
		out.Uint(r.links, r.ctx.HostSubject(), "topo.gpus", uint64(r.gpus))
		out.Bool(r.links, r.ctx.HostSubject(), "topo.nvlink", r.xgmi)
	}
}

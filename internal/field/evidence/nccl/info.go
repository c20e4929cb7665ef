package nccl

import (
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"weir/internal/field/evidence/host"
	"weir/internal/field/evidence/tool"
)

var (
	bootstrapText = tool.MustCompile(`^Bootstrap ?: Using (.+)$`)
	indexedName   = tool.MustCompile(`(?:^|\s)(?:\[\d+\])?([\w.-]+:[0-9a-fA-F.:]+(?:%\w+)?)<\d+>`)
	usingText     = tool.MustCompile(`^NET/([\w/.-]+) ?: Using (.+)$`)
	usingDevice   = tool.MustCompile(`\[(\d+)\] ?([\w.+-]+)(?::(\d+))?(?:/(RoCE|IB|SHARP|OPA|\w+))?`)
	oobText       = tool.MustCompile(`; OOB (\S+?)<\d+>`)
	envText       = tool.MustCompile(`^(?:ENV/Plugin: )?([NR]CCL_[A-Z0-9_]+) set (?:by environment )?to (.*)$`)
	deviceText    = tool.MustCompile(`^NET/IB ?: \[\d+\] \S+:uverbs\d+:\d+/`) // a device found, before NET/IB names the ones in use
	gdrText       = tool.MustCompile(`GPU Direct RDMA (?:\((\w+)\) )?(Enabled|Disabled) for (?:GPU (\S+) ?/ ?)?HCA (\d+)(?: '([^']+)')?`)
	viaText       = tool.MustCompile(`^(?:Channel|Ring|Coll\w*) (\S+) ?: (-?\d+)(?:\[[^\]]*\])? -> (-?\d+)(?:\[[^\]]*\])?(?: \[(send|receive)\])? via (\S+)`)
	orderText     = tool.MustCompile(`^Channel (\d+)(?:/(\d+))? ?:((?:\s+\d+)+)\s*$`)
	ringText      = tool.MustCompile(`^Ring (\d+) : (-?\d+) -> (\d+) -> (-?\d+)`)
	treeText      = tool.MustCompile(`^Tree (\d+) : (-?\d+) -> (\d+) -> (\S+)`)
	treesText     = tool.MustCompile(`\[(\d+)\] (-?\d+(?:/-?\d+)*->(\d+)->\S+)`)
	channelsText  = tool.MustCompile(`(\d+) (coll channels|collnet channels|nvls channels|p2p channels per peer|p2p channels)`)
	commText      = tool.MustCompile(`\bcomm 0x[0-9a-f]+ rank (\d+) n[rR]anks (\d+)`)
	commField     = tool.MustCompile(`\b(nNodes|cudaDev|busId) (\S+)`)
	qpText        = tool.MustCompile(`^NET/IB ?: ?(?:NCCL )?(?:IbDev|Dev) (\d+)(?: IbDev (\d+))? Port (\d+) qpn (\d+) mtu (\d+)(.*)$`)
	qpGID         = tool.MustCompile(`\bGID (\d+) \(([0-9A-Fa-f]+)/([0-9A-Fa-f]+)\)`)
	failedText    = tool.MustCompile(`^([\w./-]+\.(?:cc|c|cpp|h|cu|cuh)):(\d+) -> (-?\d+)`)
	pluginText    = tool.MustCompile(`^(?:P2P plugin(?: v\d+)?|NET/Plugin ?: (?:Loaded net|Loaded) plugin|Initialized NET plugin|NET/Plugin ?: Using) (\S.*?)(?: \(v?\d+\))?\s*$`)
	assignedText  = tool.MustCompile(`^(?:Using network|Assigned NET plugin) (\S+)`)
)

// info reads an INFO line and reports whether it is a known one.
func (r *record) info() bool {
	t := r.text
	switch {
	case strings.Contains(t, " via "):
		if m := viaText.FindStringSubmatch(t); m != nil {
			r.channel(m)
			return true
		}
	case strings.HasPrefix(t, "Ring "), strings.HasPrefix(t, "Tree "), strings.HasPrefix(t, "Trees "), strings.HasPrefix(t, "Channel "):
		if r.graph(t) {
			return true
		}
	case strings.Contains(t, "_") && envText.MatchString(t):
		m := envText.FindStringSubmatch(t)
		if r.p.first(m[1], m[2]) {
			host.Variable(r.out, r.N, r.p.subject, m[1], plainValue(m[2]))
		}
		return true
	case strings.HasPrefix(t, "Bootstrap"):
		if m := bootstrapText.FindStringSubmatch(t); m != nil {
			for _, i := range indexedName.FindAllStringSubmatch(m[1], 64) {
				r.once("nccl.bootstrap", i[1])
			}
			return true
		}
	case strings.HasPrefix(t, "NET/"):
		if r.net(t) {
			return true
		}
	case strings.Contains(t, "GPU Direct RDMA"):
		if r.gdr(t) {
			return true
		}
	case assignedText.MatchString(t):
		r.once("nccl.network", assignedText.FindStringSubmatch(t)[1])
		return true
	case pluginText.MatchString(t):
		r.once("nccl.plugin", pluginText.FindStringSubmatch(t)[1])
		return true
	case strings.HasPrefix(t, "Plugin Path :"):
		r.once("nccl.plugin_path", strings.TrimSpace(strings.TrimPrefix(t, "Plugin Path :")))
		return true
	case strings.HasPrefix(t, "DMA-BUF is available"):
		r.onceBool("nccl.dmabuf", true)
		return true
	case strings.HasPrefix(t, "HINT:"):
		r.once("nccl.hint", strings.TrimSpace(strings.TrimPrefix(t, "HINT:")))
		return true
	}
	return r.setup(t) || plain(t)
}

// setup reads the lines of a communicator's set-up.
func (r *record) setup(t string) bool {
	switch {
	case strings.HasPrefix(t, "Connected all "), strings.HasPrefix(t, "Connected NVLS tree"), strings.HasPrefix(t, "Connected binomial trees"):
		what, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(t, "Connected "), "all "), ",")
		if !slices.Contains(r.p.connected, what) && len(r.p.connected) < 16 {
			r.p.connected = append(r.p.connected, strings.Clone(what))
		}
	case strings.HasPrefix(t, "P2P Chunksize set to "):
		r.onceNumber("nccl.p2p_chunk", strings.TrimPrefix(t, "P2P Chunksize set to "))
	case strings.Contains(t, " coll channels"):
		for _, m := range channelsText.FindAllStringSubmatch(t, 8) {
			key := map[string]string{
				"coll channels": "nccl.channels.coll", "p2p channels": "nccl.channels.p2p",
				"nvls channels": "nccl.channels.nvls", "p2p channels per peer": "nccl.channels.p2p_per_peer",
			}[m[2]]
			if key != "" {
				r.onceNumber(key, m[1])
			}
		}
	case strings.HasPrefix(t, "cudaDriverVersion "):
		r.once("nccl.driver_version", strings.TrimPrefix(t, "cudaDriverVersion "))
	case commText.MatchString(t):
		r.comm(t)
	case failedText.MatchString(t):
		if !r.p.failed { // the first place is where it went wrong; the rest unwinds
			r.p.failed = true
			r.out.Text(r.N, r.p.subject, "nccl.failed_at", failedText.FindString(t))
		}
	case versionLine.MatchString(t):
		m := versionLine.FindStringSubmatch(t)
		r.once("nccl.version", m[2]+m[4])
		r.once("nccl.library", strings.ToLower(m[1]+m[3]))
	default:
		return false
	}
	return true
}

// plainValue drops the full stop that ends the sentence behind a number.
func plainValue(v string) string {
	n := strings.TrimSuffix(v, ".")
	if _, err := strconv.ParseInt(n, 0, 64); err == nil {
		return n
	}
	return strings.TrimSpace(v)
}

// comm reads "comm 0x... rank 0 nranks 2 cudaDev 0 busId 4c000 - Init COMPLETE".
func (r *record) comm(t string) {
	m := commText.FindStringSubmatch(t)
	r.onceNumber("nccl.rank", m[1])
	k := r.rank(m[1])
	if r.p.first("nranks", m[1]+"/"+m[2]) {
		r.out.Number(r.N, k.subject, "nccl.ranks", m[2])
	}
	for _, f := range commField.FindAllStringSubmatch(t, 8) {
		if !r.p.first(f[1], m[1]+"/"+f[2]) {
			continue
		}
		switch f[1] {
		case "nNodes":
			r.out.Number(r.N, k.subject, "nccl.nodes", f[2])
		case "cudaDev":
			r.out.Number(r.N, k.subject, "nccl.gpu", f[2])
		case "busId":
			r.out.Text(r.N, k.subject, "nccl.gpu.bus", f[2])
		}
	}
	if strings.Contains(t, "Init COMPLETE") && r.p.first("init", m[1]) {
		r.out.Bool(r.N, k.subject, "nccl.init_complete", true)
	}
}

// channel counts "Channel 05 : 8[25000] -> 0[25000] [send] via NET/IB/1/GDRDMA".
func (r *record) channel(m []string) {
	p := r.p
	if p.transports == nil {
		p.transports = map[string]uint64{}
	}
	parts := strings.Split(m[5], "/")
	name := parts[0]
	network := name == "NET" || name == "COLLNET"
	if network && len(parts) > 1 {
		name += "/" + parts[1]
	}
	name = strings.ReplaceAll(name, ".", "_")
	if _, ok := p.transports[name]; ok || len(p.transports) < 32 {
		p.transports[strings.Clone(name)]++
	}
	if !network {
		return
	}
	p.network++
	if slices.Contains(parts, "GDRDMA") {
		p.gdrdma++
	}
}

// graph reads rings and trees in their several forms.
func (r *record) graph(t string) bool {
	if m := ringText.FindStringSubmatch(t); m != nil {
		r.ring(m[3], number(m[1]), strings.TrimPrefix(m[0][strings.Index(m[0], ":")+1:], " "))
	} else if m := treeText.FindStringSubmatch(t); m != nil {
		r.tree(m[3], number(m[1]), strings.TrimSpace(t[strings.Index(t, ":")+1:]))
	} else if m := orderText.FindStringSubmatch(t); m != nil {
		ch := number(m[1])
		r.p.order(r, ch, strings.Join(strings.Fields(m[3]), " "))
	} else if strings.HasPrefix(t, "Trees ") {
		for _, m := range treesText.FindAllStringSubmatch(t, 256) {
			r.tree(m[3], m[1], m[2])
		}
	} else {
		return false
	}
	return true
}

// number drops leading zeros: channel 03 is channel 3.
func number(s string) string {
	if t := strings.TrimLeft(s, "0"); t != "" {
		return t
	}
	return "0"
}

func (r *record) ring(of, channel, text string) {
	k := r.rank(of)
	if !k.rings[channel] && len(k.rings) < 512 {
		k.rings[strings.Clone(channel)] = true
		r.out.Text(r.N, k.subject, "nccl.ring."+channel, text)
	}
}

func (r *record) tree(of, channel, text string) {
	k := r.rank(of)
	if !k.trees[channel] && len(k.trees) < 512 {
		k.trees[strings.Clone(channel)] = true
		r.out.Text(r.N, k.subject, "nccl.tree."+channel, text)
	}
}

// order puts out the order of all ranks on a channel, which one process prints.
func (p *process) order(r *record, channel, ranks string) {
	if p.first("order", channel) {
		r.out.Text(r.N, p.subject, "nccl.ring."+channel, ranks)
	}
}

// net reads lines that start with NET/.
func (r *record) net(t string) bool {
	switch {
	case strings.Contains(t, "No device found"):
		r.onceBool("nccl.no_device", true)
	case strings.Contains(t, "GPU Direct RDMA"):
		return r.gdr(t)
	case strings.Contains(t, " set_ece={"): // the peer's answer; the GID stands in the query
	case strings.Contains(t, " qpn "):
		m := qpText.FindStringSubmatch(t)
		if m == nil {
			return false
		}
		r.queuePair(m)
	case strings.HasPrefix(t, "NET/Plugin"):
		switch {
		case strings.Contains(t, "No plugin found"), strings.Contains(t, "Could not find"), strings.Contains(t, "internal network plugin"):
			r.onceBool("nccl.plugin_missing", true)
			r.once("nccl.plugin", "internal")
		case pluginText.MatchString(t):
			r.once("nccl.plugin", pluginText.FindStringSubmatch(t)[1])
		case !strings.Contains(t, "dlerror"):
			return false
		}
	case usingText.MatchString(t):
		r.using(usingText.FindStringSubmatch(t))
	case asyncText.MatchString(t):
		r.warn()
	case strings.Contains(t, "Made virtual device"), deviceText.MatchString(t):
	default:
		return false
	}
	return true
}

// using reads the list of devices of a network.
func (r *record) using(m []string) {
	list, _, _ := strings.Cut(m[2], "; OOB ")
	if m[1] == "Socket" {
		for _, i := range indexedName.FindAllStringSubmatch(list, 64) {
			r.once("nccl.oob", i[1])
		}
	}
	devices := []string{}
	for _, d := range usingDevice.FindAllStringSubmatch(list, 256) {
		if m[1] == "Socket" {
			devices = append(devices, d[2])
			continue
		}
		devices = append(devices, d[2]+":"+d[3])
		if d[4] != "" {
			r.once("nccl.layer."+strings.ReplaceAll(d[2], ".", "_"), d[4])
		}
	}
	if len(devices) > 0 && r.p.first("devices", list) {
		r.out.List(r.N, r.p.subject, "nccl.network_devices", devices)
	}
	if o := oobText.FindStringSubmatch(m[2]); o != nil {
		r.once("nccl.oob", o[1])
	}
}

func (r *record) gdr(t string) bool {
	m := gdrText.FindStringSubmatch(t)
	if m == nil {
		return false
	}
	device := m[5]
	if device == "" {
		device = "hca" + m[4] // older releases name the number alone
	}
	r.onceBool("nccl.gdr."+strings.ReplaceAll(device, ".", "_"), m[2] == "Enabled")
	if m[1] == "DMABUF" {
		r.onceBool("nccl.dmabuf", true)
	}
	return true
}

// queuePair reads "NET/IB: Dev 0 Port 1 qpn 58 mtu 3 GID 3 (0/A10B000AFFFF0000)".
func (r *record) queuePair(m []string) {
	device := m[1]
	if m[2] != "" {
		device = m[2]
	}
	g := qpGID.FindStringSubmatch(m[6])
	gid := ""
	if g != nil {
		gid = g[0]
	}
	if !r.p.first("qp", device+"/"+m[3]+" "+m[5]+gid) {
		return
	}
	s := r.p.subject
	r.out.Text(r.N, s, "nccl.qp.device", device)
	if e, err := strconv.ParseUint(m[5], 10, 8); err == nil && e >= 1 && e <= 5 {
		r.out.Uint(r.N, s, "nccl.qp.mtu", 128<<e) // enum ibv_mtu: 1 is 256, 5 is 4096
	}
	if g == nil {
		return
	}
	r.out.Number(r.N, s, "nccl.qp.gid_index", g[1])
	if addr, ok := wordsGID(g[2], g[3]); ok {
		r.out.Text(r.N, s, "nccl.qp.gid", addr.String())
	}
}

// wordsGID reads a GID that is printed as two 64-bit words: the bytes of the
// address in the memory of a little-endian machine.
func wordsGID(prefix, id string) (netip.Addr, bool) {
	a, errA := strconv.ParseUint(prefix, 16, 64)
	b, errB := strconv.ParseUint(id, 16, 64)
	if errA != nil || errB != nil {
		return netip.Addr{}, false
	}
	var bytes [16]byte
	for i := range 8 {
		bytes[i] = byte(a >> (8 * i))
		bytes[8+i] = byte(b >> (8 * i))
	}
	return netip.AddrFrom16(bytes), true
}

// sorted returns the keys of a map in order, numbers by value.
func sorted[V any](m map[string]V) []string {
	keys := slices.Collect(maps.Keys(m))
	slices.SortFunc(keys, func(a, b string) int {
		if len(a) != len(b) && isNumber(a) && isNumber(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return keys
}

func isNumber(s string) bool { return strings.Trim(s, "0123456789") == "" }

package diagnosis

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"weir/internal/cause"
	"weir/internal/fact"
	"weir/internal/finding"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func parseAddr(f *fact.Fact) netip.Addr {
	word, _, _ := strings.Cut(f.Value.String(), "/")
	a, _ := netip.ParseAddr(word)
	return a
}

// An owned address is one of an interface, with its subnet; the subnet is
// invalid where the prefix length is not known.
type owned struct {
	addr   netip.Addr
	subnet netip.Prefix
	nic    fact.Subject
	fact   *fact.Fact
}

// addresses returns the addresses that interfaces hold, without loopback,
// link-local ones and networks of a single address.
func (x *index) addresses() []owned { return x.owned }

func (x *index) findAddresses() []owned {
	var out []owned
	for _, f := range x.all("link.address") {
		o := owned{nic: f.Subject, fact: f}
		if p, err := netip.ParsePrefix(f.Value.String()); err == nil {
			o.addr, o.subnet = p.Addr(), p.Masked()
		} else if o.addr = parseAddr(f); !o.addr.IsValid() {
			continue
		}
		if o.addr.IsLoopback() || o.subnet.IsValid() && o.subnet.Bits() == o.addr.BitLen() {
			continue
		}
		out = append(out, o)
	}
	return out
}

// virtual reports interfaces that carry no fabric of their own.
func virtual(name string) bool {
	for _, p := range []string{"lo", "docker", "veth", "cali", "cni", "flannel", "virbr", "br-", "tunl", "kube", "nodelocaldns", "vxlan", "cilium", "tap", "tun", "dummy"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// sameSubnet: two interfaces of one host have addresses of one subnet.
func sameSubnet(x *index, v *verdict) {
	failing := x.any((*event).noAnswer)
	hosts := map[string][]owned{}
	for _, o := range x.addresses() {
		hosts[o.nic.Host] = append(hosts[o.nic.Host], o)
	}
	for _, h := range sortedKeys(hosts) {
		sharedSubnets(x, v, hosts[h], failing)
	}
	oneSubnetPair(x, v, failing)
}

// sharedSubnets looks at the addresses of one host.
func sharedSubnets(x *index, v *verdict, list []owned, failing []*event) {
	for i, a := range list {
		for _, b := range list[:i] {
			if a.nic.Name == b.nic.Name || !a.subnet.IsValid() || a.subnet != b.subnet || a.addr == b.addr ||
				linkLocal(a.addr) || virtual(a.nic.Name) || virtual(b.nic.Name) || mayBeTwoHosts(a, b) {
				continue
			}
			c := claim{
				cause: "same-subnet-multi-nic", confidence: 0.7, severity: finding.Warning, where: unite(a.nic.String(), b.nic.String()),
				evidence: quotes(b.fact, a.fact), explains: []symptom{noAnswer},
				summary: sayf("%s and %s of one host have addresses of the same subnet %s: the kernel sends and answers through whichever its routing table names first, so packets leave or arrive at the wrong one.",
					"同一主机的 %s 与 %s 地址同属子网 %s：内核按路由表首选的接口收发，报文会从错误的网卡发出或到达错误的网卡。", b.nic.Name, a.nic.Name, a.subnet),
			}
			intraHost(x, &c, a.subnet, failing)
			sourceRouting(x, &c)
			v.claim(c)
		}
	}
}

// mayBeTwoHosts: sources without a host name may be of two machines, unless
// one source tells of both interfaces.
func mayBeTwoHosts(a, b owned) bool {
	return a.nic.Host == "" && a.fact.Origin.Source != b.fact.Origin.Source
}

// intraHost adds the failing connections whose two ends lie in the subnet.
func intraHost(x *index, c *claim, subnet netip.Prefix, failing []*event) {
	for _, e := range failing {
		if e.local.IsValid() && e.remote.IsValid() && subnet.Contains(e.local.Unmap()) && subnet.Contains(e.remote.Unmap()) {
			c.confidence, c.severity = 0.88, finding.Error
			c.evidence = append(c.evidence, e.quote())
		}
	}
	if c.confidence < 0.8 && len(failing) > 0 {
		c.confidence, c.severity = 0.75, finding.Error
		c.evidence = append(c.evidence, failing[0].quote())
	}
}

// sourceRouting: settings that make several interfaces in a subnet work.
func sourceRouting(x *index, c *claim) {
	ignore, announce := false, false
	for _, f := range x.under("sysctl.net.ipv4.conf.") {
		n := f.Value.String()
		switch {
		case strings.HasSuffix(f.Key, ".arp_ignore") && (n == "1" || n == "2"):
			ignore = true
			c.against = append(c.against, quote(f))
		case strings.HasSuffix(f.Key, ".arp_announce") && n == "2":
			announce = true
			c.against = append(c.against, quote(f))
		case strings.HasSuffix(f.Key, ".all.arp_ignore") && n == "0":
			c.evidence = append(c.evidence, quote(f))
		}
	}
	if ignore && announce {
		c.confidence -= 0.3
	}
}

// oneSubnetPair: an error names two GIDs whose machine holds the one and may
// hold the other: the addresses of the interfaces decide.
func oneSubnetPair(x *index, v *verdict, failing []*event) {
	for _, e := range failing {
		if e.local.IsValid() && e.remote.IsValid() && !linkLocal(e.local) && near(e.local, e.remote) && !x.has("link.address") {
			v.lack("same-subnet-multi-nic", noAnswer, fmt.Sprintf("whether %s and %s are interfaces of one host, and their subnets", e.local.Unmap(), e.remote.Unmap()),
				fmt.Sprintf("%s 与 %s 是否为同一主机的接口及其子网", e.local.Unmap(), e.remote.Unmap()), "ip addr; ip rule; ip neigh (in the failing pod or host)")
			return
		}
	}
}

// near reports two addresses that differ in the last byte or two at most.
func near(a, b netip.Addr) bool {
	a, b = a.Unmap(), b.Unmap()
	if a.Is4() != b.Is4() {
		return false
	}
	bits := 24
	if a.Is6() {
		bits = 112
	}
	p, err := a.Prefix(bits)
	return err == nil && p.Contains(b)
}

// A failedPair is the two ends of a connection that failed.
func crossing(x *index, e *event) (local, remote netip.Prefix, known bool) {
	if !e.local.IsValid() || !e.remote.IsValid() || linkLocal(e.local) || linkLocal(e.remote) {
		return local, remote, false
	}
	l, r := e.local.Unmap(), e.remote.Unmap()
	if l.Is4() != r.Is4() {
		return local, remote, false
	}
	for _, o := range x.addresses() {
		if o.subnet.IsValid() && o.subnet.Contains(l) {
			return o.subnet, netip.PrefixFrom(r, o.subnet.Bits()).Masked(), true
		}
	}
	bits := 24 // not known: the size most rails have
	if l.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(l, bits).Masked(), netip.PrefixFrom(r, bits).Masked(), false
}

// railMismatch: the connections that fail join two subnets, while others work
// or none does.
func railMismatch(x *index, v *verdict) {
	var crossed, straight []*event
	var sample [2]netip.Prefix
	known := false
	for _, e := range x.any((*event).noAnswer) {
		l, r, sure := crossing(x, e)
		switch {
		case !l.IsValid():
		case l != r:
			crossed = append(crossed, e)
			sample, known = [2]netip.Prefix{l, r}, known || sure
		default:
			straight = append(straight, e)
		}
	}
	if len(crossed) == 0 {
		return
	}
	c := claim{
		cause: "rail-mismatch", confidence: 0.65, severity: finding.Error, where: unite(sample[0].String(), sample[1].String()),
		evidence: quoteEvents(crossed), explains: []symptom{noAnswer},
		summary: sayf("The connections that fail join two subnets (%s and %s): ports of two rails are paired that do not reach each other.", "失败的连接跨越两个子网（%s 与 %s）：配对了两个互不可达的 rail。", sample[0], sample[1]),
		test:    "ping -I LOCAL_IF REMOTE_ADDRESS of the failing pair, then of the same rail",
	}
	if known {
		c.confidence = 0.75
	}
	if len(straight) > 0 {
		c.confidence -= 0.2
		c.against = append(c.against, quoteEvents(straight)...)
	}
	if f := x.envIs("NCCL_CROSS_NIC", "1", "2"); len(f) > 0 {
		c.confidence += 0.08
		c.evidence = append(c.evidence, quote(f[0]))
		c.fix = append(c.fix, repair("export NCCL_CROSS_NIC=0", "Keep rings on one rail where rails are not joined.", "若各 rail 不互通，让环保持在同一 rail 上。"))
	}
	v.claim(c)
	v.lack("rail-mismatch", noAnswer, "whether the two subnets of the failing pair are routed to each other", "失败两端的子网之间是否有路由", "ip route get REMOTE_ADDRESS from LOCAL_ADDRESS; ping -I LOCAL_IF REMOTE_ADDRESS")
}

// nicOrder: the same device names stand for different subnets on two hosts.
func nicOrder(x *index, v *verdict) {
	type nets map[string]netip.Prefix // by device
	hosts := map[string]nets{}
	facts := map[string]*fact.Fact{}
	put := func(s fact.Subject, device string, p netip.Prefix, f *fact.Fact) {
		if s.Host == "" || device == "" || !p.IsValid() || linkLocal(p.Addr()) || virtual(device) {
			return
		}
		if hosts[s.Host] == nil {
			hosts[s.Host] = nets{}
		}
		hosts[s.Host][device] = p
		facts[s.Host+"/"+device] = f
	}
	for i := range x.tables {
		t := &x.tables[i]
		if b := t.best(); b != nil && b.addr.Unmap().Is4() {
			put(t.nic, t.nic.Name, netip.PrefixFrom(b.addr.Unmap(), 24).Masked(), b.fact)
		}
	}
	for _, o := range x.addresses() {
		put(o.nic, o.nic.Name, o.subnet, o.fact)
	}
	names := distinctHosts(hosts)
	for i, a := range names {
		for _, b := range names[:i] {
			if dev, ok := permuted(hosts[b], hosts[a]); ok {
				v.claim(claim{
					cause: "nic-order-mismatch", confidence: 0.8, severity: finding.Error, where: unite(b+"/"+dev, a+"/"+dev), evidence: quotes(facts[b+"/"+dev], facts[a+"/"+dev]),
					explains: []symptom{noAnswer, slow},
					summary: sayf("%s is in %s on %s and in %s on %s: the names or their order differ between the hosts, so that pairing by position joins different rails.",
						"%s 在 %[3]s 上属于 %[2]s，在 %[5]s 上属于 %[4]s：两台主机的设备名或顺序不同，按位置配对会连接不同的 rail。", dev, hosts[b][dev], b, hosts[a][dev], a),
				})
				return
			}
		}
	}
}

// distinctHosts returns one host, the first by name, of those whose devices
// have the same subnets.
func distinctHosts[M ~map[string]netip.Prefix](hosts map[string]M) []string {
	seen := map[string]bool{}
	var out []string
	for _, h := range sortedKeys(hosts) {
		k := ""
		for _, d := range sortedKeys(hosts[h]) {
			k += d + "=" + hosts[h][d].String() + " "
		}
		if !seen[k] {
			seen[k] = true
			out = append(out, h)
		}
	}
	return out
}

// permuted reports a device whose subnets on two hosts differ though both
// hosts have the same subnets.
func permuted(a, b map[string]netip.Prefix) (device string, ok bool) {
	if len(a) < 2 || len(a) != len(b) {
		return "", false
	}
	left, right := slices.Collect(maps.Values(a)), slices.Collect(maps.Values(b))
	cmp := func(p, q netip.Prefix) int { return p.Addr().Compare(q.Addr()) }
	slices.SortFunc(left, cmp)
	slices.SortFunc(right, cmp)
	if !slices.Equal(left, right) {
		return "", false
	}
	for _, d := range sortedKeys(a) {
		if p, has := b[d]; has && p != a[d] {
			return d, true
		}
	}
	return "", false
}

// pathUnreachable: no answer, though the addresses in use are routable ones of
// RoCE v2.
func pathUnreachable(x *index, v *verdict) {
	for _, e := range x.any((*event).noAnswer) {
		c := claim{
			cause: "path-unreachable", severity: finding.Error, where: e.subject.String(), evidence: []finding.Evidence{e.quote()}, explains: []symptom{noAnswer},
			test: "ping -I LOCAL_IF REMOTE_ADDRESS; ip route get REMOTE_ADDRESS; ib_write_bw -x INDEX between the same two ports",
		}
		routable := e.local.IsValid() && e.remote.IsValid() && !linkLocal(e.local) && !linkLocal(e.remote)
		l, r, _ := crossing(x, e)
		switch {
		case routable && l == r && e.status != statusRetry:
			c.confidence = 0.6
			c.summary = sayf("Both ends use routable addresses of one subnet (%s, %s), and there is still no way between them: neighbour, VLAN, filter or switch.", "两端均为同一子网的可路由地址（%s、%s），仍不可达：检查邻居、VLAN、过滤或交换机。", e.local.Unmap(), e.remote.Unmap())
		case e.errno == errnoNoRoute:
			c.confidence = 0.55
			c.summary = say("The kernel has no route or no neighbour for the peer's address.", "内核没有到对端地址的路由或邻居。")
		case routable && l == r:
			c.confidence = 0.45
			c.summary = sayf("No answer between two routable addresses of one subnet (%s, %s).", "同一子网的两个可路由地址（%s、%s）之间无应答。", e.local.Unmap(), e.remote.Unmap())
		default:
			continue
		}
		v.claim(c)
	}
	if len(x.any((*event).noAnswer)) > 0 {
		v.lack("path-loss", noAnswer, "whether packets get lost: counters of both ends twice while it fails", "是否丢包：失败期间两端计数的两次读取", "rdma statistic; ethtool -S IF; sleep 30; rdma statistic; ethtool -S IF")
		v.lack("link-down-flap", noAnswer, "whether a link went down at that moment", "当时链路是否中断", "dmesg -T | grep -iE 'link (is )?(down|up)'; ethtool -S IF | grep link_down_events")
	}
}

// curedBy: the setting that made it work tells the cause.
func curedBy(x *index, v *verdict) {
	for _, c := range cures {
		for _, f := range x.under(saidCured + c.variable) {
			if f.Key != saidCured+c.variable || c.value != "" && !strings.EqualFold(f.Value.String(), c.value) {
				continue
			}
			v.claim(claim{
				cause: c.cause, confidence: c.confidence, severity: finding.Error, where: places(f),
				evidence: []finding.Evidence{seen(f, "stated: %s=%s makes it work", c.variable, f.Value)},
				summary:  sayf("It works with %s=%s: that setting takes away exactly this cause.", "设置 %s=%s 后正常：该设置正好消除这一原因。", c.variable, f.Value),
				explains: []symptom{noAnswer, noEntry, access, slow, hang, gdrOff},
				fix:      []cause.Fix{repair("export "+c.variable+"="+f.Value.String(), "Keep the setting until the cause itself is repaired.", "在根因修复前保留该设置。")},
			})
		}
	}
}

// cures: what a setting that helps proves.
var cures = [...]struct {
	variable, value, cause string
	confidence             float64
}{
	{"UCX_RC_ECE", "0", "ece-cc-mismatch", 0.9},
	{"UCX_RC_MLX5_ECE", "0", "ece-cc-mismatch", 0.9},
	{"NCCL_IB_ECE_ENABLE", "0", "ece-cc-mismatch", 0.9},
	{"NCCL_IB_GID_INDEX", "", "gid-index-wrong", 0.85},
	{"UCX_IB_GID_INDEX", "", "gid-index-wrong", 0.85},
	{"NCCL_IB_HCA", "", "ib-hca-selection-wrong", 0.8},
	{"UCX_NET_DEVICES", "", "ib-hca-selection-wrong", 0.8},
	{"NCCL_NET_DISABLE_INTRA", "1", "same-subnet-multi-nic", 0.6},
	{"NCCL_NET_GDR_LEVEL", "0", "acs-enabled", 0.6},
	{"NCCL_NET_GDR_LEVEL", "LOC", "acs-enabled", 0.6},
	{"NCCL_NET_GDR_READ", "0", "acs-enabled", 0.5},
	{"NCCL_IB_PCI_RELAXED_ORDERING", "", "pcie-relaxed-ordering", 0.85},
	{"UCX_IB_PCI_RELAXED_ORDERING", "", "pcie-relaxed-ordering", 0.85},
	{"NCCL_IB_QPS_PER_CONNECTION", "", "lag-single-qp", 0.7},
	{"UCX_IB_NUM_PATHS", "", "lag-single-qp", 0.7},
	{"NCCL_IB_TC", "", "roce-in-default-priority", 0.8},
	{"NCCL_NET_PLUGIN", "", "nccl-plugin-mismatch", 0.75},
	{"NCCL_CROSS_NIC", "0", "rail-mismatch", 0.75},
	{"NCCL_IB_MERGE_NICS", "0", "port-merge-wrong", 0.85},
	{"NCCL_IB_MERGE_VFS", "0", "port-merge-wrong", 0.85},
	{"NCCL_IB_ROCE_VERSION_NUM", "", "roce-version-mismatch", 0.75},
	{"NCCL_PXN_DISABLE", "1", "nccl-tuning", 0.7},
	{"NCCL_ALGO", "", "nccl-tuning", 0.65},
	{"NCCL_PROTO", "", "nccl-tuning", 0.65},
	{"NCCL_MIN_NCHANNELS", "", "nccl-tuning", 0.7},
	{"NCCL_BUFFSIZE", "", "nccl-tuning", 0.65},
}

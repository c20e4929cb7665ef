package diagnosis

import (
	"slices"
	"strings"

	"weir/internal/cause"
	"weir/internal/fact"
	"weir/internal/finding"
)

// An hcaList is what NCCL_IB_HCA asks for on a host.
type hcaList struct {
	names          []string // with an optional :port
	exact, exclude bool
	fact           *fact.Fact
}

func (x *index) hcaLists() []hcaList { return x.lists }

func (x *index) findLists() []hcaList {
	var out []hcaList
	for _, f := range once(x.all("nccl.env.NCCL_IB_HCA")) {
		value := f.Value.String()
		l := hcaList{fact: f}
		value, l.exclude = strings.CutPrefix(value, "^")
		value, l.exact = strings.CutPrefix(value, "=")
		l.names = strings.FieldsFunc(value, func(c rune) bool { return c == ',' || c == ' ' })
		out = append(out, l)
	}
	return out
}

// asks reports whether the list names the device itself, and whether it takes
// it by prefix.
func (l *hcaList) asks(device string) (named, byPrefix bool) {
	for _, n := range l.names {
		n = deviceName(n)
		if n == device {
			named = true
		}
		if !l.exact && n != device && strings.HasPrefix(device, n) {
			byPrefix = true
		}
	}
	return named, byPrefix
}

// usedDevices returns the RDMA devices that a job uses, with the fact that says so.
func (x *index) usedDevices() map[fact.Subject]*fact.Fact { return x.used }

func (x *index) findUsed() map[fact.Subject]*fact.Fact {
	out := map[fact.Subject]*fact.Fact{}
	for _, f := range x.networkDevices() {
		if len(x.under("nccl.layer.")) == 0 {
			break // a list of sockets
		}
		for _, d := range f.Value.List() {
			for _, one := range strings.Split(d, "+") {
				out[fact.Subject{Kind: fact.NIC, Host: f.Subject.Host, Name: deviceName(one)}] = f
			}
		}
	}
	for _, l := range x.hcaLists() {
		if l.exclude {
			continue
		}
		for _, n := range l.names {
			s := fact.Subject{Kind: fact.NIC, Host: l.fact.Subject.Host, Name: deviceName(n)}
			if out[s] == nil {
				out[s] = l.fact
			}
		}
	}
	return out
}

// hcaPrefix: a device is used that the list does not name but matches as prefix.
func hcaPrefix(x *index, v *verdict) {
	for _, l := range x.hcaLists() {
		for _, f := range x.networkDevices() {
			if !sameHost(l.fact.Subject, f.Subject) {
				continue
			}
			var extra []string
			for _, d := range f.Value.List() {
				if named, prefix := l.asks(deviceName(d)); prefix && !named {
					extra = append(extra, deviceName(d))
				}
			}
			if len(extra) == 0 {
				continue
			}
			v.claim(hcaClaim(x, prefixClaim(l, f, extra), l))
		}
	}
}

func prefixClaim(l hcaList, f *fact.Fact, extra []string) claim {
	if l.exclude { // names that the list meant to leave out are not here; those matched by prefix are not either
		return claim{}
	}
	return claim{
		confidence: 0.88, severity: finding.Warning, where: places(f), evidence: quotes(l.fact, f),
		summary: sayf("%s is in use although NCCL_IB_HCA does not list it: names match as prefixes, so that mlx5_1 also takes mlx5_10.", "%s 被使用，但 NCCL_IB_HCA 并未列出：名称按前缀匹配，mlx5_1 也会匹配 mlx5_10。", strings.Join(extra, ", ")),
		fix:     []cause.Fix{repair("export NCCL_IB_HCA=="+strings.Join(l.names, ","), "Put a = in front of the list: names then match exactly.", "在列表前加 =，名称即精确匹配。")},
		test:    "NCCL_DEBUG=INFO JOB 2>&1 | grep 'NET/IB : Using', with a leading = in NCCL_IB_HCA",
	}
}

func hcaClaim(x *index, c claim, _ hcaList) claim {
	if c.confidence == 0 {
		return c
	}
	c.cause = "ib-hca-selection-wrong"
	c.explains = append(c.explains, noAnswer, noEntry)
	if e := x.any(func(e *event) bool { return e.noAnswer() || e.noEntry() }); len(e) > 0 {
		c.confidence = min(c.confidence+0.07, 0.95)
		c.severity = finding.Error
		c.evidence = append(c.evidence, quoteEvents(e)...)
	}
	return c
}

// hcaLayers: InfiniBand and Ethernet ports in one list.
func hcaLayers(x *index, v *verdict) {
	hosts, groups := byHost(x.under("nccl.layer."))
	for _, h := range hosts {
		kinds := map[string]*fact.Fact{}
		devices := map[string][]string{}
		for _, f := range groups[h] {
			k := f.Value.String()
			kinds[k] = f
			if d := strings.TrimPrefix(f.Key, "nccl.layer."); !slices.Contains(devices[k], d) {
				devices[k] = append(devices[k], d)
			}
		}
		if len(devices["RoCE"]) == 0 || len(devices["IB"]) == 0 {
			continue
		}
		c := claim{
			confidence: 0.85, severity: finding.Error, where: places(kinds["RoCE"]), evidence: quotes(kinds["RoCE"], kinds["IB"]),
			summary: sayf("The list mixes link layers: %s on Ethernet (RoCE), %s on InfiniBand. A queue pair cannot join the two.", "设备列表混用链路层：%s 为以太网（RoCE），%s 为 InfiniBand。二者之间无法建立队列对。",
				strings.Join(devices["RoCE"], ", "), strings.Join(devices["IB"], ", ")),
			fix: []cause.Fix{repair("export NCCL_IB_HCA=="+strings.Join(devices["IB"], ",")+"   # or ="+strings.Join(devices["RoCE"], ","), "List the ports of one kind only.", "只列出同一类端口。")},
		}
		v.claim(hcaClaim(x, c, hcaList{}))
	}
}

// hcaDown: a port in use is down, or a listed device does not exist.
func hcaDown(x *index, v *verdict) {
	for _, key := range []string{"rdma.state", "link.state"} {
		for _, f := range x.all(key) {
			down := strings.EqualFold(f.Value.String(), "down") || strings.EqualFold(f.Value.String(), "INIT")
			if by := x.usedAs(f.Subject); down && by != nil {
				v.claim(hcaClaim(x, claim{
					confidence: 0.85, severity: finding.Error, where: places(f), evidence: quotes(f, by),
					summary: sayf("%s is in the list of devices, and its port is down.", "%s 在设备列表中，但其端口为 down。", f.Subject.Name),
				}, hcaList{}))
			}
		}
	}
	for _, l := range x.hcaLists() {
		for _, f := range x.networkDevices() {
			if l.exclude || !sameHost(l.fact.Subject, f.Subject) || len(x.under("nccl.layer.")) == 0 {
				continue
			}
			if lost := unusedNames(&l, f); len(lost) > 0 {
				v.claim(hcaClaim(x, claim{
					confidence: 0.7, severity: finding.Warning, where: places(f), evidence: quotes(l.fact, f),
					summary: sayf("NCCL_IB_HCA lists %s, and the library does not use it: the port is down, or no device here has that name.", "NCCL_IB_HCA 列出了 %s，但库未使用：端口为 down，或此处没有该名称的设备。", strings.Join(lost, ", ")),
				}, hcaList{}))
			}
		}
	}
}

// unusedNames returns the names of a list that take no device in use.
func unusedNames(l *hcaList, f *fact.Fact) []string {
	var lost []string
	for _, n := range l.names {
		one := hcaList{names: []string{n}, exact: l.exact}
		if !slices.ContainsFunc(f.Value.List(), func(d string) bool {
			return slices.ContainsFunc(strings.Split(d, "+"), func(part string) bool {
				named, prefix := one.asks(deviceName(part))
				return named || prefix
			})
		}) {
			lost = append(lost, deviceName(n))
		}
	}
	return lost
}

// usedAs returns the fact that says that a job uses the device.
func (x *index) usedAs(s fact.Subject) *fact.Fact {
	for _, u := range x.usedNames[s.Name] {
		if s.Name != "" && sameHost(u, s) {
			return x.used[u]
		}
	}
	return nil
}

// hcaNoEntry: the call fails with "no such device", nothing is known of the
// GID table, and the library chose the device by itself.
func hcaNoEntry(x *index, v *verdict) {
	failing := x.any(func(e *event) bool { return e.modifyQP() && e.errno == errnoNoDevice })
	if len(failing) == 0 || slices.ContainsFunc(x.tables, func(t gidTable) bool { return t.count != nil }) {
		return
	}
	var device *fact.Fact
	for _, f := range x.networkDevices() {
		if sameHost(f.Subject, failing[0].subject) {
			device = f
		}
	}
	c := claim{
		cause: "ib-hca-selection-wrong", confidence: 0.55, severity: finding.Error, where: failing[0].subject.String(),
		evidence: append(quoteEvents(failing), quotes(device)...), explains: []symptom{noEntry},
		summary: say("The device that was chosen is visible but not usable here: \"No such device\" means that the GID it was told to use belongs to no network interface of this namespace. Exclude the device, or give the container its interface.",
			"所选设备可见但在此不可用：“No such device” 表示所用 GID 在该命名空间中不属于任何网络接口。请排除该设备，或把其接口加入容器。"),
		test: "show_gids (inside the container)",
	}
	if d := deviceOf(device); d != "" {
		c.fix = append(c.fix, repair("export NCCL_IB_HCA=^"+d, "Stop-gap: leave the device out (the job then may run over TCP); better: give the container its interface.", "临时措施：排除该设备（作业可能退回 TCP）；更好的做法是把其接口加入容器。"))
	}
	if len(x.hcaLists()) > 0 {
		c.confidence = 0.45
	}
	v.claim(c)
	c.cause, c.confidence, c.fix, c.summary = "gid-table-empty", 0.5, nil,
		say("\"No such device\" from modify_qp: the GID at the index in use belongs to no interface of this namespace: the table is empty or has a hole there.", "modify_qp 返回 “No such device”：所用索引处的 GID 不属于该命名空间的任何接口，表为空或此处有空洞。")
	v.claim(c)
}

func deviceOf(f *fact.Fact) string {
	if f == nil || len(f.Value.List()) != 1 {
		return ""
	}
	return deviceName(f.Value.List()[0])
}

// hcaAddresses: of several devices in use, some have no address that the
// fabric could reach.
func hcaAddresses(x *index, v *verdict) {
	used := x.usedDevices()
	if len(used) < 2 {
		return
	}
	netdev := map[fact.Subject]string{}
	for _, f := range x.all("rdma.netdev") {
		netdev[f.Subject] = f.Value.String()
	}
	var bad, fine []*fact.Fact
	routable := map[fact.Subject]bool{}
	for _, f := range x.all("link.address") {
		if a := parseAddr(f); a.IsValid() && !linkLocal(a) {
			routable[f.Subject] = true
		}
	}
	for _, f := range x.all("link.address") {
		a := parseAddr(f)
		if x.usedAs(f.Subject) == nil && !x.netdevUsed(netdev, f.Subject) {
			continue
		}
		switch {
		case routable[f.Subject] && !linkLocal(a):
			fine = append(fine, f)
		case a.Is4() && linkLocal(a) && !routable[f.Subject]:
			bad = append(bad, f)
		}
	}
	if len(bad) == 0 || len(fine) == 0 {
		return
	}
	names := map[string]bool{}
	for _, f := range fine {
		names[f.Subject.Name] = true
	}
	c := claim{
		confidence: 0.8, severity: finding.Warning, where: places(bad...), evidence: quotes(append(bad[:min(len(bad), 3)], fine[:min(len(fine), 3)]...)...),
		summary: sayf("%s is in the list of devices but has only an address that it gave itself: it is not on the network of the others. Devices are paired by position, so that ports of different networks get joined.",
			"%s 在设备列表中，但只有自动配置地址：它不在其他设备所在的网络上。设备按位置配对，会把不同网络的端口连在一起。", places(bad...)),
		fix: []cause.Fix{repair("export NCCL_IB_HCA=="+strings.Join(sortedKeys(names), ","), "List only ports with an address of the cluster's network, equal on all nodes.", "只列出具有集群网络地址的端口，且各节点一致。")},
	}
	for _, f := range used {
		c.evidence = append(c.evidence, quote(f))
		break
	}
	v.claim(hcaClaim(x, c, hcaList{}))
}

// netdevUsed reports that an interface belongs to a device in use.
func (x *index) netdevUsed(netdev map[fact.Subject]string, s fact.Subject) bool {
	for dev, name := range netdev {
		if name == s.Name && sameHost(dev, s) && x.usedAs(dev) != nil {
			return true
		}
	}
	return false
}

// hcaSpeeds: a device in use is far slower than the rest: a storage or
// management port.
func hcaSpeeds(x *index, v *verdict) {
	hosts, groups := byHost(slices.Concat(x.all("rdma.rate"), x.all("link.speed")))
	for _, h := range hosts {
		var slowest, fastest *fact.Fact
		for _, f := range groups[h] {
			if f.Subject.Kind != fact.NIC || whole(f) == 0 || x.usedAs(f.Subject) == nil {
				continue
			}
			if slowest == nil || whole(f) < whole(slowest) {
				slowest = f
			}
			if fastest == nil || whole(f) > whole(fastest) {
				fastest = f
			}
		}
		if slowest == nil || whole(slowest)*3 > whole(fastest) {
			continue
		}
		v.claim(hcaClaim(x, claim{
			confidence: 0.65, severity: finding.Warning, where: places(slowest), evidence: quotes(slowest, fastest, x.usedAs(slowest.Subject)), explains: []symptom{slow},
			summary: sayf("%s is in use and far slower than %s: it is probably a storage or management port.", "%s 被使用，但速率远低于 %s：很可能是存储口或管理口。", slowest.Subject.Name, fastest.Subject.Name),
		}, hcaList{}))
	}
}

// portMerge: NICs merged into one device whose parts differ in speed or host place.
func portMerge(x *index, v *verdict) {
	for _, f := range x.networkDevices() {
		for _, d := range f.Value.List() {
			parts := strings.Split(d, "+")
			if len(parts) < 2 {
				continue
			}
			var rates []*fact.Fact
			for _, p := range parts {
				for _, r := range slices.Concat(x.all("rdma.rate"), x.all("link.speed")) {
					if r.Subject.Name == deviceName(p) && sameHost(r.Subject, f.Subject) {
						rates = append(rates, r)
						break
					}
				}
			}
			differ := slices.ContainsFunc(rates, func(r *fact.Fact) bool { return whole(r) != whole(rates[0]) })
			if differ || len(parts) > 2 {
				v.claim(claim{
					cause: "port-merge-wrong", confidence: map[bool]float64{true: 0.8, false: 0.5}[differ], severity: finding.Warning, where: places(f), evidence: append(quotes(f), quotes(rates...)...), explains: []symptom{slow, noAnswer},
					summary: sayf("The library merged %s into one NIC, and they are not two ports of one card: traffic is split as if they were alike.", "库把 %s 合并为一块网卡，但它们并非同一卡的两个端口：流量按等同端口拆分。", strings.Join(parts, ", ")),
				})
			}
		}
	}
}

package diagnosis

import (
	"fmt"
	"slices"

	"weir/internal/cause"
	"weir/internal/fact"
	"weir/internal/finding"
)

const gidCommand = "show_gids (on both hosts, inside the container if there is one); env | grep GID_INDEX"

// gidIndexWrong: the entry that a setting pins, or that a log shows in use, is
// link-local or of RoCE version 1 while a better one exists.
func gidIndexWrong(x *index, v *verdict) {
	failing := x.any(func(e *event) bool { return e.noAnswer() || e.noEntry() })
	for _, p := range x.pins() {
		for _, t := range x.tablesFor(p) {
			if e := t.at(p.index); e != nil && e.addr.IsValid() {
				pinnedEntry(v, p, t, e, failing)
			}
		}
	}
	linkLocalInUse(x, v, failing)
	mixedFamilies(x, v)
	if unanswered := x.any((*event).noAnswer); len(unanswered) > 0 {
		v.lack("gid-index-wrong", noAnswer, "which GID each side uses, and what its GID table holds", "两端所用的 GID 及其 GID 表", gidCommand)
		if !x.has("nccl.network_devices") {
			v.lack("path-unreachable", noAnswer, "which devices and addresses the failing pair uses: the full log of one rank of each side", "失败的两端使用哪些设备与地址：两侧各一个 rank 的完整日志", "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV JOB")
		}
	}
}

func pinnedEntry(v *verdict, p pin, t *gidTable, e *gidEntry, failing []*event) {
	best := t.best()
	local, old := linkLocal(e.addr), e.version == "v1"
	if !local && !old || !e.addr.IsValid() || e.addr.IsUnspecified() {
		return
	}
	c := claim{
		cause: "gid-index-wrong", confidence: 0.85, severity: finding.Warning, where: places(e.fact),
		evidence: append(quotes(p.fact), seen(e.fact, "%s", e)), explains: []symptom{noAnswer, noEntry},
	}
	switch {
	case local:
		c.summary = sayf("GID index %d is in use, and its entry is the link-local address %s: it reaches no host behind a router, and often none at all.",
			"正在使用 GID 索引 %d，其条目是链路本地地址 %s：无法经路由到达对端，往往完全不通。", p.index, e.addr.Unmap())
	default:
		c.summary = sayf("GID index %d is in use, and its entry (%s) is RoCE version 1: it cannot be routed, and a peer with version 2 does not answer it.",
			"正在使用 GID 索引 %d，其条目（%s）是 RoCE v1：不可路由，使用 v2 的对端不会应答。", p.index, e.addr.Unmap())
		c.confidence = 0.75
	}
	if best != nil {
		c.evidence = append(c.evidence, seen(best.fact, "%s", best))
		c.fix = append(c.fix, cause.Fix{Disruption: "none", Command: fmt.Sprintf("export %s=%d", variableOf(p), best.index), Text: sayf(
			"Use index %d (%s, RoCE v2), or leave the choice to the library.", "使用索引 %d（%s，RoCE v2），或让库自动选择。", best.index, best.addr.Unmap())})
		c.test = fmt.Sprintf("ib_write_bw -d %s -x %d HOST", nameOr(t.nic.Name, "DEV"), best.index)
	} else if local {
		c.summary.En += " The table has no routable entry: the interface needs an address."
		c.summary.Zh += " 表中没有可路由的条目：需要为接口配置地址。"
	}
	if len(failing) > 0 {
		c.confidence += 0.1
		c.severity = finding.Error
		c.evidence = append(c.evidence, quoteEvents(failing)...)
	}
	v.claim(c)
}

// variableOf names the setting that a pin came from.
func variableOf(p pin) string {
	for _, name := range pinVariables {
		if p.fact.Key == "nccl.env."+name || p.fact.Key == "env."+name {
			return name
		}
	}
	return "NCCL_IB_GID_INDEX"
}

func nameOr(name, other string) string {
	if name == "" {
		return other
	}
	return name
}

// linkLocalInUse: a log or test shows a link-local GID on a queue pair that fails.
func linkLocalInUse(x *index, v *verdict, failing []*event) {
	var shown []*fact.Fact
	for _, key := range []string{"nccl.qp.gid", "nccl.error.local_gid", "nccl.error.remote_gid", "perftest.local_gid", "perftest.remote_gid"} {
		for _, f := range x.all(key) {
			if linkLocal(parseAddr(f)) {
				shown = append(shown, f)
			}
		}
	}
	if len(shown) == 0 || len(failing) == 0 {
		return
	}
	c := claim{
		cause: "gid-index-wrong", confidence: 0.88, severity: finding.Error, where: places(shown...),
		evidence: append(quotes(shown[:min(len(shown), 4)]...), quoteEvents(failing)...), explains: []symptom{noAnswer, noEntry},
		summary: sayf("The connection that fails uses the link-local GID %s. Such an address works only between ports of one segment, so the peer does not answer.",
			"失败的连接使用链路本地 GID %s。此类地址仅在同一网段内有效，因此对端不应答。", parseAddr(shown[0]).Unmap()),
		test: "ib_write_bw -d DEV -x INDEX HOST, with the index of the RoCE v2 entry that holds the IPv4 address",
	}
	v.claim(c)
}

// mixedFamilies: one end uses an IPv4 GID and the other an IPv6 one.
func mixedFamilies(x *index, v *verdict) {
	for _, e := range x.any((*event).noAnswer) {
		if !e.local.IsValid() || !e.remote.IsValid() || linkLocal(e.local) || linkLocal(e.remote) || e.local.Unmap().Is4() == e.remote.Unmap().Is4() {
			continue
		}
		v.claim(claim{
			cause: "gid-index-wrong", confidence: 0.85, severity: finding.Error, where: e.subject.String(), evidence: []finding.Evidence{e.quote()}, explains: []symptom{noAnswer},
			summary: sayf("The two ends chose GIDs of different families: %s here, %s there. They cannot reach each other.", "两端选择了不同地址族的 GID：本端 %s，对端 %s，无法互通。", e.local.Unmap(), e.remote.Unmap()),
			fix:     []cause.Fix{repair("export NCCL_IB_ADDR_FAMILY=AF_INET NCCL_IB_ROCE_VERSION_NUM=2", "Let both sides choose by family and version.", "让两端都按地址族与版本选择。")},
		})
	}
}

// gidTableSparse: the index in use is not in the table that the process sees.
func gidTableSparse(x *index, v *verdict) {
	failing := x.any((*event).noEntry)
	for i := range x.tables {
		t := &x.tables[i]
		used := t.used()
		if len(used) == 0 || t.count == nil || !x.inUse(t.nic) {
			continue
		}
		pinned, missing := pinnedHoles(x, t)
		first := used[0]
		c := claim{cause: "gid-table-sparse", severity: finding.Warning, where: places(first.fact), explains: []symptom{noEntry, noAnswer}, evidence: []finding.Evidence{seen(first.fact, "the first entry: %s", first)}}
		switch {
		case missing != nil:
			c.confidence = 0.78
			if last := used[len(used)-1]; missing.index > first.index && missing.index < last.index {
				c.confidence = 0.65 // a hole among its neighbours: perhaps the listing lacks the row
			}
			v.lack("gid-table-sparse", noEntry, fmt.Sprintf("the whole GID table, with its row %d if there is one", missing.index), fmt.Sprintf("完整的 GID 表（若有第 %d 行则包括之）", missing.index), "show_gids (where the job runs); cat /sys/class/infiniband/DEV/ports/1/gids/"+fmt.Sprint(missing.index))
			c.evidence = append(c.evidence, quote(missing.fact))
			c.summary = sayf("GID index %d is set, but the table that this host or container sees has no entry there (it has %s).", "设置了 GID 索引 %d，但本机或容器看到的表中没有该条目（现有 %s）。", missing.index, indexes(used))
		case first.index > 0 && !pinned && (len(failing) > 0 || x.has(saidUnset+"NCCL_IB_GID_INDEX")):
			c.confidence = 0.8
			c.summary = sayf("The GID table starts at index %d here, as in containers that share a device: a library that reads index 0 (NCCL before 2.21 without NCCL_IB_GID_INDEX) finds nothing.",
				"此处 GID 表从索引 %d 开始（共享设备的容器常见）：读取索引 0 的库（未设 NCCL_IB_GID_INDEX 的 NCCL 2.21 之前版本）找不到条目。", first.index)
		case first.index > 0 && !pinned:
			v.lack("gid-table-sparse", setting, fmt.Sprintf("which GID index the job uses: the table here starts at %d", first.index), fmt.Sprintf("作业使用的 GID 索引：此处的表从 %d 开始", first.index), "env | grep GID_INDEX; NCCL_DEBUG=VERSION JOB")
			continue
		default:
			continue
		}
		if len(failing) > 0 {
			c.confidence, c.severity = c.confidence+0.12, finding.Error
			c.evidence = append(c.evidence, quoteEvents(failing)...)
		}
		if b := t.best(); b != nil {
			c.fix = append(c.fix, cause.Fix{Disruption: "none", Command: fmt.Sprintf("export NCCL_IB_GID_INDEX=%d", b.index), Text: say("Use the RoCE v2 entry of this container's address.", "使用本容器地址对应的 RoCE v2 条目。")})
		}
		v.claim(c)
	}
	if len(failing) > 0 {
		v.lack("gid-table-sparse", noEntry, "the GID table as the failing process sees it", "失败进程所见的 GID 表", "show_gids (inside the container) or grep . /sys/class/infiniband/DEV/ports/1/gids/* /sys/class/infiniband/DEV/ports/1/gid_attrs/types/*")
	}
}

// lateTable: a person says that the table starts late, and the index in use is
// before that.
func lateTable(x *index, v *verdict) {
	for _, f := range x.all(saidFirstGID) {
		if whole(f) == 0 || len(x.tables) > 0 {
			continue
		}
		c := claim{
			cause: "gid-table-sparse", confidence: 0.7, severity: finding.Warning, where: places(f), evidence: quotes(f), explains: []symptom{noEntry, noAnswer},
			summary: sayf("The GID table starts at index %d here, as in containers that share a device, and the job reads an index before that.", "此处 GID 表从索引 %d 开始（共享设备的容器常见），而作业读取了更小的索引。", whole(f)),
		}
		for _, p := range x.pins() {
			if p.index >= int(whole(f)) {
				return
			}
			c.evidence = append(c.evidence, quote(p.fact))
			c.confidence = 0.75
		}
		if failing := x.any((*event).noEntry); len(failing) > 0 {
			c.severity = finding.Error
			c.evidence = append(c.evidence, quoteEvents(failing)...)
		}
		v.claim(c)
	}
}

// pinnedHoles reports whether any index is set for a table, and one that the
// table lacks.
func pinnedHoles(x *index, t *gidTable) (pinned bool, missing *pin) {
	pins := x.pins()
	if t.nic.Host != "" {
		pins = slices.Concat(x.pinsOf[t.nic.Host], x.pinsOf[""])
	}
	for _, p := range pins {
		if !sameName(p.device, t.nic.Name) {
			continue
		}
		pinned = true
		if e := t.at(p.index); e == nil || e.addr.IsUnspecified() {
			missing = &p
		}
	}
	return pinned, missing
}

func indexes(entries []*gidEntry) string {
	s := ""
	for i, e := range entries {
		if i == 8 {
			return s + " ..."
		}
		if i > 0 {
			s += ", "
		}
		s += fmt.Sprint(e.index)
	}
	return s
}

// gidTableEmpty: no GID at all on an Ethernet port.
func gidTableEmpty(x *index, v *verdict) {
	failing := x.any(func(e *event) bool { return e.noEntry() || e.noAnswer() || e.modifyQP() })
	for _, f := range x.all("perftest.local_gid") {
		layer := text(x.about(f.Subject, "perftest.link_type"))
		if !parseAddr(f).IsUnspecified() || layer == "IB" && !boolOf(x.about(f.Subject, "perftest.link_type_forced")) {
			continue
		}
		dev := x.about(f.Subject, "perftest.device")
		c := claim{
			cause: "gid-table-empty", confidence: 0.9, severity: finding.Error, where: nameOr(text(dev), places(f)), explains: []symptom{noEntry, noAnswer},
			evidence: append(quotes(f, x.about(f.Subject, "perftest.remote_gid"), x.about(f.Subject, "perftest.link_type"), dev), quoteEvents(failing)...),
			summary: say("The port is Ethernet and its GID is all zero: no network interface with an address belongs to the RDMA device in this namespace. RoCE needs one.",
				"端口为以太网，而 GID 全为零：在该命名空间中，没有带地址的网络接口属于此 RDMA 设备。RoCE 需要它。"),
		}
		if len(failing) > 0 {
			c.confidence = 0.95
		}
		v.claim(c)
	}
	for i := range x.tables {
		t := &x.tables[i]
		if t.count == nil || len(t.used()) > 0 || text(x.about(t.nic, "rdma.layer")) == "InfiniBand" {
			continue
		}
		v.claim(claim{
			cause: "gid-table-empty", confidence: 0.85, severity: finding.Error, where: places(t.count), explains: []symptom{noEntry, noAnswer},
			evidence: append(quotes(t.count), quoteEvents(failing)...),
			summary:  say("The GID table has no entry: no network interface with an address belongs to the RDMA device here.", "GID 表为空：此处没有带地址的网络接口属于该 RDMA 设备。"),
		})
	}
}

func boolOf(f *fact.Fact) bool {
	if f == nil {
		return false
	}
	b, _ := f.Value.Bool()
	return b
}

// gidIndexMoved: two readings of one NIC hold the same address and version at
// different indexes.
func gidIndexMoved(x *index, v *verdict) {
	for i := range x.tables {
		for j := range x.tables[:i] {
			a, b := &x.tables[j], &x.tables[i]
			if a.nic != b.nic || a.nic.Name == "" || !a.known() || !b.known() {
				continue
			}
			if from, to := movedEntry(a, b); from != nil {
				c := claim{
					cause: "gid-index-moved", confidence: 0.85, severity: finding.Warning, where: places(from.fact), explains: []symptom{noAnswer, noEntry},
					evidence: []finding.Evidence{seen(from.fact, "%s", from), seen(to.fact, "%s", to)},
					summary: sayf("The RoCE v2 entry of %s stands at index %d in one reading and at %d in another: a pinned or cached index goes stale when the table is laid anew.",
						"%s 的 RoCE v2 条目在一次读取中位于索引 %d，在另一次位于 %d：表重排后，固定或缓存的索引即失效。", from.addr.Unmap(), from.index, to.index),
				}
				for _, p := range x.pins() {
					if sameHost(p.host, a.nic) {
						c.confidence, c.severity = 0.92, finding.Error
						c.evidence = append(c.evidence, quote(p.fact))
						break
					}
				}
				v.claim(c)
			}
		}
	}
	flapped(x, v)
}

func movedEntry(a, b *gidTable) (from, to *gidEntry) {
	for _, e := range a.used() {
		for _, o := range b.used() {
			if e.routable() && e.addr == o.addr && e.version == o.version && e.version != "v1" && e.index != o.index {
				return e, o
			}
		}
	}
	return nil, nil
}

// flapped: a pinned index is wrong on a host whose link went down: the table
// was laid anew there.
func flapped(x *index, v *verdict) {
	var down []*fact.Fact
	for _, f := range x.all("kernel.event") {
		if f.Value.String() == "link_down" {
			down = append(down, f)
		}
	}
	for _, p := range x.pins() {
		for _, t := range x.tablesFor(p) {
			e, best := t.at(p.index), t.best()
			i := slices.IndexFunc(down, func(f *fact.Fact) bool { return sameHost(f.Subject, t.nic) })
			if i < 0 || best == nil || t.count == nil || e != nil && e.routable() && e.version != "v1" {
				continue
			}
			v.claim(claim{
				cause: "gid-index-moved", confidence: 0.7, severity: finding.Error, where: places(t.count), explains: []symptom{noAnswer, noEntry},
				evidence: append(quotes(p.fact, down[i]), seen(best.fact, "%s", best)),
				summary:  sayf("Index %d is pinned, the link went down and came back, and the RoCE v2 entry now stands at index %d.", "固定了索引 %d，链路曾中断后恢复，RoCE v2 条目现位于索引 %d。", p.index, best.index),
			})
		}
	}
}

// roceVersion: one side uses RoCE v1, the other v2.
func roceVersion(x *index, v *verdict) {
	modes := map[string]*fact.Fact{}
	for _, f := range x.all("roce.cma.mode") {
		modes[f.Value.String()] = f
	}
	if len(modes) > 1 {
		v.claim(versionClaim(0.8, modes, "the connection manager prefers different RoCE versions", "连接管理器在不同主机上使用不同的 RoCE 版本"))
	}
	for _, p := range x.pins() {
		versions := map[string]*fact.Fact{}
		for _, t := range x.tablesFor(p) {
			if e := t.at(p.index); e != nil && e.version != "" && e.routable() {
				versions[e.version] = x.gidVersionFact(t, e)
			}
		}
		if len(versions) > 1 {
			v.claim(versionClaim(0.88, versions, fmt.Sprintf("index %d is RoCE v1 on one side and v2 on the other", p.index), fmt.Sprintf("索引 %d 在一端为 RoCE v1，在另一端为 v2", p.index)))
		}
	}
	numbers := map[string]*fact.Fact{}
	for _, f := range x.env("NCCL_IB_ROCE_VERSION_NUM") {
		numbers[f.Value.String()] = f
	}
	if len(numbers) > 1 {
		v.claim(versionClaim(0.88, numbers, "NCCL_IB_ROCE_VERSION_NUM differs between hosts", "NCCL_IB_ROCE_VERSION_NUM 在主机之间不一致"))
	}
}

func (x *index) gidVersionFact(t *gidTable, e *gidEntry) *fact.Fact {
	if f := x.about(t.nic, fmt.Sprintf("gid.%d.version", e.index)); f != nil && f.Origin.Source == t.source {
		return f
	}
	return e.fact
}

func versionClaim(confidence float64, seen map[string]*fact.Fact, en, zh string) claim {
	var facts []*fact.Fact
	for _, k := range sortedKeys(seen) {
		facts = append(facts, seen[k])
	}
	return claim{
		cause: "roce-version-mismatch", confidence: confidence, severity: finding.Error, where: places(facts...), evidence: quotes(facts...), explains: []symptom{noAnswer, noEntry},
		summary: say("The two sides speak different RoCE versions: "+en+". Version 1 is an Ethernet type of its own, version 2 runs in UDP; neither understands the other.",
			"两端使用不同的 RoCE 版本："+zh+"。v1 为独立的以太网类型，v2 承载于 UDP，互不相通。"),
	}
}

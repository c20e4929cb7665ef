package diagnosis

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/finding"
)

const (
	toolTopologyFile = "NCCL topology file" // its parser's name
	// A link of PCIe 1.0 with one lane carries 0.25 GB/s: no GPU or network
	// card of this field has one.
	slowestRealSpeed = 2.5
)

// laneGbit is what a PCIe lane carries for data, in Gb/s, by GT/s: 8b/10b up
// to 5, 128b/130b up to 32, and flits of 242 bytes in 256 at 64 (PCIe base
// specification).
func laneGbit(gts float64) float64 {
	switch {
	case gts <= 5:
		return gts * 0.8
	case gts <= 32:
		return gts * 128 / 130
	}
	return gts * 242 / 256
}

// pcieLinks: a slot that runs below what the card can, or cannot carry what
// the port can.
func pcieLinks(x *index, v *verdict) {
	for _, f := range slices.Concat(x.all("pcie.speed"), x.all("pcie.width")) {
		if f.Origin.Tool == toolTopologyFile {
			continue
		}
		limit := x.about(f.Subject, strings.Replace(f.Key, "pcie.", "pcie.max_", 1))
		if limit == nil || number(limit) <= number(f) || number(f) == 0 {
			continue
		}
		name := strings.ToLower(text(x.about(f.Subject, "pcie.name")))
		idle := f.Key == "pcie.speed" && !strings.Contains(name, "ethernet") && !strings.Contains(name, "infiniband") && f.Subject.Kind != fact.NIC
		c := claim{
			cause: "pcie-degraded", confidence: 0.85, severity: finding.Warning, where: places(f), evidence: quotes(f, limit, x.about(f.Subject, "pcie.name")), explains: []symptom{slow, paused},
			summary: sayf("%s runs at %s %s and is capable of %s: the slot, the riser or the seating limits it.", "%s 以 %s %s 运行，而其能力为 %s：插槽、转接卡或接触不良限制了它。", f.Subject, number1(f), f.Key[len("pcie."):], number1(limit)),
		}
		switch {
		case idle && !strings.Contains(name, "bridge"):
			continue // GPUs lower the speed of their link while idle
		case strings.Contains(name, "bridge"), name == "" && f.Subject.Kind == fact.PCI && f.Key == "pcie.speed":
			c.confidence, c.severity = 0.4, finding.Info // a port may serve a slower card
		}
		v.claim(c)
	}
	for _, f := range x.all("pcie.bandwidth") {
		if limit := x.about(f.Subject, "pcie.max_bandwidth"); limit != nil && whole(limit) > whole(f) {
			v.claim(claim{
				cause: "pcie-degraded", confidence: 0.88, severity: finding.Warning, where: places(f), evidence: quotes(f, limit, x.about(f.Subject, "pcie.limited_by")), explains: []symptom{slow, paused},
				summary: sayf("The kernel says that %s gets %s Gb/s of PCIe and is capable of %s: a link above it is narrower or slower.", "内核报告 %s 只有 %s Gb/s 的 PCIe 带宽，而其能力为 %s：上游某段链路更窄或更慢。", f.Subject, gbit(number(f)), gbit(number(limit))),
			})
		}
	}
	for _, f := range x.all("pcie.slot_power") {
		v.claim(claim{
			cause: "pcie-degraded", confidence: 0.5, severity: finding.Warning, where: places(f), evidence: quotes(f), explains: []symptom{slow},
			summary: sayf("The slot offers %s W, which the card calls too little: it may throttle.", "插槽仅提供 %s W，网卡认为不足，可能降速。", number1(f)),
		})
	}
	pcieBottleneck(x, v)
}

func number1(f *fact.Fact) string { return strconv.FormatFloat(number(f), 'g', 4, 64) }

func gbit(bits float64) string { return strconv.FormatFloat(bits/1e9, 'f', 1, 64) }

// pcieBottleneck: a healthy slot that carries less than the port.
func pcieBottleneck(x *index, v *verdict) {
	for _, f := range slices.Concat(x.all("link.speed"), x.all("rdma.rate")) {
		if f.Subject.Kind != fact.NIC || f.Subject.Name == "" || f.Origin.Tool == toolTopologyFile {
			continue
		}
		speed, width := x.about(f.Subject, "pcie.speed"), x.about(f.Subject, "pcie.width")
		if speed == nil || width == nil || degraded(x, speed) || degraded(x, width) {
			continue
		}
		room := laneGbit(number(speed)) * number(width) * 1e9
		if room >= number(f) {
			continue
		}
		v.claim(claim{
			cause: "pcie-bottleneck", confidence: 0.85, severity: finding.Warning, where: places(f), evidence: quotes(f, speed, width), explains: []symptom{slow, paused},
			summary: sayf("The slot of %s carries %s Gb/s and the port %s Gb/s: PCIe is the limit.", "%s 的插槽只能承载 %s Gb/s，而端口为 %s Gb/s：PCIe 是瓶颈。", f.Subject, gbit(room), gbit(number(f))),
		})
	}
}

func degraded(x *index, f *fact.Fact) bool {
	limit := x.about(f.Subject, strings.Replace(f.Key, "pcie.", "pcie.max_", 1))
	return limit != nil && number(limit) > number(f)
}

// relaxedOrdering: the device may not use it, or the library was told not to.
func relaxedOrdering(x *index, v *verdict) {
	off := slices.Concat(x.envIs("NCCL_IB_PCI_RELAXED_ORDERING", "0"), x.envIs("UCX_IB_PCI_RELAXED_ORDERING", "OFF", "N", "NO", "0"))
	var cards []*fact.Fact
	for _, f := range x.is("pcie.relaxed_ordering", false) {
		name := strings.ToLower(text(x.about(f.Subject, "pcie.name")))
		if f.Subject.Kind == fact.NIC || strings.Contains(name, "ethernet") || strings.Contains(name, "infiniband") {
			cards = append(cards, f)
		}
	}
	if len(off) == 0 && len(cards) == 0 {
		return
	}
	facts := append(off[:min(len(off), 2)], cards[:min(len(cards), 2)]...)
	c := claim{
		cause: "pcie-relaxed-ordering", confidence: 0.55, severity: finding.Warning, where: places(facts...), evidence: quotes(facts...), explains: []symptom{slow},
		summary: say("PCIe relaxed ordering is off: on many CPUs (AMD above all) writes to host memory then wait for one another, and receiving is far slower than sending.", "PCIe 宽松排序未启用：在许多 CPU（尤其 AMD）上，对主机内存的写入会相互等待，接收远慢于发送。"),
		test:    "the same test with NCCL_IB_PCI_RELAXED_ORDERING=1 (perftest uses it unless --disable_pcie_relaxed is given)",
	}
	if len(off) > 0 && len(cards) > 0 || x.pcieStalls() {
		c.confidence = 0.75
	}
	v.claim(c)
}

// pcieStalls reports PCIe stalls between two readings.
func (x *index) pcieStalls() bool { return len(x.counters.rose(stallSeconds, stallOverflow)) > 0 }

// topoFile: a topology file that was given to the library holds a link that no
// GPU or network card has.
func topoFile(x *index, v *verdict) {
	given := slices.Concat(x.env("NCCL_TOPO_FILE"))
	for _, f := range x.all("pcie.speed") {
		width := x.about(f.Subject, "pcie.width")
		if f.Origin.Tool != toolTopologyFile || number(f) > slowestRealSpeed || number(f) == 0 || width == nil || number(width) > 1 {
			continue
		}
		v.claim(claim{
			cause: "topo-file-wrong", confidence: 0.88, severity: finding.Error, where: places(f), evidence: append(quotes(f, width), quotes(given...)...), explains: []symptom{slow},
			summary: sayf("The topology file says that the link at %s is PCIe %s GT/s x%d, a quarter of a GB/s: the library plans its rings for that speed. A virtual bridge must carry the real figures.",
				"拓扑文件称 %s 处的链路为 PCIe %s GT/s x%d，即四分之一 GB/s：库会按此速度规划环。虚拟桥必须填写真实数值。", f.Subject, number1(f), whole(width)),
			test: "NCCL_TOPO_DUMP_FILE=/tmp/topo.xml JOB without NCCL_TOPO_FILE; compare link_speed and link_width",
		})
	}
}

// topoFar: the GPUs that run have fewer NICs near them than the job expects to use.
func topoFar(x *index, v *verdict) {
	far := x.all("topo.gpus_without_near_nic")
	nvlink := len(x.is("topo.nvlink", true)) > 0
	oneNIC(x, v)
	for _, f := range far {
		gpus := whole(x.about(f.Subject, "topo.gpus"))
		if whole(f) == 0 || boolOf(x.about(f.Subject, "topo.flat")) {
			continue
		}
		c := claim{
			cause: "topo-nic-far", confidence: 0.5, severity: finding.Info, where: places(f), evidence: quotes(f), explains: []symptom{slow},
			summary: sayf("%d of %d GPUs reach every NIC only across the CPU interconnect (SYS).", "%d 个 GPU（共 %d 个）到所有网卡都要跨越 CPU 互连（SYS）。", whole(f), gpus),
		}
		if !nvlink {
			c.confidence, c.severity = 0.65, finding.Warning
		}
		if p := x.envIs("NCCL_PXN_DISABLE", "1"); len(p) > 0 {
			c.confidence, c.severity = 0.75, finding.Warning
			c.evidence = append(c.evidence, quote(p[0]))
		}
		v.claim(c)
	}
	if f := x.all("nccl_tests.largest_busbw"); len(f) > 0 && len(x.all("topo.nearest_path")) == 0 && x.ranksPerNode() == 1 {
		v.lack("topo-nic-far", slow, "which NICs are near the GPU in use", "所用 GPU 附近有哪些网卡", "nvidia-smi topo -m")
	}
}

// oneNIC: one GPU a node runs, it is near one NIC, and the bandwidth is that
// of one NIC though several are listed.
func oneNIC(x *index, v *verdict) {
	ranks := x.ranksPerNode()
	listed := 0
	for _, l := range x.hcaLists() {
		if !l.exclude {
			listed = max(listed, len(l.names))
		}
	}
	if nics := x.all("topo.nics"); len(nics) > 0 && listed == 0 {
		listed = int(whole(nics[0]))
	}
	if ranks != 1 || listed < 2 {
		return
	}
	for _, f := range x.all("topo.nearest_path") {
		nics := x.about(f.Subject, "topo.nearest_nics")
		if p := f.Value.String(); p != "PIX" && p != "PXB" || nics == nil || len(nics.Value.List()) >= listed {
			continue
		}
		for _, bw := range x.all("nccl_tests.largest_busbw") {
			c := claim{
				cause: "topo-nic-far", confidence: 0.75, severity: finding.Info, where: places(f), evidence: quotes(f, nics, bw), explains: []symptom{slow},
				summary: sayf("One GPU a node runs, and only %s is near it (%s); the other NICs that are listed lie across the CPUs. %s GB/s is what one NIC and one GPU's PCIe link carry: for two ranks bus and algorithm bandwidth are equal. Nothing is broken.",
					"每节点只运行一个 GPU，其附近只有 %s（%s），其余所列网卡都要跨 CPU。%s GB/s 就是一块网卡与一个 GPU 的 PCIe 链路所能承载的；两个 rank 时总线带宽等于算法带宽。并无故障。",
					strings.Join(nics.Value.List(), ", "), f.Value, strconv.FormatFloat(number(bw)/8e9, 'f', 1, 64)),
				test: "the same test with all GPUs of a node",
			}
			if cmd := x.all("command.line"); len(cmd) > 0 {
				c.evidence = append(c.evidence, seen(cmd[0], "%s", cmd[0].Value))
			}
			v.claim(c)
			return
		}
	}
}

// ranksPerNode returns how many ranks run on a node, 0 if that is not known.
func (x *index) ranksPerNode() int {
	for _, f := range x.all("nccl_tests.ranks") {
		if nodes := x.about(f.Subject, "nccl_tests.nodes"); whole(nodes) > 0 {
			return int(whole(f) / whole(nodes))
		}
	}
	for _, f := range x.all("command.line") {
		w := strings.Fields(f.Value.String())
		ranks, perNode, hosts := flagNumber(w, "-np", "--np", "-n"), flagNumber(w, "-N", "--ntasks-per-node", "-npernode", "--npernode", "-ppn"), hostsIn(f.Value.String())
		switch {
		case perNode > 0:
			return perNode
		case ranks == 2 && hosts != 1: // two ranks of a network test are on two nodes
			return 1
		case ranks > 0 && hosts > 0:
			return ranks / hosts
		}
	}
	return 0
}

func flagNumber(w []string, flags ...string) int {
	for i, word := range w {
		name, value, joined := strings.Cut(word, "=")
		if !slices.Contains(flags, name) {
			continue
		}
		if !joined && i+1 < len(w) {
			value = w[i+1]
		}
		if n, err := strconv.Atoi(value); err == nil {
			return n
		}
	}
	return 0
}

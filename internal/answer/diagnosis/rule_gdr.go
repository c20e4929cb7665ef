package diagnosis

import (
	"slices"
	"strings"

	"weir/internal/cause"
	"weir/internal/fact"
	"weir/internal/finding"
)

// acs: PCIe switch ports send peer traffic up to the root complex.
func acs(x *index, v *verdict) {
	on, off := x.is("pcie.acs.redirect", true), x.is("pcie.acs.redirect", false)
	failing := x.any((*event).access)
	gdr := x.gdrSeen()
	c := claim{cause: "acs-enabled", severity: finding.Warning, explains: []symptom{access, slow}}
	switch {
	case len(on) > 0:
		c.confidence = 0.7
		c.evidence = quotes(on[:min(len(on), 4)]...)
		c.where = places(on...)
		c.summary = sayf("ACS redirects peer-to-peer traffic at %d PCIe ports (ReqRedir+, CmpltRedir+): data between GPU and NIC goes up to the root complex and back. Believe lspci, not the firmware's menu.",
			"有 %d 个 PCIe 端口的 ACS 重定向点对点流量（ReqRedir+、CmpltRedir+）：GPU 与网卡之间的数据要绕行根复合体。以 lspci 为准，而不是 BIOS 菜单。", len(on))
		if len(off) > 0 && len(on) == 1 {
			c.against = quotes(off[0])
		}
	case len(failing) > 0 && len(off) == 0:
		if slices.ContainsFunc(failing, func(e *event) bool { return e.status == statusLocalProtection }) {
			c.confidence = 0.5
			c.summary = say("Local protection error (status 4) on a transfer: with GPUDirect RDMA the usual cause is ACS or the IOMMU between GPU and NIC.", "传输出现本地保护错误（状态 4）：使用 GPUDirect RDMA 时，常见原因是 GPU 与网卡之间的 ACS 或 IOMMU。")
			c.where = failing[0].subject.String()
		}
	}
	if len(failing) > 0 {
		v.lack("acs-enabled", access, "the ACS state of all PCIe bridges", "所有 PCIe 桥的 ACS 状态", "lspci -vvv | grep -E '^[0-9a-f]|ACSCtl'")
		v.lack("gdr-inactive-no-peermem", access, "whether the same run works without GPUDirect RDMA", "关闭 GPUDirect RDMA 后同一作业是否正常", "NCCL_NET_GDR_LEVEL=LOC JOB")
		v.lack("mtu-mismatch", access, "the MTU of both ends", "两端的 MTU", "ip link show IF; ibv_devinfo | grep active_mtu (on both hosts)")
	}
	if c.confidence == 0 {
		return
	}
	if len(failing) > 0 && len(on) > 0 {
		c.confidence, c.severity = 0.92, finding.Error
	}
	c.evidence = append(c.evidence, quoteEvents(failing)...)
	if gdr != nil && len(on) > 0 {
		c.confidence = min(c.confidence+0.03, 0.95)
		c.evidence = append(c.evidence, quote(gdr))
	}
	iommu(x, &c)
	v.claim(c)
}

// gdrSeen returns a fact that shows GPUDirect RDMA in use.
func (x *index) gdrSeen() *fact.Fact {
	if f := x.is("nccl.gdrdma", true); len(f) > 0 {
		return f[0]
	}
	for _, f := range x.all("nccl.channel.gdrdma") {
		if whole(f) > 0 {
			return f
		}
	}
	return nil
}

// iommu adds the state of the IOMMU: translation has the effect of ACS.
func iommu(x *index, c *claim) {
	for _, f := range x.all("host.iommu") {
		switch low := strings.ToLower(f.Value.String()); {
		case strings.Contains(low, "pt"), strings.Contains(low, "off"):
			c.against = append(c.against, quote(f))
		case low != "":
			c.evidence = append(c.evidence, quote(f))
		}
	}
}

// ats: in a virtual machine ACS has to stay on, and ATS is off.
func ats(x *index, v *verdict) {
	off := x.is("pcie.ats", false)
	virtual := x.is("topo.flat", true)
	if len(off) == 0 || len(virtual) == 0 {
		return
	}
	c := claim{
		cause: "ats-off-in-vm", confidence: 0.6, severity: finding.Warning, where: places(off...), evidence: quotes(append(off[:min(len(off), 2)], virtual[0])...), explains: []symptom{access, slow},
		summary: say("This looks like a virtual machine (every way between GPU and NIC reads the same), and address translation service is off: peer traffic detours through the host.", "这看起来是虚拟机（所有 GPU 与网卡间路径相同），且 ATS 未启用：点对点流量需绕行主机。"),
	}
	if e := x.any((*event).access); len(e) > 0 {
		c.confidence, c.severity = 0.75, finding.Error
		c.evidence = append(c.evidence, quoteEvents(e)...)
	}
	v.claim(c)
}

// gdrOffFacts returns what says that GPUDirect RDMA is not used.
func (x *index) gdrOffFacts() []*fact.Fact {
	out := x.is("nccl.gdrdma", false)
	for _, f := range x.under("nccl.gdr.") {
		if b, ok := f.Value.Bool(); ok && !b {
			out = append(out, f)
		}
	}
	return append(out, x.is("nccl.gpu.gdr", false)...)
}

// rdmaInUse reports that nothing says that the job runs over TCP.
func (x *index) rdmaInUse() bool { return len(x.onSockets()) == 0 }

// gdrModule: GPUDirect RDMA is off: no module and no DMA-BUF, a module that
// does not load, or a library that looks for another name.
func gdrModule(x *index, v *verdict) {
	off := x.gdrOffFacts()
	c := claim{cause: "gdr-inactive-no-peermem", severity: finding.Warning, explains: []symptom{gdrOff, slow}, evidence: quotes(off[:min(len(off), 4)]...), where: places(off...)}
	for _, f := range x.all("host.module_error") {
		if isPeermem(strings.ToLower(f.Value.String())) {
			c.confidence, c.severity, c.where = 0.88, finding.Error, places(f)
			c.evidence = append([]finding.Evidence{quote(f)}, c.evidence...)
			c.summary = sayf("The peer memory module does not load (%s): it was built against another version of the RDMA core than the one that runs. GPUDirect RDMA is off until it is rebuilt.",
				"peer memory 模块无法加载（%s）：它针对另一版本的 RDMA 核心构建。重建之前 GPUDirect RDMA 不可用。", f.Value)
			c.fix = append(c.fix, cause.Fix{Disruption: "reload", Command: "rmmod nvidia_peermem; reinstall the GPU driver; modprobe nvidia_peermem", Text: say(
				"Rebuild the GPU driver's modules after each change of the network driver (in Kubernetes: drain the node and restart its GPU driver pod), or use DMA-BUF.",
				"每次更换网卡驱动后重建 GPU 驱动模块（Kubernetes 中：腾空节点并重启 GPU 驱动 pod），或改用 DMA-BUF。")})
			v.claim(c)
			return
		}
	}
	if len(off) == 0 || !x.rdmaInUse() {
		if absent := x.is("host.peermem", false); len(absent) > 0 && x.gdrSeen() == nil && len(x.is("nccl.dmabuf", true)) == 0 {
			v.lack("gdr-inactive-no-peermem", setting, "whether GPUDirect RDMA is in use: a missing module alone proves nothing where DMA-BUF serves", "是否使用 GPUDirect RDMA：若使用 DMA-BUF，缺少模块并不说明问题", "NCCL_DEBUG=INFO JOB 2>&1 | grep -E 'via NET|DMA-BUF|GPU Direct'")
		}
		return
	}
	if x.gdrSeen() != nil && len(x.is("nccl.gdrdma", false)) > 0 {
		c.against = append(c.against, quote(x.gdrSeen()))
	}
	loaded, absent := x.is("host.peermem", true), x.is("host.peermem", false)
	newName := x.is("host.module.nvidia_peermem", true)
	old := x.oldNCCL()
	dmabuf := x.is("nccl.dmabuf", true)
	switch {
	case len(newName) > 0 && old != nil:
		c.cause, c.confidence = "gdr-inactive-old-nccl", 0.92
		c.evidence = append(c.evidence, quotes(newName[0], old)...)
		c.summary = sayf("GPUDirect RDMA is off although nvidia_peermem is loaded: NCCL up to 2.22.3 (here %s) looks only for the older module name nv_peer_mem.", "已加载 nvidia_peermem，但 GPUDirect RDMA 仍未启用：NCCL 2.22.3 及更早版本（此处 %s）只查找旧模块名 nv_peer_mem。", old.Value)
	case len(loaded) > 0 && !x.has("nccl.version"):
		c.cause, c.confidence = "gdr-inactive-old-nccl", 0.6
		c.evidence = append(c.evidence, quote(loaded[0]))
		c.summary = say("GPUDirect RDMA is off although a peer memory module is loaded: a library that looks for another module name does this.", "已加载 peer memory 模块，但 GPUDirect RDMA 未启用：库查找的模块名不同时会如此。")
	case len(absent) > 0 && len(dmabuf) == 0:
		c.confidence = 0.92
		c.evidence = append(c.evidence, quote(absent[0]))
		c.summary = say("GPUDirect RDMA is off: no peer memory module is loaded and DMA-BUF is not reported. Every byte goes through host memory.", "GPUDirect RDMA 未启用：未加载 peer memory 模块，也未报告 DMA-BUF。所有数据都经过主机内存。")
	case len(loaded) > 0 || len(dmabuf) > 0:
		return // the distance limit, or a setting: gdrDistance
	default:
		c.confidence = 0.7
		c.summary = say("GPUDirect RDMA is not in use: every byte goes through host memory. The usual cause is a peer memory module that is not loaded.", "未使用 GPUDirect RDMA：所有数据都经过主机内存。常见原因是 peer memory 模块未加载。")
	}
	gdrSettings(x, &c)
	v.claim(c)
	v.lack("gdr-inactive-no-peermem", gdrOff, "whether a peer memory module is loaded or DMA-BUF is available", "是否加载了 peer memory 模块或可用 DMA-BUF", "lsmod | grep -i peer; NCCL_DEBUG=INFO JOB 2>&1 | grep -iE 'DMA-BUF|GDRDMA|GPU Direct'")
	if !x.has("nccl.version") {
		v.lack("gdr-inactive-old-nccl", gdrOff, "the version of NCCL", "NCCL 的版本", "NCCL_DEBUG=VERSION JOB")
	}
}

// gdrSettings adds settings that turn GPUDirect RDMA off by intent.
func gdrSettings(x *index, c *claim) {
	for _, f := range slices.Concat(x.envIs("NCCL_NET_GDR_LEVEL", "0", "LOC"), x.envIs("NCCL_IB_CUDA_SUPPORT", "0"), x.envIs("NCCL_DMABUF_ENABLE", "0")) {
		c.evidence = append(c.evidence, quote(f))
	}
}

// oldNCCL returns the version fact of a library before 2.23, which looks for
// nv_peer_mem only (fixed in 2.23.4).
func (x *index) oldNCCL() *fact.Fact {
	for _, f := range x.all("nccl.version") {
		if major, minor, _, ok := versionOf(f.Value.String()); ok && major == 2 && minor <= 22 {
			return f
		}
	}
	return nil
}

// versionOf reads "2.22.3+cuda12.4", "<= 2.22.3", "2.20.3-1".
func versionOf(s string) (major, minor, patch int, ok bool) {
	s = strings.TrimLeft(s, "<=~ vV")
	var n [3]int
	part, any := 0, false
	for _, c := range s {
		switch {
		case c >= '0' && c <= '9' && n[part] < 100000:
			n[part], any = n[part]*10+int(c-'0'), true
		case c == '.' && any && part < 2:
			part++
		default:
			return n[0], n[1], n[2], any && part > 0
		}
	}
	return n[0], n[1], n[2], any && part > 0
}

// gdrDistance: a module is there and some channels use GPUDirect RDMA, others
// are too far apart, or a setting draws the limit too near.
func gdrDistance(x *index, v *verdict) {
	var partial *fact.Fact
	for _, f := range x.is("nccl.gdrdma", false) {
		count, direct := x.about(f.Subject, "nccl.channel.count"), x.about(f.Subject, "nccl.channel.gdrdma")
		if whole(direct) > 0 && whole(direct) < whole(count) {
			partial = direct
		}
	}
	limits := slices.Concat(x.envIs("NCCL_NET_GDR_LEVEL", "0", "1", "LOC", "PIX", "PXB", "2", "3"), x.envIs("NCCL_IB_GDR_LEVEL", "0", "1", "2"))
	off := x.gdrOffFacts()
	able := slices.Concat(x.is("host.peermem", true), x.is("nccl.dmabuf", true))
	far := x.gpusFar()
	c := claim{cause: "gdr-inactive-distance", severity: finding.Warning, explains: []symptom{gdrOff, slow}}
	switch {
	case partial != nil:
		c.confidence, c.where = 0.75, places(partial)
		c.evidence = quotes(partial, x.about(partial.Subject, "nccl.channel.count"))
		c.summary = say("Part of the network channels use GPUDirect RDMA and part do not: some GPU and NIC are further apart than the limit allows.", "部分网络通道使用 GPUDirect RDMA，部分没有：某些 GPU 与网卡的距离超过限制。")
	case len(off) > 0 && len(able) > 0 && x.oldNCCL() == nil && (len(limits) > 0 || len(far) > 0):
		c.confidence, c.where = 0.72, places(off...)
		c.evidence = quotes(off[0], able[0])
		c.summary = say("GPUDirect RDMA is available and not used: GPU and NIC are further apart than the limit allows.", "GPUDirect RDMA 可用但未使用：GPU 与网卡的距离超过限制。")
	case len(off) > 0 && len(able) > 0 && x.oldNCCL() == nil && x.rdmaInUse():
		c.confidence, c.where = 0.5, places(off...)
		c.evidence = quotes(off[0], able[0])
		c.summary = say("GPUDirect RDMA is available and not used: the usual cause is the distance between GPU and NIC, or a setting that draws the limit too near.", "GPUDirect RDMA 可用但未使用：通常是 GPU 与网卡距离过远，或某个设置把限制设得过近。")
		v.lack("gdr-inactive-distance", gdrOff, "how far apart GPU and NIC are, and the limit that is set", "GPU 与网卡的距离，以及所设的限制", "nvidia-smi topo -m; env | grep GDR")
	default:
		return
	}
	if len(limits) > 0 {
		c.confidence = min(c.confidence+0.12, 0.9)
		c.evidence = append(c.evidence, quotes(limits[0])...)
		c.fix = append(c.fix, repair("unset NCCL_NET_GDR_LEVEL", "Let the library choose the limit, or set it as wide as the way that nvidia-smi topo -m shows.", "让库自动选择限制，或按 nvidia-smi topo -m 显示的路径放宽。"))
	}
	if len(far) > 0 {
		c.confidence = min(c.confidence+0.08, 0.92)
		c.evidence = append(c.evidence, quotes(far[:min(len(far), 3)]...)...)
	}
	v.claim(c)
}

// gpusFar returns the GPUs that reach every NIC only across CPUs or host bridges.
func (x *index) gpusFar() []*fact.Fact {
	var out []*fact.Fact
	for _, f := range x.all("topo.nearest_path") {
		if p := f.Value.String(); p == "SYS" || p == "NODE" || p == "SOC" {
			out = append(out, f)
		}
	}
	return out
}

package diagnosis

import (
	"slices"
	"strings"

	"weir/internal/cause"
	"weir/internal/fact"
	"weir/internal/finding"
)

// onSockets returns the facts that say that the job runs over TCP.
func (x *index) onSockets() []*fact.Fact {
	var out []*fact.Fact
	for _, f := range x.all("nccl.network") {
		if strings.EqualFold(f.Value.String(), "Socket") {
			out = append(out, f)
		}
	}
	for _, f := range x.all("nccl.channel.transport.NET/Socket") {
		if whole(f) > 0 {
			out = append(out, f)
		}
	}
	return out
}

// socketFallback: the job runs over TCP.
func socketFallback(x *index, v *verdict) {
	socket, missing := x.onSockets(), x.is("nccl.no_device", true)
	if len(socket) == 0 && len(missing) == 0 {
		return
	}
	c := claim{
		cause: "nccl-socket-fallback", confidence: 0.75, severity: finding.Warning, where: places(append(socket, missing...)...),
		evidence: quotes(append(socket[:min(len(socket), 2)], missing[:min(len(missing), 2)]...)...), explains: []symptom{sockets, slow},
		after:   []string{"container-no-rdma-device", "memlock-limit", "ib-hca-selection-wrong", "driver-mismatch", "nccl-plugin-mismatch"},
		summary: say("The job runs over TCP sockets, not over RDMA.", "作业运行在 TCP 套接字上，而不是 RDMA。"),
	}
	if off := x.envIs("NCCL_IB_DISABLE", "1"); len(off) > 0 {
		c.confidence = 0.95
		c.evidence = append(c.evidence, quote(off[0]))
		c.summary = say("The job runs over TCP sockets because NCCL_IB_DISABLE=1 turns RDMA off.", "NCCL_IB_DISABLE=1 关闭了 RDMA，作业因此运行在 TCP 套接字上。")
		c.fix = append(c.fix, repair("unset NCCL_IB_DISABLE", "Remove the setting on all nodes (it may stand in /etc/nccl.conf).", "在所有节点移除该设置（可能位于 /etc/nccl.conf）。"))
	} else if net := x.envIs("NCCL_NET", "SOCKET"); len(net) > 0 {
		c.confidence = 0.95
		c.evidence = append(c.evidence, quote(net[0]))
		c.summary = say("The job runs over TCP sockets because NCCL_NET=Socket asks for it.", "NCCL_NET=Socket 要求使用套接字，作业因此运行在 TCP 上。")
	} else {
		v.lack("nccl-socket-fallback", sockets, "whether the process sees RDMA devices and may open them", "进程能否看到并打开 RDMA 设备", "ibv_devices; ls -l /dev/infiniband; ulimit -l (where the job runs, inside the container)")
	}
	if devices := x.activeDevices(); len(devices) > 0 {
		c.confidence = min(c.confidence+0.05, 0.95)
		c.evidence = append(c.evidence, quotes(devices[0])...)
	}
	v.claim(c)
}

// activeDevices returns the state facts of RDMA ports that are up.
func (x *index) activeDevices() []*fact.Fact {
	var out []*fact.Fact
	for _, f := range x.all("rdma.state") {
		if strings.Contains(strings.ToUpper(f.Value.String()), "ACTIVE") {
			out = append(out, f)
		}
	}
	return out
}

// containerDevice: the device is there and cannot be opened, or the host has
// one that the job does not see.
func containerDevice(x *index, v *verdict) {
	open := x.any(func(e *event) bool {
		return strings.Contains(e.call, "open_device") || strings.Contains(e.call, "get_device_list")
	})
	missing := x.is("nccl.no_device", true)
	devices := x.activeDevices()
	c := claim{cause: "container-no-rdma-device", severity: finding.Error, explains: []symptom{sockets, slow}, test: "ls -l /dev/infiniband; ibv_devinfo (inside the container)"}
	switch {
	case len(open) > 0:
		c.confidence = 0.85
		c.evidence = quoteEvents(open)
		c.where = open[0].subject.String()
		c.summary = say("The RDMA device is listed but cannot be opened: its character devices under /dev/infiniband are missing in the container, or closed to it.", "RDMA 设备可见但无法打开：容器中缺少 /dev/infiniband 下的字符设备，或无权限。")
	case len(missing) > 0 && len(devices) > 0 && len(x.envIs("NCCL_IB_DISABLE", "1")) == 0:
		c.confidence = 0.7
		c.where = places(missing...)
		c.summary = say("The host has an active RDMA port, and the library finds none: the container does not have the device, or the filter of devices leaves nothing.", "主机有活动的 RDMA 端口，而库找不到：容器未获得该设备，或设备过滤后为空。")
	default:
		return
	}
	if len(x.envIs("NCCL_IB_DISABLE", "1")) > 0 {
		c.confidence -= 0.3
	}
	c.evidence = append(c.evidence, quotes(missing[:min(len(missing), 1)]...)...)
	c.evidence = append(c.evidence, quotes(x.onSockets()...)...)
	c.evidence = append(c.evidence, quotes(devices[:min(len(devices), 1)]...)...)
	if d := openedDevice(x); d != "" {
		c.where = unite(c.where, d)
	}
	v.claim(c)
}

func openedDevice(x *index) string {
	for i := range x.events {
		if e := &x.events[i]; e.device != "" && strings.Contains(eventText(e), "open device") {
			return e.device
		}
	}
	return ""
}

func eventText(e *event) string {
	for _, f := range e.facts {
		if f.Key == "nccl.warning" {
			return f.Value.String()
		}
	}
	return e.words
}

// memlockEnough is a limit from which registration of usual buffers does not
// fail: a job registers gigabytes.
const memlockEnough = 16 << 30

// memlock: memory cannot be pinned.
func memlock(x *index, v *verdict) {
	failing := x.any((*event).noMemory)
	var limit *fact.Fact
	for _, f := range x.all("host.memlock") {
		if n, ok := f.Value.Uint(); ok && n < memlockEnough && (limit == nil || n < whole(limit)) {
			limit = f
		}
	}
	free := x.is("host.memlock_unlimited", true)
	c := claim{cause: "memlock-limit", severity: finding.Error, explains: []symptom{noMemory}, test: "mpirun ... sh -c 'ulimit -l' (as the launcher starts processes, not in a shell of your own)"}
	switch {
	case len(failing) > 0 && limit != nil:
		c.confidence = 0.95
		c.summary = sayf("The process may lock only %d KiB, and RDMA has to pin its buffers: registration fails with \"Cannot allocate memory\".", "进程只能锁定 %d KiB 内存，而 RDMA 需要锁定缓冲区：注册失败并返回 “Cannot allocate memory”。", whole(limit)>>10)
		if len(free) > 0 {
			c.summary.En += " Some shells have no limit, this one does: the limit of the service that starts the job counts."
			c.summary.Zh += " 有的会话没有限制，但此处有：以启动作业的服务的限制为准。"
		}
	case len(failing) > 0 && len(free) > 0:
		c.confidence = 0.4
		c.against = quotes(free[0])
		c.summary = say("Memory could not be pinned although the limit shown is none: the limit where the launcher starts the job may be another.", "显示无限制，但仍无法锁定内存：启动器启动作业处的限制可能不同。")
	case len(failing) > 0:
		c.confidence = 0.65
		c.summary = say("Memory could not be pinned: the usual cause is the limit of locked memory.", "无法锁定内存：通常是锁定内存上限过小。")
	case limit != nil:
		c.confidence, c.severity = 0.55, finding.Warning
		c.summary = sayf("The limit of locked memory is %d KiB: RDMA has to pin its buffers and will fail when they are larger.", "锁定内存上限为 %d KiB：RDMA 需要锁定缓冲区，超出时会失败。", whole(limit)>>10)
	default:
		return
	}
	if limit != nil {
		c.evidence = append(c.evidence, quote(limit))
		c.where = places(limit)
	}
	c.evidence = append(c.evidence, quoteEvents(failing)...)
	if len(failing) > 0 {
		c.where = unite(c.where, failing[0].subject.String())
		v.lack("memlock-limit", noMemory, "the limit of locked memory where the job's processes start", "作业进程启动处的锁定内存上限", "mpirun ... sh -c 'ulimit -l'; grep 'locked memory' /proc/PID/limits")
	}
	v.claim(c)
}

// pluginMismatch: processes of one job load different network plugins or
// library versions.
func pluginMismatch(x *index, v *verdict) {
	var code, versions = map[string]*fact.Fact{}, map[string]*fact.Fact{}
	for _, f := range x.all("nccl.plugin") {
		code[pluginKind(f)] = f
	}
	for _, f := range x.all("nccl.plugin_path") {
		code["plugin "+baseName(f.Value.String())] = f
	}
	for _, f := range x.all("nccl.version") {
		if f.Origin.Tool != "stated values" {
			versions[f.Value.String()] = f
		}
	}
	claimDiffer := func(m map[string]*fact.Fact, confidence float64, en, zh string) {
		var facts []*fact.Fact
		for _, k := range sortedKeys(m) {
			facts = append(facts, m[k])
		}
		v.claim(claim{
			cause: "nccl-plugin-mismatch", confidence: confidence, severity: finding.Error, where: places(facts...), evidence: quotes(facts...), explains: []symptom{hang, noAnswer},
			summary: sayf("The processes do not run the same network code: "+en+" (%s). Connections between the groups hang or fail.", "各进程运行的网络代码不同："+zh+"（%s）。两组之间的连接会挂起或失败。", strings.Join(sortedKeys(m), "; ")),
			fix:     []cause.Fix{repair("export NCCL_NET_PLUGIN=none", "Until the images are equal: use the built-in network everywhere.", "在镜像统一之前，全部使用内置网络。")},
		})
	}
	switch {
	case differ(code):
		claimDiffer(code, 0.88, "different network plugins are loaded", "加载了不同的网络插件")
	case len(versions) > 1:
		claimDiffer(versions, 0.8, "the library versions differ", "库版本不同")
	case len(code) == 1 && x.manyNodes() && len(x.events) == 0 && !x.has("nccl.init_complete"):
		v.lack("nccl-plugin-mismatch", hang, "which network plugin and version every node loads", "每个节点加载的网络插件与版本", "NCCL_DEBUG=INFO JOB 2>&1 | grep -E 'NET/Plugin|Plugin Path|NCCL version' (all nodes)")
	}
}

// differ reports that some process uses the built-in network and another a
// plugin, or two plugins are in use.
func differ(code map[string]*fact.Fact) bool {
	if len(code) < 2 {
		return false
	}
	subjects := map[fact.Subject]bool{}
	for _, f := range code {
		subjects[f.Subject] = true
	}
	return len(subjects) > 1
}

func pluginKind(f *fact.Fact) string {
	if s := f.Value.String(); s == "internal" || s == "none" || strings.EqualFold(s, "IB") || strings.EqualFold(s, "Socket") {
		return "built-in"
	}
	return "plugin"
}

func baseName(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }

// manyNodes reports that a command line or log speaks of several hosts.
func (x *index) manyNodes() bool {
	if x.hosts > 1 {
		return true
	}
	for _, f := range x.all("nccl.nodes") {
		if whole(f) > 1 {
			return true
		}
	}
	return slices.ContainsFunc(x.all("command.line"), func(f *fact.Fact) bool { return hostsIn(f.Value.String()) > 1 })
}

// hostsIn counts the hosts that a launcher's command line names (-H a:8,b:8).
func hostsIn(line string) int {
	w := strings.Fields(line)
	for i, word := range w {
		if (word == "-H" || word == "--host" || word == "-host" || word == "--hosts" || word == "-w" || word == "--nodelist") && i+1 < len(w) {
			return 1 + strings.Count(w[i+1], ",")
		}
	}
	return 0
}

// driverMismatch: modules that do not fit the kernel or each other, firmware
// that differs among cards of one kind.
func driverMismatch(x *index, v *verdict) {
	for _, f := range x.all("host.module_error") {
		low := strings.ToLower(f.Value.String())
		if isPeermem(low) {
			continue
		}
		if strings.Contains(low, "disagrees about version") || strings.Contains(low, "unknown symbol") || strings.Contains(low, "invalid argument") || strings.Contains(low, "exec format") || strings.Contains(low, "version magic") {
			v.claim(claim{
				cause: "driver-mismatch", confidence: 0.85, severity: finding.Error, where: places(f), evidence: quotes(f), explains: []symptom{sockets, noAnswer},
				summary: sayf("A kernel module does not fit the others (%s): it was built against another version of the kernel or of the RDMA core.", "内核模块与其他模块不匹配（%s）：它是针对另一版本的内核或 RDMA 核心构建的。", f.Value),
			})
		}
	}
	firmware := map[string]map[string]*fact.Fact{} // by model or driver
	for _, key := range []string{"rdma.firmware", "link.firmware"} {
		for _, f := range x.all(key) {
			kind := nameOr(text(x.about(f.Subject, "rdma.model")), text(x.about(f.Subject, "link.driver")))
			if kind == "" {
				continue
			}
			if firmware[key+kind] == nil {
				firmware[key+kind] = map[string]*fact.Fact{}
			}
			firmware[key+kind][strings.Fields(f.Value.String() + " ")[0]] = f
		}
	}
	for _, kind := range sortedKeys(firmware) {
		if versions := firmware[kind]; len(versions) > 1 {
			var facts []*fact.Fact
			for _, k := range sortedKeys(versions) {
				facts = append(facts, versions[k])
			}
			v.claim(claim{
				cause: "driver-mismatch", confidence: 0.4, severity: finding.Info, where: places(facts...), evidence: quotes(facts...),
				summary: sayf("Cards of one kind run different firmware: %s.", "同型号网卡的固件版本不同：%s。", strings.Join(sortedKeys(versions), ", ")),
			})
		}
	}
}

func isPeermem(low string) bool {
	return strings.Contains(low, "peermem") || strings.Contains(low, "nv_peer_mem") || strings.Contains(low, "peer_mem")
}

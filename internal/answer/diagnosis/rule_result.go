package diagnosis

import (
	"fmt"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/finding"
)

// flows: the picture of a generator test: lossless classes lose nothing and
// the others do, which is what was configured.
func flows(x *index, v *verdict) {
	dropped, kept := map[string]*fact.Fact{}, map[string]*fact.Fact{}
	for _, f := range x.all("flow.frames_lost") {
		dscp := text(x.about(f.Subject, "flow.dscp"))
		if dscp == "" {
			continue
		}
		if number(f) > 0 {
			dropped[dscp] = f
		} else {
			kept[dscp] = f
		}
	}
	if len(dropped) == 0 && len(kept) == 0 {
		return
	}
	for d := range dropped {
		if kept[d] != nil {
			return // a class that loses in one flow and not in another tells nothing
		}
	}
	var facts []*fact.Fact
	for _, m := range []map[string]*fact.Fact{kept, dropped} {
		for _, k := range sortedKeys(m) {
			facts = append(facts, m[k])
		}
	}
	switch {
	case len(kept) > 0:
		v.claim(claim{
			cause: "not-a-fault", confidence: 0.75, severity: finding.Info, where: places(facts...), evidence: quotes(facts...), explains: []symptom{lost},
			summary: sayf("As configured: the flows of DSCP %s lose nothing, those of DSCP %s are dropped under the same load. Whether the former are the classes meant to be lossless is for the configuration to say.",
				"符合配置：DSCP %s 的流无丢失，DSCP %s 的流在相同负载下被丢弃。前者是否就是应无损的类别，需对照配置。", strings.Join(sortedKeys(kept), ", "), orNone(sortedKeys(dropped))),
			test: "show the DSCP to priority map and the priorities with PFC on the switch",
		})
	default:
		v.claim(claim{
			cause: "pfc-not-enabled-on-path", confidence: 0.55, severity: finding.Warning, where: places(facts...), evidence: quotes(facts...), explains: []symptom{lost},
			summary: sayf("Every flow loses frames (DSCP %s): none of their classes is lossless on the path.", "所有流都丢帧（DSCP %s）：路径上没有一个类别是无损的。", strings.Join(sortedKeys(dropped), ", ")),
		})
		v.lack("pfc-not-enabled-on-path", lost, "which DSCP is meant to be lossless, and on which priorities the switch has PFC", "哪些 DSCP 应为无损，以及交换机在哪些优先级启用 PFC", "show priority-flow-control; show qos maps (or sonic-cfggen -d --print-data)")
	}
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ", ")
}

// slowTests: what the table of a collective test says beyond its average.
func slowTests(x *index, v *verdict) {
	for _, f := range x.all("nccl_tests.average_busbw") {
		largest := x.about(f.Subject, "nccl_tests.largest_busbw")
		if largest != nil && number(largest) > 1.5*number(f) {
			v.claim(claim{
				cause: "not-a-fault", confidence: 0.45, severity: finding.Info, where: places(f), evidence: quotes(f, largest),
				summary: sayf("The average over all sizes (%s GB/s) hides the large ones: at %s bytes it is %s GB/s. Judge by the largest sizes.", "所有大小的平均值（%s GB/s）掩盖了大消息：%s 字节时为 %s GB/s。应以最大消息为准。",
					gbyte(f), text(x.about(f.Subject, "nccl_tests.largest_size")), gbyte(largest)),
			})
		}
		if largest == nil && len(x.gdrOffFacts()) == 0 && x.gdrSeen() == nil {
			v.lack("gdr-inactive-no-peermem", slow, "whether the network channels use GPUDirect RDMA", "网络通道是否使用 GPUDirect RDMA", "NCCL_DEBUG=INFO JOB 2>&1 | grep 'via NET'")
			v.lack("nccl-tuning", slow, "the whole table of the test, with its command line", "完整的测试表格及命令行", "all_reduce_perf -b 8 -e 8G -f 2 -g 1")
		}
	}
	for _, f := range x.all("nccl_tests.wrong_total") {
		if number(f) > 0 {
			v.claim(claim{
				cause: "software-defect", confidence: 0.6, severity: finding.Critical, where: places(f), evidence: quotes(f),
				summary: say("The collective returned wrong values: data corruption comes before any question of speed.", "集合通信返回了错误的数值：数据损坏优先于任何性能问题。"),
			})
		}
	}
}

func gbyte(f *fact.Fact) string { return strconv.FormatFloat(number(f)/8e9, 'f', 1, 64) }

// noCommonFact asks for what separates causes that look alike where nothing
// else was said.
func noCommonFact(x *index, v *verdict) {
	if x.has(saidFell) || x.has(saidMeasured) {
		v.lack("gdr-inactive-no-peermem", slow, "whether the network channels use GPUDirect RDMA", "网络通道是否使用 GPUDirect RDMA", "NCCL_DEBUG=INFO JOB 2>&1 | grep 'via NET'")
		v.lack("global-pause-throttle", slow, "pause and drop counters as differences over the run", "运行期间暂停与丢包计数的差值", "ethtool -S IF | grep -E 'pause|discard'; sleep 30; again")
	}
	for _, f := range x.all("nccl.hint") {
		v.lack("unknown", setting, fmt.Sprintf("the library's own hint names one cause of several: %s", f.Value), fmt.Sprintf("库自身的提示只是多个原因之一：%s", f.Value), "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET,ENV JOB")
		break
	}
}

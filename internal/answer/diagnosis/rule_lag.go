package diagnosis

import (
	"slices"
	"strconv"

	"weir/internal/fact"
	"weir/internal/finding"
)

// bonds returns the facts that show a bonded RDMA device in use.
func (x *index) bonds() []*fact.Fact {
	var out []*fact.Fact
	used := x.usedDevices()
	for s, f := range used {
		if bonded(s.Name) {
			out = append(out, f)
		}
	}
	for _, f := range x.all("perftest.device") {
		if bonded(f.Value.String()) {
			out = append(out, f)
		}
	}
	out = append(out, x.all(saidBondDevice)...)
	for _, f := range x.all(saidBondMembers) {
		if whole(f) > 1 {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b *fact.Fact) int { return compareOrigins(a, b) })
	return slices.Compact(out)
}

func compareOrigins(a, b *fact.Fact) int {
	if c := compareText(a.Origin.Source, b.Origin.Source); c != 0 {
		return c
	}
	return a.Origin.Line - b.Origin.Line
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// lag: a bond, and how many queue pairs a connection has to spread over it.
func lag(x *index, v *verdict) {
	bonds := x.bonds()
	if len(bonds) == 0 {
		return
	}
	qps, known := x.queuePairs()
	test := x.fastTest()
	collapse := x.collapsed()
	explainedByECE := slices.ContainsFunc(v.claims, func(c claim) bool { return c.cause == "ece-cc-mismatch" && c.confidence > 0.6 })
	switch {
	case explainedByECE || x.sharplyCollapsed(v, bonds, collapse):
	case known != nil && qps <= 1:
		c := lagClaim(bonds, 0.82, "One queue pair a connection has one hash, so it uses one member of the bond.", "每连接一个队列对只有一个哈希值，因此只使用 bond 的一个成员口。")
		c.evidence = append(c.evidence, quote(known))
		if test != nil {
			c.confidence = 0.9
			c.evidence = append(c.evidence, quote(test))
		}
		v.claim(c)
	case known != nil:
		c := lagClaim(bonds, 0.55, "The device is a bond; several queue pairs a connection need not spread evenly over its members: compare the byte counters of the members during the run. Two ports that are not bonded serve this library better.",
			"设备为 bond；每连接多个队列对也未必均匀分布到各成员口：请在运行中比较各成员口的字节计数。不做 bond 更适合该库。")
		c.cause = "lag-hash-uneven"
		c.evidence = append(c.evidence, quote(known))
		if test != nil && test.Key != known.Key {
			c.confidence = 0.62
			c.evidence = append(c.evidence, quote(test))
		}
		v.claim(c)
		c.cause, c.confidence = "lag-single-qp", c.confidence-0.04
		c.summary = say("A connection of the library does not spread over both ports of the bond as a test with many queue pairs does.", "库的连接不会像多队列对测试那样分布到 bond 的两个端口。")
		v.claim(c)
		v.lack("lag-hash-uneven", slow, "the byte counters of each member during the run", "运行期间各成员口的字节计数", "ethtool -S MEMBER | grep -E 'tx_(prio[0-9]_)?bytes' (both members, twice, 30 s apart)")
	case x.nccl() || x.has("command.program") || test != nil:
		c := lagClaim(bonds, 0.5, "The device is a bond. NCCL uses one queue pair a connection unless told otherwise, and one queue pair uses one member.", "设备为 bond。NCCL 默认每连接一个队列对，而一个队列对只走一个成员口。")
		v.claim(c)
		v.lack("lag-single-qp", slow, "the number of queue pairs a connection", "每连接的队列对数量", "env | grep NCCL_IB_QPS_PER_CONNECTION")
	default:
		v.lack("lag-single-qp", slow, "the number of queue pairs a connection", "每连接的队列对数量", "env | grep NCCL_IB_QPS_PER_CONNECTION")
	}
}

func lagClaim(bonds []*fact.Fact, confidence float64, en, zh string) claim {
	return claim{
		cause: "lag-single-qp", confidence: confidence, severity: finding.Warning, where: places(bonds...), evidence: quotes(bonds[:min(len(bonds), 3)]...), explains: []symptom{slow},
		summary: say(en, zh),
	}
}

// nccl reports whether anything is known of a job with the library.
func (x *index) nccl() bool {
	return len(x.under("nccl.")) > 0 || len(x.under("nccl_tests.")) > 0
}

// queuePairs returns the queue pairs of a connection, and the fact that says it.
func (x *index) queuePairs() (int, *fact.Fact) {
	for _, name := range []string{"NCCL_IB_QPS_PER_CONNECTION", "UCX_IB_NUM_PATHS"} {
		for _, f := range x.env(name) {
			if n, err := strconv.Atoi(f.Value.String()); err == nil {
				return n, f
			}
		}
	}
	for _, f := range x.all(saidUnset + "NCCL_IB_QPS_PER_CONNECTION") {
		return 1, f
	}
	return 0, nil
}

// fastTest returns a test with several queue pairs, which shows that the bond
// itself is well.
func (x *index) fastTest() *fact.Fact {
	for _, f := range x.all("perftest.largest_bandwidth") {
		if whole(x.about(f.Subject, "perftest.qps")) > 1 {
			return f
		}
	}
	for _, f := range x.under("stated.") {
		if w := wordsOf(f.Key); w.any("ib") && w.any("bw") && w.any("gbps") {
			return f
		}
	}
	return nil
}

// collapsed returns the fact of a figure that fell at least twenty-fold.
func (x *index) collapsed() *fact.Fact {
	for _, f := range x.all(saidFell) {
		if number(f) >= 20 {
			return f
		}
	}
	return nil
}

// sharplyCollapsed: on a bond the bandwidth fell to next to nothing after an
// update: options that both ends agreed on (ECE) turned on a congestion
// control that does not work there.
func (x *index) sharplyCollapsed(v *verdict, bonds []*fact.Fact, fell *fact.Fact) bool {
	var named *fact.Fact
	for _, f := range x.under("stated.") {
		if w := wordsOf(f.Value.String()); w.any("ece", "(ece)", "rtt") && !w.any("cured") {
			named = f
		}
	}
	for _, f := range x.all(saidChange) {
		if wordsOf(f.Value.String()).any("ece", "rtt") {
			named = f
		}
	}
	if fell == nil || named == nil && len(x.all(saidChange)) == 0 && len(bonds) == 0 {
		return false
	}
	c := claim{
		cause: "ece-cc-mismatch", confidence: 0.5, severity: finding.Error, where: places(bonds...), evidence: append(quotes(bonds[:min(len(bonds), 2)]...), seen(fell, "stated: the figure fell %.0f-fold", number(fell))), explains: []symptom{slow},
		summary: say("The bandwidth fell to next to nothing on the bond, far below one member's: connection options (ECE) that turn on another congestion control do this where its probes do not come back.",
			"bond 上的带宽几乎降为零，远低于单个成员口：建连选项（ECE）启用了另一种拥塞控制，而其探测报文无法返回时即会如此。"),
	}
	if named != nil {
		c.confidence = 0.8
		c.evidence = append(c.evidence, quote(named))
	}
	v.claim(c)
	v.lack("ece-cc-mismatch", slow, "whether the bandwidth is back with ECE off", "关闭 ECE 后带宽是否恢复", "UCX_RC_ECE=0 (or NCCL_IB_ECE_ENABLE=0) with the same test")
	return true
}

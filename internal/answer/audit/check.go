package audit

import (
	"fmt"
	"math/bits"
	"strings"

	"weir/internal/cluster"
	"weir/internal/field/dialect"
	"weir/internal/finding"
	"weir/internal/qos"
	"weir/units"
)

const (
	info     = finding.Info
	warning  = finding.Warning
	problem  = finding.Error
	critical = finding.Critical
)

// A deviation is one difference at one port, before those that are alike are
// put together.
type deviation struct {
	node        cluster.NodeID
	device      string         // instead of node: a source that belongs to none
	port        cluster.PortID // where onPort; else the device as a whole
	onPort      bool
	name        string // of the port, as the device calls it
	setting     string
	cause       string
	severity    finding.Severity
	expected    string
	found       string
	consequence string
	source      string
	line        int
	reason      string // why the effect is not what the text seems to say
	text        string // of the line, where the evidence is one
}

func (a *auditor) add(d deviation) { a.found = append(a.found, d) }

// A check looks at one port that carries RoCE. What it finds goes to report.
type check struct {
	in     *qos.Intent
	p      *qos.Port
	stated bool // the evidence is a whole configuration
	nic    bool
	system string
	rate   units.BitRate
	length units.Metres
	delay  units.Time
	frame  units.Bytes // largest frame that a NIC may send; 0: not known
	cell   units.Bytes
	fill   units.Bytes // what a queue holds at 100 percent
	report func(d deviation)
	blind  []string // what nothing tells about

	misplaced bool // the RoCE code point was found in another class
	moved     bool // the whole RoCE class was found on the priority at
	at        uint8
}

// port compares everything that the port does with the intent.
func (k *check) port() {
	k.findMoved()
	trusted := k.trust()
	if trusted {
		for i := range k.in.Classes {
			k.class(&k.in.Classes[i], i)
		}
	}
	k.pfc()
	k.pause()
	if !k.nic {
		k.marking()
		k.watchdog()
		k.headroom()
	}
	k.shares()
	k.frameSize()
	if k.p.Speed > 0 && k.rate > 0 && k.p.Speed != k.rate {
		k.say("speed", "link-speed-degraded", problem, k.rate.String(), k.p.Speed.String(),
			"The link runs at another speed than the plan says, and all paths over it are held to that.")
	}
}

func (k *check) say(setting, cause string, s finding.Severity, expected, found, consequence string) {
	line := 0
	keys := []string{setting, strings.SplitN(setting, ".", 2)[0], "port"}
	if setting == "ets" {
		keys = []string{"schedule.0", "schedule.1", "schedule.2", "schedule.3", "schedule.4", "schedule.5", "schedule.6", "schedule.7"}
	}
	for _, key := range keys {
		if line = k.p.Lines[key]; line > 0 {
			break
		}
	}
	k.report(deviation{setting: setting, cause: cause, severity: s, expected: expected, found: found, consequence: consequence,
		line: line, reason: k.p.Reasons[setting]})
}

// unknown notes that nothing tells about a setting. What a whole configuration
// does not say is the system's default, which the dialect put in where it is known.
func (k *check) unknown(what string) { k.blind = append(k.blind, what) }

// pfc compares which priorities pause.
func (k *check) pfc() {
	want := k.in.LosslessMask()
	if !k.in.PFC {
		want = 0
	}
	mask := k.p.PFCMask
	if k.p.PFC == qos.Off {
		mask = 0
	}
	if k.p.PFC == qos.Unset && k.p.PFCMode == "auto" && want != 0 {
		k.say("pfc", "dcbx-not-converged", problem, "on, "+priorities(want), "auto",
			"PFC comes up only if the neighbour agrees over DCBX; where it does not, this port drops what it cannot hold.")
		return
	}
	if k.p.PFC == qos.Unset && mask == 0 && !k.stated {
		k.unknown("PFC")
		return
	}
	expected, got := priorities(want), priorities(mask)
	missing, extra := want&^mask, mask&^want
	switch {
	case missing == 0 && extra == 0:
	case k.misplaced && k.system == "junos" && extra == 0:
		// PFC acts on code points there: without its class it has none, which is told.
	case mask == 0:
		k.say("pfc", "pfc-not-enabled-on-path", critical, expected, got,
			"The port cannot hold its neighbour back: it overflows and drops what the rest of the path takes for lossless.")
	case missing != 0 && extra != 0:
		k.say("pfc", "pfc-priority-mismatch", critical, expected, got,
			"This end pauses another priority than the other end of the cable: the data keeps coming and is dropped.")
	case missing != 0:
		k.say("pfc", "pfc-not-enabled-on-path", critical, expected, got,
			"Priorities without pause overflow at this port and drop what the rest of the path takes for lossless.")
	case want == 0:
		k.say("pfc", "pfc-priority-mismatch", warning, expected, got, "The plan has no PFC; pauses from this port spread.")
	case bits.OnesCount8(mask) >= 4 || mask == 0xff:
		k.say("pfc", "pfc-on-all-priorities", problem, expected, got,
			"Pauses of RoCE stop other traffic and the other way round, and headroom must be shared among all of them.")
	default:
		k.say("pfc", "pfc-on-all-priorities", warning, expected, got,
			"More priorities pause than the plan has: traffic that may be dropped holds back traffic that may not, and takes headroom from it.")
	}
}

func priorities(mask uint8) string {
	if mask == 0 {
		return "PFC off"
	}
	var b strings.Builder
	b.WriteString("PFC on ")
	for i, p := range dialect.Bits(mask) {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprint(&b, p)
	}
	return b.String()
}

func (k *check) pause() {
	if k.p.GlobalPauseRx != qos.On && k.p.GlobalPauseTx != qos.On {
		return
	}
	k.say("pause", "global-pause-throttle", problem, "rx off, tx off", "rx "+k.p.GlobalPauseRx.String()+", tx "+k.p.GlobalPauseTx.String(),
		"Link-level pause stops all priorities at once, congestion notifications included, and on most devices puts PFC out of action.")
}

// shares checks the scheduler. What a class gets of a busy link depends on the
// queues that are in use: those of the plan's classes and of default traffic.
func (k *check) shares() {
	sum, stated := 0.0, false
	for i := range k.p.Queues {
		if q := &k.p.Queues[i]; q.Strict != qos.On {
			sum += q.Share
			stated = stated || q.Share > 0
		}
	}
	if stated && (sum > 1.005 || sum < 0.995 && (k.nic || k.system == "nxos")) {
		k.say("ets", "switch-config-not-applied", problem, "shares that add up to 100 %", fmt.Sprintf("%.0f %%", 100*sum),
			"The device refuses such shares or scales them as it likes: no class gets what the plan gives it.")
		return
	}
	roce := k.in.RoCE()
	queue := k.roceQueue()
	q := &k.p.Queues[queue]
	if roce.Strict || roce.Share == 0 {
		return
	}
	setting := dialect.Key("schedule", queue)
	want := fmt.Sprintf("%.0f %% of a busy link", 100*roce.Share)
	if q.Strict == qos.On && !k.nic {
		k.say(setting, "switch-config-not-applied", warning, want, "strict",
			"RoCE is served before everything with a share and starves it, the control traffic of the job included.")
		return
	}
	part := func(q *qos.Queue) float64 {
		if stated {
			return q.Share
		}
		return float64(q.Weight)
	}
	total := 0.0
	for i, used := range k.usedQueues() {
		if q := &k.p.Queues[i]; used && q.Strict != qos.On {
			total += part(q)
		}
	}
	if share := part(q) / total; total > 0 && share < roce.Share-0.05 {
		k.say(setting, "switch-config-not-applied", warning, want, fmt.Sprintf("%.0f %%", 100*share),
			"RoCE gets less of a busy link than planned: its queue grows, is marked and paused without need.")
	}
}

// usedQueues are those that the plan's classes and default traffic go to.
func (k *check) usedQueues() (used [qos.Priorities]bool) {
	used[k.roceQueue()] = true
	for i := 1; i < len(k.in.Classes); i++ {
		if q := k.p.Queue(k.in.Classes[i].DSCP); q < qos.Priorities {
			used[q] = true
		}
	}
	if q := k.p.Queue(0); q < qos.Priorities {
		used[q] = true
	} else {
		used[0] = true
	}
	return used
}

// frameSize checks that what a NIC sends fits.
func (k *check) frameSize() {
	if k.nic {
		k.nicMTU()
		return
	}
	if k.p.MTU == 0 {
		k.unknown("MTU")
	}
	if k.frame == 0 {
		return
	}
	const consequence = "Larger frames are dropped here without a message: small transfers pass, large ones hang and end with status 12."
	want := "at least " + fmt.Sprint(int64(k.frame)) + " bytes"
	if k.p.MTU > 0 && k.p.MTU < k.frame {
		k.say("mtu", "mtu-mismatch", critical, want, fmt.Sprint(int64(k.p.MTU))+" bytes", consequence)
	}
	for i := range k.in.Classes {
		p := k.in.Classes[i].Priority
		if m := k.p.PriorityMTU[p]; i != 1 && m > 0 && m < k.frame {
			k.say(dialect.Key("mtu", p), "mtu-mismatch", critical, want, fmt.Sprint(int64(m))+" bytes in priority "+number(p), consequence)
		}
	}
}

// nicMTU checks that the interface is large enough for the planned RDMA MTU.
func (k *check) nicMTU() {
	if k.p.MTU == 0 {
		k.unknown("MTU")
		return
	}
	if need := RDMAFrame(k.in.MTU); k.p.MTU < need {
		k.say("mtu", "mtu-small", problem, fmt.Sprintf("at least %d bytes, for RDMA packets of %d", int64(need), int64(k.in.MTU)), fmt.Sprintf("%d bytes", int64(k.p.MTU)),
			"The card falls back to smaller RDMA packets: more headers, more packets a second, and peers with another MTU may not connect.")
	}
}

// RDMAFrame returns the least interface MTU at which Linux offers an RDMA MTU:
// the payload and 96 bytes, the longest headers of a packet with its ICRC (40 + 8 +
// 12 + 4 + 28 + 4, iboe_get_mtu in include/rdma/ib_addr.h).
func RDMAFrame(payload units.Bytes) units.Bytes { return payload + 96 }

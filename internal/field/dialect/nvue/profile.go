package nvue

import (
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

// A profile holds what is said under one profile name; the parts (mapping,
// pfc, congestion-control ...) share names freely, and ports pick by part.
type profile struct {
	trust        qos.Trust
	trustAt      int
	defaultPrio  int // -1: not stated
	pcp          [8]said
	dscp         [64]said
	queue        [8]said
	strict       [8]qos.Tri
	share        [8]int // percent; -1: not stated
	scheduleAt   [8]int
	ecn          [8]ecnText
	pfc          uint8
	pfcSaid      bool
	pfcAt        [8]int
	rx, tx       qos.Tri
	directionAt  int
	cable        units.Metres
	ingress      qos.Ingress
	xonDelta     units.Bytes
	pauseRx      qos.Tri
	pauseTx      qos.Tri
	alpha        float64
	hasCC, hasES bool
}

// said is a value with the line that says it; line 0: not said.
type said struct {
	value uint8
	line  int
}

type ecnText struct {
	min, max    units.Bytes
	hasMin      bool
	hasMax      bool
	probability int // -1: not stated
	ecn, red    qos.Tri
	line        int
}

func newProfile() *profile {
	f := &profile{defaultPrio: -1}
	for i := range f.share {
		f.share[i] = -1
		f.ecn[i].probability = -1
	}
	return f
}

func (f *profile) take(s dialect.Statement) bool {
	switch s.Form.ID {
	case "trust":
		f.trust = map[string]qos.Trust{"l2": qos.TrustPCP, "l3": qos.TrustDSCP, "both": qos.TrustBoth, "port": qos.TrustNone}[s.Args["mode"]]
		f.trustAt = s.Line
	case "default-priority":
		f.defaultPrio = s.Args.Int("priority")
	case "map-dscp":
		list, ok := dialect.ParseDSCPs(s.Args["list"])
		for _, d := range list {
			f.dscp[d] = said{uint8(s.Args.Int("priority")), s.Line}
		}
		return ok
	case "pfc-direction":
		f.direction(&f.rx, &f.tx, s)
	case "pause-direction":
		f.direction(&f.pauseRx, &f.pauseTx, s)
	case "pfc-cable":
		f.cable = units.Metres(s.Args.Int("metres"))
	case "pfc-buffer":
		f.ingress.Reserved = units.Bytes(s.Args.Int("bytes"))
	case "pfc-xoff":
		f.ingress.XOFF = units.Bytes(s.Args.Int("bytes"))
	case "pfc-xon":
		f.xonDelta = units.Bytes(s.Args.Int("bytes"))
	case "alpha":
		var ok bool
		f.alpha, ok = alpha(s.Args["alpha"])
		return ok
	default:
		list, ok := dialect.ParseList(s.Args["list"], 7)
		for _, n := range list {
			f.takeOne(n, s)
		}
		return ok
	}
	return true
}

func (f *profile) direction(rx, tx *qos.Tri, s dialect.Statement) {
	state := qos.TriOf(s.Args["state"] == "enable")
	f.directionAt = s.Line
	if s.Args["direction"] == "rx" {
		*rx = state
	} else {
		*tx = state
	}
}

// takeOne takes a statement for one number of its list.
func (f *profile) takeOne(n int, s dialect.Statement) {
	e := &f.ecn[n]
	switch s.Form.ID {
	case "map-pcp":
		f.pcp[n] = said{uint8(s.Args.Int("priority")), s.Line}
	case "map-queue":
		f.queue[n] = said{uint8(s.Args.Int("queue")), s.Line}
	case "schedule-mode":
		f.strict[n], f.scheduleAt[n], f.hasES = qos.TriOf(s.Args["mode"] == "strict"), s.Line, true
	case "schedule-share":
		f.share[n], f.scheduleAt[n], f.hasES = s.Args.Int("percent"), s.Line, true
	case "pfc-priority":
		f.pfc |= 1 << n
		f.pfcSaid = true
		f.pfcAt[n] = s.Line
	case "ecn-min":
		e.min, e.hasMin = units.Bytes(s.Args.Int("bytes")), true
	case "ecn-max":
		e.max, e.hasMax = units.Bytes(s.Args.Int("bytes")), true
	case "ecn-probability":
		e.probability = s.Args.Int("percent")
	case "ecn":
		e.ecn = qos.TriOf(s.Args["state"] == "enable")
	case "red":
		e.red = qos.TriOf(s.Args["state"] == "enable")
	}
	if strings.HasPrefix(s.Form.ID, "ecn") || s.Form.ID == "red" {
		e.line, f.hasCC = s.Line, true
	}
}

// alpha reads "alpha_1_8", "alpha_4", "alpha_infinity" (Quality of Service
// guide, advanced buffer tuning).
func alpha(s string) (float64, bool) {
	name, ok := strings.CutPrefix(strings.ToLower(s), "alpha_")
	if !ok {
		return 0, false
	}
	if name == "infinity" {
		return 0, true // no limit by the pool: nothing that a number could say
	}
	top, bottom, fraction := strings.Cut(name, "_")
	a, ok1 := dialect.ParseList(top, 64)
	if !ok1 || len(a) != 1 {
		return 0, false
	}
	if !fraction {
		return float64(a[0]), true
	}
	b, ok2 := dialect.ParseList(bottom, 128)
	if !ok2 || len(b) != 1 || b[0] == 0 {
		return 0, false
	}
	return float64(a[0]) / float64(b[0]), true
}

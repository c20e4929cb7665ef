package audit

import (
	"slices"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/dialect"
	"weir/internal/qos"
	"weir/units"
)

// portsFromFacts builds the ports of a switch from its state outputs.
func (a *auditor) portsFromFacts(d *device) []qos.Port {
	var names []string
	for part := range d.facts {
		if part != "" && !strings.HasPrefix(part, "profile") {
			names = append(names, part)
		}
	}
	slices.SortFunc(names, dialect.CompareNames)
	var out []qos.Port
	for _, name := range names {
		list := append(slices.Clone(d.facts[""]), d.facts[name]...)
		slices.Sort(list)
		out = append(out, a.portFromFacts(name, list))
	}
	return out
}

// portFromFacts puts facts about one port together. Where several say the same,
// the last one counts.
func (a *auditor) portFromFacts(name string, list []int) qos.Port {
	p := qos.NewPort(name)
	tsa := [qos.Priorities]string{}
	for _, i := range list {
		f := &a.e.Facts[i]
		line := func(setting string) { p.Note(setting, f.Origin.Line) }
		key := strings.Split(f.Key, ".")
		switch key[0] {
		case "qos":
			readQoS(&p, key, f, &tsa, line)
		case "pause":
			b, ok := f.Value.Bool()
			if ok && key[1] == "rx" {
				p.GlobalPauseRx = qos.TriOf(b)
				line("pause")
			} else if ok && key[1] == "tx" {
				p.GlobalPauseTx = qos.TriOf(b)
				line("pause")
			}
		case "pfc":
			if f.Key == "pfc.mode" {
				p.PFCMode = f.Value.String()
				line("pfc")
				switch p.PFCMode {
				case "on":
					p.PFC = qos.On
				case "off":
					p.PFC = qos.Off
				}
			}
		case "link":
			u, ok := f.Value.Uint()
			switch {
			case ok && f.Key == "link.mtu":
				p.MTU = units.Bytes(u)
				line("mtu")
			case ok && f.Key == "link.speed":
				p.Speed = units.BitRate(u)
				line("speed")
			case f.Key == "link.neighbour":
				p.Peer = f.Value.String()
				line("peer")
			}
		case "ecn":
			readECN(&p, f)
		case "watchdog":
			readWatchdog(&p, f)
		}
	}
	for tc, t := range tsa {
		switch t {
		case "strict":
			p.Queues[tc].Strict = qos.On
		case "ets":
			p.Queues[tc].Strict = qos.Off
		}
	}
	return p
}

func readQoS(p *qos.Port, key []string, f *fact.Fact, tsa *[qos.Priorities]string, line func(string)) {
	number := func(i, limit int) (int, bool) {
		if i >= len(key) {
			return 0, false
		}
		n, err := strconv.Atoi(key[i])
		return n, err == nil && n >= 0 && n < limit
	}
	u, isUint := f.Value.Uint()
	switch key[1] {
	case "trust":
		line("trust")
		switch f.Value.String() {
		case "dscp":
			p.Trust = qos.TrustDSCP
		case "pcp":
			p.Trust = qos.TrustPCP
		case "both":
			p.Trust = qos.TrustBoth
		case "none":
			p.Trust = qos.TrustNone
		}
	case "default_priority":
		if isUint && u < qos.Priorities {
			p.DefaultPriority = uint8(u)
		}
	case "dscp":
		d, ok := number(2, 64)
		if !ok || len(key) < 4 {
			return
		}
		v := uint8(qos.Undefined)
		if isUint && u < qos.Priorities {
			v = uint8(u)
		}
		if key[3] == "priority" {
			p.DSCPToPriority[d] = v
			line(dialect.Key("dscp", d))
		} else if key[3] == "queue" {
			p.DSCPToQueue[d] = v
		}
	case "priority":
		if n, ok := number(2, qos.Priorities); ok && len(key) == 4 && isUint {
			switch key[3] {
			case "tc":
				if u < qos.Priorities {
					p.PriorityToQueue[n] = uint8(u)
					line(dialect.Key("queue", n))
				}
			case "mtu":
				p.PriorityMTU[n] = units.Bytes(u)
			}
		}
	case "pfc":
		if key[2] == "enabled" && f.Value.Kind() == fact.List {
			p.PFCMask = 0
			for _, s := range f.Value.List() {
				if n, err := strconv.Atoi(s); err == nil && n >= 0 && n < qos.Priorities {
					p.PFCMask |= 1 << n
				}
			}
			if p.PFCMode != "auto" {
				p.PFC = qos.TriOf(p.PFCMask != 0)
			}
			line("pfc")
		}
	case "tc":
		n, ok := number(2, qos.Priorities)
		if !ok || len(key) < 4 {
			return
		}
		switch key[3] {
		case "tsa":
			tsa[n] = f.Value.String()
			line(dialect.Key("schedule", n))
		case "bandwidth":
			if isUint && u <= 100 {
				p.Queues[n].Share = float64(u) / 100
			}
		}
	case "cable_length":
		if isUint && u < 100_000 {
			p.CableLength = units.Metres(u)
			line("cable_length")
		}
	}
}

// readECN reads the marking of a queue, whose number ends the subject's name.
func readECN(p *qos.Port, f *fact.Fact) {
	n := len(f.Subject.Name)
	if f.Subject.Kind != fact.Queue || n == 0 || f.Subject.Name[n-1] < '0' || f.Subject.Name[n-1] > '7' {
		return
	}
	at := int(f.Subject.Name[n-1] - '0')
	q := &p.Queues[at]
	p.Note(dialect.Key("ecn", at), f.Origin.Line)
	v, isNumber := f.Value.Float()
	b, isBool := f.Value.Bool()
	switch {
	case isBool && f.Key == "ecn.enabled":
		q.ECN = qos.TriOf(b)
	case isBool && f.Key == "ecn.drops":
		q.WRED = qos.TriOf(b || q.ECN == qos.On)
	case isNumber && f.Key == "ecn.min":
		q.Min = units.Bytes(v)
	case isNumber && f.Key == "ecn.max":
		q.Max = units.Bytes(v)
	case isNumber && f.Key == "ecn.probability":
		q.Probability = v / 100
	}
}

func readWatchdog(p *qos.Port, f *fact.Fact) {
	p.Note("watchdog", f.Origin.Line)
	b, isBool := f.Value.Bool()
	v, isNumber := f.Value.Float()
	switch {
	case isBool && f.Key == "watchdog.enabled":
		p.Watchdog = qos.TriOf(b)
	case f.Key == "watchdog.action":
		p.WatchdogAction = f.Value.String()
	case isNumber && v < 1e6 && f.Key == "watchdog.detect_time":
		p.WatchdogDetect = units.Time(v * float64(units.Millisecond))
	case isNumber && v < 1e6 && f.Key == "watchdog.restore_time":
		p.WatchdogRestore = units.Time(v * float64(units.Millisecond))
	}
}

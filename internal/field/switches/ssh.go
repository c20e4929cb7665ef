package switches

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"weir/internal/fact"
	"weir/internal/field/evidence"
	"weir/internal/field/remote"
	"weir/internal/telemetry"
)

// commands are what to ask a switch for, by operating system. They change
// nothing and cost the switch little.
var commands = map[string][]string{
	"sonic":   {"show pfc counters", "show queue counters", "show queue wredcounters", "show priority-group drop counters", "show pfcwd stats", "show interfaces counters"},
	"nxos":    {"show interface priority-flow-control", "show queuing interface", "show queuing pfc-queue interface"},
	"eos":     {"show priority-flow-control counters | json", "show qos interfaces ecn counters queue | json"},
	"cumulus": {"nv show interface qos roce counters -o json"},
	"huawei":  {"display dcb pfc interface", "display qos queue statistics"},
	"h3c":     {"display priority-flow-control interface"},
	"junos":   {"show interfaces extensive | no-more", "show interfaces queue | no-more"},
}

// Systems returns the operating systems whose commands are known.
func Systems() []string {
	out := make([]string, 0, len(commands))
	for _, os := range []string{"cumulus", "eos", "h3c", "huawei", "junos", "nxos", "sonic"} {
		if commands[os] != nil {
			out = append(out, os)
		}
	}
	return out
}

// SSH returns the poll of a switch by commands. Their output is read by the
// parsers of package evidence.
func SSH(run remote.Runner, host, system string) (Poll, error) {
	list, ok := commands[system]
	if !ok {
		return nil, fmt.Errorf("operating system %.40q: %s", system, strings.Join(Systems(), ", "))
	}
	return func(ctx context.Context) ([]Reading, error) {
		var out []Reading
		var last error
		answered := false
		for _, command := range list {
			res, err := run.Run(ctx, host, command, 20*time.Second)
			if err != nil {
				last = fmt.Errorf("%s: %w", command, err)
				continue
			}
			readings, err := ParseOutput(ctx, host, command, res.Stdout)
			if err != nil {
				return nil, err
			}
			answered = answered || len(readings) > 0
			out = append(out, readings...)
		}
		if !answered {
			if last == nil {
				last = fmt.Errorf("none of %q printed a counter", list)
			}
			return nil, last
		}
		return out, nil
	}, nil
}

// ParseOutput returns the counters that the output of a switch's command shows.
func ParseOutput(ctx context.Context, host, command string, text []byte) ([]Reading, error) {
	report, err := evidence.Read(ctx, evidence.Parsers(), evidence.Input{Name: host, Host: host, Command: strings.Fields(command), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }})
	if err != nil {
		return nil, err
	}
	var out []Reading
	for i := range report.Facts {
		if r, ok := fromFact(&report.Facts[i]); ok {
			out = append(out, r)
		}
	}
	return out, nil
}

// fromFact turns a fact about a port or a queue into a reading of its metric.
// A value that is absent is not zero and gives none.
func fromFact(f *fact.Fact) (Reading, bool) {
	id, ok := telemetry.Lookup(f.Origin.Metric)
	if !ok || telemetry.Table()[id].Side != telemetry.SwitchSide {
		return Reading{}, false
	}
	r := Reading{Metric: id, Port: f.Subject.Name}
	switch v := f.Value; v.Kind() {
	case fact.Uint:
		r.Value, _ = v.Uint()
	case fact.Text:
		if f.Key != "watchdog.state" {
			return r, false
		}
		if strings.EqualFold(v.String(), "stormed") {
			r.Value = 1
		}
	default:
		return r, false
	}
	sub := ""
	if f.Subject.Kind == fact.Queue {
		i := strings.LastIndexByte(f.Subject.Name, '/')
		if i < 0 {
			return r, false
		}
		r.Port, sub = f.Subject.Name[:i], queueNumber(f.Subject.Name[i+1:])
	} else if f.Subject.Kind != fact.Port {
		return r, false
	}
	if r.Port == "" {
		return r, false
	}
	_, leaf, _ := strings.Cut(f.Key, ".")
	for _, name := range telemetry.Table()[id].Labels {
		value := ""
		switch name {
		case "direction":
			value, _, _ = strings.Cut(leaf, "_") // rx or tx
		case "priority", "queue":
			value = sub
		case "event":
			value = map[string]string{"storms": "detected", "restores": "restored"}[leaf]
		case "symbols":
			value = strings.TrimLeft(leaf, "abcdefghijklmnopqrstuvwxyz_.")
		}
		if value != "" {
			r.Labels = append(r.Labels, telemetry.Label{Name: name, Value: value})
		}
	}
	return r, true
}

// queueNumber is the number in a queue's name: "UC3", "3".
func queueNumber(s string) string {
	digits := strings.TrimLeft(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_ ")
	if _, err := strconv.ParseUint(digits, 10, 16); err == nil {
		return digits
	}
	return s
}

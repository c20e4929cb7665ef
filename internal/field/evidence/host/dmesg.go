package host

import (
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

var (
	dmesgStamp  = tool.MustCompile(`^(?:<\d+>)?\[\s*(?:\d+\.\d{6}|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\](?:\[[^\]]*\])? (.*)$`)
	syslogStamp = tool.MustCompile(`^(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+) (\S+) kernel: (?:\[\s*\d+\.\d+\] )?(.*)$`)
	pciInText   = tool.MustCompile(`\b([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\b`)
	driverLine  = tool.MustCompile(`^(\S+) ([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?: (\S+?))?:? `)
	bandwidth   = tool.MustCompile(`([\d.]+) Gb/s available PCIe bandwidth, limited by ([\d.]+) ?GT/s PCIe x(\d+) link at (\S+)(?: \(capable of ([\d.]+) Gb/s with ([\d.]+) ?GT/s PCIe x(\d+) link\))?`)
	slotPower   = tool.MustCompile(`insufficient power on the PCIe slot \(([\d.]+)W\)`)
	linkChange  = tool.MustCompile(`(?i)\blink (?:is )?(up|down)\b`)
	moduleFail  = tool.MustCompile(`(?:could not insert|Failed to insert|Error inserting) '?(\w+)'?:? ?(.*)$`)
	symbolFail  = tool.MustCompile(`^(\w+): (?:disagrees about version of symbol|Unknown symbol|version magic) ?(.*)$`)
	xid         = tool.MustCompile(`NVRM: Xid \((PCI:[0-9a-fA-F:.]+)[^)]*\): (\d+)`)
)

var dmesg = tool.Parser{
	Tool:     "dmesg",
	Versions: "util-linux 2.3x with and without -T, journalctl -k, syslog; modprobe errors",
	Programs: []string{"dmesg", "journalctl", "modprobe"},
	Keys: []string{
		"kernel.event", "kernel.message", "pcie.bandwidth", "pcie.max_bandwidth", "pcie.limited_by", "pcie.speed", "pcie.width", "pcie.max_speed", "pcie.max_width",
		"pcie.slot_power", "host.module_error",
	},
	Recognise: func(w *tool.Window) tool.Score {
		t := w.First()
		switch {
		case dmesgStamp.MatchString(t), syslogStamp.MatchString(t):
			return tool.Likely + 10
		case strings.Contains(t, "nsert") && moduleFail.MatchString(t), bandwidth.MatchString(t), xid.MatchString(t):
			return tool.Sure
		}
		return tool.No
	},
	New: func(ctx *tool.Context) tool.Session {
		return &tool.Each{
			Belongs: func(l *tool.Line) tool.Score {
				if dmesgStamp.MatchString(l.Text) || syslogStamp.MatchString(l.Text) || moduleFail.MatchString(l.Text) {
					return tool.Likely + 10
				}
				return tool.No
			},
			Read: func(l *tool.Line, out *tool.Out) {
				at := *ctx
				text := l.Text
				if m := dmesgStamp.FindStringSubmatch(text); m != nil {
					text = m[1]
				} else if m := syslogStamp.FindStringSubmatch(text); m != nil {
					text = m[2]
					if at.Host == "" {
						at.Host = m[1]
					}
				}
				kernelMessage(l, out, &at, text)
			},
		}
	},
}

// kernelMessage reads one message. Those that say nothing about the network or
// the machine's health are understood and give no fact.
func kernelMessage(l *tool.Line, out *tool.Out, ctx *tool.Context, text string) {
	dev := ctx.HostSubject()
	if m := pciInText.FindStringSubmatch(text); m != nil {
		dev = pciDevice(ctx, m[1])
	}
	event := ""
	switch lower := strings.ToLower(text); {
	case bandwidth.MatchString(text):
		pcieBandwidth(l, out, dev, bandwidth.FindStringSubmatch(text))
		return
	case slotPower.MatchString(text):
		event = "pcie_power"
		out.Decimal(l.N, dev, "pcie.slot_power", slotPower.FindStringSubmatch(text)[1], 1)
	case moduleFail.MatchString(text):
		event = "module_error"
		m := moduleFail.FindStringSubmatch(text)
		out.Text(l.N, ctx.HostSubject(), "host.module_error", strings.TrimSuffix(m[1]+": "+m[2], ": "))
	case symbolFail.MatchString(text):
		event = "module_error"
		out.Text(l.N, ctx.HostSubject(), "host.module_error", text)
	case xid.MatchString(text):
		event = "xid"
	case strings.Contains(text, "AER:") || strings.Contains(text, "PCIe Bus Error"):
		event = "pcie_error"
	case strings.Contains(text, "NETDEV WATCHDOG"), strings.Contains(lower, "tx timeout"), strings.Contains(lower, "transmit queue") && strings.Contains(lower, "timed out"):
		event = "tx_timeout"
	case strings.Contains(text, "Hardware Error"), strings.Contains(text, "Machine check"):
		event = "machine_check"
	case strings.Contains(text, "Out of memory:"), strings.Contains(lower, "invoked oom-killer"):
		event = "oom"
	case firmwareTrouble(lower):
		event = "firmware_error"
	case linkChange.MatchString(text) && !strings.Contains(lower, "not ready"):
		event = "link_" + strings.ToLower(linkChange.FindStringSubmatch(text)[1])
		if m := driverLine.FindStringSubmatch(text); m != nil && m[3] != "" {
			dev = ctx.NIC(m[3])
		}
	default:
		return
	}
	out.Text(l.N, dev, "kernel.event", event)
	out.Text(l.N, dev, "kernel.message", tool.Kept(text))
}

// firmwareTrouble recognises health reports of NIC firmware.
func firmwareTrouble(lower string) bool {
	if !strings.HasPrefix(lower, "mlx5") && !strings.HasPrefix(lower, "bnxt") && !strings.HasPrefix(lower, "ice ") && !strings.HasPrefix(lower, "ionic") && !strings.HasPrefix(lower, "irdma") {
		return false
	}
	for _, w := range []string{"assert_var", "health compromised", "health recovery", "device's health", "fatal error", "fw error", "firmware error", "synd ", "syndrome", "failed", "timed out", "high temperature"} {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

func pcieBandwidth(l *tool.Line, out *tool.Out, dev fact.Subject, m []string) {
	gbps(l.N, out, dev, "pcie.bandwidth", m[1])
	out.Decimal(l.N, dev, "pcie.speed", m[2], 1)
	out.Number(l.N, dev, "pcie.width", m[3])
	out.Text(l.N, dev, "pcie.limited_by", m[4])
	if m[5] != "" {
		gbps(l.N, out, dev, "pcie.max_bandwidth", m[5])
		out.Decimal(l.N, dev, "pcie.max_speed", m[6], 1)
		out.Number(l.N, dev, "pcie.max_width", m[7])
	}
}

// gbps puts out a rate printed in Gb/s as whole bits a second.
func gbps(n int, out *tool.Out, s fact.Subject, key, text string) {
	if f, err := strconv.ParseFloat(text, 64); err == nil && f >= 0 && f < 1e6 {
		out.Uint(n, s, key, uint64(f*1e9+0.5))
	}
}

// scaled puts out a whole number times a factor, unless that overflows.
func scaled(n int, out *tool.Out, s fact.Subject, key, text string, factor uint64) bool {
	u, err := strconv.ParseUint(text, 10, 64)
	if err != nil || factor != 0 && u > ^uint64(0)/factor {
		return false
	}
	out.Uint(n, s, key, u*factor)
	return true
}

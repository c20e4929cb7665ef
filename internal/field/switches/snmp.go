package switches

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/gosnmp/gosnmp"

	"weir/internal/telemetry"
)

// SNMPConfig says how to ask a switch by SNMP.
type SNMPConfig struct {
	Address   string // host or host:port; default port 161
	Version   string // "2c" (default) or "3"
	Community string // of 2c
	// Of version 3, with SHA and AES.
	User, AuthPassphrase, PrivPassphrase string
}

func metric(name string, labels ...string) Reading {
	r := Reading{Metric: telemetry.MustLookup(name)}
	for i := 0; i < len(labels); i += 2 {
		r.Labels = append(r.Labels, telemetry.Label{Name: labels[i], Value: labels[i+1]})
	}
	return r
}

// column is a column of a table of ports.
type column struct {
	oid  string
	bits uint8
	Reading
}

// columns are those of IF-MIB (RFC 2863) and IEEE8021-PFC-MIB. That MIB counts
// per port, over all priorities; requests are frames sent.
func columns() []column {
	return []column{
		{".1.3.6.1.2.1.31.1.1.1.6", 64, metric("roce_switch_port_bytes_total", "direction", "rx")},
		{".1.3.6.1.2.1.31.1.1.1.10", 64, metric("roce_switch_port_bytes_total", "direction", "tx")},
		{".1.3.6.1.2.1.31.1.1.1.7", 64, metric("roce_switch_port_packets_total", "direction", "rx")},
		{".1.3.6.1.2.1.31.1.1.1.11", 64, metric("roce_switch_port_packets_total", "direction", "tx")},
		{".1.3.6.1.2.1.2.2.1.13", 32, metric("roce_switch_port_discards_total", "direction", "rx")},
		{".1.3.6.1.2.1.2.2.1.19", 32, metric("roce_switch_port_discards_total", "direction", "tx")},
		{".1.3.6.1.2.1.2.2.1.14", 32, metric("roce_switch_port_errors_total", "direction", "rx")},
		{".1.3.6.1.2.1.2.2.1.20", 32, metric("roce_switch_port_errors_total", "direction", "tx")},
		{".1.3.111.2.802.1.1.21.1.1.1.2", 32, metric("roce_switch_pfc_pause_frames_total", "direction", "tx")},
		{".1.3.111.2.802.1.1.21.1.1.1.3", 32, metric("roce_switch_pfc_pause_frames_total", "direction", "rx")},
	}
}

const (
	oidIfName       = ".1.3.6.1.2.1.31.1.1.1.1"
	oidIfHighSpeed  = ".1.3.6.1.2.1.31.1.1.1.15" // Mb/s
	oidIfOperStatus = ".1.3.6.1.2.1.2.2.1.8"     // 1 up, 2 down ...
	maxInterfaces   = 4096
)

// SNMP returns the poll of a switch.
func SNMP(c SNMPConfig) (Poll, error) {
	host, portText, err := net.SplitHostPort(c.Address)
	if err != nil {
		host, portText = c.Address, "161"
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || host == "" {
		return nil, fmt.Errorf("SNMP address %.80q: host or host:port", c.Address)
	}
	switch c.Version {
	case "", "2c", "3":
	default:
		return nil, fmt.Errorf("SNMP version %.10q: 2c or 3", c.Version)
	}
	return func(ctx context.Context) ([]Reading, error) {
		g := &gosnmp.GoSNMP{
			Target: host, Port: uint16(port), Community: c.Community, Version: gosnmp.Version2c, Context: ctx,
			Timeout: 2 * time.Second, Retries: 1, MaxRepetitions: 25, MaxOids: gosnmp.MaxOids,
		}
		if c.Version == "3" {
			g.Version, g.SecurityModel, g.MsgFlags = gosnmp.Version3, gosnmp.UserSecurityModel, gosnmp.AuthPriv
			g.SecurityParameters = &gosnmp.UsmSecurityParameters{
				UserName: c.User, AuthenticationProtocol: gosnmp.SHA, AuthenticationPassphrase: c.AuthPassphrase,
				PrivacyProtocol: gosnmp.AES, PrivacyPassphrase: c.PrivPassphrase,
			}
		}
		if err := g.Connect(); err != nil {
			return nil, err
		}
		defer g.Conn.Close()
		return walk(g)
	}, nil
}

// walk reads the tables column by column. A column that the switch does not
// have is empty; only the names must be there.
func walk(g *gosnmp.GoSNMP) ([]Reading, error) {
	names := map[string]string{}
	if err := each(g, oidIfName, func(index string, p gosnmp.SnmpPDU) {
		if b, ok := p.Value.([]byte); ok && len(names) < maxInterfaces {
			names[index] = strings.ToValidUTF8(string(b), "?")
		}
	}); err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no interface names (ifName of IF-MIB)")
	}
	var out []Reading
	for _, c := range columns() {
		if err := each(g, c.oid, func(index string, p gosnmp.SnmpPDU) {
			if v, ok := counter(p); ok && names[index] != "" {
				r := c.Reading
				r.Port, r.Value, r.Bits = names[index], v, c.bits
				out = append(out, r)
			}
		}); err != nil {
			return nil, err
		}
	}
	speeds := map[string]string{}
	if err := each(g, oidIfHighSpeed, func(index string, p gosnmp.SnmpPDU) {
		if v, ok := counter(p); ok && v > 0 {
			speeds[index] = strconv.FormatUint(v, 10) + "Mbps"
		}
	}); err != nil {
		return nil, err
	}
	err := each(g, oidIfOperStatus, func(index string, p gosnmp.SnmpPDU) {
		if v, ok := counter(p); ok && names[index] != "" {
			state := "down"
			if v == 1 {
				state = "up"
			}
			r := metric("roce_switch_port_info", "speed", speeds[index], "state", state)
			r.Port, r.Value = names[index], 1
			out = append(out, r)
		}
	})
	return out, err
}

// each calls f with the rows of a column.
func each(g *gosnmp.GoSNMP, oid string, f func(index string, p gosnmp.SnmpPDU)) error {
	n := 0
	return g.BulkWalk(oid, func(p gosnmp.SnmpPDU) error {
		if n++; n > maxInterfaces {
			return fmt.Errorf("more than %d rows below %s", maxInterfaces, oid)
		}
		if index, ok := strings.CutPrefix(p.Name, oid+"."); ok {
			f(index, p)
		}
		return nil
	})
}

// counter returns a number of an answer.
func counter(p gosnmp.SnmpPDU) (uint64, bool) {
	switch p.Type {
	case gosnmp.Counter32, gosnmp.Counter64, gosnmp.Gauge32, gosnmp.Integer, gosnmp.Uinteger32:
		n := gosnmp.ToBigInt(p.Value)
		return n.Uint64(), n.IsUint64()
	}
	return 0, false
}

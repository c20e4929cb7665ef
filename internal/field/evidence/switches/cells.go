package switches

import (
	"math"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/dialect"
	"weir/internal/field/evidence/tool"
)

// metrics are the names in the metric table of keys that it has.
var metrics = map[string]string{
	"pfc.rx_frames": "roce_switch_pfc_pause_frames_total", "pfc.tx_frames": "roce_switch_pfc_pause_frames_total",
	"pfc.rx_pause_time": "roce_switch_pfc_pause_duration_total", "pfc.tx_pause_time": "roce_switch_pfc_pause_duration_total",
	"pfc.rx_transitions": "roce_switch_pfc_pause_transitions_total",
	"pause.rx_frames":    "roce_switch_global_pause_frames_total", "pause.tx_frames": "roce_switch_global_pause_frames_total",
	"port.rx_packets": "roce_switch_port_packets_total", "port.tx_packets": "roce_switch_port_packets_total",
	"port.rx_bytes": "roce_switch_port_bytes_total", "port.tx_bytes": "roce_switch_port_bytes_total",
	"port.rx_drops": "roce_switch_port_discards_total", "port.tx_drops": "roce_switch_port_discards_total",
	"port.rx_errors": "roce_switch_port_errors_total", "port.tx_errors": "roce_switch_port_errors_total",
	"queue.packets": "roce_switch_queue_packets_total", "queue.bytes": "roce_switch_queue_bytes_total",
	"queue.drop_packets": "roce_switch_queue_dropped_packets_total", "queue.drop_bytes": "roce_switch_queue_dropped_bytes_total",
	"queue.ecn_marked_packets": "roce_switch_queue_ecn_marked_packets_total", "queue.ecn_marked_bytes": "roce_switch_queue_ecn_marked_bytes_total",
	"queue.wred_drop_packets": "roce_switch_queue_wred_dropped_packets_total",
	"queue.depth":             "roce_switch_queue_length_bytes", "queue.watermark": "roce_switch_queue_watermark_bytes",
	"pg.drop_packets": "roce_switch_pg_dropped_packets_total", "pg.shared_watermark": "roce_switch_pg_shared_watermark_bytes",
	"pg.headroom_watermark": "roce_switch_pg_headroom_watermark_bytes",
	"watchdog.storms":       "roce_switch_pfc_watchdog_events_total", "watchdog.restores": "roce_switch_pfc_watchdog_events_total",
	"watchdog.rx_drops": "roce_switch_pfc_watchdog_dropped_packets_total", "watchdog.tx_drops": "roce_switch_pfc_watchdog_dropped_packets_total",
	"watchdog.state": "roce_switch_pfc_watchdog_stormed",
	"fec.corrected":  "roce_switch_fec_corrected_frames_total", "fec.uncorrected": "roce_switch_fec_uncorrected_frames_total",
	"fec.symbol_errors": "roce_switch_fec_symbol_errors_total",
}

// put puts out a value with the name of its metric. A value that has not the
// form of its key, such as a count with a fraction, is left out: false.
func put(out *tool.Out, line int, s fact.Subject, key string, v fact.Value) bool {
	metric := metrics[key]
	if strings.HasPrefix(key, "fec.codewords.") {
		metric = "roce_switch_fec_codewords_total"
	}
	if k, ok := fact.Lookup(key); ok && v.Kind() != fact.Absent && v.Kind() != k.Form {
		f, isNumber := v.Float()
		if k.Form != fact.Float || !isNumber {
			return false
		}
		v = fact.OfFloat(f)
	}
	out.Measured(line, s, key, metric, v)
	return true
}

// counter puts out a count that has no key of its own, under the name that
// the switch gives it.
func counter(out *tool.Out, line int, s fact.Subject, name string, v fact.Value) {
	if v.Kind() == fact.Uint || v.Kind() == fact.Absent {
		out.Counter(line, s, name, v)
	}
}

// absent reports whether a cell says that there is no value. That is not zero.
func absent(cell string) bool {
	switch strings.ToLower(cell) {
	case "", "-", "--", "n/a", "na", "none", "not", "unavailable":
		return true
	}
	return false
}

// number reads a cell that is a count or a figure: thousands separators are
// taken off, a cell without value is absent. ok is false for anything else.
func number(cell string) (v fact.Value, ok bool) {
	cell = strings.TrimSpace(cell)
	if absent(cell) {
		return fact.Value{}, true
	}
	plain := strings.ReplaceAll(cell, ",", "")
	if u, err := strconv.ParseUint(plain, 10, 64); err == nil {
		return fact.OfUint(u), true
	}
	if f, err := strconv.ParseFloat(plain, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
		return fact.OfFloat(f), true
	}
	return fact.Value{}, false
}

// real is number as a real value, for keys whose form that is.
func real(cell string) (fact.Value, bool) {
	v, ok := number(cell)
	if f, isNumber := v.Float(); isNumber {
		return fact.OfFloat(f), ok
	}
	return v, ok
}

// sizeUnits are the units of sizes that switches print. Those that say KB
// mean 1024 where the same value can be seen in bytes elsewhere.
var sizeUnits = map[string]float64{
	"": 1, "b": 1, "byte": 1, "bytes": 1, "kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30,
	"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30,
}

// size reads "13.47 MB", "144 Bytes", "1,024", "40(K)" as bytes. A rounded
// figure gives a rounded number of bytes.
func size(cell string) (fact.Value, bool) {
	cell = strings.TrimSpace(cell)
	if absent(cell) || strings.EqualFold(cell, "inf") {
		return fact.Value{}, true
	}
	cell = strings.NewReplacer("(", " ", ")", "", ",", "").Replace(cell)
	i := 0
	for i < len(cell) && (cell[i] >= '0' && cell[i] <= '9' || cell[i] == '.') {
		i++
	}
	scale, known := sizeUnits[strings.ToLower(strings.TrimSpace(cell[i:]))]
	if !known || i == 0 {
		return fact.Value{}, false
	}
	if u, err := strconv.ParseUint(cell[:i], 10, 64); err == nil && scale == 1 {
		return fact.OfUint(u), true
	}
	f, err := strconv.ParseFloat(cell[:i], 64)
	if err != nil || f*scale >= math.MaxInt64 {
		return fact.Value{}, false
	}
	return fact.OfUint(uint64(math.Round(f * scale))), true
}

// rateUnits are bits per second of the units that SONiC prints.
var rateUnits = map[string]float64{"B/s": 8, "KB/s": 8e3, "MB/s": 8e6, "GB/s": 8e9, "TB/s": 8e12, "/s": 1, "%": 1, "bps": 1, "Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9}

// rate reads "2000.00 MB/s" in bits a second, "247000.00/s" and "64.00%" as
// they are.
func rate(cell string) (fact.Value, bool) {
	cell = strings.TrimSpace(cell)
	if absent(cell) {
		return fact.Value{}, true
	}
	i := 0
	for i < len(cell) && (cell[i] >= '0' && cell[i] <= '9' || cell[i] == '.' || cell[i] == ',') {
		i++
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(cell[:i], ",", ""), 64)
	scale, known := rateUnits[strings.TrimSpace(cell[i:])]
	if err != nil || !known {
		return fact.Value{}, false
	}
	return fact.OfFloat(f * scale), true
}

// truth reads the words for on and off.
func truth(cell string) (value, ok bool) {
	switch strings.ToLower(strings.TrimSpace(cell)) {
	case "on", "yes", "true", "enable", "enabled", "active", "up":
		return true, true
	case "off", "no", "false", "disable", "disabled", "inactive", "down":
		return false, true
	}
	return false, false
}

// keyPart makes a name fit into a dotted key.
func keyPart(name string) string {
	if name = strings.NewReplacer(".", "_", " ", "_").Replace(strings.TrimSpace(name)); name == "" {
		return "unnamed"
	}
	return name
}

// index reports whether a cell is the number of a priority, queue or the like.
func index(cell string) bool {
	return cell != "" && len(cell) <= 3 && strings.Trim(cell, "0123456789") == ""
}

// queueName is how a queue of a port is named whatever the vendor writes:
// "UC3" and "3" are "3"; multicast, VOQ and other queues keep their letters.
func queueName(s string) string {
	if rest, ok := strings.CutPrefix(strings.ToUpper(s), "UC"); ok && rest != "" {
		return rest
	}
	return s
}

// priorityList turns "0,3", "3 4" or "0,3-5" into its members.
func priorityList(s string) []string {
	out := []string{}
	for p := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == ',' || r == ' ' }) {
		if absent(p) {
			continue
		}
		list, ok := dialect.ParseList(p, 255)
		if !ok {
			out = append(out, p)
		}
		for _, n := range list {
			out = append(out, strconv.Itoa(n))
		}
	}
	return out
}

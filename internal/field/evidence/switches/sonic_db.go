package switches

import (
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
	"weir/internal/telemetry"
)

// sonicCounters reads dumps of redis' COUNTERS_DB ("sonic-db-dump -n
// COUNTERS_DB"): hashes by object id, all values strings. Names of objects
// come from the maps of the same dump, where it has them.
var sonicCounters = tool.Parser{
	Tool: "sonic COUNTERS_DB", Versions: sonicVersions, Programs: []string{"sonic-db-dump", "sonic-db-cli", "redis-dump"},
	Keys: []string{"pfc.rx_frames", "pfc.tx_frames", "pfc.rx_pause_time", "pfc.rx_transitions", "pfc.rx_recent_pause_time", "pause.rx_frames", "pause.tx_frames",
		"port.rx_packets", "port.tx_packets", "port.rx_bytes", "port.tx_bytes", "port.rx_errors", "port.tx_errors", "port.rx_drops", "port.tx_drops", "port.trimmed", "port.trim_sent", "port.trim_dropped",
		"fec.corrected", "fec.uncorrected", "fec.symbol_errors", "fec.codewords.{symbols}",
		"queue.packets", "queue.bytes", "queue.drop_packets", "queue.drop_bytes", "queue.ecn_marked_packets", "queue.ecn_marked_bytes", "queue.wred_drop_packets", "queue.wred_drop_bytes", "queue.depth", "queue.watermark",
		"pg.drop_packets", "pg.shared_watermark", "pg.headroom_watermark",
		"watchdog.state", "watchdog.action", "watchdog.detect_time", "watchdog.restore_time", "watchdog.storms", "watchdog.restores",
		"watchdog.tx_packets", "watchdog.tx_drops", "watchdog.rx_packets", "watchdog.rx_drops", "watchdog.last_tx_packets", "watchdog.last_tx_drops", "watchdog.last_rx_packets", "watchdog.last_rx_drops",
		"counter.{name...}"},
	RecogniseJSON: func(doc *tool.Node, _ *tool.Context) tool.Score {
		for i, m := range doc.Members() {
			if i > 20 {
				break
			}
			if strings.HasPrefix(m.Key, "COUNTERS:oid:") || strings.HasPrefix(m.Key, "COUNTERS_PORT_NAME_MAP") || strings.HasPrefix(m.Key, "COUNTERS_QUEUE_NAME_MAP") {
				return tool.Sure
			}
			for j, c := range m.Members() {
				if strings.HasPrefix(c.Key, "SAI_PORT_STAT_") || strings.HasPrefix(c.Key, "SAI_QUEUE_STAT_") || strings.HasPrefix(c.Key, "PFC_WD_QUEUE_STATS_") {
					return tool.Sure
				}
				if j > 5 {
					break
				}
			}
		}
		return tool.No
	},
	ParseJSON: parseCountersDB,
}

// sonicFields are the fixed names of COUNTERS_DB. Times are microseconds there
// and milliseconds in facts.
var sonicFields = map[string]string{
	"SAI_PORT_STAT_PAUSE_RX_PKTS": "pause.rx_frames", "SAI_PORT_STAT_PAUSE_TX_PKTS": "pause.tx_frames",
	"SAI_PORT_STAT_IF_IN_UCAST_PKTS": "port.rx_packets", "SAI_PORT_STAT_IF_OUT_UCAST_PKTS": "port.tx_packets",
	"SAI_PORT_STAT_IF_IN_OCTETS": "port.rx_bytes", "SAI_PORT_STAT_IF_OUT_OCTETS": "port.tx_bytes",
	"SAI_PORT_STAT_IF_IN_ERRORS": "port.rx_errors", "SAI_PORT_STAT_IF_OUT_ERRORS": "port.tx_errors",
	"SAI_PORT_STAT_IF_IN_DISCARDS": "port.rx_drops", "SAI_PORT_STAT_IF_OUT_DISCARDS": "port.tx_drops",
	"SAI_PORT_STAT_TRIM_PACKETS": "port.trimmed", "SAI_PORT_STAT_TX_TRIM_PACKETS": "port.trim_sent", "SAI_PORT_STAT_DROPPED_TRIM_PACKETS": "port.trim_dropped",
	"SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES": "fec.corrected", "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES": "fec.uncorrected", "SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS": "fec.symbol_errors",
	"SAI_QUEUE_STAT_PACKETS": "queue.packets", "SAI_QUEUE_STAT_BYTES": "queue.bytes", "SAI_QUEUE_STAT_DROPPED_PACKETS": "queue.drop_packets", "SAI_QUEUE_STAT_DROPPED_BYTES": "queue.drop_bytes",
	"SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS": "queue.ecn_marked_packets", "SAI_QUEUE_STAT_WRED_ECN_MARKED_BYTES": "queue.ecn_marked_bytes",
	"SAI_QUEUE_STAT_WRED_DROPPED_PACKETS": "queue.wred_drop_packets", "SAI_QUEUE_STAT_WRED_DROPPED_BYTES": "queue.wred_drop_bytes",
	"SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES": "queue.depth", "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES": "queue.watermark",
	"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS": "pg.drop_packets", "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES": "pg.shared_watermark",
	"SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES": "pg.headroom_watermark",
	"PFC_WD_STATUS": "watchdog.state", "PFC_WD_ACTION": "watchdog.action",
	"PFC_WD_DETECTION_TIME": "watchdog.detect_time", "PFC_WD_RESTORATION_TIME": "watchdog.restore_time",
	"PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED": "watchdog.storms", "PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED": "watchdog.restores",
	"PFC_WD_QUEUE_STATS_TX_PACKETS": "watchdog.tx_packets", "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS": "watchdog.tx_drops",
	"PFC_WD_QUEUE_STATS_RX_PACKETS": "watchdog.rx_packets", "PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS": "watchdog.rx_drops",
	"PFC_WD_QUEUE_STATS_TX_PACKETS_LAST": "watchdog.last_tx_packets", "PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS_LAST": "watchdog.last_tx_drops",
	"PFC_WD_QUEUE_STATS_RX_PACKETS_LAST": "watchdog.last_rx_packets", "PFC_WD_QUEUE_STATS_RX_DROPPED_PACKETS_LAST": "watchdog.last_rx_drops",
	"SAI_BUFFER_POOL_STAT_WATERMARK_BYTES": "", "SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES": "",
}

// fields returns the members of an object of a dump: directly, or below
// "value" as sonic-db-dump prints them.
func fields(n *tool.Node) []*tool.Node {
	if v := n.Get("value"); v != nil && v.Kind == tool.Object && n.Get("type") != nil {
		return v.Members()
	}
	return n.Members()
}

func parseCountersDB(doc *tool.Node, ctx *tool.Context, out *tool.Out) {
	names := objectNames(doc)
	for _, obj := range doc.Members() {
		id, isCounter := strings.CutPrefix(obj.Key, "COUNTERS:")
		if strings.HasPrefix(obj.Key, "COUNTERS_") || strings.HasPrefix(obj.Key, "RATES") {
			continue
		}
		if !isCounter {
			id = obj.Key
		}
		name := names[id]
		if name == "" {
			name = id // nothing names the object: its id does
		}
		for _, c := range fields(obj) {
			sonicField(ctx, out, name, c)
		}
	}
}

// objectNames reads COUNTERS_PORT_NAME_MAP and its likes: name -> id.
func objectNames(doc *tool.Node) map[string]string {
	names := make(map[string]string)
	for _, m := range doc.Members() {
		if !strings.HasPrefix(m.Key, "COUNTERS_") || !strings.HasSuffix(m.Key, "_NAME_MAP") {
			continue
		}
		for _, n := range fields(m) {
			name := n.Key
			if port, index, ok := strings.Cut(name, ":"); ok {
				name = port + "/" + index
				if strings.Contains(m.Key, "_PG_") {
					name = port + "/PG" + index
				}
			}
			names[n.Str()] = name
		}
	}
	return names
}

// sonicField puts out one counter of an object: of a priority, a port, a
// queue or a priority group.
func sonicField(ctx *tool.Context, out *tool.Out, object string, c *tool.Node) {
	port := ctx.Port(object)
	key, known := sonicFields[c.Key]
	subject := port
	if strings.HasPrefix(c.Key, "SAI_QUEUE_") || strings.HasPrefix(c.Key, "SAI_INGRESS_PRIORITY_GROUP_") || strings.HasPrefix(c.Key, "PFC_WD_") {
		subject = fact.Subject{Kind: fact.Queue, Host: ctx.Host, Name: object}
	}
	if !known {
		subject, key = perPriority(ctx, object, c.Key, subject)
	}
	if key == "" {
		if v, ok := number(c.Str()); ok {
			counter(out, c.Line, subject, keyPart(c.Key), v)
		}
		return
	}
	switch key {
	case "watchdog.state", "watchdog.action":
		put(out, c.Line, subject, key, fact.OfText(c.Str()))
		return
	case "watchdog.detect_time", "watchdog.restore_time":
		if us, ok := c.Uint(); ok {
			out.Float(c.Line, subject, key, float64(us)/1000)
		}
		return
	}
	if v, ok := number(c.Str()); ok {
		put(out, c.Line, subject, key, v)
	}
}

// perPriority finds the metric of a name with a number in it.
func perPriority(ctx *tool.Context, object, name string, subject fact.Subject) (fact.Subject, string) {
	if rest, ok := strings.CutPrefix(name, "EST_PORT_STAT_PFC_"); ok {
		if prio, ok := strings.CutSuffix(rest, "_RECENT_PAUSE_TIME_US"); ok {
			return ctx.Queue(object, prio), "pfc.rx_recent_pause_time"
		}
	}
	src, ok := telemetry.Vendor(telemetry.SONiC, name)
	if !ok {
		return subject, ""
	}
	labels := make(map[string]string)
	for _, l := range src.Labels {
		labels[l.Name] = l.Value
	}
	switch telemetry.Table()[src.Metric].Name {
	case "roce_switch_pfc_pause_frames_total":
		return ctx.Queue(object, labels["priority"]), "pfc." + labels["direction"] + "_frames"
	case "roce_switch_pfc_pause_duration_total":
		return ctx.Queue(object, labels["priority"]), "pfc." + labels["direction"] + "_pause_time"
	case "roce_switch_pfc_pause_transitions_total":
		if labels["direction"] == "rx" {
			return ctx.Queue(object, labels["priority"]), "pfc.rx_transitions"
		}
	case "roce_switch_fec_codewords_total":
		return subject, "fec.codewords." + labels["symbols"]
	}
	return subject, ""
}

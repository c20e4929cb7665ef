package telemetry

var (
	queueLabel    = []string{"queue"}
	priorityLabel = []string{"priority"}
	pfcLabels     = []string{"priority", "direction"}
	direction     = []string{"direction"}
)

// sw is a metric of a switch. oc is the path below OpenConfig's interface or
// queue state.
func sw(name, unit, help string, labels []string, sonic, oc string) Metric {
	m := Metric{Name: "roce_switch_" + name, Unit: unit, Help: help, Side: SwitchSide, Bits: 64, Labels: labels}
	m.Vendors = map[string][]string{}
	if sonic != "" {
		m.Vendors[SONiC] = []string{sonic}
	}
	if oc != "" {
		m.Vendors[OpenConfig] = []string{oc}
	}
	return m
}

func gauge(m Metric) Metric {
	m.Kind, m.Bits = Gauge, 0
	return m
}

// switchMetrics are those of ports, queues and PFC.
var switchMetrics = []Metric{
	{Name: "roce_switch_port_info", Kind: Info, Side: SwitchSide, Unit: "info", Help: "The port: always 1, the facts are in the labels.", Labels: []string{"speed", "peer", "state"}},
	sw("port_bytes_total", "bytes", "Bytes of a port.", direction, "SAI_PORT_STAT_IF_{DIR}_OCTETS", "{dir}-octets"),
	sw("port_packets_total", "packets", "Unicast packets of a port.", direction, "SAI_PORT_STAT_IF_{DIR}_UCAST_PKTS", "{dir}-unicast-pkts"),
	sw("port_discards_total", "packets", "Packets that a port discarded.", direction, "SAI_PORT_STAT_IF_{DIR}_DISCARDS", "{dir}-discards"),
	sw("port_errors_total", "packets", "Packets with an error.", direction, "SAI_PORT_STAT_IF_{DIR}_ERRORS", "{dir}-errors"),
	sw("port_lost_frames_total", "frames", "Frames lost on the cable behind a port. Simulated fabrics only.", nil, "", ""),
	sw("queue_packets_total", "packets", "Packets sent from a queue.", queueLabel, "SAI_QUEUE_STAT_PACKETS", "transmit-pkts"),
	sw("queue_bytes_total", "bytes", "Bytes sent from a queue.", queueLabel, "SAI_QUEUE_STAT_BYTES", "transmit-octets"),
	sw("queue_dropped_packets_total", "packets", "Packets dropped at a queue.", queueLabel, "SAI_QUEUE_STAT_DROPPED_PACKETS", "dropped-pkts"),
	sw("queue_dropped_bytes_total", "bytes", "Bytes dropped at a queue.", queueLabel, "SAI_QUEUE_STAT_DROPPED_BYTES", "dropped-octets"),
	sw("queue_ecn_marked_packets_total", "packets", "Packets that a queue marked. On SONiC empty until counterpoll wredqueue enable.", queueLabel, "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", "ecn-marked-pkts"),
	sw("queue_ecn_marked_bytes_total", "bytes", "Bytes that a queue marked.", queueLabel, "SAI_QUEUE_STAT_WRED_ECN_MARKED_BYTES", "ecn-marked-octets"),
	sw("queue_wred_dropped_packets_total", "packets", "Packets that WRED dropped instead of marking.", queueLabel, "SAI_QUEUE_STAT_WRED_DROPPED_PACKETS", ""),
	gauge(sw("queue_length_bytes", "bytes", "What waits in a queue.", queueLabel, "SAI_QUEUE_STAT_CURR_OCCUPANCY_BYTES", "avg-queue-len")),
	gauge(sw("queue_watermark_bytes", "bytes", "The most that waited in a queue since the watermark was cleared.", queueLabel, "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "max-queue-len")),
	sw("pfc_pause_frames_total", "frames", "PFC frames. direction rx: the peer asked this port to stop; tx: this port asked the peer to stop.", pfcLabels, "SAI_PORT_STAT_PFC_{priority}_{DIRECTION}_PKTS", ""),
	sw("pfc_pause_duration_total", "us", "Time paused, in microseconds. On SONiC an estimate, for rx only.", pfcLabels, "EST_PORT_STAT_PFC_{priority}_{DIRECTION}_PAUSE_DURATION_US", ""),
	sw("pfc_pause_transitions_total", "events", "Changes between paused and free.", pfcLabels, "EST_PORT_STAT_PFC_{priority}_ON2OFF_{DIRECTION}_PKTS", ""),
	{Name: "roce_switch_pfc_pause_seconds_total", Unit: "seconds", Side: SwitchSide, Bits: 64, Labels: pfcLabels, Help: "Time paused in seconds.", Of: "roce_switch_pfc_pause_duration_total", Factor: 1e-6},
	sw("global_pause_frames_total", "frames", "Frames of link-level pause.", direction, "SAI_PORT_STAT_PAUSE_{DIRECTION}_PKTS", "{dir}-mac-pause-frames"),
	gauge(sw("pfc_watchdog_stormed", "bool", "1 while the watchdog holds a queue to be stormed.", queueLabel, "PFC_WD_STATUS", "")),
	sw("pfc_watchdog_events_total", "events", "Times that the watchdog detected or restored a queue. Many pairs with traffic: flapping.", []string{"queue", "event"}, "PFC_WD_QUEUE_STATS_DEADLOCK_{EVENT}", ""),
	sw("pfc_watchdog_dropped_packets_total", "packets", "Packets dropped while a queue was stormed.", []string{"queue", "direction"}, "PFC_WD_QUEUE_STATS_{DIRECTION}_DROPPED_PACKETS", ""),
	sw("fec_corrected_frames_total", "frames", "Code words that FEC corrected.", nil, "SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES", ""),
	sw("fec_uncorrected_frames_total", "frames", "Code words that FEC could not correct.", nil, "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES", ""),
	sw("fec_symbol_errors_total", "events", "Symbols that FEC corrected.", nil, "SAI_PORT_STAT_IF_IN_FEC_SYMBOL_ERRORS", ""),
	sw("fec_codewords_total", "frames", "Code words by how many symbols were wrong. S8 and up filling: a link about to fail.", []string{"symbols"}, "SAI_PORT_STAT_IF_IN_FEC_CODEWORD_ERRORS_S{symbols}", ""),
	sw("link_changes_total", "events", "Times that the link went up or down.", nil, "", "carrier-transitions"),
}

// bufferMetrics are those of the shared buffer. A pool has no port: its port
// label is empty.
var bufferMetrics = []Metric{
	sw("pg_dropped_packets_total", "packets", "Packets dropped at an ingress priority group. On a lossless one with pause active: headroom too small.", priorityLabel, "SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS", ""),
	gauge(sw("pg_shared_watermark_bytes", "bytes", "The most that a priority group took of the shared buffer.", priorityLabel, "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES", "")),
	gauge(sw("pg_headroom_watermark_bytes", "bytes", "The most that a priority group took of its headroom.", priorityLabel, "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES", "")),
	gauge(sw("pool_watermark_bytes", "bytes", "The most that a buffer pool held.", []string{"pool"}, "SAI_BUFFER_POOL_STAT_WATERMARK_BYTES", "")),
	gauge(sw("pool_headroom_watermark_bytes", "bytes", "The most that the headroom of a pool held.", []string{"pool"}, "SAI_BUFFER_POOL_STAT_XOFF_ROOM_WATERMARK_BYTES", "")),
}

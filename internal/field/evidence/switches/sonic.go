package switches

import (
	"regexp"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/evidence/tool"
)

const sonicVersions = "SONiC 201911 to 202411"

// A sonicTable is one table that SONiC's command line prints, in the simple
// form of the tabulate library: header, ruler, rows.
type sonicTable struct {
	tool   string
	title  *regexp.Regexp // line before the header; nil: none
	header []string       // the first columns
	keys   []string
	row    func(r *sonicRow)
}

// A sonicRow is one row with what its table says before it.
type sonicRow struct {
	ctx    *tool.Context
	out    *tool.Out
	line   int
	title  string
	header []string
	cells  []string
	bad    bool
}

// cell returns the cell below a title, "" where the table has no such column.
func (r *sonicRow) cell(title string) string {
	for i, h := range r.header {
		if h == title {
			return r.cells[i]
		}
	}
	return ""
}

func (r *sonicRow) has(title string) bool {
	for _, h := range r.header {
		if h == title {
			return true
		}
	}
	return false
}

// put puts out a cell that read understands; any other makes the row count as
// not understood.
func (r *sonicRow) put(s fact.Subject, key, cell string, read func(string) (fact.Value, bool)) {
	if v, ok := read(cell); !ok || !put(r.out, r.line, s, key, v) {
		r.bad = true
	}
}

// columns puts out the cells below titles, by pairs of title and key. Columns
// that the release does not print are left out.
func (r *sonicRow) columns(s fact.Subject, read func(string) (fact.Value, bool), pairs ...string) {
	for i := 0; i+1 < len(pairs); i += 2 {
		if r.has(pairs[i]) {
			r.put(s, pairs[i+1], r.cell(pairs[i]), read)
		}
	}
}

func (t sonicTable) parser() tool.Parser {
	return tool.Parser{
		Tool: t.tool, Versions: sonicVersions, Programs: []string{strings.TrimPrefix(t.tool, "sonic ")}, Keys: t.keys,
		Recognise: func(w *tool.Window) tool.Score {
			at := 0
			if t.title != nil {
				if !strings.Contains(w.Line(2), "--") || !t.title.MatchString(strings.TrimSpace(w.First())) {
					return tool.No
				}
				at = 1
			}
			if t.isHeader(w.Line(at), w.Line(at+1)) {
				return tool.Sure
			}
			return tool.No
		},
		New: func(ctx *tool.Context) tool.Session { return &sonicSession{table: t, ctx: ctx} },
	}
}

func (t sonicTable) isHeader(text, ruler string) bool {
	if !strings.Contains(ruler, "--") || !strings.Contains(text, t.header[0]) {
		return false
	}
	spans, ok := ruled(ruler)
	if !ok || len(spans) < len(t.header) {
		return false
	}
	row := cells(text, spans)
	for i, h := range t.header {
		if row[i] != h {
			return false
		}
	}
	return true
}

// sonicSession reads one table. Blank lines may stand between its rows.
type sonicSession struct {
	table  sonicTable
	ctx    *tool.Context
	title  string
	head   string // text of the header until the ruler is seen
	header []string
	spans  []span
	lines  int // taken so far
}

func (s *sonicSession) Match(l *tool.Line) tool.Score {
	text := l.Text
	switch {
	case s.spans == nil: // header or ruler
		return tool.Sure
	case strings.TrimSpace(text) == "":
		return tool.Weak
	case !fits(text, s.spans):
		return tool.No
	}
	row := cells(text, s.spans)
	if _, ruler := ruled(text); ruler || row[0] == "" || len(row) > 1 && strings.Join(row[1:], "") == "" || s.isHeader(row) {
		return tool.No
	}
	return tool.Sure
}

// isHeader tells a repeated header, perhaps with another first column
// ("Port Tx" after "Port Rx"), from a row.
func (s *sonicSession) isHeader(row []string) bool {
	for i := 1; i < len(row); i++ {
		if row[i] != s.header[i] {
			return false
		}
	}
	return true
}

func (s *sonicSession) Take(l *tool.Line, out *tool.Out) {
	s.lines++
	text := l.Text
	switch {
	case s.table.title != nil && s.lines == 1:
		s.title = strings.TrimSpace(text)
	case s.spans == nil && s.head == "":
		s.head = text
	case s.spans == nil:
		spans, ok := ruled(text)
		if !ok {
			spans = []span{{0, 1 << 30}}
		}
		s.spans, s.header = spans, cells(s.head, spans)
	case strings.TrimSpace(text) != "":
		r := sonicRow{ctx: s.ctx, out: out, line: l.N, title: s.title, header: s.header, cells: cells(text, s.spans)}
		s.table.row(&r)
		if r.bad {
			out.NotUnderstood(l)
		}
	}
}

func (s *sonicSession) End(*tool.Out) {}

// sonicTables are the tables of show, pfcwd and watermarks.
func sonicTables() []tool.Parser {
	var out []tool.Parser
	for _, t := range []sonicTable{
		{tool: "sonic show pfc counters", header: []string{"Port Rx", "PFC0"}, keys: []string{"pfc.rx_frames"}, row: pfcCounters("pfc.rx_frames")},
		{tool: "sonic show pfc counters (sent)", header: []string{"Port Tx", "PFC0"}, keys: []string{"pfc.tx_frames"}, row: pfcCounters("pfc.tx_frames")},
		{tool: "sonic show pfc counters --history", header: []string{"Port", "Priority", "RX Pause Transitions"}, row: pfcHistory,
			keys: []string{"pfc.rx_transitions", "pfc.rx_pause_time", "pfc.rx_recent_pause_time", "pfc.rx_recent_pause_at"}},
		{tool: "sonic show pfc priority", header: []string{"Interface", "Lossless priorities"}, keys: []string{"qos.pfc.enabled"}, row: pfcPriority},
		{tool: "sonic show pfc asymmetric", header: []string{"Interface", "Asymmetric"}, keys: []string{"pfc.asymmetric"}, row: pfcAsymmetric},
		{tool: "sonic show pfcwd stats", header: []string{"QUEUE", "STATUS", "STORM DETECTED/RESTORED"}, row: pfcwdStats, keys: []string{"watchdog.state", "watchdog.storms", "watchdog.restores",
			"watchdog.tx_packets", "watchdog.tx_drops", "watchdog.rx_packets", "watchdog.rx_drops", "watchdog.last_tx_packets", "watchdog.last_tx_drops", "watchdog.last_rx_packets", "watchdog.last_rx_drops"}},
		{tool: "sonic show pfcwd config", header: []string{"PORT", "ACTION", "DETECTION TIME", "RESTORATION TIME"}, row: pfcwdConfig,
			keys: []string{"watchdog.enabled", "watchdog.action", "watchdog.detect_time", "watchdog.restore_time"}},
		{tool: "sonic show interfaces counters", header: []string{"IFACE", "STATE", "RX_OK"}, row: interfaceCounters, keys: []string{"link.state", "port.rx_packets", "port.tx_packets", "port.rx_rate", "port.tx_rate", "port.rx_packet_rate",
			"port.tx_packet_rate", "port.rx_utilisation", "port.tx_utilisation", "port.rx_errors", "port.tx_errors", "port.rx_drops", "port.tx_drops", "port.rx_overruns", "port.tx_overruns", "port.trimmed", "port.trim_sent", "port.trim_dropped"}},
		{tool: "sonic show interfaces counters fec-stats", header: []string{"IFACE", "STATE", "FEC_CORR"}, row: fecStats, keys: []string{"link.state", "fec.corrected", "fec.uncorrected", "fec.symbol_errors", "fec.pre_ber", "fec.post_ber",
			"fec.pre_ber_max", "fec.loss_ratio", "fec.loss_ratio_predicted", "fec.loss_ratio_accuracy", "fec.max_symbols"}},
		{tool: "sonic show interfaces counters fec-histogram", header: []string{"Symbol Errors Per Codeword", "Codewords"}, keys: []string{"fec.codewords.{symbols}"}, row: fecHistogram},
		{tool: "sonic show interfaces status", header: []string{"Interface", "Lanes", "Speed", "MTU"}, row: interfaceStatus, keys: []string{"link.speed", "link.mtu", "link.state", "link.fec.active", "module.media", "pfc.asymmetric"}},
		{tool: "sonic show queue counters", header: []string{"Port", "TxQ", "Counter/pkts"}, row: queueCounters,
			keys: []string{"queue.kind", "queue.packets", "queue.bytes", "queue.drop_packets", "queue.drop_bytes", "queue.trimmed", "queue.trim_sent", "queue.trim_dropped"}},
		{tool: "sonic show queue counters --voq", header: []string{"Port", "Voq", "Counter/pkts"}, row: queueCounters,
			keys: []string{"queue.kind", "queue.packets", "queue.bytes", "queue.drop_packets", "queue.drop_bytes"}},
		{tool: "sonic show queue wredcounters", header: []string{"Port", "TxQ", "WredDrp/pkts"}, row: wredCounters,
			keys: []string{"queue.kind", "queue.wred_drop_packets", "queue.wred_drop_bytes", "queue.ecn_marked_packets", "queue.ecn_marked_bytes"}},
		{tool: "sonic show queue wredcounters --voq", header: []string{"Port", "Voq", "WredDrp/pkts"}, row: wredCounters,
			keys: []string{"queue.kind", "queue.wred_drop_packets", "queue.wred_drop_bytes", "queue.ecn_marked_packets", "queue.ecn_marked_bytes"}},
		{tool: "sonic show priority-group", title: groupTitle, header: []string{"Port", "PG0"}, row: groupColumns, keys: []string{"pg.drop_packets", "pg.headroom_watermark", "pg.shared_watermark"}},
		{tool: "sonic show queue watermark", title: queueTitle, header: []string{"Port", "UC0"}, row: watermarkColumns, keys: []string{"queue.watermark"}},
		{tool: "sonic show queue watermark (multicast)", title: queueTitle, header: []string{"Port", "MC"}, row: watermarkColumns, keys: []string{"queue.watermark"}},
		{tool: "sonic show buffer_pool watermark", title: poolTitle, header: []string{"Pool", "Bytes"}, row: poolRows, keys: []string{"buffer.pool.{pool}.max_usage", "buffer.pool.{pool}.headroom_watermark"}},
	} {
		out = append(out, t.parser())
	}
	return out
}

// pfcCounters reads a row of priorities.
func pfcCounters(key string) func(*sonicRow) {
	return func(r *sonicRow) {
		for i := 1; i < len(r.cells); i++ {
			if prio, ok := strings.CutPrefix(r.header[i], "PFC"); ok {
				r.put(r.ctx.Queue(r.cells[0], prio), key, r.cells[i], number)
			}
		}
	}
}

func pfcHistory(r *sonicRow) {
	s := r.ctx.Queue(r.cell("Port"), strings.TrimPrefix(r.cell("Priority"), "PFC"))
	r.columns(s, number, "RX Pause Transitions", "pfc.rx_transitions", "Total RX Pause Time US", "pfc.rx_pause_time", "Recent RX Pause Time US", "pfc.rx_recent_pause_time")
	if at := r.cell("Recent RX Pause Timestamp"); absent(at) {
		r.out.Absent(r.line, s, "pfc.rx_recent_pause_at")
	} else {
		r.out.Text(r.line, s, "pfc.rx_recent_pause_at", at)
	}
}

func pfcPriority(r *sonicRow) {
	r.out.List(r.line, r.ctx.Port(r.cells[0]), "qos.pfc.enabled", priorityList(r.cells[1]))
}

func pfcAsymmetric(r *sonicRow) {
	if v, ok := truth(r.cells[1]); ok {
		r.out.Bool(r.line, r.ctx.Port(r.cells[0]), "pfc.asymmetric", v)
	}
}

// pair puts out the two sides of "100/300".
func (r *sonicRow) pair(s fact.Subject, title, first, second string) {
	if !r.has(title) {
		return
	}
	a, b, ok := strings.Cut(r.cell(title), "/")
	if strings.EqualFold(r.cell(title), "N/A") {
		a, b, ok = "N/A", "N/A", true
	}
	if !ok {
		r.bad = true
		return
	}
	r.put(s, first, a, number)
	r.put(s, second, b, number)
}

func pfcwdStats(r *sonicRow) {
	i := strings.LastIndexByte(r.cells[0], ':')
	if i < 0 {
		r.bad = true
		return
	}
	s := r.ctx.Queue(r.cells[0][:i], r.cells[0][i+1:])
	put(r.out, r.line, s, "watchdog.state", fact.OfText(r.cell("STATUS")))
	r.pair(s, "STORM DETECTED/RESTORED", "watchdog.storms", "watchdog.restores")
	r.pair(s, "TX OK/DROP", "watchdog.tx_packets", "watchdog.tx_drops")
	r.pair(s, "RX OK/DROP", "watchdog.rx_packets", "watchdog.rx_drops")
	r.pair(s, "TX LAST OK/DROP", "watchdog.last_tx_packets", "watchdog.last_tx_drops")
	r.pair(s, "RX LAST OK/DROP", "watchdog.last_rx_packets", "watchdog.last_rx_drops")
}

func pfcwdConfig(r *sonicRow) {
	s := r.ctx.Port(r.cells[0])
	r.out.Bool(r.line, s, "watchdog.enabled", !absent(r.cell("ACTION")))
	if action := r.cell("ACTION"); !absent(action) {
		r.out.Text(r.line, s, "watchdog.action", action)
	}
	r.columns(s, real, "DETECTION TIME", "watchdog.detect_time", "RESTORATION TIME", "watchdog.restore_time")
}

func (r *sonicRow) state(s fact.Subject) {
	switch r.cell("STATE") {
	case "U":
		r.out.Text(r.line, s, "link.state", "up")
	case "D", "X": // X: disabled
		r.out.Text(r.line, s, "link.state", "down")
	}
}

func interfaceCounters(r *sonicRow) {
	s := r.ctx.Port(r.cells[0])
	r.state(s)
	for _, d := range []struct{ title, key string }{{"RX", "port.rx_"}, {"TX", "port.tx_"}} {
		r.columns(s, number, d.title+"_OK", d.key+"packets", d.title+"_ERR", d.key+"errors", d.title+"_DRP", d.key+"drops", d.title+"_OVR", d.key+"overruns")
		r.columns(s, rate, d.title+"_BPS", d.key+"rate", d.title+"_PPS", d.key+"packet_rate", d.title+"_UTIL", d.key+"utilisation")
	}
	r.columns(s, number, "TRIM", "port.trimmed", "TRIM_TX", "port.trim_sent", "TRIM_DRP", "port.trim_dropped")
}

var accuracy = regexp.MustCompile(`^(\S+)(?:\s+\(([0-9.]+)%\))?$`)

func fecStats(r *sonicRow) {
	s := r.ctx.Port(r.cells[0])
	r.state(s)
	r.columns(s, number, "FEC_CORR", "fec.corrected", "FEC_UNCORR", "fec.uncorrected", "FEC_SYMBOL_ERR", "fec.symbol_errors")
	r.columns(s, real, "FEC_PRE_BER", "fec.pre_ber", "FEC_POST_BER", "fec.post_ber", "FEC_PRE_BER_MAX", "fec.pre_ber_max", "FLR(O)", "fec.loss_ratio", "FEC_MAX_T", "fec.max_symbols")
	if cell := r.cell("FLR(P) (Accuracy)"); cell != "" {
		m := accuracy.FindStringSubmatch(cell)
		if m == nil {
			r.bad = true
			return
		}
		r.put(s, "fec.loss_ratio_predicted", m[1], real)
		if m[2] != "" {
			r.put(s, "fec.loss_ratio_accuracy", m[2], real)
		}
	}
}

func fecHistogram(r *sonicRow) {
	bin, ok := strings.CutPrefix(r.cells[0], "BIN")
	if v, isNumber := number(bin); !ok || !isNumber || v.Kind() != fact.Uint {
		r.bad = true
		return
	}
	port := r.ctx.After("fec-histogram")
	r.put(r.ctx.Port(port), "fec.codewords."+bin, r.cells[1], number)
}

// interfaceStatus reads speeds such as "400G" and "100M".
func interfaceStatus(r *sonicRow) {
	s := r.ctx.Port(r.cells[0])
	if v, ok := lineRate(r.cell("Speed")); ok {
		r.out.Uint(r.line, s, "link.speed", v)
	}
	r.columns(s, number, "MTU", "link.mtu")
	if oper := r.cell("Oper"); oper != "" {
		r.out.Text(r.line, s, "link.state", oper)
	}
	if fec := r.cell("FEC"); !absent(fec) {
		r.out.Text(r.line, s, "link.fec.active", fec)
	}
	if media := r.cell("Type"); !absent(media) {
		r.out.Text(r.line, s, "module.media", media)
	}
	if v, ok := truth(r.cell("Asym PFC")); ok {
		r.out.Bool(r.line, s, "pfc.asymmetric", v)
	}
}

// lineRate reads "400G", "25G", "1000M", "400 Gb/s" in bits a second.
func lineRate(s string) (uint64, bool) {
	s = strings.TrimSpace(s)
	scale := uint64(0)
	i := strings.IndexAny(s, "GMTgmt")
	if i <= 0 {
		return 0, false
	}
	switch s[i] {
	case 'M', 'm':
		scale = 1e6
	case 'G', 'g':
		scale = 1e9
	case 'T', 't':
		scale = 1e12
	}
	v, ok := number(s[:i])
	f, isNumber := v.Float()
	if !ok || !isNumber || f < 0 || f > 1e5 {
		return 0, false
	}
	return uint64(f * float64(scale)), true
}

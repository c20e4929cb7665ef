package sonic

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/internal/field/dialect"
	"weir/internal/input/jsontree"
	"weir/internal/qos"
	"weir/units"
)

// ports finds the ports that any table names, PORT's first.
func (p *parser) ports() {
	seen := make(map[string]bool)
	var names []string
	add := func(name string, line int) {
		if name == "" || name == "global" || name == "GLOBAL" || seen[name] {
			return
		}
		if len(names) >= dialect.MaxPorts {
			p.out.Unknown(p.source, System, line, "port "+name+": more ports than a device has")
			return
		}
		seen[name] = true
		names = append(names, name)
	}
	for _, n := range p.doc.Get("PORT").Members() {
		add(n.Key, n.Line)
	}
	qosMaps := p.portMaps()
	for _, n := range p.doc.Get("PORT_QOS_MAP").Members() {
		for name := range strings.SplitSeq(n.Key, ",") {
			add(name, n.Line)
		}
	}
	var rest []string
	for name := range p.queues {
		rest = append(rest, name)
	}
	for name := range p.groups {
		rest = append(rest, name)
	}
	slices.Sort(rest)
	for _, name := range rest {
		add(name, 1)
	}
	cables := p.cables()
	for _, name := range names {
		port := p.port(name, qosMaps[name])
		port.CableLength = cables[name]
		p.out.Device.Ports = append(p.out.Device.Ports, port)
	}
}

func (p *parser) portMaps() map[string]*jsontree.Node {
	maps := make(map[string]*jsontree.Node)
	for _, n := range p.doc.Get("PORT_QOS_MAP").Members() {
		for name := range strings.SplitSeq(n.Key, ",") {
			maps[name] = n
		}
	}
	return maps
}

// cables reads CABLE_LENGTH, whose rows are named sets of ports.
func (p *parser) cables() map[string]units.Metres {
	out := make(map[string]units.Metres)
	for _, set := range p.doc.Get("CABLE_LENGTH").Members() {
		for _, n := range set.Members() {
			length, err := units.ParseLength(n.Str())
			if err != nil {
				p.out.Unknown(p.source, System, n.Line, "CABLE_LENGTH "+n.Key+" "+n.Str())
				continue
			}
			out[n.Key] = length
		}
	}
	return out
}

func (p *parser) port(name string, m *jsontree.Node) qos.Port {
	port := qos.NewPort(name)
	row := p.doc.Get("PORT").Get(name)
	if row != nil {
		port.Note("port", row.Line)
	}
	if speed := number(row.Get("speed")); speed > 0 && speed < 10_000_000 {
		port.Speed = units.BitRate(speed) * units.Mbps
		port.Note("speed", row.Get("speed").Line)
	}
	if mtu := number(row.Get("mtu")); mtu > 0 {
		port.MTU = units.Bytes(mtu)
		port.Note("mtu", row.Get("mtu").Line)
	} else if row != nil {
		port.MTU = DefaultMTU
		port.Explain("mtu", "PORT has no mtu: the default of 9100 bytes holds")
	}
	if peer := p.doc.Get("DEVICE_NEIGHBOR").Get(name); peer.Get("name").Str() != "" {
		port.Peer = strings.TrimSuffix(peer.Get("name").Str()+"/"+peer.Get("port").Str(), "/")
	}
	if p.doc.Get("PORT_QOS_MAP") == nil { // a fragment: it does not tell what the port's maps are
		p.schedule(&port)
		return port
	}
	c := p.classes(&port, m)
	p.flowControl(&port, m, c)
	p.classify(&port, m, c)
	p.schedule(&port)
	p.buffers(&port, c)
	p.watchdog(&port, m)
	return port
}

// classMaps hold where traffic classes go.
type classMaps struct {
	queue, group [8]int // of a traffic class
	pfcQueue     [8]int // that a received PFC priority pauses
	pfcGroup     [8]int // whose congestion a PFC priority signals
	prio         [8]uint8
}

// numbers reads a named map of a table. Where the port names no map, every
// index goes to what fallback gives; where the map is not in the text, known
// is false.
func (p *parser) numbers(port *qos.Port, m *jsontree.Node, field, table string, fallback func(int) int) (out [8]int, line int) {
	for i := range out {
		out[i] = fallback(i)
	}
	n := m.Get(field)
	if n == nil {
		if table == "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP" || table == "MAP_PFC_PRIORITY_TO_QUEUE" {
			return out, 0
		}
		port.Explain(field, "PORT_QOS_MAP names no "+field+": the chip's default sends everything to 0")
		return out, 0
	}
	rows := p.doc.Get(table).Get(ref(n))
	if rows == nil {
		port.Explain(field, table+" "+ref(n)+" is not in this text")
		for i := range out {
			out[i] = -1
		}
		return out, n.Line
	}
	for _, row := range rows.Members() {
		i, v := -1, number(row)
		if k, err := strconv.Atoi(row.Key); err == nil {
			i = k
		}
		if i < 0 || v < 0 {
			p.out.Unknown(p.source, System, row.Line, table+" "+row.Key+": "+row.Str())
			continue
		}
		if i < 8 && v < 64 {
			out[i] = v
		}
	}
	return out, rows.Line
}

func zero(int) int   { return 0 }
func same(i int) int { return i }

func (p *parser) classes(port *qos.Port, m *jsontree.Node) *classMaps {
	c := new(classMaps)
	c.queue, _ = p.numbers(port, m, "tc_to_queue_map", "TC_TO_QUEUE_MAP", zero)
	c.group, _ = p.numbers(port, m, "tc_to_pg_map", "TC_TO_PRIORITY_GROUP_MAP", zero)
	c.pfcQueue, _ = p.numbers(port, m, "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE", same)
	c.pfcGroup, _ = p.numbers(port, m, "pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", same)
	return c
}

// flowControl finds the PFC priorities and which priority a class belongs to.
func (p *parser) flowControl(port *qos.Port, m *jsontree.Node, c *classMaps) {
	n := m.Get("pfc_enable")
	list, ok := dialect.ParseList(n.Str(), 7)
	mask, ok2 := dialect.Mask(list)
	switch {
	case n == nil || n.Str() == "":
		port.PFC, port.PFCMode = qos.Off, "off"
		port.Explain("pfc", "PORT_QOS_MAP has no pfc_enable for this port")
	case !ok || !ok2:
		p.out.Unknown(p.source, System, n.Line, "pfc_enable "+n.Str())
	default:
		port.PFC, port.PFCMode, port.PFCMask = qos.On, "on", mask
		port.Note("pfc", n.Line)
		for _, prio := range list {
			port.Note(dialect.Key("pfc", prio), n.Line)
		}
	}
	for tc := range c.prio {
		c.prio[tc] = qos.Undefined
		for _, prio := range dialect.Bits(port.PFCMask) {
			if c.pfcGroup[prio] == c.group[tc] {
				c.prio[tc] = uint8(prio)
				if c.pfcQueue[prio] != c.queue[tc] {
					port.Explain(dialect.Key("pfc", prio), "a received pause of this priority stops queue "+strconv.Itoa(c.pfcQueue[prio])+
						", but its packets leave by queue "+strconv.Itoa(c.queue[tc]))
				}
				break
			}
		}
		if c.prio[tc] == qos.Undefined && port.PFCMask>>tc&1 == 0 {
			c.prio[tc] = uint8(tc)
		}
		if prio := c.prio[tc]; prio != qos.Undefined && c.queue[tc] >= 0 && c.queue[tc] < 8 && port.PriorityToQueue[prio] == qos.Undefined {
			port.PriorityToQueue[prio] = uint8(c.queue[tc])
		}
	}
}

// classify reads the maps that the port trusts.
func (p *parser) classify(port *qos.Port, m *jsontree.Node, c *classMaps) {
	dscp, dot1p := m.Get("dscp_to_tc_map"), m.Get("dot1p_to_tc_map")
	if dscp == nil {
		if g := p.doc.Get("PORT_QOS_MAP", "global").Get("dscp_to_tc_map"); g != nil {
			dscp = g
		}
	}
	port.DefaultPriority = c.prio[0]
	switch {
	case dscp != nil && dot1p != nil:
		port.Trust = qos.TrustBoth
	case dscp != nil:
		port.Trust = qos.TrustDSCP
	case dot1p != nil:
		port.Trust = qos.TrustPCP
	default:
		port.Trust = qos.TrustNone
		port.Explain("trust", "PORT_QOS_MAP names no dscp_to_tc_map: all packets go to traffic class 0")
		return
	}
	if dscp != nil {
		port.Note("trust", dscp.Line)
		p.dscpMap(port, dscp, c)
	}
	for _, row := range p.doc.Get("DOT1P_TO_TC_MAP").Get(ref(dot1p)).Members() {
		i, tc := -1, number(row)
		if k, err := strconv.Atoi(row.Key); err == nil {
			i = k
		}
		if i >= 0 && i < 8 && tc >= 0 && tc < 8 {
			port.PCPToPriority[i] = c.prio[tc]
		}
	}
}

func (p *parser) dscpMap(port *qos.Port, dscp *jsontree.Node, c *classMaps) {
	rows := p.doc.Get("DSCP_TO_TC_MAP").Get(ref(dscp))
	if rows == nil {
		port.Explain("trust", "DSCP_TO_TC_MAP "+ref(dscp)+" is not in this text")
		return
	}
	for d := range port.DSCPToPriority { // a code point that the map leaves out: class 0
		port.DSCPToPriority[d] = c.prio[0]
		port.DSCPToQueue[d] = queueNumber(c.queue[0])
	}
	for _, row := range rows.Members() {
		d, ok := qos.ParseDSCP(row.Key)
		tc := number(row)
		if !ok || tc < 0 || tc > 7 {
			p.out.Unknown(p.source, System, row.Line, "DSCP_TO_TC_MAP "+row.Key+": "+row.Str())
			continue
		}
		port.DSCPToPriority[d] = c.prio[tc]
		port.DSCPToQueue[d] = queueNumber(c.queue[tc])
		port.Note(dialect.Key("dscp", d), row.Line)
	}
}

func queueNumber(q int) uint8 {
	if q < 0 || q > 7 {
		return qos.Undefined
	}
	return uint8(q)
}

// schedule reads QUEUE with the schedulers and WRED profiles that it names.
func (p *parser) schedule(port *qos.Port) {
	total := 0
	for q := range port.Queues {
		e, ok := p.queues[port.Name][q]
		queue := &port.Queues[q]
		queue.Weight = 1 // SAI's default scheduler: weighted, 1
		if ok {
			port.Note(dialect.Key("schedule", q), e.node.Line)
			p.scheduler(port, q, e.node.Get("scheduler"))
			p.wred(port, q, e.node.Get("wred_profile"))
		}
		if queue.Strict != qos.On {
			total += queue.Weight
		}
	}
	if len(p.queues[port.Name]) == 0 {
		for q := range port.Queues {
			port.Queues[q].Weight = 0
		}
		return
	}
	for q := range port.Queues {
		if queue := &port.Queues[q]; queue.Strict != qos.On && total > 0 {
			queue.Strict = qos.Off
			queue.Share = float64(queue.Weight) / float64(total)
		}
	}
}

func (p *parser) scheduler(port *qos.Port, q int, n *jsontree.Node) {
	if n == nil {
		return
	}
	row := p.doc.Get("SCHEDULER").Get(ref(n))
	if row == nil {
		port.Explain(dialect.Key("schedule", q), "SCHEDULER "+ref(n)+" is not in this text")
		return
	}
	queue := &port.Queues[q]
	if strings.EqualFold(row.Get("type").Str(), "STRICT") {
		queue.Strict, queue.Weight = qos.On, 0
		return
	}
	queue.Strict = qos.Off
	if w := number(row.Get("weight")); w > 0 && w <= 255 {
		queue.Weight = w
	}
}

// wred reads a WRED profile for green packets, which all packets are unless a
// policer coloured them.
func (p *parser) wred(port *qos.Port, q int, n *jsontree.Node) {
	if n == nil {
		return
	}
	row := p.doc.Get("WRED_PROFILE").Get(ref(n))
	key := dialect.Key("ecn", q)
	if row == nil {
		port.Explain(key, "WRED_PROFILE "+ref(n)+" is not in this text")
		return
	}
	port.Note(key, row.Line)
	reason := wredQueue(&port.Queues[q], row)
	if reason != "" {
		port.Explain(key, "WRED_PROFILE "+row.Key+" "+reason)
	}
}

// wredQueue reads one WRED profile and says why it does not mark, if so.
func wredQueue(queue *qos.Queue, row *jsontree.Node) (reason string) {
	low, high := number(row.Get("green_min_threshold")), number(row.Get("green_max_threshold"))
	queue.Min, queue.Max = units.Bytes(max(low, 0)), units.Bytes(max(high, 0))
	if prob := number(row.Get("green_drop_probability")); prob >= 0 && prob <= 100 {
		queue.Probability = float64(prob) / 100
	}
	enabled := strings.EqualFold(row.Get("wred_green_enable").Str(), "true")
	ecn := row.Get("ecn").Str()
	marks := ecn == "ecn_all" || strings.HasPrefix(ecn, "ecn_") && strings.Contains(ecn, "green")
	queue.WRED = qos.TriOf(enabled)
	queue.ECN = qos.TriOf(enabled && marks)
	switch {
	case !enabled && row.Get("wred_green_enable") == nil:
		return "has no wred_green_enable: the chip leaves WRED and ECN off for green packets"
	case !enabled:
		return "has wred_green_enable false: WRED and ECN are off for green packets"
	case !marks && ecn == "":
		return "has no ecn: it drops packets instead of marking them"
	case !marks:
		return "has ecn " + ecn + ": it drops green packets instead of marking them"
	}
	return ""
}

// profiles keeps each WRED profile, used or not, as a profile of the device
// with its values in queue 0.
func (p *parser) profiles() {
	for _, row := range p.doc.Get("WRED_PROFILE").Members() {
		if len(p.out.Device.Profiles) >= dialect.MaxPorts {
			return
		}
		profile := qos.NewPort(row.Key)
		profile.Note("ecn.0", row.Line)
		if reason := wredQueue(&profile.Queues[0], row); reason != "" {
			profile.Explain("ecn.0", "WRED_PROFILE "+row.Key+" "+reason)
		}
		p.out.Device.Profiles = append(p.out.Device.Profiles, profile)
	}
}

// buffers reads BUFFER_PG for the group of each PFC priority.
func (p *parser) buffers(port *qos.Port, c *classMaps) {
	for prio := range port.Ingress {
		group := c.pfcGroup[prio]
		e, ok := p.groups[port.Name][group]
		lossless := port.PFCMask>>prio&1 == 1
		if !ok {
			if lossless && len(p.groups) > 0 {
				port.Explain(dialect.Key("ingress", prio), "BUFFER_PG has no row for priority group "+strconv.Itoa(group)+
					": unless the switch computes one from CABLE_LENGTH, the lossless priority has no headroom")
			}
			continue
		}
		name := ref(e.node.Get("profile"))
		port.Note(dialect.Key("ingress", prio), e.node.Line)
		row := p.doc.Get("BUFFER_PROFILE").Get(name)
		if row == nil {
			if name != "NULL" && name != "" {
				port.Explain(dialect.Key("ingress", prio), "BUFFER_PROFILE "+name+" is not in this text")
			}
			continue
		}
		port.Ingress[prio] = profile(row)
		if lossless && row.Get("xoff") == nil {
			port.Explain(dialect.Key("ingress", prio), "BUFFER_PROFILE "+row.Key+" has no xoff: the lossless priority has no headroom")
		}
	}
}

// profile reads a BUFFER_PROFILE: bytes, and dynamic_th as a power of two.
func profile(row *jsontree.Node) qos.Ingress {
	in := qos.Ingress{
		Reserved: units.Bytes(max(0, number(row.Get("size")))),
		Headroom: units.Bytes(max(0, number(row.Get("xoff")))),
		XON:      units.Bytes(max(0, number(row.Get("xon")))),
		XOFF:     units.Bytes(max(0, number(row.Get("static_th")))),
	}
	if th, err := strconv.Atoi(row.Get("dynamic_th").Str()); err == nil && th >= -8 && th <= 8 {
		in.Alpha = math.Ldexp(1, th)
	}
	return in
}

// watchdog joins PFC_WD with the port's pfcwd_sw_enable.
func (p *parser) watchdog(port *qos.Port, m *jsontree.Node) {
	row := p.doc.Get("PFC_WD").Get(port.Name)
	software := m.Get("pfcwd_sw_enable")
	port.Watchdog = qos.Off
	if row == nil {
		if software.Str() != "" {
			port.Explain("watchdog", "pfcwd_sw_enable is set, but PFC_WD has no row for this port")
		} else {
			port.Explain("watchdog", "PFC_WD has no row for this port")
		}
		return
	}
	port.Note("watchdog", row.Line)
	if m != nil && software == nil {
		port.Explain("watchdog", "PORT_QOS_MAP has no pfcwd_sw_enable: older releases watch the priorities of pfc_enable, newer ones none")
	}
	port.Watchdog = qos.On
	port.WatchdogAction = row.Get("action").Str()
	port.WatchdogDetect, port.WatchdogRestore = defaultDetect, defaultRestore
	if ms := number(row.Get("detection_time")); ms > 0 && ms < 1e9 {
		port.WatchdogDetect = units.Time(ms) * units.Millisecond
	}
	if ms := number(row.Get("restoration_time")); ms > 0 && ms < 1e9 {
		port.WatchdogRestore = units.Time(ms) * units.Millisecond
	}
}

package capture

import (
	"cmp"
	"slices"

	"weir/internal/finding"
	"weir/roce"
	"weir/units"
)

// Schema names the form of the JSON report.
const Schema = "weir.pcap/1"

// Report is what an Analyser found. Counts of opcodes, ICRC and ECN are those
// of RoCEv2. Packet numbers count frames of the capture from 1, as other
// analysers do.
type Report struct {
	Schema        string            `json:"schema"`
	Frames        uint64            `json:"frames"`
	WireBytes     uint64            `json:"wire_bytes"`
	DurationS     float64           `json:"duration_s"`
	RoCEPackets   uint64            `json:"roce_packets"`
	RoCEv1Packets uint64            `json:"rocev1_packets"`
	Opcodes       map[string]uint64 `json:"opcodes"`
	ICRC          ICRCCounts        `json:"icrc"`
	RoCEv1ICRC    ICRCCounts        `json:"rocev1_icrc"`
	ECN           ECNCounts         `json:"ecn"`
	CNPs          uint64            `json:"cnps"`
	PFCFrames     uint64            `json:"pfc_frames"`
	PauseFrames   uint64            `json:"pause_frames"`
	Malformed     uint64            `json:"malformed"`
	Fragments     uint64            `json:"fragments"`
	VXLANPackets  uint64            `json:"vxlan_packets"`
	VLANPackets   uint64            `json:"vlan_packets"`
	Untracked     uint64            `json:"untracked"` // packets of more flows than are followed

	QueuePairs        []QueuePair       `json:"queue_pairs"`
	RoCEv1QueuePairs  []QueuePair       `json:"rocev1_queue_pairs"`
	Connections       []Connection      `json:"connections"`
	Pauses            []Pause           `json:"pauses"`
	Exchanges         []Exchange        `json:"connection_manager"`
	Findings          []finding.Finding `json:"findings"`
	LinkSpeedBitsPerS int64             `json:"link_speed_bits_per_s,omitempty"`
	StoppedAtByte     *int64            `json:"stopped_at_byte,omitempty"`
	StoppedBecause    string            `json:"stopped_because,omitempty"`
}

// ICRCCounts are packets by verdict. Unchecked ones were not captured whole.
type ICRCCounts struct {
	Valid     uint64 `json:"valid"`
	Wrong     uint64 `json:"wrong"`
	Unchecked uint64 `json:"unchecked"`
}

// ECNCounts are packets by ECN code point.
type ECNCounts struct {
	NotECT uint64 `json:"not_ect"`
	ECT0   uint64 `json:"ect0"`
	ECT1   uint64 `json:"ect1"`
	CE     uint64 `json:"ce"`
}

func ecnCounts(e *[4]uint64) ECNCounts {
	return ECNCounts{NotECT: e[roce.NotECT], ECT0: e[roce.ECT0], ECT1: e[roce.ECT1], CE: e[roce.CE]}
}

// DSCPCount is how many packets carried a DSCP.
type DSCPCount struct {
	DSCP    uint8  `json:"dscp"`
	Packets uint64 `json:"packets"`
}

// QueuePair is one row: the packets of a kind that one address sends to a queue
// pair of another. Bytes are payload.
type QueuePair struct {
	Src            string      `json:"src"`
	Dst            string      `json:"dst"`
	DestQPN        uint32      `json:"dest_qpn"`
	Kind           string      `json:"kind"`
	Packets        uint64      `json:"packets"`
	PayloadBytes   uint64      `json:"payload_bytes"`
	DistinctPSNs   uint64      `json:"distinct_psns"`
	PSNsExact      bool        `json:"distinct_psns_exact"`
	FirstPSN       uint32      `json:"first_psn"`
	LastPSN        uint32      `json:"last_psn"`
	Retransmission uint64      `json:"retransmissions"`
	Duplicates     uint64      `json:"duplicates"`
	OutOfOrder     uint64      `json:"out_of_order"`
	Gaps           uint64      `json:"psn_gaps"`
	MissingPSNs    uint64      `json:"missing_psns"`
	NAKs           uint64      `json:"naks"`
	RNRNAKs        uint64      `json:"rnr_naks"`
	WrongICRC      uint64      `json:"wrong_icrc"`
	ECN            ECNCounts   `json:"ecn"`
	DSCP           []DSCPCount `json:"dscp"`
	SourcePorts    []uint16    `json:"udp_source_ports"`
	MorePorts      bool        `json:"more_source_ports,omitempty"`
	FirstPacket    uint64      `json:"first_packet"`
	LastPacket     uint64      `json:"last_packet"`
}

// Times is a distribution of times in microseconds.
type Times struct {
	Count uint64  `json:"count"`
	P50US float64 `json:"p50_us"`
	P99US float64 `json:"p99_us"`
	MaxUS float64 `json:"max_us"`
}

func timesOf(h *histogram) Times {
	if h == nil || h.n == 0 {
		return Times{}
	}
	us := func(ns int64) float64 { return float64(ns) / 1e3 }
	return Times{uint64(h.n), us(h.percentile(0.5)), us(h.percentile(0.99)), us(h.max)}
}

// Point is one bin of a curve: payload that passed in the bin, as a rate.
type Point struct {
	AtS     float64 `json:"at_s"`
	BitsPer float64 `json:"bits_per_s"`
}

// Connection is one direction of a reliable connection: the requests of one
// side and the answers of the other.
type Connection struct {
	Transport  string  `json:"transport"` // "RC", "UC"
	Src        string  `json:"src"`
	Dst        string  `json:"dst"`
	DestQPN    uint32  `json:"dest_qpn"`
	SrcQPN     uint32  `json:"src_qpn"` // 0: no answer was seen
	PathMTU    uint32  `json:"path_mtu"`
	Messages   uint64  `json:"messages"`
	SentBytes  uint64  `json:"sent_bytes"`
	ReadBytes  uint64  `json:"read_bytes"`
	GoodputBPS float64 `json:"goodput_bits_per_s"`

	Gaps            uint64  `json:"psn_gaps"`
	MissingPSNs     uint64  `json:"missing_psns"`
	Retransmissions uint64  `json:"retransmissions"`
	GoBackN         uint64  `json:"go_back_n_rounds"`
	Single          uint64  `json:"single_retransmissions"`
	RoundsByNAK     uint64  `json:"rounds_after_nak"`
	RoundsByRNR     uint64  `json:"rounds_after_rnr"`
	RoundsByGap     uint64  `json:"rounds_after_gap_in_read"`
	RoundsByTimer   uint64  `json:"rounds_after_timeout"`
	TimeoutMinUS    float64 `json:"timeout_min_us"`
	TimeoutMaxUS    float64 `json:"timeout_max_us"`
	Duplicates      uint64  `json:"duplicates"`
	OutOfOrder      uint64  `json:"out_of_order"`
	Damaged         uint64  `json:"wrong_icrc"`

	NAKs        map[string]uint64 `json:"naks"`
	RNRNAKs     uint64            `json:"rnr_naks"`
	RNRTimeUS   float64           `json:"rnr_time_us"`
	UnseenAcked uint64            `json:"acknowledged_but_not_captured"`
	AckLatency  Times             `json:"ack_latency"`

	RequestECN  ECNCounts `json:"request_ecn"`
	ResponseECN ECNCounts `json:"response_ecn"`
	CNPs        uint64    `json:"cnps"`
	CEToCNP     Times     `json:"ce_to_cnp"`
	CNPToSlow   Times     `json:"cnp_to_slow_down"`
	CNPsObeyed  uint64    `json:"cnps_followed_by_slower_rate"`
	CNPsIgnored uint64    `json:"cnps_followed_by_same_rate"`

	Goodput []Point `json:"goodput"`
}

// Pause is what one sender of pause frames asked for. Class is 0 to 7, or -1 for
// the whole link.
type Pause struct {
	Sender     string  `json:"sender"`
	Class      int     `json:"class"`
	Frames     uint64  `json:"frames"`
	Resumes    uint64  `json:"resumes"`
	Quanta     uint64  `json:"quanta"`
	MaxQuanta  uint16  `json:"max_quanta"`
	PausedUS   float64 `json:"paused_us"` // 0 if the link speed is not known
	LongestRun uint64  `json:"frames_without_resume"`
}

// Exchange is one connection as the connection manager set it up.
type Exchange struct {
	Client      string  `json:"client"`
	Server      string  `json:"server"`
	ServiceID   uint64  `json:"service_id"`
	Port        uint16  `json:"port"`
	ClientQPN   uint32  `json:"client_qpn"`
	ServerQPN   uint32  `json:"server_qpn"`
	PathMTU     int     `json:"path_mtu"`
	AckTimeout  uint8   `json:"ack_timeout_code"`
	RetryCount  uint8   `json:"retry_count"`
	Requests    uint64  `json:"requests"`
	State       string  `json:"state"`
	Reject      string  `json:"reject_reason,omitempty"`
	SetupUS     float64 `json:"setup_us"`
	FirstPacket uint64  `json:"first_packet"`
	LastPacket  uint64  `json:"last_packet"`
}

// Report closes the analysis and returns what was found. The Analyser must not be
// used afterwards.
func (a *Analyser) Report() *Report {
	r := &Report{
		Schema: Schema, Frames: a.frames, WireBytes: a.bytes, DurationS: a.end.Seconds(),
		RoCEPackets: a.roceV2, RoCEv1Packets: a.roceV1, Opcodes: map[string]uint64{},
		ICRC: icrcCounts(&a.icrc), RoCEv1ICRC: icrcCounts(&a.icrcV1), ECN: ecnCounts(&a.ecn),
		CNPs: a.opcodes[roce.CNP], PFCFrames: a.pfcFrames, PauseFrames: a.pauseFrames,
		Malformed: a.malformed, Fragments: a.fragments, VXLANPackets: a.tunnelled, VLANPackets: a.vlanTagged,
		Untracked: a.untracked, LinkSpeedBitsPerS: int64(a.options.LinkSpeed),
		QueuePairs: []QueuePair{}, RoCEv1QueuePairs: []QueuePair{}, Connections: []Connection{},
		Pauses: []Pause{}, Exchanges: []Exchange{}, Findings: []finding.Finding{},
	}
	if a.stopped != nil {
		r.StoppedAtByte, r.StoppedBecause = &a.stopped.Offset, a.stopped.Reason
	}
	for op, n := range a.opcodes {
		if n > 0 {
			r.Opcodes[roce.Opcode(op).String()] = n
		}
	}
	slices.SortFunc(a.flows.order, func(f, g *flow) int {
		return cmp.Or(f.src.Addr().Compare(g.src.Addr()), f.dst.Addr().Compare(g.dst.Addr()), cmp.Compare(f.qpn, g.qpn))
	})
	for _, f := range a.flows.order {
		a.addRows(r, f)
	}
	a.addPauses(r)
	a.addExchanges(r)
	r.Findings = append(r.Findings, a.findings()...)
	return r
}

func icrcCounts(n *[3]uint64) ICRCCounts {
	return ICRCCounts{Valid: n[roce.ICRCValid], Wrong: n[roce.ICRCWrong], Unchecked: n[roce.ICRCUnchecked]}
}

// addRows enters the rows of a flow and its connection.
func (a *Analyser) addRows(r *Report, f *flow) {
	if f.conn != nil {
		f.conn.rounds.end()
		r.Connections = append(r.Connections, f.connection())
	}
	for kind, s := range f.streams {
		if s == nil {
			continue
		}
		q := QueuePair{
			Src: f.src.String(), Dst: f.dst.String(), DestQPN: uint32(f.qpn), Kind: Kind(kind).String(),
			Packets: s.packets, PayloadBytes: s.bytes, DistinctPSNs: uint64(s.psns.count), PSNsExact: !s.inexact,
			FirstPSN: uint32(s.firstPSN), LastPSN: uint32(s.lastPSN), NAKs: s.naks, RNRNAKs: s.rnrs,
			WrongICRC: s.wrong, ECN: ecnCounts(&s.ecn), DSCP: []DSCPCount{},
			SourcePorts: append([]uint16{}, s.ports[:s.nports]...), MorePorts: s.morePorts,
			FirstPacket: s.firstPacket, LastPacket: s.lastPacket,
		}
		slices.Sort(q.SourcePorts)
		for i, d := range s.dscp[:s.ndscp] {
			q.DSCP = append(q.DSCP, DSCPCount{d, s.dscpPackets[i]})
		}
		if c := f.conn; c != nil && Kind(kind) == Request {
			q.Retransmission, q.Duplicates, q.OutOfOrder = c.retransmissions, c.duplicates, c.outOfOrder
			q.Gaps, q.MissingPSNs = c.gaps, c.missing
		}
		if Kind(kind) == Response {
			q.Retransmission = s.repeated
		}
		if f.v1 {
			r.RoCEv1QueuePairs = append(r.RoCEv1QueuePairs, q)
		} else {
			r.QueuePairs = append(r.QueuePairs, q)
		}
	}
}

func microseconds(t units.Time) float64 { return float64(t) / float64(units.Microsecond) }

// connection returns what is known of the connection of f's requests.
func (f *flow) connection() Connection {
	c, s := f.conn, f.streams[Request]
	o := Connection{
		Transport: c.transport.String(),
		Src:       f.src.String(), Dst: f.dst.String(), DestQPN: uint32(f.qpn), PathMTU: c.mtu,
		Messages: c.messages, SentBytes: c.newBytes, ReadBytes: c.readBytes,
		Gaps: c.gaps, MissingPSNs: c.missing, Retransmissions: c.retransmissions,
		GoBackN: c.rounds.goBackN, Single: c.rounds.single,
		RoundsByNAK: c.rounds.byNAK, RoundsByRNR: c.rounds.byRNR, RoundsByGap: c.rounds.byGap, RoundsByTimer: c.rounds.byTimer,
		TimeoutMinUS: microseconds(c.rounds.shortest), TimeoutMaxUS: microseconds(c.rounds.longest),
		Duplicates: c.duplicates, OutOfOrder: c.outOfOrder, Damaged: c.damaged,
		NAKs: map[string]uint64{}, RNRNAKs: c.answers.rnrs, UnseenAcked: c.answers.unseen,
		AckLatency: timesOf(c.latency), RequestECN: ecnCounts(&s.ecn),
		CNPs: c.congest.cnps, CEToCNP: timesOf(c.congest.toCNP), CNPToSlow: timesOf(c.congest.toSlow),
		CNPsObeyed: c.congest.slowed, CNPsIgnored: c.congest.kept, Goodput: []Point{},
	}
	for code, n := range c.answers.naks {
		if n > 0 {
			o.NAKs[(roce.SyndromeNAKSequenceError + roce.Syndrome(code)).String()] = n
		}
	}
	if n := c.answers.afterRNR; n > 0 {
		o.NAKs["NAK PSN sequence error after RNR"] = n
	}
	if c.answers.rnrs > 0 {
		o.RNRTimeUS = float64(roce.RNRTime(c.answers.rnrCode).Microseconds())
	}
	first, last := s.firstAt, s.lastAt
	if f.peer != nil {
		o.SrcQPN = uint32(f.peer.qpn)
		if b := f.peer.streams[Response]; b != nil {
			o.ResponseECN = ecnCounts(&b.ecn)
			last = max(last, b.lastAt)
		}
	}
	if t := (last - first).Seconds(); t > 0 {
		o.GoodputBPS = float64(8*(c.newBytes+c.readBytes)) / t
	}
	if l := c.curve; l != nil {
		width := float64(l.width) / 1e9
		for i, b := range l.bytes[:l.used] {
			o.Goodput = append(o.Goodput, Point{float64(i) * width, float64(8*b) / width})
		}
	}
	return o
}

func (a *Analyser) addPauses(r *Report) {
	for _, p := range a.pausers {
		for i := range p.classes {
			c := &p.classes[i]
			if c.frames+c.resumes == 0 {
				continue
			}
			c.end()
			o := Pause{
				Sender: p.mac.String(), Class: i, Frames: c.frames, Resumes: c.resumes, Quanta: c.quanta, MaxQuanta: c.maxQuanta,
				PausedUS: microseconds(c.paused), LongestRun: c.longestRun,
			}
			if i == wholeLink {
				o.Class = -1
			}
			r.Pauses = append(r.Pauses, o)
		}
	}
}

func (a *Analyser) addExchanges(r *Report) {
	for _, e := range a.exchanges {
		o := Exchange{
			Client: e.client.String(), Server: e.server.String(), ServiceID: e.serviceID, Port: e.port,
			ClientQPN: uint32(e.clientQPN), ServerQPN: uint32(e.serverQPN), PathMTU: e.mtu,
			AckTimeout: e.ackTimeout, RetryCount: e.retryCount, Requests: e.requests, State: e.state(),
			FirstPacket: e.firstPacket, LastPacket: e.lastPacket,
		}
		if e.rejected {
			o.Reject = e.reason.String()
		}
		if e.setAt > 0 {
			o.SetupUS = microseconds(e.setAt - e.firstAt)
		}
		r.Exchanges = append(r.Exchanges, o)
	}
}

// state says in a word how far an exchange came.
func (e *exchange) state() string {
	switch {
	case e.rejected:
		return "rejected"
	case e.disconnected:
		return "disconnected"
	case e.service && e.replied && e.status != 0:
		return "refused"
	case e.service && e.replied:
		return "resolved"
	case e.ready:
		return "established"
	case e.replied:
		return "replied"
	}
	return "unanswered"
}

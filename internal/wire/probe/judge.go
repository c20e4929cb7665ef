package probe

import (
	"fmt"
	"strings"

	"weir/internal/finding"
	"weir/roce"
)

// Faulty reports whether there is a finding that is an error.
func (r *Report) Faulty() bool {
	for i := range r.Findings {
		if r.Findings[i].Severity >= finding.Error {
			return true
		}
	}
	return false
}

func (r *Report) add(cause string, s finding.Severity, confidence float64, summary string, evidence ...string) {
	f := finding.Finding{Cause: cause, Severity: s, Confidence: confidence, Where: r.Local + "," + r.Addr, Summary: summary, Fix: []finding.Fix{}}
	for _, e := range evidence {
		f.Evidence = append(f.Evidence, finding.Evidence{Source: "weir probe", Text: e})
	}
	r.Findings = append(r.Findings, f)
}

// judge turns the figures into findings.
func (r *Report) judge() {
	r.Findings = []finding.Finding{}
	if r.State != Open {
		r.judgeSilence()
		return
	}
	r.judgeLoss()
	r.judgeMTU()
	r.judgeClasses()
	if r.SeenAddr != "" || r.PortsChanged > 0 {
		text := fmt.Sprintf("packets of %s arrive from %s, %d with another UDP source port", r.Local, orSame(r.SeenAddr, r.Local), r.PortsChanged)
		r.add("path-unreachable", finding.Error, 0.9,
			"A NAT on the path rewrites addresses or ports. The ICRC covers both, so adapters drop such packets without a word.", text)
	}
	if r.Reordered > 0 {
		r.add("reordering", finding.Warning, 0.6, fmt.Sprintf("%d of %d answers overtook an earlier one of the same source port.", r.Reordered, r.Answered))
	}
}

func orSame(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// judgeSilence words what silence means, which is not always a filter.
func (r *Report) judgeSilence() {
	counts := fmt.Sprintf("%d probes sent on %d source ports, %d answers", r.Sent, len(r.Ports), r.Answered)
	switch r.State {
	case Forward:
		summary := "A filter drops UDP port 4791 on the way to the host: the responder runs and no probe arrived."
		evidence := []string{counts, "the responder, asked over TCP, counts 0 probes"}
		if r.banned {
			evidence = append(evidence, "a router answered \"administratively prohibited\"")
		}
		r.add("udp4791-blocked", finding.Critical, 0.95, summary, evidence...)
	case Backward:
		r.add("udp4791-blocked", finding.Critical, 0.95,
			"A filter drops UDP port 4791 on the way back: probes arrive at the host, its answers do not arrive here.",
			counts, fmt.Sprintf("the responder, asked over TCP, counts %d probes", r.Arrived))
	case Hardware:
		r.add("unknown", finding.Warning, 0.5,
			"The far end's RDMA card takes UDP port 4791 in hardware, so no program there can hear probes. That says nothing of a filter. Test with weir perf --perftest against ib_write_bw on that host.",
			counts, "RDMA devices of the far end's interface: "+strings.Join(r.Devices, ", "))
	case Nobody:
		r.add("unknown", finding.Warning, 0.9,
			"UDP port 4791 passes to the host, where nobody listens. Start weir probe server there.",
			counts, "the host answered \"port unreachable\"")
	default:
		if r.banned {
			r.add("udp4791-blocked", finding.Critical, 0.9, "A router on the path says that it filters the probes.",
				counts, "ICMP: administratively prohibited")
			return
		}
		r.add("unknown", finding.Warning, 0.5,
			"Silence: no responder on the host, an RDMA card that takes the port, a filter, or no host at all. Start weir probe server there, which tells them apart.",
			counts, "no responder on TCP: "+r.Control)
	}
}

func (r *Report) judgeLoss() {
	var dead []string
	lost := 0
	for _, p := range r.Ports {
		lost += p.Sent - p.Answered
		if p.Answered == 0 {
			dead = append(dead, fmt.Sprint(p.Port))
		}
	}
	direction := ""
	if r.Arrived >= 0 {
		direction = fmt.Sprintf("; %d were lost on the way there, %d on the way back", r.Sent-r.Arrived, r.Arrived-r.Answered)
	}
	counts := fmt.Sprintf("%d of %d probes unanswered%s", lost, r.Sent, direction)
	const enough = 5 // probes on a port for a verdict on it
	switch {
	case len(dead) > 0 && r.Ports[0].Sent >= enough:
		r.add("path-loss", finding.Error, 0.9,
			fmt.Sprintf("Some ways lose everything: %d of %d source ports got no answer, the others did. One path of an ECMP group is broken or filtered.", len(dead), len(r.Ports)),
			counts, "dead source ports: "+strings.Join(dead[:min(16, len(dead))], " "))
	case lost > 0:
		s := finding.Error
		if lost*1000 < r.Sent { // below one in a thousand it may be this host's doing
			s = finding.Warning
		}
		r.add("path-loss", s, 0.8, fmt.Sprintf("The path loses packets: %.2f %%.", 100*float64(lost)/float64(r.Sent)), counts)
	}
}

// judgeMTU compares what passes with what the interfaces at both ends take.
func (r *Report) judgeMTU() {
	const headers = roce.IPv6Len + roce.UDPLen
	fits := 0
	for code := uint8(1); code <= 5; code++ {
		n := roce.MTUBytes(code)
		if wireSize(n)+headers <= r.LocalMTU && (r.RemoteMTU == 0 || wireSize(n)+headers <= r.RemoteMTU) {
			fits = n
		}
	}
	text := fmt.Sprintf("path MTU %d passes to the host, %d back; interface MTU here %d, there %s", r.PathMTUTo, r.PathMTUFrom, r.LocalMTU, known(r.RemoteMTU))
	switch passes := min(r.PathMTUTo, r.PathMTUFrom); {
	case passes < fits:
		r.add("mtu-mismatch", finding.Error, 0.9,
			fmt.Sprintf("A hop on the path has a smaller MTU than both ends: packets of path MTU %d pass, those of %d, which both interfaces take, do not.", passes, fits), text)
	case r.RemoteMTU > 0 && r.RemoteMTU != r.LocalMTU:
		r.add("mtu-mismatch", finding.Error, 0.9, fmt.Sprintf("The two ends have different MTUs: %d here, %d there.", r.LocalMTU, r.RemoteMTU), text)
	case passes < 4096:
		r.add("mtu-small", finding.Warning, 0.9, fmt.Sprintf("The interfaces allow path MTU %d only; jumbo frames (MTU 4200 and up) would allow 4096.", passes), text)
	}
}

func known(mtu int) string {
	if mtu == 0 {
		return "not known"
	}
	return fmt.Sprint(mtu)
}

// judgeClasses looks for rewritten DSCP and ECN.
func (r *Report) judgeClasses() {
	var dscp, ecn []string
	for _, c := range r.Classes {
		for _, way := range [...]struct {
			name string
			got  uint8
		}{{"towards the host", c.To}, {"on the way back", c.From}} {
			if way.got>>2 != c.Sent>>2 {
				dscp = append(dscp, fmt.Sprintf("DSCP %d arrives as %d %s", c.Sent>>2, way.got>>2, way.name))
			}
			if s, g := roce.ECN(c.Sent&3), roce.ECN(way.got&3); s != g && g != roce.CE {
				ecn = append(ecn, fmt.Sprintf("%v arrives as %v %s", s, g, way.name))
			}
		}
	}
	if len(dscp) > 0 {
		r.add("roce-in-default-priority", finding.Error, 0.9,
			"The path rewrites DSCP, so switches behind it see another priority than the sender asked for.", dscp...)
	}
	if len(ecn) > 0 {
		r.add("ecn-not-configured", finding.Error, 0.9,
			"The path clears ECN bits, so congestion marks cannot reach the receiver.", ecn...)
	}
}

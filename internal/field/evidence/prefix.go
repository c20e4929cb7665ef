package evidence

import (
	"strings"
	"weir/internal/field/evidence/tool"
)

// A label is what the prefix of a line says.
type label struct {
	stream string // tells the streams of a source apart
	rank   string
	host   string
}

var (
	// "[1,0]<stdout>:" of Open MPI, "[prterun-host-1@1,0]<stdout>:" of PRRTE.
	mpiTag = tool.MustCompile(`^\[(?:[^\[\]\s]*[@,])?(\d+),(\d+)\]<(?:stdout|stderr|stddiag)>(?:\[[^\]]*\])?:`)
	// "[56] " of Hydra's -prepend-rank; "[rank3]:", "[default3]:" of torchrun.
	rankTag = tool.MustCompile(`^\[(?:rank|default)?(\d+)\](?::\s?|\s|$)`)
	// "[pod/name/container] " of kubectl logs --prefix.
	podTag = tool.MustCompile(`^\[pod/([^/\]\s]+)/[^\]\s]+\] `)
	// "2025-05-01T10:00:00.123456789Z stdout F " of container run times, and
	// "[2025-05-01 10:00:00] " of NCCL and others.
	timeTag = tool.MustCompile(`^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?(?: (?:stdout|stderr) [FP])? `)
	// "12: " of srun --label.
	numberTag = tool.MustCompile(`^ {0,6}(\d{1,6}):(?: |$)`)
	// "gpu01: " of pdsh and parallel shells.
	hostTag = tool.MustCompile(`^([A-Za-z0-9][A-Za-z0-9.-]{1,62}): `)
	// Lines of NCCL whose head was cut start with the device.
	ncclCut   = tool.MustCompile(`^\[\d+\] (?:NCCL |\S+\.(?:cc|c|cpp|h|cu):\d+ NCCL )`)
	ncclLevel = tool.MustCompile(`\bNCCL (?:INFO|WARN) `)
	// "2: eth0    inet 10.0.0.1/24": the index of ip -o.
	ipIndex = tool.MustCompile(`^\S+\s+(?:inet6?|link/\S+) |^\S+: <[A-Z]`)
	// Names that are interfaces or devices, not hosts.
	deviceName = tool.MustCompile(`^(?:eth|en[opsx]|mlx|bnxt|irdma|ionic|roce|rdma|swp|Ethernet|bond|ib\d|hsn|kernel|NCCL|tc$|prio)`)
)

// certainPrefix takes off the prefixes that nothing else looks like.
func certainPrefix(text string) (string, label) {
	var lb label
	for range 4 {
		if !strings.HasPrefix(text, "[") && (text == "" || text[0] < '0' || text[0] > '9') {
			return text, lb
		}
		if m := mpiTag.FindStringSubmatch(text); m != nil {
			lb.stream += m[0]
			lb.rank = m[2]
			text = text[len(m[0]):]
			// PRRTE writes a space behind the tag; Open MPI 4 none, and what
			// follows is the line's own indentation.
			if strings.Contains(m[0], "@") {
				text = strings.TrimPrefix(text, " ")
			}
			continue
		}
		if m := podTag.FindStringSubmatch(text); m != nil {
			lb.stream += m[0]
			lb.host = m[1]
			text = text[len(m[0]):]
			continue
		}
		if m := timeTag.FindString(text); m != "" && len(text) > len(m) {
			text = text[len(m):]
			continue
		}
		if m := rankTag.FindStringSubmatch(text); m != nil && !ncclCut.MatchString(text) {
			lb.stream += m[0]
			lb.rank = m[1]
			text = text[len(m[0]):]
			continue
		}
		break
	}
	return text, lb
}

// labelMode says which of the uncertain prefixes a source uses at present.
type labelMode uint8

const (
	noLabels labelMode = iota
	numberLabels
	hostLabels
)

// A labeller takes the uncertain prefixes off: "12: " and "gpu01: ", which
// other outputs print, too. It needs some lines to decide.
type labeller struct {
	mode   labelMode
	misses int
}

// labelAhead is the number of lines that the decision looks at.
const labelAhead = 24

// maybe reports whether the decision for a line needs the lines behind it.
func (lb *labeller) maybe(text string) bool {
	return lb.mode == noLabels && strings.IndexByte(text, ':') > 0 && (numberTag.MatchString(text) || hostTag.MatchString(text))
}

// decide looks at a line and those behind it, and switches the mode on.
func (lb *labeller) decide(lines []rawLine) {
	for _, mode := range []labelMode{numberLabels, hostLabels} {
		if labelled(lines, mode) {
			lb.mode, lb.misses = mode, 0
			return
		}
	}
}

// labelled reports whether the lines carry prefixes: nearly all of them do, and
// the names repeat, which numbers of list entries and names of settings do not.
func labelled(lines []rawLine, mode labelMode) bool {
	names := map[string]int{}
	text, hits, nccl := 0, 0, false
	for _, l := range lines {
		if decoration(l.text) {
			continue
		}
		text++
		name, rest, ok := cutLabel(l.text, mode)
		if !ok || mode == numberLabels && ipIndex.MatchString(rest) {
			continue
		}
		hits++
		names[name]++
		nccl = nccl || ncclLevel.MatchString(rest)
	}
	switch {
	case hits == 0 || hits*10 < text*8:
		return false
	case nccl:
		return true
	case mode == numberLabels:
		return hits > len(names)
	}
	return hits >= 8 && hits >= 4*len(names)
}

func cutLabel(text string, mode labelMode) (name, rest string, ok bool) {
	tag := numberTag
	if mode == hostLabels {
		tag = hostTag
	}
	m := tag.FindStringSubmatch(text)
	if m == nil || mode == hostLabels && deviceName.MatchString(m[1]) {
		return "", text, false
	}
	return m[1], text[len(m[0]):], true
}

// strip takes the prefix of the present mode off. Sixteen lines without one
// end the mode.
func (lb *labeller) strip(text string) (string, label) {
	if lb.mode == noLabels {
		return text, label{}
	}
	name, rest, ok := cutLabel(text, lb.mode)
	if !ok {
		if !decoration(text) {
			lb.misses++
		}
		if lb.misses > 16 {
			lb.mode = noLabels
		}
		return text, label{}
	}
	lb.misses = 0
	if lb.mode == hostLabels {
		return rest, label{stream: name + ": ", host: name}
	}
	return rest, label{stream: name + ": ", rank: name}
}

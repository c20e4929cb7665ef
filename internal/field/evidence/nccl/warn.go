package nccl

import (
	"net/netip"
	"strconv"
	"strings"

	"weir/internal/field/evidence/tool"
)

var (
	completionText = tool.MustCompile(`Got completion (?:from peer (\S+?)(?:<\d+>)? )?with (?:error|status=?) ?(?:([A-Z][A-Z_]+)\()?(\d+)\)?`)
	opcodeText     = tool.MustCompile(`opcode[ =](?:[A-Z_]+\()?(\d+)`)
	lengthText     = tool.MustCompile(`\blen[ =](\d+)`)
	vendorText     = tool.MustCompile(`vendor[ _]err[ =](\d+)`)
	sideText       = tool.MustCompile(`\((Send|Recv)\)|req_type=(Send|Recv)`)
	localText      = tool.MustCompile(`localGid ?([0-9a-fA-F:.]+)`)
	remoteText     = tool.MustCompile(`remoteGids? ?([0-9a-fA-F:.]+)`)
	hcaText        = tool.MustCompile(`\bhca (\S+)`)
	verbsText      = tool.MustCompile(`(?:Call to )?(ibv_\w+|rdma_\w+) failed(?: with (?:error )?(.*))?$`)
	errnoText      = tool.MustCompile(`^(\d+) (.*)$`)
	errnoTail      = tool.MustCompile(`\[?errno (\d+)\]?|\((\d+)\)`)
	onDevice       = tool.MustCompile(`on dev ([\w.+-]+):(\d+)`)
	stateText      = tool.MustCompile(`curr state (\w+),? next state (\w+)`)
	gidIndexText   = tool.MustCompile(`local GID index (\d+)`)
	localGIDText   = tool.MustCompile(`local GID:? ([0-9a-fA-F:.]+[0-9a-fA-F])`)
	remoteGIDText  = tool.MustCompile(`remote GID:? ([0-9a-fA-F:.]+[0-9a-fA-F])`)
	asyncText      = tool.MustCompile(`(?:([\w.+-]+):\d+ )?(?:NET/IB ?: )?(?:([\w.+-]+):\d+ )?(?:Got )?(?:(?:non-fatal |fatal )?async (?:fatal )?event(?: on \w+ \(\S+\))? ?: ?(.+)|(unknown event type .+))$`)
	openText       = tool.MustCompile(`Unable to open device (\S+)`)
	socketText     = tool.MustCompile(`(?i)socket|connect(?:ion)? |accept|Connection closed`)
	cudaText       = tool.MustCompile(`(?:Cuda|HIP|CUDA) failure|hipError|cudaError`)
)

// errnos gives the number of the texts of strerror that verbs return.
var errnos = map[string]uint64{
	"Operation not permitted": 1, "No such file or directory": 2, "Input/output error": 5, "Resource temporarily unavailable": 11, "Cannot allocate memory": 12,
	"Permission denied": 13, "Bad address": 14, "Device or resource busy": 16, "No such device": 19, "Invalid argument": 22, "No space left on device": 28,
	"Function not implemented": 38, "Protocol not supported": 93, "Operation not supported": 95, "Network is down": 100, "Network is unreachable": 101,
	"Connection reset by peer": 104, "Transport endpoint is not connected": 107, "Connection timed out": 110, "Connection refused": 111, "No route to host": 113, "Remote I/O error": 121,
}

// warn reads a warning. The first ones of a process are told one by one, then
// they are counted.
func (r *record) warn() {
	r.p.errors++
	if r.p.errors > maxEvents {
		return
	}
	t := r.text
	switch {
	case completionText.MatchString(t):
		r.completion(t)
	case asyncText.MatchString(t):
		m := asyncText.FindStringSubmatch(t)
		r.event("nccl.error.kind", "async_event")
		r.event("nccl.error.device", m[1]+m[2])
		r.event("nccl.error.event", m[3]+m[4])
	case verbsText.MatchString(t):
		r.verbs(t)
	case openText.MatchString(t):
		r.event("nccl.error.kind", "verbs")
		r.event("nccl.error.device", openText.FindStringSubmatch(t)[1])
	case cudaText.MatchString(t):
		r.event("nccl.error.kind", "cuda")
	case socketText.MatchString(t) && !strings.HasPrefix(t, "[Proxy"):
		r.event("nccl.error.kind", "socket")
	}
	if strings.Contains(t, "HINT:") {
		r.once("nccl.hint", t)
	}
	r.event("nccl.warning", tool.Kept(t))
}

// event puts out a text that is one of several facts of the line's event.
func (r *record) event(key, value string) {
	if value != "" {
		r.out.Text(r.N, r.p.subject, key, value)
	}
}

func (r *record) eventNumber(key, text string) {
	if text != "" && !r.out.Number(r.N, r.p.subject, key, text) {
		r.out.NotUnderstood(r.Line)
	}
}

// completion reads the failed completions of all releases.
func (r *record) completion(t string) {
	m := completionText.FindStringSubmatch(t)
	r.event("nccl.error.kind", "completion")
	r.event("nccl.error.peer", m[1])
	r.event("nccl.error.status_name", m[2])
	r.eventNumber("nccl.error.status", m[3])
	r.eventNumber("nccl.error.opcode", group(opcodeText, t))
	r.eventNumber("nccl.error.length", group(lengthText, t))
	r.eventNumber("nccl.error.vendor", group(vendorText, t))
	if s := sideText.FindStringSubmatch(t); s != nil {
		r.event("nccl.error.direction", s[1]+s[2])
	}
	r.gids(group(localText, t), group(remoteText, t))
	r.event("nccl.error.device", group(hcaText, t))
}

// gids puts out both GIDs and whether one is link-local.
func (r *record) gids(local, remote string) {
	linkLocal, known := false, false
	for _, g := range []struct{ key, text string }{{"nccl.error.local_gid", local}, {"nccl.error.remote_gid", remote}} {
		addr, err := netip.ParseAddr(g.text)
		if err != nil {
			continue
		}
		known = true
		linkLocal = linkLocal || addr.IsLinkLocalUnicast()
		r.event(g.key, addr.String())
	}
	if known {
		r.out.Bool(r.N, r.p.subject, "nccl.error.link_local", linkLocal)
	}
}

// verbs reads a failed call: "failed with error No such device", newer "failed
// with 110 Connection timed out, on dev mlx5_0:1, curr state INIT, ...".
func (r *record) verbs(t string) {
	m := verbsText.FindStringSubmatch(t)
	r.event("nccl.error.kind", "verbs")
	r.event("nccl.error.call", m[1])
	text, rest, _ := strings.Cut(m[2], ", ")
	number := ""
	if e := errnoText.FindStringSubmatch(text); e != nil {
		number, text = e[1], e[2]
	} else if e := errnoTail.FindStringSubmatch(m[2]); e != nil {
		number = e[1] + e[2]
		text, _, _ = strings.Cut(m[2], e[0])
		text = strings.TrimSpace(text)
	}
	if number == "" {
		if n, ok := errnos[text]; ok {
			number = strconv.FormatUint(n, 10)
		}
	}
	r.event("nccl.error.text", text)
	r.eventNumber("nccl.error.errno", number)
	if d := onDevice.FindStringSubmatch(rest); d != nil {
		r.event("nccl.error.device", d[1])
	}
	if s := stateText.FindStringSubmatch(rest); s != nil {
		r.event("nccl.error.state", s[1]+" to "+s[2])
	}
	r.eventNumber("nccl.error.gid_index", group(gidIndexText, rest))
	r.gids(group(localGIDText, rest), group(remoteGIDText, rest))
}

func group(re *tool.Pattern, t string) string {
	if m := re.FindStringSubmatch(t); m != nil {
		return m[1]
	}
	return ""
}

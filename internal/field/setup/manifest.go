package setup

import (
	"regexp"
	"strings"
)

var (
	manifestTop = regexp.MustCompile(`(?m)^apiVersion:[ \t]*\S`)
	unitTop     = regexp.MustCompile(`(?m)^\[(?:Unit|Service)\][ \t]*$`)
	// An element of env in Kubernetes manifests, in one line or two.
	podVariable = regexp.MustCompile(`(?m)^[ \t]*- (?:\{ *)?name: *"?((?:NCCL|RCCL)_\w+)"?(?:,| *\n)[ \t]*value: *("[^"\n]*"|'[^'\n]*'|[^\s}]+)`)
	// A variable of a systemd unit.
	unitVariable = regexp.MustCompile(`(?m)^Environment=.*?"?((?:NCCL|RCCL)_\w+)=([^"\s]*)`)
)

// Manifest reports whether a text is a Kubernetes manifest or a systemd unit,
// which start things and configure no device, and returns the variables of the
// library that they set.
func Manifest(text, source, host string) (*Result, bool) {
	if len(text) > MaxText || !manifestTop.MatchString(text) && !unitTop.MatchString(text) {
		return nil, false
	}
	r := &reader{source: source, host: host, shell: newShell(), out: &Result{Lines: map[int]bool{}}}
	for _, re := range []*regexp.Regexp{podVariable, unitVariable} {
		for _, m := range re.FindAllStringSubmatchIndex(text, maxCommands) {
			line := uint(1 + strings.Count(text[:m[2]], "\n"))
			r.text(line, r.hostSubject(), "nccl.env."+text[m[2]:m[3]], strings.Trim(text[m[4]:m[5]], `"'`))
			r.understood(line)
		}
	}
	return r.out, true
}

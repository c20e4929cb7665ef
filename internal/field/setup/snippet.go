package setup

import (
	"regexp"
	"strconv"
	"strings"
)

// perftest finds options that do not mark what they are meant to mark.
func (r *reader) perftest(line uint, words []string) {
	o := options(words[1:])
	whole := strings.Join(words, " ")
	for _, name := range []string{"-S", "--sl"} {
		if n, err := strconv.Atoi(o[name]); err == nil && n > 15 {
			r.mistake(line, whole, name, "--tclass="+o[name], "roce-in-default-priority",
				"--sl is the service level, 0 to 15, which RoCE v2 packets do not carry. The traffic class byte is --tclass (or -T with -R).")
		}
	}
	_, cm := o["-R"]
	_, long := o["--rdma_cm"]
	for _, name := range []string{"-T", "--tos"} {
		if v, ok := o[name]; ok && !cm && !long {
			r.mistake(line, whole, name, "--tclass="+v+", or -R -T "+v, "roce-in-default-priority",
				"-T takes effect only with -R (connections made by the connection manager): without it the packets go out with traffic class 0.")
		}
	}
}

var (
	rangePattern = regexp.MustCompile(`\b(?:pfc|priority-flow-control|no-drop|lossless|flow-control)\b.*\bpriority +(\d)-(\d)\b|^\s*priority +(\d)-(\d)\b`)
	rdmaMethod   = regexp.MustCompile(`rdma://[\w.:/$-]*`)
)

// words finds mistakes that are no matter of commands, anywhere in a text.
func (r *reader) words(text string) {
	for i, line := range strings.Split(text, "\n") {
		at := uint(i + 1)
		if len(line) > maxWord {
			continue
		}
		if rangePattern.MatchString(line) {
			r.mistake(at, strings.TrimSpace(line), "priority", "priority 3", "pfc-on-all-priorities",
				"A range makes every priority in it lossless, where the system takes a range at all: RoCE needs one. Each further one takes headroom from it, and traffic that may be dropped pauses the rest.")
		}
		if m := rdmaMethod.FindString(line); m != "" {
			r.mistake(at, strings.TrimSpace(line), "init_method", "tcp://HOST:PORT, or env://", "env-typo",
				"There is no rdma:// method: init_method names where processes meet, over TCP. Whether data then goes over RDMA is the library's choice of network.")
		}
	}
}

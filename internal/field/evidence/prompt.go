package evidence

import (
	"strings"

	"weir/internal/field/evidence/tool"
)

// A command is a command line found in the text.
type command struct {
	host  string
	words []string
	path  string // of "==> file <==" and "cat /file"
}

var (
	// "[root@gpu01 ~]# cmd", "root@gpu01:~# cmd", "admin@sonic:~$ cmd", "user@sw> show ...".
	atPrompt = tool.MustCompile(`^(?:\([\w.-]+\) ?)?\[?[\w.-]+@([\w.-]+)(?:[: ][^#$%>]{0,120}?)?\]?[#$%>] ?(.*)$`)
	// "sw1# show ...", "sw1(config-if)# show ...", "sw1>show ...".
	switchPrompt = tool.MustCompile(`^([A-Za-z][\w.-]*)(?:\([\w.-]+\))?[#>] ?((?:show|sh|display|dis|do|nv|run) .*)$`)
	// "<sw1>display ...", "[~sw1-100GE1/0/1]display ...".
	vrpPrompt = tool.MustCompile(`^[<\[][~*]?([A-Za-z][\w./-]*)[>\]] ?((?:display|dis) .*)$`)
	// "gpu01$ cmd": only where cmd is known.
	hostPrompt = tool.MustCompile(`^([A-Za-z][\w.-]*)(?::[^#$%> ]{0,80})?[$#%] (.+)$`)
	fileMark   = tool.MustCompile(`^==> (.+) <==$`)
)

// prompts finds command lines. starts maps the first word of the known tools'
// command lines to all that they may start with.
type prompts struct {
	starts map[string][]string
}

func newPrompts(parsers []tool.Parser) *prompts {
	p := &prompts{starts: map[string][]string{}}
	for i := range parsers {
		for _, start := range parsers[i].Programs {
			first, _, _ := strings.Cut(start, " ")
			p.starts[first] = append(p.starts[first], start)
		}
	}
	return p
}

// find reports whether a line is a command line and not output.
func (p *prompts) find(text string) (command, bool) {
	t := strings.TrimSpace(text)
	if t == "" || len(t) > 4096 || strings.HasPrefix(t, "#!") { // "#!/usr/bin/env bash" runs no env
		return command{}, false
	}
	if m := fileMark.FindStringSubmatch(t); m != nil {
		return command{path: m[1]}, true
	}
	for _, re := range []*tool.Pattern{atPrompt, switchPrompt, vrpPrompt} {
		if m := re.FindStringSubmatch(t); m != nil {
			return p.made(m[1], m[2]), true
		}
	}
	if m := hostPrompt.FindStringSubmatch(t); m != nil && p.bare(m[2], true) {
		return p.made(m[1], m[2]), true
	}
	if rest, ok := strings.CutPrefix(t, "$ "); ok {
		return p.made("", rest), true
	}
	// Marks of collectors: "# ethtool eth2", "+ ethtool eth2", "=== ethtool eth2 ===".
	bare := strings.TrimSpace(strings.Trim(t, "#=*-+`"))
	if bare != "" && p.bare(bare, bare != t) {
		return p.made("", bare), true
	}
	return command{}, false
}

// bare reports whether a line without prompt is a command of a known tool.
// A single word needs a mark, or the path of a program, before it.
func (p *prompts) bare(t string, marked bool) bool {
	t = strings.TrimPrefix(t, "sudo ")
	first, rest, more := strings.Cut(t, " ")
	name := first[strings.LastIndexByte(first, '/')+1:]
	for _, start := range p.starts[name] {
		if strings.HasPrefix(name+" "+rest+" ", start+" ") {
			return more || marked || name != first
		}
	}
	return false
}

// made splits a command into words and follows ssh to its host.
func (p *prompts) made(host, text string) command {
	words := splitWords(text)
	for i, w := range words {
		if w != "ssh" {
			continue
		}
		for j := i + 1; j < len(words); j++ {
			if !strings.HasPrefix(words[j], "-") {
				host = words[j][strings.LastIndexByte(words[j], '@')+1:]
				break
			}
		}
	}
	c := command{host: host, words: words}
	if len(words) == 2 && words[0] == "cat" && strings.HasPrefix(words[1], "/") && !strings.ContainsAny(words[1], "*?[{") {
		c.path = words[1]
	}
	return c
}

// splitWords splits a command line at blanks outside quotes.
func splitWords(text string) []string {
	var words []string
	var b strings.Builder
	var quote byte
	in := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			} else {
				b.WriteByte(c)
			}
		case c == '"' || c == '\'':
			quote, in = c, true
		case c == ' ' || c == '\t':
			if in {
				words = append(words, b.String())
				b.Reset()
			}
			in = false
		default:
			b.WriteByte(c)
			in = true
		}
	}
	if in {
		words = append(words, b.String())
	}
	return words
}

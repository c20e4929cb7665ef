package inventory

import (
	"regexp"
	"strconv"
	"strings"
)

var slurmLine = regexp.MustCompile(`(?im)^[ \t]*SwitchName=\S+[ \t]+.*(?:Nodes|Switches)=`)

// maxHosts bounds what one host list may stand for.
const maxHosts = 1 << 16

// readSlurm reads topology.conf (man page topology.conf(5)): SwitchName with Nodes
// or Switches as host lists. A link's ports are not stated.
func readSlurm(text []byte, source string) *Graph {
	if !slurmLine.Match(text) {
		return nil
	}
	b := newBuilder(source, "slurm topology.conf")
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		at := i + 1
		line := strings.TrimSpace(lines[i])
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) && len(line) < 1<<20 {
			i++
			line = strings.TrimSuffix(line, `\`) + " " + strings.TrimSpace(lines[i])
		}
		if line, _, _ = strings.Cut(line, "#"); strings.TrimSpace(line) == "" {
			continue
		}
		b.slurmLine(at, line)
	}
	return b.g
}

func (b *builder) slurmLine(at int, line string) {
	values := map[string]string{}
	for _, f := range strings.Fields(line) {
		key, value, ok := strings.Cut(f, "=")
		if !ok {
			b.g.note(at, f)
			continue
		}
		values[strings.ToLower(key)] = value
	}
	name := values["switchname"]
	if name == "" {
		b.g.note(at, line)
		return
	}
	names, ok := HostList(name)
	if !ok || len(names) != 1 {
		b.g.note(at, "SwitchName="+name)
		return
	}
	b.node(Node{Name: name, Kind: Switch, Line: at})
	for key, kind := range map[string]Kind{"nodes": Host, "switches": Switch} {
		if values[key] == "" || key == "nodes" && strings.EqualFold(values[key], "ALL") {
			continue
		}
		list, ok := HostList(values[key])
		if !ok {
			b.g.note(at, key+"="+values[key])
			continue
		}
		for _, n := range list {
			b.node(Node{Name: n, Kind: kind, Line: at})
			b.g.link(Link{A: End{Node: n}, B: End{Node: name}, Line: at})
		}
	}
}

// HostList expands Slurm's host lists: "gpu[001-016,020],login1", with several
// brackets in a name. ok is false where a list is malformed or stands for more
// than 65536 names.
func HostList(s string) (names []string, ok bool) {
	depth, start := 0, 0
	var parts []string
	for i := range len(s) {
		switch s[i] {
		case '[':
			depth++
		case ']':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, s[start:i])
				start = i + 1
			}
		}
		if depth < 0 || depth > 1 {
			return nil, false
		}
	}
	if depth != 0 {
		return nil, false
	}
	for _, p := range append(parts, s[start:]) {
		if p == "" {
			return nil, false
		}
		list, ok := expand(p)
		if !ok || len(names)+len(list) > maxHosts {
			return nil, false
		}
		names = append(names, list...)
	}
	return names, true
}

func expand(s string) ([]string, bool) {
	open := strings.IndexByte(s, '[')
	if open < 0 {
		return []string{s}, true
	}
	length := strings.IndexByte(s[open:], ']')
	tails, ok := expand(s[open+length+1:])
	if !ok {
		return nil, false
	}
	var out []string
	for part := range strings.SplitSeq(s[open+1:open+length], ",") {
		lo, hi, ranged := strings.Cut(part, "-")
		if !ranged {
			hi = lo
		}
		a, err1 := strconv.ParseUint(lo, 10, 31)
		z, err2 := strconv.ParseUint(hi, 10, 31)
		if err1 != nil || err2 != nil || z < a || z-a >= maxHosts {
			return nil, false
		}
		for n := a; n <= z; n++ {
			digits := strconv.FormatUint(n, 10)
			if len(digits) < len(lo) {
				digits = strings.Repeat("0", len(lo)-len(digits)) + digits
			}
			for _, t := range tails {
				if len(out) >= maxHosts {
					return nil, false
				}
				out = append(out, s[:open]+digits+t)
			}
		}
	}
	return out, true
}

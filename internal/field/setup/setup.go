// Package setup reads the commands that set a host up for RoCE, in shell
// scripts, documents and pasted snippets, without running them: what they set
// becomes facts under the same keys as what the tools print, and what cannot
// work becomes a Mistake with its explanation.
//
// A script is parsed as shell. Variables, loops over words, functions and both
// the tested and the plain way into a block are followed; what a command would
// print is not known, but a substitution that looks below infiniband/DEVICE is
// taken for the network interface (or PCI address) of that device. A text that
// is not shell is read line by line.
package setup

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"weir/internal/fact"
)

// Limits: a longer text is not read, and a script that expands to more
// commands is cut.
const (
	MaxText     = 256 << 10 // keeps the parser's recursion far below the limit of a stack
	maxCommands = 20_000
	maxDepth    = 16
	maxWord     = 4096
	maxWords    = 4096
)

// A Mistake is a command or setting that does not do what it is meant to.
type Mistake struct {
	Line        int
	Source      string
	Text        string // the command, as written
	Setting     string
	Expected    string
	Explanation string
	Cause       string // id of package cause
}

// A Result is what a text sets.
type Result struct {
	Facts    []fact.Fact
	Mistakes []Mistake
	Commands int          // that were understood
	Lines    map[int]bool // that commands which were understood stand in
}

// starts are words that commands of interest begin with.
var starts = regexp.MustCompile(`(?m)^[ \t>*$#+-]*(?:sudo )?(?:mlnx_qos|dcb|cma_roce_(?:tos|mode)|mlxconfig|mstconfig|niccli|nicctl|ethtool -[AsK]|ip link set|sysctl|config (?:load|reload|save)\b|ib_(?:write|read|send)_\w+|priority-flow-control|(?:export +)?NCC?L_\w+[= ])|echo +["']?\d+["']? *>|infiniband/|rdma://|init_method|\bpriority +\d-\d`)

// Is reports whether a text holds commands that Read is for.
func Is(text string) bool {
	return len(text) <= MaxText && !strings.Contains(text[:min(len(text), 4096)], "\x00") && starts.MatchString(text)
}

// IsScript reports whether a text is nothing but such commands: a shell script.
func IsScript(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	return strings.HasPrefix(line, "#!") && (strings.Contains(line, "sh") || strings.Contains(line, "bash"))
}

// Read reads a text. host names the machine that it is for, "" if unknown.
func Read(text, source, host string) *Result {
	r := &reader{source: source, host: host, shell: newShell(), out: &Result{Lines: map[int]bool{}}}
	if len(text) > MaxText {
		return r.out
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if f := parse(text, source); f != nil && (IsScript(text) || plain(text)) {
		r.statements(f.Stmts, 0)
	} else {
		r.byLine(text)
	}
	r.words(text)
	return r.out
}

// maxOpeners bounds what may nest in a text: the shell parser recurses without a
// bound of its own, up to 3 KB of stack a level.
const maxOpeners = 4000

var openers = regexp.MustCompile("[({`\\[!]|\\b(?:if|while|until|for|case|select|function|time|coproc|elif|else|then|do)\\b")

// parse parses shell; nil for what is none, or could nest too deeply.
func parse(text, source string) *syntax.File {
	if len(openers.FindAllStringIndex(text, maxOpeners+1)) > maxOpeners {
		return nil
	}
	if strings.Contains(text, "((") && strings.Count(text, "-")+strings.Count(text, "+")+strings.Count(text, "~") > maxOpeners {
		return nil
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), source)
	if err != nil {
		return nil
	}
	return f
}

// plain reports whether a text without #! reads like commands and not like a
// document: prose parses as shell, too.
func plain(text string) bool {
	return !regexp.MustCompile(`(?m)^(?:[#*>] |\x60{3}|- |\d+\. |[$] )`).MatchString(text)
}

type reader struct {
	source, host string
	shell
	out      *Result
	commands int
	noDrop   map[string]uint8 // priorities that nicctl made lossless, by card
}

// byLine reads each line of a document as a command of its own.
func (r *reader) byLine(text string) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		at := i + 1
		line := strings.TrimSpace(lines[i])
		for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
			i++
			line = strings.TrimSuffix(line, `\`) + " " + strings.TrimSpace(lines[i])
		}
		line = strings.TrimLeft(line, "$#>*-+` \t")
		line = strings.TrimRight(line, "`")
		if len(line) > maxWord {
			continue
		}
		f := parse(line, r.source)
		if f == nil {
			continue
		}
		before := len(r.out.Facts)
		wrong := len(r.out.Mistakes)
		seen := r.out.Lines
		r.out.Lines = map[int]bool{}
		r.statements(f.Stmts, 0)
		for k := range r.out.Facts[before:] {
			r.out.Facts[before+k].Origin.Line = at
		}
		for k := range r.out.Mistakes[wrong:] {
			r.out.Mistakes[wrong+k].Line = at
		}
		if len(r.out.Lines) > 0 {
			for k := at; k <= i+1; k++ {
				seen[k] = true
			}
		}
		r.out.Lines = seen
	}
}

// Package nvue reads the configuration of NVIDIA Cumulus Linux 5: the
// commands that "nv config show -o commands" prints or a script holds, and the
// object trees of "nv config show" in YAML and JSON, such as startup.yaml.
//
// "nv set qos roce" stands for a whole set of settings, which this package
// fills in before the single statements change them. The path of a packet is
// DSCP or PCP (as trusted) -> switch priority -> traffic class, which is the
// queue; the switch priority is also what PFC pauses.
package nvue

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"weir/internal/fact"
	"weir/internal/field/dialect"
	"weir/internal/input/jsontree"
	"weir/internal/qos"
	"weir/units"
)

// System is the name of this dialect in qos.Device and in cluster files.
const System = "nvue"

// A setting is one path of the tree, as words.
type setting struct {
	words []string
	line  int
}

// Parse reads commands, YAML or JSON.
func Parse(r io.Reader, source string) (*dialect.Reading, error) {
	text, err := dialect.ReadAll(r, source)
	if err != nil {
		return nil, err
	}
	out := &dialect.Reading{Device: &qos.Device{Source: source, System: System}}
	var settings []setting
	trimmed := strings.TrimSpace(string(text[:min(len(text), 4096)]))
	if jsontree.Starts(firstLine(trimmed)) {
		if doc, _, err := jsontree.Parse(string(text), 1); err == nil {
			settings = treeSettings(doc)
			return Read(settings, out), nil
		}
	}
	if looksYAML(trimmed) {
		doc, err := yamlTree(text, source)
		if err != nil {
			return nil, err
		}
		return Read(treeSettings(doc), out), nil
	}
	lines, err := dialect.Lines(strings.NewReader(string(text)), source)
	if err != nil {
		return nil, err
	}
	return Read(commandSettings(lines, out), out), nil
}

// ParseTree reads a document of "nv config show -o json".
func ParseTree(doc *jsontree.Node, source string) *dialect.Reading {
	out := &dialect.Reading{Device: &qos.Device{Source: source, System: System}}
	return Read(treeSettings(doc), out)
}

// Read turns settings into a device; out has the device's source.
func Read(settings []setting, out *dialect.Reading) *dialect.Reading {
	p := newParser(out)
	for _, s := range settings {
		p.set(s)
	}
	p.device()
	return out
}

// Starts reports whether a line can stand at the top of a configuration: a
// command, or a part of the tree in YAML.
func Starts(line string) bool {
	text := strings.TrimSpace(line)
	if _, command, ok := dialect.SplitPrompt(text); ok && command != "" {
		text = command
	}
	text = strings.TrimPrefix(text, "sudo ")
	return strings.HasPrefix(text, "nv set ") || strings.HasPrefix(text, "nv unset ") || strings.HasPrefix(text, "nv config ") || looksYAML(line)
}

// Score says how sure text is an NVUE configuration.
func Score(text []byte) int {
	return dialect.ScoreMarks(text, []dialect.Mark{
		{Text: "nv set qos ", Worth: 90},
		{Text: "nv set interface ", Worth: 80},
		{Text: "nv config apply", Worth: 60},
		{Text: "nv set ", Worth: 40},
		{Text: "\n- set:", Worth: 60},
		{Text: "nvue-api-version", Worth: 60},
		{Text: "rev-id:", Worth: 20},
		{Text: "\n    qos:\n", Worth: 20},
		{Text: "roce:", Worth: 20},
	})
}

// IsConfig says how surely a document is NVUE's, from 0 to 100.
func IsConfig(doc *jsontree.Node) int {
	for _, part := range doc.Each() {
		if part.Get("header", "nvue-api-version") != nil || part.Get("header", "rev-id") != nil {
			return 90
		}
		set := part.Get("set")
		if set.Get("interface") != nil || set.Get("qos") != nil || set.Get("system") != nil {
			return 90
		}
		if part.Get("qos", "roce") != nil && part.Get("interface") != nil {
			return 70
		}
	}
	return 0
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// commandSettings takes "nv set" and "nv unset" lines, in any captured form.
func commandSettings(lines []dialect.Line, out *dialect.Reading) []setting {
	var settings []setting
	for _, l := range lines {
		text := l.Text
		if strings.HasPrefix(text, "#") {
			continue
		}
		if name, command, ok := dialect.SplitPrompt(text); ok {
			if out.Device.Name == "" {
				out.Device.Name, _, _ = strings.Cut(name, ":")
			}
			text = command
		}
		words := strings.Fields(strings.ReplaceAll(text, "'", ""))
		if len(words) > 0 && words[0] == "sudo" {
			words = words[1:]
		}
		switch {
		case len(words) == 0:
		case len(words) > 2 && words[0] == "nv" && words[1] == "set":
			settings = append(settings, setting{words[2:], l.Number})
		case len(words) > 2 && words[0] == "nv" && words[1] == "unset":
			settings = unset(settings, words[2:])
		case len(words) > 1 && words[0] == "nv" && (words[1] == "config" || words[1] == "show" || words[1] == "action"):
		default:
			out.Unknown(out.Device.Source, System, l.Number, l.Text)
		}
	}
	return settings
}

// unset drops the settings at and below a path.
func unset(settings []setting, path []string) []setting {
	return slices.DeleteFunc(settings, func(s setting) bool {
		return len(s.words) >= len(path) && slices.Equal(s.words[:len(path)], path)
	})
}

// treeSettings flattens an object tree into paths. The trees of revisions are
// lists of a header and the parts "set" and "unset".
func treeSettings(doc *jsontree.Node) []setting {
	var settings []setting
	for _, part := range doc.Each() {
		if set := part.Get("set"); set != nil {
			settings = flatten(settings, nil, set)
			continue
		}
		if part.Get("header") != nil && len(part.Items) == 1 {
			continue
		}
		settings = flatten(settings, nil, part)
	}
	return settings
}

func flatten(settings []setting, path []string, n *jsontree.Node) []setting {
	if len(path) > 64 {
		return settings
	}
	switch n.Kind {
	case jsontree.Object:
		if len(n.Items) == 0 && len(path) > 0 {
			return append(settings, setting{path, n.Line})
		}
		for _, m := range n.Items {
			settings = flatten(settings, append(slices.Clone(path), m.Key), m)
		}
	case jsontree.Array:
		for _, m := range n.Items {
			settings = flatten(settings, path, m)
		}
	case jsontree.Null:
		if len(path) > 0 {
			settings = append(settings, setting{path, n.Line})
		}
	default:
		words := append(slices.Clone(path), strings.Fields(n.Str())...)
		settings = append(settings, setting{words, n.Line})
	}
	return settings
}

func (p *parser) set(s setting) {
	if len(s.words) > 1 && s.words[0] == "qos" {
		for _, name := range silent {
			if s.words[1] == name && !strings.Contains(strings.Join(s.words, " "), "ingress-lossless-buffer shared-alpha") {
				return
			}
		}
	}
	line := strings.Join(s.words, " ")
	form, args := grammar.Read("", line)
	if form == nil {
		if !grammar.Other("", s.words[0]) {
			p.out.Unknown(p.out.Device.Source, System, s.line, line)
		}
		return
	}
	st := dialect.Statement{Form: form, Line: s.line, Args: args}
	ok := true
	switch {
	case strings.HasPrefix(form.Text, "interface "):
		ok = p.port(st)
	case args.Has("profile"):
		ok = p.profile(args["profile"]).take(st)
	default:
		ok = p.global(st)
	}
	if !ok {
		p.out.Unknown(p.out.Device.Source, System, s.line, line)
	}
}

func (p *parser) global(s dialect.Statement) bool {
	switch s.Form.ID {
	case "roce":
		p.roceAt = s.Line
		p.roce = true
	case "roce-enable":
		p.roceAt = s.Line
		p.roce = s.Args["state"] == "on" || s.Args["state"] == "enabled"
	case "roce-mode":
		p.roceAt = s.Line
		p.roce = true
		p.mode = s.Args["mode"]
	case "roce-cable":
		p.roceCable = units.Metres(s.Args.Int("metres"))
	case "watchdog-poll":
		p.poll = units.Time(s.Args.Int("ms")) * units.Millisecond
	case "watchdog-robustness":
		p.robustness = s.Args.Int("times")
	case "hostname":
		p.out.Device.Name = s.Args["name"]
	case "pool-share":
		p.pools = append(p.pools, fact.Fact{Key: "buffer.pool." + s.Args["pool"] + ".share", Value: fact.OfUint(uint64(s.Args.Int("percent"))), Unit: "percent", Origin: p.origin(s.Line)})
	case "pool-priority":
		list, ok := dialect.ParseList(s.Args["list"], 7)
		var names []string
		for _, prio := range list {
			names = append(names, strconv.Itoa(prio))
		}
		p.pools = append(p.pools, fact.Fact{Key: "buffer.pool." + s.Args["pool"] + ".priorities", Value: fact.OfList(names), Origin: p.origin(s.Line)})
		return ok
	}
	return true
}

func (p *parser) origin(line int) fact.Origin {
	return fact.Origin{Source: p.out.Device.Source, Line: line, Tool: System}
}

package audit_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/internal/answer/audit"
)

// A text that a repair was applied to must be found in order, and one that its
// undo was applied to as broken as before. The functions that apply are a
// device's command line in small.
func TestRepairsRepair(t *testing.T) {
	for i := range mutations {
		m := &mutations[i]
		if m.system == "host" { // outputs, not settings
			continue
		}
		t.Run(m.fault+"/"+m.system, func(t *testing.T) {
			s, files := m.files(t)
			c := plan(t, s, "")
			name := changedFile(m, s)
			files = map[string]string{name: files[name]} // the others are as planned
			before := withoutSystem(run(t, c, files))
			if len(before.Findings) != 1 {
				t.Skip("told by TestMutations")
			}
			f := &before.Findings[0]
			if len(f.Repair) == 0 || len(f.Repair[0].Commands) == 0 {
				if by := byHand[m.fault+"/"+m.system]; !by {
					t.Fatalf("no repair for %s %s: %+v", f.Cause, f.Setting, f.Repair)
				}
				return
			}
			files[name] = apply(t, m.system, files[name], f.Repair)
			if after := withoutSystem(run(t, c, files)); len(after.Findings) > 0 {
				t.Fatalf("after %q:\n%s", f.Repair[0].Commands, list(after))
			}
			if len(f.Undo) == 0 {
				return
			}
			files[name] = apply(t, m.system, files[name], f.Undo)
			again := withoutSystem(run(t, c, files))
			if len(again.Findings) != 1 || again.Findings[0].Cause != f.Cause || again.Findings[0].Setting != f.Setting {
				t.Errorf("after undo %q:\n%s", f.Undo[0].Commands, list(again))
			}
		})
	}
}

// byHand are faults whose repair depends on more than the running configuration.
var byHand = map[string]bool{
	"CNP in the RoCE queue/junos": true, // a class's queue number: many things hang on it
	"option misspelt/setup":       true,
}

func changedFile(m *mutation, s system) string {
	switch m.system {
	case "setup":
		return "h2/setup.sh"
	case "dcb":
		return "h2/dcb.sh"
	}
	return s.file
}

func apply(t *testing.T, system, text string, steps []audit.Step) string {
	t.Helper()
	var commands []string
	for _, s := range steps {
		commands = append(commands, s.Commands...)
	}
	switch system {
	case "sonic":
		return applyDB(t, text, commands)
	case "nxos", "eos", "vrp", "comware":
		return applyBlocks(text, commands)
	}
	for _, c := range commands {
		if rest, ok := strings.CutPrefix(c, "nv unset "); ok {
			text = dropLines(text, "nv set "+rest)
			continue
		}
		if c == "nv config apply" || c == "commit" {
			continue
		}
		text += c + "\n"
	}
	return text
}

// dropLines takes statements away, and single numbers out of lists.
func dropLines(text, prefix string) string {
	var out []string
	list := regexp.MustCompile(`^(.*switch-priority) (\d)$`).FindStringSubmatch(prefix)
	for l := range strings.SplitSeq(text, "\n") {
		if list != nil && strings.HasPrefix(l, list[1]+" ") {
			numbers := strings.Split(strings.TrimPrefix(l, list[1]+" "), ",")
			numbers = slices.DeleteFunc(numbers, func(n string) bool { return n == list[2] })
			if len(numbers) > 0 {
				out = append(out, list[1]+" "+strings.Join(numbers, ","))
			}
			continue
		}
		if ports := regexp.MustCompile(`^nv set interface (swp\d+) qos pfc-watchdog`).FindStringSubmatch(prefix); ports != nil && l == prefix {
			continue
		}
		if !strings.HasPrefix(l, prefix) {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

// applyBlocks enters commands whose indentation shows the blocks.
func applyBlocks(text string, commands []string) string {
	var path []string
	for i, c := range commands {
		level := (len(c) - len(strings.TrimLeft(c, " "))) / 2
		c = strings.TrimSpace(c)
		if c == "commit" {
			continue
		}
		path = path[:min(level, len(path))]
		opens := i+1 < len(commands) && (len(commands[i+1])-len(strings.TrimLeft(commands[i+1], " ")))/2 > level
		if opens {
			path = append(path, c)
			text = enter(text, path, "")
			continue
		}
		text = enter(text, path, c)
	}
	return text
}

// enter puts a statement at the end of a block, which it makes if it is not there;
// "no X" and "undo X" take away what begins with X.
func enter(text string, path []string, statement string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	indent := func(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }
	start, end, depth := -1, len(lines), 0
	for _, opener := range path {
		found := -1
		for i := start + 1; i < end; i++ {
			if strings.TrimSpace(lines[i]) == opener && (start < 0 && indent(lines[i]) == 0 || start >= 0 && indent(lines[i]) > indent(lines[start])) {
				found = i
				break
			}
		}
		if found < 0 {
			in := 3 * depth
			if start >= 0 && end > start+1 {
				in = indent(lines[start+1])
			}
			made := strings.Repeat(" ", in) + opener
			lines = slices.Insert(lines, end, made)
			found = end
		}
		start, depth = found, depth+1
		for end = start + 1; end < len(lines) && (indent(lines[end]) > indent(lines[start]) && strings.TrimSpace(lines[end]) != ""); end++ {
		}
	}
	if statement == "" {
		return strings.Join(lines, "\n") + "\n"
	}
	if start < 0 {
		end = len(lines)
	}
	_, gone, no := strings.Cut(statement, "no ")
	if !no || !strings.HasPrefix(statement, "no ") {
		gone, no = strings.CutPrefix(statement, "undo ")
	}
	if no {
		kept := lines[:0:0]
		removed := false
		inside := -1 // indentation of a block that goes
		for i, l := range lines {
			body := strings.TrimSpace(l)
			if inside >= 0 && indent(l) > inside {
				continue
			}
			inside = -1
			if i > start && i < end && strings.HasPrefix(body, "priority ") && strings.HasPrefix(gone, "priority ") && start >= 0 && strings.Contains(lines[start], "dcb pfc") {
				words := strings.Fields(body)
				if n := slices.Index(words, strings.TrimPrefix(gone, "priority ")); n > 0 && !strings.Contains(body, "deadlock") {
					words = slices.Delete(words, n, n+1)
					removed = true
					if len(words) > 1 {
						kept = append(kept, " "+strings.Join(words, " "))
					}
					continue
				}
			}
			if i > start && i < end && (body == gone || strings.HasPrefix(body, gone+" ")) && (start >= 0 || indent(l) == 0) {
				removed, inside = true, indent(l)
				continue
			}
			kept = append(kept, l)
		}
		if removed {
			return strings.Join(kept, "\n") + "\n"
		}
	}
	in := 1
	if start >= 0 {
		in = indent(lines[start]) + 1
		if end > start+1 {
			in = indent(lines[start+1])
		}
	} else {
		in = 0
	}
	lines = slices.Insert(lines, end, strings.Repeat(" ", in)+statement)
	return strings.Join(lines, "\n") + "\n"
}

var dbCommand = regexp.MustCompile(`^sonic-db-cli CONFIG_DB (HSET|HDEL) '([^|]+)\|([^']+)' (\S+)(?: (\S+))?$`)

func applyDB(t *testing.T, text string, commands []string) string {
	t.Helper()
	var doc map[string]map[string]map[string]string
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	for _, c := range commands {
		m := dbCommand.FindStringSubmatch(c)
		if m == nil {
			t.Fatalf("command %q", c)
		}
		if doc[m[2]] == nil {
			doc[m[2]] = map[string]map[string]string{}
		}
		if doc[m[2]][m[3]] == nil {
			doc[m[2]][m[3]] = map[string]string{}
		}
		if m[1] == "HSET" {
			doc[m[2]][m[3]][m[4]] = m[5]
			continue
		}
		delete(doc[m[2]][m[3]], m[4])
		if len(doc[m[2]][m[3]]) == 0 {
			delete(doc[m[2]], m[3])
		}
	}
	b, err := json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

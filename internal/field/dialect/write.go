package dialect

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/internal/qos"
	"weir/units"
)

// A Target is a device to write a configuration for. All ports do the same but
// for MTU, headroom and cable: that is what one intent asks for.
type Target struct {
	Device *qos.Device
	Names  [qos.Priorities]string // of the class of each priority; "" where there is none
	Roles  []string               // of each port, for its description

	// What the switch model gives for conversions; 0 where it is not known.
	Model        string
	Cell, Buffer units.Bytes
	XONOffset    units.Bytes
}

// A Text is one file of a device's configuration.
type Text struct {
	Suffix string // of the file's name, after the device's: ".cfg"
	Body   string
}

// A Missing is a setting that a system has no form for, or a fact without
// which it cannot be written.
type Missing struct {
	Device, What, Need string
}

// Error says what cannot be written and what would be needed.
func (m *Missing) Error() string { return m.Device + ": " + m.What + ": " + m.Need }

// Cannot returns the error for a setting that cannot be written.
func (t *Target) Cannot(what, need string) error { return &Missing{t.Device.Name, what, need} }

// Common returns the first port, after it has checked that all others do the
// same with packets.
func (t *Target) Common() (*qos.Port, error) {
	if len(t.Device.Ports) == 0 {
		return nil, t.Cannot("no ports", "a cabled port")
	}
	first := &t.Device.Ports[0]
	for i := range t.Device.Ports {
		p := &t.Device.Ports[i]
		if p.Trust != first.Trust || p.DSCPToPriority != first.DSCPToPriority || p.PriorityToQueue != first.PriorityToQueue ||
			p.Queues != first.Queues || p.PFC != first.PFC || p.PFCMask != first.PFCMask || p.Watchdog != first.Watchdog ||
			p.WatchdogDetect != first.WatchdogDetect || p.WatchdogRestore != first.WatchdogRestore || p.WatchdogAction != first.WatchdogAction {
			return nil, t.Cannot("ports "+first.Name+" and "+p.Name+" differ in what they do with packets", "one intent for all ports")
		}
	}
	if first.Trust != qos.TrustDSCP && first.Trust != qos.TrustBoth {
		return nil, t.Cannot("trust "+first.Trust.String(), "trust in the DSCP, which routed RoCE needs")
	}
	return t.numbered(first)
}

// numbered gives code points of an internal class that has no priority (a
// forwarding class of Junos, a qos-group) one that nothing else uses: its
// queue's number if that is free. It must not become the lossless priority
// that happens to have the queue's number.
func (t *Target) numbered(p *qos.Port) (*qos.Port, error) {
	c := p.Clone()
	taken := c.PFCMask
	for d := range uint8(64) {
		if prio := p.Priority(d); prio < qos.Priorities {
			taken |= 1 << prio
		}
	}
	var given [qos.Priorities]uint8 // to each queue, plus one
	for d := range uint8(64) {
		q := p.Queue(d)
		if p.Priority(d) < qos.Priorities || q >= qos.Priorities {
			continue
		}
		if given[q] == 0 {
			prio := q
			for k := uint8(0); taken>>prio&1 == 1; k++ {
				if k == qos.Priorities {
					return nil, t.Cannot(fmt.Sprintf("the class of queue %d", q), "a priority that no other class has")
				}
				prio = k
			}
			taken |= 1 << prio
			given[q] = prio + 1
			c.PriorityToQueue[prio] = q
		}
		c.DSCPToPriority[d] = given[q] - 1
	}
	return &c, nil
}

// Longest returns the longest cable of the device.
func (t *Target) Longest() units.Metres {
	var most units.Metres
	for i := range t.Device.Ports {
		most = max(most, t.Device.Ports[i].CableLength)
	}
	return most
}

// ClassName returns the name of a priority's class, in capitals.
func (t *Target) ClassName(prio uint8) string {
	if n := t.Names[prio]; n != "" {
		return strings.ToUpper(strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				return r
			}
			return '-'
		}, n))
	}
	return "PRIORITY-" + strconv.Itoa(int(prio))
}

// Description says what a port is for: role, speed, peer and cable.
func (t *Target) Description(i int) string {
	p := &t.Device.Ports[i]
	var words []string
	if i < len(t.Roles) && t.Roles[i] != "" {
		words = append(words, t.Roles[i])
	}
	if p.Speed > 0 {
		words = append(words, p.Speed.String())
	}
	if p.Peer != "" {
		words = append(words, "to "+p.Peer)
	}
	if p.CableLength > 0 {
		words = append(words, p.CableLength.String())
	}
	return strings.Join(words, " ")
}

// Priorities returns the code points of each priority.
func Priorities(p *qos.Port) (out [qos.Priorities][]int) {
	for d := range uint8(64) {
		if prio := p.Priority(d); prio < qos.Priorities {
			out[prio] = append(out[prio], int(d))
		}
	}
	return out
}

// Runs turns rising numbers into first-last pairs.
func Runs(list []int) (out [][2]int) {
	for _, n := range list {
		if k := len(out) - 1; k >= 0 && out[k][1] == n-1 {
			out[k][1] = n
			continue
		}
		out = append(out, [2]int{n, n})
	}
	return out
}

// Join writes rising numbers as "0-25,27": between is what stands between the
// ends of a range, sep what stands between members.
func Join(list []int, between, sep string) string {
	var words []string
	for _, r := range Runs(list) {
		s := strconv.Itoa(r[0])
		if r[1] > r[0] {
			s += between + strconv.Itoa(r[1])
		}
		words = append(words, s)
	}
	return strings.Join(words, sep)
}

// PortRuns joins port names that differ in a rising last number:
// "1/1-1/32", "swp1-4" with short.
func PortRuns(names []string) (out []string) {
	for i := 0; i < len(names); {
		prefix := strings.TrimRight(names[i], "0123456789")
		n, err := strconv.Atoi(names[i][len(prefix):])
		j := i + 1
		for err == nil && j < len(names) && names[j] == prefix+strconv.Itoa(n+j-i) {
			j++
		}
		if j == i+1 {
			out = append(out, names[i])
		} else {
			out = append(out, names[i]+"-"+names[j-1])
		}
		i = j
	}
	return out
}

// Percent rounds a probability to whole percent, at least 1 of what is not 0.
func Percent(share float64) int {
	n := int(math.Round(share * 100))
	if n == 0 && share > 0 {
		return 1
	}
	return n
}

// Steps rounds a time to whole steps, at least 1.
func Steps(t, step units.Time) int { return int(max(1, (t+step/2)/step)) }

// KBytes rounds to what "kbytes" counts.
func KBytes(b units.Bytes) int { return int((b + KByte/2) / KByte) }

// Milliseconds rounds to whole milliseconds, at least 1.
func Milliseconds(t units.Time) int { return Steps(t, units.Millisecond) }

// Head writes what the file is.
func (t *Target) Head(w *Writer, system string) {
	model := ""
	if t.Model != "" {
		model = " on " + t.Model
	}
	w.Say("%s: %s%s, %d ports. Written by weir render; read it before you apply it.", t.Device.Name, system, model, len(t.Device.Ports))
}

// SayHeadroom states the computed headrooms where the system has no setting
// for them.
func (t *Target) SayHeadroom(w *Writer, why string) {
	seen := make(map[string]bool)
	for i := range t.Device.Ports {
		p := &t.Device.Ports[i]
		for _, prio := range Bits(p.PFCMask) {
			if b := p.Ingress[prio].Headroom; b > 0 {
				line := fmt.Sprintf("%s; at %v and %v of cable a lossless priority needs %d bytes.", why, p.Speed, p.CableLength, b)
				if !seen[line] {
					seen[line] = true
					w.Say("%s", line)
				}
			}
		}
	}
}

// Verify ends a file with the commands that show whether it acts.
func Verify(w *Writer, commands ...string) {
	w.Prefix = ""
	w.Say("Verify:")
	for _, c := range commands {
		w.Say("  %s", c)
	}
}

// A Writer writes statements of a grammar, a block's lines indented.
type Writer struct {
	g       *Grammar
	Prefix  string // before each statement: "set "
	Remark  string // before each comment: "! "
	Step    int    // columns of a block
	b       strings.Builder
	err     error
	indents map[string]int
}

// NewWriter returns a writer. blocks lists blocks from the outer to the inner.
func NewWriter(g *Grammar, remark string, step int) *Writer {
	w := &Writer{g: g, Remark: remark, Step: step, indents: map[string]int{"": 0}}
	for changed := true; changed; { // blocks open in blocks
		changed = false
		for _, f := range g.lang.Forms {
			if depth, ok := w.indents[f.In]; ok && f.Opens != "" && f.Opens != Skip {
				if _, known := w.indents[f.Opens]; !known {
					w.indents[f.Opens], changed = depth+1, true
				}
			}
		}
	}
	return w
}

// Put writes the statement id of a block with values given as name, value,
// name, value. Of several spellings it takes the last that has a place for
// every value.
func (w *Writer) Put(in, id string, values ...any) {
	args := make(Args)
	for i := 0; i+1 < len(values); i += 2 {
		args[values[i].(string)] = fmt.Sprint(values[i+1])
	}
	line, err := w.g.Write(in, id, args)
	if err != nil && w.err == nil {
		w.err = err
	}
	w.b.WriteString(strings.Repeat(" ", w.indents[in]*w.Step) + w.Prefix + line + "\n")
}

// Raw writes a line that no form has, such as a description.
func (w *Writer) Raw(depth int, line string) {
	w.b.WriteString(strings.Repeat(" ", depth*w.Step) + w.Prefix + line + "\n")
}

// Say writes a comment.
func (w *Writer) Say(format string, values ...any) {
	for line := range strings.SplitSeq(fmt.Sprintf(format, values...), "\n") {
		w.b.WriteString(strings.TrimRight(w.Remark+line, " ") + "\n")
	}
}

// Separate writes the line that ends blocks.
func (w *Writer) Separate() { w.b.WriteString(w.g.lang.Separator + "\n") }

// Text returns what was written.
func (w *Writer) Text() (string, error) { return w.b.String(), w.err }

// Write returns the statement id of a block with these values.
func (g *Grammar) Write(in, id string, args Args) (string, error) {
	var last error
	for i := len(g.lang.Forms) - 1; i >= 0; i-- {
		f := &g.lang.Forms[i]
		if f.In != in || f.ID != id {
			continue
		}
		places := f.Places()
		fits := true
		for name := range args {
			fits = fits && slices.ContainsFunc(places, func(p Place) bool { return p.Name == name })
		}
		if !fits {
			continue
		}
		line, err := f.Line(args)
		if err == nil {
			return line, nil
		}
		last = err
	}
	if last == nil {
		last = fmt.Errorf("no statement %q in %q takes %v", id, in, args)
	}
	return "", last
}

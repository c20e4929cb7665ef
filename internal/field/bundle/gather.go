package bundle

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"weir/internal/field/dialect"
	"weir/internal/field/remote"
)

// Options say whom to ask, and how.
type Options struct {
	Cluster  string
	Hosts    []string
	Switches []Switch
	Runner   remote.Runner // to hosts
	Console  remote.Runner // to switches; nil: they are not asked
	Interval time.Duration // between the readings of counters; 0: one reading
	Limit    time.Duration // for each script or command; 0: 2 minutes
	Parallel int           // sources at a time; 0: 64
	Now      func() time.Time
	Sleep    func(ctx context.Context, d time.Duration) // nil: the real one
	Progress func(what string)                          // nil: none
}

// A Switch is a switch with its system, as in SwitchCommands.
type Switch struct{ Name, OS string }

// gathering is one run of Gather.
type gathering struct {
	o     *Options
	mu    sync.Mutex
	texts map[string][]byte
	m     Manifest
}

// Gather asks all hosts and switches and writes the archive. Counters are read
// from all hosts at once, then states, then, an interval after the first
// reading, counters again. Who does not answer is recorded as such. The error
// tells what kept the archive from being written; when ctx ends, what is known
// is written.
func Gather(ctx context.Context, o Options, w io.Writer) (*Manifest, error) {
	if o.Limit == 0 {
		o.Limit = 2 * time.Minute
	}
	if o.Parallel <= 0 {
		o.Parallel = 64
	}
	if o.Sleep == nil {
		o.Sleep = func(ctx context.Context, d time.Duration) {
			t := time.NewTimer(d)
			defer t.Stop()
			select {
			case <-ctx.Done():
			case <-t.C:
			}
		}
	}
	g := &gathering{o: &o, texts: map[string][]byte{}}
	g.m = Manifest{Schema: Schema, Cluster: o.Cluster, Started: o.Now(), Interval: o.Interval.Seconds()}
	for _, h := range o.Hosts {
		g.m.Sources = append(g.m.Sources, Source{Name: h, Kind: "host", Files: []File{}})
	}
	for _, s := range o.Switches {
		g.m.Sources = append(g.m.Sources, Source{Name: s.Name, Kind: "switch", OS: s.OS, Files: []File{}})
	}
	first := o.Now()
	g.say("counters of %d hosts", len(o.Hosts))
	g.hosts(ctx, func(s *Source) { g.script(ctx, s, "before", Counters) })
	g.say("state of %d hosts, %d switches", len(o.Hosts), len(o.Switches))
	g.all(ctx, func(s *Source) {
		if s.Kind == "switch" {
			g.console(ctx, s)
			return
		}
		g.clock(ctx, s)
		g.script(ctx, s, "state", State)
	})
	if o.Interval > 0 && ctx.Err() == nil {
		o.Sleep(ctx, o.Interval-o.Now().Sub(first))
		g.say("counters again")
		g.hosts(ctx, func(s *Source) { g.script(ctx, s, "after", Counters) })
	}
	return &g.m, write(w, &g.m, g.texts)
}

func (g *gathering) say(format string, args ...any) {
	if g.o.Progress != nil {
		g.o.Progress(fmt.Sprintf(format, args...))
	}
}

func (g *gathering) hosts(ctx context.Context, f func(*Source)) {
	g.all(ctx, func(s *Source) {
		if s.Kind == "host" {
			f(s)
		}
	})
}

// all calls f for every source that has not failed, several at a time.
func (g *gathering) all(ctx context.Context, f func(*Source)) {
	room := make(chan struct{}, g.o.Parallel)
	var wg sync.WaitGroup
	for i := range g.m.Sources {
		s := &g.m.Sources[i]
		if s.Error != "" {
			continue
		}
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if ctx.Err() == nil {
				f(s)
			}
		})
	}
	wg.Wait()
}

// script runs commands on a host and keeps what they print.
func (g *gathering) script(ctx context.Context, s *Source, dir string, commands []Command) {
	at := g.o.Now()
	r, err := g.o.Runner.Run(ctx, s.Name, Script(s.Name, commands), g.o.Limit)
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("exit status %d: %s", r.Exit, firstLine(r.Stderr))
	}
	g.keep(s, fileOf(dir, s.Name), at, r, r.Stdout, err)
}

// keep records a text, and an error beside it.
func (g *gathering) keep(s *Source, name string, at time.Time, r remote.Result, text []byte, err error) {
	f := File{Name: name, At: at, Seconds: r.Took.Seconds(), Cut: r.Cut}
	if err != nil {
		f.Error = err.Error()
		if len(text) == 0 {
			s.Error = err.Error()
			return
		}
	}
	text = dialect.RedactText(text)
	f.Bytes = len(text)
	s.Files = append(s.Files, f)
	g.mu.Lock()
	g.texts[name] = text
	g.mu.Unlock()
}

// clock compares a host's clock with ours.
func (g *gathering) clock(ctx context.Context, s *Source) {
	before := g.o.Now()
	r, err := g.o.Runner.Run(ctx, s.Name, "date +%s.%N", 10*time.Second)
	took := g.o.Now().Sub(before)
	theirs, parse := strconv.ParseFloat(strings.TrimSpace(string(r.Stdout)), 64)
	if err != nil || parse != nil {
		return // a host without GNU date tells nothing
	}
	middle := before.Add(took / 2)
	offset := theirs - float64(middle.UnixNano())/1e9
	s.ClockOffset, s.ClockUncertainty = &offset, took.Seconds()/2
}

// console runs a switch's commands one after the other.
func (g *gathering) console(ctx context.Context, s *Source) {
	commands, ok := SwitchCommands[s.OS]
	switch {
	case !ok:
		s.Error = fmt.Sprintf("no commands are known for switch.os %q", s.OS)
		return
	case g.o.Console == nil:
		s.Error = "not asked"
		return
	}
	at := g.o.Now()
	var all []byte
	var total remote.Result
	var failure error
	for _, c := range commands {
		r, err := g.o.Console.Run(ctx, s.Name, c, g.o.Limit)
		total.Took += r.Took
		total.Cut = total.Cut || r.Cut
		if len(r.Stdout) > 0 {
			all = append(all, s.Name+"# "+c+"\n"...)
			all = append(append(all, r.Stdout...), '\n')
		}
		if err != nil {
			failure = fmt.Errorf("%s: %w", c, err)
			break
		}
	}
	g.keep(s, fileOf("switches", s.Name), at, total, all, failure)
}

func firstLine(b []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	return line
}

// Listing is every command with the right it needs, for people to look at
// before anything is run.
func Listing(systems []string) string {
	var b strings.Builder
	row := func(c Command, when string) {
		line := strings.NewReplacer("{n}", "INTERFACE", "{d}", "DEVICE").Replace(c.Line)
		fmt.Fprintf(&b, "  %s\n      %s, %s: %s\n", line, when, c.Right, c.Tells)
	}
	b.WriteString("on every host:\n")
	for _, c := range Counters {
		row(c, "twice")
	}
	for _, c := range State {
		row(c, "once")
	}
	b.WriteString("  date +%s.%N\n      once, any user: the clock's offset\n")
	slices.Sort(systems)
	for _, os := range slices.Compact(systems) {
		fmt.Fprintf(&b, "on every switch with %s (%s):\n", os, Operator)
		for _, c := range SwitchCommands[os] {
			fmt.Fprintf(&b, "  %s\n", c)
		}
	}
	return b.String()
}

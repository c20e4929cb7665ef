package web

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"weir/internal/panel"
	"weir/internal/store"
	"weir/internal/telemetry"
)

// Limits of a port's charts.
const (
	maxPoints    = 2000
	longestRange = 31 * 24 * time.Hour
)

// A line is one curve of the port page, thinned out: of all readings in a
// point, the mean, the least and the most.
type line struct {
	column         panel.Column
	end            int
	prio           string // "" for columns that are not counted by priority
	mean, low, top []float32
}

// servePort answers with the curves of both ends of a cable, computed from the
// samples in the store: ?port=NAME&from_ms=T&to_ms=T&points=N.
func (s *Server) servePort(w http.ResponseWriter, r *http.Request) {
	end, ok := s.fabric.Find(r.FormValue("port"))
	if !ok {
		fail(w, http.StatusNotFound, fmt.Errorf("no port %.80q in %s", r.FormValue("port"), s.fabric.Name))
		return
	}
	g, err := s.gridOf(r)
	if err != nil {
		refuse(w, err)
		return
	}
	c, err := s.charts(r.Context(), end, g)
	if err != nil {
		refuse(w, err)
		return
	}
	sendJSON(w, r, c.json(s, end))
}

// A grid is the points of a chart: point i covers the time from At(i)-Width to
// At(i).
type grid struct {
	from, width int64 // ms
	n           int
}

func (g grid) at(i int) int64 { return g.from + int64(i+1)*g.width }

// point returns the point that a moment falls into.
func (g grid) point(t int64) (int, bool) {
	if t <= g.from {
		return 0, false
	}
	i := int((t - g.from - 1) / g.width)
	return i, i < g.n
}

// gridOf reads the range. Points are whole multiples of the distance of the
// readings.
func (s *Server) gridOf(r *http.Request) (grid, error) {
	number := func(name string, otherwise int64) (int64, error) {
		text := r.FormValue(name)
		if text == "" {
			return otherwise, nil
		}
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%w: %s=%.40q: a whole number", errBad, name, text)
		}
		return v, nil
	}
	now := s.opt.Now().UnixMilli()
	to, err := number("to_ms", now)
	if err != nil {
		return grid{}, err
	}
	from, err := number("from_ms", to-300_000)
	if err != nil {
		return grid{}, err
	}
	points, err := number("points", 600)
	switch {
	case err != nil:
		return grid{}, err
	case points < 10 || points > maxPoints:
		return grid{}, fmt.Errorf("%w: points=%d: 10 to %d", errBad, points, maxPoints)
	case to <= from || to-from > longestRange.Milliseconds() || from < 0 || to > now+86_400_000:
		return grid{}, fmt.Errorf("%w: from_ms=%d to_ms=%d: up to 31 days, the end behind the start", errBad, from, to)
	}
	every := s.opt.Every.Milliseconds()
	width := max((to-from+points-1)/points, 1)
	width = (width + every - 1) / every * every
	n := int((to - from + width - 1) / width)
	return grid{from: to - int64(n)*width, width: width, n: n}, nil
}

// charts are the curves of a cable, with what is odd about its readings.
type charts struct {
	grid   grid
	lines  []*line
	gaps   [][2]int64 // of the end that was asked for
	resets []int64
}

// columnsShown are those of the port page, in its order.
var columnsShown = [...]panel.Column{
	panel.Tx, panel.Rx, panel.PauseRx, panel.Marks, panel.CNPSent, panel.CNPHandled,
	panel.Drops, panel.Errors, panel.OutOfSequence, panel.Retransmissions, panel.Queue,
}

func (s *Server) charts(ctx context.Context, end int, g grid) (*charts, error) {
	c := &charts{grid: g}
	for _, e := range [...]int{end, panel.Peer(end)} {
		if s.fabric.Ends[e].Node < 0 {
			continue
		}
		if err := s.chartsOf(ctx, c, e, e == end); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// chartsOf adds the curves of one end.
func (s *Server) chartsOf(ctx context.Context, c *charts, end int, asked bool) error {
	sources := map[string][]placed{}
	for _, column := range columnsShown {
		for _, src := range panel.Metrics(column) {
			if (src.Side == telemetry.HostSide) == s.fabric.Ends[end].Host {
				sources[src.Metric] = append(sources[src.Metric], placed{src, column})
			}
		}
	}
	// One reading before the range gives the range's first step.
	from := time.UnixMilli(c.grid.from - max(c.grid.width, 3*s.opt.Every.Milliseconds()))
	curves, err := s.opt.Store.Samples(ctx, s.selector(end, sources), from, time.UnixMilli(c.grid.at(c.grid.n-1)))
	if err != nil {
		return err
	}
	b := newBins(c.grid)
	for i := range curves {
		l := curves[i].Labels
		for _, p := range sources[l.Get("__name__")] {
			if p.Direction != "" && p.Direction != l.Get("direction") {
				continue
			}
			prio := ""
			if p.column == panel.PauseRx {
				prio = l.Get("priority")
			}
			b.add(lineKey{p.column, end, prio}, &curves[i], p.Source)
		}
	}
	lines := b.lines()
	c.lines = append(c.lines, lines...)
	if asked {
		c.gaps, c.resets = b.gaps, b.resets
	}
	return nil
}

type placed struct {
	panel.Source
	column panel.Column
}

// selector matches all series of an end that the charts need.
func (s *Server) selector(end int, sources map[string][]placed) string {
	names := make([]string, 0, len(sources))
	for name := range sources {
		names = append(names, name)
	}
	e := &s.fabric.Ends[end]
	node := s.fabric.Nodes[e.Node].Name
	match := fmt.Sprintf(`switch=%q,port=%q`, node, e.Label)
	if e.Host {
		device, port, _ := strings.Cut(e.Label, "/")
		match = fmt.Sprintf(`instance=~%q,device=%q,port=%q`, regexp.QuoteMeta(node)+`(:[0-9]+)?`, device, port)
	}
	return fmt.Sprintf(`{__name__=~%q,%s}`, strings.Join(names, "|"), match)
}

func (c *charts) json(s *Server, end int) []byte {
	peer := panel.Peer(end)
	peerName := s.fabric.PortName(peer)
	b := []byte(`{"schema":"weir.port/1","port":`)
	b = appendJSON(b, s.fabric.PortName(end))
	b = append(b, `,"peer":`...)
	b = appendJSON(b, peerName)
	b = append(b, `,"rate_bits_per_s":`...)
	b = strconv.AppendInt(b, int64(s.fabric.Ends[end].Rate), 10)
	b = append(b, `,"width_ms":`...)
	b = strconv.AppendInt(b, c.grid.width, 10)
	b = append(b, `,"at_ms":[`...)
	for i := range c.grid.n {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, c.grid.at(i), 10)
	}
	b = append(b, `],"lines":[`...)
	for i, l := range c.lines {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"column":%q,"end":%q,"priority":%q,"mean":`, l.column.String(), s.fabric.PortName(l.end), l.prio)
		b = appendColumn(b, l.mean)
		b = append(b, `,"min":`...)
		b = appendColumn(b, l.low)
		b = append(b, `,"max":`...)
		b = append(appendColumn(b, l.top), '}')
	}
	b = append(b, `],"gaps_ms":`...)
	b = appendJSON(b, orEmpty(c.gaps))
	b = append(b, `,"resets_ms":`...)
	b = appendJSON(b, orEmpty(c.resets))
	b = append(b, `,"events":`...)
	b = appendJSON(b, s.eventsNear(end, c.grid.from, c.grid.at(c.grid.n-1)))
	return append(b, '}')
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

var _ store.Store = (*feed)(nil)

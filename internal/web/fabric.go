package web

import (
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"

	"weir/internal/panel"
)

type fabricJSON struct {
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	Source  string `json:"source"`
	Factor  int64  `json:"factor"`
	EveryMS int64  `json:"every_ms"`
	Nodes   []any  `json:"nodes"` // [name, tier]
	Ends    []any  `json:"ends"`  // [node, port, bits per second, rail, 1 for a host's]
}

// serveFabric answers with nodes and cables.
func (s *Server) serveFabric(w http.ResponseWriter, r *http.Request) {
	out := fabricJSON{Schema: "weir.fabric/1", Name: s.fabric.Name, Source: s.opt.Source, Factor: s.opt.Factor, EveryMS: s.opt.Every.Milliseconds(), Nodes: []any{}, Ends: []any{}}
	for _, n := range s.fabric.Nodes {
		out.Nodes = append(out.Nodes, []any{n.Name, n.Tier})
	}
	for i := range s.fabric.Ends {
		e := &s.fabric.Ends[i]
		host := 0
		if e.Host {
			host = 1
		}
		out.Ends = append(out.Ends, []any{e.Node, e.Port, int64(e.Rate), e.Rail, host})
	}
	sendJSON(w, r, appendJSON(nil, out))
}

// maxSparks is how many ends' curves one request may ask for.
const maxSparks = 200

// serveSparks answers with the last minute of ends: ?ends=0,1,17.
func (s *Server) serveSparks(w http.ResponseWriter, r *http.Request) {
	ends, err := s.endList(r.FormValue("ends"))
	if err != nil {
		refuse(w, err)
		return
	}
	b := []byte(`{"schema":"weir.sparks/1","columns":[`)
	for i, c := range panel.SparkColumns {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, c.String())
	}
	b = append(b, `],"ends":{`...)
	for i, e := range ends {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = strconv.AppendInt(b, int64(e), 10)
		b = append(b, `":[`...)
		for j, curve := range s.panel.Sparks(e) {
			if j > 0 {
				b = append(b, ',')
			}
			b = appendColumn(b, curve)
		}
		b = append(b, ']')
	}
	sendJSON(w, r, append(b, "}}"...))
}

func (s *Server) endList(text string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(text, ",") {
		e, err := strconv.Atoi(part)
		if err != nil || e < 0 || e >= len(s.fabric.Ends) {
			return nil, fmt.Errorf("%w: ends=%.40q: numbers from 0 to %d, with commas between", errBad, text, len(s.fabric.Ends)-1)
		}
		if len(out) == maxSparks {
			return nil, fmt.Errorf("%w: more than %d ends", errBad, maxSparks)
		}
		out = append(out, e)
	}
	return out, nil
}

// serveHeat answers with the last ten minutes of pause or marks, as levels of
// all ends (255: none; else 250 times the square root of the share), instant
// after instant, oldest first: ?column=pause|marks&from=END&to=END.
func (s *Server) serveHeat(w http.ResponseWriter, r *http.Request) {
	column := map[string]int{"pause": 0, "marks": 1}
	c, ok := column[r.FormValue("column")]
	if !ok {
		refuse(w, fmt.Errorf("%w: column=%.40q: pause or marks", errBad, r.FormValue("column")))
		return
	}
	kind := r.FormValue("cables")
	var ends []int
	for e := range s.fabric.Ends {
		if kind == "" || kind == s.cableKind(e) {
			ends = append(ends, e)
		}
	}
	at, levels := s.panel.Heat(c, ends)
	b := []byte(`{"schema":"weir.heat/1","ends":`)
	b = appendJSON(b, ends)
	b = append(b, `,"at_ms":`...)
	b = appendJSON(b, at)
	b = append(b, `,"levels":"`...)
	flat := make([]byte, 0, len(levels)*len(ends))
	for _, row := range levels {
		flat = append(flat, row...)
	}
	b = base64.StdEncoding.AppendEncode(b, flat)
	sendJSON(w, r, append(b, `"}`...))
}

// cableKind names the cable of an end by the tiers that it joins: "host-leaf".
func (s *Server) cableKind(end int) string {
	var parts []string
	for _, e := range [...]int{end &^ 1, end | 1} {
		if n := s.fabric.Ends[e].Node; n >= 0 {
			parts = append(parts, [...]string{"host", "leaf", "spine", "core"}[min(s.fabric.Nodes[n].Tier, 3)])
		}
	}
	return strings.Join(parts, "-")
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

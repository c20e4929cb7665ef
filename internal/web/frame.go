package web

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"weir/internal/panel"
)

// late is the age from which a port's readings are told to be late.
const late = 3 // seconds

// frame is what all ports do now, as JSON of schema weir.ports/1: numbers by
// end, column by column. The ends of cable l of /api/weir/fabric are 2l and 2l+1.
func (s *Server) frame(now time.Time) []byte {
	snap, levels := s.panel.Tick(now)
	s.remember(snap)
	return s.encode(now, snap, levels[:])
}

func (s *Server) encode(now time.Time, snap *panel.Snapshot, levels [][]uint8) []byte {
	s.mu.Lock()
	fabricTime, revision := s.fabricTime, s.findings.revision
	s.mu.Unlock()
	b := make([]byte, 0, 1<<16)
	b = append(b, `{"schema":"weir.ports/1","ends":`...)
	b = strconv.AppendInt(b, int64(snap.Ends()), 10)
	b = append(b, `,"at_ms":`...)
	b = strconv.AppendInt(b, snap.At.UnixMilli(), 10)
	b = append(b, `,"sent_ms":`...)
	b = strconv.AppendInt(b, now.UnixMilli(), 10)
	b = append(b, `,"window_ms":`...)
	b = strconv.AppendInt(b, snap.Window.Milliseconds(), 10)
	if s.opt.Factor > 0 {
		b = append(b, `,"fabric_time_us":`...)
		b = strconv.AppendFloat(b, fabricTime, 'f', 3, 64)
	}
	b = append(b, `,"silent":`...)
	b = strconv.AppendInt(b, int64(snap.Silent), 10)
	b = append(b, `,"resets":`...)
	b = strconv.AppendUint(b, snap.Resets, 10)
	b = append(b, `,"findings":`...)
	b = strconv.AppendUint(b, revision, 10)
	b = append(b, `,"verdict":`...)
	b = appendJSON(b, verdictJSON(panel.Judge(s.fabric, snap)))
	b = append(b, `,"pauses":`...)
	b = appendJSON(b, pausesJSON(panel.Pauses(s.fabric, snap, pauseFloor), maxPausers))
	b = append(b, `,"columns":{`...)
	for c := range panel.Columns {
		if c > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendQuote(b, c.String())
		b = append(b, ':')
		b = appendColumn(b, snap.Values[c])
	}
	b = append(b, `},"pause_by":{`...)
	for i, prio := range snap.Priorities {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = strconv.AppendInt(b, int64(prio), 10)
		b = append(b, `":`...)
		b = appendColumn(b, snap.PauseBy[i])
	}
	b = append(b, `},"late":[`...)
	first := true
	for e, age := range snap.Age {
		if age > late {
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(b, '[')
			b = strconv.AppendInt(b, int64(e), 10)
			b = append(b, ',')
			b = appendNumber(b, age)
			b = append(b, ']')
		}
	}
	b = append(b, `],"heat":[`...)
	for i, l := range levels {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '"')
		b = base64.StdEncoding.AppendEncode(b, l)
		b = append(b, '"')
	}
	return append(b, "]}"...)
}

// appendColumn writes a column as a list, or, where most of it is the same, as
// {"fill":...,"at":[...],"value":[...]}.
func appendColumn(b []byte, v []float32) []byte {
	var zero, none int
	for _, x := range v {
		switch {
		case x == 0:
			zero++
		case x != x:
			none++
		}
	}
	if max(zero, none) < (len(v)+1)/2 {
		b = append(b, '[')
		for i, x := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendNumber(b, x)
		}
		return append(b, ']')
	}
	skip := func(x float32) bool { return x == 0 }
	fill := "0"
	if none > zero {
		skip = func(x float32) bool { return x != x }
		fill = "null"
	}
	b = append(append(b, `{"fill":`...), fill...)
	b = append(b, `,"at":[`...)
	n := 0
	for i, x := range v {
		if skip(x) {
			continue
		}
		if n > 0 {
			b = append(b, ',')
		}
		n++
		b = strconv.AppendInt(b, int64(i), 10)
	}
	b = append(b, `],"value":[`...)
	n = 0
	for _, x := range v {
		if skip(x) {
			continue
		}
		if n > 0 {
			b = append(b, ',')
		}
		n++
		b = appendNumber(b, x)
	}
	return append(b, "]}"...)
}

// appendNumber writes four digits, null for a number that nobody counts.
func appendNumber(b []byte, v float32) []byte {
	switch {
	case v != v:
		return append(b, "null"...)
	case v == 0:
		return append(b, '0')
	}
	return strconv.AppendFloat(b, float64(v), 'g', 4, 32)
}

func appendJSON(b []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...) // numbers are finite, texts are texts
	}
	return append(b, text...)
}

type judgementJSON struct {
	State string  `json:"state"`
	Code  string  `json:"code"`
	Where string  `json:"where"`
	Value float64 `json:"value"`
	Count int     `json:"count"`
}

func verdictJSON(list []panel.Judgement) []judgementJSON {
	out := make([]judgementJSON, len(list))
	for i, j := range list {
		out[i] = judgementJSON{j.State.String(), j.Code, j.Where, j.Value, j.Count}
	}
	return out
}

// Pauses shorter than pauseFloor are not drawn, and no more than maxPausers
// nodes of the trees.
const (
	pauseFloor = 0.01
	maxPausers = 200
)

type pauserJSON struct {
	Node  string       `json:"node"`
	Port  string       `json:"port"`
	Share float64      `json:"share"`
	Loop  bool         `json:"loop,omitempty"`
	Held  []pauserJSON `json:"held,omitempty"`
}

func pausesJSON(list []*panel.Pauser, left int) []pauserJSON {
	out, _ := takePausers(list, left)
	return out
}

func takePausers(list []*panel.Pauser, left int) (out []pauserJSON, rest int) {
	for _, p := range list {
		if left == 0 {
			break
		}
		left--
		j := pauserJSON{Node: p.Node, Port: p.Port, Share: p.Share, Loop: p.Loop}
		j.Held, left = takePausers(p.Held, left)
		out = append(out, j)
	}
	return out, left
}

// servePorts answers with the newest frame.
func (s *Server) servePorts(w http.ResponseWriter, r *http.Request) {
	body := s.hub.last()
	if body == nil {
		now := s.opt.Now()
		body = s.encode(now, s.panel.Snapshot(now), make([][]uint8, 2))
	}
	sendJSON(w, r, body)
}

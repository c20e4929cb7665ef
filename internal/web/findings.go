package web

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"time"

	"weir/internal/answer/diagnosis"
	"weir/internal/cause"
)

// lookEvery is how often the diagnosis looks at the counters, keepFindings how
// long a finding that is over is still listed.
const (
	lookEvery    = 10 * time.Second
	keepFindings = 24 * time.Hour
	maxFindings  = 500
)

// findings are what the diagnosis found, now and lately.
type findings struct {
	revision uint64
	list     []found
	missing  [2][]diagnosis.Missing // by language
	took     time.Duration          // of the last look
	notUntil time.Time
}

// found is one finding over time, in both languages.
type found struct {
	texts       [2]diagnosis.Finding
	since, last time.Time
	active      bool
}

var languages = [2]cause.Language{cause.English, cause.Chinese}

// look diagnoses what the counters did since the last look. On a fabric so
// large that a look takes long, looks become rare.
func (s *Server) look(now time.Time) {
	s.mu.Lock()
	wait := now.Before(s.findings.notUntil)
	s.mu.Unlock()
	if wait {
		return
	}
	begin := time.Now()
	reg, moved := s.panel.Look()
	w := diagnosis.Window{Name: "live", Registry: reg, Counters: make([]diagnosis.Counter, 0, len(moved))}
	for _, m := range moved {
		w.Counters = append(w.Counters, diagnosis.Counter{Series: m.Series, Seconds: m.Seconds, Moved: uint64(max(m.Moved, 0)), Known: m.Known, Last: uint64(max(m.Last, 0)), Mean: m.Mean})
	}
	if len(w.Counters) == 0 {
		return
	}
	results := diagnosis.RunWindow(nil, w, s.causes, languages[:]...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.findings.took = time.Since(begin)
	s.findings.notUntil = now.Add(20 * s.findings.took)
	s.merge(now, results)
}

// merge brings the list up to date with a look's results.
func (s *Server) merge(now time.Time, results []*diagnosis.Result) {
	f := &s.findings
	before := f.signature()
	for i := range f.list {
		f.list[i].active = false
	}
	for i := range results[0].Findings {
		en, zh := results[0].Findings[i], results[1].Findings[i]
		at := slices.IndexFunc(f.list, func(o found) bool {
			return o.texts[0].Cause == en.Cause && o.texts[0].Where == en.Where && now.Sub(o.last) < 2*time.Minute
		})
		if at < 0 {
			f.list = append(f.list, found{since: now})
			at = len(f.list) - 1
			s.note(event{At: now.UnixMilli(), Kind: "finding", Where: en.Where, Cause: en.Cause, En: s.title(en.Cause, cause.English), Zh: s.title(en.Cause, cause.Chinese)})
		}
		o := &f.list[at]
		o.texts, o.last, o.active = [2]diagnosis.Finding{en, zh}, now, true
	}
	for l := range languages {
		f.missing[l] = results[l].Missing
	}
	f.list = slices.DeleteFunc(f.list, func(o found) bool { return now.Sub(o.last) > keepFindings })
	slices.SortStableFunc(f.list, func(a, b found) int {
		switch {
		case a.active != b.active:
			if a.active {
				return -1
			}
			return 1
		case !a.active:
			return b.last.Compare(a.last)
		}
		return cmp.Or(cmp.Compare(b.texts[0].Severity, a.texts[0].Severity), cmp.Compare(b.texts[0].Confidence, a.texts[0].Confidence))
	})
	f.list = f.list[:min(len(f.list), maxFindings)]
	if f.signature() != before {
		f.revision++
	}
}

// signature changes when the list does.
func (f *findings) signature() string {
	text := ""
	for i := range f.list {
		o := &f.list[i]
		text += o.texts[0].Cause + "@" + o.texts[0].Where + o.since.String()
		if o.active {
			text += "+"
		}
	}
	return text
}

// title is a cause's, or its id where the catalogue has none.
func (s *Server) title(id string, l cause.Language) string {
	if c, ok := s.causes.Find(id); ok {
		return c.Title.In(l)
	}
	return id
}

type findingJSON struct {
	diagnosis.Finding
	Title   string `json:"title"`
	SinceMS int64  `json:"since_ms"`
	LastMS  int64  `json:"last_seen_ms"`
	Active  bool   `json:"active"`
}

type findingsJSON struct {
	Schema   string              `json:"schema"`
	Revision uint64              `json:"revision"`
	LookMS   int64               `json:"look_ms"`
	Findings []findingJSON       `json:"findings"`
	Missing  []diagnosis.Missing `json:"missing_facts"`
}

// serveFindings answers with what the diagnosis says: ?lang=en|zh.
func (s *Server) serveFindings(w http.ResponseWriter, r *http.Request) {
	l := 0
	switch r.FormValue("lang") {
	case "", "en":
	case "zh":
		l = 1
	default:
		refuse(w, errors.Join(errBad, errors.New("lang: en or zh")))
		return
	}
	s.mu.Lock()
	out := findingsJSON{Schema: "weir.findings/1", Revision: s.findings.revision, LookMS: s.findings.took.Milliseconds(), Findings: []findingJSON{}, Missing: s.findings.missing[l]}
	for i := range s.findings.list {
		o := &s.findings.list[i]
		out.Findings = append(out.Findings, findingJSON{o.texts[l], s.title(o.texts[l].Cause, languages[l]), o.since.UnixMilli(), o.last.UnixMilli(), o.active})
	}
	s.mu.Unlock()
	sendJSON(w, r, appendJSON(nil, out))
}

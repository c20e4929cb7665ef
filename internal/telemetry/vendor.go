package telemetry

import (
	"strings"
	"sync"
)

// A Label is one label of a series.
type Label struct{ Name, Value string }

// A Source is what a vendor's counter means: a metric, and the labels that
// its name carries.
type Source struct {
	Metric MetricID
	Labels []Label
}

// Vendor returns what the counter of a family means: Vendor(MLX5Ethtool,
// "rx_prio3_pause") is rdma_roce_pfc_pause_frames_total with direction rx and
// priority 3.
func Vendor(family, counter string) (Source, bool) {
	f, ok := vendorIndex()[family]
	if !ok {
		return Source{}, false
	}
	if id, ok := f.exact[counter]; ok {
		return Source{Metric: id}, true
	}
	for i := range f.templates {
		t := &f.templates[i]
		if labels, ok := t.match(counter); ok {
			return Source{Metric: t.metric, Labels: labels}, true
		}
	}
	return Source{}, false
}

type vendorFamily struct {
	exact     map[string]MetricID
	templates []template
}

var vendorIndex = sync.OnceValue(func() map[string]*vendorFamily {
	out := map[string]*vendorFamily{}
	for id := range table {
		for family, names := range table[id].Vendors {
			f := out[family]
			if f == nil {
				f = &vendorFamily{exact: map[string]MetricID{}}
				out[family] = f
			}
			for _, n := range names {
				if strings.Contains(n, "{") {
					f.templates = append(f.templates, newTemplate(MetricID(id), n))
				} else {
					f.exact[n] = MetricID(id)
				}
			}
		}
	}
	return out
})

// A template is a counter's name with places for labels: literals[0],
// places[0], literals[1] ...
type template struct {
	metric   MetricID
	literals []string
	places   []string
}

func newTemplate(id MetricID, s string) template {
	t := template{metric: id}
	for {
		lit, rest, ok := strings.Cut(s, "{")
		t.literals = append(t.literals, lit)
		if !ok {
			return t
		}
		place, after, _ := strings.Cut(rest, "}")
		t.places = append(t.places, place)
		s = after
	}
}

// words are the spellings of a place and the label's value that each stands for.
func words(place string) (label string, spellings map[string]string) {
	switch place {
	case "direction":
		return "direction", map[string]string{"rx": "rx", "tx": "tx"}
	case "DIRECTION":
		return "direction", map[string]string{"RX": "rx", "TX": "tx"}
	case "Direction":
		return "direction", map[string]string{"Rx": "rx", "Tx": "tx"}
	case "dir":
		return "direction", map[string]string{"in": "rx", "out": "tx"}
	case "DIR":
		return "direction", map[string]string{"IN": "rx", "OUT": "tx"}
	case "op":
		return "op", map[string]string{"rd": "rd", "wr": "wr"}
	case "severity":
		return "severity", map[string]string{"warning": "warning", "error": "error"}
	case "traffic":
		return "traffic", map[string]string{"unicast": "unicast", "multicast": "multicast"}
	case "event":
		return "event", map[string]string{"unplug": "unplug", "bus_stuck": "bus_stuck", "high_temp": "high_temp", "bad_shorted": "bad_shorted"}
	case "EVENT":
		return "event", map[string]string{"DETECTED": "detected", "RESTORED": "restored"}
	}
	return place, nil // a number
}

func (t *template) match(s string) ([]Label, bool) {
	s, ok := strings.CutPrefix(s, t.literals[0])
	if !ok {
		return nil, false
	}
	labels := make([]Label, 0, len(t.places))
	for i, place := range t.places {
		label, spellings := words(place)
		n, value := 0, ""
		if spellings == nil {
			for n < len(s) && n < 3 && s[n] >= '0' && s[n] <= '9' {
				n++
			}
			value = s[:n]
		}
		for spelling, v := range spellings {
			if strings.HasPrefix(s, spelling) && len(spelling) > n {
				n, value = len(spelling), v
			}
		}
		if n == 0 {
			return nil, false
		}
		lit := t.literals[i+1]
		if s = s[n:]; !strings.HasPrefix(s, lit) || i == len(t.places)-1 && len(s) != len(lit) {
			return nil, false
		}
		s = s[len(lit):]
		labels = append(labels, Label{label, value})
	}
	return labels, true
}

// VendorName returns how a family names a metric with the given labels, the
// reverse of Vendor. It returns the first name where there are several.
func VendorName(family string, id MetricID, labels []Label) (string, bool) {
	names := table[id].Vendors[family]
	if len(names) == 0 {
		return "", false
	}
	t := newTemplate(id, names[0])
	var b strings.Builder
	for i, lit := range t.literals {
		b.WriteString(lit)
		if i == len(t.places) {
			break
		}
		name, spellings := words(t.places[i])
		found := false
		for _, l := range labels {
			if l.Name != name {
				continue
			}
			if spellings == nil {
				b.WriteString(l.Value)
				found = true
			}
			for spelling, v := range spellings {
				if v == l.Value {
					b.WriteString(spelling)
					found = true
				}
			}
		}
		if !found {
			return "", false
		}
	}
	return b.String(), true
}

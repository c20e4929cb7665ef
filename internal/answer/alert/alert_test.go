package alert

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"weir/internal/cause"
	"weir/internal/cluster"
	"weir/internal/store"
	"weir/internal/telemetry"
)

var begin = time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC) // a Friday

// bench is an engine on a store of its own, with a clock that the test moves.
type bench struct {
	*testing.T
	store  *store.Local
	engine *Engine
	now    time.Time
	series map[string]*store.Series
}

func newBench(t *testing.T, o Options) *bench {
	t.Helper()
	b := &bench{T: t, now: begin, series: map[string]*store.Series{}}
	var err error
	b.store, err = store.Open(t.TempDir(), store.Options{Now: func() time.Time { return b.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.store.Close() })
	o.Store = b.store
	b.engine = New(o)
	return b
}

// set appends a value of a metric with labels "name=value".
func (b *bench) set(metric string, v float64, labels ...string) {
	b.Helper()
	key := metric + strings.Join(labels, ",")
	s := b.series[key]
	if s == nil {
		var pairs []string
		for _, l := range labels {
			n, v, _ := strings.Cut(l, "=")
			pairs = append(pairs, n, v)
		}
		s = store.NewSeries(metric, pairs...)
		b.series[key] = s
	}
	if r, err := b.store.Append(context.Background(), []store.Point{{Series: s, At: b.now.UnixMilli(), Value: v}}); err != nil || r.Total() > 0 {
		b.Fatalf("%+v, %v", r, err)
	}
}

// tick evaluates and moves the clock on.
func (b *bench) tick(d time.Duration) {
	b.engine.Evaluate(context.Background(), b.now)
	b.now = b.now.Add(d)
}

// states lists the alerts as "rule subject state".
func (b *bench) states() []string {
	out := []string{}
	for _, a := range b.engine.Alerts() {
		s := a.Rule + " " + labelText(a.Labels) + " " + string(a.State)
		if a.Silenced != "" {
			s += " (" + a.Silenced + ")"
		}
		out = append(out, s)
	}
	return out
}

func (b *bench) expect(want ...string) {
	b.Helper()
	if got := b.states(); strings.Join(got, "\n") != strings.Join(want, "\n") {
		b.Fatalf("at %v:\ngot  %q\nwant %q", b.now.Sub(begin), got, want)
	}
}

var high = Rule{Name: "High", Severity: Warning, Expr: "m", By: []string{"instance"}, Above: 10, Clear: 5, For: 30 * time.Second, Keep: time.Minute, Summary: "{instance} has {value}"}

func TestHysteresis(t *testing.T) {
	b := newBench(t, Options{Rules: []Rule{high}})
	run := func(seconds int, v float64) {
		for range seconds / 15 {
			b.set("m", v, "instance=a")
			b.tick(15 * time.Second)
		}
	}
	run(30, 9) // above Clear alone is no alarm
	b.expect()
	run(15, 11)
	b.expect(`High instance="a", pending`)
	run(15, 9) // not long enough
	b.expect()
	run(45, 11)
	b.expect(`High instance="a", firing`)
	if a := b.engine.Alerts()[0]; a.Summary != "a has 11" || a.Value != 11 {
		t.Errorf("%+v", a)
	}
	run(600, 7) // below Above, above Clear: it stays
	b.expect(`High instance="a", firing`)
	run(60, 4)
	run(15, 6) // not calm for long enough
	run(60, 4)
	b.expect(`High instance="a", firing`)
	run(15, 4)
	b.expect(`High instance="a", resolved`)
	run(900, 4)
	b.expect(`High instance="a", resolved`)
	run(15, 4) // told for a quarter of an hour, then forgotten
	b.expect()
}

// A source that goes away does not end its alarm at once.
func TestSilenceOfTheSourceIsNoNews(t *testing.T) {
	b := newBench(t, Options{Rules: []Rule{high}})
	for range 3 {
		b.set("m", 11, "instance=a")
		b.tick(15 * time.Second)
	}
	b.set("m", store.Stale(), "instance=a")
	b.tick(4 * time.Minute)
	b.expect(`High instance="a", firing`)
	b.tick(time.Minute)
	b.expect(`High instance="a", firing`)
	b.tick(time.Minute)
	b.expect(`High instance="a", resolved`)
}

func TestFlappingIsHeldTogether(t *testing.T) {
	b := newBench(t, Options{Rules: []Rule{high}})
	changes, last := 0, State("")
	for minute := range 60 {
		// Two minutes up, two minutes down, for forty minutes; then calm.
		v := 11.0
		if minute%4 >= 2 || minute >= 40 {
			v = 0
		}
		for range 4 {
			b.set("m", v, "instance=a")
			b.tick(15 * time.Second)
			if a := b.engine.Alerts(); len(a) > 0 && a[0].State != last && a[0].State != Pending {
				changes, last = changes+1, a[0].State
			}
		}
		if minute == 39 {
			if a := b.engine.Alerts(); len(a) != 1 || a[0].State != Firing || !a[0].Flapping {
				t.Errorf("after forty minutes: %+v", a)
			}
		}
	}
	// Three times up and down, the fourth stays: 3 x 2 + 1, and the end. Undamped it were 20.
	if changes != 8 {
		t.Errorf("%d changes were told, want 8", changes)
	}
}

type hostFS struct{}

func (hostFS) Open(name string) (fs.File, error) { return os.Open(name) }

func TestOneAlertForAFailedLeaf(t *testing.T) {
	c, err := cluster.Load(hostFS{}, "../../../examples/pod-64x8.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, Options{Rules: Rules(), Cluster: c})
	leaf, cards := "", [][2]string{}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		if n.Kind != cluster.SwitchNode || n.Tier != 1 {
			continue
		}
		leaf = n.Name
		for _, p := range n.Ports {
			if uint32(c.Ports[p].Peer) == cluster.None {
				continue
			}
			peer := &c.Ports[c.Ports[p].Peer]
			if h := &c.Nodes[peer.Node]; h.Kind == cluster.HostNode {
				cards = append(cards, [2]string{h.Name, c.Hosts[h.Host].NICs[peer.NIC].Device})
			}
		}
		break
	}
	if len(cards) != 64 {
		t.Fatalf("%s has %d hosts, want 64", leaf, len(cards))
	}
	down := func(cards [][2]string, state string) {
		for _, x := range cards {
			b.set("rdma_port_info", 1, "instance="+x[0], "device="+x[1], "port=1", "state="+state)
		}
	}
	// One link is a link.
	for range 3 {
		down(cards[:1], "DOWN")
		b.tick(15 * time.Second)
	}
	one := fmt.Sprintf(`RoCEHostPortDown device=%q,instance=%q,port="1", firing`, cards[0][1], cards[0][0])
	b.expect(one)
	// All links are the leaf: one alert is told, the others say why they are not.
	for range 3 {
		down(cards, "DOWN")
		b.tick(15 * time.Second)
	}
	told := b.engine.Told()
	if len(told) != 1 || told[0].Rule != LeafDown || told[0].Labels["switch"] != leaf {
		t.Fatalf("%d alerts are told: %+v", len(told), told[:min(len(told), 3)])
	}
	if want := leaf + " has failed: 64 of its 64 host links are down"; told[0].Summary != want {
		t.Errorf("%q, want %q", told[0].Summary, want)
	}
	if all := b.engine.Alerts(); len(all) != 65 || all[10].Silenced != "leaf: "+leaf+" failed" {
		t.Errorf("%d alerts, %+v", len(all), all[10])
	}
	// A restart in the middle tells nothing anew.
	again := New(Options{Store: b.store, Rules: Rules(), Cluster: c})
	again.restore(context.Background(), b.now)
	down(cards, "DOWN")
	again.Evaluate(context.Background(), b.now)
	if told := again.Told(); len(told) != 1 || told[0].Rule != LeafDown || told[0].started.IsZero() {
		t.Errorf("after a restart %d alerts are told: %+v", len(told), told[:min(len(told), 3)])
	}
}

func TestMaintenance(t *testing.T) {
	b := newBench(t, Options{Rules: []Rule{high}, Maintenance: []Window{{Comment: "new cable", Match: map[string]string{"instance": "host-*", "alertname": "High"}, Start: begin, End: begin.Add(time.Minute)}}})
	for range 4 {
		b.set("m", 11, "instance=host-1")
		b.set("m", 11, "instance=gate")
		b.tick(15 * time.Second)
	}
	b.expect(`High instance="gate", firing`, `High instance="host-1", firing (maintenance: new cable)`)
	b.set("m", 11, "instance=host-1")
	b.tick(0)
	if told := b.engine.Told(); len(told) != 2 {
		t.Errorf("after the window %d alerts are told", len(told))
	}
}

func TestWindows(t *testing.T) {
	night := Window{Days: []time.Weekday{time.Friday}, From: 22 * time.Hour, To: 4 * time.Hour}
	shanghai := Window{Days: []time.Weekday{time.Saturday}, From: 2 * time.Hour, To: 4 * time.Hour, Zone: time.FixedZone("CST", 8*3600)}
	for _, c := range []struct {
		w    Window
		at   string
		want bool
	}{
		{night, "2026-03-06T21:59:59Z", false},
		{night, "2026-03-06T22:00:00Z", true},
		{night, "2026-03-07T03:59:59Z", true},
		{night, "2026-03-07T04:00:00Z", false},
		{night, "2026-03-06T03:00:00Z", false}, // of Thursday's night
		{shanghai, "2026-03-06T18:00:00Z", true},
		{shanghai, "2026-03-06T20:00:00Z", false},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.w.covers(at); got != c.want {
			t.Errorf("%+v at %s: %v", c.w, c.at, got)
		}
	}
	for _, bad := range []Window{{}, {Start: begin, End: begin}, {Days: []time.Weekday{1}}, {Start: begin, End: begin.Add(1), Days: []time.Weekday{1}}, {Start: begin, End: begin.Add(1), Match: map[string]string{"a": "["}}} {
		if bad.Check() == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// The body is what Alertmanager's API takes (api/v2, postableAlerts).
func TestDelivery(t *testing.T) {
	var got [][]map[string]any
	status := 200
	am := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/prefix/api/v2/alerts" || r.Method != "POST" {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		var alerts []map[string]any
		if err := json.NewDecoder(r.Body).Decode(&alerts); err != nil {
			t.Error(err)
		}
		if status == 200 {
			got = append(got, alerts)
		}
		w.WriteHeader(status)
	}))
	defer am.Close()
	d, err := NewDeliverer([]Receiver{{URL: am.URL + "/prefix"}, {URL: "http://127.0.0.1:1"}}, "http://weir/", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	a := Alert{Rule: "High", Severity: Warning, Cause: "incast", Labels: map[string]string{"instance": "a"}, Summary: "a has 11", State: Firing, Since: begin, started: begin}
	status = 500
	d.Deliver(ctx, begin, []Alert{a}) // not taken: it comes again at once
	status = 200
	d.Deliver(ctx, begin.Add(15*time.Second), []Alert{a})
	d.Deliver(ctx, begin.Add(30*time.Second), []Alert{a}) // not yet due
	d.Deliver(ctx, begin.Add(75*time.Second), []Alert{a}) // repeated
	a.State, a.Since = Resolved, begin.Add(80*time.Second)
	b := a
	b.Labels = map[string]string{"instance": "never told"}
	d.Deliver(ctx, begin.Add(80*time.Second), []Alert{a, b})
	if len(got) != 3 {
		t.Fatalf("%d deliveries: %v", len(got), got)
	}
	want := map[string]any{
		"labels":      map[string]any{"alertname": "High", "severity": "warning", "instance": "a"},
		"annotations": map[string]any{"summary": "a has 11", "cause": "incast", "explain": "weir explain incast"},
		"startsAt":    "2026-03-06T12:00:00Z", "endsAt": "2026-03-06T12:04:15Z", "generatorURL": "http://weir/",
	}
	if fmt.Sprint(got[0][0]) != fmt.Sprint(want) {
		t.Errorf("got  %v\nwant %v", got[0][0], want)
	}
	if last := got[2]; len(last) != 1 || last[0]["endsAt"] != "2026-03-06T12:01:20Z" || last[0]["startsAt"] != "2026-03-06T12:00:00Z" {
		t.Errorf("the end: %v", last)
	}
	if _, err := NewDeliverer([]Receiver{{URL: "alertmanager:9093"}}, "", nil); err == nil {
		t.Error("a receiver without http was taken")
	}
}

var word = regexp.MustCompile(`\b(rdma|roce_switch|weir)_[a-z0-9_]+\b`)

// Every metric of a rule is in the metric table, every label of a subject is
// the metric's, every cause in the catalogue, and every expression is PromQL.
func TestRulesFitTheTable(t *testing.T) {
	causes, err := cause.Load()
	if err != nil {
		t.Fatal(err)
	}
	p := parser.NewParser(parser.Options{})
	names := map[string]bool{}
	for _, r := range Rules() {
		if names[r.Name] {
			t.Errorf("%s is there twice", r.Name)
		}
		names[r.Name] = true
		if _, err := p.ParseExpr(r.Expr); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
		if r.Above < r.Clear {
			t.Errorf("%s: clears above its threshold", r.Name)
		}
		for _, m := range word.FindAllString(r.Expr, -1) {
			id, ok := telemetry.Lookup(m)
			if m == "weir_clock_skew_seconds" {
				continue
			}
			if !ok {
				t.Errorf("%s: no metric %s", r.Name, m)
				continue
			}
			have := strings.Join(telemetry.Table()[id].LabelNames(), " ")
			for _, l := range r.By {
				if !strings.Contains(have, l) {
					t.Errorf("%s: %s has no label %s", r.Name, m, l)
				}
			}
		}
		if r.Cause != "" {
			if _, ok := causes.Find(r.Cause); !ok {
				t.Errorf("%s: no cause %s", r.Name, r.Cause)
			}
		}
		for _, l := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(r.Summary, -1) {
			if l[1] != "value" && !strings.Contains(strings.Join(r.By, " "), l[1]) {
				t.Errorf("%s: {%s} in the summary is no label of the subject", r.Name, l[1])
			}
		}
	}
}

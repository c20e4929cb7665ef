package scrape

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"weir/internal/store"
	"weir/internal/telemetry"
)

func open(t *testing.T, dir string) *store.Local {
	t.Helper()
	l, err := store.Open(dir, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// agent serves what body holds.
func agent(t *testing.T, body *atomic.Value) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		b := body.Load().(string)
		if b == "503" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprint(w, b)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func once(t *testing.T, l store.Store, url, instance string) *target {
	t.Helper()
	s, err := New(context.Background(), Options{Store: l})
	if err != nil {
		t.Fatal(err)
	}
	return newTarget(Target{URL: url, Instance: instance}, &s.o, s.base)
}

func value(t *testing.T, l store.Store, expr string) float64 {
	t.Helper()
	got, err := l.Query(context.Background(), expr, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 {
		return math.NaN()
	}
	return got[0].Value
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func check(t *testing.T, l store.Store, expr string, want float64) {
	t.Helper()
	if got := value(t, l, expr); !same(got, want) {
		t.Errorf("%s is %v, want %v", expr, got, want)
	}
}

var (
	none    = math.NaN()
	discard = slog.New(slog.DiscardHandler)
)

func TestScrape(t *testing.T) {
	l := open(t, t.TempDir())
	defer l.Close()
	var body atomic.Value
	url := agent(t, &body)
	ctx := context.Background()
	tg := once(t, l, url, "host-3")

	// The target's own instance, time stamps and reserved names are not believed.
	body.Store("# TYPE rdma_np_cnp_sent_total counter\nrdma_np_cnp_sent_total{device=\"mlx5_0\",instance=\"host-9\",port=\"1\"} 5 1000\n" +
		"rdma_out_of_sequence_total{device=\"mlx5_0\",port=\"1\"} 4294967290\nup 7\nroce_switch_port_bytes_total{switch=\"leaf-0\"} 1\n" +
		fmt.Sprintf("weir_agent_time_seconds %.3f\n", float64(time.Now().Add(90*time.Second).UnixMilli())/1000))
	tg.scrape(ctx, time.Time{})
	check(t, l, `rdma_np_cnp_sent_total{instance="host-3",device="mlx5_0",port="1"}`, 5)
	check(t, l, `count({instance="host-9"})`, none)
	check(t, l, `count({__name__=~"roce_switch_.*"})`, none)
	check(t, l, `up{instance="host-3"}`, 1)
	check(t, l, `scrape_samples_scraped`, 3)
	if got := value(t, l, "weir_clock_skew_seconds"); math.Abs(got-90) > 2 {
		t.Errorf("a clock 90 s ahead is measured as %v s ahead", got)
	}

	// Over its 32 bits the counter goes on; a series that is gone ends.
	time.Sleep(2 * time.Millisecond)
	body.Store("rdma_out_of_sequence_total{device=\"mlx5_0\",port=\"1\"} 5\n")
	tg.scrape(ctx, time.Time{})
	check(t, l, `rdma_out_of_sequence_total`, 4294967301)
	check(t, l, `rdma_np_cnp_sent_total`, none)

	// A restarted server goes on from there.
	time.Sleep(2 * time.Millisecond)
	body.Store("rdma_out_of_sequence_total{device=\"mlx5_0\",port=\"1\"} 9\n")
	tg = once(t, l, url, "host-3")
	tg.scrape(ctx, time.Time{})
	check(t, l, `rdma_out_of_sequence_total`, 4294967305)

	// A failure ends all, once.
	time.Sleep(2 * time.Millisecond)
	body.Store("503")
	tg.scrape(ctx, time.Time{})
	check(t, l, `rdma_out_of_sequence_total`, none)
	check(t, l, `up`, 0)
	if st := tg.status(); st.Up || st.Error != "status 503" {
		t.Errorf("%+v", st)
	}

	// And it comes back where it was, with what it moved in between.
	time.Sleep(2 * time.Millisecond)
	body.Store("rdma_out_of_sequence_total{device=\"mlx5_0\",port=\"1\"} 11\n")
	tg.scrape(ctx, time.Time{})
	check(t, l, `rdma_out_of_sequence_total`, 4294967307)
}

// What a target may not do: the answer is refused as a whole and the target
// is down; nothing of it is stored.
func TestBadAnswers(t *testing.T) {
	long := strings.Repeat("x", maxLabelBytes+1)
	var many, flood strings.Builder
	for i := range 101 {
		fmt.Fprintf(&many, "m{i=\"%d\"} 1\n", i)
	}
	flood.WriteString("# " + strings.Repeat("y", 70_000) + "\nm 1\n")
	manyLabels := "m{"
	for i := range maxLabels + 1 {
		manyLabels += fmt.Sprintf("l%d=\"1\",", i)
	}
	for _, c := range []struct{ name, body, want string }{
		{"no metrics", "<html>hello</html>", "expected"},
		{"half an answer", "m 1\nn{a=\"b", "expected"},
		{"too many series", many.String(), errSeries.Error()},
		{"too many bytes", flood.String(), "more than 65536 bytes"},
		{"a long label", "m{a=\"" + long + "\"} 1\n", "label of more than"},
		{"many labels", manyLabels + "} 1\n", "labels"},
	} {
		l := open(t, t.TempDir())
		var body atomic.Value
		body.Store(c.body)
		tg := newTarget(Target{URL: agent(t, &body), Instance: "h"}, &Options{Store: l, Client: NewClient(http.DefaultTransport), Timeout: time.Second, MaxBody: 1 << 16, MaxSeries: 100, Now: time.Now, Log: discard}, nil)
		tg.scrape(context.Background(), time.Time{})
		if st := tg.status(); st.Up || !strings.Contains(st.Error, c.want) {
			t.Errorf("%s: %+v, want an error with %q", c.name, st, c.want)
		}
		check(t, l, "up", 0)
		check(t, l, `count({__name__=~"m|n"})`, none)
		l.Close()
	}
}

// A target that says new series every time is cut off before it fills the store.
func TestChurnIsCutOff(t *testing.T) {
	l := open(t, t.TempDir())
	defer l.Close()
	var body atomic.Value
	tg := newTarget(Target{URL: agent(t, &body), Instance: "h"}, &Options{Store: l, Client: NewClient(http.DefaultTransport), Timeout: time.Second, MaxBody: 1 << 20, MaxSeries: 100, Now: time.Now, Log: discard}, nil)
	for i := range 20 {
		var b strings.Builder
		for j := range 50 {
			fmt.Fprintf(&b, "m{i=\"%d-%d\"} 1\n", i, j)
		}
		body.Store(b.String())
		tg.scrape(context.Background(), time.Time{})
	}
	if st := tg.status(); st.Up {
		t.Error("1000 series in an hour from a target that may have 400")
	}
	if n := l.Stats().Series; n > 450 {
		t.Errorf("%d series in the store", n)
	}
}

// Hanging and trickling targets do not stop the others; a redirection is not followed.
func TestTargetsAreIsolated(t *testing.T) {
	l := open(t, t.TempDir())
	defer l.Close()
	release := make(chan struct{})
	hang := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-release }))
	trickle := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			fmt.Fprintln(w, "# still here")
			w.(http.Flusher).Flush()
			time.Sleep(10 * time.Millisecond)
		}
	}))
	var asked atomic.Int32
	secret := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	elsewhere := httptest.NewServer(http.RedirectHandler(secret.URL, http.StatusFound))
	defer secret.Close()
	defer elsewhere.Close()
	defer trickle.Close()
	defer hang.Close()
	defer close(release)
	var body atomic.Value
	body.Store("good_total 1\n")
	s, err := New(context.Background(), Options{Store: l, Interval: 100 * time.Millisecond, Timeout: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	sets := make(chan []Target)
	ended := make(chan error)
	go func() { ended <- s.Run(ctx, sets) }()
	all := []Target{{URL: hang.URL, Instance: "hang"}, {URL: trickle.URL, Instance: "trickle"}, {URL: elsewhere.URL, Instance: "elsewhere"}, {URL: "http://127.0.0.1:1/", Instance: "nobody"}}
	for i := range 5 {
		all = append(all, Target{URL: agent(t, &body), Instance: fmt.Sprintf("good-%d", i)})
	}
	sets <- all
	time.Sleep(1200 * time.Millisecond)
	check(t, l, `sum(up{instance=~"good-.*"})`, 5)
	check(t, l, `sum(up{instance!~"good-.*"})`, 0)
	check(t, l, `count(up{instance!~"good-.*"})`, 4)
	if n := value(t, l, `min(count_over_time(good_total[1m]))`); n < 5 {
		t.Errorf("only %v scrapes of a good target in 1.2 s at 0.1 s", n)
	}
	raw, err := l.Samples(context.Background(), `good_total{instance="good-1"}`, time.Now().Add(-time.Minute), time.Now())
	if err != nil || len(raw) != 1 {
		t.Fatal(raw, err)
	}
	even := 0
	for i := 1; i < len(raw[0].Times); i++ {
		if raw[0].Times[i]-raw[0].Times[i-1] == 100 {
			even++
		}
	}
	if even < 2 {
		t.Errorf("samples at %v: their times are not those that they were due", raw[0].Times)
	}
	if asked.Load() != 0 {
		t.Error("a redirection was followed")
	}
	for _, st := range s.Status() {
		if st.Up != strings.HasPrefix(st.Instance, "good") {
			t.Errorf("%+v", st)
		}
	}
	// A target that leaves the set ends its series.
	sets <- all[:8]
	time.Sleep(5 * time.Millisecond)
	check(t, l, `count(good_total)`, 4)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	// The end of the server ends no series.
	check(t, l, `count(good_total)`, 4)
}

func TestFileTargets(t *testing.T) {
	want := []Target{
		{URL: "http://10.0.0.1:9779/metrics", Instance: "10.0.0.1"},
		{URL: "https://node-7:9779/m", Instance: "host-7", Labels: []telemetry.Label{{Name: "pod", Value: "a"}}},
	}
	for name, text := range map[string]string{
		"t.json": `[{"targets":["10.0.0.1:9779"]},{"targets":["node-7:9779"],"labels":{"instance":"host-7","pod":"a","__scheme__":"https","__metrics_path__":"/m"}}]`,
		"t.yml":  "- targets: ['10.0.0.1:9779']\n- targets: [node-7:9779]\n  labels: {instance: host-7, pod: a, __scheme__: https, __metrics_path__: /m}\n",
	} {
		got, err := parseTargets(name, []byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	for _, bad := range []string{
		`[{"targets":["10.0.0.1"]}]`, `[{"targets":["a:1/x"]}]`, `[{"targets":["u:p@a:1"]}]`, `{"targets":1}`, `[{"targets":["a:1"],"labels":{"a b":"c"}}]`,
		`[{"targets":["a:1"],"labels":{"__scheme__":"file"}}]`, `[`,
	} {
		if got, err := parseTargets("t.json", []byte(bad)); err == nil {
			t.Errorf("%s was read as %v", bad, got)
		} else if !strings.HasPrefix(err.Error(), "t.json: ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: message %q", bad, err)
		}
	}
}

func FuzzTargets(f *testing.F) {
	f.Add("t.json", `[{"targets":["10.0.0.1:9779"]}]`)
	f.Add("t.yml", "- targets: [a:1]\n")
	f.Add("0", "! 0000000")
	f.Fuzz(func(_ *testing.T, name, text string) { parseTargets(name, []byte(text)) })
}

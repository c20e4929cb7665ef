package scrape

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The load of the issue: 1,250 agents with 8 ports each and 40 counters a port,
// every 5 s. No scrape is left out, and the processor time (that of the agents'
// side in the same process included) stays below two cores.
func TestTenThousandPorts(t *testing.T) {
	if os.Getenv("WEIR_LONG") == "" {
		t.Skip("WEIR_LONG=1")
	}
	const agents, perPort = 1250, 40
	var bodies [8]string
	for k := range bodies {
		var b strings.Builder
		for port := range 8 {
			for c := range perPort {
				fmt.Fprintf(&b, "rdma_counter_%d_total{device=\"mlx5_%d\",port=\"1\"} %d\n", c, port, 1_000_000_000_000+k*c*123457)
			}
		}
		bodies[k] = b.String()
	}
	begin := time.Now()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, bodies[int(time.Since(begin).Seconds()/5)%8])
	}))
	defer s.Close()
	l := open(t, t.TempDir())
	defer l.Close()
	tr := http.DefaultTransport.(*http.Transport).Clone()
	tr.MaxIdleConns, tr.MaxIdleConnsPerHost = agents, agents // they are one host here
	sc, err := New(context.Background(), Options{Store: l, Client: NewClient(tr), Interval: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	var targets []Target
	for i := range agents {
		targets = append(targets, Target{URL: fmt.Sprintf("%s/%d", s.URL, i), Instance: fmt.Sprintf("host-%d", i)})
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	sets := make(chan []Target, 1)
	sets <- targets
	ended := make(chan error, 1)
	go func() { ended <- sc.Run(ctx, sets) }()
	time.Sleep(11 * time.Second) // the first scrapes make the series
	cpu, from := cpuTime(), time.Now()
	const wait = 30 * time.Second
	time.Sleep(wait)
	used := (cpuTime() - cpu).Seconds() / time.Since(from).Seconds()
	got, err := l.Query(ctx, fmt.Sprintf("sum(count_over_time(up[%ds]))", int(wait.Seconds())), time.Now())
	if err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want := float64(agents) * wait.Seconds() / 5
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%.0f of %.0f scrapes in %v, %.0f samples/s, %.2f cores, %d MB of heap", got[0].Value, want, wait, got[0].Value*8*perPort/wait.Seconds(), used, m.HeapInuse>>20)
	if got[0].Value < 0.98*want {
		t.Errorf("%.0f scrapes, want %.0f", got[0].Value, want)
	}
	check(t, l, "sum(up)", agents)
	if used > 2 {
		t.Errorf("%.2f cores", used)
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

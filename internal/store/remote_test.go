package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/prometheus/model/labels"
)

// prometheus starts the real program with its remote-write receiver on.
func prometheus(t *testing.T) string {
	t.Helper()
	bin, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not installed")
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.yml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	cmd := exec.Command(bin, "--config.file="+filepath.Join(dir, "p.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+addr, "--web.enable-remote-write-receiver", "--log.level=error")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if r, err := http.Get("http://" + addr + "/-/ready"); err == nil {
			r.Body.Close()
			if r.StatusCode == 200 {
				return "http://" + addr
			}
		}
	}
	t.Fatal("prometheus did not get ready")
	return ""
}

// What the embedded store answers, a real Prometheus answers that got the
// same samples by remote write.
func TestRemoteAnswersAsLocal(t *testing.T) {
	r, err := OpenRemote(RemoteOptions{URL: prometheus(t)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	l, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	base := time.Now().Add(-2 * time.Minute).Truncate(time.Second)
	ctx := context.Background()
	for _, st := range []Store{l, r} {
		a := NewSeries("rdma_port_rcv_data_total", "instance", "host-0", "device", "mlx5_0")
		b := NewSeries("rdma_port_rcv_data_total", "instance", `h "1" é`, "device", "mlx5_0")
		for i := 0; i <= 60; i += 5 {
			at := base.Add(time.Duration(i) * time.Second).UnixMilli()
			appendAll(t, st, Point{a, at, 1e15 + float64(100*i)}, Point{b, at, float64(7 * i)})
		}
		appendAll(t, st, Point{b, base.Add(65 * time.Second).UnixMilli(), Stale()}, Point{a, base.Add(65 * time.Second).UnixMilli(), -0.25})
	}
	type answers struct {
		Rate, Latest, Scalar []Sample
		Range, Raw           []Curve
	}
	ask := func(st Store) (a answers) {
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		var err error
		a.Rate, err = st.Query(ctx, "sort_desc(rate(rdma_port_rcv_data_total[30s]))", base.Add(time.Minute))
		must(err)
		a.Latest, err = st.Latest(ctx, "rdma_port_rcv_data_total", base.Add(70*time.Second), time.Minute)
		must(err)
		a.Scalar, err = st.Query(ctx, "1 + 1", base)
		must(err)
		a.Range, err = st.QueryRange(ctx, "sum by (instance) (rdma_port_rcv_data_total)", Range{base, base.Add(time.Minute), 20 * time.Second})
		must(err)
		a.Raw, err = st.Samples(ctx, `rdma_port_rcv_data_total{instance="host-0"}`, base, base.Add(time.Minute))
		must(err)
		return a
	}
	want, got := ask(l), ask(r)
	if d := cmp.Diff(want, got, cmp.Comparer(labels.Equal), cmpopts.SortSlices(byLabels), cmpopts.SortSlices(curvesByLabels)); d != "" {
		t.Errorf("local and remote differ (-local +remote):\n%s", d)
	}
	if len(want.Rate) != 2 || want.Rate[0].Value != 100 || len(want.Latest) != 1 || want.Latest[0].Value != -0.25 || len(want.Raw) != 1 || len(want.Raw[0].Times) != 12 {
		t.Errorf("%+v", want)
	}
	if _, err := r.Query(ctx, "rate(", base); !errors.Is(err, ErrQuery) {
		t.Errorf("a broken query: %v", err)
	}
	if got, err := r.Append(ctx, []Point{{NewSeries("x"), time.Now().Add(time.Hour).UnixMilli(), 1}}); err != nil || got.TooNew != 1 {
		t.Errorf("a sample an hour ahead: %+v, %v", got, err)
	}
	// Readers reach the engine through the server, but only its reading paths.
	api := r.API()
	for path, want := range map[string]string{"/api/v1/labels": `"instance"`, "/api/v1/query?query=1%2B1": `"2"`, "/api/v1/admin/tsdb/snapshot": "404", "/api/v1/write": "404"} {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequest("POST", path, nil))
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %s", path, w.Code, w.Body, want)
		}
	}
}

// A batch is sent again while the engine is busy, and its error comes back
// once it is not worth it.
func TestRemoteWritesAgain(t *testing.T) {
	var asked atomic.Int32
	status := func(n int32) int { return []int{503, 429, 204}[min(n-1, 2)] }
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/bad") {
			asked.Add(1)
			http.Error(w, "no such tenant", 400)
			return
		}
		w.WriteHeader(status(asked.Add(1)))
	}))
	defer s.Close()
	ctx := context.Background()
	r, err := OpenRemote(RemoteOptions{URL: s.URL, GiveUp: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	point := []Point{{NewSeries("x"), time.Now().UnixMilli(), 1}}
	if _, err := r.Append(ctx, point); err != nil || asked.Load() != 3 {
		t.Errorf("%v after %d requests, want none after 3", err, asked.Load())
	}
	asked.Store(0)
	bad, err := OpenRemote(RemoteOptions{URL: s.URL, WriteURL: s.URL + "/bad", GiveUp: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer bad.Close()
	if _, err := bad.Append(ctx, point); err == nil || !strings.Contains(fmt.Sprint(err), "status 400: no such tenant") || asked.Load() != 1 {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
	gone, err := OpenRemote(RemoteOptions{URL: "http://127.0.0.1:1", GiveUp: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer gone.Close()
	if _, err := gone.Append(ctx, point); err == nil {
		t.Error("nobody took the batch and there was no error")
	}
	for _, bad := range []string{"", "prometheus:9090", "file:///x"} {
		if _, err := OpenRemote(RemoteOptions{URL: bad}); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func byLabels(a, b Sample) bool { return labels.Compare(a.Labels, b.Labels) < 0 }

func curvesByLabels(a, b Curve) bool { return labels.Compare(a.Labels, b.Labels) < 0 }

package telemetry

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"weir/internal/input"
	"weir/units"
)

func testRegistry(t testing.TB, n int) *Registry {
	r := NewRegistry()
	for i := range n {
		// Even series are counters of 64 bits, odd ones gauges, every fourth a counter of 32.
		var err error
		switch {
		case i%2 == 1:
			_, err = r.Add(MustLookup("roce_switch_queue_length_bytes"), "leaf-0", "port-"+strconv.Itoa(i), "3")
		case i%4 == 2:
			_, err = r.Add(MustLookup("rdma_out_of_sequence_total"), "host-0", "mlx5_"+strconv.Itoa(i), "1")
		default:
			_, err = r.Add(MustLookup("rdma_np_cnp_sent_total"), "host-0", "mlx5_"+strconv.Itoa(i), "1")
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func openRoot(t testing.TB, dir string) *os.Root {
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// script is what a writer is told: at each instant the readings, nil for a
// series that could not be read.
type script []struct {
	at     units.Time
	values []*uint64
}

func drawScript(t *rapid.T, series int) script {
	var s script
	at := units.Time(0)
	cur := make([]uint64, series)
	for range rapid.IntRange(0, 12).Draw(t, "instants") {
		at += units.Time(rapid.Int64Range(1, 1e6).Draw(t, "step"))
		values := make([]*uint64, series)
		for i := range values {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				continue // not read
			case 1: // again
			case 2:
				cur[i] = 0
			default:
				cur[i] = (cur[i] + rapid.Uint64Range(0, 1<<31-1).Draw(t, "up"))
				if i%4 == 2 {
					cur[i] &= 1<<32 - 1
				}
			}
			v := cur[i]
			values[i] = &v
		}
		s = append(s, struct {
			at     units.Time
			values []*uint64
		}{at, values})
	}
	return s
}

func (s script) write(t testing.TB, w *Writer) {
	for _, in := range s {
		w.Begin(in.at)
		for i, v := range in.values {
			if v == nil {
				w.Missing(uint32(i))
			} else {
				w.Set(uint32(i), *v)
			}
		}
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
}

// What is written is read back, and the window's sums are those of a plain
// walk over the script.
func TestRecordRoundTrip(t *testing.T) {
	base := t.TempDir()
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		const series = 6
		reg := testRegistry(t, series)
		s := drawScript(rt, series)
		run++
		dir := filepath.Join(base, strconv.Itoa(run))
		if err := os.Mkdir(dir, 0o755); err != nil {
			rt.Fatal(err)
		}
		root := openRoot(t, dir)
		defer root.Close()
		w, err := Create(root, Header{Source: "test", Cluster: "c", Interval: units.Microsecond}, reg, WriterOptions{BlockBytes: rapid.IntRange(1, 400).Draw(rt, "block")})
		if err != nil {
			rt.Fatal(err)
		}
		s.write(t, w)
		if err := w.Close(); err != nil {
			rt.Fatal(err)
		}
		r, err := OpenRecord(os.DirFS(dir))
		if err != nil {
			rt.Fatal(err)
		}
		if !r.Complete || r.Cluster != "c" || r.Registry.Len() != series || r.Registry.String(2) != reg.String(2) {
			rt.Fatalf("record %+v", r)
		}
		s.checkInstants(rt, r)
		if len(s) > 0 {
			from := s[rapid.IntRange(0, len(s)-1).Draw(rt, "from")].at
			to := s[rapid.IntRange(0, len(s)-1).Draw(rt, "to")].at
			s.checkWindow(rt, r, from, to)
		}
	})
}

func (s script) checkInstants(t *rapid.T, r *Record) {
	i := 0
	cur := make([]*uint64, r.Registry.Len())
	err := r.Each(func(in Instant) error {
		for _, c := range in.Changes {
			v := c.Value
			cur[c.Series] = &v
		}
		for _, n := range in.Missing {
			cur[n] = nil
		}
		if in.At != s[i].at {
			t.Fatalf("instant %d at %v, want %v", i, in.At, s[i].at)
		}
		for n := range cur {
			got, want := cur[n], s[i].values[n]
			if (got == nil) != (want == nil) || got != nil && *got != *want {
				t.Fatalf("instant %d, series %d: %v, want %v", i, n, got, want)
			}
		}
		i++
		return nil
	})
	if err != nil || i != len(s) {
		t.Fatalf("%d instants of %d, %v", i, len(s), err)
	}
}

func (s script) checkWindow(t *rapid.T, r *Record, from, to units.Time) {
	w, err := r.Window(from, to)
	if err != nil {
		t.Fatal(err)
	}
	for n := range r.Registry.Len() {
		m := r.Registry.Metric(uint32(n))
		var want Delta
		ok := false
		var before *uint64
		var at units.Time
		var low, high uint64
		seen := false
		for _, in := range s {
			if in.at < from || in.at > to {
				continue
			}
			v := in.values[n]
			if v != nil {
				if !seen {
					low, high = *v, *v
				}
				seen = true
				low, high = min(low, *v), max(high, *v)
				if before != nil {
					moved, reset := Step(m.Bits, *before, *v)
					want.Value += moved
					want.Span += in.at - at
					if reset {
						want.Resets++
					}
					ok = true
				}
			}
			before, at = v, in.at
		}
		got, gotOK := w.Delta(uint32(n))
		if m.Kind != Counter {
			if gotOK {
				t.Fatalf("series %d, a gauge, has a delta", n)
			}
		} else if gotOK != ok || got != want {
			t.Fatalf("series %d from %v to %v: %+v %v, want %+v %v", n, from, to, got, gotOK, want, ok)
		}
		gl, gh, _, gok := w.Range(uint32(n))
		if gok != seen || seen && (gl != low || gh != high) {
			t.Fatalf("series %d: range %d to %d %v, want %d to %d %v", n, gl, gh, gok, low, high, seen)
		}
	}
}

func value(v uint64) *uint64 { return &v }

func small() script {
	return script{
		{0, []*uint64{value(0), value(7)}},
		{1000, []*uint64{value(5), value(7)}},
		{2000, []*uint64{value(9), nil}},
		{3000, []*uint64{value(12), value(1)}},
	}
}

// The form on disk, read with nothing of this package.
func TestRecordIsPlain(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(openRoot(t, dir), Header{Source: "weir simulate x.yaml", Cluster: "x", Interval: 1000}, testRegistry(t, 2), WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	small().write(t, w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(dir, "samples-000000.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := "time_ps,series,value|0,,|0,0,0|0,1,7|1000,,|1000,0,5|2000,,|2000,0,9|2000,1,|3000,,|3000,0,12|3000,1,1"
	var got []string
	for _, r := range rows {
		got = append(got, strings.Join(r, ","))
	}
	if s := strings.Join(got, "|"); s != want {
		t.Errorf("rows\n%s\nwant\n%s", s, want)
	}
	text, err := os.ReadFile(filepath.Join(dir, "series.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	series := m["series"].([]any)
	first := series[0].(map[string]any)
	if m["schema"] != "weir.record/1" || m["complete"] != true || m["end_ps"] != 3000.0 || m["blocks"] != 1.0 || len(series) != 2 ||
		first["metric"] != "rdma_np_cnp_sent_total" || first["bits"] != 64.0 || first["labels"].(map[string]any)["device"] != "mlx5_0" {
		t.Errorf("series.json: %s", text)
	}
}

// A record whose writer was killed holds all finished blocks and says that it
// is not complete.
func TestRecordInterrupted(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(openRoot(t, dir), Header{Interval: 1}, testRegistry(t, 2), WriterOptions{BlockBytes: 60})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		w.Begin(units.Time(i))
		w.Set(0, uint64(i))
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	// No Close. A temporary file lies about as after a kill in the middle of a write.
	if err := os.WriteFile(filepath.Join(dir, ".samples-000099.csv.gz.tmp"), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, err := OpenRecord(os.DirFS(dir))
	if err != nil || r.Complete {
		t.Fatal(r, err)
	}
	n := 0
	if err := r.Each(func(in Instant) error {
		if in.At != units.Time(n) || in.Changes[0].Value != uint64(n) {
			t.Fatalf("instant %d: %+v", n, in)
		}
		n++
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if n < 90 || n > 100 {
		t.Errorf("%d instants of 100", n)
	}
}

// A block that was cut off anywhere yields what is whole, then ErrTruncated or
// a refusal, never wrong values.
func TestRecordTruncated(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(openRoot(t, dir), Header{Interval: 1}, testRegistry(t, 1), WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		w.Begin(units.Time(i))
		w.Set(0, uint64(i)*3)
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "samples-000000.csv.gz")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for cut := 0; cut < len(whole); cut += 7 {
		if err := os.WriteFile(name, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := OpenRecord(os.DirFS(dir))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		err = r.Each(func(in Instant) error {
			if in.At != units.Time(n) || len(in.Changes) > 1 || len(in.Changes) == 1 && in.Changes[0].Value != uint64(n)*3 {
				t.Fatalf("cut at %d, instant %d: %+v", cut, n, in)
			}
			n++
			return nil
		})
		var refused *input.Error
		if !errors.Is(err, ErrTruncated) && !errors.As(err, &refused) {
			t.Fatalf("cut at %d of %d: %v", cut, len(whole), err)
		}
		most = max(most, n)
		if win, err := r.Window(0, 1000); errors.Is(err, ErrTruncated) || err == nil && !win.Truncated {
			t.Fatalf("cut at %d: window %v", cut, err)
		}
	}
	if most < 100 {
		t.Errorf("at most %d instants came out of a cut block", most)
	}
}

// A long run grows coarser instead of growing over its bound.
func TestRecordBounded(t *testing.T) {
	dir := t.TempDir()
	const bound = 20000
	w, err := Create(openRoot(t, dir), Header{Interval: 1}, testRegistry(t, 50), WriterOptions{BlockBytes: 2000, MaxBytes: bound})
	if err != nil {
		t.Fatal(err)
	}
	x := uint64(1)
	for i := range 5000 {
		w.Begin(units.Time(i))
		for s := range uint32(50) {
			x = x*6364136223846793005 + 1442695040888963407
			w.Set(s, x>>20)
		}
		if err := w.End(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var size int64
	files, _ := filepath.Glob(filepath.Join(dir, "samples-*"))
	for _, f := range files {
		st, err := os.Stat(f)
		if err != nil {
			t.Fatal(err)
		}
		size += st.Size()
	}
	times, full := w.Coarser()
	if size > bound || times < 3 {
		t.Errorf("%d bytes of %d, thinned %d times", size, bound, times)
	}
	r, err := OpenRecord(os.DirFS(dir))
	if err != nil || r.Full != full {
		t.Fatal(r, err)
	}
	// 50 readings of 64 bits are about 500 bytes an instant: 40 instants at
	// full density, hundreds with thinning.
	win, err := r.Window(0, 1<<40)
	if err != nil || win.To < 200 || win.To != r.End || win.Instants < 10 {
		t.Errorf("window to %v of %v, %d instants, %v", win.To, r.End, win.Instants, err)
	}
}

func TestWriterRefuses(t *testing.T) {
	dir := t.TempDir()
	root := openRoot(t, dir)
	w, err := Create(root, Header{}, testRegistry(t, 1), WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(root, Header{}, testRegistry(t, 1), WriterOptions{}); err == nil {
		t.Error("a second record in the same directory")
	}
	w.Begin(5)
	w.Set(0, 1)
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	w.Begin(5)
	if err := w.End(); err == nil {
		t.Error("an instant that is not later")
	}
	if err := w.Close(); err == nil {
		t.Error("Close hides the error")
	}
}

func TestReaderRefuses(t *testing.T) {
	manifest := `{"schema":"weir.record/1","interval_ps":1,"series":[{"metric":"rdma_np_cnp_sent_total","labels":{"device":"mlx5_0"}}]}`
	pack := func(text string) []byte {
		var b strings.Builder
		z := gzip.NewWriter(&b)
		io.WriteString(z, text)
		z.Close()
		return []byte(b.String())
	}
	for _, tt := range []struct{ name, manifest, block, want string }{
		{"schema", `{"schema":"other"}`, "", `series.json: found schema "other", allowed "weir.record/1": allowed what docs/record.md describes`},
		{"metric", `{"schema":"weir.record/1","series":[{"metric":"x"}]}`, "", `series.json: found series 0: unknown metric "x": allowed what docs/record.md describes`},
		{"label", `{"schema":"weir.record/1","series":[{"metric":"rdma_np_cnp_sent_total","labels":{"lane":"1"}}]}`, "", `series.json: found series 0: labels of rdma_np_cnp_sent_total are instance, device, port: allowed what docs/record.md describes`},
		{"header", manifest, "a,b,c\n", `samples-000000.csv.gz:1: found "a,b,c\n" as a header: allowed what docs/record.md describes`},
		{"line", manifest, "time_ps,series,value\nx\n", `samples-000000.csv.gz:2: found "x": allowed what docs/record.md describes`},
		{"series", manifest, "time_ps,series,value\n0,,\n0,1,5\n", `samples-000000.csv.gz:3: found series "1": allowed what docs/record.md describes`},
		{"value", manifest, "time_ps,series,value\n0,,\n0,0,-5\n", `samples-000000.csv.gz:3: found value "-5": allowed what docs/record.md describes`},
		{"large value", manifest, "time_ps,series,value\n0,,\n0,0,18446744073709551616\n", `samples-000000.csv.gz:3: found value "18446744073709551616": allowed what docs/record.md describes`},
		{"time", manifest, "time_ps,series,value\n5,,\n4,,\n", `samples-000000.csv.gz:3: found an instant that is not later than the one before: allowed what docs/record.md describes`},
		{"outside", manifest, "time_ps,series,value\n5,,\n6,0,1\n", `samples-000000.csv.gz:3: found a reading outside its instant: allowed what docs/record.md describes`},
		{"long line", manifest, "time_ps,series,value\n" + strings.Repeat("9", 70000) + "\n", ""},
	} {
		fsys := fstest.MapFS{"series.json": {Data: []byte(tt.manifest)}, "samples-000000.csv.gz": {Data: pack(tt.block)}}
		r, err := OpenRecord(fsys)
		if err == nil {
			err = r.Each(func(Instant) error { return nil })
		}
		var e *input.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: %v", tt.name, err)
		} else if tt.want != "" && err.Error() != tt.want {
			t.Errorf("%s:\n got %s\nwant %s", tt.name, err, tt.want)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(`{"schema":"weir.record/1","series":[{"metric":"rdma_np_cnp_sent_total","labels":{"device":"mlx5_0"}}]}`, "time_ps,series,value\n0,,\n0,0,5\n7,,\n7,0,\n")
	f.Add(`{"schema":"weir.record/1","complete":true,"blocks":1,"series":[]}`, "time_ps,series,value\n")
	f.Add(`{}`, "")
	f.Fuzz(func(t *testing.T, manifest, block string) {
		var b strings.Builder
		z := gzip.NewWriter(&b)
		io.WriteString(z, block)
		z.Close()
		fsys := fstest.MapFS{"series.json": {Data: []byte(manifest)}, "samples-000000.csv.gz": {Data: []byte(b.String())}}
		r, err := OpenRecord(fsys)
		if err != nil {
			return
		}
		last := units.Time(-1)
		err = r.Each(func(in Instant) error {
			if in.At <= last {
				t.Fatalf("%v after %v", in.At, last)
			}
			last = in.At
			return nil
		})
		if _, werr := r.Window(0, units.Never); (err == nil) != (werr == nil) {
			t.Fatalf("Each says %v, Window %v", err, werr)
		}
	})
}

// Recording costs no memory once the block has its size.
func TestSetDoesNotAllocate(t *testing.T) {
	w, err := Create(openRoot(t, t.TempDir()), Header{}, testRegistry(t, 100), WriterOptions{BlockBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	w.text = slices.Grow(w.text, 8<<20)
	at := units.Time(0)
	if n := testing.AllocsPerRun(100, func() {
		at++
		w.Begin(at)
		for s := range uint32(100) {
			w.Set(s, uint64(at))
		}
		w.End()
	}); n != 0 {
		t.Errorf("%v allocations an instant", n)
	}
}

// An instant of 100,000 series of which a tenth changed.
func BenchmarkWriter(b *testing.B) {
	w, err := Create(openRoot(b, b.TempDir()), Header{}, testRegistry(b, 100000), WriterOptions{MaxBytes: 1 << 40})
	if err != nil {
		b.Fatal(err)
	}
	at := units.Time(0)
	b.ReportAllocs()
	for b.Loop() {
		at++
		w.Begin(at)
		for s := range uint32(100000) {
			v := uint64(s)
			if (uint64(s)+uint64(at))%10 == 0 {
				v += uint64(at)
			}
			w.Set(s, v)
		}
		if err := w.End(); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleRegistry() {
	r := NewRegistry()
	n, _ := r.Add(MustLookup("rdma_np_cnp_sent_total"), "host-0", "mlx5_3", "1")
	fmt.Println(r.String(n))
	// Output: rdma_np_cnp_sent_total{instance="host-0",device="mlx5_3",port="1"}
}
